"""Statistics of rows that are read block by block, as an objective uses them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.engine import Blocks, map_reduce, whole_vector
from counterpoise.numerics.arrays import Array

# Entries of a slice of statistics that is written out at a time.
SLICE_ENTRIES = 2**21


class BlockedStatistics:
    """A matrix of statistics, a row a source row, of which only blocks are ever there.

    It acts like the array in ``S @ v``, ``q @ S`` and `second_moment`; each is a pass
    over the blocks. Vectors of a number a row are kept in memory.

    Parameters
    ----------
    blocks : Blocks
        Rows on scaled columns.
    statistics : callable
        Makes the statistics of a block's rows; pickled.
    p : int
        How many statistics a row has.
    """

    # An array on the left leaves the product to this class.
    __array_ufunc__ = None

    def __init__(self, blocks: Blocks, statistics: Any, p: int) -> None:
        self.blocks, self.statistics = blocks, statistics
        self.shape = (blocks.n_rows, p)

    def __matmul__(self, v: Array) -> Array:
        return np.asarray(whole_vector(self.blocks, _Image(self.statistics, v)))

    def __rmatmul__(self, q: Array) -> Array:
        return map_reduce(self.blocks, _Pull(self.statistics, q))

    def second_moment(self, weights: Array, mean: Array) -> Array:
        """Return the weighted second moment about a mean, of shape (p, p)."""
        return map_reduce(self.blocks, _SecondMoment(self.statistics, weights, mean))


@dataclass(frozen=True, eq=False)
class _Image:
    statistics: Any
    v: Array

    def __call__(self, rows: Array, first: Any) -> Array:
        return np.asarray(self.statistics(rows) @ self.v)


@dataclass(frozen=True, eq=False)
class _Pull:
    statistics: Any
    q: Array

    def __call__(self, rows: Array, first: int) -> Array:
        return np.asarray(self.q[first : first + len(rows)] @ self.statistics(rows))


@dataclass(frozen=True, eq=False)
class _SecondMoment:
    statistics: Any
    weights: Array
    mean: Array

    def __call__(self, rows: Array, first: int) -> Array:
        S = self.statistics(rows)
        root = np.sqrt(self.weights[first : first + len(rows)])[:, None]
        p = self.mean.size
        out = np.zeros((p, p))
        step = max(SLICE_ENTRIES // p, 1)
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            spread = (S[part] - self.mean) * root[part]
            out += spread.T @ spread
        return out


@dataclass(frozen=True, eq=False)
class MeanStatistics:
    """A block's part of the mean statistics."""

    statistics: Any
    n_rows: int

    def __call__(self, rows: Array, first: int) -> Array:
        """Return a block's part."""
        share = np.full(len(rows), 1.0 / self.n_rows)
        return np.asarray(share @ self.statistics(rows))


@dataclass(frozen=True, eq=False)
class MeanOfPowers:
    """A block's part of the means of unscaled statistics, and of their squares."""

    standardization: Any
    n_rows: int

    def __call__(self, rows: Array, first: int) -> Array:
        """Return a block's part."""
        share = np.full(len(rows), 1.0 / self.n_rows)
        return np.stack(self.standardization.raw_means(rows, share))
