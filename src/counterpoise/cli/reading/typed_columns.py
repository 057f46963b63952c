"""Stored columns as numbers, categories or dates: one rule for every file."""

import math
import re
from typing import Any

import numpy as np

from counterpoise.cli.exits import BadData
from counterpoise.cli.reading.files import TableFile
from counterpoise.cli.reading.packages import import_pyarrow
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.tables.column_readers import (
    column_of_codes,
    column_of_dates,
    column_of_numbers,
)
from counterpoise.tables.kinds import CATEGORIES, DATES, NUMBERS
from counterpoise.tables.table_column import TableColumn, Times

EMPTY = "no value"

_LIKE_A_NUMBER = re.compile(
    r"\s*[$€£]?\s*[+-]?\s*[.,]?\d[\d.,'\s]*([eE][+-]?\d+)?\s*[%$€£]?\s*"
)
# Strings name their rows where more than this share differ, of at least so many.
_DISTINCT, _ROWS_TO_TELL = 0.9, 20


def kind_of(file: TableFile, name: str) -> str:
    """Return what a stored column holds; refuse lists, structures and bytes."""
    types = import_pyarrow().types
    column = file.columns[name]
    if column.null_count == len(column):
        return EMPTY
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
        f"{file.path}, column {name!r} holds {kind}, neither numbers, strings nor "
        f"dates: --drop {name} leaves it out"
    )


def typed(
    file: TableFile, name: str, kind: str, rows: Indices | None = None
) -> TableColumn:
    """Return a stored column, or some rows of it, as the kind that is wanted.

    Parameters
    ----------
    file : TableFile
    name : str
    kind : {"numbers", "categories", "dates"}
        A column that holds another kind is converted if that loses nothing: anything
        to categories, strings to numbers if all of them are numbers. Dates are local
        time if they have a zone.
    rows : array of places or None
        None: all.
    """
    stored = EMPTY if _is_empty(file, name) else kind_of(file, name)
    if kind == CATEGORIES:
        texts, codes = _texts(file, name, stored)
        return column_of_codes(name, texts, codes if rows is None else codes[rows])
    if kind == DATES:
        moments = _moments(file, name, stored)
        return column_of_dates(name, moments if rows is None else moments[rows])
    numbers = _numbers(file, name, stored)
    return column_of_numbers(name, numbers if rows is None else numbers[rows])


def number_like(
    file: TableFile, name: str, most: int | None = None
) -> tuple[int, int | None]:
    """Return how many strings are numbers, and the first row that is none.

    Parameters
    ----------
    file : TableFile
    name : str
        A column of strings.
    most : int or None
        Look at so many rows only.
    """
    column = file.columns[name]
    texts = (column if most is None else column.slice(0, most)).to_pylist()
    wrong = [k for k, text in enumerate(texts) if text is not None and not _reads(text)]
    there = sum(text is not None for text in texts)
    return there - len(wrong), wrong[0] if wrong else None


def unlike_numbers(file: TableFile, name: str) -> int | None:
    """Return the first row that looks like a number and is none, if most look so.

    Like a number looks a string of digits with signs, points, commas, apostrophes,
    spaces, exponents, a unit of money or per cent; "most" is more than half of the
    rows with a value, numbers that can be read included.
    """
    texts = file.columns[name].to_pylist()
    there = [(row, text) for row, text in enumerate(texts) if text is not None]
    like = [row for row, text in there if _LIKE_A_NUMBER.fullmatch(text)]
    if 2 * len(like) <= len(there):
        return None
    return next((row for row in like if not _reads(texts[row])), None)


def texts_differ(file: TableFile, name: str) -> bool:
    """Tell whether nearly every row has a string of its own."""
    import pyarrow.compute as compute

    column = file.columns[name]
    there = len(column) - column.null_count
    different = compute.count_distinct(column, mode="only_valid").as_py()
    return bool(there >= _ROWS_TO_TELL and different > _DISTINCT * there)


def _is_empty(file: TableFile, name: str) -> bool:
    column = file.columns[name]
    return bool(column.null_count == len(column))


def _numbers(file: TableFile, name: str, stored: str) -> Array:
    pyarrow = import_pyarrow()
    import pyarrow.compute as compute

    column = file.columns[name]
    if stored == EMPTY:
        return np.full(len(column), np.nan)
    if stored == CATEGORIES:
        _, wrong = number_like(file, name)
        if wrong is not None:
            text = column[wrong].as_py()
            raise BadData(
                f"{file.path}, {file.place(wrong)}, column {name!r}: {text!r} is no "
                "number"
            )
        texts = column.to_pylist()
        values = np.array([math.nan if t is None else float(t) for t in texts])
    elif stored == DATES:
        raise BadData(f"{file.path}, column {name!r} holds dates, not numbers")
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
            f"{file.path}, {file.place(row)}, column {name!r} is infinite: numbers "
            "must be finite or missing"
        )
    return values


def _texts(file: TableFile, name: str, stored: str) -> tuple[list[str], Indices]:
    """Return the different texts, and each row's place among them, -1 if missing."""
    pyarrow = import_pyarrow()
    column = file.columns[name]
    if stored == CATEGORIES and pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if len(column) == 0:
        return [], np.empty(0, dtype=np.intp)
    coded = pyarrow.chunked_array(column).combine_chunks().dictionary_encode()
    values = coded.dictionary.to_pylist()
    # A code may stand for the same text in two ways; NaN is missing, and differs from
    # itself; the last place is for what is missing.
    place: dict[str, int] = {}
    to = [-1 if v != v else place.setdefault(_text(v), len(place)) for v in values]
    codes = coded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
    return list(place), np.array([*to, -1], dtype=np.intp)[codes]


def _moments(file: TableFile, name: str, stored: str) -> Times:
    pyarrow = import_pyarrow()
    import pyarrow.compute as compute

    column = file.columns[name]
    if stored == EMPTY:
        return np.full(len(column), "NaT", dtype="M8[us]")
    if stored != DATES:
        raise BadData(f"{file.path}, column {name!r} holds {stored}, not dates")
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
