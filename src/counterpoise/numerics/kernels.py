"""Kernel matrices, products with them that store nothing, and bandwidth rules."""

from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array

# Rows and columns at a time: a piece of this size stays in the processor's cache.
BLOCK_ROWS, BLOCK_COLUMNS = 256, 2048


def rbf(X: Any, C: Any, gamma: float) -> Array:
    r"""Return the Gaussian kernel :math:`\exp(-\gamma |x_i - c_l|^2)`, (n, k).

    Built by blocks of rows, so that no second array of its size is made. Sparse rows
    stay sparse.

    Examples
    --------
    >>> import numpy as np
    >>> rbf(np.array([[0.0]]), np.array([[0.0], [2.0]]), gamma=0.25).round(4)
    array([[1.    , 0.3679]])
    """
    X, C = _moved(X, C)
    out = np.empty((X.shape[0], C.shape[0]))
    double, norms = _right(C, gamma)
    for first in range(0, X.shape[0], BLOCK_ROWS):
        block = out[first : first + BLOCK_ROWS]
        _fill(block, X[first : first + BLOCK_ROWS], double, norms, gamma)
    return out


def rbf_pull(v: Array, X: Any, C: Any, gamma: float) -> Array:
    """Return v'k(X, C), the kernel computed piece by piece and never stored.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0], [2.0]])
    >>> rbf_pull(np.array([0.5, 0.5]), rows, rows, gamma=0.25).round(4)
    array([0.6839, 0.6839])
    """
    X, C = _moved(X, C)
    out = np.zeros(C.shape[0])
    piece = np.empty((BLOCK_ROWS, min(BLOCK_COLUMNS, C.shape[0])))
    for left in range(0, C.shape[0], BLOCK_COLUMNS):
        double, norms = _right(C[left : left + BLOCK_COLUMNS], gamma)
        for first in range(0, X.shape[0], BLOCK_ROWS):
            rows = X[first : first + BLOCK_ROWS]
            block = piece[: rows.shape[0], : norms.size]
            _fill(block, rows, double, norms, gamma)
            out[left : left + norms.size] += v[first : first + BLOCK_ROWS] @ block
    return out


def rbf_push(X: Any, C: Any, gamma: float, v: Array) -> Array:
    """Return k(X, C) v, the kernel computed piece by piece and never stored."""
    return rbf_pull(v, C, X, gamma)


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
    X, _ = _moved(X, X)
    norms = _squares(X)
    products = X @ X.T
    squares = norms[:, None] + norms - 2.0 * _dense(products)
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
    X, C = _moved(X, C)
    norms = _squares(C)
    out = np.empty(X.shape[0])
    for first in range(0, X.shape[0], BLOCK_ROWS):
        rows = X[first : first + BLOCK_ROWS]
        squares = norms - 2.0 * (rows @ C.T) + _squares(rows)[:, None]
        place = 1 if own else 0
        out[first : first + BLOCK_ROWS] = np.partition(squares, place, axis=1)[:, place]
    return np.sqrt(np.maximum(out, 0.0))


def _moved(X: Any, C: Any) -> tuple[Any, Any]:
    """Return both with the mean of C taken off, which keeps digits far from zero."""
    if sparse.issparse(X) or sparse.issparse(C):
        return X, C
    middle = C.mean(axis=0)
    return X - middle, C - middle


def _right(C: Any, gamma: float) -> tuple[Any, Array]:
    double = (2.0 * gamma) * C.T
    if not sparse.issparse(C):
        double = np.ascontiguousarray(double)
    return double, gamma * _squares(C)


def _fill(block: Array, rows: Any, double: Any, norms: Array, gamma: float) -> None:
    if sparse.issparse(rows) or sparse.issparse(double):
        block[...] = _dense(rows @ double)
    else:
        np.matmul(rows, double, out=block)
    block -= norms
    block -= gamma * _squares(rows)[:, None]
    np.minimum(block, 0.0, out=block)
    np.exp(block, out=block)


def _squares(X: Any) -> Array:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def _dense(product: Any) -> Array:
    return product.toarray() if sparse.issparse(product) else product
