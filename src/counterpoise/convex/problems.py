"""Pairs of an objective and a set or a penalty, and what is provable about them.

A problem has `start()`, a feasible point with a finite value, and
`certify(x, hint=None)`, which bounds how far *any* point is from optimal from x alone
(`hint` is a dual point or the like that a solver may offer). `judge(x, value,
gradient)` is the same proof from a value and a gradient that somebody has at hand; the
loop lets a solver go on by it, and never takes it for the last word.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from counterpoise.convex.certificate import Certificate
from counterpoise.convex.domains import Domain, Simplex
from counterpoise.convex.objectives import NegativeMeanLog, Objective
from counterpoise.convex.penalties import Penalty
from counterpoise.numerics.arrays import Array, Indices, finite_array


class Problem(Protocol):
    """Something to minimise, with a proof for every point."""

    @property
    def objective(self) -> Any:
        """The smooth part."""
        ...

    def start(self) -> Array:
        """Return a feasible point with a finite value."""
        ...

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Bound how far x is from optimal, whoever found it."""
        ...

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient at x prove."""
        ...


@dataclass(frozen=True, eq=False)
class Constrained:
    r"""Minimise `objective` over `domain`.

    Convexity gives :math:`f(s) \ge f(x) + g'(s - x)` for every s of the domain, so that
    the Frank-Wolfe gap :math:`g'(x - v)`, v the vertex that minimises :math:`g'v`,
    bounds the excess of x. Cost: one gradient and one call of `vertex`.

    Parameters
    ----------
    objective : Objective
    domain : Domain
    scale : float
        The unit of the gap.
    """

    objective: Any
    domain: Domain
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not self.scale > 0.0:
            raise ValueError(f"scale must be positive, got {self.scale}")

    def start(self) -> Array:
        """Return the domain's own start."""
        return self.domain.start()

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Bound how far x is from optimal, whoever found it."""
        return self.judge(x, *_evaluate(self.objective, x))

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient at x prove."""
        gap = math.inf
        if math.isfinite(value):
            gap = float(gradient @ (x - self.domain.vertex(gradient)))
        outside = self.domain.infeasibility(x)
        return Certificate(
            kind="Frank-Wolfe gap",
            objective=value,
            bound=value - gap if math.isfinite(gap) else -math.inf,
            # Outside the set a point may lie below the bound: that is no smaller gap.
            gap=abs(gap) if outside > 0.0 else max(gap, 0.0),
            scale=self.scale,
            infeasibility=outside,
        )


@dataclass(frozen=True, eq=False)
class MixtureLikelihood:
    r"""Minimise :math:`-\sum_j w_j \log (Ax)_j` over the unit simplex.

    With :math:`g = A'(w/(Ax))`, Jensen's inequality gives
    :math:`f(x) - f^* \le \log \max_l g_l`, which is tighter than the Frank-Wolfe gap
    :math:`\max_l g_l - 1` (kept as `residual`) at the same cost. The gap is measured in
    units of :math:`\max(|f|, 0.1)` nats: the optimum is zero where nothing has shifted.

    Parameters
    ----------
    A : array or `Design` of shape (m, n)
        Non-negative, no row all zero.
    weights : array of shape (m,), optional
        Weights of the rows.
    """

    A: Any
    weights: Array | None = None

    def __post_init__(self) -> None:
        if hasattr(self.A, "pull"):
            return
        object.__setattr__(self, "A", finite_array("A", self.A, 2))
        if not self.A.min() >= 0.0:
            raise ValueError(f"A must be non-negative, got {self.A.min()}")
        largest = self.A.max(axis=1)
        empty = ~(largest > 0.0)
        if self.weights is not None:
            empty &= np.asarray(self.weights) > 0.0
        if empty.any():
            raise ValueError(
                f"row {int(np.argmax(empty))} of A is zero: no mixture has a likelihood"
            )

    @cached_property
    def objective(self) -> NegativeMeanLog:
        """The negative mean log likelihood."""
        return NegativeMeanLog(self.A, self.weights)

    @cached_property
    def domain(self) -> Simplex:
        """The mixture proportions."""
        return Simplex(self.A.shape[1])

    def start(self) -> Array:
        """Return a mixture of few columns that covers every row.

        While a row has less than a thousandth of its best column's value, the best
        column of the worst such row joins, all with equal shares. A design that is
        not stored gives its own `start()`.
        """
        if not isinstance(self.A, np.ndarray):
            own: Array = self.A.start()
            return own
        A = self.A
        if self.weights is not None:
            A = A[np.asarray(self.weights) > 0.0]
        best = A.max(axis=1)
        chosen: list[int] = []
        cover = np.zeros_like(best)
        for _ in range(len(best)):
            share = cover / best
            worst = int(np.argmin(share))
            if share[worst] >= 1e-3:
                break
            column = int(np.argmax(A[worst]))
            chosen.append(column)
            np.maximum(cover, A[:, column], out=cover)
        x = np.zeros(self.A.shape[1])
        x[chosen] = 1.0 / len(chosen)
        return x

    def restricted(self, i: Indices) -> "MixtureLikelihood":
        """Return the same problem with the columns i alone, stored."""
        if isinstance(self.A, np.ndarray):
            return MixtureLikelihood(self.A[:, i], self.weights)
        return MixtureLikelihood(self.A.stored(i), self.weights)

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Bound how far x is from optimal, whoever found it."""
        return self.judge(x, *_evaluate(self.objective, x))

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient at x prove."""
        top = float(-gradient.min()) if math.isfinite(value) else math.inf
        gap = max(math.log(top), 0.0) if math.isfinite(top) else math.inf
        return Certificate(
            kind="log of the largest likelihood slope",
            objective=value,
            bound=value - gap if math.isfinite(gap) else -math.inf,
            gap=gap,
            scale=max(abs(value), 0.1) if math.isfinite(value) else 0.1,
            residual=max(top - 1.0, 0.0),
            infeasibility=self.domain.infeasibility(x),
        )


@dataclass(frozen=True, eq=False)
class Penalized:
    r"""Minimise `objective` plus `penalty`, :math:`F(x) = f(x) + \Omega(x)`.

    Where f never goes below :math:`\ell` (its `lower_bound`), an optimum has
    :math:`\Omega(x^*) \le R = F(x) - \ell`, and convexity of f gives

    .. math:: F(x) - F^* \le \Omega(x) + g'x + R \max(0, \Omega^\circ(g) - 1)

    with :math:`g` the gradient of f at x and :math:`\Omega^\circ` the dual norm: all
    three terms vanish at an optimum. Cost: one gradient and one dual norm.

    Parameters
    ----------
    objective : Objective with `lower_bound`
    penalty : Penalty
    scale : float
        The unit of the gap.
    """

    objective: Any
    penalty: Penalty
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not self.scale > 0.0:
            raise ValueError(f"scale must be positive, got {self.scale}")
        if not hasattr(self.objective, "lower_bound"):
            raise TypeError(
                f"{type(self.objective).__name__} has no lower_bound: "
                "nothing can be proved about a penalised problem without one"
            )

    def start(self) -> Array:
        """Return zero."""
        return np.zeros(self.penalty.size)

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Bound how far x is from optimal, whoever found it."""
        return self.judge(x, *_evaluate(self.objective, x))

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient of the smooth part at x prove."""
        least = float(self.objective.lower_bound)
        if value < least:
            raise ValueError(
                f"the objective is {value:g} at a point, "
                f"below its lower_bound {least:g}"
            )
        penalty = self.penalty.value(x)
        total = value + penalty
        radius = total - least
        excess = max(self.penalty.dual_norm(gradient) - 1.0, 0.0)
        gap = max(penalty + float(gradient @ x) + radius * excess, 0.0)
        return Certificate(
            kind="generalised Frank-Wolfe gap",
            objective=total,
            bound=total - gap,
            gap=gap,
            scale=self.scale,
        )


def _evaluate(objective: Objective, x: Array) -> tuple[float, Array]:
    """Return value and gradient, the gradient only where the value is finite."""
    value = objective.value(x)
    if not math.isfinite(value):
        return math.inf, np.zeros_like(x)
    return value, objective.gradient(x)
