"""Stored columns as numbers, categories or dates: one rule for every file."""

import math
import re

import numpy as np

from counterpoise.cli.exits import BadData
from counterpoise.cli.reading.files import TableFile
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.tables.arrow_columns import (
    kind_of_arrow,
    moments_of_arrow,
    numbers_of_arrow,
    texts_of_arrow,
)
from counterpoise.tables.column_readers import (
    column_of_codes,
    column_of_dates,
    column_of_numbers,
)
from counterpoise.tables.kinds import CATEGORIES, DATES
from counterpoise.tables.table_column import TableColumn, Times

EMPTY = "no value"

_LIKE_A_NUMBER = re.compile(
    r"\s*[$€£]?\s*[+-]?\s*[.,]?\d[\d.,'\s]*([eE][+-]?\d+)?\s*[%$€£]?\s*"
)
# Strings name their rows where more than this share differ, of at least so many.
_DISTINCT, _ROWS_TO_TELL = 0.9, 20


def kind_of(file: TableFile, name: str) -> str:
    """Return what a stored column holds; refuse lists, structures and bytes."""
    column = file.columns[name]
    if column.null_count == len(column):
        return EMPTY
    kind = kind_of_arrow(column.type)
    if kind:
        return kind
    raise BadData(
        f"{file.path}, column {name!r} holds {column.type}, neither numbers, strings "
        f"nor dates: --drop {name} leaves it out"
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
        texts, codes = texts_of_arrow(file.columns[name])
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
        values = numbers_of_arrow(column)
    infinite = np.isinf(values)
    if infinite.any():
        row = int(np.argmax(infinite))
        raise BadData(
            f"{file.path}, {file.place(row)}, column {name!r} is infinite: numbers "
            "must be finite or missing"
        )
    return values


def _moments(file: TableFile, name: str, stored: str) -> Times:
    column = file.columns[name]
    if stored == EMPTY:
        return np.full(len(column), "NaT", dtype="M8[us]")
    if stored != DATES:
        raise BadData(f"{file.path}, column {name!r} holds {stored}, not dates")
    return moments_of_arrow(column)


def _reads(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
