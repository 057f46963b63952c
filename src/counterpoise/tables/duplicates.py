"""How many rows of a table repeat an earlier one."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from counterpoise.numerics.row_keys import one_zero
from counterpoise.tables.columns import Table
from counterpoise.tables.kinds import CATEGORIES
from counterpoise.tables.table_column import TableColumn

Marks = NDArray[np.uint64]

# Columns after which rows without an equal are let go.
_AT_ONCE = 4
# Steele, Lea and Flood's generator (2014): every bit of the input moves all bits.
_STEP, _FIRST, _SECOND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)


def duplicate_rows(X: Any) -> int:
    r"""Return how many rows equal one before them in every column.

    Rows are told apart by marks of 64 bits, so that a million different rows count one
    too many with a chance of :math:`10^{12} / 2^{65}`; missing values are alike, and
    so are zero and negative zero. Rows that the first columns tell apart are not looked
    at further: cost O(d n log n) at most, memory O(n).

    Parameters
    ----------
    X : array-like, pandas or polars frame, sparse matrix, or Table, of shape (n, d)

    Examples
    --------
    >>> duplicate_rows([[1.0, "a"], [2.0, "a"], [1.0, "a"], [1.0, "a"]])
    2
    """
    marks = _sparse_marks(X) if sparse.issparse(X) else _table_marks(_read(X))
    return int(marks.size - np.unique(marks).size)


def _read(X: Any) -> Table:
    return X if isinstance(X, Table) else Table.of(X)


def _table_marks(table: Table) -> Marks:
    """Return marks of the rows that have an equal in all columns but the last few."""
    rows: Any = slice(None)
    marks = np.zeros(len(table), dtype=np.uint64)
    for j, column in enumerate(table.columns):
        marks = marks + _mixed(_bits(column, rows), np.uint64(j))
        if (j + 1) % _AT_ONCE == 0:
            _, place, count = np.unique(marks, return_inverse=True, return_counts=True)
            twins = np.flatnonzero(count[place] > 1)
            rows = twins if isinstance(rows, slice) else rows[twins]
            marks = marks[twins]
    return marks


def _bits(column: TableColumn, rows: Any) -> Marks:
    """Return equal numbers for equal values."""
    if column.kind == CATEGORIES:
        return column.values[rows].astype(np.int64).view(np.uint64)
    return _bits_of(column.values[rows])


def _bits_of(values: Any) -> Marks:
    numbers = one_zero(np.asarray(values, dtype=np.float64))
    # There are many ways to write NaN.
    return np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64)


def _sparse_marks(X: Any) -> Marks:
    table = sparse.csr_array(X, copy=True)
    table.sum_duplicates()
    table.eliminate_zeros()
    entries = _mixed(_bits_of(table.data), table.indices.astype(np.uint64))
    # A sum up to every entry, in whole numbers that wrap around without an error.
    before = np.concatenate([[np.uint64(0)], np.cumsum(entries, dtype=np.uint64)])
    return before[table.indptr[1:]] - before[table.indptr[:-1]]


def _mixed(bits: Marks, column: Any) -> Marks:
    with np.errstate(over="ignore"):
        marks = bits + _STEP * (column + np.uint64(1))
        marks = (marks ^ (marks >> np.uint64(30))) * _FIRST
        marks = (marks ^ (marks >> np.uint64(27))) * _SECOND
        return marks ^ (marks >> np.uint64(31))
