"""What every objective has."""

from typing import Protocol

from counterpoise.numerics.arrays import Array


class Objective(Protocol):
    """A smooth convex function; infinite where it is not defined."""

    def value(self, x: Array) -> float:
        """Return the function at x."""
        ...

    def gradient(self, x: Array) -> Array:
        """Return the gradient at x."""
        ...
