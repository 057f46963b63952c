"""Quantiles of columns whose rows count more or less, and where their bulk ends."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Array

# Rows are far out beyond this many times the distance within which this share lies.
FAR_REACHES, BULK_SHARE = 5.0, 0.9
# Entries that are put in order at a time.
ENTRIES_IN_ORDER = 2_000_000
# As many rows tell where the bulk of a column lies.
ROWS_TO_TELL_THE_BULK = 10_000


def pooled_middle_and_spread(values: Array, share: Array) -> tuple[float, float]:
    """Return the median and the distance of the quartiles of a column.

    Where the quartiles are equal, as in a column that is mostly zero, the spread is the
    median distance of the values that differ from the median: one for zeros and ones.
    A constant has the spread one.

    Parameters
    ----------
    values : array of shape (k,)
        The column in both samples, one after the other, without missing values.
    share : array of shape (k,)
        What a row counts; half of the whole in either sample.

    Examples
    --------
    >>> pooled_middle_and_spread(np.array([0.0, 0, 0, 0, 1]), np.full(5, 0.2))
    (0.0, 1.0)
    """
    middle = weighted_quantile(values, share, 0.5)
    low, high = (weighted_quantile(values, share, level) for level in (0.25, 0.75))
    if high > low:
        return middle, high - low
    differs = values != middle
    if not differs.any():
        return middle, 1.0
    away = np.abs(values[differs] - middle)
    return middle, weighted_quantile(away, share[differs], 0.5)


def weighted_quantile(values: Array, share: Array, level: float) -> float:
    """Return the smallest value up to which at least `level` of the share lies.

    Examples
    --------
    >>> weighted_quantile(np.array([3.0, 1.0, 2.0]), np.array([0.2, 0.4, 0.4]), 0.5)
    2.0
    """
    if share.size and (share == share[0]).all():
        place = int(_place(level, values.size))
        return float(np.partition(values, place)[place])
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(share[order])
    # Shares that should add up to the level may miss it by rounding.
    place = np.searchsorted(cumulative, level * cumulative[-1] * (1 - 1e-12))
    return float(values[order[min(int(place), values.size - 1)]])


def column_limits(samples: Iterable[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return ends of every column beyond which rows are far outside the bulk.

    Away from a sample's median by five times the distance within which nine tenths lie
    of those rows that differ from it: some eight standard deviations of a normal
    column. Of several samples the lowest median, the highest and the largest distance.

    Parameters
    ----------
    samples : pairs of arrays of shape (n, d) and (n,)
        Rows, and what each counts; shares sum to one. Of many rows every k-th is looked
        at, some 10,000.

    Examples
    --------
    >>> rows = np.append(np.arange(10.0), 1e6)[:, None]
    >>> column_limits([(rows, np.full(11, 1 / 11))])
    (array([-20.]), array([30.]))
    """
    lows, highs, reaches = [], [], []
    for all_rows, shares in samples:
        step = max(len(all_rows) // ROWS_TO_TELL_THE_BULK, 1)
        rows, share = all_rows[::step], shares[::step]
        middle, reach = _middles_and_reaches(rows, share)
        lows.append(middle)
        highs.append(middle)
        reaches.append(FAR_REACHES * reach)
    reach = np.max(reaches, axis=0)
    return np.min(lows, axis=0) - reach, np.max(highs, axis=0) + reach


def _place(level: float, count: Any) -> Any:
    """Return which of the ordered values up to which a level of as many rows lies."""
    return np.maximum(np.ceil(level * count * (1 - 1e-12)).astype(int) - 1, 0)


def _middles_and_reaches(rows: Array, share: Array) -> tuple[Array, Array]:
    """Return the medians, and the distances from them within which the bulk lies."""
    n, d = rows.shape
    middles, reaches = np.empty(d), np.zeros(d)
    alike = bool(share.size and (share == share[0]).all())
    step = max(ENTRIES_IN_ORDER // max(n, 1), 1)
    for first in range(0, d, step):
        block = slice(first, first + step)
        columns = np.ascontiguousarray(rows[:, block].T)
        found = _alike if alike else _weighted
        middles[block], reaches[block] = found(columns, share)
    return middles, reaches


def _alike(columns: Array, share: Array) -> tuple[Array, Array]:
    """Return medians and reaches of columns, a row of the array each."""
    d, n = columns.shape
    place = int(_place(0.5, n))
    # All in order takes less time than the one place would.
    middle = np.sort(columns, axis=1)[:, place]
    away = np.abs(columns - middle[:, None])
    differs = np.count_nonzero(away, axis=1)
    # What does not differ comes first.
    away.sort(axis=1)
    at = n - differs + _place(BULK_SHARE, differs)
    reach = away[np.arange(d), np.minimum(at, n - 1)]
    return middle, np.where(differs > 0, reach, 0.0)


def _weighted(columns: Array, share: Array) -> tuple[Array, Array]:
    """Return the same of rows that do not count alike."""
    d, n = columns.shape
    middle = _quantiles(columns, np.broadcast_to(share, (d, n)), 0.5)
    away = np.abs(columns - middle[:, None])
    differs = away > 0
    count = differs.sum(axis=1)
    counted = np.where(differs, share, 0.0)
    reach = _quantiles(away, counted, BULK_SHARE)
    # Of rows that differ and count alike the place is a matter of their number.
    least = np.where(differs, share, np.inf).min(axis=1)
    for j in np.flatnonzero((counted.max(axis=1) == least) & (count > 0)):
        reach[j] = weighted_quantile(away[j][differs[j]], share[differs[j]], BULK_SHARE)
    return middle, np.where(count > 0, reach, 0.0)


def _quantiles(values: Array, share: Array, level: float) -> Array:
    """Return `weighted_quantile` of every row of values, whose shares may be zero."""
    d, n = values.shape
    order = np.argsort(values, axis=1, kind="stable")
    cumulative = np.cumsum(np.take_along_axis(share, order, axis=1), axis=1)
    reached = level * cumulative[:, -1:] * (1 - 1e-12)
    place = np.minimum(np.count_nonzero(cumulative < reached, axis=1), n - 1)
    out: Array = values[np.arange(d), order[np.arange(d), place]]
    return out
