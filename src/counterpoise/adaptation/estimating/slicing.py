"""By which columns the target is sliced: those that moved most."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.adaptation.routing import rows_of
from counterpoise.diagnosis.features import table_shifts
from counterpoise.evaluation.slices import MovedColumn
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.tables.columns import Table, two_tables
from counterpoise.tables.kinds import NOTHING
from counterpoise.tables.parts import cut_column
from counterpoise.tables.table_column import TableColumn
from counterpoise.validation import n_rows, target_pieces

# Columns by which the target is sliced, and into how many parts each is cut.
COLUMNS_SLICED, PARTS_A_COLUMN = 3, 4


def moved_columns(
    samples: SamplesAsRead,
    counts: Array,
    rows: Indices,
    target_rows: Indices,
) -> list[MovedColumn]:
    """Return the columns that moved most, cut at quantiles of the target.

    Columns that cannot be cut, such as identifiers, are passed over; sparse matrices
    have none.

    Parameters
    ----------
    samples : SamplesAsRead
    counts : array of shape (n,)
        What the source rows count.
    rows, target_rows : array of shape (k,), (l,)
        The rows to look at.
    """
    rows_that_count = counts[rows]
    if not rows_that_count.any():
        return []
    tables = _tables(samples)
    if tables is None:
        return []
    source, target = _as_read(tables[0], rows), _as_read(tables[1], target_rows)
    share = rows_that_count / rows_that_count.sum()
    target_share = np.full(target_rows.size, 1 / target_rows.size)
    shifts = table_shifts(source, target, share, target_share)
    found: list[MovedColumn] = []
    for j in np.argsort([-shift.effect for shift in shifts], kind="stable"):
        parts = cut_column(
            source.columns[j],
            target.columns[j],
            share,
            target_share,
            most=PARTS_A_COLUMN,
            half=1.0,
        )
        if np.unique(parts.target).size > 1:
            shift = shifts[j]
            found.append(MovedColumn(shift.name, shift.kind, shift.effect, parts))
        if len(found) == COLUMNS_SLICED:
            break
    return found


def _tables(samples: SamplesAsRead) -> tuple[Table, Table] | None:
    """Return both samples by columns, frames of sparse columns too."""
    if samples.tables is not None or samples.given is None:
        return samples.tables
    X, X_target = samples.given
    if any(map(sparse.issparse, (X, *target_pieces(X_target).values()))):
        return None
    return two_tables(X, X_target)


def _as_read(table: Table, rows: Indices) -> Table:
    """Return some rows as if read alone: a column without a value holds nothing."""
    if rows.size == len(table):
        return table
    taken = table.take(rows)
    columns = (
        TableColumn(c.label, NOTHING, np.full(rows.size, np.nan))
        if c.missing.all()
        else c
        for c in taken.columns
    )
    return Table(tuple(columns), taken.named)


def some_of(pieces: Mapping[str, Any], rows: Indices) -> tuple[Any, ...]:
    """Return some rows of tables that are counted one after another."""
    found, first = [], 0
    for piece in pieces.values():
        last = first + n_rows(piece)
        inside = rows[(rows >= first) & (rows < last)] - first
        if inside.size:
            found.append(rows_of(piece, inside))
        first = last
    return tuple(found)
