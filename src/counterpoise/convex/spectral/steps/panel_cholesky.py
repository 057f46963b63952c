"""Cholesky factors of large matrices, half the memory of a square."""

from collections.abc import Callable

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf

from counterpoise.numerics.arrays import Array

# Rows of a panel.
PANEL = 500


class PanelCholesky:
    """The lower factor of a symmetric matrix that is read panel by panel.

    `panel(first, last)` returns rows first..last and columns 0..last. Raises
    `numpy.linalg.LinAlgError` where the matrix is not positive definite. Takes n^3 / 3
    operations and 4 n^2 bytes.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[4.0, 2.0], [2.0, 5.0]])
    >>> PanelCholesky(2, lambda i, j: A[i:j, :j]).forward(np.eye(2))
    array([[ 0.5 ,  0.  ],
           [-0.25,  0.5 ]])
    """

    def __init__(self, size: int, panel: Callable[[int, int], Array]) -> None:
        self.size = size
        self.panels: list[Array] = []
        for first in range(0, size, PANEL):
            last = min(size, first + PANEL)
            rows = panel(first, last)
            self._eliminate(rows, first)
            own = rows[:, first:]
            own -= rows[:, :first] @ rows[:, :first].T
            factor, failed = dpotrf(own, lower=1, clean=1)
            if failed:
                raise np.linalg.LinAlgError(f"not positive definite at row {first}")
            rows[:, first:] = factor
            self.panels.append(rows)

    def forward(self, right: Array) -> Array:
        """Return the inverse of the lower factor times `right`, a fresh array."""
        out = np.array(right, dtype=float)
        for rows in self.panels:
            last = rows.shape[1]
            first = last - rows.shape[0]
            out[first:last] -= rows[:, :first] @ out[:first]
            out[first:last] = solve_triangular(
                rows[:, first:], out[first:last], lower=True, check_finite=False
            )
        return out

    def _eliminate(self, rows: Array, first: int) -> None:
        """Turn columns 0..first of a new panel into the factor's."""
        for above in self.panels:
            end = above.shape[1]
            begin = end - above.shape[0]
            rows[:, begin:end] -= rows[:, :begin] @ above[:, :begin].T
            rows[:, begin:end] = solve_triangular(
                above[:, begin:], rows[:, begin:end].T, lower=True, check_finite=False
            ).T
