"""Columns and rows that separate source and target."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from counterpoise.data.columns import FEWEST_ROWS_TOLD, weighted_quantile
from counterpoise.data.samples import SamplesAsRead
from counterpoise.data.table import (
    CATEGORIES,
    DATES,
    NUMBERS,
    ZONED_DATES,
    Table,
    TableColumn,
    column_of_numbers,
    of_one_kind,
    places_in,
)
from counterpoise.data.two_samples import effective_sample_size
from counterpoise.errors import InvalidInputError, NoOverlapError
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.messages import INFO, PROBLEM, Finding
from counterpoise.shift.columns import FeatureShift, column_shifts
from counterpoise.shift.rounding_and_spelling import spelled_in_column
from counterpoise.shift.support import (
    NO_OVERLAP,
    NO_OVERLAP_ABOVE,
    UNCOVERED_ABOVE,
    UNCOVERED_QUANTILE,
    Overlap,
    overlap_between,
    uncovered_by_chance,
)

# -----------------------------------------------------------------------------
# How one column sets two samples apart, how much of the target, and in which words.
# -----------------------------------------------------------------------------


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
    difference : Finding
        What is different.
    """

    name: str
    how: str
    apart: float
    difference: Finding

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        return {**vars(self), "difference": self.difference.to_dict()}


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
    uncovers = after if before <= 1 - UNCOVERED_QUANTILE else 0.0
    found = [
        (
            abs(after - before),
            _MISSING,
            Finding("column_missing", INFO, {"after": after, "before": before}),
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
        found.append((present * distance, _SHARES, Finding("column_shares")))
    else:
        both = (there, w_there), (there_target, v_there)
        distance = present * _distance(*both)
        kind = _RANGE, Finding("column_distribution")
        if distance > NO_OVERLAP_ABOVE:
            uncovers = max(uncovers, present * _beyond(*both))
            kind = _values(source.kind, *both)
        found.append((distance, *kind))
    apart, how, difference = max(found, key=lambda one: one[0])
    return SeparatingColumn(source.name, how, apart, difference), uncovers


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
    low, high = _quantiles(source, 1 - UNCOVERED_QUANTILE, UNCOVERED_QUANTILE)
    values, weights = target
    return max(_share(values < low, weights), _share(values > high, weights))


def _quantiles(sample: _Weighted, *levels: float) -> list[float]:
    return [weighted_quantile(*sample, level) for level in levels]


def _new_categories(
    source: TableColumn, target: TableColumn, share: Array, new: float
) -> tuple[str, Finding]:
    """Return what is to be said of categories that the source has not.

    Where most rows that have one differ in spelling alone, the commonest such is named.
    """
    alike = spelled_in_column(source, target, share)
    # Rounding must not decide.
    if 2 * sum(one.share for one in alike) <= new * (1 + 1e-9):
        return _NEW_CATEGORIES, Finding("column_categories", INFO, {"new": new})
    most = max(alike, key=lambda one: one.share)
    values = {"new": new, "target": most.target, "source": most.source}
    return _SPELLING, Finding("column_spelling", INFO, values)


def _values(kind: str, source: _Weighted, target: _Weighted) -> tuple[str, Finding]:
    """Return whether numbers are of another unit or in another range."""
    if min(source[0].size, target[0].size) < FEWEST_ROWS_TOLD:
        return _RANGE, Finding("column_values")
    times = times_larger(source[0], target[0], source[1], target[1])
    if kind == NUMBERS and times is not None:
        if times > 1:
            return _UNIT, Finding("column_larger", INFO, {"times": times})
        return _UNIT, Finding("column_smaller", INFO, {"times": 1 / times})
    if kind in (DATES, ZONED_DATES):
        return _RANGE, Finding("column_dates")
    low, high = _quantiles(target, _LOW, _HIGH)
    source_low, source_high = _quantiles(source, _LOW, _HIGH)
    values = {
        "low": low,
        "high": high,
        "source_low": source_low,
        "source_high": source_high,
    }
    return _RANGE, Finding("column_range", INFO, values)


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


# -----------------------------------------------------------------------------
# Which columns make two samples disjoint, how, and what is covered without them.
# -----------------------------------------------------------------------------


# Rows of each sample that are looked at, and looks at columns that are put back.
_ROWS_LOOKED_AT, _MOST_LOOKS = 1_000, 12
_LONGEST_NAME, _LONGEST_OPTION = 60, 90


@dataclass(frozen=True)
class Separation:
    """Columns that make two samples disjoint, and what is covered without them.

    Attributes
    ----------
    columns : tuple of SeparatingColumn
        Those that set most apart first.
    verdict : str
        The word for the overlap without them.
    covered : float
        Share of the target that is covered without them; where it is 0.05 or less,
        without any that sets half of the target apart.
    """

    columns: tuple[SeparatingColumn, ...]
    verdict: str
    covered: float

    @property
    def drop(self) -> str:
        """What the option `--drop` takes to leave the columns out."""
        return shlex.quote(",".join(column.name for column in self.columns))

    @property
    def finding(self) -> Finding:
        """What to do about the columns."""
        listed = [
            Finding(
                "separating_column",
                PROBLEM,
                {
                    "name": column.name[:_LONGEST_NAME],
                    "difference": column.difference,
                },
            )
            for column in self.columns
        ]
        one = len(self.columns) == 1
        option = f" (--drop {self.drop})"
        if len(option) > _LONGEST_OPTION or not option.isprintable():
            option = ""
        values = {
            "columns": listed,
            "these": "this column" if one else "these columns",
            "them": "it" if one else "them",
            "covered": self.covered,
            "option": option,
        }
        code = "disjoint_anyway" if self.verdict == NO_OVERLAP else "disjoint"
        return Finding(code, PROBLEM, values)

    def __str__(self) -> str:
        return str(self.finding)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, strings and lists."""
        return {
            "columns": [column.to_dict() for column in self.columns],
            "verdict": self.verdict,
            "covered": self.covered,
            "drop": self.drop,
        }


def separating_columns(samples: SamplesAsRead, seed: int) -> Separation | None:
    r"""Return the columns that make two samples disjoint, None if it is not columns.

    A column by itself sets apart at most the share

    .. math:: a = \max\bigl(|\mu_T - \mu_S|,\; \nu,\; (1 - \mu_T)\, d\bigr)

    of the target rows, with :math:`\mu` the shares without a value, :math:`\nu` the
    share of target rows whose category the source has not, and d the distance of the
    values (Kolmogorov-Smirnov; of categories total variation), rows counting by their
    weights. Columns with :math:`a > 1/2` are left out; then each is put back, the
    smallest first, unless a share of the target of more than 0.05 is no longer covered.
    None where there is no such column, or the samples are not disjoint.

    More columns never cover more of the target, so that many are put back by few looks
    at the samples. A column that by itself leaves more than 0.05 uncovered that is
    covered without it stays out without a look (`column_apart`). All others but the one
    that sets most apart are put back at once, and halves of what cannot be, the smaller
    first; after twelve looks what has not been put back stays out. Where even without
    all of them no more than 0.05 is covered, there is nothing to lose: the one that
    sets most apart is named.

    Parameters
    ----------
    samples : SamplesAsRead
        Tables, or matrices that are not sparse.
    seed : int
        Of the rows looked at, 1,000 of each sample, and of the verdict.
    """
    tables = _tables(samples)
    if tables is None:
        return None
    # What is no column to the classifiers, as names of rows, is none here.
    unused = {} if samples.encoder is None else samples.encoder.dropped_
    used = [j for j, c in enumerate(tables[0].columns) if c.label not in unused]
    if len(used) < 2:
        return None
    every = len(used) == len(tables[0].columns)
    tables = _with(tables[0], used), _with(tables[1], used)
    w, v = samples.source_weight, samples.target_weight
    rows = _some(w, lambda: samples.places[0], seed)
    aims = _some(v, lambda: samples.places[1], seed + 1)
    source, target = tables[0].take(rows), tables[1].take(aims)
    pairs = zip(source.columns, target.columns, strict=True)
    apart = (column_apart(*pair, w[rows], v[aims]) for pair in pairs)
    found, uncovers = zip(*apart, strict=True)
    order = sorted(range(len(found)), key=lambda j: -found[j].apart)
    order = [j for j in order if found[j].apart > NO_OVERLAP_ABOVE]

    # Who asks has mostly looked at all columns of all rows already.
    is_all = (
        every and (rows.size, aims.size) == (w.size, v.size) and samples.units is None
    )

    @cache
    def without(left_out: frozenset[int]) -> tuple[str, float]:
        kept = [j for j in range(len(found)) if j not in left_out]
        pair = _with(source, kept), _with(target, kept)
        part = SamplesAsRead(w[rows], v[aims], tables=pair)
        try:
            seen = overlap_between(part if left_out or not is_all else samples, seed)
        except InvalidInputError:
            # What is left has nothing to be told by.
            return NO_OVERLAP, 0.0
        return seen.verdict, 1.0 - seen.uncovered_fraction

    if not order or without(frozenset())[0] != NO_OVERLAP:
        return None
    if len(order) == len(found):
        # Something must stay.
        order.pop()
    verdict, covered = without(frozenset(order))
    least = covered - UNCOVERED_ABOVE
    if least <= 0:
        return Separation((found[order[0]],), verdict, covered)
    smallest_first = [j for j in order[::-1] if 1.0 - uncovers[j] >= least]
    needed = _needed(
        order, smallest_first, lambda left_out: without(left_out)[1] >= least
    )
    verdict, covered = without(frozenset(needed))
    return Separation(tuple(found[j] for j in needed), verdict, covered)


def _needed(
    order: list[int], can_go_back: list[int], suffice: Callable[[frozenset[int]], bool]
) -> list[int]:
    """Return the columns, in order, that must be left out; one of them at least.

    `can_go_back`: those that are tried, the first before the last. `suffice`: whether
    it is enough to leave out these.
    """
    left_out = frozenset(order)
    looked_at: dict[frozenset[int], bool] = {}

    def put_back(some: list[int]) -> None:
        nonlocal left_out
        fewer = left_out.difference(some)
        if fewer and len(looked_at) < _MOST_LOOKS:
            looked_at[fewer] = suffice(fewer)
        if looked_at.get(fewer):
            left_out = fewer
        elif len(some) > 1:
            half = len(some) // 2
            put_back(some[:half])
            put_back(some[half:])

    others = [j for j in can_go_back if j != order[0]]
    if others:
        put_back(others)
    if order[0] in can_go_back:
        put_back(order[:1])
    return [j for j in order if j in left_out]


def with_columns(error: NoOverlapError, samples: SamplesAsRead) -> NoOverlapError:
    """Return a refusal that names the columns that make the samples disjoint."""
    found = separating_columns(samples, 0)
    if found is None:
        return error
    return NoOverlapError(error.share, error.measure, error.auc, str(found))


def _tables(samples: SamplesAsRead) -> tuple[Table, Table] | None:
    if samples.tables is not None:
        return samples.tables
    source, target = samples.source, samples.target
    if sparse.issparse(source) or sparse.issparse(target):
        return None
    labels = samples.names or range(source.shape[1])
    source, target = (
        Table(
            tuple(column_of_numbers(k, X[:, j]) for j, k in enumerate(labels)),
            samples.names is not None,
        )
        for X in (source, target)
    )
    return source, target


def _with(table: Table, kept: Sequence[int]) -> Table:
    return Table(tuple(table.columns[j] for j in kept), table.named)


def _some(weights: Array, places: Callable[[], Indices], seed: int) -> Indices:
    """Return the places of rows that count, or of some of them drawn by chance.

    `places`: gives their canonical order, of which is drawn: rows in another order are
    the same rows.
    """
    rows = np.flatnonzero(weights)
    if rows.size <= _ROWS_LOOKED_AT:
        return rows
    ordered = places()
    drawn = np.random.default_rng(seed).choice(
        ordered.size, _ROWS_LOOKED_AT, replace=False
    )
    found: Indices = ordered[np.sort(drawn)]
    return found


# -----------------------------------------------------------------------------
# Who the thinly covered target rows are: columns and ranges, never a row.
# -----------------------------------------------------------------------------


# The range of a column is between these quantiles.
LOW, HIGH = 0.05, 0.95
# Columns that are described, and categories of each.
_COLUMNS, _CATEGORIES = 5, 3
# Columns of a hole that are named; one in more is one in all columns.
_IN_A_HOLE = 2
# A column sets rows apart from this effect on; a combination of columns may without.
_APART = 0.5


@dataclass(frozen=True)
class UncoveredColumn:
    """What thinly covered rows have in one column, beside the source.

    Attributes
    ----------
    name, kind : str
        Of the column.
    effect : float
        How far the rows are from the source, as in `FeatureShift`.
    low, high : float or None
        Where the middle 90 % of the rows lie, between the 5 % and the 95 % quantile,
        interpolated; dates in seconds since 1970; None for categories, and with fewer
        than 5 values.
    source_low, source_high : float or None
        The same of the source.
    shares : tuple of (str, float, float)
        The commonest categories of the rows, with their share and that in the source;
        none that fewer than 5 of the rows have.
    missing, source_missing : float
        Share without a value.
    """

    name: str
    kind: str
    effect: float
    low: float | None = None
    high: float | None = None
    source_low: float | None = None
    source_high: float | None = None
    shares: tuple[tuple[str, float, float], ...] = ()
    missing: float = 0.0
    source_missing: float = 0.0


@dataclass(frozen=True)
class UncoveredRows:
    """A description of the target rows that the source hardly covers.

    Attributes
    ----------
    n_rows : int
        How many there are among the rows scored.
    n_scored : int
        Target rows that were scored.
    columns : tuple of UncoveredColumn
        Those that set the rows apart the most, by effect, and those of holes; at most
        five.
    note : str
        What else there is to say; empty if nothing.
    """

    n_rows: int
    n_scored: int
    columns: tuple[UncoveredColumn, ...] = ()
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, strings and lists."""
        columns = []
        for column in self.columns:
            shares = [
                {"category": category, "share": share, "source_share": source_share}
                for category, share, source_share in column.shares
            ]
            columns.append({**asdict(column), "shares": shares})
        return {**asdict(self), "columns": columns}


def uncovered_rows_of(
    source: Table,
    target: Table,
    w: Array,
    v: Array,
    covered: Overlap,
    names: Sequence[str],
) -> UncoveredRows:
    """Return a description of the target rows that are thinly covered or in holes.

    Parameters
    ----------
    source, target : Table
        With columns that are not left out.
    w, v : array of shape (n,), (m,)
        What the rows count.
    covered : Overlap
    names : sequence of str
        Of the columns of the matrices, by the columns of the table.
    """
    p, q = w[covered.rows], v[covered.rows_target]
    sizes = effective_sample_size(p), effective_sample_size(q)
    chance = uncovered_by_chance(*(covered.units or sizes))
    uncovered_fraction = covered.uncovered_rows
    described = describe_uncovered_rows(
        source.take(covered.rows),
        target.take(uncovered_fraction),
        p / p.sum(),
        v[uncovered_fraction] / max(v[uncovered_fraction].sum(), np.finfo(float).tiny),
        n_scored=covered.rows_target.size,
        by_chance=covered.uncovered_fraction <= chance,
    )
    return _with_holes(described, source, target, p, v, covered, names)


def _with_holes(
    found: UncoveredRows,
    source: Table,
    target: Table,
    p: Array,
    v: Array,
    covered: Overlap,
    names: Sequence[str],
) -> UncoveredRows:
    """Add who the rows in holes are, by the columns in which the holes were found."""
    inside = covered.rows_target[covered.in_hole]
    if inside.size < FEWEST_ROWS_TOLD:
        return found
    sets = [
        tuple(dict.fromkeys(names[j] for j in one.columns))
        for one in covered.holes.balls
    ]
    few = [one for one in sets if len(one) <= _IN_A_HOLE]
    wanted = list(dict.fromkeys(name for one in few for name in one))[:_COLUMNS]
    rows, whole = target.take(inside), source.take(covered.rows)
    share, inside_share = p / p.sum(), v[inside] / v[inside].sum()
    by_name = {column.name: j for j, column in enumerate(source.columns)}
    places = [by_name[name] for name in wanted if name in by_name]
    parts = [
        Table(tuple(one.columns[j] for j in places), one.named) for one in (whole, rows)
    ]
    shifts = column_shifts(parts[0], parts[1], share, inside_share)
    columns = tuple(
        _described(whole.columns[j], rows.columns[j], share, inside_share, shift)
        for j, shift in zip(places, shifts, strict=True)
    )
    told = " and ".join(" with ".join(f"'{name}'" for name in one) for one in few[:3])
    told = f"in {told}" if told else "in all columns together"
    note = (
        f"{inside.size:,} of them lie in holes among the source rows, {told}: the "
        "source has rows around them, and none near."
    )
    already = {column.name for column in found.columns}
    more = [column for column in columns if column.name not in already]
    kept = [*found.columns[: _COLUMNS - len(more)], *more]
    kept.sort(key=lambda column: -column.effect)
    # A note on what could not be described is no longer true.
    return replace(found, columns=tuple(kept), note=note)


def describe_uncovered_rows(
    source: Table,
    uncovered_fraction: Table,
    share: Array,
    uncovered_share_of: Array,
    n_scored: int,
    by_chance: bool,
) -> UncoveredRows:
    """Return what sets thinly covered rows apart from the source.

    Parameters
    ----------
    source : Table
        Source rows that were scored.
    thin : Table
        The thinly covered target rows among those scored, none or some.
    share, uncovered_share_of : array of shape (n,), (k,)
        What a row counts in a mean over its sample; they sum to one.
    n_scored : int
        Target rows that were scored.
    by_chance : bool
        Whether samples drawn alike may have as many.
    """
    k = len(uncovered_fraction)
    if k == 0:
        return UncoveredRows(0, n_scored)
    if by_chance:
        note = "No more rows than chance explains: there is nothing to describe."
        return UncoveredRows(k, n_scored, note=note)
    if k < FEWEST_ROWS_TOLD:
        note = (
            f"Of fewer than {FEWEST_ROWS_TOLD} rows nothing is told: nobody is "
            "recognised."
        )
        return UncoveredRows(k, n_scored, note=note)
    shifts = column_shifts(
        source, uncovered_fraction, share, uncovered_share_of, tested=False
    )
    order = np.argsort([-shift.effect for shift in shifts], kind="stable")
    apart = [j for j in order[:_COLUMNS] if shifts[j].effect >= _APART]
    columns = tuple(
        _described(
            source.columns[j],
            uncovered_fraction.columns[j],
            share,
            uncovered_share_of,
            shifts[j],
        )
        for j in apart
    )
    note = "" if columns else "No column sets them apart alone: it is a combination."
    return UncoveredRows(k, n_scored, columns, note)


def _described(
    source: TableColumn,
    uncovered_fraction: TableColumn,
    p: Array,
    q: Array,
    shift: FeatureShift,
) -> UncoveredColumn:
    (low, high), (source_low, source_high) = (
        _range(uncovered_fraction, q),
        _range(source, p),
    )
    return UncoveredColumn(
        name=shift.name,
        kind=shift.kind,
        effect=shift.effect,
        low=low,
        high=high,
        source_low=source_low,
        source_high=source_high,
        shares=_shares(source, uncovered_fraction, p, q),
        missing=shift.target_missing,
        source_missing=shift.source_missing,
    )


def _shares(
    source: TableColumn, uncovered_fraction: TableColumn, p: Array, q: Array
) -> tuple[tuple[str, float, float], ...]:
    if uncovered_fraction.kind != CATEGORIES:
        return ()
    k, there = len(uncovered_fraction.categories), uncovered_fraction.values >= 0
    counts = np.bincount(uncovered_fraction.values[there], minlength=k)
    shares = np.bincount(uncovered_fraction.values[there], q[there], minlength=k)
    in_source = dict.fromkeys(source.categories, 0.0)
    if source.kind == CATEGORIES:
        rows = source.values >= 0
        known = np.bincount(source.values[rows], p[rows], len(source.categories))
        in_source = dict(zip(source.categories, known.tolist(), strict=True))
    common = [
        j for j in np.argsort(-shares, kind="stable") if counts[j] >= FEWEST_ROWS_TOLD
    ]
    return tuple(
        (name, float(shares[j]), in_source.get(name, 0.0))
        for j in common[:_CATEGORIES]
        for name in [uncovered_fraction.categories[j]]
    )


def _range(column: TableColumn, share: Array) -> tuple[float | None, float | None]:
    """Return quantiles, interpolated between rows: ends that are hardly any row's."""
    if column.kind == CATEGORIES:
        return None, None
    there = np.flatnonzero(~np.isnan(column.values))
    if there.size < FEWEST_ROWS_TOLD:
        return None, None
    order = there[np.argsort(column.values[there], kind="stable")]
    values, share = column.values[order], share[order]
    before = np.cumsum(share) - share
    low, high = np.interp([LOW, HIGH], before / before[-1], values)
    return float(low), float(high)
