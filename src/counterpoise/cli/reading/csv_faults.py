"""Where a CSV file is wrong: the line and the column."""

import codecs
import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from counterpoise.cli.exits import BadData
from counterpoise.cli.notices import Notice

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
