"""Gaussian kernel matrices by function, for callers that hold no `Kernel` yet."""

from typing import Any

from counterpoise.numerics.arrays import Array
from counterpoise.numerics.distances import median_distance as median_distance
from counterpoise.numerics.distances import nearest_distance as nearest_distance
from counterpoise.numerics.distances import nearest_row as nearest_row
from counterpoise.numerics.kernel import Kernel


def rbf(X: Any, C: Any, gamma: float) -> Array:
    """Return the Gaussian kernel of rows with rows."""
    return Kernel("rbf", gamma).matrix(X, C)


def rbf_pull(v: Array, X: Any, C: Any, gamma: float) -> Array:
    """Return v'k(X, C)."""
    return Kernel("rbf", gamma).pull(v, X, C)


def rbf_push(X: Any, C: Any, gamma: float, v: Array) -> Array:
    """Return k(X, C) v."""
    return Kernel("rbf", gamma).push(X, C, v)
