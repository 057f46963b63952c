"""Distances between rows: the median one, and the nearest."""

from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.kernel import (
    BLOCK_ROWS,
    dense,
    moved_to_mean,
    squared_norms,
)

# Rows at a time where the nearest of all is looked for.
SEARCHED_ROWS = 32


def median_distance(X: Any, max_rows: int = 1000) -> float:
    """Return the median distance between two rows, over at most `max_rows` rows.

    Zero for a single row.

    The rows are taken at equal intervals, so that no chance is involved.

    Examples
    --------
    >>> import numpy as np
    >>> median_distance(np.array([[0.0], [1.0], [3.0]]))
    2.0
    """
    if X.shape[0] < 2:
        return 0.0
    if X.shape[0] > max_rows:
        X = X[np.linspace(0, X.shape[0] - 1, max_rows).astype(int)]
    X, _ = moved_to_mean(X, X)
    norms = squared_norms(X)
    products = X @ X.T
    squares = norms[:, None] + norms - 2.0 * dense(products)
    pairs = squares[np.triu_indices(X.shape[0], k=1)]
    return float(np.sqrt(np.median(np.maximum(pairs, 0.0))))


def nearest_distance(X: Array, C: Array, own: bool = False) -> Array:
    """Return the distance of every row to the nearest row of C.

    `own`: rows of X stand in C as well, and each is passed over once.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_distance(np.array([[0.0], [5.0]]), np.array([[1.0], [3.0]]))
    array([1., 2.])
    """
    middle = C.mean(axis=0)
    X, C = X - middle, C - middle
    norms = np.einsum("ij,ij->i", C, C)
    out = np.empty(X.shape[0])
    for first in range(0, X.shape[0], BLOCK_ROWS):
        rows = X[first : first + BLOCK_ROWS]
        own_norms = np.einsum("ij,ij->i", rows, rows)
        squares = norms - 2.0 * (rows @ C.T) + own_norms[:, None]
        place = 1 if own else 0
        out[first : first + BLOCK_ROWS] = np.partition(squares, place, axis=1)[:, place]
    return np.sqrt(np.maximum(out, 0.0))


def nearest_row(X: Array, C: Array) -> Indices:
    """Return, for every row, which row of C is the nearest; the first of equal ones.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_row(np.array([[0.0], [5.0]]), np.array([[1.0], [3.0]]))
    array([0, 1])
    """
    middle = C.mean(axis=0)
    X, C = X - middle, C - middle
    half = 0.5 * np.einsum("ij,ij->i", C, C)
    out = np.empty(X.shape[0], dtype=np.intp)
    for first in range(0, X.shape[0], SEARCHED_ROWS):
        rows = X[first : first + SEARCHED_ROWS]
        out[first : first + SEARCHED_ROWS] = np.argmin(half - rows @ C.T, axis=1)
    return out
