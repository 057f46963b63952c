"""Domain classifiers: candidates, cross-fitted scores, AUC."""

import copy
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.linalg import LinAlgWarning, solve_triangular
from scipy.optimize import minimize
from scipy.sparse.linalg import svds
from scipy.special import expit, ndtri
from scipy.stats import false_discovery_control, norm
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler, normalize
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import ThreadpoolController

from counterpoise.data.arrays import Matrix, SparseMatrix
from counterpoise.data.columns import column_limits
from counterpoise.data.groups import auc_of_units, share_below
from counterpoise.data.parameters import as_seed
from counterpoise.data.samples import Samples
from counterpoise.data.two_samples import (
    FEWEST_DIFFERENT,
    N_FOLDS,
    TwoSamples,
    content,
    dealt_by_sample,
    is_wide_and_sparse,
    sparse_moments,
    unit_exponents,
)
from counterpoise.errors import InvalidInputError, estimator_errors, suppress_warnings
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.shift.columns import (
    spread_rounded_columns,
)
from counterpoise.shift.two_sample_tests import TEST_LEVEL, stack_rows

# -----------------------------------------------------------------------------
# Two Gaussians as a classifier, on columns that are made normal first.
# -----------------------------------------------------------------------------


class NormalScores(TransformerMixin, BaseEstimator):
    r"""Columns as quantiles of a standard normal, by ranks.

    A value gets :math:`\Phi^{-1}(F(x))` with F the share of the rows of both samples
    together below it, its ties counted half; between two values the line, beyond all of
    them the outermost score. A ratio of densities does not change with the columns'
    units, however bent: skewed and heavy-tailed columns become normal ones, and no
    single row rules.
    """

    def fit(
        self, X: Array, y: Array | None = None, sample_weight: Array | None = None
    ) -> Self:
        """Learn the values of every column and their scores."""
        weight = _weights(X, sample_weight)
        self.values_, self.scores_ = [], []
        for column in np.asarray(X).T:
            values, places = np.unique(column, return_inverse=True)
            mass = np.bincount(places, weight)
            self.values_.append(values)
            self.scores_.append(ndtri((np.cumsum(mass) - 0.5 * mass) / mass.sum()))
        return self

    def transform(self, X: Array) -> Array:
        """Return the scores of rows."""
        columns = zip(X.T, self.values_, self.scores_, strict=True)
        return np.column_stack([np.interp(*column) for column in columns])


class TwoGaussians(ClassifierMixin, BaseEstimator):
    r"""The odds of two Gaussians, each with a shrunk covariance.

    With the mean and the covariance S of a class over its n rows of d columns

    .. math:: (1 - a) S + a \mu I, \quad \mu = \mathrm{tr}(S) / d, \quad
        a = \min\Bigl(1, \frac{\sum_i |x_i x_i' - S|^2 / n^2}{|S - \mu I|^2}\Bigr)

    (Ledoit and Wolf, 2004; the rows centered, Frobenius norms). In closed form, and
    with many columns much steadier than a ratio fitted to all their products.
    """

    def fit(self, X: Array, y: Array, sample_weight: Array | None = None) -> Self:
        """Learn the two means and covariances; the labels are 0 and 1."""
        weight = _weights(X, sample_weight)
        self.classes_ = np.array([0, 1])
        self.means_, self.factors_ = [], []
        for label in (0, 1):
            mean, covariance = _shrunk(X[y == label], weight[y == label])
            self.means_.append(mean)
            self.factors_.append(np.linalg.cholesky(covariance))
        self.prior_ = float(np.log(weight[y == 1].sum() / weight[y == 0].sum()))
        return self

    def decision_function(self, X: Array) -> Array:
        """Return the log odds of label 1."""
        source, target = (
            -0.5 * (solve_triangular(factor, (X - mean).T, lower=True) ** 2).sum(axis=0)
            - np.log(np.diagonal(factor)).sum()
            for mean, factor in zip(self.means_, self.factors_, strict=True)
        )
        return np.asarray(target - source + self.prior_)

    def predict(self, X: Array) -> Array:
        """Return the likelier label."""
        return (self.decision_function(X) > 0).astype(int)


# A column that is constant in a class has this variance there, beside columns of
# variance one.
VARIANCE_OF_CONSTANTS = 1e-6


def _shrunk(X: Array, weight: Array) -> tuple[Array, Array]:
    """Return the mean and the shrunk covariance of rows."""
    total, d = weight.sum(), X.shape[1]
    mean = weight @ X / total
    rows = X - mean
    S = rows.T @ (weight[:, None] * rows) / total
    mu = np.trace(S) / d
    away = float(((S - mu * np.eye(d)) ** 2).sum())
    lengths = np.einsum("ij,ij->i", rows, rows)
    noise = float(weight @ lengths**2 / total - (S**2).sum()) / total
    share = min(1.0, noise / away) if away > 0.0 else 1.0
    return mean, (1.0 - share) * S + (share * mu + VARIANCE_OF_CONSTANTS) * np.eye(d)


# -----------------------------------------------------------------------------
# Classifiers of target against source rows of very many columns, as in text.
# -----------------------------------------------------------------------------


# One over the ridge that is tried, times the mean squared length of the rows.
STRENGTHS = (0.1, 1.0, 10.0, 100.0, 1000.0)
# Every fifth row of each sample chooses the ridge.
ONE_IN = 5
# To which logistic regression on so many columns goes.
TOL_OF_TEXT = 1e-4
# Share of the striking columns that may be so by chance, and the fewest kept.
FALSE_SHARE, FEWEST_STRIKING = 0.2, 10
# How many directions of the rows a classifier by components has.
N_COMPONENTS = 12


def text_classifiers(max_iter: int = 10_000) -> dict[str, ClassifierMixin]:
    """Return classifiers of wide sparse rows by their names, the simplest first.

    Logistic regression on twelve components of tf-idf (a shift of topics), on the
    columns that differ most by themselves (a shift of some words), on tf-idf, on tf-idf
    times the log odds that each word speaks for, and on the rows as they are; each with
    a ridge that held-out rows choose. No column is divided by its spread: that would
    make a word that three rows have as large as one that separates the samples.
    """
    ridged = HeldOutLogistic(max_iter=max_iter)
    return {
        "logistic on components": make_pipeline(
            TfidfWeighting(), Components(), StandardScaler(), ridged
        ),
        "logistic on striking words": HeldOutLogistic(
            SignificantColumns(), max_iter=max_iter
        ),
        "logistic on rare words": make_pipeline(TfidfWeighting(), ridged),
        "logistic on telling words": make_pipeline(
            TfidfWeighting(), HeldOutLogistic(NaiveBayesScaler(), max_iter=max_iter)
        ),
        "logistic": ridged,
    }


class HeldOutLogistic(ClassifierMixin, BaseEstimator):
    r"""Logistic regression whose ridge is chosen by rows held out of the fit.

    Tried are :math:`C = \kappa / \mathrm{mean}_i |x_i|^2`, one over the ridge in
    scikit-learn's units, :math:`\kappa` rising from 0.1 to 1000 by tens until the
    log-loss of every fifth row of each class rises; that of the least loss is fitted to
    all rows. Each fit begins where the last ended.

    Parameters
    ----------
    transformer : transformer or None
        Makes columns by the labels of rows. It is fitted without the held-out rows
        while the ridge is chosen, else their own labels would leak.
    tol, max_iter : float, int
        Of the regression.
    """

    def __init__(
        self,
        transformer: TransformerMixin | None = None,
        *,
        tol: float = TOL_OF_TEXT,
        max_iter: int = 10_000,
    ) -> None:
        self.transformer = transformer
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Matrix, y: Array, sample_weight: Array | None = None) -> Self:
        """Choose the ridge, and fit."""
        y, weight = np.asarray(y), _weights(X, sample_weight)
        self.classes_ = np.array([0, 1])
        held_out = np.zeros(y.size, dtype=bool)
        for label in (0, 1):
            held_out[np.flatnonzero(y == label)[ONE_IN - 1 :: ONE_IN]] = True
        self.strength_ = STRENGTHS[0]
        model = LogisticRegression(
            warm_start=True, tol=self.tol, max_iter=self.max_iter
        )
        if held_out.any() and np.unique(y[~held_out]).size == 2:
            kept = ~held_out
            transformer = self._fit_transformer(X[kept], y[kept], weight[kept])
            rows = _transformed(transformer, X[kept])
            others = _transformed(transformer, X[held_out])
            size = _mean_square(rows, weight[kept])
            least, best = np.inf, model
            for strength in STRENGTHS:
                model.set_params(C=strength / size).fit(rows, y[kept], weight[kept])
                odds = model.decision_function(others)
                loss = log_loss(odds, y[held_out], weight[held_out])
                if loss >= least:
                    break
                least, self.strength_, best = loss, strength, copy.deepcopy(model)
            # Columns chosen by other rows are others.
            model = best if self.transformer is None else clone(model)
        self.transformer_ = self._fit_transformer(X, y, weight)
        rows = _transformed(self.transformer_, X)
        self.model_ = model.set_params(C=self.strength_ / _mean_square(rows, weight))
        self.model_.fit(rows, y, weight)
        return self

    def decision_function(self, X: Matrix) -> Array:
        """Return the log odds of label 1."""
        rows = _transformed(self.transformer_, X)
        return np.asarray(self.model_.decision_function(rows))

    def predict(self, X: Matrix) -> Array:
        """Return the likelier label."""
        return (self.decision_function(X) > 0).astype(int)

    def _fit_transformer(
        self, X: Matrix, y: Array, weight: Array
    ) -> TransformerMixin | None:
        if self.transformer is None:
            return None
        return clone(self.transformer).fit(X, y, sample_weight=weight)


class SignificantColumns(TransformerMixin, BaseEstimator):
    r"""The columns whose means in the two classes differ by more than chance.

    With :math:`z = (\bar x_1 - \bar x_0) / (s_1^2 / n_1 + s_0^2 / n_0)^{1/2}` (Welch;
    with weights, effective sizes) and two-sided normal p-values, of d columns those k
    of the smallest are kept, k the largest with :math:`p_{(k)} \le 0.2\, k / d`
    (Benjamini and Hochberg): about a fifth of them differ by chance. Ten at least.

    References
    ----------
    Y. Benjamini and Y. Hochberg, 1995.
    """

    def fit(
        self, X: SparseMatrix, y: Array, sample_weight: Array | None = None
    ) -> Self:
        """Learn which columns to keep."""
        y, weight = np.asarray(y), _weights(X, sample_weight)
        apart, variance = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        for label, sign in ((0, -1.0), (1, 1.0)):
            share = weight[y == label] / weight[y == label].sum()
            mean, spread = sparse_moments(X[y == label], share)
            apart += sign * mean
            variance += spread * float(share @ share)
        error = np.sqrt(variance)
        z = np.divide(apart, error, out=np.zeros_like(apart), where=error > 0)
        chance = 2 * norm.sf(np.abs(z))
        striking = np.count_nonzero(false_discovery_control(chance) <= FALSE_SHARE)
        order = np.argsort(chance, kind="stable")
        self.kept_ = np.sort(order[: max(FEWEST_STRIKING, striking)])
        return self

    def transform(self, X: SparseMatrix) -> Matrix:
        """Return these columns, dense if they are few."""
        kept = X.tocsc()[:, self.kept_].tocsr()
        return np.asarray(kept.toarray()) if self.kept_.size <= 100 else kept


class NaiveBayesScaler(TransformerMixin, BaseEstimator):
    r"""Columns times the log odds of the target that they speak for.

    With :math:`s_{kj}` one plus the sum of the absolute entries of column j in class k,
    the factor is :math:`\log (s_{1j} / \sum_l s_{1l}) - \log (s_{0j} / \sum_l s_{0l})`,
    what naive Bayes adds up: a strong ridge leaves that sum, a weak one the regression.

    References
    ----------
    S. Wang and C. Manning, 2012.
    """

    def fit(
        self, X: SparseMatrix, y: Array, sample_weight: Array | None = None
    ) -> Self:
        """Learn the factors."""
        y, weight = np.asarray(y), _weights(X, sample_weight)
        sums = [
            1.0 + np.asarray(weight[y == k] @ abs(X[y == k])).ravel() for k in (0, 1)
        ]
        logs = [np.log(one / one.sum()) for one in sums]
        self.factor_ = logs[1] - logs[0]
        return self

    def transform(self, X: SparseMatrix) -> Matrix:
        """Return the columns times their factors."""
        return (X @ sparse.diags_array(self.factor_)).tocsr()


class TfidfWeighting(TransformerMixin, BaseEstimator):
    r"""Entries times how rare their column is, rows of length one (tf-idf).

    With a column that is not zero in N' of N rows the factor is
    :math:`\log((1 + N) / (1 + N')) + 1`.
    """

    def fit(
        self,
        X: SparseMatrix,
        y: Array | None = None,
        sample_weight: Array | None = None,
    ) -> Self:
        """Learn in how many rows each column is not zero."""
        weight = _weights(X, sample_weight)
        seen = np.asarray(weight @ (X != 0.0)).ravel()
        self.factor_ = np.log((1.0 + weight.sum()) / (1.0 + seen)) + 1.0
        return self

    def transform(self, X: SparseMatrix) -> Matrix:
        """Return the rows so weighted, of length one unless they are zero."""
        return normalize((X @ sparse.diags_array(self.factor_)).tocsr())


class Components(TransformerMixin, BaseEstimator):
    """The first directions of the rows, by a truncated singular value decomposition.

    Twelve of them, or one fewer than there are rows or columns.
    """

    def fit(
        self,
        X: SparseMatrix,
        y: Array | None = None,
        sample_weight: Array | None = None,
    ) -> Self:
        """Learn the directions; a row of weight two counts twice."""
        rows = sparse.diags_array(np.sqrt(_weights(X, sample_weight))) @ X
        k = max(1, min(N_COMPONENTS, min(rows.shape) - 1))
        start = np.ones(min(rows.shape))
        self.directions_ = svds(rows.tocsc(), k=k, v0=start, solver="arpack")[2]
        return self

    def transform(self, X: SparseMatrix) -> Array:
        """Return where the rows lie along the directions."""
        return np.asarray(X @ self.directions_.T)


def _weights(X: Matrix, sample_weight: Array | None) -> Array:
    return np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight)


def _transformed(transformer: TransformerMixin | None, X: Matrix) -> Matrix:
    """Return rows as a regression takes them, with 32-bit places where sparse."""
    rows = X if transformer is None else transformer.transform(X)
    if not sparse.issparse(rows):
        return rows
    narrow = sparse.csr_array(rows)
    places = narrow.indices.astype(np.int32), narrow.indptr.astype(np.int32)
    return sparse.csr_array((narrow.data, *places), shape=narrow.shape)


def _mean_square(X: Matrix, weight: Array) -> float:
    """Return the mean squared length of the rows."""
    mean = float(weight @ row_norms(X, squared=True) / weight.sum())
    return max(mean, np.finfo(float).tiny)


def log_loss(log_odds: Array, y: Array, weight: Array) -> float:
    """Return the mean log-loss of log odds of label 1."""
    losses = np.logaddexp(0.0, np.where(y == 1, -log_odds, log_odds))
    return float(weight @ losses / weight.sum())


# -----------------------------------------------------------------------------
# Classifiers of target against source rows, and how they are asked.
# -----------------------------------------------------------------------------


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
) -> Pipeline:
    """Return logistic regression on columns of variance one."""
    regression = plain_logistic(n_columns, tol, max_iter)
    if is_sparse:
        return make_pipeline(StandardScaler(with_mean=False), regression)
    return make_pipeline(ClippedColumns(), StandardScaler(), regression)


def linear_classifiers(
    X: Matrix, tol: float = 1e-6, max_iter: int = 10_000
) -> dict[str, ClassifierMixin]:
    """Return the classifiers that rows like these are told apart by, trees aside.

    By their names: logistic regression, or for sparse rows of more than 100 columns
    those of `text_classifiers`.
    """
    if is_wide_and_sparse(X):
        return text_classifiers(max_iter)
    return {"logistic": logistic(sparse.issparse(X), X.shape[1], tol, max_iter)}


def prepared(X: Array, weights: Array) -> Array:
    """Return columns cut and of variance one, as `logistic` makes them."""
    columns = make_pipeline(ClippedColumns(), StandardScaler())
    names = {f"{name}__sample_weight": weights for name in columns.named_steps}
    # The weighted variance of a constant column may be negative by rounding.
    with np.errstate(invalid="ignore"):
        rows: Array = columns.fit_transform(X, **names)
    return rows


def squared_logistic(n_columns: int) -> Pipeline:
    """Return logistic regression on columns and their squares."""
    return make_pipeline(
        ClippedColumns(),
        StandardScaler(),
        WithSquares(),
        StandardScaler(),
        plain_logistic(2 * n_columns, 1e-6, 10_000),
    )


def product_logistic(n_columns: int, C: float) -> Pipeline:
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


def two_gaussians(by_ranks: bool) -> Pipeline:
    """Return the odds of two Gaussians with shrunk covariances.

    Of columns made normal by their ranks, or of columns as they are, cut far outside
    the bulk: where they are normal, ranks lose what the outermost rows tell.
    """
    columns = NormalScores() if by_ranks else ClippedColumns()
    return make_pipeline(columns, StandardScaler(), TwoGaussians())


def boosted() -> Pipeline:
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

    def fit(self, X: Array, y: Array | None = None) -> Self:
        """Learn nothing."""
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Array) -> Array:
        """Return the columns, and then their squares."""
        return np.hstack([X, X**2])


class ClippedColumns(TransformerMixin, BaseEstimator):
    """Columns cut far outside the bulk of their rows, so that no single row rules.

    Columns of tiny numbers alone come out in a unit of their own (`unit_exponents`):
    what follows squares them.
    """

    # Fits by passes have no exponents.
    exponents_: Indices | None = None

    def fit(
        self, X: Array, y: Array | None = None, sample_weight: Array | None = None
    ) -> Self:
        """Learn the limits of every column."""
        weight = _weights(X, sample_weight)
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
    were learned from are on the right side of a gap.
    """

    def fit(
        self, X: Array, y: Array | None = None, sample_weight: Array | None = None
    ) -> Self:
        """Learn which columns to keep, and the upper ends of their bins."""
        second = None if y is None else np.asarray(y) == np.max(y)
        self.kept_ = np.arange(X.shape[1])
        if second is not None and X.shape[1] > COLUMNS_OF_TREES:
            apart = distances_at_eighths(X, second, _weights(X, sample_weight))
            # Rounding must not tell apart what is equal.
            order = np.argsort(-np.round(apart, 12), kind="stable")
            self.kept_ = np.sort(order[:COLUMNS_OF_TREES])
        self.ends_ = [_bin_ends(X[:, j], sample_weight, second) for j in self.kept_]
        return self

    def transform(self, X: Array) -> Array:
        """Return the numbers of the bins of the columns that are kept."""
        columns = zip(self.ends_, X.T[self.kept_], strict=True)
        binned = [np.searchsorted(ends, column) for ends, column in columns]
        return np.column_stack(binned).astype(float)


def distances_at_eighths(X: Array, second: NDArray[np.bool_], weight: Array) -> Array:
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


def weight_names(estimator: BaseEstimator) -> list[str]:
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


def fitted_classifier(
    estimator: ClassifierMixin, X: Matrix, labels: Array, weights: Array
) -> ClassifierMixin:
    """Return a fitted clone of the classifier, without warnings about convergence."""
    # Ones change nothing, and weighted quantiles of the columns take their time.
    names = [] if (weights == 1.0).all() else weight_names(estimator)
    with (
        estimator_errors(),
        # Weights go to the steps of a pipeline by name, as without metadata routing.
        config_context(enable_metadata_routing=False),
        _threads(X),
        suppress_warnings(ConvergenceWarning, LinAlgWarning),
        # The weighted variance of a constant column may be negative by rounding.
        np.errstate(invalid="ignore"),
    ):
        return clone(estimator).fit(X, labels, **dict.fromkeys(names, weights))


def log_odds(fitted: ClassifierMixin, X: Matrix) -> Array:
    """Return the log odds of the target that a classifier gives rows."""
    with estimator_errors(), _threads(X):
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


def _bin_ends(
    column: Array, weight: Array | None, second: NDArray[np.bool_] | None = None
) -> Array:
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
    of_second = np.where(second[order], each, 0.0)
    masses = float(of_second.sum()), float((each - of_second).sum())
    if not min(masses) > 0:
        return ends
    shares = of_second / masses[0] - (each - of_second) / masses[1]
    apart = np.abs(np.cumsum(shares)[last])
    k = int(np.argmax(apart))
    if apart[k] < TOLD_BY_ONE_CUT - 1e-9:
        return ends
    middle = values[k] + (values[k + 1] - values[k]) / 2
    # Between neighboring floats there is no middle.
    if middle < values[k + 1]:
        ends = np.sort(np.append(ends[ends != values[k]], middle))
    return ends


def _threads(X: Matrix) -> AbstractContextManager[object]:
    """Return a context in which a classifier takes one thread for a small table."""
    most = 1 if X.shape[0] <= ROWS_FOR_ONE_THREAD else None
    return _thread_pools().limit(limits=most, user_api="openmp")


@cache
def _thread_pools() -> ThreadpoolController:
    """Return the loaded libraries that have threads; to look for them takes time."""
    return ThreadpoolController()


# -----------------------------------------------------------------------------
# Both samples in one table, for a classifier to tell them apart.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pool:
    """Both samples in one table, with folds that depend on what rows hold.

    Attributes
    ----------
    X : matrix
        Rows of both samples; equal rows of a sample are one row, unless there are fewer
        than fifty different ones, or fewer than five in a sample.
    labels, weights : array
        1 for target rows; how many rows a row stands for.
    fold : array of int
    n_folds : int
    place : array of int
        For every row of the source, then of the target, the row of `X` it is.
    group : array of int
        For every row of `X`, which rows are equal to it, in either sample.
    """

    X: Matrix
    labels: Array
    weights: Array
    fold: Indices
    n_folds: int
    place: Indices
    group: Indices

    @classmethod
    def of(cls, samples: TwoSamples, seed: int, units: Indices | None = None) -> "Pool":
        """Return the table of two samples in canonical order.

        A classifier is to tell what rows hold, not to how many digits
        (`spread_rounded_columns`). Rows are equal as they came: what is put apart for
        the classifier still shares a fold.

        `units`: numbers of what rows belong to, the source's first. Rows of a unit are
        then held out together, and equal rows stay as many as they are.
        """
        as_they_came = stack_rows(samples.source, samples.target)
        samples = spread_rounded_columns(samples)
        X = stack_rows(samples.source, samples.target)
        sizes = samples.source.shape[0], samples.target.shape[0]
        labels = np.repeat([0, 1], sizes)
        weights = np.concatenate(
            [
                samples.source_share * samples.source_mass,
                samples.target_share * samples.target_mass,
            ]
        )
        if units is not None:
            each = np.arange(labels.size)
            fold, n_folds = dealt_by_sample(units, labels, seed)
            return cls(X, labels, _whole(weights), fold, n_folds, each, each)
        # An order by content, equal rows side by side, source before target.
        number = content(as_they_came)
        order = np.lexsort((weights, labels, number))
        merged = 2 * number[order] + labels[order]
        first = np.flatnonzero(np.diff(merged, prepend=-1))
        of_target = int(np.count_nonzero(merged[first] % 2))
        copies = (
            first.size < FEWEST_DIFFERENT
            or min(of_target, first.size - of_target) < N_FOLDS
        )
        if copies:
            first = np.arange(merged.size)
        place = np.empty(merged.size, dtype=np.intp)
        place[order] = np.searchsorted(first, np.arange(merged.size), "right") - 1
        kept = order[first]
        group = number[kept]
        units = np.arange(kept.size) if copies else group
        fold, n_folds = dealt_by_sample(units, labels[kept], seed)
        return cls(
            X[kept],
            labels[kept],
            _whole(np.add.reduceat(weights[order], first)),
            fold,
            n_folds,
            place,
            group,
        )

    def out_of_fold(self, estimator: ClassifierMixin) -> Array:
        """Return the log odds of the rows of `X`, each by a classifier without it."""
        scores = np.empty(self.labels.size)
        for k in range(self.n_folds):
            rest, left = self.fold != k, self.fold == k
            sample = self.X[rest], self.labels[rest], self.weights[rest]
            scores[left] = log_odds(fitted_classifier(estimator, *sample), self.X[left])
        return scores

    def each_row(self, log_odds: Array) -> Array:
        """Return the log odds of the rows as they came; equal rows get their mean."""
        sums = np.bincount(self.group, self.weights * log_odds)
        means = sums / np.maximum(np.bincount(self.group, self.weights), 1e-300)
        return means[self.group][self.place]


def _whole(weights: Array) -> Array:
    """Return weights as whole numbers where rounding alone keeps them from it."""
    nearest = np.rint(weights)
    near = np.abs(weights - nearest) <= 1e-9 * np.maximum(weights, 1.0)
    return np.where(near & (nearest > 0), nearest, weights)


# -----------------------------------------------------------------------------
# How well a classifier tells the two samples apart, row by row.
# -----------------------------------------------------------------------------


# Rows of each sample that the classifiers see; more would not change the verdict.
ROWS_OF_DOMAIN_SCORE = 5_000
AUC_LEVEL = 0.95

# To which logistic regression goes with more than 500 dense columns.
TOL_OF_MANY_COLUMNS = 1e-4

# A row counts in the choice of the model as if its odds were no longer than these.
_LONGEST_ODDS = np.log(1e4)
# The recalibrated log-odds keep the order of the rows, and expit keeps it to here.
_SMALLEST_SLOPE, _LARGEST_LOG_ODDS = 1e-3, 30.0


@dataclass(frozen=True, eq=False)
class DomainScore:
    """How well, and where, the target can be told from the source.

    Attributes
    ----------
    auc : float
        Chance that a target row has a higher score than a source row, ties counted
        half; one half where nothing can be told.
    auc_low, auc_high : float
        Its interval of level 0.95 (DeLong; down to one half near it, see Notes of
        `domain_score`).
    auc_p_value : float
        Chance of an AUC as large where nothing has shifted; below 0.01 exactly where
        `auc_low` is above one half.
    model : str
        "logistic" or "boosted"; of text also logistic "on components", "on striking
        words", "on rare words" or "on telling words":
        The classifier with the smaller held-out log-loss.
    log_loss : float
        That loss, in nats a row, before the recalibration.
    scores, scores_target : array of shape (k,), (l,)
        P(target | x) of source and of target rows, out of fold and recalibrated; in
        the mixture in which the rows scored are `prior` target.
    rows, rows_target : array of shape (k,), (l,)
        Which rows were scored: all that count, or some drawn by chance.
    share, share_target : array of shape (k,), (l,)
        What these rows count in a mean over their sample; they sum to one.
    prior : float
        Share of the target among the rows scored. The odds of a score divided by the
        odds of the prior are a density ratio target/source.
    """

    auc: float
    auc_low: float
    auc_high: float
    auc_p_value: float
    model: str
    log_loss: float
    scores: Array = field(repr=False)
    scores_target: Array = field(repr=False)
    rows: Indices = field(repr=False)
    rows_target: Indices = field(repr=False)
    share: Array = field(repr=False)
    share_target: Array = field(repr=False)
    prior: float = field(repr=False)

    def __str__(self) -> str:
        return (
            f"AUC of source against target {self.auc:.3f} "
            f"({self.auc_low:.3f} to {self.auc_high:.3f}, {self.model})"
        )


def domain_score(
    X: ArrayLike,
    X_target: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    target_weight: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> DomainScore:
    r"""Return P(target | x) of every row, out of fold, and how well it separates.

    Two classifiers, a logistic regression and boosted trees, are fitted to tell target
    from source on four fifths of the rows of each sample and asked about the last
    fifth, five times over. The one with the smaller log-loss is kept, and a line
    through its log-odds, fitted by maximum likelihood (Platt), makes its probabilities
    right on the average:

    .. math:: s(x) = 1 / (1 + \exp(-a f(x) - b)), \quad a > 0.

    Parameters
    ----------
    X : array-like, frame or sparse matrix of shape (n, d)
        The source rows. A table with categories, dates or missing values is read by
        `TableEncoder`.
    X_target : the same of shape (m, d), or a tuple of such
        The target rows.
    sample_weight, target_weight : array of shape (n,), (m,)
        What the rows count in every mean; only their ratios within a sample matter.
    random_state : int, RandomState or None
        Where the folds come from, and the 5,000 rows of a sample that has more; None:
        from what the rows hold, so that the same rows get the same answer.

    Returns
    -------
    DomainScore

    Notes
    -----
    The interval is DeLong's, and with weights
    :math:`\sum_j q_j^2 (V_j - A)^2 / (1 - \sum_j q_j^2)` takes the place of its
    variance over either sample, with :math:`q_j` a row's share and :math:`V_j` the
    chance that the row is on the right side of one of the other sample. That takes
    the classifiers for given. With nothing shifted an out-of-fold AUC varies more, by a
    factor of up to :math:`\sqrt 2`: of two folds each is held out from the classifier
    that the other teaches, so that what one says of the other counts twice. Therefore
    the interval reaches down to one half wherever the AUC is not above it by that
    factor times the reach of a test of level 0.01, this test's part in `overlap`'s
    verdict, with the larger of DeLong's error and that of Mann and Whitney for equal
    distributions: wherever

    .. math:: p = \Phi\Bigl(-\frac{A - 1/2}{\sqrt 2\, e}\Bigr) \ge 0.01 .

    Equal rows share a fold, so that no copy of a row helps to score it, and a row of
    weight two is the row twice; where there are fewer than fifty different rows, as
    with few categories, copies are dealt out over the folds and get the mean of their
    log-odds. The order of the rows does not matter. Columns that the samples record to
    different digits are compared as if they did not (`spread_rounded_columns`).

    Sparse rows of more than 100 columns, as text is, are told apart by five logistic
    regressions in place of the two classifiers: on twelve components of tf-idf, on the
    columns whose means differ by more than chance, on tf-idf, on tf-idf times the log
    odds that a column speaks for, and on the rows as they are, each with a ridge chosen
    by held-out rows. No column is divided by its spread.

    Of more than 64 columns the trees look at the 64 that differ most between the
    samples, by the rows that they learn from. More than 500 dense columns are cut and
    scaled once, by the rows of both samples and not by those of each fold (no label is
    looked at), and the regression goes to a tolerance of 1e-4, not 1e-6.

    References
    ----------
    E. DeLong, D. DeLong and D. Clarke-Pearson, 1988. J. Platt, 1999.

    Examples
    --------
    >>> from counterpoise.datasets import make_gaussian_shift
    >>> shift = make_gaussian_shift(n=400, m=300, d=2, random_state=0)
    >>> score = domain_score(shift.X, shift.X_target, random_state=0)
    >>> score.auc_low > 0.5, score.scores.shape, score.scores_target.shape
    (True, (400,), (300,))
    """
    samples = Samples.read(X, X_target, sample_weight, target_weight, form="encoded")
    seed = as_seed(samples.seed(random_state))
    return score_domains(samples, seed)


def domain_auc(
    X: ArrayLike,
    X_target: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    target_weight: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> float:
    """Return how well a classifier tells target rows from source rows, out of fold.

    One half where the samples cannot be told apart, one where they never meet;
    `domain_score` has the interval and the scores.

    Parameters
    ----------
    X : array-like, frame or sparse matrix of shape (n, d)
        The source rows. A table with categories, dates or missing values is read by
        `TableEncoder`.
    X_target : the same of shape (m, d), or a tuple of such
        The target rows.
    sample_weight, target_weight : array of shape (n,), (m,)
        What the rows count in every mean; only their ratios within a sample matter.
    random_state : int, RandomState or None
        Where the folds come from, and the 5,000 rows of a sample that has more; None:
        from what the rows hold, so that the same rows get the same answer.

    Examples
    --------
    >>> domain_auc([[0.0], [1.0], [2.0]], [[7.0], [8.0], [9.0]], random_state=0)
    1.0
    """
    samples = Samples.read(X, X_target, sample_weight, target_weight, form="encoded")
    return score_domains(samples, as_seed(samples.seed(random_state))).auc


def score_domains(samples: Samples, seed: int) -> DomainScore:
    """Return what `domain_score` does, of samples as read; worked out once a seed."""
    key = score_domains, seed
    if key not in samples.found:
        samples.found[key] = _scored(samples, seed)
    result: DomainScore = samples.found[key]
    return result


def _scored(samples: Samples, seed: int) -> DomainScore:
    source, target = samples.source, samples.target
    order, order_target = samples.order
    rows, weight = _some_rows(order, samples.source_weight, seed)
    rows_target, weight_target = _some_rows(order_target, samples.target_weight, seed)
    for name, chosen in (("X", rows), ("X_target", rows_target)):
        if chosen.size < 2:
            raise InvalidInputError(
                f"{name} has {chosen.size} row that counts, at least 2 are needed to "
                "score rows by a fit without them"
            )
    scored = TwoSamples.of(source[rows], target[rows_target], weight, weight_target)
    units = samples.units
    pool = Pool.of(
        scored, seed, None if units is None else units.in_turn(rows, rows_target)
    )
    name, log_odds, loss = _better_model(pool)
    scores = expit(pool.each_row(_recalibrated(log_odds, pool.labels, pool.weights)))
    # Back to the order in which the rows came.
    n, back, back_target = rows.size, np.argsort(rows), np.argsort(rows_target)
    first, second = scores[:n][back], scores[n:][back_target]
    share, share_target = scored.source_share[back], scored.target_share[back_target]
    if units is None:
        auc, error = _auc(first, second, share, share_target)
        low, high, chance = _interval(auc, error, share, share_target)
    else:
        numbers = units.in_turn(rows[back], rows_target[back_target])
        auc, low, high, chance = auc_of_units(
            first, second, share, share_target, numbers, TEST_LEVEL, AUC_LEVEL
        )
    return DomainScore(
        auc=auc,
        auc_low=low,
        auc_high=high,
        auc_p_value=chance,
        model=name,
        log_loss=loss,
        scores=first,
        scores_target=second,
        rows=rows[back],
        rows_target=rows_target[back_target],
        share=share,
        share_target=share_target,
        prior=scored.target_mass / (scored.source_mass + scored.target_mass),
    )


def _some_rows(order: Indices, weight: Array, seed: int) -> tuple[Indices, Array]:
    """Return rows that count, in an order of their own, and weights of mean one."""
    if order.size > ROWS_OF_DOMAIN_SCORE:
        # The same draw for both samples, so that equal samples stay equal.
        drawn = np.random.default_rng(seed).permutation(order.size)
        order = order[np.sort(drawn[:ROWS_OF_DOMAIN_SCORE])]
    weight = weight[order]
    return order, weight / weight.mean()


def _better_model(pool: Pool) -> tuple[str, Array, float]:
    """Return the name, the out-of-fold log-odds and the log-loss of the better."""
    is_sparse, d = sparse.issparse(pool.X), pool.X.shape[1]
    models = linear_classifiers(pool.X)
    if not is_sparse and d > COLUMNS_FACTORED:
        pool = replace(pool, X=prepared(pool.X, pool.weights))
        models = {"logistic": plain_logistic(d, TOL_OF_MANY_COLUMNS)}
    # Trees take no sparse matrix.
    if not is_sparse:
        models["boosted"] = boosted()
    result = []
    for name, model in models.items():
        log_odds = pool.out_of_fold(model)
        cautious = np.clip(log_odds, -_LONGEST_ODDS, _LONGEST_ODDS)
        loss = log_loss(cautious, pool.labels, pool.weights)
        result.append((name, log_odds, loss))
    return min(result, key=lambda candidate: candidate[2])


def _recalibrated(log_odds: Array, label: Array, weight: Array) -> Array:
    """Return the log-odds on the increasing line that fits the labels best."""
    # Platt's targets: a separable pair of samples has no best line for labels 0 and 1.
    mass = float(weight @ label)
    mass_source = float(weight.sum()) - mass
    aim = np.where(label == 1, (mass + 1) / (mass + 2), 1 / (mass_source + 2))
    share = weight / weight.sum()
    scale = max(float(np.sqrt(share @ log_odds**2)), np.finfo(float).tiny)
    z = log_odds / scale

    def loss(line: Array) -> tuple[float, Array]:
        fitted = line[0] * z + line[1]
        wrong = share * (expit(fitted) - aim)
        value = float(share @ (np.logaddexp(0.0, fitted) - aim * fitted))
        return value, np.array([wrong @ z, wrong.sum()])

    line = minimize(
        loss,
        np.array([scale, 0.0]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(_SMALLEST_SLOPE, None), (None, None)],
        options={"ftol": 0.0, "gtol": 1e-9},
    ).x
    return np.clip(line[0] * z + line[1], -_LARGEST_LOG_ODDS, _LARGEST_LOG_ODDS)


def _auc(
    scores: Array, scores_target: Array, share: Array, share_target: Array
) -> tuple[float, float]:
    """Return the AUC and its standard error by DeLong, with weights."""
    above_source = share_below(scores_target, scores, share)
    above_target = share_below(scores, scores_target, share_target)
    auc = min(float(share_target @ above_source), 1.0)
    error = _variance_of_mean(above_source, share_target)
    error += _variance_of_mean(above_target, share)
    return auc, float(np.sqrt(error))


def _interval(
    auc: float, error: float, share: Array, share_target: Array
) -> tuple[float, float, float]:
    """Return the ends of DeLong's interval, and the chance of such an AUC.

    The lower end is at most one half if chance explains the AUC.
    """
    quantile = float(norm.ppf(0.5 + AUC_LEVEL / 2))
    low, high = max(auc - quantile * error, 0.0), min(auc + quantile * error, 1.0)
    # The error of Mann and Whitney, which does not vanish with the errors of few rows.
    p, q = float(share @ share), float(share_target @ share_target)
    by_chance = max(error, np.sqrt((p + q + p * q) / 12))
    chance = float(norm.sf((auc - 0.5) / (np.sqrt(2) * by_chance)))
    if chance >= TEST_LEVEL:
        low = min(low, 0.5)
    return low, high, chance


def _variance_of_mean(values: Array, share: Array) -> float:
    centered = values - share @ values
    # One row that has all the weight leaves no more than rounding.
    left = max(1.0 - float(share @ share), float(np.finfo(float).eps))
    return float(share**2 @ centered**2) / left
