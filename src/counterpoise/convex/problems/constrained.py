"""Minimise over a set."""

import math
from dataclasses import dataclass
from typing import Any

from counterpoise.convex.certificate import Certificate
from counterpoise.convex.domains import Domain
from counterpoise.convex.problems.problem import evaluate
from counterpoise.numerics.arrays import Array


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
        return self.judge(x, *evaluate(self.objective, x))

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
