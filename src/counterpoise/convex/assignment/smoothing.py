r"""Applying :math:`(I + t L)^{-1}` to the columns of a matrix, for many matrices.

The same system at every iteration, another t now and then. Items are put into the order
`order` once, so that no iteration permutes anything.
"""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse.linalg import splu

from counterpoise.convex.assignment.sweeps import triangular_solves
from counterpoise.numerics.arrays import Array, Indices

# A stored inverse is faster where a triangular factor has more than this share of its
# entries (20 to 50 columns), unless the inverse is too large to store.
DENSE_SHARE, DENSE_MOST = 1.0 / 9.0, 4000

Reduction = Literal["auto", "sparse", "inverse", "eigen"]


class Smoother(Protocol):
    """The inverse for one t."""

    def apply(self, X: Array) -> Array:
        """Return the inverse times X; X is overwritten."""
        ...


class Reduced(Protocol):
    """A Laplacian prepared for any t."""

    @property
    def order(self) -> Indices:
        """The items as the smoothers see them."""
        ...

    def at(self, t: float) -> Smoother:
        """Return the smoother for t."""
        ...


def reduced(laplacian: Any, n: int, how: Reduction = "auto") -> Reduced:
    """Return the Laplacian prepared, as sparse triangles or as a dense matrix.

    Parameters
    ----------
    laplacian : sparse matrix of shape (n, n) or None
        None: the identity, nothing is smoothed.
    n : int
    how : {"auto", "sparse", "inverse", "eigen"}
        Sparse triangles; a stored inverse, made by Cholesky for every t, or by one
        eigen-decomposition for all t. "auto": triangles, unless they are nearly full.
    """
    if laplacian is None:
        return _Untouched(np.arange(n))
    L = sparse.csc_matrix(laplacian, dtype=float)
    if how == "eigen":
        return _Eigen.of(L)
    full = L.nnz > DENSE_SHARE * n * n and n <= DENSE_MOST
    if how == "inverse" or (how == "auto" and full):
        return _Dense(np.arange(n), L.toarray())
    factor = _factor(L + sparse.identity(n, format="csc"), "MMD_AT_PLUS_A")
    if how == "auto" and factor.L.nnz > DENSE_SHARE * n * n and n <= DENSE_MOST:
        return _Dense(np.arange(n), L.toarray())
    order = np.argsort(factor.perm_c)
    return _Triangles(order, sparse.csc_matrix(L[order][:, order]))


def _factor(A: Any, ordering: str) -> Any:
    # Positive definite matrices need no pivots beside the diagonal.
    options = {"SymmetricMode": True}
    return splu(A, permc_spec=ordering, diag_pivot_thresh=0.0, options=options)


@dataclass(frozen=True)
class _Untouched:
    order: Indices

    def at(self, t: float) -> "_Untouched":
        return self

    def apply(self, X: Array) -> Array:
        return X


@dataclass(frozen=True, eq=False)
class _Matrix:
    inverse: Array

    def apply(self, X: Array) -> Array:
        return self.inverse @ X


@dataclass(frozen=True, eq=False)
class _Dense:
    order: Indices
    L: Array

    def at(self, t: float) -> _Matrix:
        A = np.asfortranarray(t * self.L)
        A.flat[:: len(A) + 1] += 1.0
        factor, _ = dpotrf(A, lower=1, overwrite_a=1)
        inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
        lower = np.tril(inverse)
        return _Matrix(lower + np.tril(inverse, -1).T)


@dataclass(frozen=True, eq=False)
class _Eigen:
    order: Indices
    values: Array
    vectors: Array

    @classmethod
    def of(cls, L: Any) -> "_Eigen":
        values, vectors = eigh(L.toarray(), check_finite=False)
        return cls(np.arange(len(values)), np.maximum(values, 0.0), vectors)

    def at(self, t: float) -> _Matrix:
        return _Matrix((self.vectors / (1.0 + t * self.values)) @ self.vectors.T)


@dataclass(frozen=True, eq=False)
class _Triangle:
    starts: Indices
    rows: Indices
    entries: Array
    pivots: Array

    def apply(self, X: Array) -> Array:
        triangular_solves(self.starts, self.rows, self.entries, self.pivots, X)
        return X


@dataclass(frozen=True, eq=False)
class _Triangles:
    order: Indices
    L: Any

    def at(self, t: float) -> _Triangle:
        n = self.L.shape[0]
        factor = _factor(t * self.L + sparse.identity(n, format="csc"), "NATURAL")
        assert np.array_equal(factor.perm_c, np.arange(n))
        assert np.array_equal(factor.perm_r, np.arange(n))
        below = sparse.tril(factor.L, -1, format="csc")
        return _Triangle(
            below.indptr.astype(np.intp),
            below.indices.astype(np.intp),
            below.data,
            factor.U.diagonal(),
        )
