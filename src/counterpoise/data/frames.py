"""Columns of pandas, polars and pyarrow frames, read through narwhals."""

import numbers
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.linalg.arrays import Array

ENCODE = "encode it as numbers first (two samples: counterpoise.data.TableEncoder)"
COMPLEX = "Complex data not supported"

# What a user may pass as a table: an array-like, a sparse matrix, a frame of any
# supported package. These packages share no type.
TableLike: TypeAlias = Any


@dataclass(frozen=True)
class NotNumbers:
    """Why a column cannot be read as numbers, and what to do about it.

    Parameters
    ----------
    reason : str
        What the column is, as the end of a sentence that begins with its name.
    advice : str
        What to do.
    error : type of exception
        What to raise.
    """

    reason: str
    advice: str = ENCODE
    error: type[Exception] = InvalidInputError


Column: TypeAlias = tuple[Hashable, Array | NotNumbers]
Labels: TypeAlias = tuple[Hashable, ...] | None


def is_frame(X: object) -> bool:
    """Return whether `X` is a frame that is held in memory."""
    return nw.dependencies.is_into_dataframe(X)


def is_series(x: object) -> bool:
    """Return whether `x` is a series of a supported package."""
    return nw.dependencies.is_into_series(x)


def check_readable(X: TableLike, name: str) -> TableLike:
    """Return a table, a lazy polars frame collected; refuse other packages' frames."""
    if nw.dependencies.is_polars_lazyframe(X):
        return X.collect()
    foreign = hasattr(X, "__dataframe__") or hasattr(X, "__arrow_c_stream__")
    if foreign and not is_frame(X) and not is_series(X):
        kind = f"{type(X).__module__}.{type(X).__qualname__}"
        raise InvalidTypeError(
            f"{name} must be an array or a frame of pandas, polars or pyarrow, got "
            f"{kind}"
        )
    return X


def column_labels(X: TableLike) -> Labels:
    """Return the labels of a frame's columns, strings or not; None for other tables."""
    if not is_frame(X):
        return None
    # The columns of a pyarrow table are arrays.
    return tuple(getattr(X, "column_names", X.columns))


def column_names(X: TableLike) -> tuple[str, ...] | None:
    """Return the column names of `X`, or None if it has none.

    Labels that are not strings are not names, as in scikit-learn.

    Examples
    --------
    >>> import pandas as pd
    >>> from counterpoise.data.frames import column_names
    >>> column_names(pd.DataFrame({"a": [1.0]})), column_names([[1.0]])
    (('a',), None)
    """
    return string_names(column_labels(X))


def string_names(labels: Labels) -> tuple[str, ...] | None:
    """Return the labels as names; None where one is not a string."""
    if not labels or not all(isinstance(label, str) for label in labels):
        return None
    return tuple(str(label) for label in labels)


def check_labels(X: TableLike, name: str) -> Labels:
    """Return the labels of a frame's columns; refuse duplicates and mixed types."""
    labels = column_labels(X)
    if labels is None:
        return None
    first: dict[Hashable, int] = {}
    for j, label in enumerate(labels):
        if label in first:
            raise InvalidInputError(
                f"{name} has two columns named {label!r} (columns {first[label]} and "
                f"{j}): column names must be unique"
            )
        first[label] = j
    strings = [label for label in labels if isinstance(label, str)]
    others = [label for label in labels if not isinstance(label, str)]
    if strings and others:
        raise InvalidTypeError(
            f"{name} mixes column names that are strings and names that are not, "
            f"{strings[0]!r} and {others[0]!r} ({type(others[0]).__name__}): make "
            f"them all strings, {name}.columns = {name}.columns.astype(str)"
        )
    return labels


def frame_series(X: TableLike) -> Iterator[nw.Series[Any]]:
    """Return the columns of a frame as narwhals series."""
    return nw.from_native(X, eager_only=True).iter_columns()


def frame_columns(X: TableLike) -> Iterator[Column]:
    """Return the columns of a frame as numbers, each with its label."""
    return ((series.name, series_numbers(series)) for series in frame_series(X))


def series_numbers(series: nw.Series[Any]) -> Array | NotNumbers:
    """Return a series as numbers, NaN where missing, or why it does not hold any."""
    dtype = series.dtype
    if series.null_count() == len(series):
        return np.full(len(series), np.nan)
    if dtype.is_decimal() or dtype == nw.Boolean:
        series = series.cast(nw.Float64)
    elif not (dtype.is_numeric() or dtype in (nw.Object, nw.Unknown)):
        return NotNumbers(f"has dtype {native_dtype(series)}")
    values = series.to_numpy()
    if values.dtype == object and dtype == nw.Unknown:
        return NotNumbers(f"has dtype {native_dtype(series)}")
    return array_numbers(values)


def array_numbers(values: NDArray[Any]) -> Array | NotNumbers:
    """Return a column of an array as numbers, or why it does not hold any."""
    if values.dtype == object:
        return numbers_in(values)
    if values.dtype.kind == "c":
        return NotNumbers(f"has dtype {values.dtype}", COMPLEX)
    if values.dtype.kind in "fiub":
        return as_float64(values)
    return NotNumbers(f"has dtype {values.dtype}")


def as_float64(values: NDArray[Any]) -> Array:
    """Return numbers in double precision; larger ones become infinite."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(values, dtype=np.float64)


def native_dtype(series: nw.Series[Any]) -> str:
    """Return the type of a series in the words of its own package."""
    native = series.to_native()
    return str(getattr(native, "dtype", None) or native.type)


def sparse_part(X: TableLike) -> TableLike:
    """Return a pandas frame of sparse columns as a scipy matrix, else `X` itself."""
    if not nw.dependencies.is_pandas_dataframe(X) or X.shape[1] == 0:
        return X
    sparse = nw.dependencies.get_pandas().SparseDtype
    if all(isinstance(t, sparse) and t.fill_value == 0 for t in X.dtypes):
        return X.sparse.to_coo()
    return X


def numbers_in(values: NDArray[Any]) -> Array | NotNumbers:
    """Return the numbers in a column of Python objects; missing values become NaN.

    Strings are not numbers, even where they look like one.
    """
    wrong = {kind for kind in set(map(type, values)) if not _is_real(kind)}
    wrong -= _missing_types()
    if wrong:
        row = next(i for i, value in enumerate(values) if type(value) in wrong)
        return _not_a_number(values[row], row)
    present = [np.nan if is_missing(value) else value for value in values]
    try:
        return np.array(present, dtype=np.float64)
    except OverflowError:
        return NotNumbers("holds an integer too large for float64", "scale it first")


def is_missing(value: object) -> bool:
    """Return whether `value` is None, NaN or pandas' NA."""
    if type(value) in _missing_types():
        return True
    return isinstance(value, numbers.Real) and bool(value != value)


def _missing_types() -> set[type]:
    return {type(None), type(getattr(nw.dependencies.get_pandas(), "NA", None))}


def _is_real(kind: type) -> bool:
    # Decimal is a Number, but neither Real nor Complex.
    unreal = issubclass(kind, numbers.Complex) and not issubclass(kind, numbers.Real)
    return issubclass(kind, numbers.Number | np.bool_) and not unreal


def _not_a_number(value: object, row: int) -> NotNumbers:
    kind = type(value)
    where = f"row {row} (counted from 0)"
    reason = f"has dtype object and holds {kind.__name__} in {where}"
    if issubclass(kind, numbers.Complex):
        return NotNumbers(reason, COMPLEX)
    if issubclass(kind, str | bytes):
        return NotNumbers(reason)
    # scikit-learn's estimator checks look for Python's own words.
    words = f"float() argument must be a string or a real number, not '{kind.__name__}'"
    return NotNumbers(reason, f"{ENCODE} ({words})", InvalidTypeError)
