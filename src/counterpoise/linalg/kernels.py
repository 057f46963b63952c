"""Gaussian and linear kernels: matrices, products and distances."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse
from scipy.linalg import LinAlgError, cholesky, eigvalsh

from counterpoise.errors import InvalidInputError
from counterpoise.linalg.arrays import Array, Indices, Matrix, finite_array

# -----------------------------------------------------------------------------
# Positive semidefinite kernels: one object for all that is asked of them.
#
# A kernel is a rule with its numbers; it knows no rows. From rows come its matrix,
# its
# diagonal, products that store nothing, and its entries block by block.
# -----------------------------------------------------------------------------


# Rows or columns: places or a slice.
Selection = Any
KERNELS = ("linear", "rbf", "poly", "precomputed")
# Rows and columns at a time: a piece of this size stays in the processor's cache.
BLOCK_ROWS, BLOCK_COLUMNS = 256, 2048
# Rows whose kernel with one another is made for its diagonal.
DIAGONAL_ROWS = 64


@dataclass(frozen=True)
class Kernel:
    r"""A positive semidefinite kernel with its numbers.

    Parameters
    ----------
    kind : {"linear", "rbf", "poly", "precomputed"} or callable
        :math:`x'z`, :math:`\exp(-\gamma |x - z|^2)`,
        :math:`(\gamma x'z + c_0)^{degree}`, rows of a Gram matrix, or a function of two
        matrices of rows.
    gamma : float
        Of the Gaussian and of the polynomial kernel, positive.
    degree, coef0 : int, float
        Of the polynomial kernel; `coef0` is not negative.
    constant : float
        Added to every entry, not negative: it adds a constant to the functions.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0], [2.0]])
    >>> Kernel("rbf", 0.25).matrix(rows[:1], rows).round(4)
    array([[1.    , 0.3679]])
    >>> Kernel("poly", 1.0, 2, 1.0, constant=1.0).diagonal(rows)
    array([ 2., 26.])
    """

    kind: str | Callable[[Matrix, Matrix], object]
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0
    constant: float = 0.0

    def matrix(self, X: Matrix, Z: Matrix) -> Array:
        """Return the kernel of every row of X with every row of Z, not precomputed.

        Sparse rows stay sparse.
        """
        if callable(self.kind):
            out = finite_array("kernel(X, Z)", self.kind(X, Z), 2)
            if out.shape != (X.shape[0], Z.shape[0]):
                raise InvalidInputError(
                    f"kernel(X, Z) must have shape {(X.shape[0], Z.shape[0])}, got "
                    f"{out.shape}"
                )
        elif self.kind == "rbf":
            out = _gaussian(X, Z, self.gamma)
        else:
            # What overflows is told below, in words.
            with np.errstate(over="ignore", invalid="ignore"):
                out = dense(X @ Z.T)
                if self.kind == "poly":
                    out *= self.gamma
                    out += self.coef0
                    out = out**self.degree
            if not np.isfinite(out).all():
                raise InvalidInputError(
                    f"the {self.kind} kernel of these rows is not finite: their "
                    "products leave the range of floats; divide the columns"
                )
        if self.constant:
            out += self.constant
        return out

    def diagonal(self, X: Matrix) -> Array:
        """Return the kernel of every row with itself, from the row alone."""
        out: Array
        if callable(self.kind):
            return self.matrix_diagonal(X)
        if self.kind == "rbf":
            out = np.ones(X.shape[0])
        else:
            out = squared_norms(X)
            if self.kind == "poly":
                out = (self.gamma * out + self.coef0) ** self.degree
        return out + self.constant if self.constant else out

    def matrix_diagonal(self, X: Matrix) -> Array:
        """Return the diagonal to the bit as `matrix` has it, a few rows at a time."""
        if self.kind == "rbf" and not self.constant:
            return np.ones(X.shape[0])
        out = np.empty(X.shape[0])
        for first in range(0, out.size, DIAGONAL_ROWS):
            some = X[first : first + DIAGONAL_ROWS]
            out[first : first + DIAGONAL_ROWS] = self.matrix(some, some).diagonal()
        return out

    def pull(self, v: Array, X: Matrix, Z: Matrix) -> Array:
        """Return v'k(X, Z); a Gaussian is computed by pieces and never stored.

        Examples
        --------
        >>> import numpy as np
        >>> rows = np.array([[0.0], [2.0]])
        >>> Kernel("rbf", 0.25).pull(np.array([0.5, 0.5]), rows, rows).round(4)
        array([0.6839, 0.6839])
        """
        if self.kind != "rbf":
            return v @ self.matrix(X, Z)
        out = _gaussian(X, Z, self.gamma, v)
        return out + self.constant * v.sum() if self.constant else out

    def push(self, X: Matrix, Z: Matrix, v: Array) -> Array:
        """Return k(X, Z) v, computed the same way."""
        return self.pull(v, Z, X)

    def entries(self, X: Matrix) -> "KernelEntries":
        """Return the matrix of rows with themselves by its blocks, not precomputed."""
        return KernelEntries(self, X.tocsr() if sparse.issparse(X) else X)

    def rows_of(self, X: Array) -> Callable[[Indices, Indices | None], Array]:
        """Return a reader of the matrix of rows with themselves, a few rows at a time.

        It is asked for rows and columns; None are all columns. What single rows of a
        Gaussian have in common is done once, before.
        """
        if self.kind == "rbf" and not self.constant:
            return _gaussian_rows(X, self.gamma)

        def read(rows: Indices, columns: Indices | None) -> Array:
            return self.matrix(X[rows], X if columns is None else X[columns])

        return read

    def cross(self, X: Matrix, fitted: Matrix, rows: Indices) -> Array:
        """Return the kernel of new rows with some of the rows it was fitted to."""
        if self.kind == "precomputed":
            out: Array = X[:, rows]
            return out
        return self.matrix(X, fitted[rows])

    def part(self, X: Matrix, rows: Indices) -> Matrix:
        """Return what is left of the fitted rows where only some of them count."""
        return X[np.ix_(rows, rows)] if self.kind == "precomputed" else X[rows]


@dataclass(frozen=True, eq=False)
class KernelEntries:
    r"""The kernel of rows with themselves, known by its blocks.

    Blocks are made in double or in single precision; what all of them need of the rows
    is done once.

    Parameters
    ----------
    kernel : Kernel
        With a name, not precomputed.
    points : matrix of shape (q, N)

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0], [2.0]])
    >>> Kernel("rbf", 0.25).entries(rows).block([0], [0, 1]).round(4)
    array([[1.    , 0.3679]])
    """

    kernel: Kernel
    points: Matrix

    @property
    def size(self) -> int:
        """The number of rows."""
        return int(self.points.shape[0])

    def diagonal(self) -> Array:
        """Return the diagonal."""
        return self.kernel.diagonal(self.points)

    def block(
        self, rows: Selection, columns: Selection, dtype: DTypeLike = np.float64
    ) -> Array:
        """Return the entries of some rows and columns; O(N) an entry."""
        if sparse.issparse(self.points):
            out = self.kernel.matrix(self.points[rows], self.points[columns])
            return out.astype(dtype, copy=False)
        if self.kernel.kind == "rbf":
            out = self._gaussian(rows, columns, np.dtype(dtype))
        else:
            points = self.points.astype(dtype, copy=False)
            out = points[rows] @ points[columns].T
            if self.kernel.kind == "poly":
                out *= out.dtype.type(self.kernel.gamma)
                out += out.dtype.type(self.kernel.coef0)
                out **= self.kernel.degree
        if self.kernel.constant:
            out += out.dtype.type(self.kernel.constant)
        return out

    def _gaussian(self, rows: Selection, columns: Selection, dtype: DTypeLike) -> Array:
        points, squares = self._double if dtype == np.float64 else self._single
        out: Array = points[rows] @ points[columns].T
        out *= 2.0
        out -= squares[rows][:, None]
        out -= squares[columns]
        np.minimum(out, 0.0, out=out)
        return np.exp(out, out=out)

    @cached_property
    def _double(self) -> tuple[Array, Array]:
        # Distances do not see the origin; near the mean they keep more digits.
        points = self.points - self.points.mean(axis=0)
        points = points * np.sqrt(self.kernel.gamma)
        return points, np.einsum("ij,ij->i", points, points)

    @cached_property
    def _single(self) -> tuple[Matrix, Matrix]:
        points, squares = self._double
        return points.astype(np.float32), squares.astype(np.float32)


def refuse_indefinite(kind: object, coef0: float) -> None:
    """Refuse numbers with which a kernel is not positive semidefinite.

    Examples
    --------
    >>> refuse_indefinite("poly", -1.0)
    Traceback (most recent call last):
    counterpoise.errors.InvalidInputError: kernel 'poly' with a negative coef0 is not \
positive semidefinite, got \
coef0 = -1
    """
    if kind == "poly" and coef0 < 0.0:
        raise InvalidInputError(
            "kernel 'poly' with a negative coef0 is not positive semidefinite, "
            f"got coef0 = {coef0:g}"
        )


def check_definite(gram: Array, slack: float) -> None:
    """Refuse a symmetric matrix with an eigenvalue below minus `slack`.

    Examples
    --------
    >>> import numpy as np
    >>> check_definite(-np.eye(2), 1e-9)
    Traceback (most recent call last):
    counterpoise.errors.InvalidInputError: a precomputed kernel must be positive \
semidefinite, its smallest \
eigenvalue is -1
    """
    raised = gram.copy()
    raised.flat[:: gram.shape[0] + 1] += slack
    try:
        cholesky(raised, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        least = float(eigvalsh(gram, subset_by_index=(0, 0), check_finite=False)[0])
        raise InvalidInputError(
            "a precomputed kernel must be positive semidefinite, its smallest "
            f"eigenvalue is {least:g}"
        ) from None


def auto_gamma(X: Matrix) -> float:
    """Return the width of the rule "auto": one over the number of columns."""
    return 1.0 / float(X.shape[1])


def scale_gamma(X: Array, weights: Array) -> float:
    """Return the width of the rule "scale".

    One over the number of columns times the weighted variance of all entries of X, so
    that a weight of two is the row twice. One, where all entries are equal.

    Examples
    --------
    >>> import numpy as np
    >>> scale_gamma(np.array([[0.0], [2.0]]), np.ones(2))
    1.0
    """
    seen = X[weights > 0.0]
    if seen.min() == seen.max():
        # Rounding would make a variance of it.
        return 1.0
    share = weights / weights.sum()
    mean = float(share @ X.mean(axis=1))
    variance = float(share @ ((X - mean) ** 2).mean(axis=1))
    return 1.0 / (X.shape[1] * variance) if variance > 0.0 else 1.0


def _gaussian(X: Matrix, C: Matrix, gamma: float, v: Array | None = None) -> Array:
    """Return the Gaussian kernel; with v its product v'K, and K is never stored.

    Blocks of rows need no second array of the kernel's size. Dense rows carry their
    squared norms along as two columns more, so that one product makes the exponents;
    sparse ones do not, as every entry of such a product would be stored.
    """
    n, m = X.shape[0], C.shape[0]
    is_sparse = sparse.issparse(X) or sparse.issparse(C)
    if is_sparse:
        own, other = -gamma * squared_norms(X), -gamma * squared_norms(C)
        left, right = X, (2.0 * gamma) * C.T
    else:
        if m:
            # Distances do not see the origin; near the mean they keep more digits.
            middle = C.mean(axis=0)
            X, C = X - middle, C - middle
        own = -gamma * np.einsum("ij,ij->i", X, X)
        other = -gamma * np.einsum("ij,ij->i", C, C)
        left = np.column_stack([X, np.ones(n), own])
        # In row order, which the products of narrow blocks need to be fast.
        right = np.ascontiguousarray(np.vstack([2.0 * gamma * C.T, other, np.ones(m)]))
    out = np.empty((n, m)) if v is None else np.zeros(m)
    width = m if v is None else min(BLOCK_COLUMNS, m)
    room = np.empty((BLOCK_ROWS, 0 if v is None else width))
    for start in range(0, m, max(width, 1)):
        columns = slice(start, start + width)
        part = right[:, columns]
        if v is not None and not is_sparse:
            part = part.copy()
        for first in range(0, n, BLOCK_ROWS):
            rows = slice(first, min(first + BLOCK_ROWS, n))
            size = rows.stop - first
            block = out[rows] if v is None else room[:size, : part.shape[1]]
            if is_sparse:
                block[...] = dense(left[rows] @ part)
                block += other[columns]
                block += own[rows, None]
            else:
                np.matmul(left[rows], part, out=block)
            np.minimum(block, 0.0, out=block)
            np.exp(block, out=block)
            if v is not None:
                out[columns] += v[rows] @ block
    return out


def _gaussian_rows(
    X: Array, gamma: float
) -> Callable[[Indices, Indices | None], Array]:
    """Return the reader of rows, all that single rows have in common done before."""
    Z = X - X.mean(axis=0)
    squares = gamma * np.einsum("ij,ij->i", Z, Z)
    right = np.ascontiguousarray(2.0 * gamma * Z.T)

    def read(rows: Indices, columns: Indices | None) -> Array:
        some = slice(None) if columns is None else columns
        out: Array = Z[rows] @ right[:, some]
        out -= squares[some]
        out -= squares[rows, None]
        np.minimum(out, 0.0, out=out)
        return np.exp(out, out=out)

    return read


def squared_norms(X: Matrix) -> Array:
    """Return the squared norm of every row."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def dense(product: Matrix) -> Array:
    """Return a product of matrices, one or both of which may be sparse, as an array."""
    return product.toarray() if sparse.issparse(product) else product


# -----------------------------------------------------------------------------
# Kernel matrices known by their products: stored, half stored, or never stored.
# -----------------------------------------------------------------------------


# Rows at a time where a block of the matrix is computed.
BUILT_ROWS = 1000
# Directions whose squared length falls below these shares are rounding only.
EXACT_CUT, SINGLE_CUT = 1e-10, 1e-5


class KernelMatrix(Protocol):
    """A kernel matrix by its blocks, in double precision, and by its products."""

    @property
    def size(self) -> int:
        """The number of rows."""
        ...

    @property
    def cut(self) -> float:
        """Share of a squared length below which a direction is rounding only."""
        ...

    def block(
        self, rows: Selection, columns: Selection, dtype: DTypeLike = np.float64
    ) -> Array:
        """Return the entries of some rows and columns."""
        ...

    def product(self, B: Array) -> Array:
        """Return K B."""
        ...

    def diagonal(self) -> Array:
        """Return the diagonal of K."""
        ...


@dataclass(frozen=True, eq=False)
class StoredMatrix:
    """A kernel matrix in memory, 8 q^2 bytes; a product costs 2 q^2 a column."""

    K: Any
    cut: float = EXACT_CUT

    def __post_init__(self) -> None:
        K = self.K.toarray() if sparse.issparse(self.K) else self.K
        K = finite_array("K", K, 2)
        if K.shape[0] != K.shape[1]:
            raise ValueError(f"K must be square, got shape {K.shape}")
        object.__setattr__(self, "K", K)

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.K)

    def block(
        self, rows: Selection, columns: Selection, dtype: DTypeLike = np.float64
    ) -> Array:
        """Return the entries of some rows and columns."""
        out: Array = self.K[rows][:, columns].astype(dtype, copy=False)
        return out

    def product(self, B: Array) -> Array:
        """Return K B."""
        out: Array = self.K @ B
        return out

    def diagonal(self) -> Array:
        """Return the diagonal."""
        return np.diagonal(self.K).copy()


class ComputedMatrix:
    """A kernel matrix computed again at every product, in single precision.

    Stores a block of rows only; a product costs O(N q^2) and 2 q^2 a column. `block`
    gives the entries in double precision, for proofs.
    """

    cut = SINGLE_CUT

    def __init__(self, entries: KernelEntries) -> None:
        self.entries = entries

    @property
    def size(self) -> int:
        """The number of rows."""
        return int(self.entries.size)

    def block(
        self, rows: Selection, columns: Selection, dtype: DTypeLike = np.float64
    ) -> Array:
        """Return the entries of some rows and columns."""
        return self.entries.block(rows, columns, dtype)

    def product(self, B: Array) -> Array:
        """Return K B."""
        single = np.ascontiguousarray(B, dtype=np.float32)
        out = np.empty(B.shape)
        for first in range(0, self.size, BUILT_ROWS):
            rows = slice(first, first + BUILT_ROWS)
            out[rows] = self.entries.block(rows, slice(None), np.float32) @ single
        return out

    def diagonal(self) -> Array:
        """Return the diagonal."""
        return self.entries.diagonal()


class TriangleMatrix(ComputedMatrix):
    """The upper blocks of a kernel matrix in single precision, 2 q^2 bytes.

    Built from `entries` at the first product, O(N q^2 / 2); a product costs 2 q^2 a
    column in single precision. `release` gives the memory back until the next product.
    """

    def __init__(self, entries: KernelEntries) -> None:
        super().__init__(entries)
        self._blocks: list[Array] = []

    def release(self) -> None:
        """Forget the blocks."""
        self._blocks = []

    def product(self, B: Array) -> Array:
        """Return K B, summed in double precision over blocks of single precision."""
        if not self._blocks:
            diagonal = self.entries.diagonal()
            for first in range(0, self.size, BUILT_ROWS):
                rows = slice(first, first + BUILT_ROWS)
                block = self.entries.block(rows, slice(first, None), np.float32)
                np.fill_diagonal(block, diagonal[rows])
                self._blocks.append(block)
        single = np.ascontiguousarray(B, dtype=np.float32)
        out = np.zeros(B.shape)
        for k, block in enumerate(self._blocks):
            first = k * BUILT_ROWS
            last = first + len(block)
            out[first:last] += block @ single[first:]
            if last < self.size:
                out[last:] += block[:, last - first :].T @ single[first:last]
        return out


def store_kernel_matrix(entries: KernelEntries, budget: float = 1e9) -> KernelMatrix:
    """Return the kernel stored as exactly as fits into `max_samples` bytes.

    Double precision up to 8 q^2 <= budget / 4 (q = 5,590 at 1 GB), else the triangle in
    single precision up to 2 q^2 <= budget (q = 22,360), else computed at each product.
    """
    q = float(entries.size)
    if 8.0 * q * q <= 0.25 * budget:
        K = np.empty((entries.size, entries.size))
        for first in range(0, entries.size, BUILT_ROWS):
            rows = slice(first, first + BUILT_ROWS)
            K[rows, first:] = entries.block(rows, slice(first, None))
            K[first:, rows] = K[rows, first:].T
        K[np.diag_indices_from(K)] = entries.diagonal()
        return StoredMatrix(K)
    if 2.0 * q * q <= budget:
        return TriangleMatrix(entries)
    return ComputedMatrix(entries)


# -----------------------------------------------------------------------------
# Distances between rows: the median one, and the nearest.
# -----------------------------------------------------------------------------


# Rows at a time where the nearest of all is looked for.
SEARCHED_ROWS = 32


def median_distance(X: Matrix, max_rows: int = 1000) -> float:
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
    if not sparse.issparse(X):
        X = X - X.mean(axis=0)
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
