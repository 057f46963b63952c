"""Tables of typed columns, read from frames and arrays."""

import datetime
import decimal
import math
import numbers
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from narwhals.dtypes import DType
from numpy.typing import NDArray

from counterpoise.data.arrays import (
    as_matrix,
    check_enough_rows,
    check_same_columns,
    plain_array,
    target_pieces,
)
from counterpoise.data.frames import (
    TableLike,
    as_float64,
    check_labels,
    check_readable,
    frame_series,
    is_missing,
    native_dtype,
)
from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.linalg.arrays import Array, Indices, match_precision

# -----------------------------------------------------------------------------
# What a column can hold: one list for frames, arrays and files.
# -----------------------------------------------------------------------------


NUMBERS = "numbers"
CATEGORIES = "categories"
DATES = "dates"
ZONED_DATES = "dates with a time zone"
DURATIONS = "durations"
NOTHING = "no value at all"


# -----------------------------------------------------------------------------
# One column of a table as plain arrays.
# -----------------------------------------------------------------------------


Times: TypeAlias = NDArray[np.datetime64]


@dataclass(frozen=True, eq=False)
class TableColumn:
    """One column of a table.

    Attributes
    ----------
    label : hashable
        Its name in a frame, its index in an array.
    kind : str
        What it holds: numbers, categories, dates, dates with a time zone, durations or
        no value at all.
    values : array of shape (n,)
        Numbers, or seconds (durations; dates since 1970, at the meridian of Greenwich
        if they have a time zone), NaN where missing. Of categories the place in
        `categories`, -1 where missing.
    categories : tuple of str
        In alphabetical order.
    local : datetime64 array or None
        Of dates, what the clock showed where they were taken.
    """

    label: Hashable
    kind: str
    values: NDArray[Any]
    categories: tuple[str, ...] = ()
    local: Times | None = None

    @property
    def name(self) -> str:
        """The label as text; an array's columns are named as scikit-learn does."""
        return self.label if isinstance(self.label, str) else f"x{self.label}"

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which rows have no value."""
        return self.values < 0 if self.kind == CATEGORIES else np.isnan(self.values)

    def with_values(self, values: NDArray[Any]) -> "TableColumn":
        """Return the column with other values; itself if they are its own."""
        return self if values is self.values else replace(self, values=values)

    def take(self, rows: Any) -> "TableColumn":
        """Return some rows, with the categories that they have."""
        values = self.values[rows]
        local = None if self.local is None else self.local[rows]
        if self.kind != CATEGORIES:
            return TableColumn(self.label, self.kind, values, local=local)
        used = np.unique(values[values >= 0])
        # The last one is what the place -1 of a missing value points at.
        place = np.full(len(self.categories) + 1, -1, dtype=np.intp)
        place[used] = np.arange(used.size)
        kept = tuple(self.categories[k] for k in used)
        return TableColumn(self.label, self.kind, place[values], kept)


def names_of(columns: Sequence[TableColumn]) -> list[str]:
    """Return the names of columns, as text."""
    return [column.name for column in columns]


def of_one_kind(
    source: TableColumn, target: TableColumn
) -> tuple[TableColumn, TableColumn, tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Return both in the form of the kind that one of them has, and what they miss."""
    kind = target.kind if source.kind == NOTHING else source.kind
    source, target = of_kind(source, kind), of_kind(target, kind)
    return source, target, (source.missing, target.missing)


def joined(pieces: Sequence[TableColumn]) -> TableColumn:
    """Return one column with the rows of all, which hold the same or nothing."""
    if len(pieces) == 1:
        return pieces[0]
    kind = next((p.kind for p in pieces if p.kind != NOTHING), NOTHING)
    pieces = [of_kind(piece, kind) for piece in pieces]
    label = pieces[0].label
    if kind == CATEGORIES:
        categories = tuple(sorted({c for piece in pieces for c in piece.categories}))
        return TableColumn(
            label,
            kind,
            np.concatenate([places_in(categories, piece) for piece in pieces]),
            categories,
        )
    values = np.concatenate([piece.values for piece in pieces])
    if kind not in (DATES, ZONED_DATES):
        return TableColumn(label, kind, values)
    local = np.concatenate([piece.local for piece in pieces if piece.local is not None])
    return TableColumn(label, kind, values, local=local)


def places_in(categories: Sequence[str], column: TableColumn) -> Indices:
    """Return the place of each row's category; -1 if missing, -2 if not there."""
    place = {category: k for k, category in enumerate(categories)}
    codes = [place.get(category, -2) for category in column.categories]
    # The last one is what the place -1 of a missing value points at.
    return np.array([*codes, -1], dtype=np.intp)[column.values]


def of_kind(column: TableColumn, kind: str) -> TableColumn:
    """Return the column; one that holds nothing in the form of a kind that does."""
    if column.kind != NOTHING or kind == NOTHING:
        return column
    n = len(column.values)
    if kind == CATEGORIES:
        return TableColumn(column.label, kind, np.full(n, -1, dtype=np.intp))
    never = np.full(n, "NaT", dtype="M8[us]") if kind in (DATES, ZONED_DATES) else None
    return TableColumn(column.label, kind, column.values, local=never)


# -----------------------------------------------------------------------------
# Columns of frames and of arrays, each with what it holds.
# -----------------------------------------------------------------------------


def kind_of_dtype(dtype: DType) -> str:
    """Return what a stored column of a narwhals type holds, "" where it is not known.

    Durations and times of the day are numbers of seconds.
    """
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return CATEGORIES
    if dtype in (nw.Datetime, nw.Date):
        return DATES
    is_number = dtype.is_numeric() or dtype in (nw.Boolean, nw.Duration, nw.Time)
    return NUMBERS if is_number else ""


def series_column(series: nw.Series[Any], name: str) -> TableColumn:
    """Return a column of a frame with what it holds."""
    label = series.name
    if getattr(getattr(series.to_native(), "type", None), "num_fields", 0):
        # narwhals walks through nested types of pyarrow, however deep they are.
        raise _refused(label, name, f"has dtype {native_dtype(series)}")
    dtype = series.dtype
    if series.null_count() == len(series):
        return column_of_numbers(label, np.full(len(series), np.nan))
    if kind_of_dtype(dtype) == CATEGORIES:
        return column_of_texts(label, series.to_list())
    if dtype == nw.Datetime and getattr(dtype, "time_zone", None) is not None:
        local = series.dt.replace_time_zone(None).to_numpy().astype("M8[us]")
        return column_of_dates(label, series.to_numpy().astype("M8[us]"), local)
    if dtype.is_nested():
        raise _refused(label, name, f"has dtype {native_dtype(series)}")
    if dtype.is_decimal() or dtype == nw.Boolean:
        series = series.cast(nw.Float64)
    return array_column(label, series.to_numpy(), name)


def array_column(label: Hashable, values: NDArray[Any], name: str) -> TableColumn:
    """Return a column of an array with what it holds."""
    kind = values.dtype.kind
    if kind in "fiub":
        return column_of_numbers(label, values)
    if kind == "M":
        return column_of_dates(label, values.astype("M8[us]"))
    if kind == "m":
        return _durations(label, values)
    if kind == "U":
        return column_of_texts(label, values.tolist())
    if kind == "O":
        return _objects(label, values, name)
    raise _refused(label, name, f"has dtype {values.dtype}")


def _objects(label: Hashable, values: NDArray[Any], name: str) -> TableColumn:
    """Return a column of Python objects by the type that all of them have."""
    present = [None if _is_missing(value) else value for value in values]
    # pandas has periods: their first moments.
    present = [getattr(v, "to_timestamp", lambda value=v: value)() for v in present]
    kinds = set(map(type, present)) - {type(None)}
    if _all(kinds, numbers.Real, decimal.Decimal, np.bool_):
        values = np.array([math.nan if v is None else float(v) for v in present])
        return column_of_numbers(label, values)
    if _all(kinds, str):
        return column_of_texts(label, present)
    if _all(kinds, datetime.datetime, np.datetime64) or kinds == {datetime.date}:
        return _moments(label, present, name)
    if _all(kinds, datetime.timedelta, np.timedelta64):
        return _durations(label, np.array(present, dtype="m8[us]"))
    if _all(kinds, datetime.time):
        return column_of_numbers(label, np.array([_seconds(v) for v in present]))
    types = " and ".join(sorted(kind.__name__ for kind in kinds))
    raise _refused(label, name, f"has dtype object and holds {types}")


def _moments(label: Hashable, present: list[Any], name: str) -> TableColumn:
    zones = {getattr(v, "tzinfo", None) is not None for v in present if v is not None}
    if zones == {False}:
        return column_of_dates(label, np.array(present, dtype="M8[us]"))
    if zones != {True}:
        raise _refused(label, name, "holds dates with and without a time zone")
    utc = [
        None if v is None else v.astimezone(datetime.UTC).replace(tzinfo=None)
        for v in present
    ]
    local = [None if v is None else v.replace(tzinfo=None) for v in present]
    moments = (np.array(one, dtype="M8[us]") for one in (utc, local))
    return column_of_dates(label, *moments)


def column_of_numbers(label: Hashable, values: NDArray[Any]) -> TableColumn:
    """Return a column of numbers, NaN where missing."""
    column = as_float64(values)
    return TableColumn(label, _or_nothing(NUMBERS, column), column)


def _durations(label: Hashable, values: NDArray[Any]) -> TableColumn:
    seconds = _as_seconds(values.astype("m8[us]"))
    return TableColumn(label, _or_nothing(DURATIONS, seconds), seconds)


def column_of_dates(
    label: Hashable, instants: Times, local: Times | None = None
) -> TableColumn:
    """Return a column of moments, with their local times if they have a time zone."""
    seconds = _as_seconds(instants)
    kind = _or_nothing(DATES if local is None else ZONED_DATES, seconds)
    return TableColumn(label, kind, seconds, local=instants if local is None else local)


def column_of_texts(label: Hashable, values: Iterable[object]) -> TableColumn:
    """Return a column of categories: the different values as texts, in order.

    A code is the same whether a file stored it as 7, 7.0 or "7".
    """
    place: dict[str, int] = {}
    codes = [
        -1
        if not isinstance(value, str) and _is_missing(value)
        else place.setdefault(_text(value), len(place))
        for value in values
    ]
    if not place:
        return TableColumn(label, NOTHING, np.full(len(codes), np.nan))
    texts = list(place)
    order = sorted(range(len(texts)), key=texts.__getitem__)
    # The last one is what the place -1 of a missing value points at.
    rank = np.append(np.argsort(order), -1)
    return TableColumn(label, CATEGORIES, rank[codes], tuple(texts[k] for k in order))


def _text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _as_seconds(values: NDArray[Any]) -> Array:
    # Microseconds in all packages, so that all round alike.
    seconds = values.astype("i8") / 1e6
    seconds[np.isnat(values)] = np.nan
    return seconds


def _or_nothing(kind: str, values: Array) -> str:
    return NOTHING if np.isnan(values).all() else kind


def _all(kinds: set[type], *allowed: type) -> bool:
    return all(issubclass(kind, allowed) for kind in kinds)


def _is_missing(value: object) -> bool:
    times = datetime.datetime | np.datetime64 | np.timedelta64
    return is_missing(value) or (isinstance(value, times) and bool(value != value))


def _seconds(time: datetime.time | None) -> float:
    if time is None:
        return math.nan
    minutes = 60 * time.hour + time.minute
    return (1_000_000 * (60 * minutes + time.second) + time.microsecond) / 1e6


def _refused(label: Hashable, name: str, reason: str) -> InvalidTypeError:
    return InvalidTypeError(
        f"column {label!r} of {name} {reason}: a column must hold numbers, strings, "
        "categories, dates or durations, and nothing else beside missing values"
    )


# -----------------------------------------------------------------------------
# Tables of any package as columns, each with what it holds.
# -----------------------------------------------------------------------------


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
    def of(cls, X: TableLike, name: str = "X") -> "Table":
        """Return a frame or an array as plain arrays; a Table as it is.

        The parts of a tuple, which hold the same, are stacked.
        """
        if not isinstance(X, tuple):
            return read_table(X, name)
        if not X:
            raise InvalidInputError(
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
        return Table(tuple(column.take(rows) for column in self.columns), self.named)


def two_tables(X: TableLike, X_target: TableLike) -> tuple[Table, Table]:
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
            values = match_precision(one.values, other.values)
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
        raise InvalidInputError(
            f"{name} has {len(table.columns)} columns, in {of} there were {width}"
        )
    if None not in (table.labels, labels) and table.labels != labels:
        raise InvalidInputError(
            f"{name} must have the columns of {of}, {list(labels or ())}, got "
            f"{list(table.labels or ())}"
        )


def read_table(X: TableLike, name: str = "X") -> Table:
    """Return a frame or an array as plain arrays; a Table as it is."""
    if isinstance(X, Table):
        return X
    X = check_readable(X, name)
    labels = check_labels(X, name)
    if labels is not None:
        columns = [series_column(series, name) for series in frame_series(X)]
    else:
        values = plain_array(X, name)
        if values.ndim != 2 or 0 in values.shape or values.dtype.kind == "c":
            # It refuses such arrays, in its words.
            as_matrix(X, name=name)
        columns = [array_column(j, column, name) for j, column in enumerate(values.T)]
    if not columns:
        as_matrix(X, name=name)
    shape = len(columns[0].values), len(columns)
    check_enough_rows(shape[0], 1, name, shape)
    for column in columns:
        if column.kind == NUMBERS and np.isinf(column.values).any():
            row = int(np.argmax(np.isinf(column.values)))
            raise InvalidInputError(
                f"column {column.label!r} of {name} is infinite in row {row} (counted "
                "from 0): numbers must be finite or missing"
            )
    return Table(tuple(columns), labels is not None)


def _check_same_kind(columns: Sequence[TableColumn], names: Sequence[str]) -> None:
    full = [k for k, column in enumerate(columns) if column.kind != NOTHING]
    for k in full[1:]:
        first, other = columns[full[0]], columns[k]
        if first.kind != other.kind:
            raise InvalidTypeError(
                f"column {columns[0].label!r} holds {first.kind} in {names[full[0]]} "
                f"and {other.kind} in {names[k]}"
            )


# -----------------------------------------------------------------------------
# A table as the pandas frame that a pipeline of scikit-learn takes.
# -----------------------------------------------------------------------------


def frame_of(table: Table, kinds: Mapping[str, str]) -> Any:
    """Return the frame: numbers as float64, texts, moments as datetime64.

    Parameters
    ----------
    table : Table
    kinds : mapping
        What each column holds in its file, also where its rows here hold nothing.
    """
    import pandas

    return pandas.DataFrame({c.name: _values(c, kinds[c.name]) for c in table.columns})


def _values(column: TableColumn, kind: str) -> Any:
    if kind == DATES:
        if column.local is not None:
            return column.local
        return np.full(len(column.values), "NaT", dtype="M8[us]")
    if kind != CATEGORIES:
        return column.values
    # The last one is what the place -1 of a missing value points at.
    texts = np.array([*column.categories, math.nan], dtype=object)
    if column.kind == NOTHING:
        return texts[np.full(len(column.values), -1)]
    return texts[column.values]
