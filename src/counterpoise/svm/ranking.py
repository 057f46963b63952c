"""Ranking SVM with an exact NDCG curve."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from counterpoise.data.arrays import estimator_matrix
from counterpoise.data.labels_and_weights import as_responses
from counterpoise.data.parameters import check_choice, check_number
from counterpoise.errors import InvalidInputError
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.optim.quadratic_path.follower import Follower, from_zero
from counterpoise.optim.quadratic_path.path import ParametricPath
from counterpoise.optim.quadratic_path.problem import (
    DenseRows,
    KernelRows,
    RowsOnDemand,
)
from counterpoise.svm.base import KernelParameter, Labels, named_kernel
from counterpoise.svm.path import ValidationCurve, ndcg_curve, trace


class RankingSVM(BaseEstimator):
    r"""Scores that put higher grades above lower ones, within each query.

    .. math:: \min_f \|f\|^2 / 2 + C \sum_{(i, j)} v_{ij} \max(0, 1 - f(x_i) + f(x_j))

    over the pairs of one query with :math:`grade_i > grade_j`. The pair weights v are
    one, or with `weighting="ndcg"`
    :math:`(2^{g_i} - 2^{g_j}) |1/\log_2(1 + r_i) - 1/\log_2(1 + r_j)| / \max DCG`,
    with r the ranks in the ideal order of the query (first is 1).

    Parameters
    ----------
    C : float
        Weight of the loss against the norm.
    kernel : {"rbf", "linear", "poly"} or callable
        Must be positive semidefinite.
    degree, coef0 : int, float
        Of the polynomial kernel.
    gamma : "scale", "auto" or float
        Kernel width: exp(-gamma * dist**2).
    weighting : {"ndcg", None}
        How much a pair counts.
    cache_size : float
        Megabytes that the matrix of pairs may take; above, its rows are computed on
        demand.

    Attributes
    ----------
    pairs_ : array of shape (n_pairs, 2)
        Rows that should stand above and below.
    pair_weights_ : array of shape (n_pairs,)
    coefficients_ : array of shape (n,)
        The scores are the kernel with the training rows times these.

    References
    ----------
    Herbrich, Graepel and Obermayer (2000); Cao et al. (2006).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = RankingSVM(kernel="linear").fit(X, [0, 1, 1, 2])
    >>> np.argsort(model.predict(X))
    array([0, 1, 2, 3])
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: KernelParameter = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        weighting: str | None = "ndcg",
        cache_size: float = 200.0,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.weighting = weighting
        self.cache_size = cache_size

    def fit(
        self, X: ArrayLike, y: ArrayLike, *, query: ArrayLike | None = None
    ) -> "RankingSVM":
        """Fit the scores.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
            Grades, not negative if pairs are weighted.
        query : array of shape (n,), optional
            Which query a row belongs to; by default all rows are one.
        """
        check_number("C", self.C, low=0, closed="neither")
        if self.weighting is not None:
            check_choice("weighting", self.weighting, ["ndcg"])
        if self.kernel == "precomputed":
            raise InvalidInputError("kernel must not be precomputed for ranking")
        X = estimator_matrix(self, X, reset=True)
        if len(X) < 2:
            raise InvalidInputError(
                "n_samples = 1: two rows or more are needed for a ranking"
            )
        grades, queries = _grades_and_queries(
            y, query, len(X), weighted=self.weighting is not None
        )
        self.kernel_ = named_kernel(self, X, np.ones(len(X)))
        self.X_fit_ = X.copy()
        self.pairs_, weights = _pairs(grades, queries)
        if not len(self.pairs_):
            raise InvalidInputError("no query has two grades: there is nothing to rank")
        self.pair_weights_ = weights if self.weighting else np.ones(len(weights))
        one = np.ones(len(weights))
        follower = self._follower()
        from_zero(follower, one, 0.0 * one, self.C * self.pair_weights_)
        self.duals_ = follower.a.copy()
        self.coefficients_ = self._spread(self.duals_)
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Return scores: a higher one should stand above."""
        check_is_fitted(self)
        return self._scores(X, self.coefficients_)

    def path(self) -> ParametricPath:
        """Return the path from plain pairs (theta = 0) to weighted ones (theta = 1).

        `scores(path, theta, X)` gives the scores on it, `validation_curve(path, X, y)`
        what they are worth on other rows.
        """
        check_is_fitted(self)
        follower = self._follower()
        one = np.ones(len(self.pairs_))
        from_zero(follower, one, 0.0 * one, self.C * one)
        path = follower.move(upper=self.C * self.pair_weights_)
        return path

    def scores(self, path: ParametricPath, theta: float, X: ArrayLike) -> Array:
        """Return the scores at one theta of a path."""
        return self._scores(X, self._spread(path.at(theta)))

    def validation_curve(
        self,
        path: ParametricPath,
        X: ArrayLike,
        y: ArrayLike,
        *,
        query: ArrayLike | None = None,
    ) -> ValidationCurve:
        """Return 1 - NDCG of other rows along a path, exactly, over all theta.

        Parameters
        ----------
        path : ParametricPath
            Of `path`.
        X : array of shape (m, d)
        y : array of shape (m,)
            Grades, not negative.
        query : array of shape (m,), optional
            Which query a row belongs to; by default all rows are one.
        """
        check_is_fitted(self)
        X = estimator_matrix(self, X, reset=False)
        grades, queries = _grades_and_queries(y, query, len(X), weighted=True)
        cross = self.kernel_.matrix(self.X_fit_, X)
        above, below = self.pairs_.T
        scores = trace(path, cross[above] - cross[below])
        return ndcg_curve(scores, grades, queries)

    def _scores(self, X: ArrayLike, coefficients: Array) -> Array:
        X = estimator_matrix(self, X, reset=False)
        used = np.flatnonzero(coefficients)
        out: Array = self.kernel_.cross(X, self.X_fit_, used) @ coefficients[used]
        return out

    def _spread(self, a: Array) -> Array:
        """Return the coefficient of every row from those of the pairs."""
        n = len(self.X_fit_)
        above, below = self.pairs_.T
        out = np.bincount(above, a, n) - np.bincount(below, a, n)
        return np.asarray(out, dtype=float)

    def _follower(self) -> Follower:
        K = self.kernel_.matrix(self.X_fit_, self.X_fit_)
        K = 0.5 * (K + K.T)
        i, j = self.pairs_.T

        def block(rows: Indices, columns: Indices | None) -> Array:
            some = slice(None) if columns is None else columns
            upper = K[i[rows]] - K[j[rows]]
            out: Array = upper[:, i[some]] - upper[:, j[some]]
            return out

        n_pairs = len(self.pairs_)
        gram: KernelRows
        if 8e-6 * n_pairs**2 <= self.cache_size:
            pair_kernel = block(np.arange(n_pairs), None)
            gram = DenseRows(0.5 * (pair_kernel + pair_kernel.T))
        else:
            diagonal = K[i, i] - 2.0 * K[i, j] + K[j, j]
            gram = RowsOnDemand(block, diagonal, int(1e6 * self.cache_size))
        return Follower(gram, np.ones(n_pairs), bias=False)


def _grades_and_queries(
    y: ArrayLike, query: ArrayLike | None, n_rows: int, *, weighted: bool
) -> tuple[Array, Labels]:
    grades = as_responses(y, n_rows)
    queries = np.zeros(n_rows) if query is None else np.asarray(query)
    if queries.shape != (n_rows,):
        raise InvalidInputError(f"query has shape {queries.shape}, X has {n_rows} rows")
    lacking = np.flatnonzero(queries != queries)
    if lacking.size:
        raise InvalidInputError(f"query is NaN in row {lacking[0]} (counted from 0)")
    if weighted and grades.min() < 0.0:
        row = int(np.argmin(grades))
        raise InvalidInputError(
            f"y must not be negative, got {grades[row]:g} in row {row} (counted from 0)"
        )
    return grades, queries


def _pairs(grades: Array, queries: Labels) -> tuple[Indices, Array]:
    """Return the pairs of unequal grades within queries, and their NDCG weights."""
    pairs, weights = [np.empty((0, 2), dtype=np.intp)], [np.empty(0)]
    for query in np.unique(queries):
        rows = np.flatnonzero(queries == query)
        g = grades[rows]
        i, j = np.nonzero(g[:, None] > g[None])
        pairs.append(np.column_stack([rows[i], rows[j]]))
        order = np.argsort(-g, kind="stable")
        discount = np.empty(rows.size)
        discount[order] = 1.0 / np.log2(1.0 + np.arange(1, rows.size + 1))
        gain = np.exp2(g)
        best = float((gain - 1.0) @ discount)
        weights.append(
            (gain[i] - gain[j]) * np.abs(discount[i] - discount[j]) / max(best, 1e-300)
        )
    return np.concatenate(pairs), np.concatenate(weights)
