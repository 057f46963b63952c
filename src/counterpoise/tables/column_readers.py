"""Columns of pandas, of polars and of arrays, each with what it holds."""

import datetime
import decimal
import numbers
import sys
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.numerics.arrays import Array
from counterpoise.tables.kinds import (
    CATEGORIES,
    DATES,
    DURATIONS,
    NOTHING,
    NUMBERS,
    ZONED_DATES,
)
from counterpoise.tables.table_column import TableColumn, Times
from counterpoise.validation import InvalidType
from counterpoise.validation.frames import is_missing
from counterpoise.validation.tables import as_matrix, plain_array


def pandas_column(series: Any, label: Hashable, name: str) -> TableColumn:
    """Return a pandas series with what it holds."""
    pandas = sys.modules["pandas"]
    types, dtype = pandas.api.types, series.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        texts = [str(category) for category in series.cat.categories]
        return column_of_codes(label, texts, series.cat.codes.to_numpy())
    if types.is_complex_dtype(dtype):
        raise _refused(label, name, f"has dtype {dtype}")
    if types.is_numeric_dtype(dtype) or types.is_bool_dtype(dtype):
        return column_of_numbers(
            label, series.to_numpy(dtype=np.float64, na_value=np.nan)
        )
    if isinstance(dtype, pandas.PeriodDtype):
        series = series.dt.to_timestamp()
    if types.is_datetime64_any_dtype(series.dtype):
        if series.dt.tz is None:
            return column_of_dates(label, series.to_numpy(dtype="M8[us]"))
        local = series.dt.tz_localize(None).to_numpy(dtype="M8[us]")
        instants = series.dt.tz_convert("UTC").dt.tz_localize(None)
        return column_of_dates(label, instants.to_numpy(dtype="M8[us]"), local)
    if types.is_timedelta64_dtype(dtype):
        return _durations(label, series.to_numpy(dtype="m8[us]"))
    strings = pandas.StringDtype
    if isinstance(dtype, strings) or types.infer_dtype(series) == "string":
        codes, values = pandas.factorize(series)
        return column_of_codes(label, [str(value) for value in values], codes)
    return _objects(label, series.to_numpy(dtype=object), name)


def polars_column(series: Any, name: str) -> TableColumn:
    """Return a polars series with what it holds."""
    polars = sys.modules["polars"]
    label, dtype = series.name, series.dtype
    if dtype.is_numeric() or dtype in (polars.Boolean, polars.Null):
        return column_of_numbers(label, series.cast(polars.Float64).to_numpy())
    if dtype in (polars.String, polars.Categorical, polars.Enum):
        series = series.cast(polars.String)
        texts = sorted(series.drop_nulls().unique().to_list())
        codes = series.cast(polars.Enum(texts)).to_physical().cast(polars.Int64)
        return column_of_codes(label, texts, codes.fill_null(-1).to_numpy())
    if dtype in (polars.Date, polars.Datetime):
        local = series
        if getattr(dtype, "time_zone", None) is not None:
            local = series.dt.replace_time_zone(None)
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        moments = polars.Datetime("us")
        instants = series.cast(moments).to_numpy()
        if local is series:
            return column_of_dates(label, instants)
        return column_of_dates(label, instants, local.cast(moments).to_numpy())
    if dtype == polars.Duration:
        return _durations(label, series.cast(polars.Duration("us")).to_numpy())
    if dtype in (polars.Time, polars.Object):
        values = np.empty(len(series), dtype=object)
        values[:] = series.to_list()
        return _objects(label, values, name)
    raise _refused(label, name, f"has dtype {dtype.base_type().__name__}")


def array_columns(X: Any, name: str) -> list[TableColumn]:
    """Return the columns of an array-like with what they hold."""
    values = plain_array(X, name)
    if values.ndim != 2 or 0 in values.shape or values.dtype.kind == "c":
        # The door refuses it, in its words.
        as_matrix(X, name=name)
    return [_array_column(j, values[:, j], name) for j in range(values.shape[1])]


def _array_column(j: int, values: NDArray[Any], name: str) -> TableColumn:
    kind = values.dtype.kind
    if kind in "fiub":
        return column_of_numbers(j, values)
    if kind == "M":
        return column_of_dates(j, values.astype("M8[us]"))
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
        return column_of_numbers(label, np.full(len(present), np.nan))
    if _all(kinds, str):
        return _categories(label, [v if v is None else str(v) for v in present])
    if _all(kinds, numbers.Real, decimal.Decimal, np.bool_):
        return column_of_numbers(label, np.array([_number(v) for v in present]))
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
    if zones == {True}:
        utc = [
            None if v is None else v.astimezone(datetime.UTC).replace(tzinfo=None)
            for v in present
        ]
        local = [None if v is None else v.replace(tzinfo=None) for v in present]
        return column_of_dates(label, _microseconds(utc), _microseconds(local))
    if True in zones:
        reason = "holds dates with and without a time zone"
        raise _refused(label, name, reason)
    return column_of_dates(label, _microseconds(present))


def _microseconds(moments: Iterable[Any]) -> Times:
    return np.array([np.datetime64(m, "us") for m in moments], dtype="M8[us]")


def column_of_numbers(label: Hashable, values: NDArray[Any]) -> TableColumn:
    """Return a column of numbers, NaN where missing."""
    with np.errstate(over="ignore"):
        column = np.ascontiguousarray(values, dtype=np.float64)
    return TableColumn(label, _or_nothing(NUMBERS, column), column)


def _durations(label: Hashable, values: NDArray[Any]) -> TableColumn:
    seconds = _as_seconds(values)
    return TableColumn(label, _or_nothing(DURATIONS, seconds), seconds)


def column_of_dates(
    label: Hashable, instants: Times, local: Times | None = None
) -> TableColumn:
    """Return a column of moments, and of what the clock showed there if zoned."""
    seconds = _as_seconds(instants)
    kind = _or_nothing(DATES if local is None else ZONED_DATES, seconds)
    return TableColumn(label, kind, seconds, local=instants if local is None else local)


def _categories(label: Hashable, texts: Sequence[str | None]) -> TableColumn:
    categories = list({text for text in texts if text is not None})
    place: dict[str | None, int] = {text: k for k, text in enumerate(categories)}
    place[None] = -1
    codes = np.fromiter((place[t] for t in texts), dtype=np.intp, count=len(texts))
    return column_of_codes(label, categories, codes)


def column_of_codes(
    label: Hashable, texts: Sequence[str], codes: NDArray[Any]
) -> TableColumn:
    """Return categories from places in texts, in any order; those not used leave."""
    codes = np.asarray(codes, dtype=np.intp)
    counts = np.bincount(codes[codes >= 0], minlength=len(texts))
    used = {text for text, count in zip(texts, counts, strict=True) if count}
    if not used:
        return TableColumn(label, NOTHING, np.full(codes.size, np.nan))
    categories = tuple(sorted(used))
    place = {text: k for k, text in enumerate(categories)}
    # The last one is what the place -1 of a missing value points at.
    to = np.array([*(place.get(text, -1) for text in texts), -1], dtype=np.intp)
    return TableColumn(label, CATEGORIES, to[codes], categories)


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


def _refused(label: Hashable, name: str, reason: str) -> InvalidType:
    return InvalidType(
        f"column {label!r} of {name} {reason}: a column must hold numbers, strings, "
        "categories, dates or durations, and nothing else beside missing values"
    )
