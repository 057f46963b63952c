"""Kernel matrices, products with them that store nothing, and bandwidth rules."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array, Indices

# Rows and columns at a time: a piece of this size stays in the processor's cache.
BLOCK_ROWS, BLOCK_COLUMNS = 256, 2048
# Rows at a time where all columns are wanted at once.
FEW_ROWS = 32


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
    exponents = _Exponents.of(X, C, gamma)
    out = np.empty((X.shape[0], C.shape[0]))
    for first in range(0, out.shape[0], BLOCK_ROWS):
        rows = slice(first, first + BLOCK_ROWS)
        exponents.fill(out[rows], rows)
        np.exp(out[rows], out=out[rows])
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
    exponents = _Exponents.of(X, C, gamma)
    out = np.zeros(C.shape[0])
    room = np.empty((BLOCK_ROWS, min(BLOCK_COLUMNS, out.size)))
    for start in range(0, out.size, BLOCK_COLUMNS):
        columns = slice(start, start + BLOCK_COLUMNS)
        part = exponents.narrowed(columns)
        width = part.right.shape[1]
        for first in range(0, X.shape[0], BLOCK_ROWS):
            rows = slice(first, first + BLOCK_ROWS)
            share = v[rows]
            block = room[: share.size, :width]
            part.fill(block, rows)
            np.exp(block, out=block)
            out[columns] += share @ block
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


def nearest_row(X: Array, C: Array) -> Indices:
    """Return, for every row, which row of C is the nearest; the first of equal ones.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_row(np.array([[0.0], [5.0]]), np.array([[1.0], [3.0]]))
    array([0, 1])
    """
    X, C = _moved(X, C)
    half = 0.5 * _squares(C)
    out = np.empty(X.shape[0], dtype=np.intp)
    for first in range(0, X.shape[0], FEW_ROWS):
        rows = X[first : first + FEW_ROWS]
        out[first : first + FEW_ROWS] = np.argmin(half - rows @ C.T, axis=1)
    return out


def _moved(X: Any, C: Any) -> tuple[Any, Any]:
    """Return both with the mean of C taken off, which keeps digits far from zero."""
    if sparse.issparse(X) or sparse.issparse(C):
        return X, C
    middle = C.mean(axis=0)
    return X - middle, C - middle


@dataclass(frozen=True, eq=False)
class _Exponents:
    r"""The numbers :math:`-\gamma |x_i - c_l|^2`, some rows at a time.

    Dense rows carry their squared norms along as two columns more, so that one product
    does it all; sparse ones do not, as every entry of such a product would be stored.
    """

    left: Any
    right: Any
    rows: Array | None = None
    columns: Array | None = None

    @classmethod
    def of(cls, X: Any, C: Any, gamma: float) -> "_Exponents":
        X, C = _moved(X, C)
        rows, columns = -gamma * _squares(X), -gamma * _squares(C)
        if sparse.issparse(X) or sparse.issparse(C):
            return cls(X, (2.0 * gamma) * C.T, rows, columns)
        d = X.shape[1]
        left, right = np.empty((len(X), d + 2)), np.empty((d + 2, len(C)))
        left[:, :d], left[:, d], left[:, d + 1] = X, 1.0, rows
        np.multiply(C.T, 2.0 * gamma, out=right[:d])
        right[d], right[d + 1] = columns, 1.0
        return cls(left, right)

    def narrowed(self, some: slice) -> "_Exponents":
        """Return some of the columns."""
        if self.columns is None:
            return _Exponents(self.left, self.right[:, some].copy())
        return _Exponents(self.left, self.right[:, some], self.rows, self.columns[some])

    def fill(self, block: Array, some: slice) -> None:
        """Write some of the rows, nothing above zero."""
        if self.rows is None or self.columns is None:
            np.matmul(self.left[some], self.right, out=block)
        else:
            block[...] = _dense(self.left[some] @ self.right)
            block += self.columns
            block += self.rows[some, None]
        np.minimum(block, 0.0, out=block)


def _squares(X: Any) -> Array:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def _dense(product: Any) -> Array:
    return product.toarray() if sparse.issparse(product) else product
