"""Cholesky factors under added and removed rows, inside compiled loops.

A factor is a square array of which the first k rows and columns hold the lower
triangle L of LL' = M; the functions change it in place.
"""

import numpy as np

from counterpoise.numerics.arrays import Array
from counterpoise.numerics.compiled import compiled


@compiled
def append_row(
    factor: Array, k: int, row: Array, diagonal: float, least: float
) -> None:
    """Make the factor of M bordered by `row` (length k) and `diagonal`. O(k^2).

    `least` is the smallest value that the new squared pivot may take, so that a row
    that depends on the others leaves a factor that can be solved with.
    """
    for i in range(k):
        total = row[i]
        for j in range(i):
            total -= factor[i, j] * factor[k, j]
        factor[k, i] = total / factor[i, i]
    rest = diagonal
    for i in range(k):
        rest -= factor[k, i] * factor[k, i]
    factor[k, k] = np.sqrt(max(rest, least))


@compiled
def remove_row(factor: Array, k: int, position: int) -> None:
    """Make the factor of M without one of its k rows, by plane rotations. O(k^2)."""
    for i in range(position, k - 1):
        for j in range(i + 2):
            factor[i, j] = factor[i + 1, j]
    for i in range(position, k - 1):
        a, b = factor[i, i], factor[i, i + 1]
        length = np.hypot(a, b)
        if length == 0.0:
            continue
        c, s = a / length, b / length
        for row in range(i, k - 1):
            low, high = factor[row, i], factor[row, i + 1]
            factor[row, i] = c * low + s * high
            factor[row, i + 1] = c * high - s * low


@compiled
def solve_factored(factor: Array, k: int, right: Array) -> Array:
    """Return the solution of LL'x = right. O(k^2)."""
    x = right[:k].copy()
    for i in range(k):
        total = x[i]
        for j in range(i):
            total -= factor[i, j] * x[j]
        x[i] = total / factor[i, i]
    for i in range(k - 1, -1, -1):
        value = x[i] / factor[i, i]
        x[i] = value
        for j in range(i):
            x[j] -= factor[i, j] * value
    return x
