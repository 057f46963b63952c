"""Quantiles, bins and duplicates of table columns."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from math import floor, log10

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from counterpoise.data.frames import TableLike
from counterpoise.data.table import (
    CATEGORIES,
    DATES,
    NOTHING,
    ZONED_DATES,
    Table,
    TableColumn,
    joined,
)
from counterpoise.linalg.arrays import Array, Indices, row_keys

# -----------------------------------------------------------------------------
# The privacy floor: of groups so small nothing is told, so nobody is recognized.
# -----------------------------------------------------------------------------


# Of fewer rows than these nothing is told: no mean, no range, no category.
FEWEST_ROWS_REPORTED = 5


# -----------------------------------------------------------------------------
# Quantiles of columns whose rows count more or less, and where their bulk ends.
# -----------------------------------------------------------------------------


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
        place = max(int(np.ceil(level * values.size * (1 - 1e-12))) - 1, 0)
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
    middles, reaches = [], []
    for all_rows, shares in samples:
        step = max(len(all_rows) // ROWS_TO_TELL_THE_BULK, 1)
        columns = np.ascontiguousarray(all_rows[::step].T)
        found = np.array([_middle_and_reach(one, shares[::step]) for one in columns])
        middles.append(found[:, 0])
        reaches.append(FAR_REACHES * found[:, 1])
    reach = np.max(reaches, axis=0)
    return np.min(middles, axis=0) - reach, np.max(middles, axis=0) + reach


def _middle_and_reach(column: Array, share: Array) -> tuple[float, float]:
    """Return the median, and the distance from it within which the bulk lies."""
    middle = weighted_quantile(column, share, 0.5)
    away = np.abs(column - middle)
    differs = away > 0
    if not differs.any():
        return middle, 0.0
    return middle, weighted_quantile(away[differs], share[differs], BULK_SHARE)


# -----------------------------------------------------------------------------
# A column cut into a few parts that both samples share: ranges, values, categories.
# -----------------------------------------------------------------------------


# Rows of the smaller sample that make a range worth a line of its own.
ROWS_A_RANGE = 10
_DAY = 86_400.0

RANGE, VALUE, CATEGORY = "range", "value", "category"
MISSING, OTHERS = "missing", "others"


@dataclass(frozen=True)
class Part:
    """What the rows of one part have in common.

    Attributes
    ----------
    part : {"range", "value", "category", "missing", "others"}
    low, high : float or None
        Of a range: from `low` on, below `high`; None where it is open. Both are rounded
        quantiles, hardly any row's value. Dates in seconds since 1970.
    value : float or None
        Of a column that has few different ones.
    category : str or None
    """

    part: str
    low: float | None = None
    high: float | None = None
    value: float | None = None
    category: str | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the kind of part, and those of its attributes that say something."""
        ends = ("low", "high") if self.part == RANGE else ()
        told = asdict(self).items()
        return {key: one for key, one in told if one is not None or key in ends}


@dataclass(frozen=True, eq=False)
class Parts:
    """A column of both samples in parts.

    Attributes
    ----------
    parts : tuple of Part
    source, target : integer array of shape (n,), (m,)
        For every row the place of its part.
    """

    parts: tuple[Part, ...]
    source: Indices = field(repr=False)
    target: Indices = field(repr=False)

    def shares(self, share: Array, *, of_target: bool = False) -> Array:
        """Return what the rows of each part count together."""
        places = self.target if of_target else self.source
        return np.bincount(places, share, minlength=len(self.parts)).astype(np.float64)


def cut_column(
    source: TableColumn,
    target: TableColumn,
    share: Array,
    target_share: Array,
    *,
    most: int,
    half: float = 0.5,
) -> Parts:
    """Return the parts of a column.

    Numbers, dates and durations are cut at quantiles of both samples together, or, with
    no more than `most` different values, by value. Categories stand by name, the
    commonest first. What fewer than five rows have is among the others.

    Parameters
    ----------
    source, target : TableColumn
    share, target_share : array of shape (n,), (m,)
        What a row counts in a mean over its sample; they sum to one.
    most : int
        Parts at most, beside those of missing values and of the others.
    half : float
        What the target counts in quantiles and in the order of the categories, beside
        the source.

    Examples
    --------
    >>> x = TableColumn("x", "numbers", np.arange(100.0))
    >>> t = TableColumn("x", "numbers", np.arange(100.0) + 50)
    >>> even = np.full(100, 0.01)
    >>> [part.high for part in cut_column(x, t, even, even, most=3).parts]
    [58.0, 91.0, None]
    """
    both = joined([source, target])
    mass = np.concatenate([(1 - half) * share, half * target_share])
    missing = both.missing
    parts: list[Part] = []
    places: Indices = np.zeros(missing.size, dtype=np.intp)
    if both.kind == NOTHING or missing.all():
        pass
    elif both.kind == CATEGORIES:
        parts, places = _by_category(both, mass, most)
    else:
        smaller = min(share.size, target_share.size)
        most = min(most, max(smaller // ROWS_A_RANGE, 2))
        parts, places = _by_number(both, mass, missing, most)
    if missing.any():
        places = np.where(missing, len(parts), places)
        parts = [*parts, Part(MISSING)]
    return Parts(tuple(parts), *np.split(places.astype(np.intp), [share.size]))


def _by_category(
    column: TableColumn, mass: Array, most: int
) -> tuple[list[Part], Indices]:
    there = column.values[~column.missing]
    k = len(column.categories)
    shares = np.bincount(there, mass[~column.missing], minlength=k)
    rows = np.bincount(there, minlength=k)
    order = np.argsort(-shares, kind="stable")
    named = [j for j in order if rows[j] >= FEWEST_ROWS_REPORTED][:most]
    parts = [Part(CATEGORY, category=column.categories[j]) for j in named]
    return _named(column.values, rows, np.array(named, dtype=np.intp), parts)


def _by_number(
    column: TableColumn, mass: Array, missing: NDArray[np.bool_], most: int
) -> tuple[list[Part], Indices]:
    values, codes, rows = np.unique(
        column.values[~missing], return_inverse=True, return_counts=True
    )
    if values.size <= most:
        named = np.flatnonzero(rows >= FEWEST_ROWS_REPORTED)
        # What was scaled and scaled back is told without the rounding.
        parts = [Part(VALUE, value=float(f"{values[j]:.12g}")) for j in named]
        places = np.full(missing.size, -1)
        places[~missing] = codes
        return _named(places, rows, named, parts)
    sums = np.cumsum(np.bincount(codes, mass[~missing]))
    edges = _edges(column.kind, values, sums / sums[-1], most)
    ends = [None, *edges, None]
    parts = [Part(RANGE, low, high) for low, high in pairwise(ends)]
    return parts, np.searchsorted(edges, column.values, side="right")


def _named(
    codes: Indices, rows: Indices, named: Indices, parts: list[Part]
) -> tuple[list[Part], Indices]:
    """Return parts with one for all that has no name, and every row's place."""
    place = np.full(rows.size + 1, len(parts))
    place[named] = np.arange(len(parts))
    if np.count_nonzero(rows) > len(parts):
        parts = [*parts, Part(OTHERS)]
    # The last entry is what the place -1 of a missing value points at.
    return parts, place[codes]


def _edges(kind: str, values: Array, up_to: Array, most: int) -> list[float]:
    """Return rounded quantiles of ascending values, given the share up to each."""
    levels = np.arange(1, most) / most
    # Shares that should add up to a level may miss it by rounding.
    found = values[np.searchsorted(up_to, levels * (1 - 1e-12))]
    digits = _digits(kind, float(found[-1] - found[0]))
    rounded = {_rounded(float(edge), digits) for edge in found}
    edges = sorted(edge for edge in rounded if values[0] < edge <= values[-1])
    # Where most rows have the least value, it is told from all above it.
    return edges or [float(values[0] + values[1]) / 2]


def _digits(kind: str, span: float) -> int | None:
    """Return how many decimals tell edges apart; None: whole days."""
    if kind in (DATES, ZONED_DATES) and span > 20 * _DAY:
        return None
    return 2 - floor(log10(span)) if span > 0 else 6


def _rounded(edge: float, digits: int | None) -> float:
    return round(edge / _DAY) * _DAY if digits is None else round(edge, digits)


# -----------------------------------------------------------------------------
# How many rows of a table repeat an earlier one.
# -----------------------------------------------------------------------------


# Rows whose keys are made at a time.
_AT_ONCE = 65_536


def duplicate_rows(X: TableLike) -> int:
    r"""Return how many rows equal one before them in every column.

    Rows are compared by hashes of 64 bits, so that a million different rows count one
    too many with a chance of :math:`10^{12} / 2^{65}`; missing values are alike, and
    so are zero and negative zero.

    Parameters
    ----------
    X : array-like, frame, sparse matrix, or Table, of shape (n, d)

    Examples
    --------
    >>> duplicate_rows([[1.0, "a"], [2.0, "a"], [1.0, "a"], [1.0, "a"]])
    2
    """
    rows = X.tocsr() if sparse.issparse(X) else Table.of(X).matrix()
    hashes: set[int] = set()
    for first in range(0, rows.shape[0], _AT_ONCE):
        block = rows[first : first + _AT_ONCE]
        if not sparse.issparse(block):
            # There are many ways to write NaN.
            block = np.where(np.isnan(block), np.nan, block)
        hashes.update(map(hash, row_keys(block)))
    return int(rows.shape[0] - len(hashes))
