"""Weighted means brought together, and what is provable of their distance."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from counterpoise.convex.certificate import Certificate
from counterpoise.numerics.arrays import Array


@dataclass(frozen=True, eq=False)
class MeanMatching:
    r"""Minimise the distance between a weighted mean and a mean over `domain`.

    A factored kernel :math:`K = A'A + R`, R positive semidefinite, sees every element
    but for its part outside the factor's span, whose squared norm is
    :math:`R_{ii}`. The true squared distance of x is that within the span plus that
    outside it, which lies between 0 and

    .. math:: e(x)^2 = \left(\sum_i x_i \sqrt{R_{ii}} + \delta\right)^2

    with :math:`\delta` the same of the mean to reach. So the value within the span less
    its Frank-Wolfe gap is a lower bound of the **true** problem, and the value plus
    :math:`e(x)^2` (`objective` of the certificate) is no less than the true value of x.

    Parameters
    ----------
    objective : FactoredDistance or KernelDistance
    domain : Domain
        Its points are non-negative.
    scale : float
        The unit of the gap.
    residual : array of shape (n,), optional
        The diagonal of R; None: the kernel is exact.
    outside : float
        :math:`\delta`.
    """

    objective: Any
    domain: Any
    scale: float = 1.0
    residual: Array | None = None
    outside: float = 0.0

    def __post_init__(self) -> None:
        if not self.scale > 0.0:
            raise ValueError(f"scale must be positive, got {self.scale}")

    def start(self) -> Array:
        """Return the domain's own start."""
        start: Array = self.domain.start()
        return start

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Bound how far x is from optimal, whoever found it."""
        image = self.objective.image(x)
        return self.judge(
            x,
            self.objective.value_at(x, image),
            self.objective.gradient_at(x, image),
        )

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient within the span prove."""
        inside = float(gradient @ (x - self.domain.vertex(gradient)))
        objective = value + self.error(x)
        # A squared distance is never negative.
        bound = max(value - max(inside, 0.0), 0.0)
        return Certificate(
            kind="Frank-Wolfe gap and what the factor leaves out"
            if self.residual is not None
            else "Frank-Wolfe gap",
            objective=objective,
            bound=bound,
            gap=max(objective - bound, 0.0) if math.isfinite(objective) else math.inf,
            scale=self.scale,
            infeasibility=self.domain.infeasibility(x),
        )

    def error(self, x: Array) -> float:
        """Return the most that the factor hides of the squared distance at x."""
        if self._roots is None:
            return self.outside**2
        return (float(self._roots @ np.abs(x)) + self.outside) ** 2

    @cached_property
    def _roots(self) -> Array | None:
        return None if self.residual is None else np.sqrt(self.residual)
