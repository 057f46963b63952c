"""Weighted kernel ridge regression."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from counterpoise.data.arrays import Matrix, estimator_matrix
from counterpoise.data.labels_and_weights import as_responses, row_counts
from counterpoise.data.parallel import current_budget
from counterpoise.data.parameters import check_integer, check_number
from counterpoise.errors import InvalidInputError, warn_user
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.cholesky import ROUNDED_AWAY, column_cholesky, pivoted_cholesky
from counterpoise.linalg.kernels import Kernel, auto_gamma
from counterpoise.optim.loop import certified
from counterpoise.optim.problems import KernelRidge
from counterpoise.shift.discrepancy_distance import check_hypotheses

# Rows of new points predicted at once.
PREDICTED_ROWS = 4096
# The gap that the closed form must reach, in units of the responses' mean square.
RIDGE_GAP = 1e-9


def _refuse_infinite(found: Array, other: Array, what: str) -> None:
    if not (np.isfinite(found).all() and np.isfinite(other).all()):
        raise InvalidInputError(
            f"the {what} are not finite: numbers of these rows, their kernel or their "
            "responses leave the range of floats; divide the columns"
        )


@dataclass(kw_only=True, eq=False, repr=False)
class WeightedKernelRidge(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Kernel ridge regression in which rows have weights.

    .. math::

        \min_{h, b} \frac{\sum_i w_i (y_i - h(x_i) - b)^2 / 2}{\sum_i w_i}
        + \frac{\alpha}{2} \|h\|_K^2

    The scale of the weights drops out; a weight of two is the row twice, a weight of
    zero its absence. `alpha` is that of scikit-learn's `KernelRidge` divided by the sum
    of the weights, and the :math:`\lambda` of the bounds in
    `counterpoise.bounds`, which hold without an intercept.

    Parameters
    ----------
    alpha : float
        Weight of the squared norm, positive.
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable
        Must be positive semidefinite. A callable is given two matrices of rows.
    gamma : float or None
        Kernel width: exp(-gamma * dist**2). None: one over the number of columns.
    degree, coef0 : int, float
        Of the polynomial kernel.
    fit_intercept : bool
        Whether there is a constant b, which is not penalized.
    rank : int or None
        Largest rank of the kernel matrix, by a pivoted Cholesky factor; None: the whole
        matrix.

    Attributes
    ----------
    dual_coef_ : array of shape (k,) or (k, n_outputs)
        Coefficients of the kernels at the rows `X_fit_`: all of positive weight, or the
        pivots.
    intercept_ : float or array of shape (n_outputs,)
        b; zero without an intercept.
    X_fit_ : matrix of shape (k, d)
        Rows that predictions need. Not kept for a precomputed kernel.
    support_ : array of shape (k,)
        Their places among the rows of `fit`.
    rank_error_ : float or None
        The largest diagonal entry of what the factor leaves out of the kernel matrix;
        None without `rank`.
    solution_ : Solution
        The dual variables :math:`v_i = \sqrt{p_i} (y_i - h(x_i) - b) / \alpha`,
        :math:`p_i = w_i / \sum w`, with their certificate.

    Notes
    -----
    Exact: Cholesky of :math:`SKS + \alpha I`, :math:`S = \mathrm{diag}(\sqrt{p})`,
    :math:`n^3 / 3` operations and :math:`n^2` numbers. With `rank` r:
    :math:`O(n r^2)` and :math:`nr` numbers; the certificate is then about the kernel of
    rank r, and `rank_error_` says what that leaves out. The certificate's gap is half
    the squared residual of the equations, an exact duality gap.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0)[:, None]
    >>> model = WeightedKernelRidge(alpha=1e-6, kernel="linear").fit(X, 2 * X[:, 0] + 1)
    >>> model.predict([[10.0]]).round(3), model.solution_.converged
    (array([21.]), True)
    """

    alpha: float = 1e-3
    kernel: str | Callable[[Array, Array], Array] = "rbf"
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0
    fit_intercept: bool = True
    rank: int | None = None

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> "WeightedKernelRidge":
        """Fit the model.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, d), or (n, n) if precomputed
        y : array of shape (n,) or (n, n_outputs)
        sample_weight : array of shape (n,), optional
            What the rows count; only their ratios matter.
        """
        self._check()
        X = estimator_matrix(self, X, reset=True, accept_sparse=True)
        if self.kernel == "precomputed" and (
            sparse.issparse(X) or X.shape[0] != X.shape[1]
        ):
            raise InvalidInputError(
                f"Precomputed matrix must be a square matrix, got shape {X.shape}"
            )
        y = as_responses(y, X.shape[0], multi_output=True)
        weights = row_counts(sample_weight, X.shape[0])
        self.gamma_ = auto_gamma(X) if self.gamma is None else float(self.gamma)
        counted = np.flatnonzero(weights)
        share = weights[counted] / weights.sum()
        responses = y.reshape(len(y), -1)[counted]
        # Without the mean no digits are lost far from zero.
        middle = share @ responses if self.fit_intercept else np.zeros(y[:1].size)
        moved = responses - middle
        # What overflows is told below, in words.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if self.rank is None:
                self._plan(counted.size)
                v, problem = self._exact(X, counted, moved, share)
                coefficients, self.support_ = np.sqrt(share)[:, None] * v, counted
                self.rank_error_: float | None = None
            else:
                v, problem, coefficients = self._low_rank(X, counted, moved, share)
        _refuse_infinite(v, coefficients, "coefficients")
        with np.errstate(over="ignore", invalid="ignore"):
            self.solution_ = certified(problem, v, RIDGE_GAP)
        gap = np.array(self.solution_.certificate.gap, dtype=float)
        _refuse_infinite(gap, gap, "proof's numbers")
        if not self.solution_.converged:
            warn_user(
                f"WeightedKernelRidge: {self.solution_.certificate}; raise alpha",
                ConvergenceWarning,
            )
        intercepts = problem.intercepts(v) + middle
        self.dual_coef_ = coefficients if y.ndim == 2 else coefficients[:, 0]
        self.intercept_ = intercepts if y.ndim == 2 else float(intercepts[0])
        if self.kernel != "precomputed":
            self.X_fit_ = X[self.support_]
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Return the predicted values.

        Parameters
        ----------
        X : matrix of shape (k, d), or (k, n) if precomputed

        Returns
        -------
        array of shape (k,) or (k, n_outputs)
        """
        check_is_fitted(self, "dual_coef_")
        X = estimator_matrix(self, X, reset=False, accept_sparse=True)
        kernel = self._kernel
        out = np.empty((X.shape[0], *self.dual_coef_.shape[1:]))
        for first in range(0, X.shape[0], PREDICTED_ROWS):
            rows = X[first : first + PREDICTED_ROWS]
            if self.kernel == "precomputed":
                K = rows[:, self.support_]
            else:
                K = kernel.matrix(rows, self.X_fit_)
            with np.errstate(over="ignore", invalid="ignore"):
                out[first : first + PREDICTED_ROWS] = K @ self.dual_coef_
        out += self.intercept_
        _refuse_infinite(out, out, "answers")
        return out

    def _plan(self, n: int) -> None:
        """Refuse more rows than the exact equations have memory for."""
        needed = 8 * n * n
        if needed > current_budget():
            raise InvalidInputError(
                f"the kernel matrix of {n} rows takes {needed / 2**30:.1f} GiB, above "
                f"the memory budget of {current_budget() / 2**30:.1f} GiB: give a "
                "rank, such as rank=500, or raise the budget "
                "(counterpoise.data.memory_budget)"
            )

    def _check(self) -> None:
        check_number("alpha", self.alpha, low=0.0, closed="neither")
        check_number("gamma", self.gamma, low=0.0, closed="neither", options=(None,))
        check_integer("rank", self.rank, low=1, options=(None,))
        if not callable(self.kernel):
            check_hypotheses(self.kernel, 1.0, self.degree, self.coef0)

    @property
    def _kernel(self) -> Kernel:
        """The kernel with its numbers."""
        if callable(self.kernel):
            return Kernel(self.kernel)
        return Kernel(self.kernel, self.gamma_, self.degree, float(self.coef0))

    def _exact(
        self, X: Matrix, rows: Indices, y: Array, share: Array
    ) -> tuple[Array, KernelRidge]:
        """Return the dual variables, and the problem that they solve."""
        own = self._kernel.part(X, rows)
        K = own if self.kernel == "precomputed" else self._kernel.matrix(own, own)
        problem = KernelRidge(K.dot, y, share, self.alpha, self.fit_intercept)
        s = problem.roots
        system = s * K * s.T
        system.flat[:: len(system) + 1] += self.alpha
        factor = self._cholesky(system)

        def solved(right: Array) -> Array:
            found = cho_solve(factor, np.hstack([right, s]))
            if not self.fit_intercept:
                return found[:, :-1]
            v, along = found[:, :-1], found[:, -1:]
            return v - along * ((s.T @ v) / (s.T @ along))

        v = solved(s * y)
        # One correction by the residual makes up for the factor's rounding.
        rest = s * (y - problem.intercepts(v) - K @ (s * v)) - self.alpha * v
        return v + solved(rest), problem

    def _low_rank(
        self, X: Matrix, rows: Indices, y: Array, share: Array
    ) -> tuple[Array, KernelRidge, Array]:
        """Return the dual variables, their problem, and coefficients at the pivots."""
        F, pivots, error = self._factor(X, rows)
        self.rank_error_ = error
        self.support_ = rows[pivots]
        problem = KernelRidge(
            lambda c: F @ (F.T @ c), y, share, self.alpha, self.fit_intercept
        )
        s = problem.roots
        middle = share @ F if self.fit_intercept else np.zeros(F.shape[1])
        weighted = s * (F - middle)
        system = weighted.T @ weighted
        system.flat[:: len(system) + 1] += self.alpha
        b = coefficients = np.zeros((F.shape[1], y.shape[1]))
        if F.shape[1]:
            factor = self._cholesky(system)
            b = cho_solve(factor, weighted.T @ (s * y))
            coefficients = solve_triangular(F[pivots].T, b, lower=False)
        rest = s * y - weighted @ b
        if self.fit_intercept:
            rest = rest - s * (s.T @ rest)
        return rest / self.alpha, problem, coefficients

    def _cholesky(self, system: Array) -> tuple[Array, bool]:
        """Return the Cholesky factor of the equations, which are overwritten."""
        try:
            return cho_factor(system, lower=True, overwrite_a=True)
        except LinAlgError:
            raise InvalidInputError(
                f"alpha = {self.alpha:g} is too small for this kernel matrix, or the "
                "kernel is not positive semidefinite: the system cannot be factored"
            ) from None

    def _factor(self, X: Matrix, rows: Indices) -> tuple[Array, Indices, float]:
        """Return F with FF' near the kernel matrix, its pivots, and what it leaves."""
        assert self.rank is not None
        if self.kernel == "rbf" and not sparse.issparse(X):
            found, pivots, left = pivoted_cholesky(
                X[rows], self.gamma_, ROUNDED_AWAY, int(self.rank)
            )
            return found.T, pivots, float(left.max())
        return self._greedy_factor(X, rows)

    def _greedy_factor(self, X: Matrix, rows: Indices) -> tuple[Array, Indices, float]:
        """Return the same for any kernel, a column of its matrix at a time."""

        def column(i: int) -> Array:
            if self.kernel == "precomputed":
                return X[rows, rows[i]]
            return self._kernel.matrix(X[rows], X[rows[i : i + 1]])[:, 0]

        found = column_cholesky(column, self._diagonal(X, rows), int(self.rank or 1))
        return found.factor, found.pivots, float(found.residual.max())

    def _diagonal(self, X: Matrix, rows: Indices) -> Array:
        if self.kernel == "precomputed":
            least = float(X[rows, rows].min())
            if least < 0.0:
                raise InvalidInputError(
                    "the kernel is not positive semidefinite: its diagonal goes down "
                    f"to {least:g}"
                )
            return X[rows, rows]
        return np.maximum(self._kernel.matrix_diagonal(X[rows]), 0.0)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags
