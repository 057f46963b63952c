"""Tables of any package as columns, each with what it holds."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Array, in_one_precision
from counterpoise.tables.column_readers import (
    array_columns,
    pandas_column,
    polars_column,
)
from counterpoise.tables.kinds import NOTHING, NUMBERS
from counterpoise.tables.table_column import TableColumn, joined, take_rows
from counterpoise.validation import (
    InvalidInput,
    InvalidType,
    check_same_columns,
    target_pieces,
)
from counterpoise.validation.frames import (
    check_labels,
    check_readable,
    column_labels,
    is_frame,
)
from counterpoise.validation.tables import as_matrix, check_enough_rows

__all__ = [
    "Table",
    "TableColumn",
    "check_columns",
    "read_columns",
    "read_table",
    "two_tables",
]


@dataclass(frozen=True, eq=False)
class Table:
    """A table as plain arrays, to be kept without the frame that it came from.

    What takes a frame takes it as well: `TableEncoder`, `overlap`, `mmd`,
    `diagnose`.

    Attributes
    ----------
    columns : tuple of TableColumn
        In the order of the frame.
    named : bool
        Whether the labels are those of a frame; else they count columns.

    Examples
    --------
    >>> table = Table.of([[1.5, "red"], [None, "blue"], [2.5, "red"]])
    >>> table.shape, table.take([0, 2]).columns[1].categories
    ((3, 2), ('red',))
    """

    columns: tuple[TableColumn, ...]
    named: bool

    @classmethod
    def of(cls, X: Any, name: str = "X") -> "Table":
        """Return a frame or an array as plain arrays; a Table as it is.

        The parts of a tuple, which hold the same, are stacked.
        """
        if not isinstance(X, tuple):
            return read_table(X, name)
        if not X:
            raise InvalidInput(
                f"{name} is an empty tuple: at least one table is needed"
            )
        return two_tables(X[0], X)[1]

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns it has."""
        return len(self), len(self.columns)

    def __len__(self) -> int:
        return len(self.columns[0].values)

    @property
    def labels(self) -> tuple[Hashable, ...] | None:
        """The labels of the columns; None if they only count them."""
        return tuple(c.label for c in self.columns) if self.named else None

    @property
    def is_plain(self) -> bool:
        """Whether it holds finite numbers and nothing else."""
        return all(
            column.kind == NUMBERS and not np.isnan(column.values).any()
            for column in self.columns
        )

    def matrix(self) -> Array:
        """Return the values, a row an observation; of categories their places."""
        matrix = np.empty(self.shape)
        for j, column in enumerate(self.columns):
            matrix[:, j] = column.values
        return matrix

    def take(self, rows: Any) -> "Table":
        """Return some rows, by their indices or a mask.

        Of categories only those stay that the rows have.
        """
        rows = np.asarray(rows)
        if rows.dtype != bool:
            rows = rows.astype(np.intp, casting="same_kind" if rows.size else "unsafe")
        return Table(take_rows(self.columns, rows), self.named)


def read_columns(X: Any, name: str = "X") -> list[TableColumn]:
    """Return the columns of a frame, an array or a Table with what they hold.

    pandas, polars and arrays of Python objects give the same columns for the same
    values. Booleans are numbers; strings and columns of a categorical type are
    categories, even where they look like numbers.

    Parameters
    ----------
    X : array-like, pandas or polars frame, or Table
        A table, a row an observation.
    name : str
        What errors call it.

    Examples
    --------
    >>> columns = read_columns([[1.5, "red"], [None, "blue"]])
    >>> [column.kind for column in columns], columns[1].categories
    (['numbers', 'categories'], ('blue', 'red'))
    """
    return list(read_table(X, name).columns)


def two_tables(X: Any, X_target: Any) -> tuple[Table, Table]:
    """Return source and target as tables with the same columns of the same kinds.

    Parameters
    ----------
    X : array-like, pandas or polars frame, or Table
        The source rows.
    X_target : the same, or a tuple of such
        The target rows; the parts of a tuple are stacked.

    Examples
    --------
    >>> _, target = two_tables([["a"]], ([["b"]], [["c"]]))
    >>> target.columns[0].categories
    ('b', 'c')
    """
    source = read_table(X, "X")
    pieces = target_pieces(X_target)
    targets = []
    for name, piece in pieces.items():
        if isinstance(X, Table) or isinstance(piece, Table):
            target = read_table(piece, name)
            check_columns(target, source.labels, len(source.columns), name, "X")
        else:
            check_same_columns(X, piece, name=name)
            target = read_table(piece, name)
        targets.append(target)
    before, stacked = [], []
    for columns in zip(source.columns, *(t.columns for t in targets), strict=True):
        _check_same_kind(columns, ["X", *pieces])
        one, other = columns[0], joined(columns[1:])
        if one.kind == other.kind == NUMBERS:
            values = in_one_precision(one.values, other.values)
            one, other = one.with_values(values[0]), other.with_values(values[1])
        before.append(one)
        stacked.append(other)
    target = Table(tuple(stacked), all(t.named for t in targets))
    return Table(tuple(before), source.named), target


def check_columns(
    table: Table,
    labels: tuple[Hashable, ...] | None,
    width: int,
    name: str = "X",
    of: str = "fit",
) -> None:
    """Refuse a table with other columns than `of` had; None matches by position."""
    if len(table.columns) != width:
        raise InvalidInput(
            f"{name} has {len(table.columns)} columns, in {of} there were {width}"
        )
    if None not in (table.labels, labels) and table.labels != labels:
        raise InvalidInput(
            f"{name} must have the columns of {of}, {list(labels or ())}, got "
            f"{list(table.labels or ())}"
        )


def read_table(X: Any, name: str = "X") -> Table:
    """Return a frame or an array as plain arrays; a Table as it is."""
    if isinstance(X, Table):
        return X
    check_readable(X, name)
    check_labels(X, name)
    if not is_frame(X):
        columns = array_columns(X, name)
    elif type(X).__module__.startswith("polars"):
        columns = [polars_column(series, name) for series in X.get_columns()]
    else:
        columns = [pandas_column(series, label, name) for label, series in X.items()]
    if not columns:
        # The door refuses it, in its words.
        as_matrix(X, name=name)
    shape = len(columns[0].values), len(columns)
    check_enough_rows(shape[0], 1, name, shape)
    for column in columns:
        if column.kind == NUMBERS and np.isinf(column.values).any():
            row = int(np.argmax(np.isinf(column.values)))
            raise InvalidInput(
                f"column {column.label!r} of {name} is infinite in row {row} (counted "
                "from 0): numbers must be finite or missing"
            )
    return Table(tuple(columns), column_labels(X) is not None)


def _check_same_kind(columns: Sequence[TableColumn], names: Sequence[str]) -> None:
    full = [k for k, column in enumerate(columns) if column.kind != NOTHING]
    for k in full[1:]:
        first, other = columns[full[0]], columns[k]
        if first.kind != other.kind:
            raise InvalidType(
                f"column {columns[0].label!r} holds {first.kind} in {names[full[0]]} "
                f"and {other.kind} in {names[k]}"
            )
