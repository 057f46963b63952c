"""From a file of any kind, or the standard input, to its columns."""

import gzip
import hashlib
import shutil
import sys
import tempfile
import zlib
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from counterpoise.cli.exits import BadData, listed
from counterpoise.cli.notices import Notice
from counterpoise.cli.reading.arrow_files import read_feather, read_parquet
from counterpoise.cli.reading.csv_faults import line_of_row
from counterpoise.cli.reading.csv_files import read_csv
from counterpoise.cli.reading.json_lines import read_json_lines
from counterpoise.cli.reading.workbooks import read_workbook
from counterpoise.cli.terminal import one_line
from counterpoise.validation import did_you_mean

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
