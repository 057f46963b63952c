"""Products with few columns of a matrix, and how alike its columns are."""

from collections.abc import Iterator

import numpy as np

from counterpoise.numerics.arrays import Array


def product(A: Array, x: Array) -> Array:
    """Return Ax, reading only the columns where x is not zero."""
    support = np.flatnonzero(x)
    if 4 * support.size < x.size:
        return A[:, support] @ x[support]
    return A @ x


def cosines(columns: Array) -> Array:
    """Return the cosines between the columns."""
    scaled = columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    return scaled.T @ scaled


def slices(m: int, size: int) -> Iterator[slice]:
    """Yield pieces of `size` rows out of m."""
    for first in range(0, m, size):
        yield slice(first, min(first + size, m))
