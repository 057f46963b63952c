"""KLIEP's matrix for very many centres, where the kernel has low rank."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.kernel import Kernel
from counterpoise.numerics.pivoted_cholesky import nystrom_map, pivoted_cholesky
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.weights.kliep.designs import (
    SMALLEST_SCALE,
    StoredDesign,
    covering,
    distinct_centers,
    source_means,
)

# Fewer target rows than this are handled as fast by their stored kernel.
FEWEST_FACTORED = 3000
# Residual of the factor: its square root bounds the error of a kernel entry.
PIVOT_TOL = 1e-12
LARGEST_DESIGN_RANK = 300
# Rows that stand for a sample while the rank is tried out and the source is looked at.
ROWS_TRIED = 2048
ROWS_MAPPED = 16384


@dataclass(frozen=True, eq=False)
class LowRankDesign:
    r"""The kernel between target rows as L'L plus a small rest.

    Columns are exact. `pull` goes through the factor and returns an upper bound, so
    that what is certified holds for the exact matrix. With E the diagonal of the rest
    and :math:`\phi` the coordinates of source rows,

    .. math::
        |K - L'L|_{jl} \le \sqrt{E_j E_l}, \quad
        |b - \hat b|_l \le \sqrt{E_l} \, \mathrm{mean}_i \sqrt{1 - |\phi(x_i)|^2}

    bound the errors of the kernel and of its means over the source, and
    :math:`v'A \le (v'L'L + \sqrt{E} \cdot (\sqrt{E}'v)) / (\hat b - \delta)`. The mean
    of a column is computed exactly when the column is first read.
    """

    samples: TwoSamples
    kernel: Kernel
    relative: float
    factor: Array
    root: Array
    scale: Array
    least_scale: Array
    exact: Any

    @classmethod
    def of(
        cls, samples: TwoSamples, kernel: Kernel, relative: float
    ) -> "LowRankDesign | None":
        """Return the matrix, or None where its rank is not low."""
        target, source = samples.target, samples.source
        m = target.shape[0]
        if sparse.issparse(target) or m < FEWEST_FACTORED:
            return None
        most = min(LARGEST_DESIGN_RANK, m // 10)
        some = np.vstack([_at_intervals(target), _at_intervals(source)])
        _, _, rest = pivoted_cholesky(some, kernel.gamma, PIVOT_TOL, most)
        if rest.max() > PIVOT_TOL:
            return None
        found = cls.of_rank(samples, kernel, relative, most)
        return found if found.root.max() ** 2 <= 100.0 * PIVOT_TOL else None

    @classmethod
    def of_rank(
        cls, samples: TwoSamples, kernel: Kernel, relative: float, most: int
    ) -> "LowRankDesign":
        """Return the matrix on a factor of rank `most` at the most, come what may.

        Where the factor leaves much out, what is certified is far from tight and true
        all the same.
        """
        target, source = samples.target, samples.source
        m = target.shape[0]
        # Source rows among the pivots keep their own residuals small, and with them
        # the error of the means.
        both = np.vstack([target, _at_intervals(source)])
        factor, pivots, rest = pivoted_cholesky(both, kernel.gamma, PIVOT_TOL, most)
        root = np.sqrt(rest[:m])
        triangle = factor[:, pivots].T.copy()
        inside, outside = _mean_coordinates(
            source, samples.source_share, both[pivots], triangle, kernel.gamma
        )
        factor = factor[:, :m]
        scale = (1.0 - relative) * (inside @ factor)
        error = (1.0 - relative) * outside * root
        if relative > 0.0:
            scale += relative * ((factor @ samples.target_share) @ factor)
            error += relative * root * float(root @ samples.target_share)
        scale = np.maximum(scale, SMALLEST_SCALE)
        least = np.maximum(scale - error, SMALLEST_SCALE)
        exact = np.zeros(m, dtype=bool)
        return cls(samples, kernel, relative, factor, root, scale, least, exact)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        m = self.samples.target.shape[0]
        return m, m

    def columns(self, i: Indices) -> Array:
        """Return the columns i, exactly."""
        return self.stored(i).matrix

    def pull(self, v: Array) -> Array:
        """Return an upper bound of v'A."""
        through = (self.factor @ v) @ self.factor
        through += self.root * float(self.root @ v)
        through /= self.least_scale
        return through

    def distinct(self, i: Indices, count: int, alike: float) -> Indices:
        """Return the first `count` of the columns i whose centres lie apart."""
        return distinct_centers(self.samples.target, self.kernel, i, count, alike)

    def start(self) -> Array:
        """Return few columns that cover all rows, with equal shares."""
        return covering(self.samples.target, self.samples.target, self.kernel)

    def stored(self, i: Indices) -> StoredDesign:
        """Return the columns i as a matrix in memory."""
        self._make_exact(i[~self.exact[i]])
        target = self.samples.target
        return StoredDesign.of(target, target[i], self.kernel, self.scale[i])

    def _make_exact(self, i: Indices) -> None:
        """Replace the scales of the columns i by their exact values."""
        if i.size == 0:
            return
        exact = source_means(
            self.samples, self.samples.target[i], self.kernel, self.relative
        )
        self.scale[i] = self.least_scale[i] = exact
        self.exact[i] = True


def _at_intervals(rows: Array) -> Array:
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), ROWS_TRIED)).astype(int)]


def _mean_coordinates(
    source: Array, share: Array, landmarks: Array, triangle: Array, gamma: float
) -> tuple[Array, float]:
    """Return the mean coordinates of the source and of the roots of their residuals."""
    mean, outside = np.zeros(len(landmarks)), 0.0
    for first in range(0, len(source), ROWS_MAPPED):
        part = slice(first, first + ROWS_MAPPED)
        coordinates = nystrom_map(source[part], landmarks, triangle, gamma)
        mean += coordinates @ share[part]
        rest = 1.0 - np.einsum("ij,ij->j", coordinates, coordinates)
        outside += float(share[part] @ np.sqrt(np.maximum(rest, 0.0)))
    return mean, outside
