"""Rounding and spelling that differ between the samples."""

import unicodedata
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from counterpoise.data.columns import FEWEST_ROWS_TOLD, weighted_quantile
from counterpoise.data.table import CATEGORIES, Table, TableColumn
from counterpoise.data.two_samples import TwoSamples, content
from counterpoise.linalg.arrays import Array, Indices

# -----------------------------------------------------------------------------
# Columns that two samples record to different digits, compared as if they did not.
# -----------------------------------------------------------------------------


# From how many different values on a column is one of numbers, not of levels.
_MANY_VALUES = 9
# The part of a sample's rows whose value the other has nowhere, and by how much wider
# the finest gaps between the values of one sample are.
_OWN_VALUES, _WIDER = 0.5, 2.0
# The finest gap is this quantile, and the median gap of a grid is within this of it.
_FINEST, _OF_A_GRID = 0.05, 1.5
# So many values of a grid come more than once.
_REPEATED = 3
# Multiples of the golden ratio fall evenly, wherever they begin.
_GOLDEN = (np.sqrt(5) - 1) / 2


def off_grids(samples: TwoSamples) -> TwoSamples:
    r"""Return rows whose rounded values are spread over what they were rounded from.

    A column that is rounded in one sample alone, or to another unit, has no value in
    common with the other sample, though each lies among its values: ages in years
    beside ages with decimals. Trees and neighbourhoods would call that another place.
    In the columns of `recorded_apart` the c different rows of a sample that have its
    value :math:`v_k` are put at

    .. math:: l_k + (h_k - l_k) u_i, \quad u_i = (i\, \varphi \bmod 1), \quad
        l_k = \frac{v_{k-1} + v_k}{2}, \; h_k = \frac{v_k + v_{k+1}}{2}

    for i = 1..c in canonical order, :math:`\varphi` the golden ratio; no gap counts for
    more than the median gap, beyond its ends a sample reaches no farther than the
    other, and a value that one row has stays as it is. Equal rows stay equal.

    Parameters
    ----------
    samples : TwoSamples
        In canonical order.
    """
    apart = recorded_apart(samples)
    if not apart.any():
        return samples
    rows = samples.source.copy(), samples.target.copy()
    others = samples.target, samples.source
    for one, other in zip(rows, others, strict=True):
        number = content(one)
        first = np.unique(number, return_index=True)[1]
        for j in np.flatnonzero(apart):
            ends = float(other[:, j].min()), float(other[:, j].max())
            one[:, j] = _spread(one[first, j], *ends)[number]
    return samples.with_rows(*rows)


def recorded_apart(samples: TwoSamples) -> NDArray[np.bool_]:
    r"""Return which columns the two samples record to different digits.

    Those of nine different values or more of which at least half of the rows of one
    sample have a value that no row of the other has, while the finest gap between
    neighbouring values (their 5 % quantile) is twice as wide in one sample as in the
    other, and that sample is on a grid: three of its values repeat, and its median gap
    is at most 1.5 times its finest. The median of either lies within the other's range.
    Of sparse matrices none.

    Parameters
    ----------
    samples : TwoSamples

    Examples
    --------
    >>> years = np.repeat(np.arange(20.0, 60.0), 5)
    >>> exact = 20 + 0.2 * np.arange(200) + 0.07
    >>> even, odd = 2.0 * (years // 2), 2.0 * (years // 2) + 1
    >>> two = TwoSamples.of(np.c_[years, even], np.c_[exact, odd])
    >>> recorded_apart(two)
    array([ True, False])
    """
    found = np.zeros(samples.source.shape[1], dtype=bool)
    if sparse.issparse(samples.source) or sparse.issparse(samples.target):
        return found
    shares = samples.source_share, samples.target_share
    if min(one.size for one in shares) < 2:
        return found
    # All columns at once: few of many are left to look at one by one.
    for j in np.flatnonzero(_has_a_coarser_grid(samples.source, samples.target)):
        found[j] = _is_apart(samples.source[:, j], samples.target[:, j], *shares)
    return found


def _has_a_coarser_grid(source: Array, target: Array) -> NDArray[np.bool_]:
    """Return in which columns a sample is on a grid, and on a coarser than the other.

    Not where a sample has one value alone.
    """
    repeats, fine, middle = map(
        np.stack, zip(*(_gaps(X) for X in (source, target)), strict=True)
    )
    at = np.arange(source.shape[1])
    wide = np.where(fine[0] > fine[1], 0, 1)
    is_grid = middle[wide, at] <= _OF_A_GRID * fine[wide, at]
    coarser = fine[wide, at] >= _WIDER * fine[1 - wide, at] * (1 - 1e-9)
    found: NDArray[np.bool_] = repeats[wide, at] & is_grid & coarser
    return found


def _gaps(X: Array) -> tuple[NDArray[np.bool_], Array, Array]:
    """Return of every column whether values repeat, its finest and its median gap.

    Gaps of a column of one value are no numbers.
    """
    gaps = np.diff(np.sort(np.ascontiguousarray(X.T), axis=1), axis=1)
    again = gaps == 0
    first_again = again.copy()
    first_again[:, 1:] &= ~again[:, :-1]
    repeats = np.count_nonzero(first_again, axis=1) >= _REPEATED
    n_gaps = np.count_nonzero(~again, axis=1)
    gaps[again] = np.inf
    gaps.sort(axis=1)
    return repeats, _among_first(gaps, n_gaps, _FINEST), _among_first(gaps, n_gaps, 0.5)


def _among_first(ordered: Array, sizes: Indices, q: float) -> Array:
    """Return a quantile of the first entries of rows in order, by lines between."""
    place = q * np.maximum(sizes - 1, 0)
    low = place.astype(np.intp)
    at = np.arange(sizes.size)
    below = ordered[at, low]
    above = ordered[at, np.minimum(low + 1, np.maximum(sizes - 1, 0))]
    with np.errstate(invalid="ignore"):
        found: Array = below + (place - low) * (above - below)
    return np.where(sizes > 0, found, np.nan)


def _is_apart(x: Array, t: Array, share: Array, target_share: Array) -> bool:
    """Return whether values of a column, one on a grid, have no place in common."""
    values, values_target = np.unique(x), np.unique(t)
    both = np.intersect1d(values, values_target, assume_unique=True)
    if values.size + values_target.size - both.size < _MANY_VALUES:
        return False
    own = share[~np.isin(x, both)].sum(), target_share[~np.isin(t, both)].sum()
    if max(own) < _OWN_VALUES - 1e-9:
        return False
    middle, middle_target = (
        weighted_quantile(one, of_one, 0.5)
        for one, of_one in ((x, share), (t, target_share))
    )
    within = t.min() <= middle <= t.max() and x.min() <= middle_target <= x.max()
    return bool(within)


def _spread(column: Array, low_end: float, high_end: float) -> Array:
    """Return values that repeat spread over the places nearer to them than others."""
    values, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    gaps = np.diff(values)
    gaps = np.minimum(gaps, np.median(gaps))
    low = values - np.concatenate([gaps[:1], gaps]) / 2
    high = values + np.concatenate([gaps, gaps[-1:]]) / 2
    low[0] = min(max(low[0], low_end), values[0])
    high[-1] = max(min(high[-1], high_end), values[-1])
    order = np.argsort(place, kind="stable")
    turn: Indices = np.empty(place.size, dtype=np.intp)
    turn[order] = np.arange(place.size) - np.repeat(np.cumsum(counts) - counts, counts)
    part = (turn + 1) * _GOLDEN % 1.0
    spread: Array = low[place] + (high - low)[place] * part
    return np.where(counts[place] > 1, spread, column)


# -----------------------------------------------------------------------------
# Categories of the target that are the source's, spelled otherwise.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Spelling:
    """A category of the target that the source has in another spelling.

    Attributes
    ----------
    column : str
    target, source : str
        How either spells it.
    share : float
        Of the target rows, those that have it.
    """

    column: str
    target: str
    source: str
    share: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        return asdict(self)


def spelled_otherwise(
    source: Table, target: Table, target_share: Array
) -> tuple[Spelling, ...]:
    """Return the categories that are spelled otherwise, the commonest first.

    Those that five target rows have and no source row, while five source rows have one
    that is `folded` to the same; of several such the commonest. To every model they are
    different categories.

    Parameters
    ----------
    source, target : Table
        Rows that count.
    target_share : array of shape (m,)
        What the target rows count, of sum one.
    """
    found: list[Spelling] = []
    for one, other in zip(source.columns, target.columns, strict=True):
        if one.kind == other.kind == CATEGORIES:
            found += spelled_in_column(one, other, target_share)
    return tuple(sorted(found, key=lambda one: -one.share))


def folded(category: str) -> str:
    """Return a category without what people spell in more than one way.

    That is case, spaces around it or several in it, a final .0, and characters that
    Unicode has twice.

    Examples
    --------
    >>> folded(" Yes "), folded("10.0"), folded("New  York")
    ('yes', '10', 'new york')
    """
    plain = unicodedata.normalize("NFKC", category).casefold()
    return " ".join(plain.split()).removesuffix(".0")


def spelled_in_column(
    source: TableColumn, target: TableColumn, target_share: Array
) -> list[Spelling]:
    """Return those of one column of categories, as `spelled_otherwise`."""
    rows, rows_target = _rows_of(source), _rows_of(target)
    share = np.bincount(
        target.values[~target.missing],
        target_share[~target.missing],
        len(target.categories),
    )
    known: dict[str, str] = {}
    for k in np.argsort(-rows, kind="stable"):
        if rows[k] >= FEWEST_ROWS_TOLD:
            known.setdefault(folded(source.categories[k]), source.categories[k])
    there = {c for c, n in zip(source.categories, rows, strict=True) if n}
    return [
        Spelling(source.name, category, known[folded(category)], float(part))
        for category, n, part in zip(target.categories, rows_target, share, strict=True)
        if n >= FEWEST_ROWS_TOLD and category not in there and folded(category) in known
    ]


def _rows_of(column: TableColumn) -> Array:
    """Return how many rows have each category."""
    there = column.values[~column.missing]
    counts: Array = np.bincount(there, minlength=len(column.categories)).astype(float)
    return counts
