"""Readers of CSV, Parquet, Feather, JSON-lines and Excel files as pyarrow tables.

`Blocks` and the command line share them. Errors name the file, the line and the column.
"""

import codecs
import csv
import datetime
import gzip
import io
import zlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from counterpoise.errors import InvalidInputError

if TYPE_CHECKING:
    import pyarrow

# What rows of a file are counted in: lines, rows below a header, rows.
CSV, WORKBOOK, STORED = "csv", "workbook", "stored"
# What files begin with: workbooks are archives, .xls ones documents of old.
_PARQUET, _FEATHER = (b"PAR1",), (b"ARRO", b"FEA1")
_WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
# What stands for a missing value, as in pandas.
_MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND",
    "1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
# Bytes that begin a file in another encoding than UTF-8.
_MARKS = {
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
    b"\x1f\x8b": "gzip without the ending .gz",
}
# What may stand between the columns, the likeliest first.
_DELIMITERS = (",", ";", "\t")


def import_pyarrow() -> Any:
    """Return pyarrow, or say what to install."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(
            "pyarrow is needed to read tables from files: pip install "
            "'counterpoise[cli]'"
        ) from error
    return pyarrow


def read_columns_of_file(
    path: Path, as_text: Collection[str] = ()
) -> tuple["pyarrow.Table", str, tuple[str, ...]]:
    """Return the columns of a file, what its rows are counted in, and notices.

    Parquet, Feather and workbooks are known by their first bytes, JSON lines by the
    ending .jsonl or .ndjson or a brace as the first byte; all else is CSV in UTF-8,
    with commas, semicolons or tabs between the columns.

    Parameters
    ----------
    path : Path
    as_text : strings
        Columns of a CSV file that are strings whatever they look like.
    """
    start, ending = _first_bytes(path), path.suffix.lower()
    kind = STORED
    notices: tuple[str, ...] = ()
    try:
        if start in _PARQUET:
            columns = _read_stored(path, "Parquet")
        elif ending in (".parquet", ".pq"):
            raise InvalidInputError(
                f"{path} is no Parquet file: it does not begin with PAR1"
            )
        elif start in _FEATHER:
            columns = _read_stored(path, "Feather")
        elif ending in (".jsonl", ".ndjson") or start[:1] == b"{":
            columns = _read_stored(path, "JSON lines, an object a line")
        elif start in _WORKBOOKS:
            kind, (columns, notices) = WORKBOOK, read_workbook(path)
        else:
            kind, (columns, notices) = CSV, read_csv(path, as_text)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidInputError(f"{path} cannot be unpacked: {error}") from error
    if columns.num_rows == 0:
        raise InvalidInputError(f"{path} has no rows")
    return columns, kind, notices


def _first_bytes(path: Path) -> bytes:
    if path.is_dir():
        raise InvalidInputError(f"{path} is a folder, not a file")
    try:
        if path.exists() and not path.is_file():
            raise InvalidInputError(
                f"{path} is a pipe or a device, not a file: '-' reads the standard "
                "input"
            )
        with path.open("rb") as file:
            start = file.read(4)
    except InvalidInputError:
        raise
    except ValueError as error:
        raise InvalidInputError(f"{str(path)!r} is no path: {error}") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InvalidInputError(f"{path} cannot be read: {reason}") from error
    if not start:
        raise InvalidInputError(f"{path} is empty")
    return start


def _read_stored(path: Path, kind: str) -> "pyarrow.Table":
    """Return the columns of a Parquet, Feather or JSON-lines file."""
    pyarrow = import_pyarrow()
    from pyarrow import feather, json, parquet

    try:
        # One thread: the memory of several would be given back late.
        if kind == "Parquet":
            columns = parquet.read_table(path, use_threads=False)
        elif kind == "Feather":
            columns = feather.read_table(path, use_threads=False)
        else:
            columns = json.read_json(path)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise InvalidInputError(f"{path} cannot be read as {kind}: {error}") from error
    return plain_columns(str(path), columns)


def plain_columns(place: str, columns: "pyarrow.Table") -> "pyarrow.Table":
    """Return stored columns without what only the storage needs.

    Dictionaries become their values and views of strings strings; the index that
    pandas saved is left out. Names given twice, strings that are not UTF-8 and unknown
    time zones are refused.
    """
    try:
        names = check_names(place, columns.column_names)
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{place} has a column whose name is no UTF-8"
        ) from error
    columns = columns.select(names)
    for k, name in enumerate(names):
        plain = _plain_column(f"{place}, column {name!r}", columns[name])
        if plain is not columns[name]:
            columns = columns.set_column(k, name, plain)
    return columns


def check_names(place: str, names: Sequence[str]) -> list[str]:
    """Return names of columns without pandas' index; refuse those given twice."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInputError(f"{place} has the column {twice[0]!r} more than once")
    return [name for name in names if not name.startswith("__index_level_")]


def _plain_column(place: str, column: "pyarrow.ChunkedArray") -> Any:
    """Return a column of values; refuse what cannot be read in it."""
    pyarrow = import_pyarrow()
    from pyarrow import compute, types

    try:
        column.validate(full=True)
    except pyarrow.ArrowException as error:
        raise InvalidInputError(f"{place} cannot be read: {error}") from error
    if types.is_dictionary(column.type):
        pieces = [piece.dictionary_decode() for piece in column.chunks]
        column = pyarrow.chunked_array(pieces, column.type.value_type)
    if getattr(types, "is_string_view", lambda _: False)(column.type):
        # pyarrow 16 has views of strings and no cast of them.
        column = pyarrow.chunked_array([column.to_pylist()], pyarrow.string())
    if types.is_date64(column.type):
        column = column.cast(pyarrow.timestamp("ms"))
    zone = getattr(column.type, "tz", None)
    if zone is not None:
        try:
            compute.local_timestamp(column.slice(0, 1))
        except pyarrow.ArrowException as error:
            raise InvalidInputError(
                f"{place} has the time zone {zone!r}, which is not known here"
            ) from error
    return column


# -----------------------------------------------------------------------------
# CSV files, with errors that name the line and the column.
# -----------------------------------------------------------------------------


def read_csv(
    path: Path, as_text: Collection[str] = ()
) -> tuple["pyarrow.Table", tuple[str, ...]]:
    """Return the columns of a CSV file in UTF-8, and notices about it.

    Commas, semicolons or tabs stand between the columns; where it is not commas,
    numbers may have decimal commas (`with_decimal_points`).
    """
    pyarrow = import_pyarrow()
    delimiter = delimiter_of(path)
    names, notices = _read_header(path, delimiter)
    try:
        columns = parse_csv(
            path, delimiter, dict.fromkeys(as_text, pyarrow.string()), list(_MISSING)
        )
    except (pyarrow.ArrowException, OSError, UnicodeError) as error:
        _raise_encoding_fault(path, delimiter, names)
        _raise_ragged_line(path, delimiter, len(names))
        raise InvalidInputError(f"{path} cannot be read as CSV: {error}") from error
    if any(pyarrow.types.is_binary(kind) for kind in columns.schema.types):
        _raise_encoding_fault(path, delimiter, names)
    columns = columns.rename_columns(names)
    columns = columns.select([k for k, name in enumerate(names) if name])
    if delimiter == ",":
        return columns, notices
    columns, more = with_decimal_points(path, columns, as_text)
    return columns, (*notices, *more)


def parse_csv(
    source: Path | IO[bytes],
    delimiter: str,
    types: dict[str, Any] | None,
    missing: Sequence[str] = ("",),
    names: Sequence[str] | None = None,
) -> "pyarrow.Table":
    """Return what pyarrow reads in a CSV file, or in a piece of one."""
    from pyarrow import csv as arrow_csv

    return arrow_csv.read_csv(
        source,
        arrow_csv.ReadOptions(use_threads=names is None, column_names=names),
        arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        arrow_csv.ConvertOptions(
            column_types=types, strings_can_be_null=True, null_values=missing
        ),
    )


def delimiter_of(path: Path) -> str:
    """Return what stands between the columns of the first line."""
    with _open_bytes(path) as file:
        start = file.read(1 << 20)
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            raise InvalidInputError(
                f"{path} is in {encoding}, line 1: save it in UTF-8"
            )
    first = start.lstrip().split(b"\n", 1)[0].decode("utf-8", "replace")
    return max(_DELIMITERS, key=first.count)


def line_of_row(path: Path, row: int) -> int:
    """Return the line on which a row begins; the first row follows the header."""
    left = row + 1
    for record, line in _records(path, delimiter_of(path)):
        if record:
            if left == 0:
                return line
            left -= 1
    return row + 2


def _open_bytes(path: Path) -> IO[bytes]:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return path.open("rb")


def _read_header(path: Path, delimiter: str) -> tuple[list[str], tuple[str, ...]]:
    """Return the names of the columns, and notices; refuse names given twice."""
    names = next(_records(path, delimiter), ([], 0))[0]
    if any("\ufffd" in name for name in names):
        _raise_encoding_fault(path, delimiter, names)
    if not names:
        raise InvalidInputError(f"{path} is empty")
    seen: dict[str, int] = {}
    for k, name in enumerate(names, start=1):
        if name and name in seen:
            raise InvalidInputError(
                f"{path}, line 1: columns {seen[name]} and {k} are both called {name!r}"
            )
        seen[name] = k
    nameless = [str(k) for k, name in enumerate(names, start=1) if not name]
    if len(nameless) == len(names):
        raise InvalidInputError(f"{path}, line 1: no column has a name")
    if not nameless:
        return names, ()
    notice = (
        f": column {', '.join(nameless)} has no name and is left out (an index that "
        "was saved with the table?)"
    )
    return names, (notice,)


def _raise_encoding_fault(path: Path, delimiter: str, names: Sequence[str]) -> None:
    """Raise for the first byte that is not UTF-8, if there is one."""
    with _open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                before = line[: error.start].decode("utf-8").replace("\r", " ")
                cells = next(csv.reader([before], delimiter=delimiter), [])
                column = max(len(cells), 1)
                name = f" ({names[column - 1]!r})" if column <= len(names) else ""
                raise InvalidInputError(
                    f"{path}, line {number}, column {column}{name}: byte "
                    f"0x{line[error.start]:02x} is not UTF-8: save the file in UTF-8 "
                    "(it may be in Latin-1 or Windows-1252)"
                ) from error


def _raise_ragged_line(path: Path, delimiter: str, n_columns: int) -> None:
    """Raise for the first line with other than so many columns, if there is one."""
    for record, line in _records(path, delimiter):
        if record and len(record) != n_columns:
            open_quote = any("\n" in cell for cell in record)
            hint = " (a quote that is never closed?)" if open_quote else ""
            raise InvalidInputError(
                f"{path}, line {line}: {len(record)} columns, the header has "
                f"{n_columns}{hint}"
            )


def _records(path: Path, delimiter: str) -> Iterator[tuple[list[str], int]]:
    """Return the records of a file, each with the line on which it begins."""
    with _open_bytes(path) as file:
        # Bytes that are not UTF-8 are found elsewhere, with their place.
        text = io.TextIOWrapper(file, "utf-8-sig", errors="replace", newline="")
        reader = csv.reader(text, delimiter=delimiter)
        line = 1
        try:
            for record in reader:
                yield record, line
                line = reader.line_num + 1
        except csv.Error as error:
            raise InvalidInputError(
                f"{path}, line {reader.line_num}: {error}"
            ) from error


# -----------------------------------------------------------------------------
# Numbers with decimal commas, as spreadsheets of half the world write them.
# -----------------------------------------------------------------------------


# A whole or decimal number without a group of thousands, or with points between them.
_COMMA = r"^\s*[+-]?(\d+|\d{1,3}(\.\d{3})+)?(,\d*)?([eE][+-]?\d+)?\s*$"
_DIGIT = r"\d"
# What an English reader takes for thousands: 1,234 but neither 0,125 nor 1,5.
_THOUSANDS = r"^\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*$"


def with_decimal_points(
    path: Path, columns: "pyarrow.Table", as_text: Collection[str]
) -> tuple["pyarrow.Table", tuple[str, ...]]:
    """Return the columns with numbers where strings had decimal commas.

    A column of strings holds numbers with decimal commas if every string is digits
    with at most one comma, and some have one; points may then stand between groups of
    three digits. Where every string with a comma in the whole file could also be a
    number with thousands (1,234), the file is refused.
    """
    pyarrow = import_pyarrow()
    from pyarrow import compute

    def all_match(column: Any, pattern: str) -> bool:
        return compute.all(compute.match_substring_regex(column, pattern)).as_py()

    with_commas = {}
    for name, kind in zip(columns.column_names, columns.schema.types, strict=True):
        if not pyarrow.types.is_string(kind) or name in as_text:
            continue
        column = columns[name]
        commas = column.filter(compute.match_substring(column, ","))
        if len(commas) and all_match(column, _COMMA) and all_match(column, _DIGIT):
            with_commas[name] = commas
    if not with_commas:
        return columns, ()
    if all(all_match(commas, _THOUSANDS) for commas in with_commas.values()):
        name, commas = next(iter(with_commas.items()))
        raise InvalidInputError(
            f"{path}, column {name!r}: {commas[0].as_py()!r} may be a decimal comma or "
            "thousands, and no other cell tells: save the file with decimal points, "
            f"or --categorical {name}"
        )
    for name in with_commas:
        texts = compute.utf8_trim_whitespace(columns[name])
        plain = compute.replace_substring(texts, ".", "")
        numbers = compute.replace_substring(plain, ",", ".").cast(pyarrow.float64())
        columns = columns.set_column(columns.column_names.index(name), name, numbers)
    plural = "columns" if len(with_commas) > 1 else "column"
    listed = ", ".join(map(repr, list(with_commas)[:5]))
    more = f" and {len(with_commas) - 5} more" if len(with_commas) > 5 else ""
    return columns, (
        f": decimal commas are read as such in the {plural} {listed}{more}",
    )


# -----------------------------------------------------------------------------
# Workbooks of a spreadsheet program: the first sheet, its first row the names.
# -----------------------------------------------------------------------------


def read_workbook(path: Path) -> tuple["pyarrow.Table", tuple[str, ...]]:
    """Return the columns of the first sheet, and notices about it.

    Formulas count as the values that the program saved. A column whose cells are of
    several kinds is read as strings.
    """
    try:
        import python_calamine as calamine
    except ImportError as error:
        raise ImportError(
            "python-calamine is needed to read workbooks: pip install "
            "'counterpoise[excel]'"
        ) from error
    try:
        book = calamine.CalamineWorkbook.from_path(path)
        rows = book.get_sheet_by_index(0).to_python(skip_empty_area=False)
    except (calamine.CalamineError, OSError) as error:
        raise InvalidInputError(
            f"{path} cannot be read as a workbook: {error}"
        ) from error
    sheets = book.sheet_names
    # Empty cells are read as empty strings.
    while rows and not any(cell != "" for cell in rows[-1]):
        rows.pop()
    if not rows:
        raise InvalidInputError(f"{path}, sheet {sheets[0]!r} is empty")
    columns: dict[str, Any] = {}
    for k, name in enumerate(map(str, rows[0])):
        cells = [None if row[k] == "" else row[k] for row in rows[1:]]
        if not name:
            if any(cell is not None for cell in cells):
                raise InvalidInputError(f"{path}, row 1: column {k + 1} has no name")
            continue
        if name in columns:
            raise InvalidInputError(f"{path}, row 1: two columns are called {name!r}")
        columns[name] = _sheet_column(cells)
    if not columns:
        raise InvalidInputError(f"{path}, row 1: no column has a name")
    notices: tuple[str, ...] = ()
    if len(sheets) > 1:
        notices = (f": the first of its {len(sheets)} sheets is read, {sheets[0]!r}",)
    return import_pyarrow().table(columns), notices


def _sheet_column(cells: list[Any]) -> "pyarrow.Array":
    """Return cells as numbers, moments or strings, whichever all of them are."""
    pyarrow = import_pyarrow()
    present = [cell for cell in cells if cell is not None]
    if all(isinstance(cell, bool) for cell in present):
        return pyarrow.array(cells, pyarrow.bool_())
    if all(isinstance(cell, int | float) for cell in present):
        return pyarrow.array(cells, pyarrow.float64())
    if all(isinstance(cell, datetime.date) for cell in present):
        return pyarrow.array(map(_moment, cells), pyarrow.timestamp("us"))
    # A spreadsheet has no whole numbers: 7 comes as 7.0.
    plain = [int(c) if isinstance(c, float) and c.is_integer() else c for c in cells]
    return pyarrow.array([None if cell is None else str(cell) for cell in plain])


def _moment(cell: datetime.date | None) -> datetime.datetime | None:
    if cell is None or isinstance(cell, datetime.datetime):
        return cell
    return datetime.datetime(cell.year, cell.month, cell.day)
