"""Reading pandas, polars and other data frames as columns."""

import numbers
import sys
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.linalg.arrays import Array

ENCODE = "encode it as numbers first (two samples: counterpoise.data.TableEncoder)"
COMPLEX = "Complex data not supported"


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


@dataclass(frozen=True)
class TableSeen:
    """What one look at a table says of it, its entries aside.

    Attributes
    ----------
    table : array-like, frame or sparse matrix
        What is to be read: a frame made of sparse columns is a scipy matrix.
    labels : tuple or None
        The labels of a frame's columns, strings or not.
    is_frame : bool
        Whether the table is to be read as a frame.
    """

    table: Any
    labels: Labels
    is_frame: bool


def seen(X: Any, name: str) -> TableSeen:
    """ChunkResult at a table once; refuse what no reader takes."""
    check_readable(X, name)
    labels = check_labels(X, name)
    table = sparse_part(X)
    return TableSeen(table, labels, labels is not None and table is X)


def is_frame(X: Any) -> bool:
    """Whether `X` is a pandas or polars frame."""
    return _is_pandas(X) or _is_polars(X)


def is_series(x: Any) -> bool:
    """Whether `x` is a pandas or polars series."""
    return _made_by("pandas", "Series", x) or _made_by("polars", "Series", x)


def column_labels(X: Any) -> Labels:
    """The labels of a frame's columns, strings or not; None for all but frames."""
    return tuple(X.columns) if is_frame(X) else None


def labels_of_both(X: Any, X_target: Any, name: str) -> tuple[Labels, Labels]:
    """The labels of two tables, those of the second once they are found to be good."""
    target = check_labels(X_target, name)
    return column_labels(X), target


def column_names(X: Any) -> tuple[str, ...] | None:
    """The column names of `X`, or None if it has none.

    Parameters
    ----------
    X : array, frame or sparse matrix
        Labels that are not strings are no names, as in scikit-learn.

    Returns
    -------
    tuple of str, or None

    Examples
    --------
    >>> import pandas as pd
    >>> from counterpoise.data.frames import column_names
    >>> column_names(pd.DataFrame({"a": [1.0]})), column_names([[1.0]])
    (('a',), None)
    """
    return names_among(column_labels(X))


def names_among(labels: Labels) -> tuple[str, ...] | None:
    """The labels as names; None where there are none, or one is no string."""
    if not labels or not all(isinstance(label, str) for label in labels):
        return None
    return tuple(str(label) for label in labels)


def check_labels(X: Any, name: str) -> Labels:
    """The labels of a frame's columns; duplicates and mixed types are refused."""
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


def check_readable(X: Any, name: str) -> None:
    """Refuse tables whose column names would be lost without a word."""
    if _made_by("polars", "LazyFrame", X):
        raise InvalidTypeError(
            f"{name} is a polars LazyFrame: call {name}.collect() first"
        )
    foreign = hasattr(X, "__dataframe__") or hasattr(X, "__arrow_c_stream__")
    if foreign and not is_frame(X) and not is_series(X):
        kind = f"{type(X).__module__}.{type(X).__qualname__}"
        raise InvalidTypeError(
            f"{name} must be an array, a pandas frame or a polars frame, got {kind}"
        )


def frame_columns(X: Any) -> Iterator[Column]:
    """The columns of a frame, each with its label."""
    return _pandas_columns(X) if _is_pandas(X) else _polars_columns(X)


def sparse_part(X: Any) -> Any:
    """A pandas frame made of sparse columns as a scipy matrix; else `X` itself."""
    if not _is_pandas(X) or X.shape[1] == 0:
        return X
    sparse = sys.modules["pandas"].SparseDtype
    if all(isinstance(t, sparse) and t.fill_value == 0 for t in X.dtypes):
        return X.sparse.to_coo()
    return X


def numbers_in(values: NDArray[Any]) -> Array | NotNumbers:
    """The numbers in a column of Python objects; missing values become NaN.

    Strings are no numbers, even where they look like one.
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
    """Whether `value` stands for no value: None, NaN or pandas' NA."""
    if type(value) in _missing_types():
        return True
    return isinstance(value, numbers.Real) and bool(value != value)


def first_missing(y: Any) -> int | None:
    """The first row in which a series or frame has no value."""
    if _made_by("polars", "DataFrame", y):
        missing = np.array([c.is_null().to_numpy() for c in y.get_columns()]).T
    elif _made_by("polars", "Series", y):
        missing = y.is_null().to_numpy()
    else:
        missing = y.isna().to_numpy()
    places = np.argwhere(missing)
    return int(places[0, 0]) if places.size else None


def _made_by(package: str, kind: str, X: Any) -> bool:
    # A frame can only exist if its package is loaded already.
    made = getattr(sys.modules.get(package), kind, None)
    return made is not None and isinstance(X, made)


def _is_pandas(X: Any) -> bool:
    return _made_by("pandas", "DataFrame", X)


def _is_polars(X: Any) -> bool:
    return _made_by("polars", "DataFrame", X)


def _pandas_columns(X: Any) -> Iterator[Column]:
    for label, series in X.items():
        yield label, _pandas_column(series)


def _pandas_column(series: Any) -> Array | NotNumbers:
    types = sys.modules["pandas"].api.types
    if series.dtype == object:
        return numbers_in(series.to_numpy())
    if types.is_complex_dtype(series.dtype):
        return NotNumbers(f"has dtype {series.dtype}", COMPLEX)
    if types.is_numeric_dtype(series.dtype) or types.is_bool_dtype(series.dtype):
        with np.errstate(over="ignore"):
            column: Array = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return column
    return NotNumbers(f"has dtype {series.dtype}")


def _polars_columns(X: Any) -> Iterator[Column]:
    polars = sys.modules["polars"]
    for series in X.get_columns():
        dtype = series.dtype
        # A column of type Null has no value at all: every entry is missing.
        if dtype.is_numeric() or dtype in (polars.Boolean, polars.Null):
            yield series.name, series.cast(polars.Float64).to_numpy()
        else:
            yield series.name, NotNumbers(f"has dtype {dtype.base_type().__name__}")


def _missing_types() -> set[type]:
    return {type(None), type(getattr(sys.modules.get("pandas"), "NA", None))}


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
