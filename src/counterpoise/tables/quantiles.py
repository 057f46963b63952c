"""Quantiles of columns whose rows count more or less."""

import numpy as np

from counterpoise.numerics.arrays import Array


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


def middles_and_reaches(rows: Array, share: Array, bulk: float) -> tuple[Array, Array]:
    """Return every column's median, and how far from it the bulk of its rows lies.

    The distance is that within which a share `bulk` lies of the rows that differ from
    the median; zero where none does.
    """
    middle, reach = np.array([_middle_and_reach(x, share, bulk) for x in rows.T]).T
    return middle, reach


def _middle_and_reach(values: Array, share: Array, bulk: float) -> tuple[float, float]:
    """Return the median and the distance from it within which the bulk lies."""
    middle = weighted_quantile(values, share, 0.5)
    away = np.abs(values - middle)
    differs = away > 0
    if not differs.any():
        return middle, 0.0
    return middle, weighted_quantile(away[differs], share[differs], bulk)
