"""Readers of arrays, Parquet, CSV and Dask collections in blocks."""

import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from counterpoise.data.table import (
    NUMBERS,
    Table,
    kind_of_arrow,
    read_table,
    table_of_arrow,
    without_dictionary,
)
from counterpoise.errors import InvalidInputError, InvalidTypeError

# -----------------------------------------------------------------------------
# One Parquet file, written row group by row group, there when it is complete.
# -----------------------------------------------------------------------------


class ParquetInTheMaking:
    """A Parquet file that appears when everything is in it, and else not at all.

    Parameters
    ----------
    path : str or Path
    """

    def __init__(self, path: Any) -> None:
        self.path = Path(path)
        self._beside = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        self._writer: Any = None

    def __enter__(self) -> Self:
        return self

    def add(self, columns: dict[str, Any]) -> None:
        """Write a row group."""
        import pyarrow
        from pyarrow import parquet

        table = pyarrow.table(
            {name: _plain(values) for name, values in columns.items()}
        )
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._beside, table.schema)
        self._writer.write_table(table.cast(self._writer.schema))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        complete = kind is None and self._writer is not None
        try:
            if self._writer is not None:
                self._writer.close()
                if complete:
                    os.replace(self._beside, self.path)
        finally:
            self._beside.unlink(missing_ok=True)


def _plain(values: Any) -> Any:
    return np.asarray(values) if isinstance(values, np.ndarray) else values


# -----------------------------------------------------------------------------
# Blocks of arrays, memory-mapped files and frames.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ArrayReader:
    """Rows of one array, or of an .npy file that is mapped where it is read."""

    source: Any
    n_rows: int
    rows: int
    labels: tuple[Hashable, ...] | None = None

    @classmethod
    def of(cls, X: Any, rows: int) -> "ArrayReader":
        """Return the reader of an array-like or of an .npy file's path."""
        if isinstance(X, str | Path):
            path = Path(X)
            if path.suffix != ".npy":
                raise InvalidInputError(
                    f"{path} is no .npy file: from_parquet and from_csv read others"
                )
            found = _mapped(path)
            check_matrix(found, str(path))
            return cls(path, found.shape[0], rows)
        if isinstance(X, np.memmap) and X.filename is not None and X.base is None:
            # Another process would get a copy of all rows instead of the map.
            X = np.asarray(X)
        found = np.asarray(X)
        check_matrix(found, "X")
        return cls(found, found.shape[0], rows)

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return -(-self.n_rows // self.rows)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows of every block."""
        return _sizes(self.n_rows, self.rows)

    def read(self, index: int) -> Any:
        """Return a block as a matrix of numbers."""
        first = index * self.rows
        source = _mapped(self.source) if isinstance(self.source, Path) else self.source
        return np.array(source[first : first + self.rows], dtype=np.float64)

    def place(self, index: int) -> str:
        """Return which rows a block has."""
        first = index * self.rows
        last = min(first + self.rows, self.n_rows) - 1
        of = str(self.source) if isinstance(self.source, Path) else "the array"
        return f"{of}, rows {first} to {last}"


@dataclass(frozen=True, eq=False)
class TableReader:
    """Rows of one frame."""

    table: Table
    rows: int

    @classmethod
    def of(cls, X: Any, rows: int) -> "TableReader":
        """Return the reader of a pandas or polars frame, or of a `Table`."""
        return cls(read_table(X), rows)

    @property
    def labels(self) -> tuple[Hashable, ...] | None:
        """Names of the columns."""
        return self.table.labels

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return -(-len(self.table) // self.rows)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows of every block."""
        return _sizes(len(self.table), self.rows)

    def read(self, index: int) -> Table:
        """Return some rows of the frame."""
        first = index * self.rows
        return self.table.take(
            np.arange(first, min(first + self.rows, len(self.table)))
        )

    def place(self, index: int) -> str:
        """Return which rows a block has."""
        first = index * self.rows
        last = min(first + self.rows, len(self.table)) - 1
        return f"the frame, rows {first} to {last}"


def _mapped(path: Path) -> Any:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise InvalidInputError(
            f"{path} cannot be read as an array: {error}"
        ) from error


def check_matrix(found: Any, name: str) -> None:
    """Refuse what is no matrix of numbers."""
    if found.ndim != 2 or 0 in found.shape:
        raise InvalidInputError(
            f"{name} must have rows and columns, got shape {found.shape}"
        )
    if found.dtype.kind not in "fiub":
        raise InvalidTypeError(
            f"{name} holds {found.dtype}: an array of numbers is needed; mixed columns "
            "come as a frame"
        )


def _sizes(n: int, rows: int) -> tuple[int, ...]:
    full, rest = divmod(n, rows)
    return (rows,) * full + ((rest,) if rest else ())


# -----------------------------------------------------------------------------
# Blocks that somebody's function gives.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BatchReader:
    """Block i is what ``function(i)`` gives, an array or a frame."""

    function: Callable[[int], Any]
    n_blocks: int
    labels: tuple[Hashable, ...] | None = None
    sizes: None = None

    def read(self, index: int) -> Any:
        """Return what the function gives."""
        found = self.function(index)
        if hasattr(found, "columns"):
            return read_table(found, self.place(index))
        rows = np.asarray(found)
        check_matrix(rows, self.place(index))
        return np.array(rows, dtype=np.float64)

    def place(self, index: int) -> str:
        """Return the call that gave a block."""
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"{name}({index})"


# -----------------------------------------------------------------------------
# Blocks of a CSV file: pieces of about so many bytes, cut between rows.
# -----------------------------------------------------------------------------


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
            raise InvalidInputError(f"{self.place(index)}: {error}") from error

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
        raise InvalidInputError(f"n_bytes must be at least 1, got {n_bytes}")
    if not path.exists():
        raise InvalidInputError(f"{path} does not exist")
    body, header = _header(path, delimiter)
    pieces, sizes = _pieces(path, body, n_bytes)
    if not pieces:
        raise InvalidInputError(f"{path} has no rows")
    labels = header if columns is None else tuple(columns)
    for name in labels:
        if name not in header:
            raise InvalidInputError(
                f"{path} has no column {name!r}; it has {list(header)}"
            )
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
        raise InvalidInputError(f"{path} is no UTF-8: {error}") from error
    names = next(csv.reader([text], delimiter=delimiter), [])
    if not names:
        raise InvalidInputError(f"{path} has no line of column names")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInputError(f"{path} has the column {twice[0]!r} more than once")
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


# -----------------------------------------------------------------------------
# Blocks of Dask's arrays and frames: their partitions.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DaskReader:
    """Partitions, each computed by whoever reads it."""

    partitions: tuple[Any, ...]
    sizes: tuple[int, ...] | None
    labels: tuple[Hashable, ...] | None

    @property
    def n_blocks(self) -> int:
        """How many partitions there are."""
        return len(self.partitions)

    def read(self, index: int) -> Any:
        """Return the rows of a partition."""
        found = self.partitions[index].compute(scheduler="synchronous")
        if self.labels is not None:
            return read_table(found, self.place(index))
        check_matrix(found, self.place(index))
        return np.array(found, dtype=np.float64)

    def place(self, index: int) -> str:
        """Return the number of a partition."""
        return f"Dask partition {index}"


def dask_reader(collection: Any) -> DaskReader:
    """Return the reader of a Dask array or frame."""
    parts = type(collection).__module__.split(".")
    if not parts[0].startswith("dask"):
        raise InvalidTypeError(
            f"from_dask takes a Dask array or frame, got {type(collection)}"
        )
    if hasattr(collection, "columns"):
        return DaskReader(
            tuple(collection.to_delayed()), None, tuple(collection.columns)
        )
    if collection.ndim != 2:
        raise InvalidTypeError(
            f"a Dask array must have two axes, got {collection.ndim}"
        )
    if collection.numblocks[1] != 1:
        collection = collection.rechunk({1: -1})
    known = not np.isnan(collection.chunks[0]).any()
    return DaskReader(
        tuple(collection.to_delayed().ravel()),
        tuple(int(k) for k in collection.chunks[0]) if known else None,
        None,
    )


# -----------------------------------------------------------------------------
# Blocks of Parquet files: their row groups, never a whole file.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ParquetReader:
    """Row groups of files that have the same columns."""

    groups: tuple[tuple[Path, int], ...]
    sizes: tuple[int, ...]
    labels: tuple[Hashable, ...]

    @property
    def n_blocks(self) -> int:
        """How many row groups there are."""
        return len(self.groups)

    def read(self, index: int) -> Any:
        """Return one row group."""
        return table_of_arrow(self.stored(index), self.place(index))

    def stored(self, index: int) -> Any:
        """Return one row group as it is stored, a `pyarrow.Table`."""
        from pyarrow import parquet

        path, group = self.groups[index]
        # One thread: the memory of several would be given back late.
        with parquet.ParquetFile(path) as file:
            found = file.read_row_group(
                group, columns=list(self.labels), use_threads=False
            )
        return found.select(list(self.labels))

    @property
    def files(self) -> tuple[Path, ...]:
        """The files, in order."""
        return tuple(dict.fromkeys(path for path, _ in self.groups))

    def place(self, index: int) -> str:
        """Return the file and the number of the row group."""
        path, group = self.groups[index]
        return f"{path}, row group {group}"


@dataclass(frozen=True, eq=False)
class StoredReader(ParquetReader):
    """The same row groups as they are stored."""

    def read(self, index: int) -> Any:
        """Return one row group, dictionaries written out."""
        found = self.stored(index)
        for k, name in enumerate(found.column_names):
            found = found.set_column(k, name, without_dictionary(found[name]))
        return found


def parquet_reader(path: Any, columns: Sequence[str] | None) -> ParquetReader:
    """Return the reader of a file, a folder, a pattern or a list of files."""
    files = parquet_files(path)
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise ImportError(
            "Parquet files need pyarrow: pip install 'counterpoise[cli]'"
        ) from error
    groups: list[tuple[Path, int]] = []
    sizes: list[int] = []
    schema: Any = None
    for file in files:
        try:
            footer = parquet.read_metadata(file)
        except (ArrowException, OSError) as error:
            raise InvalidInputError(
                f"{file} cannot be read as Parquet: {error}"
            ) from error
        found = footer.schema.to_arrow_schema()
        if schema is None:
            schema = found
            labels = _chosen(found.names, columns, file)
        _check_same(schema, found, labels, files[0], file)
        for group in range(footer.num_row_groups):
            rows = footer.row_group(group).num_rows
            if rows:
                groups.append((file, group))
                sizes.append(rows)
    if not groups:
        raise InvalidInputError(f"{path} has no rows")
    return ParquetReader(tuple(groups), tuple(sizes), labels)


def parquet_files(path: Any) -> list[Path]:
    """Return the files that a path, a folder, a pattern or a list names, in order."""
    if isinstance(path, list | tuple):
        return [file for one in path for file in parquet_files(one)]
    if has_magic(str(path)):
        files = sorted(Path(name) for name in glob(str(path)))
    else:
        path = Path(path)
        files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise InvalidInputError(f"{path}: no Parquet file is there")
    for file in files:
        if not file.exists():
            raise InvalidInputError(f"{file} does not exist")
    return files


def _chosen(
    names: list[str], columns: Sequence[str] | None, file: Path
) -> tuple[str, ...]:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInputError(f"{file} has the column {twice[0]!r} more than once")
    if columns is None:
        return tuple(n for n in names if not n.startswith("__index_level_"))
    for name in columns:
        if name not in names:
            raise InvalidInputError(f"{file} has no column {name!r}; it has {names}")
    return tuple(columns)


def _check_same(
    schema: Any, found: Any, labels: tuple[str, ...], first: Path, file: Path
) -> None:
    """Refuse a file with other columns, or other kinds in them, than the first."""
    from counterpoise.data.table import kind_of_arrow

    for name in labels:
        if name not in found.names:
            raise InvalidInputError(f"{file} has no column {name!r}, which {first} has")
        kinds = [kind_of_arrow(one.field(name).type) for one in (schema, found)]
        if kinds[0] != kinds[1]:
            raise InvalidInputError(
                f"column {name!r} holds {kinds[0]} in {first} and {kinds[1]} in {file}"
            )
