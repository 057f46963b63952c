"""Stored columns as numbers, categories or dates: one rule for every file."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.cli.exits import BadData
from counterpoise.cli.reading.files import TableFile, import_pyarrow
from counterpoise.numerics.arrays import Array

NUMBERS, CATEGORIES, DATES = "numbers", "categories", "dates"
NOTHING = "no value"

# Strings name their rows where more than this share differ, of at least so many.
_DISTINCT, _ROWS_TO_TELL = 0.9, 20


def kind_of(table: TableFile, name: str) -> str:
    """Return what a stored column holds; refuse lists, structures and bytes."""
    types = import_pyarrow().types
    column = table.columns[name]
    if column.null_count == len(column):
        return NOTHING
    kind = column.type
    if types.is_dictionary(kind):
        kind = kind.value_type
    if (
        types.is_boolean(kind)
        or types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_duration(kind)
        or types.is_time(kind)
    ):
        return NUMBERS
    if _is_text(kind):
        return CATEGORIES
    if types.is_timestamp(kind) or types.is_date(kind):
        return DATES
    raise BadData(
        f"{table.path}, column {name!r} holds {kind}, neither numbers, strings nor "
        f"dates: --drop {name} leaves it out"
    )


def typed(table: TableFile, name: str, kind: str) -> Any:
    """Return a column as a pandas series of the kind that is wanted.

    Numbers become float64, NaN where missing; categories strings, NaN where missing;
    dates datetime64, local time if they have a zone.

    Parameters
    ----------
    table : TableFile
    name : str
    kind : {"numbers", "categories", "dates"}
        A column that holds another kind is converted if that loses nothing: anything
        to categories, strings to numbers if all of them are numbers.
    """
    import pandas

    stored = NOTHING if _is_empty(table, name) else kind_of(table, name)
    if kind == CATEGORIES:
        return pandas.Series(_texts(table, name, stored), name=name, dtype=object)
    if kind == DATES:
        return pandas.Series(_moments(table, name, stored), name=name)
    return pandas.Series(_numbers(table, name, stored), name=name)


def number_like(
    table: TableFile, name: str, most: int | None = None
) -> tuple[int, int | None]:
    """Return how many strings are numbers, and the first row that is none.

    Parameters
    ----------
    table : TableFile
    name : str
        A column of strings.
    most : int or None
        Look at so many rows only.
    """
    column = table.columns[name]
    texts = (column if most is None else column.slice(0, most)).to_pylist()
    wrong = [k for k, text in enumerate(texts) if text is not None and not _reads(text)]
    there = sum(text is not None for text in texts)
    return there - len(wrong), wrong[0] if wrong else None


def texts_differ(table: TableFile, name: str) -> bool:
    """Tell whether nearly every row has a string of its own."""
    import pyarrow.compute as compute

    column = table.columns[name]
    there = len(column) - column.null_count
    different = compute.count_distinct(column, mode="only_valid").as_py()
    return bool(there >= _ROWS_TO_TELL and different > _DISTINCT * there)


def _is_empty(table: TableFile, name: str) -> bool:
    column = table.columns[name]
    return bool(column.null_count == len(column))


def _numbers(table: TableFile, name: str, stored: str) -> Array:
    pyarrow = import_pyarrow()
    import pyarrow.compute as compute

    column = table.columns[name]
    if stored == NOTHING:
        return np.full(len(column), np.nan)
    if stored == CATEGORIES:
        _, wrong = number_like(table, name)
        if wrong is not None:
            text = column[wrong].as_py()
            raise BadData(
                f"{table.path}, {table.place(wrong)}, column {name!r}: {text!r} is no "
                "number"
            )
        texts = column.to_pylist()
        values = np.array([math.nan if t is None else float(t) for t in texts])
    elif stored == DATES:
        raise BadData(f"{table.path}, column {name!r} holds dates, not numbers")
    else:
        if pyarrow.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        per_second = 1.0
        if pyarrow.types.is_duration(column.type) or pyarrow.types.is_time(column.type):
            units = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
            per_second = units[column.type.unit]
            wide = pyarrow.types.is_duration(column.type) or column.type.bit_width == 64
            column = column.cast(pyarrow.int64() if wide else pyarrow.int32())
        column = compute.cast(column, pyarrow.float64(), safe=False)
        values = column.to_numpy().astype(np.float64) / per_second
    infinite = np.isinf(values)
    if infinite.any():
        row = int(np.argmax(infinite))
        raise BadData(
            f"{table.path}, {table.place(row)}, column {name!r} is infinite: numbers "
            "must be finite or missing"
        )
    return values


def _texts(table: TableFile, name: str, stored: str) -> NDArray[Any]:
    pyarrow = import_pyarrow()
    column = table.columns[name]
    if stored == CATEGORIES and pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if len(column) == 0:
        return np.empty(0, dtype=object)
    coded = pyarrow.chunked_array(column).combine_chunks().dictionary_encode()
    # NaN is missing too, and differs from itself; the last text is for what is missing.
    texts = np.array(
        [math.nan if v != v else _text(v) for v in coded.dictionary.to_pylist()]
        + [math.nan],
        dtype=object,
    )
    codes = coded.indices.fill_null(len(texts) - 1)
    return texts[codes.to_numpy(zero_copy_only=False)]


def _moments(table: TableFile, name: str, stored: str) -> NDArray[np.datetime64]:
    pyarrow = import_pyarrow()
    import pyarrow.compute as compute

    column = table.columns[name]
    if stored == NOTHING:
        return np.full(len(column), "NaT", dtype="M8[us]")
    if stored != DATES:
        raise BadData(f"{table.path}, column {name!r} holds {stored}, not dates")
    if getattr(column.type, "tz", None) is not None:
        column = compute.local_timestamp(column)
    column = column.cast(pyarrow.timestamp("us"), safe=False)
    return column.to_numpy().astype("M8[us]")


def _text(value: object) -> str:
    # A code is the same whether a file stored it as 7, 7.0 or "7".
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _is_text(kind: Any) -> bool:
    types = import_pyarrow().types
    view = getattr(types, "is_string_view", lambda _: False)
    return bool(types.is_string(kind) or types.is_large_string(kind) or view(kind))


def _reads(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
