"""Files that the commands read, with errors that name file, row and column."""

import hashlib
import math
import re
import shutil
import sys
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from counterpoise.cli.terminal import DataError, Notice, UsageError, listed
from counterpoise.data.files import CSV, WORKBOOK, line_of_row, read_columns_of_file
from counterpoise.data.parameters import did_you_mean
from counterpoise.data.table import (
    CATEGORIES,
    DATES,
    TableColumn,
    column_of_dates,
    column_of_numbers,
    column_of_texts,
    kind_of_dtype,
    series_column,
)
from counterpoise.errors import InvalidInputError
from counterpoise.linalg.arrays import Array, Indices

if TYPE_CHECKING:
    import pyarrow

# What `--source`, `--target` and `--table` call the standard input.
STDIN = Path("-")
_STDIN_NAME = Path("standard input")

# -----------------------------------------------------------------------------
# From a file of any kind, or the standard input, to its columns.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TableFile:
    """A file's columns, as they were stored.

    Attributes
    ----------
    path : Path
        As it is told.
    columns : pyarrow.Table
    sha256 : str
        Hash of the file's bytes.
    kind : {"csv", "workbook", "stored"}
        What rows are counted in: lines, rows below a header, rows.
    notices : tuple of Notice
        What the reader should know.
    spooled : file or None
        Where the standard input lies while it is needed.
    """

    path: Path
    columns: "pyarrow.Table"
    sha256: str
    kind: str
    notices: tuple[Notice, ...] = ()
    spooled: Any = None

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.columns.column_names)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.columns.num_rows)

    def series(self, name: str) -> nw.Series[Any]:
        """Return a column as a narwhals series."""
        return nw.from_native(self.columns, eager_only=True)[name]

    def place(self, row: int) -> str:
        """Return where a row is, counted as an editor counts."""
        if self.kind != CSV:
            return f"row {row + 1 + (self.kind == WORKBOOK)}"
        lies = self.path if self.spooled is None else Path(self.spooled.name)
        return f"line {line_of_row(lies, row)}"

    def check_has(self, names: Collection[str], option: str) -> None:
        """Refuse names of an option that the file does not have."""
        lacking = [name for name in names if name not in self.names]
        if lacking:
            raise DataError(
                f"{self.path} has no column {listed(lacking)} ({option})"
                f"{did_you_mean(lacking[0], self.names)}; it has "
                f"{listed(self.names, 12)}"
            )


def read_file(path: str | Path, *, as_text: Collection[str] = ()) -> TableFile:
    """Return the columns of a file (`read_columns_of_file`), or of the standard input.

    Parameters
    ----------
    path : str or Path
        "-" is the standard input.
    as_text : strings
        Columns of a CSV file that are strings whatever they look like.
    """
    path = told = Path(path)
    spooled: Any = None
    if path == STDIN:
        spooled = tempfile.NamedTemporaryFile(prefix="counterpoise-")  # noqa: SIM115
        shutil.copyfileobj(sys.stdin.buffer, spooled)
        spooled.flush()
        path, told = Path(spooled.name), _STDIN_NAME
    try:
        columns, kind, notices = read_columns_of_file(path, as_text)
    except InvalidInputError as error:
        raise DataError(str(error).replace(str(path), str(told))) from error
    except ImportError as error:
        raise UsageError(str(error)) from error
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    told_notices = tuple(Notice(told, text) for text in notices)
    return TableFile(told, columns, sha256, kind, told_notices, spooled)


# -----------------------------------------------------------------------------
# Stored columns as numbers, categories or dates: one rule for every file.
# -----------------------------------------------------------------------------


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
    # narwhals walks through nested types, however deep they are.
    is_nested = column.type.num_fields > 0
    kind = "" if is_nested else kind_of_dtype(file.series(name).dtype)
    if kind:
        return kind
    raise DataError(
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
    chosen = slice(None) if rows is None else rows
    if kind == CATEGORIES:
        column = file.columns[name] if rows is None else file.columns[name].take(rows)
        return column_of_texts(name, column.to_pylist())
    stored = kind_of(file, name)
    if kind != DATES:
        return column_of_numbers(name, _numbers(file, name, stored)[chosen])
    if stored not in (DATES, EMPTY):
        raise DataError(f"{file.path}, column {name!r} holds {stored}, not dates")
    moments = series_column(file.series(name), str(file.path)).local
    if moments is None:
        moments = np.full(file.n_rows, "NaT", dtype="M8[us]")
    return column_of_dates(name, moments[chosen])


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
    wrong = [
        k for k, text in enumerate(texts) if text is not None and not _is_number(text)
    ]
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
    return next((row for row in like if not _is_number(texts[row])), None)


def texts_differ(file: TableFile, name: str) -> bool:
    """Tell whether nearly every row has a string of its own."""
    import pyarrow.compute as compute

    column = file.columns[name]
    there = len(column) - column.null_count
    different = compute.count_distinct(column, mode="only_valid").as_py()
    return bool(there >= _ROWS_TO_TELL and different > _DISTINCT * there)


def _numbers(file: TableFile, name: str, stored: str) -> Array:
    if stored == CATEGORIES:
        _, wrong = number_like(file, name)
        texts = file.columns[name].to_pylist()
        if wrong is not None:
            raise DataError(
                f"{file.path}, {file.place(wrong)}, column {name!r}: {texts[wrong]!r} "
                "is no number"
            )
        values = np.array([math.nan if t is None else float(t) for t in texts])
    elif stored == DATES:
        raise DataError(f"{file.path}, column {name!r} holds dates, not numbers")
    else:
        values = series_column(file.series(name), str(file.path)).values
    infinite = np.isinf(values)
    if infinite.any():
        row = int(np.argmax(infinite))
        raise DataError(
            f"{file.path}, {file.place(row)}, column {name!r} is infinite: numbers "
            "must be finite or missing"
        )
    return values


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
