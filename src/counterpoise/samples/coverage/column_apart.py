"""How one column sets two samples apart, how much of the target, and in which words."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from counterpoise.numerics.arrays import Array
from counterpoise.samples.coverage.spelling import spelled_in_column
from counterpoise.samples.coverage.thin_by_chance import THIN_QUANTILE
from counterpoise.samples.overlap_verdict import NO_OVERLAP_ABOVE
from counterpoise.tables.kinds import CATEGORIES, DATES, NUMBERS, ZONED_DATES
from counterpoise.tables.privacy import FEWEST_ROWS_TOLD
from counterpoise.tables.quantiles import weighted_quantile
from counterpoise.tables.table_column import TableColumn, of_one_kind, places_in

_MISSING, _NEW_CATEGORIES, _SPELLING, _UNIT, _RANGE, _SHARES = (
    "missing", "new categories", "spelling", "unit", "range", "shares of categories",
)  # fmt: skip
# Values so many times larger, and as much more spread within this factor, are of
# another unit.
UNIT_FROM, UNIT_SPREADS = 2.0, 1.5
# The range of a column is between these quantiles.
_LOW, _HIGH = 0.05, 0.95
_ENDS = (_LOW, 0.25, 0.5, 0.75, _HIGH)
# Values, and what each counts.
_Weighted = tuple[Array, Array]


@dataclass(frozen=True)
class SeparatingColumn:
    """A column without which more of the target is covered.

    Attributes
    ----------
    name : str
    how : str
        "missing", "new categories", "spelling" (which are the source's in another,
        `spelling.folded`), "unit", "range" or "shares of categories".
    apart : float
        Share of the target, by the rows' weights, that it can set apart by itself.
    words : str
        What is different, in words.
    """

    name: str
    how: str
    apart: float
    words: str


def column_apart(
    source: TableColumn,
    target: TableColumn,
    source_weight: Array,
    target_weight: Array,
) -> tuple[SeparatingColumn, float]:
    r"""Return how much of the target a column can set apart, and by what.

    Also the share of the target that it leaves uncovered whatever the other columns,

    .. math:: \max\bigl(\mu_T [\mu_S \le 0.005],\; \nu,\;
        P_T(x > Q_{0.995}),\; P_T(x < Q_{0.005})\bigr)

    with :math:`\mu` the shares without a value, :math:`\nu` the share of target rows
    whose category the source has not, and Q the source's quantiles. Rows count by
    their weights, which are positive, in every share, distance and quantile.
    """
    source, target, (gone, gone_target) = of_one_kind(source, target)
    w, v = source_weight, target_weight
    before, after = _share(gone, w), _share(gone_target, v)
    there, there_target = source.values[~gone], target.values[~gone_target]
    w_there, v_there = w[~gone], v[~gone_target]
    present = 1.0 - after
    uncovers = after if before <= 1 - THIN_QUANTILE else 0.0
    found = [
        (
            abs(after - before),
            _MISSING,
            f"missing in {after:.1%} of the target rows, in the source in {before:.1%}",
        )
    ]
    if not there.size or not there_target.size:
        pass
    elif source.kind == CATEGORIES:
        place = places_in(source.categories, target)
        new, known = _share(place == -2, v), place >= 0
        shares = np.bincount(there, w_there, len(source.categories)) / w_there.sum()
        shares_target = np.bincount(place[known], v[known], shares.size)
        shares_target = shares_target / v_there.sum()
        distance = float(np.abs(shares - shares_target).sum() + new / present) / 2
        uncovers = max(uncovers, new)
        found.append((new, *_new_categories(source, target, v / v.sum(), new)))
        found.append((present * distance, _SHARES, "its categories have other shares"))
    else:
        both = (there, w_there), (there_target, v_there)
        distance = present * _distance(*both)
        told = _RANGE, ""
        if distance > NO_OVERLAP_ABOVE:
            uncovers = max(uncovers, present * _beyond(*both))
            told = _values(source.kind, *both)
        found.append((distance, *told))
    apart, how, words = max(found, key=lambda one: one[0])
    return SeparatingColumn(source.name, how, apart, words), uncovers


def _share(which: NDArray[np.bool_], weights: Array) -> float:
    return float(weights[which].sum() / weights.sum())


def _distance(source: _Weighted, target: _Weighted) -> float:
    """Return the largest distance of the two distribution functions."""
    at = np.concatenate([source[0], target[0]])
    below = _up_to(at, *source) - _up_to(at, *target)
    return float(np.abs(below).max())


def _up_to(at: Array, values: Array, weights: Array) -> Array:
    """Return the share of the values up to each of some."""
    order = np.argsort(values, kind="stable")
    counted = np.append(0.0, np.cumsum(weights[order]))
    below: Array = counted[np.searchsorted(values[order], at, side="right")]
    return below / counted[-1]


def _beyond(source: _Weighted, target: _Weighted) -> float:
    """Return the target share above 99.5 % of the source, or below if that is more."""
    low, high = _quantiles(source, 1 - THIN_QUANTILE, THIN_QUANTILE)
    values, weights = target
    return max(_share(values < low, weights), _share(values > high, weights))


def _quantiles(sample: _Weighted, *levels: float) -> list[float]:
    return [weighted_quantile(*sample, level) for level in levels]


def _new_categories(
    source: TableColumn, target: TableColumn, share: Array, new: float
) -> tuple[str, str]:
    """Return what is to be said of categories that the source has not.

    Where most rows that have one differ in spelling alone, the commonest such is named.
    """
    said = f"categories in {new:.1%} of the target rows that the source has not"
    alike = spelled_in_column(source, target, share)
    # Rounding must not decide.
    if 2 * sum(one.share for one in alike) <= new * (1 + 1e-9):
        return _NEW_CATEGORIES, said
    most = max(alike, key=lambda one: one.share)
    return _SPELLING, f"{said}: spelled {most.target!r} for {most.source!r}?"


def _values(kind: str, source: _Weighted, target: _Weighted) -> tuple[str, str]:
    """Return whether numbers are of another unit or in another range, in words."""
    if min(source[0].size, target[0].size) < FEWEST_ROWS_TOLD:
        return _RANGE, "other values"
    times = times_larger(source[0], target[0], source[1], target[1])
    if kind == NUMBERS and times is not None:
        how_much = f"{times:.3g} times" if times > 1 else f"1/{1 / times:.3g} of"
        return _UNIT, f"about {how_much} the source's values: another unit?"
    if kind in (DATES, ZONED_DATES):
        return _RANGE, "other dates"
    low, high = _quantiles(target, _LOW, _HIGH)
    source_low, source_high = _quantiles(source, _LOW, _HIGH)
    return _RANGE, (
        f"mostly from {low:.4g} to {high:.4g}, in the source from {source_low:.4g} to "
        f"{source_high:.4g}"
    )


def times_larger(
    source: Array,
    target: Array,
    source_weight: Array | None = None,
    target_weight: Array | None = None,
) -> float | None:
    """Return how many times larger the target's values are, None if that is not all.

    Of positive values whose middle ninety per cent do not meet: the ratio of the
    medians, if it is at least 2 or at most 1/2, and the ratio of the spreads (of the
    middle half) is the same within a factor of 1.5.

    Examples
    --------
    >>> metres = np.linspace(1.5, 2.0, 50)
    >>> times_larger(metres, 100 * metres), times_larger(metres, metres + 1)
    (100.0, None)
    """
    if source.min() <= 0 or target.min() <= 0:
        return None
    ends, ends_target = (
        _quantiles((x, np.ones(x.size) if w is None else w), *_ENDS)
        for x, w in ((source, source_weight), (target, target_weight))
    )
    if ends[0] <= ends_target[-1] and ends_target[0] <= ends[-1]:
        return None
    times = ends_target[2] / ends[2]
    spread, spread_target = ends[3] - ends[1], ends_target[3] - ends_target[1]
    if not spread > 0 or not spread_target > 0:
        return None
    off = spread_target / spread / times
    if max(times, 1 / times) < UNIT_FROM or max(off, 1 / off) > UNIT_SPREADS:
        return None
    return float(times)
