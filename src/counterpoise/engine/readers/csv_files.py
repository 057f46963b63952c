"""Blocks of a CSV file: pieces of about so many bytes, cut between rows."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.tables.arrow_columns import kind_of_arrow, table_of_arrow
from counterpoise.tables.columns import Table
from counterpoise.tables.kinds import NUMBERS
from counterpoise.validation import InvalidInput

_QUOTE, _NEWLINE, _RETURN = b'"'[0], b"\n"[0], b"\r"[0]


@dataclass(frozen=True, eq=False)
class CSVReader:
    """Pieces of one file, each a whole number of rows."""

    path: Path
    delimiter: str
    header: tuple[str, ...]
    labels: tuple[Hashable, ...]
    pieces: tuple[tuple[int, int], ...]
    sizes: tuple[int, ...]
    # What Arrow reads every column as: a column holds the same in all pieces.
    types: tuple[Any, ...] = ()

    @property
    def n_blocks(self) -> int:
        """How many pieces there are."""
        return len(self.pieces)

    def read(self, index: int) -> Table:
        """Return the rows of one piece."""
        found = self.arrow(index, dict(zip(self.labels, self.types, strict=True)))
        return table_of_arrow(found.select(list(self.labels)), self.place(index))

    def arrow(self, index: int, types: dict[Any, Any] | None) -> Any:
        """Return the rows of one piece as Arrow reads them."""
        from pyarrow import ArrowException, csv

        first, last = self.pieces[index]
        with self.path.open("rb") as file:
            file.seek(first)
            piece = file.read(last - first)
        try:
            return csv.read_csv(
                BytesIO(piece),
                csv.ReadOptions(use_threads=False, column_names=list(self.header)),
                csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                csv.ConvertOptions(
                    column_types=types, strings_can_be_null=True, null_values=[""]
                ),
            )
        except ArrowException as error:
            raise InvalidInput(f"{self.place(index)}: {error}") from error

    def place(self, index: int) -> str:
        """Return the file and the rows of a piece."""
        first = sum(self.sizes[:index])
        return f"{self.path}, rows {first} to {first + self.sizes[index] - 1}"


def csv_reader(
    path: Path, columns: Sequence[str] | None, n_bytes: int, delimiter: str
) -> CSVReader:
    """Return the reader of a file with a line of names at its head."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(
            "CSV files in pieces need pyarrow: pip install 'counterpoise[cli]'"
        ) from error
    if n_bytes < 1:
        raise InvalidInput(f"n_bytes must be at least 1, got {n_bytes}")
    if not path.exists():
        raise InvalidInput(f"{path} does not exist")
    body, header = _header(path, delimiter)
    pieces, sizes = _pieces(path, body, n_bytes)
    if not pieces:
        raise InvalidInput(f"{path} has no rows")
    labels = header if columns is None else tuple(columns)
    for name in labels:
        if name not in header:
            raise InvalidInput(f"{path} has no column {name!r}; it has {list(header)}")
    reader = CSVReader(path, delimiter, header, labels, pieces, sizes)
    first = reader.arrow(0, None)
    types = tuple(
        pyarrow.float64()
        if kind_of_arrow(first.schema.field(name).type) == NUMBERS
        else first.schema.field(name).type
        for name in labels
    )
    return CSVReader(path, delimiter, header, labels, pieces, sizes, types)


def _header(path: Path, delimiter: str) -> tuple[int, tuple[str, ...]]:
    """Return where the rows begin, and the names of the columns."""
    import csv

    with path.open("rb") as file:
        line = file.readline()
        body = file.tell()
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is no UTF-8: {error}") from error
    names = next(csv.reader([text], delimiter=delimiter), [])
    if not names:
        raise InvalidInput(f"{path} has no line of column names")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInput(f"{path} has the column {twice[0]!r} more than once")
    return body, tuple(names)


def _pieces(
    path: Path, body: int, n_bytes: int
) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
    """Return the ends of pieces in bytes, and their rows, in one pass.

    A line break inside quotes ends no row; lines that hold nothing are none.
    """
    ends, full = _lines(path, body)
    pieces: list[tuple[int, int]] = []
    sizes: list[int] = []
    rows = np.concatenate([[0], np.cumsum(full)])
    start, first = body, 0
    while first < ends.size:
        # The first line that ends beyond so many bytes and leaves no piece empty.
        last = int(np.searchsorted(ends, start + n_bytes))
        last = max(last, int(np.searchsorted(rows, rows[first] + 1)) - 1)
        last = min(last, ends.size - 1)
        count = int(rows[last + 1] - rows[first])
        if count:
            pieces.append((start, int(ends[last])))
            sizes.append(count)
        start, first = int(ends[last]), last + 1
    return tuple(pieces), tuple(sizes)


def _lines(path: Path, body: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return where every line ends, in bytes, and whether it holds anything."""
    ends: list[NDArray[np.int64]] = []
    returns: list[NDArray[np.bool_]] = []
    at, quotes, last = body, 0, _NEWLINE
    with path.open("rb") as file:
        file.seek(body)
        while chunk := file.read(2**22):
            raw = np.frombuffer(chunk, dtype=np.uint8)
            inside = (quotes + np.cumsum(raw == _QUOTE)) % 2
            found = np.flatnonzero((raw == _NEWLINE) & (inside == 0))
            before = np.concatenate([[last], raw[:-1]])[found]
            ends.append(at + found + 1)
            returns.append(before == _RETURN)
            quotes, last, at = int(inside[-1]), int(raw[-1]), at + len(chunk)
    stops = np.concatenate([*ends, [at]]).astype(np.int64)
    lengths = np.diff(stops, prepend=body)
    marks = np.concatenate([np.ones(stops.size - 1, dtype=np.int64), [0]])
    marks[:-1] += np.concatenate(returns) if returns else 0
    return stops, lengths > marks
