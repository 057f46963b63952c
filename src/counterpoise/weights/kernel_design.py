"""Kernel centers and design matrices, in memory, low rank or in blocks."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from counterpoise.data.arrays import Matrix
from counterpoise.data.blocks import Blocks, keys_of_places
from counterpoise.data.parallel import current_budget, map_reduce, whole_vector
from counterpoise.data.two_samples import TwoSamples, canonical_order, some_rows
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.cholesky import nystrom_map, pivoted_cholesky
from counterpoise.linalg.kernels import BLOCK_ROWS, Kernel, nearest_row
from counterpoise.optim.objectives import distinct

# -----------------------------------------------------------------------------
# Centers of kernels: the target rows, or few that stand for them.
# -----------------------------------------------------------------------------


# Centers where all target rows are too many, and rows that k-means looks at for each.
CENTERS_AT_MOST, ROWS_A_CENTER = 2000, 10


def choose_centers(
    samples: TwoSamples, n_centers: int | str | None, seed: int
) -> Matrix:
    """Return the centers: all target rows, or k-means centers of them.

    "auto" takes all while the kernel between them fits the memory budget.
    """
    m = samples.target.shape[0]
    if n_centers == "auto":
        n_centers = None if 8 * m * m <= current_budget() else CENTERS_AT_MOST
    if n_centers is None or int(n_centers) >= m:
        return samples.target
    return k_means_centers(samples, int(n_centers), seed)


def k_means_centers(samples: TwoSamples, k: int, seed: int) -> Matrix:
    """Return k-means centers of the target, of a part of it where that is large.

    The part is drawn by what the rows hold (`keys_of_rows`), so that the same rows are
    drawn in whatever order, and in whatever blocks, they come.
    """
    rows, share = samples.target, samples.target_share
    most = ROWS_A_CENTER * k
    if rows.shape[0] > most:
        some = np.sort(np.argsort(keys_of_rows(rows, seed), kind="stable")[:most])
        rows, share = rows[some], share[some]
    return centers_of(rows, share, k, seed)


def centers_of(rows: Matrix, share: Array, k: int, seed: int) -> Matrix:
    """Return k-means centers of rows that count by their shares, from random ones."""
    from sklearn.cluster import KMeans

    means = KMeans(k, init="random", n_init=1, max_iter=10, random_state=seed % 2**32)
    with_shares = means.fit(rows, sample_weight=share * rows.shape[0])
    centers = with_shares.cluster_centers_
    return sparse.csr_array(centers) if sparse.issparse(rows) else centers


def keys_of_rows(rows: Matrix, seed: int) -> NDArray[np.uint64]:
    """Return a key for every row, as good as random, made of what it holds.

    Entries are rounded to 2^-20 of their column's scale first: the same row scaled by
    sums that were added up in another order has the same key.

    Examples
    --------
    >>> rows = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    >>> keys = keys_of_rows(rows, 0)
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    if sparse.issparse(rows):
        # One number a row, as `canonical_order` has it.
        rows = np.asarray(rows @ np.sin(np.arange(1.0, rows.shape[1] + 1.0)))[:, None]
    grid = np.clip(np.rint(np.asarray(rows) * 2.0**20), -(2.0**62), 2.0**62)
    keys = np.zeros(len(grid), dtype=np.int64)
    for column in grid.astype(np.int64).T:
        keys = keys_of_places(keys ^ column, seed).view(np.int64)
    return keys.view(np.uint64)


def centers_of_blocks(target: Blocks, k: int, seed: int) -> Array:
    """Return the centers that `k_means_centers` finds, of rows read block by block."""
    most = ROWS_A_CENTER * k
    work = partial(_smallest_of_block, most, seed)
    keyed = map_reduce(target, work, partial(_smallest_of_both, most))
    share = keyed.counts / target.n_rows
    order = canonical_order(keyed.rows, share)
    rows = keyed.rows[order]
    if len(rows) <= k:
        return rows
    centers: Array = centers_of(rows, share[order], k, seed)
    return centers


@dataclass(frozen=True, eq=False)
class _KeyedRows:
    """Different rows with their keys, and how often each was met."""

    keys: NDArray[np.uint64]
    rows: Array
    counts: Array

    def smallest(self, most: int) -> "_KeyedRows":
        """Return the rows of the smallest keys, equal ones made one."""
        keys, places, inverse = np.unique(
            self.keys, return_index=True, return_inverse=True
        )
        counts = np.bincount(inverse.ravel(), weights=self.counts).astype(np.float64)
        return _KeyedRows(keys[:most], self.rows[places[:most]], counts[:most])


def _smallest_of_block(most: int, seed: int, rows: Array, first: int) -> _KeyedRows:
    keys = keys_of_rows(rows, seed)
    return _KeyedRows(keys, rows, np.ones(len(rows))).smallest(most)


def _smallest_of_both(most: int, earlier: _KeyedRows, later: _KeyedRows) -> _KeyedRows:
    return _KeyedRows(
        np.concatenate([earlier.keys, later.keys]),
        np.vstack([earlier.rows, later.rows]),
        np.concatenate([earlier.counts, later.counts]),
    ).smallest(most)


# -----------------------------------------------------------------------------
# The matrices of KLIEP: Gaussian kernels between target rows and centers, scaled.
#
# Column l is :math:`k(t_j, c_l) / b_l` with :math:`b_l` the mean of the kernel over
# the
# source rows, so that a mixture of columns is a density ratio of mean one.
# -----------------------------------------------------------------------------


# A mean of the kernel over the source is not taken below this.
SMALLEST_SCALE = 1e-150
# A start may have this many atoms before it is content with covering less.
MANY_ATOMS = 300
COVER_REACHES = (1e-3, 1e-30, 1e-250)
# The kernel between so many candidates is made in one piece.
CENTERS_AT_ONCE = 500


@dataclass(frozen=True, eq=False)
class KernelDesign:
    """The scaled kernel between target rows and centers, by columns and products."""

    rows: Matrix
    centers: Matrix
    kernel: Kernel
    scale: Array

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.rows.shape[0], self.centers.shape[0]

    def columns(self, i: Indices) -> Array:
        """Return the columns i."""
        return self.stored(i).matrix

    def distinct(self, i: Indices, count: int, alike: float) -> Indices:
        """Return the first `count` of the columns i whose centers lie apart."""
        return distinct_centers(self.centers, self.kernel, i, count, alike)

    def start(self) -> Array:
        """Return few columns that cover all rows, with equal shares."""
        return covering(self.rows, self.centers, self.kernel)

    def stored(self, i: Indices) -> "StoredDesign":
        """Return the columns i as a matrix in memory."""
        return StoredDesign.of(self.rows, self.centers[i], self.kernel, self.scale[i])


@dataclass(frozen=True, eq=False)
class StoredDesign(KernelDesign):
    """The matrix in memory, columns contiguous."""

    matrix: Array

    @classmethod
    def of(
        cls, rows: Matrix, centers: Matrix, kernel: Kernel, scale: Array
    ) -> "StoredDesign":
        """Return the matrix for rows, centers and the scales of the columns."""
        transposed = kernel.matrix(centers, rows)
        transposed /= scale[:, None]
        return cls(rows, centers, kernel, scale, transposed.T)

    def columns(self, i: Indices) -> Array:
        """Return the columns i."""
        return self.matrix[:, i]

    def pull(self, v: Array) -> Array:
        """Return v'A."""
        return v @ self.matrix

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
            self.rows, self.centers[i], self.kernel, self.scale[i], self.matrix[:, i]
        )


@dataclass(frozen=True, eq=False)
class ComputedDesign(KernelDesign):
    """The matrix computed again whenever it is read, in pieces that fit the cache."""

    def pull(self, v: Array) -> Array:
        """Return v'A."""
        return self.kernel.pull(v, self.rows, self.centers) / self.scale

    def computed(self, i: Indices) -> "ComputedDesign":
        """Return the columns i as a matrix that is not in memory either."""
        return ComputedDesign(self.rows, self.centers[i], self.kernel, self.scale[i])


def source_means(
    samples: TwoSamples, centers: Matrix, kernel: Kernel, relative: float = 0.0
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
    centers: Matrix, kernel: Kernel, i: Indices, count: int, alike: float
) -> Indices:
    """Return the first `count` of the centers i, no two within the kernel's reach."""
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


def covering(rows: Matrix, centers: Matrix, kernel: Kernel) -> Array:
    """Return equal shares of few centers near which all rows lie.

    While a row is further than the kernel reaches from all chosen centers, the center
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
    """Return the chosen centers; at the last reach as many as it takes."""
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


# -----------------------------------------------------------------------------
# KLIEP's matrix for very many centers, where the kernel has low rank.
# -----------------------------------------------------------------------------


# Fewer target rows than this are handled as fast by their stored kernel.
FEWEST_FACTORED = 3000
# Residual of the factor: its square root bounds the error of a kernel entry.
PIVOT_TOL = 1e-12
LARGEST_DESIGN_RANK = 300
# Rows that stand for a sample while the rank is tried out and the source is looked at.
ROWS_TRIED = 2048
ROWS_MAPPED = 16384


@dataclass(frozen=True, eq=False)
class LowRankDesign(KernelDesign):
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
    relative: float
    factor: Array
    root: Array
    least_scale: Array
    exact: NDArray[np.bool_]

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
        some = np.vstack([some_rows(target, ROWS_TRIED), some_rows(source, ROWS_TRIED)])
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
        both = np.vstack([target, some_rows(source, ROWS_TRIED)])
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
        return cls(
            target,
            target,
            kernel,
            scale,
            samples,
            relative,
            factor,
            root,
            least,
            exact,
        )

    def pull(self, v: Array) -> Array:
        """Return an upper bound of v'A."""
        through = (self.factor @ v) @ self.factor
        through += self.root * float(self.root @ v)
        through /= self.least_scale
        return through

    def stored(self, i: Indices) -> StoredDesign:
        """Return the columns i, with exact scales, as a matrix in memory."""
        new = i[~self.exact[i]]
        if new.size:
            centers = self.centers[new]
            exact = source_means(self.samples, centers, self.kernel, self.relative)
            self.scale[new] = self.least_scale[new] = exact
            self.exact[new] = True
        return super().stored(i)


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


# -----------------------------------------------------------------------------
# The matrix of KLIEP over target rows that are read block by block.
# -----------------------------------------------------------------------------


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
        work = partial(_pull_block, self.kernel, self.centers, v)
        return map_reduce(self.rows, work) / self.scale

    def distinct(self, i: Indices, count: int, alike: float) -> Indices:
        """Return the first `count` of the columns i whose centers lie apart."""
        return distinct_centers(self.centers, self.kernel, i, count, alike)

    def covering(self, x: Array) -> tuple[Array, Array]:
        """Return x with what it lacks to reach every row, and the shares of the rows.

        Rows that x gives next to nothing let their nearest centers join, with a
        thousandth together. A row that no center reaches has no share.
        """
        used = np.flatnonzero(x)
        image = self.columns(used) @ x[used]
        share = np.full(image.size, 1.0 / image.size)
        poor = image < LEAST_REACH
        if not poor.any():
            return x, share
        near = whole_vector(
            self.rows, partial(_nearest_of_block, self.kernel, self.centers, poor)
        )
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
        shares = shares[used] / self._scale[used]
        work = partial(_push_block, *self._kernel(used), shares)
        return np.asarray(whole_vector(self.design.rows, work))

    def __getitem__(self, which: tuple[slice, Indices]) -> "BlockedColumns":
        return BlockedColumns(self.design, self.places[which[1]])

    def beside(self, others: "BlockedColumns") -> "BlockedColumns":
        """Return these columns and then others."""
        return BlockedColumns(self.design, np.append(self.places, others.places))

    def moments(self, v: Array, bend: Array) -> tuple[Array, Array]:
        """Return v'C and C' diag(bend) C of these columns C, in one pass."""
        every = np.arange(self.places.size)
        work = partial(_moments_of_block, *self._kernel(every), v, bend)
        pulled, squared = map_reduce(self.design.rows, work, sum_of_pairs)
        scale = self._scale
        return pulled / scale, squared / scale[:, None] / scale

    @property
    def _scale(self) -> Array:
        return self.design.scale[self.places]

    def _kernel(self, which: Indices) -> tuple[Kernel, Array]:
        return self.design.kernel, self.design.centers[self.places[which]]


def means_of_blocks(
    source: Blocks, target: Blocks, centers: Array, kernel: Kernel, relative: float
) -> Array:
    """Return the scales that `source_means` has, of rows read block by block."""
    scale = _mean_of_blocks(source, kernel, centers)
    if relative > 0.0:
        among = _mean_of_blocks(target, kernel, centers)
        scale = (1.0 - relative) * scale + relative * among
    return np.maximum(scale, SMALLEST_SCALE)


def _mean_of_blocks(blocks: Blocks, kernel: Kernel, centers: Array) -> Array:
    work = partial(_mean_of_block, kernel, centers, blocks.n_rows)
    return map_reduce(blocks, work)


def _nearest_of_block(
    kernel: Kernel, centers: Array, wanted: NDArray[np.bool_], rows: Array, first: int
) -> Indices:
    """Return the center that reaches each wanted row best, -1 where none does."""
    rows = rows[wanted[first : first + len(rows)]]
    if not len(rows):
        return np.empty(0, dtype=np.intp)
    near = nearest_row(rows, centers)
    away = ((rows - centers[near]) ** 2).sum(axis=1)
    return np.where(np.exp(-kernel.gamma * away) < LEAST_REACH, -1, near)


def _mean_of_block(
    kernel: Kernel, centers: Array, n_rows: int, rows: Array, first: int
) -> Array:
    return kernel.pull(np.full(len(rows), 1.0 / n_rows), rows, centers)


def _pull_block(
    kernel: Kernel, centers: Array, v: Array, rows: Array, first: int
) -> Array:
    return kernel.pull(v[first : first + len(rows)], rows, centers)


def _push_block(
    kernel: Kernel, centers: Array, shares: Array, rows: Array, first: int
) -> Array:
    return kernel.push(rows, centers, shares)


def _moments_of_block(
    kernel: Kernel, centers: Array, v: Array, bend: Array, rows: Array, first: int
) -> tuple[Array, Array]:
    some = slice(first, first + len(rows))
    matrix = kernel.matrix(rows, centers)
    pulled = v[some] @ matrix
    matrix *= np.sqrt(bend[some])[:, None]
    return pulled, matrix.T @ matrix


def sum_of_pairs(
    earlier: tuple[Array, Array], later: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Return the sums of the first and of the second parts."""
    return earlier[0] + later[0], earlier[1] + later[1]
