"""Which columns make two samples disjoint, how, and what is covered without them."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.as_read import SamplesAsRead
<<<<<<< HEAD
from counterpoise.samples.coverage.spelling import folded
=======
from counterpoise.samples.coverage.column_apart import SeparatingColumn, column_apart
>>>>>>> wb
from counterpoise.samples.coverage.thin_by_chance import THIN_ABOVE
from counterpoise.samples.overlap_verdict import (
    NO_OVERLAP,
    NO_OVERLAP_ABOVE,
    overlap_between,
)
from counterpoise.tables.column_readers import column_of_numbers
from counterpoise.tables.columns import Table
from counterpoise.validation import InvalidInput, NoOverlapError

# Rows of each sample that are looked at, and looks at columns that are put back.
_ROWS_LOOKED_AT, _MOST_LOOKS = 1_000, 12
_LONGEST_NAME, _LONGEST_OPTION = 60, 90
<<<<<<< HEAD
# The range of a column is between these quantiles.
_LOW, _HIGH = 0.05, 0.95


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
        Share of the target rows that it can set apart by itself.
    words : str
        What is different, in words.
    """

    name: str
    how: str
    apart: float
    words: str
=======
>>>>>>> wb


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

    def __str__(self) -> str:
        # What cannot be printed is spelt out.
        listed = "; ".join(
            f"{column.name[:_LONGEST_NAME]!r} ({column.words})"
            for column in self.columns
        )
        one = len(self.columns) == 1
        if self.verdict == NO_OVERLAP:
            return (
                f"What sets the samples apart: {listed}. Even without "
                f"{'this column' if one else 'these columns'} no more than "
                f"{self.covered:.0%} of the target is covered."
            )
        option = f" (--drop {self.drop})"
        if len(option) > _LONGEST_OPTION or not option.isprintable():
            option = ""
        return (
            f"What makes the samples disjoint: {listed}. Without "
            f"{'this column' if one else 'these columns'} {self.covered:.0%} of the "
            f"target is covered: leave {'it' if one else 'them'} out{option} if the "
            f"model can do without, or see that both samples have "
            f"{'it' if one else 'them'} alike."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, strings and lists."""
        return {
            "columns": [asdict(column) for column in self.columns],
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
    values (Kolmogorov-Smirnov; of categories total variation). Columns with
    :math:`a > 1/2` are left out; then each is put back, the smallest first, unless a
    share of the target of more than 0.05 is no longer covered. None where there is no
    such column, or the samples are not disjoint.

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
    rows, aims = _some(w, seed), _some(v, seed + 1)
    source, target = tables[0].take(rows), tables[1].take(aims)
    pairs = zip(source.columns, target.columns, strict=True)
    found, uncovers = zip(*(column_apart(*pair) for pair in pairs), strict=True)
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
        except InvalidInput:
            # What is left has nothing to be told by.
            return NO_OVERLAP, 0.0
        return seen.verdict, 1.0 - seen.thin

    if not order or without(frozenset())[0] != NO_OVERLAP:
        return None
    if len(order) == len(found):
        # Something must stay.
        order.pop()
    verdict, covered = without(frozenset(order))
    least = covered - THIN_ABOVE
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


def _some(weights: Array, seed: int) -> Indices:
    """Return the places of rows that count, or of some of them drawn by chance."""
    rows = np.flatnonzero(weights)
    if rows.size <= _ROWS_LOOKED_AT:
        return rows
    drawn = np.random.default_rng(seed).choice(rows, _ROWS_LOOKED_AT, replace=False)
    found: Indices = np.sort(drawn)
    return found
<<<<<<< HEAD


def _column(source: TableColumn, target: TableColumn) -> SeparatingColumn:
    """Return how much of the target a column can set apart, and by what."""
    source, target, (gone, gone_target) = of_one_kind(source, target)
    before, after = float(gone.mean()), float(gone_target.mean())
    there, there_target = source.values[~gone], target.values[~gone_target]
    present = 1.0 - after
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
        new = float((place == -2).mean())
        shares = np.bincount(there, minlength=len(source.categories)) / there.size
        known = place[place >= 0]
        shares_target = np.bincount(known, minlength=shares.size) / there_target.size
        distance = float(np.abs(shares - shares_target).sum() + new / present) / 2
        found.append((new, *_new_categories(source, target, place)))
        found.append((present * distance, _SHARES, "its categories have other shares"))
    else:
        distance = float(ks_2samp(there, there_target, method="asymp").statistic)
        found.append((present * distance, *_values(source.kind, there, there_target)))
    apart, how, words = max(found, key=lambda one: one[0])
    return SeparatingColumn(source.name, how, apart, words)


def _new_categories(
    source: TableColumn, target: TableColumn, place: Indices
) -> tuple[str, str]:
    """Return what is to be said of categories that the source has not.

    Where most rows that have one differ in spelling alone, the commonest such is named.
    """
    share = float((place == -2).mean())
    said = f"categories in {share:.1%} of the target rows that the source has not"
    counts = np.bincount(target.values[place == -2], minlength=len(target.categories))
    known = {folded(one): one for one in source.categories}
    alike = [
        int(k) * (folded(c) in known)
        for k, c in zip(counts, target.categories, strict=True)
    ]
    most = int(np.argmax(alike)) if alike else 0
    if 2 * sum(alike) <= counts.sum() or alike[most] < FEWEST_ROWS_TOLD:
        return _NEW_CATEGORIES, said
    other = target.categories[most]
    return _SPELLING, f"{said}: spelled {other!r} for {known[folded(other)]!r}?"


def _values(kind: str, source: Array, target: Array) -> tuple[str, str]:
    """Return whether numbers are of another unit or in another range, in words."""
    if min(source.size, target.size) < FEWEST_ROWS_TOLD:
        return _RANGE, "other values"
    times = times_larger(source, target)
    if kind == NUMBERS and times is not None:
        how_much = f"{times:.3g} times" if times > 1 else f"1/{1 / times:.3g} of"
        return _UNIT, f"about {how_much} the source's values: another unit?"
    if kind in (DATES, ZONED_DATES):
        return _RANGE, "other dates"
    low, high = np.quantile(target, [_LOW, _HIGH])
    source_low, source_high = np.quantile(source, [_LOW, _HIGH])
    return _RANGE, (
        f"mostly from {low:.4g} to {high:.4g}, in the source from {source_low:.4g} to "
        f"{source_high:.4g}"
    )


def times_larger(source: Array, target: Array) -> float | None:
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
        np.quantile(x, [_LOW, 0.25, 0.5, 0.75, _HIGH]) for x in (source, target)
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
=======
>>>>>>> wb
