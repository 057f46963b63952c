"""Kernel matrices known by their products: stored, half stored, or never stored."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array, finite_array

# Rows at a time where a block of the matrix is computed.
BUILT_ROWS = 1000
# Directions whose squared length falls below these shares are rounding only.
EXACT_CUT, SINGLE_CUT = 1e-10, 1e-5


class MatrixEntries(Protocol):
    """A kernel matrix by its blocks, in double precision."""

    @property
    def size(self) -> int:
        """The number of rows."""
        ...

    def block(self, rows: Any, columns: Any, dtype: Any = np.float64) -> Array:
        """Return the entries of some rows and columns."""
        ...


class KernelMatrix(MatrixEntries, Protocol):
    """A kernel matrix that can be multiplied with."""

    @property
    def cut(self) -> float:
        """Share of a squared length below which a direction is rounding only."""
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

    def block(self, rows: Any, columns: Any, dtype: Any = np.float64) -> Array:
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


class TriangleMatrix:
    """The upper blocks of a kernel matrix in single precision, 2 q^2 bytes.

    Built from `entries` at the first product, O(N q^2 / 2); a product costs 2 q^2 a
    column in single precision. `block` gives the entries again in double precision,
    for proofs; `release` gives the memory back until the next product.
    """

    cut = SINGLE_CUT

    def __init__(self, entries: Any) -> None:
        self.entries = entries
        self._blocks: list[Array] = []

    def release(self) -> None:
        """Forget the blocks."""
        self._blocks = []

    def _build(self) -> None:
        diagonal = self.entries.diagonal()
        for first in range(0, self.size, BUILT_ROWS):
            rows = slice(first, first + BUILT_ROWS)
            block = self.entries.block(rows, slice(first, None), np.float32)
            k = np.arange(len(block))
            block[k, k] = diagonal[rows]
            self._blocks.append(block)

    @property
    def size(self) -> int:
        """The number of rows."""
        return int(self.entries.size)

    def block(self, rows: Any, columns: Any, dtype: Any = np.float64) -> Array:
        """Return the entries of some rows and columns, computed again."""
        out: Array = self.entries.block(rows, columns, dtype)
        return out

    def product(self, B: Array) -> Array:
        """Return K B, summed in double precision over blocks of single precision."""
        if not self._blocks:
            self._build()
        single = np.ascontiguousarray(B, dtype=np.float32)
        out = np.zeros(B.shape)
        for k, block in enumerate(self._blocks):
            first = k * BUILT_ROWS
            last = first + len(block)
            out[first:last] += block @ single[first:]
            if last < self.size:
                out[last:] += block[:, last - first :].T @ single[first:last]
        return out

    def diagonal(self) -> Array:
        """Return the diagonal."""
        out: Array = self.entries.diagonal()
        return out


@dataclass(frozen=True, eq=False)
class ComputedMatrix:
    """A kernel matrix computed again at every product, in single precision.

    Stores a block of rows only; a product costs O(N q^2) and 2 q^2 a column.
    """

    entries: Any
    cut: float = SINGLE_CUT

    @property
    def size(self) -> int:
        """The number of rows."""
        return int(self.entries.size)

    def block(self, rows: Any, columns: Any, dtype: Any = np.float64) -> Array:
        """Return the entries of some rows and columns."""
        out: Array = self.entries.block(rows, columns, dtype)
        return out

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
        out: Array = self.entries.diagonal()
        return out


def kept_matrix(entries: Any, budget: float = 1e9) -> KernelMatrix:
    """Return the kernel stored as exactly as fits into `budget` bytes.

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
