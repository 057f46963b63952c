"""Conditional quantiles by a kernel machine, and all of them along a path."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.convex.quadratic_path import Follower, centre_bias, from_zero
from counterpoise.learners.svm.base import two_numbers
from counterpoise.learners.svm.gram import gram_rows
from counterpoise.learners.svm.machine import Machine
from counterpoise.learners.svm.path import Segment, SVMPath
from counterpoise.learners.svm.responses import ResponseSVM
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.validation import (
    InvalidInput,
    check_number,
)


@dataclass(frozen=True)
class Crossing:
    """Whether quantiles at some rows rise with tau, over a whole path.

    Attributes
    ----------
    share : float
        Of the rows, where the predicted quantile falls somewhere.
    largest_drop : float
        The most by which it falls below what it has been at a smaller tau.
    taus : tuple of float
        The range of tau that was looked at.
    """

    share: float
    largest_drop: float
    taus: tuple[float, float]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {
            "share": self.share,
            "largest_drop": self.largest_drop,
            "taus": list(self.taus),
        }


class KernelQuantileRegressor(ResponseSVM):
    r"""Kernel regression of a conditional quantile, with exact paths.

    .. math:: \min_{f, b} \|f\|^2 / 2 + C \sum_i w_i \rho_\tau(y_i - f(x_i) - b),
              \quad \rho_\tau(r) = \max(\tau r, (\tau - 1) r)

    Parameters
    ----------
    tau : float
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
    >>> model = KernelQuantileRegressor(tau=0.25, kernel="linear").fit(X, y)
    >>> path = model.path(taus=(0.25, 0.75))
    >>> bool(path.at(0.75).intercept_[0] > model.intercept_[0])
    True
    """

    tol = 1e-3

    def __init__(
        self,
        *,
        tau: float = 0.5,
        C: float = 1.0,
        kernel: str | Callable[[Array, Array], Array] = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        cache_size: float = 200.0,
    ) -> None:
        self.tau = tau
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.cache_size = cache_size

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> "KernelQuantileRegressor":
        """Fit the quantile.

        Parameters
        ----------
        X : array of shape (n, d), or (n, n) if precomputed
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Factors of C, not negative.
        """
        check_number("tau", self.tau, low=0, high=1, closed="neither")
        X, weights = self._remember_responses(X, y, sample_weight)
        ((machine, p),) = self._pose()
        from_zero(machine.follower, p, *machine.box(self.C * weights))
        centre_bias(machine.follower)
        self._keep([machine])
        return self

    def path(
        self,
        taus: Any = None,
        *,
        sample_weight: Any = None,
        C: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> SVMPath:
        """Return all models of a range.

        Parameters
        ----------
        taus : pair of float, optional
            The range of quantiles; theta is then tau.
        sample_weight : array of shape (n,), optional
            The weights at theta = 1 instead; theta = 0 is the fitted model.
        C : pair of float, optional
            The range of the regularisation path instead; theta is then C.
        X_val, y_val, sample_weight_val : arrays, optional
            Validation rows, for exact curves of the absolute loss, or of the pinball
            loss (of `tau`) where tau does not move.
        """
        given = {"taus": taus, "sample_weight": sample_weight, "C": C}
        moved, segments = self._followed(given, {"taus": self._tau_path})
        losses = {"absolute": (1.0, 1.0, 0.0)}
        if moved != "taus":
            losses = {"pinball": (float(self.tau), 1.0 - self.tau, 0.0), **losses}
        curves = self._curves(X_val, y_val, sample_weight_val, losses)
        return self._path("tau" if moved == "taus" else moved, segments, curves)

    def crossing(self, path: SVMPath, X: Any) -> Crossing:
        """Return whether the quantiles of a tau path cross at some rows, exactly."""
        if path.parameter != "tau":
            raise InvalidInput("crossing is asked of a path in tau")
        (cross,) = self._cross(X)
        (trace,) = path.traces([cross])
        ends = trace.values + trace.lengths[:, None] * trace.slopes
        values = np.empty((2 * len(ends) + 1, cross.shape[1]))
        values[:-1:2], values[1::2], values[-1] = trace.values, ends, trace.last
        if trace.stop < trace.starts[0]:
            values = values[::-1]
        drops = (np.maximum.accumulate(values) - values).max(axis=0)
        noise = 1e-9 * max(1.0, float(np.abs(values).max()))
        low, high = sorted((path.segments[0].start, path.segments[-1].stop))
        return Crossing(
            float(np.mean(drops > noise)),
            float(drops.max()) if drops.max() > noise else 0.0,
            (low, high),
        )

    def _places(self) -> list[tuple[Indices, Array, bool]]:
        n = len(self.X_fit_)
        return [(np.arange(n), np.ones(n), False)]

    def _pose(self) -> list[tuple[Machine, Array]]:
        n = len(self.X_fit_)
        gram = gram_rows(self.kernel_, self.X_fit_, self._bytes)
        follower = Follower(gram, np.ones(n))
        machine = Machine(
            np.arange(n), follower, low=self.tau - 1.0, high=float(self.tau)
        )
        return [(machine, self.y_fit_ - self.center_)]

    def _tau_path(self, ends: Any) -> tuple[Segment, ...]:
        first, last = two_numbers("taus", ends)
        for one in (first, last):
            check_number("taus", one, low=0, high=1, closed="neither")
        (machine,) = (one.copy() for one in self._live())
        c = self.C * self.sample_weight_
        machine.follower.move(lower=(first - 1.0) * c, upper=first * c, taped=False)
        centre_bias(machine.follower)
        path = machine.follower.move(lower=(last - 1.0) * c, upper=last * c)
        assert path is not None
        return (Segment(first, last, (path,)),)
