"""What estimators of a subspace have in common."""

from abc import ABC, abstractmethod
from typing import Any

from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from counterpoise.numerics.arrays import Array
from counterpoise.validation import estimator_matrix


class SubspaceOfClasses(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC
):
    """A transformer that is fitted to labels and has `mean_` and `components_`."""

    mean_: Array
    components_: Array

    def __sklearn_tags__(self) -> Any:
        """Return the tags; labels are needed."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def transform(self, X: Any) -> Array:
        """Return the rows in the subspace, of shape (k, n_components)."""
        check_is_fitted(self, "components_")
        X = self._columns(estimator_matrix(self, X, reset=False))
        return (X - self.mean_) @ self.components_.T

    @abstractmethod
    def _columns(self, X: Array) -> Array:
        """Return the columns that the components weigh."""

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)
