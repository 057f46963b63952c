"""The matrix of KLIEP over target rows that are read block by block."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.engine import Blocks, map_reduce, whole_vector
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.distances import nearest_row
from counterpoise.numerics.kernel import Kernel
from counterpoise.weights.kliep.designs import SMALLEST_SCALE, distinct_centers

# A kernel below this reaches nothing.
LEAST_REACH = 1e-250


@dataclass(frozen=True, eq=False)
class BlockedDesign:
    """The matrix of which only a block of rows and few columns are ever there.

    A product is a pass over the target; vectors of a number a target row are kept.

    Attributes
    ----------
    rows : Blocks
        The target on scaled columns.
    centers : array of shape (k, d)
    kernel : Kernel
    scale : array of shape (k,)
        Means of the kernel over the source.
    """

    rows: Blocks
    centers: Array
    kernel: Kernel
    scale: Array

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.rows.n_rows, len(self.centers)

    def columns(self, i: Indices) -> "BlockedColumns":
        """Return the columns i, to be worked out in passes."""
        return BlockedColumns(self, np.asarray(i))

    def pull(self, v: Array) -> Array:
        """Return v'A."""
        return (
            map_reduce(self.rows, _KernelPull(self.kernel, self.centers, v))
            / self.scale
        )

    def distinct(self, i: Indices, count: int, alike: float) -> Indices:
        """Return the first `count` of the columns i whose centres lie apart."""
        return distinct_centers(self.centers, self.kernel, i, count, alike)

    def covering(self, x: Array) -> tuple[Array, Array]:
        """Return x with what it lacks to reach every row, and the shares of the rows.

        Rows that x gives next to nothing let their nearest centres join, with a
        thousandth together. A row that no centre reaches has no share.
        """
        used = np.flatnonzero(x)
        image = self.columns(used) @ x[used]
        share = np.full(image.size, 1.0 / image.size)
        poor = image < LEAST_REACH
        if not poor.any():
            return x, share
        near = whole_vector(self.rows, _Nearest(self, poor))
        share[poor] = np.where(near < 0, 0.0, share[poor])
        joining = np.unique(near[near >= 0])
        x = x.copy()
        x[joining] += 1e-3 / max(joining.size, 1)
        return x / x.sum(), share


@dataclass(frozen=True, eq=False)
class BlockedColumns:
    """Some columns of a `BlockedDesign`, as the corrective method uses them."""

    design: BlockedDesign
    places: Indices

    def __matmul__(self, shares: Array) -> Array:
        # Columns without a share cost time and add nothing.
        used = np.flatnonzero(shares)
        work = _KernelPush(*self._kernel(used), shares[used] / self._scale[used])
        return np.asarray(whole_vector(self.design.rows, work))

    def __getitem__(self, which: tuple[Any, Any]) -> "BlockedColumns":
        return BlockedColumns(self.design, self.places[which[1]])

    def beside(self, others: "BlockedColumns") -> "BlockedColumns":
        """Return these columns and then others."""
        return BlockedColumns(self.design, np.append(self.places, others.places))

    def moments(self, v: Array, bend: Array) -> tuple[Array, Array]:
        """Return v'C and C' diag(bend) C of these columns C, in one pass."""
        every = np.arange(self.places.size)
        work = _KernelMoments(*self._kernel(every), v, bend)
        pulled, squared = map_reduce(self.design.rows, work, _added)
        scale = self._scale
        return pulled / scale, squared / scale[:, None] / scale

    @property
    def _scale(self) -> Array:
        return self.design.scale[self.places]

    def _kernel(self, which: Indices) -> tuple[Kernel, Array]:
        return self.design.kernel, self.design.centers[self.places[which]]


def means_by_passes(
    source: Blocks, target: Blocks, centers: Array, kernel: Kernel, relative: float
) -> Array:
    """Return the scales that `source_means` has, of rows read block by block."""
    scale = map_reduce(source, _KernelMean(kernel, centers, source.n_rows))
    if relative > 0.0:
        among = map_reduce(target, _KernelMean(kernel, centers, target.n_rows))
        scale = (1.0 - relative) * scale + relative * among
    return np.maximum(scale, SMALLEST_SCALE)


@dataclass(frozen=True, eq=False)
class _Nearest:
    """The centre that reaches each of some rows best, -1 where none does."""

    design: BlockedDesign
    wanted: NDArray[np.bool_]

    def __call__(self, rows: Array, first: int) -> Indices:
        rows = rows[self.wanted[first : first + len(rows)]]
        if not len(rows):
            return np.empty(0, dtype=np.intp)
        kernel, centers = self.design.kernel, self.design.centers
        near = nearest_row(rows, centers)
        away = ((rows - centers[near]) ** 2).sum(axis=1)
        return np.where(np.exp(-kernel.gamma * away) < LEAST_REACH, -1, near)


@dataclass(frozen=True, eq=False)
class _KernelMean:
    kernel: Kernel
    centers: Array
    n_rows: int

    def __call__(self, rows: Array, first: int) -> Array:
        share = np.full(len(rows), 1.0 / self.n_rows)
        return self.kernel.pull(share, rows, self.centers)


@dataclass(frozen=True, eq=False)
class _KernelPull:
    kernel: Kernel
    centers: Array
    v: Array

    def __call__(self, rows: Array, first: int) -> Array:
        return self.kernel.pull(self.v[first : first + len(rows)], rows, self.centers)


@dataclass(frozen=True, eq=False)
class _KernelPush:
    kernel: Kernel
    centers: Array
    shares: Array

    def __call__(self, rows: Array, first: Any) -> Array:
        return self.kernel.push(rows, self.centers, self.shares)


@dataclass(frozen=True, eq=False)
class _KernelMoments:
    kernel: Kernel
    centers: Array
    v: Array
    bend: Array

    def __call__(self, rows: Array, first: int) -> tuple[Array, Array]:
        some = slice(first, first + len(rows))
        matrix = self.kernel.matrix(rows, self.centers)
        pulled = self.v[some] @ matrix
        matrix *= np.sqrt(self.bend[some])[:, None]
        return pulled, matrix.T @ matrix


def _added(
    earlier: tuple[Array, Array], later: tuple[Array, Array]
) -> tuple[Array, Array]:
    return earlier[0] + later[0], earlier[1] + later[1]
