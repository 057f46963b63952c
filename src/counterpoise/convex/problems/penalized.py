"""Minimise with a norm added."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.convex.certificate import Certificate
from counterpoise.convex.penalties import Penalty
from counterpoise.convex.problems.problem import evaluate
from counterpoise.numerics.arrays import Array


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
        return self.judge(x, *evaluate(self.objective, x))

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
