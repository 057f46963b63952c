"""What a fitted model does: predict, weigh, say what it is sure of, be saved."""

from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from counterpoise.adaptation.in_blocks.predicting import (
    answered,
    weighed_blocks,
    write_answers,
)
from counterpoise.adaptation.model_files.saving import save
from counterpoise.adaptation.partial.adapting import (
    over_all_classes,
    values_over_all_classes,
)
from counterpoise.adaptation.summary import html_of, summary_of
from counterpoise.diagnosis import Diagnosis, diagnose
from counterpoise.engine import Blocks
from counterpoise.evaluation.conformal import Calibration, intervals_of, sets_of
from counterpoise.evaluation.metrics import is_classifier
from counterpoise.numerics.arrays import Array
from counterpoise.samples.coverage.thin_by_chance import THIN_QUANTILE
from counterpoise.tables.encoding import encoded
from counterpoise.tables.quantiles import weighted_quantile
from counterpoise.validation import (
    InvalidInput,
    check_columns,
    n_rows,
)

# A weight that no number of held-out rows outweighs.
_UNKNOWN = 1e200

Method = TypeVar("Method", bound=Callable[..., Any])


def _offered(name: str) -> Callable[[Method], Method]:
    """Return a decorator: a method is there if the inner estimator has it."""

    def check(self: "FittedModel") -> bool:
        inner = getattr(self, "estimator_", self.estimator)
        # What is chosen by the label is known to predict, and after fit to do more.
        return name in ("predict", "score") if inner is None else hasattr(inner, name)

    decorator: Callable[[Method], Method] = available_if(check)
    return decorator


class FittedModel(BaseEstimator):
    """An inner estimator with the weights that it was fitted by.

    Subclasses set `estimator_`, `weighter_`, `encoder_`, `reference_` and
    `calibration_` in `fit`, and have the parameter `estimator`.
    """

    # By which `estimate_performance` knows the rows of the fit again.
    _row_marks_: Any

    @_offered("predict")
    def predict(self, X: Any) -> Any:
        """Return the estimator's predictions, also of rows in `engine.Blocks`."""
        if isinstance(X, Blocks):
            return answered(self._checked(), X, "predict")
        return self._fitted_estimator().predict(X)

    @_offered("predict_proba")
    def predict_proba(self, X: Any) -> Any:
        """Return the classifier's probabilities, none for classes judged absent."""
        if isinstance(X, Blocks):
            chances = answered(self._checked(), X, "predict_proba")
            return self._over_all_classes(chances, self.estimator_.classes_)
        found = self._fitted_estimator()
        return self._over_all_classes(found.predict_proba(X), found.classes_)

    @_offered("predict_log_proba")
    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithms of the classifier's probabilities."""
        if getattr(self, "_every_class_", None) is None:
            return self._fitted_estimator().predict_log_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @_offered("decision_function")
    def decision_function(self, X: Any) -> Any:
        """Return the classifier's decision values, least for classes judged absent."""
        found = self._fitted_estimator()
        values = found.decision_function(X)
        every = getattr(self, "_every_class_", None)
        if every is None or len(found.classes_) == len(every):
            return values
        return values_over_all_classes(values, found.classes_, every)

    @_offered("score")
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the estimator's own score of labelled rows, as they come.

        `target_scorer` and `estimate_performance` estimate the target's.
        """
        more = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self._fitted_estimator().score(X, y, **more))

    def weigh(self, X: Any) -> Array:
        """Return the density ratio target/source at rows, without the exponent.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or `engine.Blocks` of shape (k, d)

        Returns
        -------
        array of shape (k,)
        """
        check_is_fitted(self)
        if isinstance(X, Blocks):
            return np.asarray(weighed_blocks(self, X))
        if self.weighter_ is None:
            check_columns(self, X, reset=False)
            return np.ones(n_rows(X))
        if getattr(self, "_every_class_", None) is not None:
            # By class: labels are needed, and said to be.
            by_label: Array = self.weighter_.weigh(X)
            return by_label
        weights: Array = self.weighter_.weigh(encoded(self.encoder_, X))
        return weights

    def write_predictions(
        self,
        X: Any,
        path: str | Path,
        *,
        id_column: str | None = None,
        probabilities: bool = False,
    ) -> None:
        """Write the predictions of rows to a Parquet file, in their order.

        Nothing but a block of rows is held in memory; the file appears when it is
        complete.

        Parameters
        ----------
        X : `engine.Blocks`, array-like or frame of shape (k, d)
        path : str or Path
        id_column : str or None
            Column that names the rows; None: their numbers, from 1.
        probabilities : bool
            Whether a classifier's probabilities are written, too.
        """
        write_answers(
            self._checked(), Blocks.of(X), path, name=id_column, chances=probabilities
        )

    def predict_interval(self, X: Any, level: float = 0.9) -> Array:
        r"""Return intervals that hold the response with probability `level`.

        Weighted split conformal: half of the width at a row is the `level` quantile of
        the held-out absolute errors, weighted by their density ratios, with the row's
        own ratio at infinity.

        Parameters
        ----------
        X : table of shape (k, d)
        level : float

        Returns
        -------
        array of shape (k, 2)
            Lower and upper ends, infinite where the source says too little about a row.

        Notes
        -----
        The coverage is exact over draws of both samples if the density ratio is, and
        :math:`p(y \mid x)` has not changed.
        """
        radius = self._calibration(of_classes=False).radius(self._atoms(X), level)
        return intervals_of(self.predict(X), radius)

    def predict_set(self, X: Any, level: float = 0.9) -> Any:
        """Return for every row which classes its set has, as booleans.

        Adaptive prediction sets, weighted as in `predict_interval`: the likeliest
        classes up to the weighted quantile; all of them where the source says too
        little about a row.

        Parameters
        ----------
        X : table of shape (k, d)
        level : float

        Returns
        -------
        boolean array of shape (k, n_classes)
            In the order of `classes_`.
        """
        radius = self._calibration(of_classes=True).radius(self._atoms(X), level)
        return sets_of(self.predict_proba(X), radius)

    def diagnose(self, X_target_new: Any, *, random_state: Any = None) -> Diagnosis:
        """Return what has changed from the target of `fit` to a new one.

        The words are those of a model that is watched: `n_source` and all else that is
        called the source is the target of the fit. Nothing is fitted again: at most
        5,000 rows of the target of `fit` were kept.

        Parameters
        ----------
        X_target_new : table of shape (k, d), or a tuple of such
        random_state : int, RandomState or None
            As in `diagnose`.
        """
        check_is_fitted(self)
        if self.reference_ is None:
            raise InvalidInput("there was no X_target in fit: nothing to compare with")
        found = diagnose(self.reference_, X_target_new, random_state=random_state)
        return found.as_watched()

    def summary(self) -> str:
        """Return what was found, chosen and assumed, in words and numbers."""
        check_is_fitted(self)
        return summary_of(self)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the fitted model to a file that `counterpoise.load` reads.

        The rows of the source are not in it, unless the estimator keeps them; at most
        5,000 rows of the target are, for `diagnose`.

        Parameters
        ----------
        path : str or Path
            A new file.
        overwrite : bool
            Whether one that is there is replaced, in one step, once the new one is
            whole.
        """
        check_is_fitted(self)
        lean = copy(self)
        lean._row_marks_ = None
        lean.callback = None
        if hasattr(self.weighter_, "without_rows"):
            lean.weighter_ = self.weighter_.without_rows()
        save(lean, path, overwrite=overwrite)

    @property
    def classes_(self) -> Any:
        """The classes of a fitted classifier."""
        if not hasattr(self, "estimator_"):
            raise AttributeError("classes_ are known after fit")
        every = getattr(self, "_every_class_", None)
        return self.estimator_.classes_ if every is None else every

    def _over_all_classes(self, probabilities: Any, classes: Any) -> Any:
        every = getattr(self, "_every_class_", None)
        if every is None or len(classes) == len(every):
            return probabilities
        return over_all_classes(probabilities, classes, every)

    def uncovered_rows(self, X: Any) -> NDArray[np.bool_]:
        """Return which rows the fit knows no density ratio of.

        In holes among the source rows, outside the range of both samples, of a larger
        ratio than any target row of the fit, or with a category that neither sample had
        (`TableEncoder.has_new_category`). None is where nothing was weighed.

        Parameters
        ----------
        X : table of shape (k, d)
        """
        check_is_fitted(self)
        of_labels = getattr(self.weighter_, "needs_labels", False)
        if of_labels or not hasattr(self.weighter_, "beyond"):
            return np.zeros(n_rows(X), dtype=bool)
        beyond: NDArray[np.bool_] = self.weighter_.beyond(encoded(self.encoder_, X))
        if self.encoder_ is not None:
            beyond = beyond | self.encoder_.has_new_category(X)
        return beyond

    def thin_rows(self, X: Any) -> NDArray[np.bool_]:
        """Return which rows have few source rows like them.

        Those whose weight exceeds that of 99.5 % of the source rows of the fit, as in
        `Diagnosis.thin`; every source row counts alike. None is where nothing was
        weighed, or where the weights go by labels.

        Parameters
        ----------
        X : table of shape (k, d)
        """
        check_is_fitted(self)
        found = getattr(self.weighter_, "weights_", None)
        of_labels = getattr(self.weighter_, "needs_labels", False)
        if found is None or of_labels:
            return np.zeros(n_rows(X), dtype=bool)
        known = np.asarray(found, dtype=np.float64)
        limit = weighted_quantile(known, np.ones(known.size), THIN_QUANTILE)
        thin: NDArray[np.bool_] = self.weigh(X) > limit
        return thin

    def _atoms(self, X: Any) -> Array:
        """Return the rows' own weights, beyond all where the ratio is not known."""
        weights = self.weigh(X)
        of_labels = getattr(self.weighter_, "needs_labels", False)
        if hasattr(self.weighter_, "beyond") and not of_labels:
            weights = weights.copy()
            weights[self.weighter_.beyond(encoded(self.encoder_, X))] = _UNKNOWN
        return weights

    def _calibration(self, *, of_classes: bool) -> Calibration:
        check_is_fitted(self)
        if is_classifier(self.estimator_) != of_classes:
            raise InvalidInput(
                "the model predicts numbers: use predict_interval"
                if of_classes
                else "the model predicts classes: use predict_set"
            )
        if self.calibration_ is None:
            raise InvalidInput(
                "prediction sets need held-out rows: fit with calibration=0.2, say"
            )
        return self.calibration_

    def _checked(self) -> "FittedModel":
        check_is_fitted(self)
        return self

    def _fitted_estimator(self) -> Any:
        check_is_fitted(self)
        return self.estimator_

    def _repr_html_(self) -> str:
        diagram: str = estimator_html_repr(self)
        return f"{html_of(self)}{diagram}" if hasattr(self, "estimator_") else diagram

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        # scikit-learn's own would leave the summary out.
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")
