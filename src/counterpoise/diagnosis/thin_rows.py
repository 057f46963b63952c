"""Who the thinly covered target rows are: columns and ranges, never a row."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from counterpoise.diagnosis.features import FeatureShift, column_shifts
from counterpoise.numerics.arrays import Array
from counterpoise.samples.coverage.thin_by_chance import thin_by_chance
from counterpoise.samples.effective_size import effective_sample_size
from counterpoise.samples.overlap_verdict import Overlap
from counterpoise.tables.columns import Table, TableColumn
from counterpoise.tables.kinds import CATEGORIES
from counterpoise.tables.privacy import FEWEST_ROWS_TOLD

# The range of a column is between these quantiles.
LOW, HIGH = 0.05, 0.95
# Columns that are described, and categories of each.
_COLUMNS, _CATEGORIES = 5, 3
# Columns of a hole that are named; one in more is one in all columns.
_IN_A_HOLE = 2
# A column sets rows apart from this effect on; a combination of columns may without.
_APART = 0.5


@dataclass(frozen=True)
class ThinColumn:
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
class ThinRows:
    """A description of the target rows that the source hardly covers.

    Attributes
    ----------
    n_rows : int
        How many there are among the rows scored.
    n_scored : int
        Target rows that were scored.
    columns : tuple of ThinColumn
        Those that set the rows apart the most, by effect, and those of holes; at most
        five.
    note : str
        What else there is to say; empty if nothing.
    """

    n_rows: int
    n_scored: int
    columns: tuple[ThinColumn, ...] = ()
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


def thin_rows_of(
    source: Table,
    target: Table,
    w: Array,
    v: Array,
    covered: Overlap,
    names: Sequence[str],
) -> ThinRows:
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
    chance = thin_by_chance(*(covered.units or sizes))
    thin = covered.thin_rows
    described = describe_thin_rows(
        source.take(covered.rows),
        target.take(thin),
        p / p.sum(),
        v[thin] / max(v[thin].sum(), np.finfo(float).tiny),
        n_scored=covered.rows_target.size,
        by_chance=covered.thin <= chance,
    )
    return _with_holes(described, source, target, p, v, covered, names)


def _with_holes(
    found: ThinRows,
    source: Table,
    target: Table,
    p: Array,
    v: Array,
    covered: Overlap,
    names: Sequence[str],
) -> ThinRows:
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


def describe_thin_rows(
    source: Table,
    thin: Table,
    share: Array,
    thin_share: Array,
    n_scored: int,
    by_chance: bool,
) -> ThinRows:
    """Return what sets thinly covered rows apart from the source.

    Parameters
    ----------
    source : Table
        Source rows that were scored.
    thin : Table
        The thinly covered target rows among those scored, none or some.
    share, thin_share : array of shape (n,), (k,)
        What a row counts in a mean over its sample; they sum to one.
    n_scored : int
        Target rows that were scored.
    by_chance : bool
        Whether samples drawn alike may have as many.
    """
    k = len(thin)
    if k == 0:
        return ThinRows(0, n_scored)
    if by_chance:
        note = "No more rows than chance explains: there is nothing to describe."
        return ThinRows(k, n_scored, note=note)
    if k < FEWEST_ROWS_TOLD:
        note = (
            f"Of fewer than {FEWEST_ROWS_TOLD} rows nothing is told: nobody is "
            "recognised."
        )
        return ThinRows(k, n_scored, note=note)
    shifts = column_shifts(source, thin, share, thin_share, tested=False)
    order = np.argsort([-shift.effect for shift in shifts], kind="stable")
    apart = [j for j in order[:_COLUMNS] if shifts[j].effect >= _APART]
    columns = tuple(
        _described(source.columns[j], thin.columns[j], share, thin_share, shifts[j])
        for j in apart
    )
    note = "" if columns else "No column sets them apart alone: it is a combination."
    return ThinRows(k, n_scored, columns, note)


def _described(
    source: TableColumn, thin: TableColumn, p: Array, q: Array, shift: FeatureShift
) -> ThinColumn:
    (low, high), (source_low, source_high) = _range(thin, q), _range(source, p)
    return ThinColumn(
        name=shift.name,
        kind=shift.kind,
        effect=shift.effect,
        low=low,
        high=high,
        source_low=source_low,
        source_high=source_high,
        shares=_shares(source, thin, p, q),
        missing=shift.target_missing,
        source_missing=shift.source_missing,
    )


def _shares(
    source: TableColumn, thin: TableColumn, p: Array, q: Array
) -> tuple[tuple[str, float, float], ...]:
    if thin.kind != CATEGORIES:
        return ()
    k, there = len(thin.categories), thin.values >= 0
    counts = np.bincount(thin.values[there], minlength=k)
    shares = np.bincount(thin.values[there], q[there], minlength=k)
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
        for name in [thin.categories[j]]
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
