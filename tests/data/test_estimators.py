import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from counterpoise.data.arrays import estimator_matrix, estimator_samples
from counterpoise.data.labels_and_weights import as_classes, as_responses, as_weights
from counterpoise.errors import NoTargetWarning


class TowardsTarget(TransformerMixin, BaseEstimator):
    """The smallest thing that is fitted like a weight estimator."""

    accept_sparse = False

    def fit(self, X, y=None, *, X_target=None, sample_weight=None, target_weight=None):
        X, X_target = estimator_samples(
            self, X, X_target, reset=True, accept_sparse=self.accept_sparse
        )
        weight = as_weights(sample_weight, X.shape[0])
        self.center_ = X.T @ weight / weight.sum()
        if X_target is None:
            warnings.warn("no X_target: nothing is adapted", NoTargetWarning)
            return self
        weight = as_weights(
            target_weight, X_target.shape[0], name="target_weight", of="X_target"
        )
        self.center_ = X_target.T @ weight / weight.sum()
        return self

    def transform(self, X):
        check_is_fitted(self)
        X = estimator_matrix(self, X, reset=False, accept_sparse=self.accept_sparse)
        return (X @ self.center_)[:, None]

    def score(self, X, y=None, *, X_target=None):
        check_is_fitted(self)
        X, X_target = estimator_samples(
            self, X, X_target, reset=False, accept_sparse=self.accept_sparse
        )
        return float((X @ self.center_).mean())


class SparseTowardsTarget(TowardsTarget):
    accept_sparse = True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class TwoRowsAtLeast(TowardsTarget):
    def fit(self, X, y=None, *, X_target=None):
        X, _ = estimator_samples(self, X, X_target, reset=True, min_rows=2)
        self.center_ = X.mean(axis=0)
        return self


class LeastSquares(RegressorMixin, BaseEstimator):
    def fit(self, X, y, sample_weight=None):
        X = estimator_matrix(self, X, reset=True)
        y = as_responses(y, len(X), multi_output=self._multi_output)
        root = np.sqrt(as_weights(sample_weight, len(X)))[:, None]
        design = np.column_stack([X, np.ones(len(X))]) * root
        wanted = y.reshape(len(X), -1) * root
        self.coef_ = np.linalg.lstsq(design, wanted, rcond=None)[0]
        self.coef_ = self.coef_.reshape(X.shape[1] + 1, *y.shape[1:])
        return self

    _multi_output = False

    def predict(self, X):
        check_is_fitted(self)
        X = estimator_matrix(self, X, reset=False)
        return X @ self.coef_[:-1] + self.coef_[-1]


class ManyLeastSquares(LeastSquares):
    _multi_output = True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class NearestMean(ClassifierMixin, BaseEstimator):
    def fit(self, X, y, sample_weight=None):
        X = estimator_matrix(self, X, reset=True)
        y = as_classes(y, len(X))
        weight = as_weights(sample_weight, len(X))
        self.classes_ = np.unique(y[weight > 0])
        members = (y[:, None] == self.classes_) * weight[:, None]
        self.means_ = (members.T @ X) / members.sum(axis=0)[:, None]
        return self

    def predict(self, X):
        check_is_fitted(self)
        X = estimator_matrix(self, X, reset=False)
        distance = ((X[:, None, :] - self.means_) ** 2).sum(axis=2)
        return self.classes_[distance.argmin(axis=1)]


@pytest.mark.filterwarnings("ignore::counterpoise.errors.NoTargetWarning")
@pytest.mark.parametrize(
    "estimator",
    [
        TowardsTarget(),
        SparseTowardsTarget(),
        TwoRowsAtLeast(),
        LeastSquares(),
        ManyLeastSquares(),
        NearestMean(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_estimators_behind_the_door_pass_the_common_checks(estimator):
    results = check_estimator(estimator, on_skip=None)
    assert {result["status"] for result in results} <= {"passed", "skipped"}
    assert sum(result["status"] == "passed" for result in results) > 30


rng = np.random.default_rng(0)
X = rng.normal(size=(20, 3))
X_target = rng.normal(size=(7, 3)) + 1.0
NAMES = ["a", "b", "c"]
KINDS = {
    "numpy": np.asarray,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
}


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_the_same_to_the_bit_for_every_kind_of_table(kind):
    make = KINDS[kind]
    expected = TowardsTarget().fit(X, X_target=X_target)
    fitted = TowardsTarget().fit(make(X), X_target=(make(X_target),))
    assert fitted.center_.tobytes() == expected.center_.tobytes()
    assert fitted.transform(make(X)).tobytes() == expected.transform(X).tobytes()
    assert fitted.score(make(X), X_target=make(X_target)) == expected.score(X)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_fit_remembers_names_and_width(kind):
    fitted = TowardsTarget().fit(KINDS[kind](X), X_target=KINDS[kind](X_target))
    assert fitted.n_features_in_ == 3
    assert fitted.feature_names_in_.tolist() == NAMES
    fitted.fit(X, X_target=X_target)
    assert not hasattr(fitted, "feature_names_in_")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_later_tables_are_held_to_the_names_of_fit(kind):
    fitted = TowardsTarget().fit(KINDS[kind](X), X_target=KINDS[kind](X_target))
    with pytest.raises(ValueError, match="must be in the same order as they were in"):
        fitted.transform(KINDS[kind](X)[["b", "a", "c"]])
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        fitted.transform(X)


def test_later_arrays_are_held_to_the_width_of_fit():
    fitted = TowardsTarget().fit(X, X_target=X_target)
    with pytest.raises(ValueError, match="X has 2 features, but TowardsTarget is exp"):
        fitted.transform(X[:, :2])


def test_a_refused_fit_leaves_the_estimator_as_it_was():
    estimator = TowardsTarget()
    with pytest.raises(ValueError, match="X_target has 2 columns, X has 3"):
        estimator.fit(X, X_target=X_target[:, :2])
    assert vars(estimator) == {}
    with pytest.raises(NotFittedError):
        estimator.transform(X)


def test_no_target_is_the_callers_warning():
    with pytest.warns(NoTargetWarning, match="no X_target"):
        TowardsTarget().fit(X)


def test_sparse_and_dense_fits_agree():
    dense = SparseTowardsTarget().fit(X, X_target=X_target)
    sparse = SparseTowardsTarget().fit(sp.csr_array(X), X_target=sp.coo_array(X_target))
    np.testing.assert_allclose(sparse.center_, dense.center_, rtol=1e-13)
    np.testing.assert_allclose(
        sparse.transform(sp.csc_array(X)), dense.transform(X), rtol=1e-12
    )


def test_target_weights_belong_to_the_target():
    weights = (np.arange(3.0), np.arange(4.0))
    joined = np.concatenate(weights)
    fitted = TowardsTarget().fit(X, X_target=X_target, target_weight=weights)
    np.testing.assert_allclose(
        fitted.center_, np.average(X_target, axis=0, weights=joined), rtol=1e-13
    )
    with pytest.raises(ValueError, match="target_weight has 3 rows, X_target has 7"):
        TowardsTarget().fit(X, X_target=X_target, target_weight=np.ones(3))
