"""Centres of kernels: the target rows, or few that stand for them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from counterpoise.engine import Blocks, current_budget, map_reduce
from counterpoise.engine.sampling import keys_of_places
from counterpoise.numerics.arrays import Array
from counterpoise.samples.ordering import canonical_order
from counterpoise.samples.two_samples import TwoSamples

# Centres where all target rows are too many, and rows that k-means looks at for each.
CENTERS_AT_MOST, ROWS_A_CENTER = 2000, 10


def all_or_few(samples: TwoSamples, n_centers: int | str | None, seed: int) -> Any:
    """Return the centres: all target rows, or k-means centres of them.

    "auto" takes all while the kernel between them fits the memory budget.
    """
    m = samples.target.shape[0]
    if n_centers == "auto":
        n_centers = None if 8 * m * m <= current_budget() else CENTERS_AT_MOST
    if n_centers is None or int(n_centers) >= m:
        return samples.target
    return k_means_centers(samples, int(n_centers), seed)


def k_means_centers(samples: TwoSamples, k: int, seed: int) -> Any:
    """Return k-means centres of the target, of a part of it where that is large.

    The part is drawn by what the rows hold (`keys_of_rows`), so that the same rows are
    drawn in whatever order, and in whatever blocks, they come.
    """
    rows, share = samples.target, samples.target_share
    most = ROWS_A_CENTER * k
    if rows.shape[0] > most:
        some = np.sort(np.argsort(keys_of_rows(rows, seed), kind="stable")[:most])
        rows, share = rows[some], share[some]
    return centers_of(rows, share, k, seed)


def centers_of(rows: Any, share: Array, k: int, seed: int) -> Any:
    """Return k-means centres of rows that count by their shares, from random ones."""
    from sklearn.cluster import KMeans

    means = KMeans(k, init="random", n_init=1, max_iter=10, random_state=seed % 2**32)
    with_shares = means.fit(rows, sample_weight=share * rows.shape[0])
    centers = with_shares.cluster_centers_
    return sparse.csr_array(centers) if sparse.issparse(rows) else centers


def keys_of_rows(rows: Any, seed: int) -> NDArray[np.uint64]:
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
    """Return the centres that `k_means_centers` finds, of rows read block by block."""
    most = ROWS_A_CENTER * k
    keyed = map_reduce(target, _Keyed(most, seed), _Smallest(most))
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


@dataclass(frozen=True)
class _Keyed:
    most: int
    seed: int

    def __call__(self, rows: Array, first: int) -> _KeyedRows:
        keys = keys_of_rows(rows, self.seed)
        return _KeyedRows(keys, rows, np.ones(len(rows))).smallest(self.most)


@dataclass(frozen=True)
class _Smallest:
    most: int

    def __call__(self, earlier: _KeyedRows, later: _KeyedRows) -> _KeyedRows:
        return _KeyedRows(
            np.concatenate([earlier.keys, later.keys]),
            np.vstack([earlier.rows, later.rows]),
            np.concatenate([earlier.counts, later.counts]),
        ).smallest(self.most)
