"""Classifiers of target against source rows, and how they are asked."""

from functools import cache
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgWarning
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.scaling import is_wide_and_sparse, unit_exponents
from counterpoise.samples.text.wide_classifiers import text_classifiers
from counterpoise.samples.two_gaussians import NormalScores, TwoGaussians
from counterpoise.tables.quantiles import column_limits
from counterpoise.validation import Matrix, refusals_of_estimators
from counterpoise.validation.warning import held_back

# Up to this many columns the Hessian of logistic regression is factored.
COLUMNS_FACTORED = 500
# Bins of a column that trees can tell apart.
N_BINS = 64
# A bin ends in the middle of the gap where one cut tells so much of classes apart.
TOLD_BY_ONE_CUT = 0.9
# Columns that trees look at; of more, those that differ most.
COLUMNS_OF_TREES = 64
# Probabilities nearer to 0 or 1 than this are no evidence.
NO_EVIDENCE = 1e-6
# Threads that wait for one another cost more than they save on tables this small.
ROWS_FOR_ONE_THREAD = 50_000


def logistic(
    is_sparse: bool, n_columns: int, tol: float = 1e-6, max_iter: int = 10_000
) -> Any:
    """Return logistic regression on columns of variance one."""
    regression = plain_logistic(n_columns, tol, max_iter)
    if is_sparse:
        return make_pipeline(StandardScaler(with_mean=False), regression)
    return make_pipeline(CutColumns(), StandardScaler(), regression)


def linear_classifiers(
    X: Any, tol: float = 1e-6, max_iter: int = 10_000
) -> dict[str, Any]:
    """Return the classifiers that rows like these are told apart by, trees aside.

    By their names: logistic regression, or for sparse rows of more than 100 columns
    those of `text_classifiers`.
    """
    if is_wide_and_sparse(X):
        return text_classifiers(max_iter)
    return {"logistic": logistic(sparse.issparse(X), X.shape[1], tol, max_iter)}


def prepared(X: Array, weights: Array) -> Array:
    """Return columns cut and of variance one, as `logistic` makes them."""
    cut = CutColumns().fit(X, sample_weight=weights).transform(X)
    with _roots_of_rounding():
        out: Array = StandardScaler().fit(cut, sample_weight=weights).transform(cut)
    return out


def _roots_of_rounding() -> Any:
    """Hold back what numpy says of roots of negative numbers.

    scikit-learn's weighted variance of an equal column is one where rounding wants it;
    such a column is then taken for constant.
    """
    return np.errstate(invalid="ignore")


def squared_logistic(n_columns: int) -> Any:
    """Return logistic regression on columns and their squares."""
    return make_pipeline(
        CutColumns(),
        StandardScaler(),
        WithSquares(),
        StandardScaler(),
        plain_logistic(2 * n_columns, 1e-6, 10_000),
    )


def product_logistic(n_columns: int, C: float) -> Any:
    """Return logistic regression on all products of two columns, made normal first.

    `C` is one over the ridge, as scikit-learn has it.
    """
    n_products = n_columns * (n_columns + 3) // 2
    return make_pipeline(
        NormalScores(),
        PolynomialFeatures(2, include_bias=False),
        StandardScaler(),
        plain_logistic(n_products, 1e-6, 10_000).set_params(C=C),
    )


def two_gaussians(by_ranks: bool) -> Any:
    """Return the odds of two Gaussians with shrunk covariances.

    Of columns made normal by their ranks, or of columns as they are, cut far outside
    the bulk: where they are normal, ranks lose what the outermost rows tell.
    """
    columns = NormalScores() if by_ranks else CutColumns()
    return make_pipeline(columns, StandardScaler(), TwoGaussians())


def boosted() -> Any:
    """Return boosted trees, small enough for some thousand rows."""
    trees = HistGradientBoostingClassifier(
        max_iter=60,
        max_depth=4,
        max_bins=N_BINS + 1,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=0,
    )
    return make_pipeline(BinnedColumns(), trees)


class WithSquares(TransformerMixin, BaseEstimator):
    """The columns and their squares; a type, since files of models hold no function."""

    def fit(self, X: Array, y: Any = None) -> Self:
        """Learn nothing."""
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Array) -> Array:
        """Return the columns, and then their squares."""
        return np.hstack([X, X**2])


class CutColumns(TransformerMixin, BaseEstimator):
    """Columns cut far outside the bulk of their rows, so that no single row rules.

    Columns of tiny numbers alone come out in a unit of their own (`unit_exponents`):
    what follows squares them.
    """

    # Files of older versions, and fits by passes, know none.
    exponents_: Any = None

    def fit(self, X: Array, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the limits of every column."""
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        self.limits_ = column_limits([(X, weight / weight.sum())])
        exponents = unit_exponents(np.abs(X).max(axis=0))
        self.exponents_ = exponents if exponents.any() else None
        return self

    def transform(self, X: Array) -> Array:
        """Return the rows with what is beyond the limits put there."""
        cut = np.clip(X, *self.limits_)
        return cut if self.exponents_ is None else np.ldexp(cut, self.exponents_)


class BinnedColumns(TransformerMixin, BaseEstimator):
    r"""Columns as numbers of bins of about equal weight.

    Trees bin columns anyway, but with weights they take long over it. Of more than 64
    columns those 64 are kept whose distribution functions in the two classes differ
    most at one of the eighths of the column, the first of equals: the time of trees
    grows with the columns, and few of so many are needed. Where one cut of a column
    tells the classes apart, :math:`\max_c |F_1(c) - F_0(c)| \ge 0.9`, a bin ends in the
    middle between the values on its two sides, so that rows a little beyond those that
    were learnt from are on the right side of a gap.
    """

    def fit(self, X: Array, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn which columns to keep, and the upper ends of their bins."""
        self.kept_ = None
        if y is not None and X.shape[1] > COLUMNS_OF_TREES:
            weight = np.ones(len(X)) if sample_weight is None else sample_weight
            apart = distances_at_eighths(X, np.asarray(y) == np.max(y), weight)
            # Rounding must not tell apart what is equal.
            apart = np.round(apart, 12)
            first = np.argsort(-apart, kind="stable")[:COLUMNS_OF_TREES]
            self.kept_ = np.sort(first)
        second = None if y is None else np.asarray(y) == np.max(y)
        self.ends_ = [_bin_ends(x, sample_weight, second) for x in self._columns(X)]
        return self

    def transform(self, X: Array) -> Array:
        """Return the numbers of the bins of the columns that are kept."""
        binned = np.empty((len(X), len(self.ends_)))
        pairs = zip(self.ends_, self._columns(X), strict=True)
        for k, (ends, column) in enumerate(pairs):
            binned[:, k] = np.searchsorted(ends, column)
        return binned

    def _columns(self, X: Array) -> Array:
        # Older model files keep all columns.
        kept = getattr(self, "kept_", None)
        return X.T if kept is None else X.T[kept]


def distances_at_eighths(X: Array, second: Any, weight: Array) -> Array:
    r"""Return how far two classes are apart in every column.

    :math:`\max_b |F_1(c_b) - F_0(c_b)|` over the values :math:`c_b` of the column up to
    which b eighths of all rows lie, b = 1, ..., 7; rows count by their weight in F.
    """
    columns = np.ascontiguousarray(X.T)
    places = (len(X) * np.arange(1, 8)) // 8
    cuts = np.sort(columns, axis=1)[:, np.maximum(places - 1, 0)]
    shares = np.where(second, weight, 0.0) / weight[second].sum()
    shares -= np.where(second, 0.0, weight) / weight[~second].sum()
    apart = [np.abs((columns <= cut[:, None]) @ shares) for cut in cuts.T]
    out: Array = np.max(apart, axis=0)
    return out


def weight_names(estimator: Any) -> list[str]:
    """Return what `fit` calls the weights: of the estimator, or of a pipeline's steps.

    Nothing where the classifier itself takes none.
    """
    if not isinstance(estimator, Pipeline):
        takes = has_fit_parameter(estimator, "sample_weight")
        return ["sample_weight"] if takes else []
    steps = [(name, step) for name, step in estimator.steps if hasattr(step, "fit")]
    if not steps or not weight_names(steps[-1][1]):
        return []
    return [f"{name}__{inner}" for name, step in steps for inner in weight_names(step)]


def fitted_classifier(estimator: Any, X: Matrix, labels: Array, weights: Array) -> Any:
    """Return a fresh copy of the classifier, fitted.

    What it says of its own convergence is kept from the user: held-out rows judge it.
    """
    with refusals_of_estimators():
        return _fitted(estimator, X, labels, weights)


def _fitted(estimator: Any, X: Matrix, labels: Array, weights: Array) -> Any:
    # Ones change nothing, and weighted quantiles of the columns take their time.
    names = [] if (weights == 1.0).all() else weight_names(estimator)
    given = dict.fromkeys(names, weights)
    # Weights go to the steps of a pipeline by name, as without metadata routing.
    unrouted = config_context(enable_metadata_routing=False)
    quiet = held_back(ConvergenceWarning, LinAlgWarning)
    with unrouted, _threads(X), quiet, _roots_of_rounding():
        return clone(estimator).fit(X, labels, **given)


def out_of_fold_log_odds(
    estimator: Any, X: Any, labels: Array, weights: Array, fold: Indices, n_folds: int
) -> Array:
    """Return the log odds of all rows, each by a classifier fitted without its fold."""
    scores = np.empty(labels.size)
    with refusals_of_estimators():
        for k in range(n_folds):
            rest, left = fold != k, fold == k
            fitted = _fitted(estimator, X[rest], labels[rest], weights[rest])
            scores[left] = log_odds(fitted, X[left])
    return scores


def log_odds(fitted: Any, X: Matrix) -> Array:
    """Return the log odds of the target that a classifier gives rows."""
    with _threads(X):
        if not hasattr(fitted, "predict_proba"):
            return np.asarray(fitted.decision_function(X), dtype=float)
        p = np.clip(fitted.predict_proba(X)[:, 1], NO_EVIDENCE, 1.0 - NO_EVIDENCE)
    return np.asarray(np.log(p / (1.0 - p)), dtype=float)


def bounded(log_odds: Array) -> Array:
    """Return log odds whose probabilities are in [1e-6, 1 - 1e-6]."""
    limit = np.log((1.0 - NO_EVIDENCE) / NO_EVIDENCE)
    return np.clip(log_odds, -limit, limit)


def plain_logistic(
    n_columns: int, tol: float = 1e-6, max_iter: int = 10_000
) -> LogisticRegression:
    """Return logistic regression on columns as they come."""
    solver = "newton-cholesky" if n_columns <= COLUMNS_FACTORED else "lbfgs"
    return LogisticRegression(solver=solver, tol=tol, max_iter=max_iter)


def _bin_ends(column: Array, weight: Array | None, second: Any = None) -> Array:
    """Return the largest values of all bins but the last, or the middle of a gap.

    `second`: which rows are of the second class, if there are two.
    """
    order = np.argsort(column, kind="stable")
    ordered = column[order]
    each = np.ones(column.size) if weight is None else weight[order]
    last = np.flatnonzero(np.diff(ordered, append=np.inf))
    values = ends = ordered[last]
    if values.size > N_BINS:
        below = np.cumsum(each)[last]
        levels = below[-1] * np.arange(1, N_BINS) / N_BINS
        ends = values[np.searchsorted(below, levels * (1 - 1e-12))]
    ends = np.unique(ends[ends < values[-1]])
    if second is None:
        return ends
    return _in_a_gap(ends, values, last, each, second[order])


def _in_a_gap(
    ends: Array, values: Array, last: Indices, each: Array, second: Any
) -> Array:
    """Return the ends of bins with one in the middle of the gap between two classes."""
    masses = float(each[second].sum()), float(each[~second].sum())
    if not min(masses) > 0:
        return ends
    shares = np.where(second, each / masses[0], -each / masses[1])
    apart = np.abs(np.cumsum(shares)[last])
    k = int(np.argmax(apart))
    if apart[k] < TOLD_BY_ONE_CUT - 1e-9:
        return ends
    middle = values[k] + (values[k + 1] - values[k]) / 2
    # Between neighbouring floats there is no middle.
    if middle < values[k + 1]:
        ends = np.sort(np.append(ends[ends != values[k]], middle))
    return ends


def _threads(X: Matrix) -> Any:
    """Return a context in which a classifier takes one thread for a small table."""
    most = 1 if X.shape[0] <= ROWS_FOR_ONE_THREAD else None
    return _thread_pools().limit(limits=most, user_api="openmp")


@cache
def _thread_pools() -> ThreadpoolController:
    """Return the loaded libraries that have threads; to look for them takes time."""
    return ThreadpoolController()
