"""Columns of any table, each with what it holds: numbers, categories or times."""

import datetime
import decimal
import numbers
import sys
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.validation.frames import (
    check_labels,
    check_readable,
    is_frame,
    is_missing,
)
from counterpoise.validation.tables import as_matrix, plain_array

NUMBERS = "numbers"
CATEGORIES = "categories"
DATES = "dates"
ZONED_DATES = "dates with a time zone"
DURATIONS = "durations"
NOTHING = "no value at all"

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
    def missing(self) -> NDArray[np.bool_]:
        """Which rows have no value."""
        return self.values < 0 if self.kind == CATEGORIES else np.isnan(self.values)


def read_columns(X: Any, name: str = "X") -> list[TableColumn]:
    """Return the columns of a frame or an array with what they hold.

    pandas, polars and arrays of Python objects give the same columns for the same
    values. Booleans are numbers; strings and columns of a categorical type are
    categories, even where they look like numbers.

    Parameters
    ----------
    X : array-like, pandas or polars frame
        A table, a row an observation.
    name : str
        What errors call it.

    Examples
    --------
    >>> columns = read_columns([[1.5, "red"], [None, "blue"]])
    >>> [column.kind for column in columns], columns[1].categories
    (['numbers', 'categories'], ('blue', 'red'))
    """
    check_readable(X, name)
    check_labels(X, name)
    if not is_frame(X):
        columns = _array_columns(X, name)
    elif type(X).__module__.startswith("polars"):
        columns = [_polars_column(series, name) for series in X.get_columns()]
    else:
        columns = [_pandas_column(series, label, name) for label, series in X.items()]
    for column in columns:
        if column.kind == NUMBERS and np.isinf(column.values).any():
            row = int(np.argmax(np.isinf(column.values)))
            raise ValueError(
                f"column {column.label!r} of {name} is infinite in row {row} (counted "
                "from 0): numbers must be finite or missing"
            )
    return columns


def joined(pieces: Sequence[TableColumn]) -> TableColumn:
    """Return one column with the rows of all, which hold the same or nothing."""
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


def _pandas_column(series: Any, label: Hashable, name: str) -> TableColumn:
    pandas = sys.modules["pandas"]
    types, dtype = pandas.api.types, series.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        texts = [str(category) for category in series.cat.categories]
        return _categories(
            label, [None if k < 0 else texts[k] for k in series.cat.codes.tolist()]
        )
    if types.is_complex_dtype(dtype):
        raise _refused(label, name, f"has dtype {dtype}")
    if types.is_numeric_dtype(dtype) or types.is_bool_dtype(dtype):
        return _numbers(label, series.to_numpy(dtype=np.float64, na_value=np.nan))
    if isinstance(dtype, pandas.PeriodDtype):
        series = series.dt.to_timestamp()
    if types.is_datetime64_any_dtype(series.dtype):
        if series.dt.tz is None:
            return _dates(label, series.to_numpy(dtype="M8[us]"))
        local = series.dt.tz_localize(None).to_numpy(dtype="M8[us]")
        instants = series.dt.tz_convert("UTC").dt.tz_localize(None)
        return _dates(label, instants.to_numpy(dtype="M8[us]"), local)
    if types.is_timedelta64_dtype(dtype):
        return _durations(label, series.to_numpy(dtype="m8[us]"))
    return _objects(label, series.to_numpy(dtype=object), name)


def _polars_column(series: Any, name: str) -> TableColumn:
    polars = sys.modules["polars"]
    label, dtype = series.name, series.dtype
    if dtype.is_numeric() or dtype in (polars.Boolean, polars.Null):
        return _numbers(label, series.cast(polars.Float64).to_numpy())
    if dtype in (polars.String, polars.Categorical, polars.Enum):
        return _categories(label, series.cast(polars.String).to_list())
    if dtype in (polars.Date, polars.Datetime):
        local = series
        if getattr(dtype, "time_zone", None) is not None:
            local = series.dt.replace_time_zone(None)
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        moments = polars.Datetime("us")
        instants = series.cast(moments).to_numpy()
        if local is series:
            return _dates(label, instants)
        return _dates(label, instants, local.cast(moments).to_numpy())
    if dtype == polars.Duration:
        return _durations(label, series.cast(polars.Duration("us")).to_numpy())
    if dtype in (polars.Time, polars.Object):
        values = np.empty(len(series), dtype=object)
        values[:] = series.to_list()
        return _objects(label, values, name)
    raise _refused(label, name, f"has dtype {dtype.base_type().__name__}")


def _array_columns(X: Any, name: str) -> list[TableColumn]:
    values = plain_array(X, name)
    if values.ndim != 2 or 0 in values.shape or values.dtype.kind == "c":
        # The door refuses it, in its words.
        as_matrix(X, name=name)
    return [_array_column(j, values[:, j], name) for j in range(values.shape[1])]


def _array_column(j: int, values: NDArray[Any], name: str) -> TableColumn:
    kind = values.dtype.kind
    if kind in "fiub":
        return _numbers(j, values)
    if kind == "M":
        return _dates(j, values.astype("M8[us]"))
    if kind == "m":
        return _durations(j, values.astype("m8[us]"))
    if kind == "U":
        return _categories(j, values.tolist())
    if kind == "O":
        return _objects(j, values, name)
    raise _refused(j, name, f"has dtype {values.dtype}")


def _objects(label: Hashable, values: NDArray[Any], name: str) -> TableColumn:
    """Return a column of Python objects by the type that all of them have."""
    present = [None if _is_missing(value) else value for value in values]
    kinds = set(map(type, present)) - {type(None)}
    if not kinds:
        return _numbers(label, np.full(len(present), np.nan))
    if _all(kinds, str):
        return _categories(label, [v if v is None else str(v) for v in present])
    if _all(kinds, numbers.Real, decimal.Decimal, np.bool_):
        return _numbers(label, np.array([_number(v) for v in present]))
    if _all(kinds, datetime.datetime, np.datetime64) or kinds == {datetime.date}:
        return _moments(label, present, name)
    if _all(kinds, datetime.timedelta, np.timedelta64):
        return _durations(label, np.array(present, dtype="m8[us]"))
    if _all(kinds, datetime.time):
        return _numbers(label, np.array([_seconds(v) for v in present]))
    types = " and ".join(sorted(kind.__name__ for kind in kinds))
    raise _refused(label, name, f"has dtype object and holds {types}")


def _moments(label: Hashable, present: list[Any], name: str) -> TableColumn:
    zones = {getattr(v, "tzinfo", None) is not None for v in present if v is not None}
    if zones == {True}:
        utc = [
            None if v is None else v.astimezone(datetime.UTC).replace(tzinfo=None)
            for v in present
        ]
        local = [None if v is None else v.replace(tzinfo=None) for v in present]
        return _dates(label, _microseconds(utc), _microseconds(local))
    if True in zones:
        reason = "holds dates with and without a time zone"
        raise _refused(label, name, reason)
    return _dates(label, _microseconds(present))


def _microseconds(moments: Iterable[Any]) -> Times:
    return np.array([np.datetime64(m, "us") for m in moments], dtype="M8[us]")


def _numbers(label: Hashable, values: NDArray[Any]) -> TableColumn:
    with np.errstate(over="ignore"):
        column = np.ascontiguousarray(values, dtype=np.float64)
    return TableColumn(label, _or_nothing(NUMBERS, column), column)


def _durations(label: Hashable, values: NDArray[Any]) -> TableColumn:
    seconds = _as_seconds(values)
    return TableColumn(label, _or_nothing(DURATIONS, seconds), seconds)


def _dates(label: Hashable, instants: Times, local: Times | None = None) -> TableColumn:
    seconds = _as_seconds(instants)
    kind = _or_nothing(DATES if local is None else ZONED_DATES, seconds)
    return TableColumn(label, kind, seconds, local=instants if local is None else local)


def _categories(label: Hashable, texts: Sequence[str | None]) -> TableColumn:
    categories = tuple(sorted(set(texts) - {None}))  # type: ignore[type-var]
    if not categories:
        return TableColumn(label, NOTHING, np.full(len(texts), np.nan))
    place: dict[str | None, int] = {text: k for k, text in enumerate(categories)}
    place[None] = -1
    codes = np.fromiter((place[t] for t in texts), dtype=np.intp, count=len(texts))
    return TableColumn(label, CATEGORIES, codes, categories)  # type: ignore[arg-type]


def _as_seconds(values: NDArray[Any]) -> Array:
    # Microseconds in both packages, so that both round alike.
    seconds = values.astype("i8") / 1e6
    seconds[np.isnat(values)] = np.nan
    return seconds


def _or_nothing(kind: str, values: Array) -> str:
    return NOTHING if np.isnan(values).all() else kind


def _all(kinds: set[type], *allowed: type) -> bool:
    return all(issubclass(kind, allowed) for kind in kinds)


def _is_missing(value: Any) -> bool:
    times = datetime.datetime | np.datetime64 | np.timedelta64
    return is_missing(value) or (isinstance(value, times) and bool(value != value))


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _seconds(time: datetime.time | None) -> float:
    if time is None:
        return float("nan")
    minutes = 60 * time.hour + time.minute
    return (1_000_000 * (60 * minutes + time.second) + time.microsecond) / 1e6


def _refused(label: Hashable, name: str, reason: str) -> TypeError:
    return TypeError(
        f"column {label!r} of {name} {reason}: a column must hold numbers, strings, "
        "categories, dates or durations, and nothing else beside missing values"
    )
