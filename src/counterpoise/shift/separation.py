"""Columns and rows that separate source and target; spellings of categories."""

import shlex
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.data.columns import FEWEST_ROWS_REPORTED, weighted_quantile
from counterpoise.data.samples import Samples
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
from counterpoise.shift.columns import (
    FeatureShift,
    column_shifts,
    ks_distance,
    select_columns,
)
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

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers and words."""
        return asdict(self)

    @classmethod
    def of_dict(cls, record: Mapping[str, Any]) -> "Spelling":
        """Return what `to_dict` told."""
        return cls(**record)


def respelled_categories(
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
    result: list[Spelling] = []
    for one, other in zip(source.columns, target.columns, strict=True):
        if one.kind == other.kind == CATEGORIES:
            result += spelled_in_column(one, other, target_share)
    return tuple(sorted(result, key=lambda one: -one.share))


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
    """Return those of one column of categories, as `respelled_categories`."""
    rows, rows_target = _rows_of(source), _rows_of(target)
    share = np.bincount(
        target.values[~target.missing],
        target_share[~target.missing],
        len(target.categories),
    )
    known: dict[str, str] = {}
    for k in np.argsort(-rows, kind="stable"):
        if rows[k] >= FEWEST_ROWS_REPORTED:
            known.setdefault(folded(source.categories[k]), source.categories[k])
    there = {c for c, n in zip(source.categories, rows, strict=True) if n}
    return [
        Spelling(source.name, category, known[folded(category)], float(part))
        for category, n, part in zip(target.categories, rows_target, share, strict=True)
        if n >= FEWEST_ROWS_REPORTED
        and category not in there
        and folded(category) in known
    ]


def _rows_of(column: TableColumn) -> Array:
    """Return how many rows have each category."""
    there = column.values[~column.missing]
    counts: Array = np.bincount(there, minlength=len(column.categories)).astype(float)
    return counts


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

    def to_dict(self) -> dict[str, object]:
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
    w, v = source_weight / source_weight.sum(), target_weight / target_weight.sum()
    before, after = float(w[gone].sum()), float(v[gone_target].sum())
    uncovers = after if before <= 1 - UNCOVERED_QUANTILE else 0.0
    missing = Finding("column_missing", INFO, {"after": after, "before": before})
    result = [(abs(after - before), _MISSING, missing)]
    if gone.all() or gone_target.all():
        pass
    elif source.kind == CATEGORIES:
        k, place = len(source.categories), places_in(source.categories, target)
        new, known = float(v[place == -2].sum()), place >= 0
        shares = np.bincount(source.values[~gone], w[~gone], k) / (1.0 - before)
        shares_target = np.bincount(place[known], v[known], k)
        distance = np.abs((1.0 - after) * shares - shares_target).sum() + new
        uncovers = max(uncovers, new)
        result.append((new, *_new_categories(source, target, v, new)))
        result.append((float(distance) / 2, _SHARES, Finding("column_shares")))
    else:
        x, t = source.values[~gone], target.values[~gone_target]
        p, q = w[~gone] / w[~gone].sum(), v[~gone_target] / v[~gone_target].sum()
        distance = (1.0 - after) * ks_distance(x, t, p, q)
        how, difference = _RANGE, Finding("column_distribution")
        if distance > NO_OVERLAP_ABOVE:
            low, high = _quantiles(x, p, 1 - UNCOVERED_QUANTILE, UNCOVERED_QUANTILE)
            beyond = max(float(q[t < low].sum()), float(q[t > high].sum()))
            uncovers = max(uncovers, (1.0 - after) * beyond)
            how, difference = _values(source.kind, x, t, p, q)
        result.append((distance, how, difference))
    # Rounding must not decide: the first of equals.
    apart, how, difference = max(result, key=lambda one: round(one[0], 12))
    return SeparatingColumn(source.name, how, min(apart, 1.0), difference), uncovers


def _quantiles(values: Array, share: Array, *levels: float) -> list[float]:
    return [weighted_quantile(values, share, level) for level in levels]


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


def _values(
    kind: str, source: Array, target: Array, share: Array, target_share: Array
) -> tuple[str, Finding]:
    """Return whether numbers are of another unit or in another range."""
    if min(source.size, target.size) < FEWEST_ROWS_REPORTED:
        return _RANGE, Finding("column_values")
    times = times_larger(source, target, share, target_share)
    if kind == NUMBERS and times is not None:
        if times > 1:
            return _UNIT, Finding("column_larger", INFO, {"times": times})
        return _UNIT, Finding("column_smaller", INFO, {"times": 1 / times})
    if kind in (DATES, ZONED_DATES):
        return _RANGE, Finding("column_dates")
    low, high = _quantiles(target, target_share, _LOW, _HIGH)
    source_low, source_high = _quantiles(source, share, _LOW, _HIGH)
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
        _quantiles(x, np.ones(x.size) if w is None else w, *_ENDS)
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

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers, strings and lists."""
        return {
            **asdict(self),
            "columns": [column.to_dict() for column in self.columns],
            "drop": self.drop,
        }


def separating_columns(samples: Samples, seed: int) -> Separation | None:
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
    tables = select_columns(tables[0], used), select_columns(tables[1], used)
    w, v = samples.source_weight, samples.target_weight
    rows, target_rows = (
        _draw_rows(weight, samples, k, seed + k) for k, weight in enumerate((w, v))
    )
    source, target = tables[0].take(rows), tables[1].take(target_rows)
    pairs = zip(source.columns, target.columns, strict=True)
    apart = [column_apart(*pair, w[rows], v[target_rows]) for pair in pairs]
    result, uncovers = zip(*apart, strict=True)
    order = sorted(range(len(result)), key=lambda j: -result[j].apart)
    order = [j for j in order if result[j].apart > NO_OVERLAP_ABOVE]

    # Who asks has mostly looked at all columns of all rows already.
    is_all = (
        every
        and (rows.size, target_rows.size) == (w.size, v.size)
        and samples.units is None
    )

    @cache
    def without(left_out: frozenset[int]) -> tuple[str, float]:
        kept = [j for j in range(len(result)) if j not in left_out]
        pair = select_columns(source, kept), select_columns(target, kept)
        part = Samples(w[rows], v[target_rows], tables=pair)
        try:
            seen = overlap_between(part if left_out or not is_all else samples, seed)
        except InvalidInputError:
            # What is left has nothing to be told by.
            return NO_OVERLAP, 0.0
        return seen.verdict, 1.0 - seen.uncovered_fraction

    if not order or without(frozenset())[0] != NO_OVERLAP:
        return None
    if len(order) == len(result):
        # Something must stay.
        order.pop()
    verdict, covered = without(frozenset(order))
    least = covered - UNCOVERED_ABOVE
    if least <= 0:
        return Separation((result[order[0]],), verdict, covered)
    smallest_first = [j for j in order[::-1] if 1.0 - uncovers[j] >= least]
    needed = _needed(
        order, smallest_first, lambda left_out: without(left_out)[1] >= least
    )
    verdict, covered = without(frozenset(needed))
    return Separation(tuple(result[j] for j in needed), verdict, covered)


def _needed(
    order: list[int], can_go_back: list[int], suffice: Callable[[frozenset[int]], bool]
) -> list[int]:
    """Return the columns, in order, that must be left out; one of them at least.

    `can_go_back`: those that are tried, the first before the last. `suffice`: whether
    it is enough to leave out these.
    """
    left_out = frozenset(order)
    looked_at: set[frozenset[int]] = set()

    def put_back(some: list[int]) -> None:
        nonlocal left_out
        fewer = left_out.difference(some)
        if fewer and len(looked_at) < _MOST_LOOKS:
            looked_at.add(fewer)
            if suffice(fewer):
                left_out = fewer
                return
        if len(some) > 1:
            half = len(some) // 2
            put_back(some[:half])
            put_back(some[half:])

    others = [j for j in can_go_back if j != order[0]]
    if others:
        put_back(others)
    if order[0] in can_go_back:
        put_back(order[:1])
    return [j for j in order if j in left_out]


def with_columns(error: NoOverlapError, samples: Samples) -> NoOverlapError:
    """Return a refusal that names the columns that make the samples disjoint."""
    result = separating_columns(samples, 0)
    if result is None:
        return error
    return NoOverlapError(error.share, error.measure, error.auc, str(result))


def _tables(samples: Samples) -> tuple[Table, Table] | None:
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


def _draw_rows(weight: Array, samples: Samples, k: int, seed: int) -> Indices:
    """Return rows of sample k that count, at most 1,000 whatever their order."""
    rows = np.flatnonzero(weight)
    if rows.size <= _ROWS_LOOKED_AT:
        return rows
    ordered = samples.places[k]
    rng = np.random.default_rng(seed)
    drawn: Indices = rng.choice(ordered.size, _ROWS_LOOKED_AT, replace=False)
    return ordered[np.sort(drawn)]


# -----------------------------------------------------------------------------
# Who the thinly covered target rows are: columns and ranges, never a row.
# -----------------------------------------------------------------------------


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

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers, strings and lists."""
        columns = [asdict(column) for column in self.columns]
        for column in columns:
            column["shares"] = [
                {"category": category, "share": share, "source_share": source_share}
                for category, share, source_share in column["shares"]
            ]
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
    rows, share = covered.uncovered_rows, p / p.sum()
    scored = source.take(covered.rows)
    described = describe_uncovered_rows(
        scored,
        target.take(rows),
        share,
        v[rows] / max(v[rows].sum(), np.finfo(float).tiny),
        n_scored=covered.rows_target.size,
        by_chance=covered.uncovered_fraction <= chance,
    )
    inside = covered.rows_target[covered.in_hole]
    if inside.size < FEWEST_ROWS_REPORTED:
        return described
    # The columns in which the holes were found.
    sets = [
        tuple(dict.fromkeys(names[j] for j in one.columns))
        for one in covered.holes.balls
    ]
    few = [one for one in sets if len(one) <= _IN_A_HOLE]
    wanted = list(dict.fromkeys(name for one in few for name in one))[:_COLUMNS]
    by_name = {column.name: j for j, column in enumerate(source.columns)}
    places = [by_name[name] for name in wanted if name in by_name]
    pair = select_columns(scored, places), select_columns(target.take(inside), places)
    shares = share, v[inside] / v[inside].sum()
    shifts = column_shifts(*pair, *shares, tested=False)
    where = " and ".join(" with ".join(f"'{name}'" for name in one) for one in few[:3])
    where = f"in {where}" if where else "in all columns together"
    note = (
        f"{inside.size:,} of them lie in holes among the source rows, {where}: the "
        "source has rows around them, and none near."
    )
    already = {column.name for column in described.columns}
    more = [
        _described(source_column, column, *shares, shift)
        for source_column, column, shift in zip(
            pair[0].columns, pair[1].columns, shifts, strict=True
        )
        if shift.name not in already
    ]
    kept = [*described.columns[: _COLUMNS - len(more)], *more]
    kept.sort(key=lambda column: -column.effect)
    # A note on what could not be described is no longer true.
    return replace(described, columns=tuple(kept), note=note)


def describe_uncovered_rows(
    source: Table,
    uncovered: Table,
    share: Array,
    uncovered_share: Array,
    n_scored: int,
    by_chance: bool,
) -> UncoveredRows:
    """Return what sets thinly covered rows apart from the source.

    Parameters
    ----------
    source : Table
        Source rows that were scored.
    uncovered : Table
        The thinly covered target rows among those scored, none or some.
    share, uncovered_share : array of shape (n,), (k,)
        What a row counts in a mean over its sample; they sum to one.
    n_scored : int
        Target rows that were scored.
    by_chance : bool
        Whether samples drawn alike may have as many.
    """
    k = len(uncovered)
    if k == 0:
        return UncoveredRows(0, n_scored)
    if by_chance:
        note = "No more rows than chance explains: there is nothing to describe."
        return UncoveredRows(k, n_scored, note=note)
    if k < FEWEST_ROWS_REPORTED:
        note = (
            f"Of fewer than {FEWEST_ROWS_REPORTED} rows nothing is told: nobody is "
            "recognized."
        )
        return UncoveredRows(k, n_scored, note=note)
    shifts = column_shifts(source, uncovered, share, uncovered_share, tested=False)
    order = np.argsort([-shift.effect for shift in shifts], kind="stable")
    columns = tuple(
        _described(
            source.columns[j], uncovered.columns[j], share, uncovered_share, shifts[j]
        )
        for j in order[:_COLUMNS]
        if shifts[j].effect >= _APART
    )
    note = "" if columns else "No column sets them apart alone: it is a combination."
    return UncoveredRows(k, n_scored, columns, note)


def _described(
    source: TableColumn,
    uncovered: TableColumn,
    p: Array,
    q: Array,
    shift: FeatureShift,
) -> UncoveredColumn:
    (low, high), (source_low, source_high) = _range(uncovered, q), _range(source, p)
    return UncoveredColumn(
        name=shift.name,
        kind=shift.kind,
        effect=shift.effect,
        low=low,
        high=high,
        source_low=source_low,
        source_high=source_high,
        shares=_shares(source, uncovered, p, q),
        missing=shift.target_missing,
        source_missing=shift.source_missing,
    )


def _shares(
    source: TableColumn, uncovered: TableColumn, p: Array, q: Array
) -> tuple[tuple[str, float, float], ...]:
    """Return the commonest categories, with their share here and in the source."""
    if uncovered.kind != CATEGORIES:
        return ()
    k, there = len(uncovered.categories), uncovered.values >= 0
    counts = np.bincount(uncovered.values[there], minlength=k)
    shares = np.bincount(uncovered.values[there], q[there], minlength=k)
    in_source: dict[str, float] = {}
    if source.kind == CATEGORIES:
        rows = source.values >= 0
        known = np.bincount(source.values[rows], p[rows], len(source.categories))
        in_source = dict(zip(source.categories, known.tolist(), strict=True))
    order = np.argsort(-shares, kind="stable")
    names = [
        (uncovered.categories[j], float(shares[j]))
        for j in order
        if counts[j] >= FEWEST_ROWS_REPORTED
    ]
    return tuple(
        (name, share, in_source.get(name, 0.0)) for name, share in names[:_CATEGORIES]
    )


def _range(column: TableColumn, share: Array) -> tuple[float | None, float | None]:
    """Return quantiles, interpolated between rows: ends that are hardly any row's."""
    if column.kind == CATEGORIES:
        return None, None
    there = np.flatnonzero(~np.isnan(column.values))
    if there.size < FEWEST_ROWS_REPORTED:
        return None, None
    order = there[np.argsort(column.values[there], kind="stable")]
    before = np.cumsum(share[order]) - share[order]
    low, high = np.interp([_LOW, _HIGH], before / before[-1], column.values[order])
    return float(low), float(high)
