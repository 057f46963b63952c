"""Products with few columns of a matrix, and which of them differ."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Array, Indices


def product(A: Array, x: Array) -> Array:
    """Return Ax, reading only the columns where x is not zero."""
    support = np.flatnonzero(x)
    if 4 * support.size < x.size:
        return A[:, support] @ x[support]
    return A @ x


def beside(columns: Any, others: Any) -> Any:
    """Return columns and then others; those that are not stored know how."""
    if isinstance(columns, np.ndarray):
        return np.hstack([columns, others])
    return columns.beside(others)


def distinct(
    candidates: Indices, count: int, alike: float, likeness: Callable[[int], Array]
) -> Indices:
    """Return the first `count` candidates of which none is like an earlier one.

    `likeness(k)` gives how alike all candidates are to the k-th, 1 for equal ones; a
    candidate more alike than `alike` to one that was taken is passed over.
    """
    waiting = np.zeros(candidates.size, dtype=bool)
    taken: list[int] = []
    for k in range(candidates.size):
        if waiting[k]:
            continue
        taken.append(k)
        if len(taken) == count:
            break
        waiting |= likeness(k) > alike
    return candidates[taken]


def distinct_columns(A: Array, i: Indices, count: int, alike: float) -> Indices:
    """Return the first `count` of the columns i by their cosines."""
    # Cosines cost a product a column: the most promising ones must do.
    i = i[: max(20 * count, 100)]
    columns = A[:, i]
    columns = columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    return distinct(i, count, alike, lambda k: columns[:, k] @ columns)


def slices(m: int, size: int) -> Iterator[slice]:
    """Yield pieces of `size` rows out of m."""
    for first in range(0, m, size):
        yield slice(first, min(first + size, m))
