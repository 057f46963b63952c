"""The matrices of KLIEP: Gaussian kernels between target rows and centres, scaled.

Column l is :math:`k(t_j, c_l) / b_l` with :math:`b_l` the mean of the kernel over the
source rows, so that a mixture of columns is a density ratio of mean one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.convex.objectives.columns import distinct
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.kernel import BLOCK_ROWS, Kernel
from counterpoise.samples.two_samples import TwoSamples

# A mean of the kernel over the source is not taken below this.
SMALLEST_SCALE = 1e-150
# A start may have this many atoms before it is content with covering less.
MANY_ATOMS = 300
COVER_REACHES = (1e-3, 1e-30, 1e-250)
# The kernel between so many candidates is made in one piece.
CENTERS_AT_ONCE = 500


@dataclass(frozen=True, eq=False)
class StoredDesign:
    """The matrix in memory, columns contiguous."""

    matrix: Array
    rows: Any
    centers: Any
    kernel: Kernel
    scale: Array

    @classmethod
    def of(
        cls, rows: Any, centers: Any, kernel: Kernel, scale: Array
    ) -> "StoredDesign":
        """Return the matrix for rows, centres and the scales of the columns."""
        transposed = kernel.matrix(centers, rows)
        transposed /= scale[:, None]
        return cls(transposed.T, rows, centers, kernel, scale)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.matrix.shape[0], self.matrix.shape[1]

    def columns(self, i: Indices) -> Array:
        """Return the columns i."""
        return self.matrix[:, i]

    def pull(self, v: Array) -> Array:
        """Return v'A."""
        return v @ self.matrix

    def distinct(self, i: Indices, count: int, alike: float) -> Indices:
        """Return the first `count` of the columns i whose centres lie apart."""
        return distinct_centers(self.centers, self.kernel, i, count, alike)

    def start(self) -> Array:
        """Return few columns that cover all rows, with equal shares."""
        return _few_that_cover(
            self.shape,
            lambda j: self.matrix[j] * self.scale,
            lambda k: self.matrix[:, k] * self.scale[k],
        )

    def stored(self, i: Indices) -> "StoredDesign":
        """Return the columns i as a matrix of their own."""
        return StoredDesign(
            self.matrix[:, i], self.rows, self.centers[i], self.kernel, self.scale[i]
        )


@dataclass(frozen=True, eq=False)
class ComputedDesign:
    """The matrix computed again whenever it is read, in pieces that fit the cache."""

    rows: Any
    centers: Any
    kernel: Kernel
    scale: Array

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.rows.shape[0], self.centers.shape[0]

    def columns(self, i: Indices) -> Array:
        """Return the columns i."""
        return self.stored(i).matrix

    def pull(self, v: Array) -> Array:
        """Return v'A."""
        return self.kernel.pull(v, self.rows, self.centers) / self.scale

    def distinct(self, i: Indices, count: int, alike: float) -> Indices:
        """Return the first `count` of the columns i whose centres lie apart."""
        return distinct_centers(self.centers, self.kernel, i, count, alike)

    def start(self) -> Array:
        """Return few columns that cover all rows, with equal shares."""
        return covering(self.rows, self.centers, self.kernel)

    def stored(self, i: Indices) -> StoredDesign:
        """Return the columns i as a matrix in memory."""
        return StoredDesign.of(self.rows, self.centers[i], self.kernel, self.scale[i])

    def computed(self, i: Indices) -> "ComputedDesign":
        """Return the columns i as a matrix that is not in memory either."""
        return ComputedDesign(self.rows, self.centers[i], self.kernel, self.scale[i])


def source_means(
    samples: TwoSamples, centers: Any, kernel: Kernel, relative: float = 0.0
) -> Array:
    """Return the scales b of the columns, never zero.

    With `relative` > 0 they are means over that share of target rows and source rows
    otherwise.
    """
    scale = kernel.pull(samples.source_share, samples.source, centers)
    if relative > 0.0:
        among = kernel.pull(samples.target_share, samples.target, centers)
        scale = (1.0 - relative) * scale + relative * among
    return np.maximum(scale, SMALLEST_SCALE)


def distinct_centers(
    centers: Any, kernel: Kernel, i: Indices, count: int, alike: float
) -> Indices:
    """Return the first `count` of the centres i, no two within the kernel's reach."""
    near = centers[i]
    if 0 < i.size <= CENTERS_AT_ONCE:
        among = kernel.matrix(near, near)
        return distinct(i, count, alike, lambda k: among[k])
    # As a rule the most promising ones do. The kernel is filled by blocks of rows, so
    # that those of the first block are the same to the bit whatever follows.
    first = near[:BLOCK_ROWS]
    found = distinct(
        i[:BLOCK_ROWS],
        count,
        alike,
        lambda k: kernel.matrix(first, first[[k]])[:, 0],
    )
    if found.size == count:
        return found
    return distinct(i, count, alike, lambda k: kernel.matrix(near, near[[k]])[:, 0])


def covering(rows: Any, centers: Any, kernel: Kernel) -> Array:
    """Return equal shares of few centres near which all rows lie.

    While a row is further than the kernel reaches from all chosen centres, the centre
    nearest to the worst such row joins. Where that takes too many, less reach must do.
    """
    return _few_that_cover(
        (rows.shape[0], centers.shape[0]),
        lambda j: kernel.matrix(rows[[j]], centers)[0],
        lambda k: kernel.matrix(rows, centers[[k]])[:, 0],
    )


def _few_that_cover(
    shape: tuple[int, int], row: Callable[[int], Array], column: Callable[[int], Array]
) -> Array:
    """Return the covering of a kernel that is known by its rows and columns."""
    x = np.zeros(shape[1])
    for reach in COVER_REACHES:
        chosen = _greedy_cover(np.zeros(shape[0]), row, column, reach)
        if len(chosen) <= MANY_ATOMS:
            break
    x[chosen] = 1.0 / len(chosen)
    return x


def _greedy_cover(
    cover: Array,
    row: Callable[[int], Array],
    column: Callable[[int], Array],
    reach: float,
) -> list[int]:
    """Return the chosen centres; at the last reach as many as it takes."""
    chosen: list[int] = []
    while True:
        worst = int(np.argmin(cover))
        if cover[worst] >= reach:
            return chosen
        near = int(np.argmax(row(worst)))
        if near in chosen:  # nothing reaches that row any better
            cover[worst] = np.inf
            continue
        chosen.append(near)
        np.maximum(cover, column(near), out=cover)
        if len(chosen) > MANY_ATOMS and reach != COVER_REACHES[-1]:
            return chosen
