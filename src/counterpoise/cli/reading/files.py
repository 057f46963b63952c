"""CSV and Parquet files, with errors that name file, line and column."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterpoise.cli.exits import BadData, WrongUse, listed, one_line
from counterpoise.cli.notices import Notice
from counterpoise.cli.reading.csv_faults import (
    check_header,
    delimiter_of,
    line_of_row,
    raise_encoding_fault,
    raise_ragged_line,
)

# What stands for a missing value, as in pandas.
_MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND",
    "1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip

_WORKBOOK, _PARQUET = b"PK\x03\x04", b"PAR1"


@dataclass(frozen=True, eq=False)
class TableFile:
    """A file's columns, as they were stored.

    Attributes
    ----------
    path : Path
    columns : pyarrow.Table
    sha256 : str
        Hash of the file's bytes.
    is_csv : bool
    notices : tuple of Notice
        What the reader should know.
    """

    path: Path
    columns: Any
    sha256: str
    is_csv: bool
    notices: tuple[Notice, ...] = ()

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
        if not self.is_csv:
            return f"row {row + 1}"
        return f"line {line_of_row(self.path, row)}"

    def check_has(self, names: Collection[str], option: str) -> None:
        """Refuse names of an option that the file does not have."""
        lacking = [name for name in names if name not in self.names]
        if lacking:
            raise BadData(
                f"{self.path} has no column {listed(lacking)} ({option}); it has "
                f"{listed(self.names, 12)}"
            )


def read_file(path: str | Path, *, as_text: Collection[str] = ()) -> TableFile:
    """Return the columns of a CSV or Parquet file.

    Parameters
    ----------
    path : str or Path
        Parquet is known by its first bytes; all else is CSV in UTF-8, with commas,
        semicolons or tabs between the columns.
    as_text : strings
        Columns of a CSV file that are strings whatever they look like.
    """
    path = Path(path)
    start = _start_of(path)
    notices: tuple[Notice, ...] = ()
    if start == _PARQUET:
        columns = _read_parquet(path)
    elif path.suffix.lower() in (".parquet", ".pq"):
        raise BadData(f"{path} is no Parquet file: it does not begin with PAR1")
    elif start == _WORKBOOK:
        raise BadData(f"{path} is a workbook or an archive: save it as CSV first")
    else:
        columns, notices = _read_csv(path, as_text)
    if columns.num_rows == 0:
        raise BadData(f"{path} has no rows")
    return TableFile(path, columns, _sha256(path), start != _PARQUET, notices)


def _start_of(path: Path) -> bytes:
    if path.is_dir():
        raise BadData(f"{path} is a folder, not a file")
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise BadData(f"{path} cannot be read: {reason}") from error
    if not start:
        raise BadData(f"{path} is empty")
    return start


def _read_parquet(path: Path) -> Any:
    pyarrow = import_pyarrow()
    import pyarrow.parquet as parquet

    try:
        # One thread: the memory of several would be given back late.
        columns = parquet.read_table(path, use_threads=False)
    except (pyarrow.ArrowException, OSError) as error:
        reason = one_line(error)
        raise BadData(f"{path} cannot be read as Parquet: {reason}") from error
    names = columns.column_names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadData(f"{path} has the column {listed(twice)} more than once")
    inner = [name for name in names if name.startswith("__index_level_")]
    return columns.drop_columns(inner) if inner else columns


def _read_csv(path: Path, as_text: Collection[str]) -> tuple[Any, tuple[Notice, ...]]:
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
    return columns, notices


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
