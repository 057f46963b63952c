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
from counterpoise.samples.coverage.column_apart import SeparatingColumn, column_apart
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
