"""Quantiles of columns whose rows count more or less, and where their bulk ends."""

from collections.abc import Iterable

import numpy as np

from counterpoise.numerics.arrays import Array

# Rows are far out beyond this many times the distance within which this share lies.
FAR_REACHES, BULK_SHARE = 5.0, 0.9
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
        place = int(np.ceil(level * values.size * (1 - 1e-12))) - 1
        return float(np.partition(values, max(place, 0))[max(place, 0)])
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
        middle, reach = np.array([_middle_and_reach(x, share) for x in rows.T]).T
        lows.append(middle)
        highs.append(middle)
        reaches.append(FAR_REACHES * reach)
    reach = np.max(reaches, axis=0)
    return np.min(lows, axis=0) - reach, np.max(highs, axis=0) + reach


def _middle_and_reach(values: Array, share: Array) -> tuple[float, float]:
    """Return the median and the distance from it within which the bulk lies."""
    middle = weighted_quantile(values, share, 0.5)
    away = np.abs(values - middle)
    differs = away > 0
    if not differs.any():
        return middle, 0.0
    return middle, weighted_quantile(away[differs], share[differs], BULK_SHARE)
