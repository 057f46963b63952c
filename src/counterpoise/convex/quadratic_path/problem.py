"""A quadratic over a box with one equality, and what its multiplier proves."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.convex.certificate import Certificate
from counterpoise.numerics.arrays import Array, Indices


@dataclass(frozen=True, eq=False)
class BoxQuadratic:
    r"""Minimise :math:`a'Qa/2 - p'a` over :math:`l \le a \le u`, :math:`s'a = d`.

    :math:`Q_{ij} = s_i s_j K_{k_i k_j}` with signs :math:`s_i = \pm 1`; several
    variables may share a row k of K. With :math:`f = K\beta + b`,
    :math:`\beta_k = \sum_{k_i = k} s_i a_i` and :math:`g_i = s_i f_{k_i} - p_i`, for a
    feasible a and *any* b

    .. math:: \sum_i (a_i - l_i) \max(g_i, 0) + (u_i - a_i) \max(-g_i, 0)

    bounds the excess over the optimum; it is zero at a solution and its multiplier.

    Parameters
    ----------
    product : callable
        `product(beta)` returns K beta.
    sign : array of shape (n,)
    row : array of shape (n,)
        The row of K that belongs to each variable.
    p, lower, upper : arrays of shape (n,)
    d : float or None
        None: there is no equality, and no b.

    Notes
    -----
    The certificate's `residual` is the natural one,
    :math:`\max_i |a_i - \mathrm{clip}(a_i - g_i, l_i, u_i)|`. Its rounding error is
    about :math:`10^{-16} \sum |a_i| \max |K|`.

    Examples
    --------
    >>> import numpy as np
    >>> one, rows = np.ones(2), np.arange(2)
    >>> y = np.array([1.0, -1.0])
    >>> problem = BoxQuadratic(np.eye(2).dot, y, rows, one, 0 * one, 5 * one, 0.0)
    >>> problem.certify(one, hint=0.0).gap
    0.0
    """

    product: Callable[[Array], Array]
    sign: Array
    row: Indices
    p: Array
    lower: Array
    upper: Array
    d: float | None = 0.0

    @property
    def objective(self) -> Any:
        """Nothing: value and proof come together, from `certify`."""
        return None

    def start(self) -> Array:
        """Return the lower bounds; the equality need not hold there."""
        return self.lower.copy()

    def values(self, a: Array) -> Array:
        """Return f without b, an entry a variable."""
        shape = int(self.row.max()) + 1
        beta = np.bincount(self.row, weights=self.sign * a, minlength=shape)
        out: Array = self.product(np.asarray(beta, dtype=float))[self.row]
        return out

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Bound how far x is from optimal; `hint` is a b, else the best is found."""
        f = self.values(x)
        if self.d is None:
            b = 0.0
        elif isinstance(hint, float | int | np.floating):
            b = float(hint)
        else:
            b = self.best_bias(x, f)
        g = self.sign * (f + b) - self.p
        size = float(np.abs(x).sum())
        off = 0.0 if self.d is None else float(self.sign @ x) - self.d
        outside = float(np.maximum(self.lower - x, x - self.upper).max(initial=0.0))
        quadratic = float(x @ (self.sign * f))
        objective = 0.5 * quadratic - float(self.p @ x)
        gap = float(
            (np.maximum(x - self.lower, 0.0) * np.maximum(g, 0.0)).sum()
            + (np.maximum(self.upper - x, 0.0) * np.maximum(-g, 0.0)).sum()
            + abs(b * off)
        )
        inside = np.clip(x - g, self.lower, self.upper)
        return Certificate(
            kind="optimality conditions",
            objective=objective,
            bound=objective - gap,
            gap=gap,
            scale=max(quadratic + float(np.abs(self.p) @ np.abs(x)), 1e-300),
            residual=max(float(np.abs(x - inside).max()), abs(off)),
            infeasibility=float(max(outside, abs(off)) / max(1.0, size)),
        )

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what is known at x; value and gradient add nothing to it."""
        return self.certify(x)

    def best_bias(self, x: Array, f: Array) -> float:
        """Return the b for which the bound is smallest, a weighted quantile."""
        above = np.maximum(x - self.lower, 0.0)
        below = np.maximum(self.upper - x, 0.0)
        kinks = self.sign * self.p - f
        # The slope in b of a variable's term, to the right and to the left of its kink.
        right = np.where(self.sign > 0.0, above, below)
        left = np.where(self.sign > 0.0, below, above)
        order = np.argsort(kinks)
        slopes = np.cumsum((left + right)[order]) - left.sum()
        first = int(np.searchsorted(slopes, 0.0))
        return float(kinks[order[min(first, order.size - 1)]])
