"""Both bounds of the kernel discrepancy, in double precision from the entries."""

from typing import Any

import numpy as np
from scipy.linalg import eigh

from counterpoise.convex.spectral.steps.panel_cholesky import PanelCholesky
from counterpoise.numerics.arrays import Array, Indices

# Rows of a block of entries in double precision.
BLOCK = 250


def norm_is_below(kernel: Any, z: Array, share: Array, level: float) -> bool:
    r"""Tell whether :math:`\|A_P - A_z\|_2 < level`, by Cholesky factors.

    With S the rows that have weight and T the target rows,

    .. math:: uI + A_z - A_P \succ 0 \iff
       u P^{-1} - K_{TT} + K_{TS}(K_{SS} + u z^{-1})^{-1}K_{ST} \succ 0

    and the same with S and T exchanged. For s and n rows
    :math:`2(s^3/3 + s^2 n + s n^2 + n^3/3)` operations and at most
    :math:`4 \max(s, n)^2 + 8 s n` bytes. Rounding is not enclosed: about 1e-9 of u.
    """
    if not level > 0.0:
        return False
    m = len(z)
    source = np.flatnonzero(z > 0.0)
    target = np.flatnonzero(share > 0.0)
    sides = ((source, z[source]), (m + target, share[target]))
    return _dominates(kernel, *sides[0], *sides[1], level) and _dominates(
        kernel, *sides[1], *sides[0], level
    )


def _dominates(
    kernel: Any, A: Indices, a: Array, B: Indices, b: Array, level: float
) -> bool:
    """Tell whether level I + A_a - A_b is positive definite."""

    def first_panel(i: int, j: int) -> Array:
        out = np.array(kernel.block(A[i:j], A[:j]))
        k = np.arange(i, j)
        out[k - i, k] += level / a[i:j]
        return out

    try:
        factor = PanelCholesky(A.size, first_panel)
        inner = np.empty((A.size, B.size))
        for i in range(0, B.size, BLOCK):
            inner[:, i : i + BLOCK] = factor.forward(kernel.block(A, B[i : i + BLOCK]))
        del factor

        def second_panel(i: int, j: int) -> Array:
            out = inner[:, i:j].T @ inner[:, :j]
            out -= kernel.block(B[i:j], B[:j])
            k = np.arange(i, j)
            out[k - i, k] += level / b[i:j]
            return out

        PanelCholesky(B.size, second_panel)
    except np.linalg.LinAlgError:
        return False
    return True


def exact_images(kernel: Any, coefficients: Array) -> Array:
    """Return K C in double precision from the entries; O(q^2) a column."""
    out = np.empty(coefficients.shape)
    for first in range(0, len(out), BLOCK):
        rows = slice(first, first + BLOCK)
        out[rows] = kernel.block(rows, slice(None)) @ coefficients
    return out


def orthonormal_features(coefficients: Array, images: Array) -> Array:
    """Return features of all rows in the orthonormal basis nearest to the given one.

    So directions keep their meaning, and their values; those that the kernel gives no
    length are left out.
    """
    gram = coefficients.T @ images
    squares, turn = eigh(0.5 * (gram + gram.T), check_finite=False)
    some = squares > 1e-12 * max(float(squares[-1]), 1e-300)
    inverse = (turn[:, some] / np.sqrt(squares[some])) @ turn[:, some].T
    return images @ inverse
