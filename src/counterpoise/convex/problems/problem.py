"""What every problem has."""

import math
from typing import Any, Protocol

import numpy as np

from counterpoise.convex.certificate import Certificate
from counterpoise.convex.objectives import Objective
from counterpoise.numerics.arrays import Array


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


def evaluate(objective: Objective, x: Array) -> tuple[float, Array]:
    """Return value and gradient, the gradient only where the value is finite."""
    value = objective.value(x)
    if not math.isfinite(value):
        return math.inf, np.zeros_like(x)
    return value, objective.gradient(x)
