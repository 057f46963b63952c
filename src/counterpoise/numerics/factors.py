"""Cholesky factors under added and removed rows, inside compiled loops.

A factor is a square array of which the first k rows and columns hold the lower
triangle L of LL' = M; the functions change it in place.
"""

import numpy as np

from counterpoise.numerics.arrays import Array
from counterpoise.numerics.compiled import compiled
from counterpoise.numerics.reordered import reordered, unchecked


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


@unchecked
def remove_row_using(factor: Array, k: int, position: int, c: Array, s: Array) -> None:
    """Make the factor of M without one of its k rows, by plane rotations. O(k^2).

    Row by row: a row takes all rotations of the rows above it, makes its own and moves
    up by one, so that memory is read in its order.
    """
    for i in range(position + 1, k):
        row, above = factor[i], factor[i - 1]
        carried = row[position]
        for j in range(position, i - 1):
            following = row[j + 1]
            above[j] = c[j] * carried + s[j] * following
            carried = c[j] * following - s[j] * carried
        for j in range(position):
            above[j] = row[j]
        length = np.hypot(carried, row[i])
        if length > 0.0:
            c[i - 1], s[i - 1] = carried / length, row[i] / length
        else:
            c[i - 1], s[i - 1] = 1.0, 0.0
        above[i - 1] = length


@compiled
def remove_row(factor: Array, k: int, position: int) -> None:
    """Make the factor of M without one of its k rows, by plane rotations. O(k^2)."""
    remove_row_using(factor, k, position, np.empty(k), np.empty(k))


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


@reordered
def forward(factor: Array, k: int, x: Array) -> None:
    """Replace the first k entries of x by the solution y of Ly = x. O(k^2)."""
    for i in range(k):
        row = factor[i]
        total = 0.0
        for j in range(i):
            total += row[j] * x[j]
        x[i] = (x[i] - total) / row[i]


@reordered
def backward(factor: Array, k: int, x: Array) -> None:
    """Replace the first k entries of x by the solution y of L'y = x. O(k^2)."""
    for i in range(k - 1, -1, -1):
        row = factor[i]
        value = x[i] / row[i]
        x[i] = value
        for j in range(i):
            x[j] -= value * row[j]


@reordered
def solve_two(factor: Array, k: int, x: Array, y: Array) -> None:
    """Solve LL'z = x and LL'z = y in place, in one pass over the factor. O(k^2)."""
    for i in range(k):
        row = factor[i]
        of_x, of_y = 0.0, 0.0
        for j in range(i):
            of_x += row[j] * x[j]
            of_y += row[j] * y[j]
        x[i] = (x[i] - of_x) / row[i]
        y[i] = (y[i] - of_y) / row[i]
    for i in range(k - 1, -1, -1):
        row = factor[i]
        at_x, at_y = x[i] / row[i], y[i] / row[i]
        x[i], y[i] = at_x, at_y
        for j in range(i):
            x[j] -= at_x * row[j]
            y[j] -= at_y * row[j]
