"""Support vector, quantile and heteroscedastic regression."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from counterpoise.data.arrays import estimator_matrix
from counterpoise.data.labels_and_weights import as_responses, as_weights
from counterpoise.data.parameters import check_integer, check_number
from counterpoise.errors import InvalidInputError, warn_user
from counterpoise.linalg.arrays import Array
from counterpoise.optim.certificate import Certificate
from counterpoise.optim.quadratic_path.follower import center_bias, from_zero
from counterpoise.svm.base import (
    KernelParameter,
    Layout,
    LeaveOneOut,
    ResponseSVM,
    Target,
    sensitivity,
    solve_first,
    two_numbers,
)
from counterpoise.svm.path import Segment, SVMPath

# -----------------------------------------------------------------------------
# A support vector regressor that follows its solution.
# -----------------------------------------------------------------------------


class WeightedSVR(ResponseSVM):
    r"""Support vector regressor with exact solutions and paths in its weights.

    .. math:: \min_{f, b} \|f\|^2 / 2
              + C \sum_i w_i \max(0, |y_i - f(x_i) - b| - \epsilon)

    with sample weights w, as `sklearn.svm.SVR`.

    Parameters
    ----------
    C : float
        Weight of the loss against the norm.
    epsilon : float
        Half the width of the tube in which errors do not count; zero is the absolute
        loss.
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable
        Must be positive semidefinite.
    degree, coef0 : int, float
        Of the polynomial kernel.
    gamma : "scale", "auto" or float
        Kernel width: exp(-gamma * dist**2). "scale" uses the weighted variance.
    tol : float
        Of the first approximate solution, where one is used; the result is exact.
    cache_size : float
        Megabytes that a Gram matrix may take; above, its rows are computed on demand.
    max_iter : int
        Most events on a path, more are an error; -1: 50 a row and 2000.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_ : arrays
        As in scikit-learn.
    coef_ : array of shape (n_machines, d)
        The same for a linear kernel.
    kernel_ : Kernel
        With its numbers.
    n_iter_ : array
        Events of the last move of each machine.

    Notes
    -----
    A weight of two is the row twice, a weight of zero its absence. A path in
    epsilon needs positive values at both ends and in the model.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0)[:, None]
    >>> model = WeightedSVR(kernel="linear", C=10.0).fit(X, 2.0 * X[:, 0])
    >>> path = model.path(epsilon=(0.1, 0.5))
    >>> path.at(0.5).predict([[3.0]]).round(3), path.certify().holds(1e-9)
    (array([5.9]), True)
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        kernel: KernelParameter = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        cache_size: float = 200.0,
        max_iter: int = -1,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.cache_size = cache_size
        self.max_iter = max_iter

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> "WeightedSVR":
        """Fit the machine.

        Parameters
        ----------
        X : array of shape (n, d), or (n, n) if precomputed
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Factors of C, not negative.
        """
        epsilon = check_number("epsilon", self.epsilon, low=0)
        X, weights = self._set_training_data(X, y, sample_weight)
        self.tube_ = epsilon > 0.0
        (machine,) = self._unsolved()
        target, c = self.y_fit_ - self.center_, self.C * weights
        solve_first(machine, self.kernel_, X, c, self.tol, epsilon, target)
        self._keep([machine])
        return self

    def path(
        self,
        sample_weight: ArrayLike | None = None,
        *,
        C: tuple[float, float] | None = None,
        epsilon: tuple[float, float] | None = None,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> SVMPath:
        """Return all models between the present one and another.

        Parameters
        ----------
        sample_weight : array of shape (n,), optional
            The weights at theta = 1; theta = 0 is the fitted model.
        C : pair of float, optional
            The range of the regularization path instead; theta is then C.
        epsilon : pair of float, optional
            The range of widths of the tube instead; theta is then epsilon.
        X_val, y_val, sample_weight_val : arrays, optional
            Validation rows, for exact curves of the error.

        Raises
        ------
        PathError
            If the path cannot be followed to its end, with the theta reached.
        """
        ways = {
            "sample_weight": (self._weight_path, sample_weight),
            "C": (self._c_path, C),
            "epsilon": (self._epsilon_path, epsilon),
        }
        losses = {
            "absolute": (1.0, 1.0, 0.0),
            "epsilon": (1.0, 1.0, float(self.epsilon)),
        }
        curves = self._curves(X_val, y_val, sample_weight_val, losses)
        return self._follow(ways, curves)

    def update(
        self,
        sample_weight: ArrayLike | None = None,
        *,
        X_add: ArrayLike | None = None,
        y_add: ArrayLike | None = None,
        sample_weight_add: ArrayLike | None = None,
        remove: ArrayLike | None = None,
    ) -> "WeightedSVR":
        """Move the fitted solution exactly: other weights, rows added, rows removed.

        Parameters
        ----------
        sample_weight : array, optional
            New weights of the rows that are there.
        X_add, y_add, sample_weight_add : arrays, optional
            Rows to add.
        remove : array of int or bool, optional
            Rows to remove, counted as they are now.

        Notes
        -----
        The kernel stays as fitted, a `gamma` of "scale" included.
        """
        (machine,) = self._live()
        X, weights, stays = self._moved_rows(
            sample_weight, X_add, y_add, sample_weight_add, remove
        )
        y = self.y_fit_
        if not weights.any():
            raise InvalidInputError("no row of positive weight would be left")
        if X_add is not None:
            y = np.concatenate([y, as_responses(y_add, len(X) - len(y), name="y_add")])
        # An epsilon that was set after the fit is moved to, as such a C is.
        if self.tube_ != (self.epsilon > 0.0):
            raise InvalidInputError(
                f"epsilon was set to {self.epsilon:g} after the fit: to zero or from "
                "it takes a new fit"
            )
        p = self._p(self.y_fit_, self.epsilon)
        if not np.array_equal(p, machine.follower.data.p):
            machine.follower.move(p=p, logged=False)
        machines, self.y_fit_ = self._move_rows(X, y, weights, stays)
        self._keep(machines)
        return self

    def leave_one_out(self) -> LeaveOneOut:
        """Return what the model without each row says about it, exactly."""
        (machine,) = self._live()
        values = machine.left_out(self.C * self.sample_weight_) + self.center_
        share = self.sample_weight_ / self.sample_weight_.sum()
        error = float(share @ np.abs(values - self.y_fit_))
        return LeaveOneOut(values, values, error)

    def sensitivity(self, X: ArrayLike | None = None) -> Array:
        """Return the derivative of the prediction by the sample weights, (m, n).

        Parameters
        ----------
        X : array of shape (m, d), optional
            Where; by default at the training rows.
        """
        (machine,) = self._live()
        X = self.X_fit_ if X is None else estimator_matrix(self, X, reset=False)
        cross = self.kernel_.cross(X, self.X_fit_, machine.rows)
        out: Array = self.C * sensitivity(machine, cross)
        return out

    def _p(self, y: Array, epsilon: float) -> Array:
        target = y - self.center_
        if not self.tube_:
            return target
        return np.concatenate([target - epsilon, -target - epsilon])

    def _layouts(self, target: Target) -> list[Layout]:
        n = len(target)
        p = self._p(target, self.epsilon)
        if not self.tube_:
            # With two variables a row both would be on the margin at once.
            return [Layout(np.arange(n), np.ones(n), p, low=-1.0)]
        return [Layout(np.arange(n), np.repeat([1.0, -1.0], n), p)]

    def _epsilon_path(self, ends: object) -> tuple[Segment, ...]:
        first, last = two_numbers("epsilon", ends)
        if first <= 0.0 or last <= 0.0 or self.epsilon == 0.0:
            raise InvalidInputError(
                "epsilon must be positive in the model and on its path, got "
                f"{self.epsilon:g} and ({first:g}, {last:g})"
            )
        (machine,) = (one.copy() for one in self._live())
        machine.follower.move(p=self._p(self.y_fit_, first), logged=False)
        center_bias(machine.follower)
        path = machine.follower.move(p=self._p(self.y_fit_, last))
        return (Segment(first, last, (path,)),)


# -----------------------------------------------------------------------------
# Conditional quantiles by a kernel machine, and all of them along a path.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Crossing:
    """Whether quantiles at some rows rise with tau, over a whole path.

    Attributes
    ----------
    share : float
        Of the rows, where the predicted quantile falls somewhere.
    largest_drop : float
        The most by which it falls below what it has been at a smaller tau.
    quantiles : tuple of float
        The range of tau that was looked at.
    """

    share: float
    largest_drop: float
    quantiles: tuple[float, float]

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers."""
        return {
            "share": self.share,
            "largest_drop": self.largest_drop,
            "quantiles": list(self.quantiles),
        }


class KernelQuantileRegressor(ResponseSVM):
    r"""Kernel regression of a conditional quantile, with exact paths.

    .. math:: \min_{f, b} \|f\|^2 / 2 + C \sum_i w_i \rho_\tau(y_i - f(x_i) - b),
              \quad \rho_\tau(r) = \max(\tau r, (\tau - 1) r)

    Parameters
    ----------
    quantile : float
        The quantile, in (0, 1).
    C : float
        Weight of the loss against the norm.
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable
        Must be positive semidefinite.
    degree, coef0 : int, float
        Of the polynomial kernel.
    gamma : "scale", "auto" or float
        Kernel width: exp(-gamma * dist**2). "scale" uses the weighted variance.
    cache_size : float
        Megabytes that a Gram matrix may take; above, its rows are computed on demand.

    Attributes
    ----------
    support_, n_support_, dual_coef_, intercept_ : arrays
        As in `sklearn.svm.SVR`.

    Notes
    -----
    The weight of the rows below the fit is at most tau of the whole, that of the rows
    below or on it at least. Quantiles of different tau may cross away from the data;
    `crossing` tells where.

    References
    ----------
    Takeuchi, Le, Sears and Smola (2006).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(20.0)[:, None]
    >>> y = np.arange(20.0) % 4
    >>> model = KernelQuantileRegressor(quantile=0.25, kernel="linear").fit(X, y)
    >>> path = model.path(quantiles=(0.25, 0.75))
    >>> bool(path.at(0.75).intercept_[0] > model.intercept_[0])
    True
    """

    tol = 1e-3

    def __init__(
        self,
        *,
        quantile: float = 0.5,
        C: float = 1.0,
        kernel: KernelParameter = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        cache_size: float = 200.0,
    ) -> None:
        self.quantile = quantile
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.cache_size = cache_size

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> "KernelQuantileRegressor":
        """Fit the quantile.

        Parameters
        ----------
        X : array of shape (n, d), or (n, n) if precomputed
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Factors of C, not negative.
        """
        check_number("quantile", self.quantile, low=0, high=1, closed="neither")
        X, weights = self._set_training_data(X, y, sample_weight)
        (machine,) = self._unsolved()
        layout = machine.layout
        from_zero(machine.follower, layout.p, *layout.box(self.C * weights))
        center_bias(machine.follower)
        self._keep([machine])
        return self

    def path(
        self,
        quantiles: tuple[float, float] | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        C: tuple[float, float] | None = None,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> SVMPath:
        """Return all models of a range.

        Parameters
        ----------
        quantiles : pair of float, optional
            The range of quantiles; theta is then tau.
        sample_weight : array of shape (n,), optional
            The weights at theta = 1 instead; theta = 0 is the fitted model.
        C : pair of float, optional
            The range of the regularization path instead; theta is then C.
        X_val, y_val, sample_weight_val : arrays, optional
            Validation rows, for exact curves of the absolute loss, or of the pinball
            loss (of `tau`) where tau does not move.
        """
        ways = {
            "quantiles": (self._tau_path, quantiles),
            "sample_weight": (self._weight_path, sample_weight),
            "C": (self._c_path, C),
        }
        losses = {"absolute": (1.0, 1.0, 0.0)}
        if quantiles is None:
            losses = {
                "pinball": (float(self.quantile), 1.0 - self.quantile, 0.0),
                **losses,
            }
        curves = self._curves(X_val, y_val, sample_weight_val, losses)
        path = self._follow(ways, curves)
        return path if quantiles is None else replace(path, parameter="quantile")

    def crossing(self, path: SVMPath, X: ArrayLike) -> Crossing:
        """Return whether the quantiles of a tau path cross at some rows, exactly."""
        if path.parameter != "quantile":
            raise InvalidInputError("crossing is asked of a path in tau")
        (cross,) = self._cross(X)
        (trace,) = path.traces([cross])
        ends = trace.values + trace.lengths[:, None] * trace.slopes
        values = np.empty((2 * len(ends) + 1, cross.shape[1]))
        values[:-1:2], values[1::2], values[-1] = trace.values, ends, trace.last
        if trace.stop < trace.starts[0]:
            values = values[::-1]
        drops = (np.maximum.accumulate(values) - values).max(axis=0)
        noise = 1e-9 * max(1.0, float(np.abs(values).max()))
        low, high = sorted((path.start, path.stop))
        return Crossing(
            float(np.mean(drops > noise)),
            float(drops.max()) if drops.max() > noise else 0.0,
            (low, high),
        )

    def _layouts(self, target: Target) -> list[Layout]:
        n, tau = len(target), float(self.quantile)
        p = target - self.center_
        return [Layout(np.arange(n), np.ones(n), p, low=tau - 1.0, high=tau)]

    def _tau_path(self, ends: object) -> tuple[Segment, ...]:
        first, last = two_numbers("quantiles", ends)
        for one in (first, last):
            check_number("quantiles", one, low=0, high=1, closed="neither")
        (machine,) = (one.copy() for one in self._live())
        c = self.C * self.sample_weight_
        machine.follower.move(lower=(first - 1.0) * c, upper=first * c, logged=False)
        center_bias(machine.follower)
        path = machine.follower.move(lower=(last - 1.0) * c, upper=last * c)
        return (Segment(first, last, (path,)),)


# -----------------------------------------------------------------------------
# Support vector regression that trusts rows by how far off they are.
# -----------------------------------------------------------------------------


# Residuals smaller than this share of sigma count as such, or than the tube if smaller.
FLOOR = 0.01


class HeteroscedasticSVR(RegressorMixin, BaseEstimator):
    r"""Support vector regressor re-weighted by its own residuals, sweep by sweep.

    Each sweep moves the exact solution of

    .. math:: \min_{f, b} \|f\|^2 / 2
              + C \sum_i w_i v_i \max(0, |y_i - f(x_i) - b| - \epsilon)

    with sample weights w from the weights v before, at first one, to

    .. math:: v_i = \sigma / \max(|e_i|, \kappa \sigma),
              \quad e_i = y_i - f(x_i) - b, \quad \sigma^2 = \sum_i w_i e_i^2 /
              \sum_i w_i ,

    until the residuals change by less than `tol` in the mean,
    :math:`\sum_i w_i |1 - e_i^{new} / e_i| \le tol \sum_i w_i`, or `max_iter` are
    over. Rows with large residuals, where the noise is large, count less. The floor
    :math:`\kappa` is :math:`\min(0.01, \epsilon / \sigma)`, or 0.01 if
    :math:`\epsilon` is zero, unless it is given.

    Parameters
    ----------
    C : float
        Weight of the loss against the norm.
    epsilon : float
        Half the width of the tube in which errors do not count; zero is the absolute
        loss.
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable
        Must be positive semidefinite.
    degree, coef0 : int, float
        Of the polynomial kernel.
    gamma : "scale", "auto" or float
        Kernel width: exp(-gamma * dist**2). "scale" uses the weighted variance.
    floor : float or None
        Residuals below this share of sigma count as that share.
    tol : float
        Mean relative change of the residuals at which the sweeps end.
    max_iter : int
        Most sweeps; where they do not settle, a `ConvergenceWarning` says so.
    cache_size : float
        Megabytes that a Gram matrix may take; above, its rows are computed on demand.

    Attributes
    ----------
    svr_ : WeightedSVR
        The model of the last sweep, exact for its weights.
    noise_weights_ : array of shape (n,)
        The weights v of the last sweep.
    sigma_ : float
        The spread of the residuals that they were made from.
    n_iter_ : int
        Sweeps.
    change_ : float
        Mean relative change of the residuals in the last one.
    converged_ : bool
        Whether it is at most `tol`.
    n_events_ : int
        Events on the paths of all sweeps.

    Notes
    -----
    Every sweep's solution is exact, and `certify` proves the last; that the sweeps come
    to an end is not proved, and they need not: rows may change places for ever. In
    print the weight is :math:`\sigma / |e_i|` without a floor and the change is divided
    by :math:`e_i`, both undefined where a residual is zero; here such a row counts as
    unchanged if it stays zero, else as changed by one.

    References
    ----------
    Karasuyama, Harada, Sugiyama and Takeuchi (2012).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.sort(rng.uniform(0, 3, 120))[:, None]
    >>> y = np.sin(X[:, 0]) + 0.3 * X[:, 0] * rng.standard_normal(120)
    >>> model = HeteroscedasticSVR(C=1.0, epsilon=0.05, max_iter=100).fit(X, y)
    >>> model.converged_, model.certify().holds(1e-9)
    (True, True)
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        kernel: KernelParameter = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        floor: float | None = None,
        tol: float = 1e-3,
        max_iter: int = 50,
        cache_size: float = 200.0,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.floor = floor
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> "HeteroscedasticSVR":
        """Fit, and sweep until the residuals settle.

        Parameters
        ----------
        X : array of shape (n, d), or (n, n) if precomputed
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Factors of C, not negative.
        """
        check_number("tol", self.tol, low=0, closed="neither")
        check_integer("max_iter", self.max_iter, low=1)
        check_number("floor", self.floor, low=0, closed="neither", options=[None])
        X = estimator_matrix(self, X, reset=True)
        y = as_responses(y, len(X))
        weights = as_weights(sample_weight, len(X))
        self.svr_ = self._regressor().fit(X, y, weights)
        share = weights / weights.sum()
        self.n_events_ = 0
        e = self._residuals(y)
        self.change_, self.n_iter_, self.converged_ = np.inf, 0, False
        while self.n_iter_ < self.max_iter and not self.converged_:
            self.sigma_ = float(np.sqrt(share @ e**2))
            self.noise_weights_ = self._weights(e)
            self.svr_.update(sample_weight=weights * self.noise_weights_)
            self.n_events_ += self.svr_.machines_[0].follower.n_events
            before, e = e, self._residuals(y)
            self.change_ = float(share @ _relative_change(before, e))
            self.converged_ = bool(self.change_ <= self.tol)
            self.n_iter_ += 1
        if not self.converged_:
            warn_user(
                f"the residuals still change by {self.change_:.3g} in the mean after "
                f"{self.n_iter_} sweeps (tol {self.tol:g}): a larger max_iter may "
                "help, or a larger tol",
                ConvergenceWarning,
            )
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Return the predicted values."""
        check_is_fitted(self)
        return self.svr_.predict(estimator_matrix(self, X, reset=False))

    def certify(self) -> Certificate:
        """Prove the solution of the last sweep, for its weights, from scratch."""
        check_is_fitted(self)
        return self.svr_.certify()

    def _regressor(self) -> WeightedSVR:
        return WeightedSVR(
            C=self.C,
            epsilon=self.epsilon,
            kernel=self.kernel,
            degree=self.degree,
            gamma=self.gamma,
            coef0=self.coef0,
            cache_size=self.cache_size,
        )

    def _residuals(self, y: Array) -> Array:
        (machine,) = self.svr_.machines_
        out: Array = y - self.svr_.center_ - machine.follower.f
        return out

    def _weights(self, e: Array) -> Array:
        sigma = self.sigma_
        if sigma == 0.0:
            return np.ones(e.size)
        floor = self.floor
        if floor is None:
            floor = min(FLOOR, float(self.epsilon) / sigma) or FLOOR
        out: Array = sigma / np.maximum(np.abs(e), floor * sigma)
        return out

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _relative_change(before: Array, after: Array) -> Array:
    """Return |1 - after / before|; from zero to zero is none, from zero away is one."""
    zero = before == 0.0
    ratio = np.divide(after, before, out=np.ones(after.size), where=~zero)
    return np.where(zero, after != 0.0, np.abs(1.0 - ratio))
