"""Triangular factors of weighted kernels, and products with them."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from counterpoise.numerics.arrays import Array
from counterpoise.numerics.kernel import Kernel
from counterpoise.validation import InvalidInput

# Triangles of up to so many rows are inverted.
INVERTED_ROWS = 1000


def weighted_kernel(rows: Array, gamma: float, root: Array, ridge: float) -> Array:
    """Return D K D + ridge I, with D the roots of the weights, (n, n).

    The ridge comes after the weights: a row of weight w has noise ridge / w. Before
    them it would cancel out of every Schur complement.
    """
    out = Kernel("rbf", gamma).matrix(rows, rows)
    out *= root[:, None]
    out *= root
    out[np.diag_indices_from(out)] = root * root + ridge
    return out


class NotPositiveDefinite(InvalidInput, np.linalg.LinAlgError):
    """A kernel of the given rows and weights cannot be factored."""


@dataclass(frozen=True, eq=False)
class Factor:
    """A positive definite matrix S by its lower triangle L, S = LL'.

    Vectors are the rows of what it is given, so that `forward(B)` is B L^-T. All
    products are triangular, O(n^2) a vector: with a stored inverse of S a Schur
    complement would have lost all digits at a ridge of 1e-8, with the triangle, or its
    inverse, it keeps seven.

    Attributes
    ----------
    lower : array of shape (n, n)
        L.
    inverse : array of shape (n, n) or None
        L^-1, for small matrices: a product is twice as fast as a solve.
    """

    lower: Array
    inverse: Array | None = None

    @classmethod
    def of(cls, S: Array, often: bool = False) -> "Factor":
        """Factorise a symmetric matrix, whose memory is used: n^3 / 3 flops.

        A small one that is needed `often` is inverted.
        """
        # The transpose of a symmetric array is itself, in the order that LAPACK wants.
        lower, info = lapack.dpotrf(S.T, lower=1, clean=1, overwrite_a=1)
        if info != 0:
            raise NotPositiveDefinite(
                "a kernel is not positive definite to machine precision: raise the "
                "ridge, or divide the weights by their mean"
            )
        return cls.by_triangle(lower) if often else cls(lower)

    @classmethod
    def by_triangle(cls, lower: Array) -> "Factor":
        """Take L itself, which is inverted where it is small: n^3 / 3 flops."""
        if len(lower) > INVERTED_ROWS:
            return cls(lower)
        inverse, info = lapack.dtrtri(lower, lower=1)
        return cls(lower, inverse if info == 0 else None)

    def forward(self, B: Array) -> Array:
        """Return L^-1 b for every row b."""
        if self.inverse is not None:
            return blas.dtrmm(1.0, self.inverse, B.T, lower=1).T
        return blas.dtrsm(1.0, self.lower, B.T, lower=1).T

    def backward(self, B: Array) -> Array:
        """Return L^-T b for every row b."""
        if self.inverse is not None:
            return blas.dtrmm(1.0, self.inverse, B.T, lower=1, trans_a=1).T
        return blas.dtrsm(1.0, self.lower, B.T, lower=1, trans_a=1).T

    def solve(self, B: Array) -> Array:
        """Return S^-1 b for every row b."""
        return self.backward(self.forward(B))

    def times(self, B: Array) -> Array:
        """Return L b for every row b."""
        return blas.dtrmm(1.0, self.lower, B.T, lower=1).T

    def transposed_times(self, B: Array) -> Array:
        """Return L'b for every row b."""
        return blas.dtrmm(1.0, self.lower, B.T, lower=1, trans_a=1).T

    def log_determinant(self) -> float:
        """Return log |S|."""
        return 2.0 * float(np.log(np.diagonal(self.lower)).sum())


def squares(B: Array) -> Array:
    """Return the squared norm of every row."""
    return np.einsum("ij,ij->i", B, B)


def products(A: Array, B: Array) -> Array:
    """Return the inner product of every pair of rows."""
    return np.einsum("ij,ij->i", A, B)
