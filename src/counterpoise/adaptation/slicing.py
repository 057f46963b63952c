"""By which columns the target is sliced: those that moved most."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.adaptation.inputs import n_rows
from counterpoise.adaptation.routing import rows_of
from counterpoise.diagnosis.features import table_shifts
from counterpoise.evaluation.slices import MovedColumn
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.tables.columns import two_tables
from counterpoise.tables.parts import cut_column

# Columns by which the target is sliced, and into how many parts each is cut.
MOST_COLUMNS, MOST_PARTS = 3, 4


def moved_columns(
    X: Any,
    pieces: Mapping[str, Any],
    counts: Array,
    rows: Indices,
    target_rows: Indices,
) -> list[MovedColumn]:
    """Return the columns that moved most, cut at quantiles of the target.

    Columns that cannot be cut, such as identifiers, are passed over; sparse matrices
    have none.

    Parameters
    ----------
    X : table of shape (n, d)
    pieces : the parts of the target by their names
    counts : array of shape (n,)
        What the source rows count.
    rows, target_rows : array of shape (k,), (l,)
        The rows to look at.
    """
    if any(sparse.issparse(one) for one in (X, *pieces.values())):
        return []
    rows_that_count = counts[rows]
    if not rows_that_count.any():
        return []
    source, target = two_tables(rows_of(X, rows), some_of(pieces, target_rows))
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
            most=MOST_PARTS,
            half=1.0,
        )
        if np.unique(parts.target).size > 1:
            shift = shifts[j]
            found.append(MovedColumn(shift.name, shift.kind, shift.effect, parts))
        if len(found) == MOST_COLUMNS:
            break
    return found


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
