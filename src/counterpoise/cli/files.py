"""Readers of CSV, Parquet, Feather, JSON lines and Excel files."""

import codecs
import csv
import datetime
import gzip
import hashlib
import io
import math
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from counterpoise.cli.terminal import BadData, Notice, WrongUse, listed, one_line
from counterpoise.data.parameters import did_you_mean
from counterpoise.data.table import (
    CATEGORIES,
    DATES,
    TableColumn,
    Times,
    column_of_codes,
    column_of_dates,
    column_of_numbers,
    kind_of_arrow,
    moments_of_arrow,
    numbers_of_arrow,
    texts_of_arrow,
)
from counterpoise.linalg.arrays import Array, Indices

# -----------------------------------------------------------------------------
# Packages that reading needs, imported when a table is read.
# -----------------------------------------------------------------------------


def import_pyarrow() -> Any:
    """Return pyarrow, or say what to install."""
    try:
        import pandas  # noqa: F401
        import pyarrow
        import pyarrow.types
    except ImportError as error:
        raise WrongUse(
            f"{error.name} is needed to read tables: pip install 'counterpoise[cli]'"
        ) from error
    return pyarrow


def import_calamine() -> Any:
    """Return python_calamine, or say what to install."""
    try:
        import python_calamine
    except ImportError as error:
        raise WrongUse(
            "python-calamine is needed to read workbooks: pip install "
            "'counterpoise[excel]'"
        ) from error
    return python_calamine


# -----------------------------------------------------------------------------
# Parquet and Feather files, with errors that name file and column.
# -----------------------------------------------------------------------------


def read_parquet(path: Path) -> Any:
    """Return the columns of a Parquet file."""
    pyarrow = import_pyarrow()
    import pyarrow.parquet as parquet

    try:
        # One thread: the memory of several would be given back late.
        columns = parquet.read_table(path, use_threads=False)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = one_line(error)
        raise BadData(f"{path} cannot be read as Parquet: {reason}") from error
    return plain_columns(path, columns)


def read_feather(path: Path) -> Any:
    """Return the columns of a Feather file (Arrow's IPC format)."""
    pyarrow = import_pyarrow()
    from pyarrow import feather

    try:
        columns = feather.read_table(path, use_threads=False)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = one_line(error)
        raise BadData(f"{path} cannot be read as Feather: {reason}") from error
    return plain_columns(path, columns)


def plain_columns(path: Path, columns: Any) -> Any:
    """Return stored columns without what only the storage needs.

    Dictionaries become their values and views of strings strings; the index that
    pandas saved is left out. Names given twice, strings that are no UTF-8 and time
    zones that nobody knows are refused.
    """
    try:
        names = columns.column_names
    except UnicodeDecodeError as error:
        raise BadData(f"{path} has a column whose name is no UTF-8") from error
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadData(f"{path} has the column {listed(twice)} more than once")
    inner = [name for name in names if name.startswith("__index_level_")]
    columns = columns.drop_columns(inner) if inner else columns
    for k, name in enumerate(columns.column_names):
        column = columns[name]
        plain = _plain(path, name, column)
        if plain is not column:
            columns = columns.set_column(k, name, plain)
    return columns


def _plain(path: Path, name: str, column: Any) -> Any:
    """Return a column of values; refuse what cannot be read in it."""
    pyarrow = import_pyarrow()
    import pyarrow.compute as compute

    types = pyarrow.types
    where = f"{path}, column {name!r}"
    try:
        column.validate(full=True)
    except pyarrow.ArrowException as error:
        raise BadData(f"{where} cannot be read: {one_line(error)}") from error
    if types.is_dictionary(column.type):
        column = _decoded(column)
    if getattr(types, "is_string_view", lambda _: False)(column.type):
        # pyarrow 16 has views of strings and no cast of them.
        column = pyarrow.chunked_array([column.to_pylist()], pyarrow.string())
    zone = getattr(column.type, "tz", None)
    if zone is not None:
        try:
            compute.local_timestamp(column.slice(0, 1))
        except pyarrow.ArrowException as error:
            raise BadData(
                f"{where} has the time zone {zone!r}, which is not known here"
            ) from error
    return column


def _decoded(column: Any) -> Any:
    """Return the values of a dictionary column, whatever type its codes have."""
    pyarrow = import_pyarrow()
    pieces = [piece.dictionary_decode() for piece in column.chunks]
    return pyarrow.chunked_array(pieces, column.type.value_type)


# -----------------------------------------------------------------------------
# Where a CSV file is wrong: the line and the column.
# -----------------------------------------------------------------------------


_CHUNK = 1 << 20
# Bytes that begin a file in another encoding than UTF-8.
_MARKS = {
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
    b"\x1f\x8b": "gzip without the ending .gz",
}
# What may stand between the columns, the likeliest first.
_DELIMITERS = (",", ";", "\t")


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file, or what is packed in it."""
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return path.open("rb")


def delimiter_of(path: Path) -> str:
    """Return what stands between the columns of the first line."""
    with open_bytes(path) as file:
        start = file.read(_CHUNK)
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            raise BadData(f"{path} is in {encoding}, line 1: save it in UTF-8")
    first = start.lstrip().split(b"\n", 1)[0].decode("utf-8", "replace")
    return max(_DELIMITERS, key=first.count)


def check_header(path: Path, delimiter: str) -> tuple[list[str], tuple[Notice, ...]]:
    """Return the names of the columns, and what was odd; refuse names given twice."""
    names = next(_records(path, delimiter), ([], 0))[0]
    if any("\ufffd" in name for name in names):
        raise_encoding_fault(path, delimiter, names)
    if not names:
        raise BadData(f"{path} is empty")
    seen: dict[str, int] = {}
    for k, name in enumerate(names, start=1):
        if name and name in seen:
            raise BadData(
                f"{path}, line 1: columns {seen[name]} and {k} are both called {name!r}"
            )
        seen[name] = k
    nameless = [str(k) for k, name in enumerate(names, start=1) if not name]
    if not nameless:
        return names, ()
    if len(nameless) == len(names):
        raise BadData(f"{path}, line 1: no column has a name")
    return names, (
        Notice(
            path,
            f": column {', '.join(nameless)} has no name and is left out (an index "
            "that was saved with the table?)",
        ),
    )


def raise_encoding_fault(path: Path, delimiter: str, names: Sequence[str]) -> None:
    """Raise for the first byte that is no UTF-8, if there is one."""
    with open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                before = line[: error.start].decode("utf-8")
                column = _cells_in(before, delimiter)
                name = f" ({names[column - 1]!r})" if column <= len(names) else ""
                raise BadData(
                    f"{path}, line {number}, column {column}{name}: byte "
                    f"0x{line[error.start]:02x} is not UTF-8: save the file in UTF-8 "
                    "(it may be in Latin-1 or Windows-1252)"
                ) from error


def _cells_in(start: str, delimiter: str) -> int:
    """Return how many cells the start of a line has, one at least."""
    try:
        return max(len(next(csv.reader([start], delimiter=delimiter), [])), 1)
    except csv.Error:
        # A carriage return in the middle of it, say.
        return start.count(delimiter) + 1


def raise_ragged_line(path: Path, delimiter: str, n_columns: int) -> None:
    """Raise for the first line with other than so many columns, if there is one."""
    for record, line in _records(path, delimiter):
        if record and len(record) != n_columns:
            open_quote = any("\n" in cell for cell in record)
            hint = " (a quote that is never closed?)" if open_quote else ""
            raise BadData(
                f"{path}, line {line}: {len(record)} columns, the header has "
                f"{n_columns}{hint}"
            )


def line_of_row(path: Path, row: int) -> int:
    """Return the line on which a row begins; the first row follows the header."""
    left = row + 1
    for record, line in _records(path, delimiter_of(path)):
        if record:
            if left == 0:
                return line
            left -= 1
    return row + 2


def _records(path: Path, delimiter: str) -> Iterator[tuple[list[str], int]]:
    """Return the records of a file, each with the line on which it begins."""
    with open_bytes(path) as file:
        # Bytes that are no UTF-8 are found elsewhere, with their place.
        text = io.TextIOWrapper(file, "utf-8-sig", errors="replace", newline="")
        reader = csv.reader(text, delimiter=delimiter)
        line = 1
        while True:
            try:
                record = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise BadData(f"{path}, line {reader.line_num}: {error}") from error
            yield record, line
            line = reader.line_num + 1


# -----------------------------------------------------------------------------
# Numbers with decimal commas, as spreadsheets of half the world write them.
# -----------------------------------------------------------------------------


# A whole or decimal number without a group of thousands, or with points between them.
_COMMA = r"^\s*[+-]?(\d+|\d{1,3}(\.\d{3})+)?(,\d*)?([eE][+-]?\d+)?\s*$"
_DIGIT = r"\d"
# What an English reader takes for thousands: 1,234 but neither 0,125 nor 1,5.
_THOUSANDS = r"^\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*$"


def with_points(
    path: Path, columns: Any, as_text: Collection[str]
) -> tuple[Any, tuple[Notice, ...]]:
    """Return the columns with numbers where strings had decimal commas.

    A column of strings holds numbers with decimal commas if every string is digits
    with at most one comma, and some have one; points may then stand between groups of
    three digits. Where every string with a comma in the whole file could also be a
    number with thousands (1,234), nobody can tell which is meant, and it is refused.

    Parameters
    ----------
    path : Path
        Of the file, for messages.
    columns : pyarrow.Table
        As read, with points as decimal points.
    as_text : strings
        Columns that stay as they are.
    """
    pyarrow = import_pyarrow()
    import pyarrow.compute as compute

    found = [
        name
        for name, kind in zip(columns.column_names, columns.schema.types, strict=True)
        if pyarrow.types.is_string(kind)
        and name not in as_text
        and _has_decimal_commas(columns[name])
    ]
    if not found:
        return columns, ()
    if all(_may_be_thousands(columns[name]) for name in found):
        one = columns[found[0]]
        text = one.filter(compute.match_substring(one, ","))[0].as_py()
        raise BadData(
            f"{path}, column {found[0]!r}: {text!r} may be a decimal comma or "
            f"thousands, and no other cell tells: save the file with decimal points, "
            f"or --categorical {found[0]}"
        )
    for name in found:
        texts = compute.utf8_trim_whitespace(columns[name])
        plain = compute.replace_substring(texts, ".", "")
        numbers = compute.replace_substring(plain, ",", ".").cast(pyarrow.float64())
        place = columns.column_names.index(name)
        columns = columns.set_column(place, name, numbers)
    plural = "columns" if len(found) > 1 else "column"
    told = f": decimal commas are read as such in the {plural} {listed(found)}"
    return columns, (Notice(path, told),)


def _has_decimal_commas(column: Any) -> bool:
    import pyarrow.compute as compute

    like = compute.and_(
        compute.match_substring_regex(column, _COMMA),
        compute.match_substring_regex(column, _DIGIT),
    )
    return bool(compute.all(like).as_py() and compute.any(_with_commas(column)).as_py())


def _may_be_thousands(column: Any) -> bool:
    import pyarrow.compute as compute

    with_commas = column.filter(_with_commas(column))
    return bool(
        compute.all(compute.match_substring_regex(with_commas, _THOUSANDS)).as_py()
    )


def _with_commas(column: Any) -> Any:
    import pyarrow.compute as compute

    return compute.match_substring(column, ",")


# -----------------------------------------------------------------------------
# Workbooks of a spreadsheet program: the first sheet, its first row the names.
# -----------------------------------------------------------------------------


# What an empty cell is read as.
_EMPTY = ""


def read_workbook(path: Path) -> tuple[Any, tuple[Notice, ...]]:
    """Return the columns of the first sheet, and what was odd.

    Formulas count as the values that the program saved. A column whose cells are of
    several kinds is read as strings.
    """
    calamine = import_calamine()
    try:
        book = calamine.CalamineWorkbook.from_path(path)
        rows = book.get_sheet_by_index(0).to_python(skip_empty_area=False)
    except (calamine.CalamineError, OSError) as error:
        raise BadData(
            f"{path} cannot be read as a workbook: {one_line(error)}"
        ) from error
    sheets = book.sheet_names
    while rows and all(cell == _EMPTY for cell in rows[-1]):
        rows.pop()
    if not rows:
        raise BadData(f"{path}, sheet {sheets[0]!r} is empty")
    columns = _columns(path, rows)
    if len(sheets) == 1:
        return columns, ()
    told = f": the first of its {len(sheets)} sheets is read, {sheets[0]!r}"
    return columns, (Notice(path, told),)


def _columns(path: Path, rows: list[list[Any]]) -> Any:
    """Return the columns below the names in the first row."""
    columns: dict[str, Any] = {}
    for k, name in enumerate(map(str, rows[0])):
        cells = [None if row[k] == _EMPTY else row[k] for row in rows[1:]]
        if name == _EMPTY:
            if any(cell is not None for cell in cells):
                raise BadData(f"{path}, row 1: column {k + 1} has no name")
            continue
        if name in columns:
            raise BadData(f"{path}, row 1: two columns are called {name!r}")
        columns[name] = _column(cells)
    if not columns:
        raise BadData(f"{path}, row 1: no column has a name")
    return import_pyarrow().table(columns)


def _column(cells: list[Any]) -> Any:
    """Return cells as numbers, moments or strings, whichever all of them are."""
    pyarrow = import_pyarrow()
    there = [cell for cell in cells if cell is not None]
    if all(isinstance(cell, bool) for cell in there):
        return pyarrow.array(cells, pyarrow.bool_())
    if all(isinstance(cell, int | float) for cell in there):
        return pyarrow.array(cells, pyarrow.float64())
    if all(isinstance(cell, datetime.date) for cell in there):
        return pyarrow.array(map(_moment, cells), pyarrow.timestamp("us"))
    return pyarrow.array([None if cell is None else _text(cell) for cell in cells])


def _moment(cell: datetime.date | None) -> datetime.datetime | None:
    if cell is None or isinstance(cell, datetime.datetime):
        return cell
    return datetime.datetime(cell.year, cell.month, cell.day)


def _text(cell: Any) -> str:
    # A spreadsheet has no whole numbers: 7 comes as 7.0.
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


# -----------------------------------------------------------------------------
# CSV files, with errors that name file, line and column.
# -----------------------------------------------------------------------------


# What stands for a missing value, as in pandas.
_MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND",
    "1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip


def read_csv(path: Path, as_text: Collection[str]) -> tuple[Any, tuple[Notice, ...]]:
    """Return the columns of a CSV file in UTF-8, and what was odd.

    Commas, semicolons or tabs stand between the columns; where it is not commas,
    numbers may have decimal commas (`with_points`).
    """
    pyarrow = import_pyarrow()
    from pyarrow import csv

    delimiter = delimiter_of(path)
    names, notices = check_header(path, delimiter)
    try:
        columns = csv.read_csv(
            path,
            parse_options=csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True
            ),
            convert_options=csv.ConvertOptions(
                null_values=list(_MISSING),
                strings_can_be_null=True,
                column_types=dict.fromkeys(as_text, pyarrow.string()),
            ),
        )
    except (pyarrow.ArrowException, OSError, UnicodeError) as error:
        raise_encoding_fault(path, delimiter, names)
        raise_ragged_line(path, delimiter, len(names))
        reason = one_line(error)
        raise BadData(f"{path} cannot be read as CSV: {reason}") from error
    if any(pyarrow.types.is_binary(kind) for kind in columns.schema.types):
        raise_encoding_fault(path, delimiter, names)
    nameless = [k for k, name in enumerate(names) if not name]
    columns = columns.rename_columns(names)
    for k in reversed(nameless):
        columns = columns.remove_column(k)
    if delimiter == ",":
        return columns, notices
    columns, said = with_points(path, columns, as_text)
    return columns, (*notices, *said)


# -----------------------------------------------------------------------------
# Files of JSON lines: an object a row.
# -----------------------------------------------------------------------------


def read_json_lines(path: Path) -> Any:
    """Return the columns of a file with one JSON object a line."""
    pyarrow = import_pyarrow()
    from pyarrow import json

    try:
        columns = json.read_json(path)
    except (pyarrow.ArrowException, OSError) as error:
        reason = one_line(error)
        raise BadData(
            f"{path} cannot be read as JSON lines, an object a line: {reason}"
        ) from error
    return plain_columns(path, columns)


# -----------------------------------------------------------------------------
# From a file of any kind, or the standard input, to its columns.
# -----------------------------------------------------------------------------


# What `--source`, `--target` and `--table` call the standard input.
STDIN = Path("-")

# What files begin with: workbooks are archives, .xls ones documents of old.
_PARQUET, _FEATHER, _OLD_FEATHER = b"PAR1", b"ARRO", b"FEA1"
_WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
_JSON_LINES = (".jsonl", ".ndjson")
_TOLD_STDIN = Path("standard input")
_CSV, _SHEET, _STORED = "csv", "workbook", "stored"


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
    columns: Any
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

    def place(self, row: int) -> str:
        """Return where a row is, counted as an editor counts."""
        if self.kind != _CSV:
            return f"row {row + 1 + (self.kind == _SHEET)}"
        lies = self.path if self.spooled is None else Path(self.spooled.name)
        return f"line {line_of_row(lies, row)}"

    def check_has(self, names: Collection[str], option: str) -> None:
        """Refuse names of an option that the file does not have."""
        lacking = [name for name in names if name not in self.names]
        if lacking:
            raise BadData(
                f"{self.path} has no column {listed(lacking)} ({option})"
                f"{did_you_mean(lacking[0], self.names)}; it has "
                f"{listed(self.names, 12)}"
            )


def read_file(path: str | Path, *, as_text: Collection[str] = ()) -> TableFile:
    """Return the columns of a file, or of the standard input.

    Parameters
    ----------
    path : str or Path
        Parquet, Feather and workbooks are known by their first bytes, JSON lines by
        the ending .jsonl or .ndjson or a brace as the first byte; all else is CSV in
        UTF-8, with commas, semicolons or tabs between the columns. "-" is the standard
        input.
    as_text : strings
        Columns of a CSV file that are strings whatever they look like.
    """
    path = Path(path)
    if path != STDIN:
        return _read(path, as_text)
    spooled = tempfile.NamedTemporaryFile(prefix="counterpoise-")  # noqa: SIM115
    shutil.copyfileobj(sys.stdin.buffer, spooled)
    spooled.flush()
    try:
        table = _read(Path(spooled.name), as_text)
    except BadData as error:
        told = str(error).replace(spooled.name, str(_TOLD_STDIN))
        raise BadData(told) from error
    notices = tuple(notice.renamed(table.path, _TOLD_STDIN) for notice in table.notices)
    return replace(table, path=_TOLD_STDIN, notices=notices, spooled=spooled)


def _read(path: Path, as_text: Collection[str]) -> TableFile:
    start = _start_of(path)
    ending = path.suffix.lower()
    notices: tuple[Notice, ...] = ()
    kind = _STORED
    try:
        if start == _PARQUET:
            columns = read_parquet(path)
        elif ending in (".parquet", ".pq"):
            raise BadData(f"{path} is no Parquet file: it does not begin with PAR1")
        elif start in (_FEATHER, _OLD_FEATHER):
            columns = read_feather(path)
        elif start in _WORKBOOKS:
            kind = _SHEET
            columns, notices = read_workbook(path)
        elif ending in _JSON_LINES or start[:1] == b"{":
            columns = read_json_lines(path)
        else:
            kind = _CSV
            columns, notices = read_csv(path, as_text)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadData(f"{path} cannot be unpacked: {one_line(error)}") from error
    if columns.num_rows == 0:
        raise BadData(f"{path} has no rows")
    return TableFile(path, columns, _sha256(path), kind, notices)


def _start_of(path: Path) -> bytes:
    if path.is_dir():
        raise BadData(f"{path} is a folder, not a file")
    try:
        if path.exists() and not path.is_file():
            raise BadData(
                f"{path} is a pipe or a device, not a file: '-' reads the standard "
                "input"
            )
        with path.open("rb") as file:
            start = file.read(4)
    except ValueError as error:
        raise BadData(f"{str(path)!r} is no path: {error}") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise BadData(f"{path} cannot be read: {reason}") from error
    if not start:
        raise BadData(f"{path} is empty")
    return start


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
        ChunkResult at so many rows only.
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
