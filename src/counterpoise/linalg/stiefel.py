"""Orthonormal matrices: polar factors and spectra of quadratic forms."""

from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, eigsh

from counterpoise.linalg.arrays import Array

# An array or a `csr_array`; scipy.sparse has no types.
SymmetricMatrix: TypeAlias = Any

# -----------------------------------------------------------------------------
# Matrices with orthonormal columns: projections onto them and onto their tangents.
# -----------------------------------------------------------------------------


def polar(H: Array) -> Array:
    """Return the nearest matrix with orthonormal columns, U V' of the thin SVD.

    Where H has not full rank there are several; this is one of them, always the same.

    Examples
    --------
    >>> polar(np.array([[3.0], [4.0]])).ravel().round(12).tolist()
    [0.6, 0.8]
    """
    left, _, right = np.linalg.svd(H, full_matrices=False)
    return left @ right


def clip_singular_values(H: Array) -> Array:
    """Return the nearest matrix whose singular values are at most one."""
    left, values, right = np.linalg.svd(H, full_matrices=False)
    return (left * np.minimum(values, 1.0)) @ right


def tangent(P: Array, G: Array) -> Array:
    """Return the part of G along the frames at P: G - P (P'G + G'P) / 2.

    The rest, P times a symmetric matrix, is normal to them. Either may be a stack of
    matrices.
    """
    inner = np.swapaxes(P, -1, -2) @ G
    return G - P @ (inner + np.swapaxes(inner, -1, -2)) / 2.0


def orthonormality(P: Array) -> float:
    """Return the largest entry of |P'P - I|."""
    return float(np.abs(P.T @ P - np.eye(P.shape[1])).max())


# -----------------------------------------------------------------------------
# Eigenvalues of symmetric matrices, stored whole or sparse.
# -----------------------------------------------------------------------------


# Sparse matrices up to this order are treated as dense ones.
DENSE_ORDER = 1000
# Some eigenvectors of a sparse matrix beyond this order come by Lanczos.
FEW_ROWS = 200


def extreme_eigenvalues(M: SymmetricMatrix) -> tuple[float, float]:
    """Return the least and the largest eigenvalue.

    Of a large sparse matrix: Gershgorin's bounds of them, which need no iterations.
    """
    if _is_small(M):
        values = np.linalg.eigvalsh(dense(M))
        return float(values[0]), float(values[-1])
    return _gershgorin(M)


def _gershgorin(M: SymmetricMatrix) -> tuple[float, float]:
    """Return numbers below and above all eigenvalues, without iterations."""
    diagonal = M.diagonal()
    radius = np.asarray(abs(M).sum(axis=1)).ravel() - np.abs(diagonal)
    return float((diagonal - radius).min()), float((diagonal + radius).max())


def largest_eigenvalue(M: SymmetricMatrix) -> float:
    """Return the largest eigenvalue, of a large sparse matrix to three digits."""
    if _is_small(M) or not M.nnz:
        return extreme_eigenvalues(M)[1]
    first = np.random.default_rng(0).standard_normal(M.shape[0])
    return float(
        eigsh(M, 1, which="LA", tol=1e-3, v0=first, return_eigenvectors=False)[0]
    )


def smallest_eigenpairs(
    M: SymmetricMatrix, count: int, low: float | None = None
) -> tuple[Array, Array]:
    """Return the smallest eigenvalues, ascending, and their eigenvectors as columns.

    Parameters
    ----------
    M : matrix, dense or sparse
    count : int
    low : float, optional
        A number not above the spectrum, of a sparse matrix; the nearer, the faster. By
        default Gershgorin's.
    """
    n = M.shape[0]
    if sparse.issparse(M) and not M.nnz:
        return np.zeros(count), np.eye(n, count)
    if not sparse.issparse(M) or n <= FEW_ROWS or 4 * count >= n:
        return eigh(dense(M), subset_by_index=(0, count - 1))
    least, high = _gershgorin(M)
    low = least if low is None else low
    first = np.random.default_rng(0).standard_normal(n)
    # Just below the spectrum, the inverse has the wanted ones as its largest.
    below = low - 1e-7 * max(high - low, 1e-12)
    try:
        values, vectors = eigsh(
            sparse.csc_matrix(M), count, sigma=below, which="LM", v0=first, tol=1e-11
        )
    except (ArpackError, ArpackNoConvergence, RuntimeError):
        return eigh(dense(M), subset_by_index=(0, count - 1))
    order = np.argsort(values)
    return values[order], vectors[:, order]


def ky_fan(M: SymmetricMatrix, m: int) -> float:
    """Return the least <M, PP'> over frames, the sum of the m smallest eigenvalues.

    Rounding is taken off, so that it is a bound.
    """
    values, vectors = smallest_eigenpairs(M, m)
    if not sparse.issparse(M):
        rounding = 1e-14 * len(vectors) * max(1e-300, float(np.abs(values).max()))
        return float(values.sum()) - m * rounding
    lacking = np.linalg.norm(M @ vectors - vectors * values, axis=0)
    return float((values - lacking).sum())


def dense(M: SymmetricMatrix) -> Array:
    """Return the matrix stored whole."""
    return M.toarray() if sparse.issparse(M) else M


def _is_small(M: SymmetricMatrix) -> bool:
    """Tell whether eigenvalues are computed from the dense matrix."""
    return not sparse.issparse(M) or (M.nnz > 0 and M.shape[0] <= DENSE_ORDER)
