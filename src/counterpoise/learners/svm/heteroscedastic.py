"""Support vector regression that trusts rows by how far off they are."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from counterpoise.convex import Certificate
from counterpoise.learners.svm.regressor import WeightedSVR
from counterpoise.numerics.arrays import Array
from counterpoise.validation import (
    as_responses,
    as_weights,
    check_integer,
    check_number,
    estimator_matrix,
    warn_user,
)

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
    :math:`\sum_i w_i |1 - e_i^{new} / e_i| \le tol \sum_i w_i`, or `max_sweeps` are
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
    max_sweeps : int
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
    >>> model = HeteroscedasticSVR(C=1.0, epsilon=0.05, max_sweeps=100).fit(X, y)
    >>> model.converged_, model.certify().holds(1e-9)
    (True, True)
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        kernel: str | Callable[[Array, Array], Array] = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        floor: float | None = None,
        tol: float = 1e-3,
        max_sweeps: int = 50,
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
        self.max_sweeps = max_sweeps
        self.cache_size = cache_size

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "HeteroscedasticSVR":
        """Fit, and sweep until the residuals settle.

        Parameters
        ----------
        X : array of shape (n, d), or (n, n) if precomputed
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Factors of C, not negative.
        """
        check_number("tol", self.tol, low=0, closed="neither")
        check_integer("max_sweeps", self.max_sweeps, low=1)
        check_number("floor", self.floor, low=0, closed="neither", options=[None])
        X = estimator_matrix(self, X, reset=True)
        y = as_responses(y, len(X))
        weights = as_weights(sample_weight, len(X))
        self.svr_ = self._regressor().fit(X, y, weights)
        share = weights / weights.sum()
        self.n_events_ = 0
        e = self._residuals(y)
        self.change_, self.n_iter_, self.converged_ = np.inf, 0, False
        while self.n_iter_ < self.max_sweeps and not self.converged_:
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
                f"{self.n_iter_} sweeps (tol {self.tol:g}): a larger max_sweeps may "
                "help, or a larger tol",
                ConvergenceWarning,
            )
        return self

    def predict(self, X: Any) -> Array:
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _relative_change(before: Array, after: Array) -> Array:
    """Return |1 - after / before|; from zero to zero is none, from zero away is one."""
    zero = before == 0.0
    ratio = np.divide(after, before, out=np.ones(after.size), where=~zero)
    return np.where(zero, after != 0.0, np.abs(1.0 - ratio))
