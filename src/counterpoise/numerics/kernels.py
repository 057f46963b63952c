"""Kernel matrices and bandwidth rules."""

import numpy as np

from counterpoise.numerics.arrays import Array

# Rows at a time: a temporary of this many rows stays in the processor's cache.
BLOCK = 512


def rbf(X: Array, C: Array, gamma: float) -> Array:
    r"""Return the Gaussian kernel :math:`\exp(-\gamma |x_i - c_l|^2)`, (n, k).

    Built by blocks of rows, so that no second array of its size is made.

    Examples
    --------
    >>> import numpy as np
    >>> rbf(np.array([[0.0]]), np.array([[0.0], [2.0]]), gamma=0.25).round(4)
    array([[1.    , 0.3679]])
    """
    out = np.empty((X.shape[0], C.shape[0]))
    # Distances are differences: moving both samples keeps digits far from the origin.
    middle = C.mean(axis=0)
    C = C - middle
    double = np.ascontiguousarray((2.0 * gamma) * C.T)
    norms = gamma * np.einsum("ij,ij->i", C, C)
    for first in range(0, X.shape[0], BLOCK):
        rows = X[first : first + BLOCK] - middle
        block = out[first : first + BLOCK]
        np.matmul(rows, double, out=block)
        block -= norms
        block -= gamma * np.einsum("ij,ij->i", rows, rows)[:, None]
        np.minimum(block, 0.0, out=block)
        np.exp(block, out=block)
    return out


def median_distance(X: Array, max_rows: int = 1000) -> float:
    """Return the median distance between two rows, over at most `max_rows` rows.

    The rows are taken at equal intervals, so that no chance is involved.

    Examples
    --------
    >>> import numpy as np
    >>> median_distance(np.array([[0.0], [1.0], [3.0]]))
    2.0
    """
    if X.shape[0] > max_rows:
        X = X[np.linspace(0, X.shape[0] - 1, max_rows).astype(int)]
    X = X - X.mean(axis=0)
    norms = np.einsum("ij,ij->i", X, X)
    squares = norms[:, None] + norms - 2.0 * (X @ X.T)
    pairs = squares[np.triu_indices(X.shape[0], k=1)]
    return float(np.sqrt(np.median(np.maximum(pairs, 0.0))))
