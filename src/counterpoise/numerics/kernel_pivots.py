"""Pivoted Cholesky factors of kernel matrices of small numerical rank."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Array, Indices

# Squared lengths below this share of the longest are rounding.
ROUNDING = 1e-12
# After so many pivots so much may be left where a small rank is still in sight.
EARLY, LEFT = 100, 1e-3


@dataclass(frozen=True, eq=False)
class KernelPivots:
    """A factor F with F F' = K but for rounding, and the rows that were its pivots.

    `factor[places]` is lower triangular.
    """

    factor: Array
    places: Indices


def small_rank_factor(kernel: Any, largest: int) -> KernelPivots | None:
    """Return a factor of at most so many columns; None where the rank is larger.

    The row that is left longest is the next pivot. O(q r) a pivot, and one column of
    the kernel. It gives up early where the lengths fall slowly.

    Parameters
    ----------
    kernel : Entries
        With `diagonal`.
    largest : int

    Examples
    --------
    >>> from counterpoise.numerics.kernel_matrices import StoredMatrix
    >>> rows = np.arange(12.0).reshape(6, 2)
    >>> small_rank_factor(StoredMatrix(rows @ rows.T), 3).factor.shape
    (6, 2)
    >>> small_rank_factor(StoredMatrix(np.eye(6)), 3) is None
    True
    """
    left = kernel.diagonal().astype(float)
    longest = float(left.max())
    factor = np.zeros((len(left), min(largest, len(left))), order="F")
    places: list[int] = []
    for k in range(factor.shape[1] + 1):
        pivot = int(np.argmax(left))
        if left[pivot] <= ROUNDING * longest:
            return KernelPivots(np.ascontiguousarray(factor[:, :k]), np.array(places))
        hopeless = k == EARLY and left[pivot] > LEFT * longest and len(left) > largest
        if k == factor.shape[1] or hopeless:
            return None
        column = kernel.block(slice(None), slice(pivot, pivot + 1))[:, 0]
        column = (column - factor[:, :k] @ factor[pivot, :k]) / np.sqrt(left[pivot])
        # A pivot's own row is exact: nothing is left of it.
        column[places] = 0.0
        factor[:, k] = column
        left -= column**2
        places.append(pivot)
        left[places] = 0.0
    return None
