"""Readers of arrays, Parquet, CSV and Dask collections in blocks.

Each makes a `Reader`: functions of the number of a block, which are pickled.
"""

import csv
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from glob import glob, has_magic
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import narwhals as nw
import numpy as np

from counterpoise.data.files import (
    check_names,
    import_pyarrow,
    parse_csv,
    plain_columns,
)
from counterpoise.data.frames import Labels, TableLike, check_readable, is_frame
from counterpoise.data.table import NUMBERS, Table, kind_of_dtype, read_table
from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.linalg.arrays import Array

if TYPE_CHECKING:
    import pyarrow

# The rows of a block: a matrix of numbers, a `Table`, or a pyarrow table as stored.
Rows: TypeAlias = Any
FilePath: TypeAlias = str | Path


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads blocks by their number, in any process, as often as needed.

    Attributes
    ----------
    load : callable
        Returns the rows of a block.
    place : callable
        Returns where the rows of a block come from, in words.
    n_blocks : int
    sizes : tuple of int or None
        Rows of every block; None where only reading tells.
    labels : tuple or None
        Names of the columns; None where they are only counted.
    """

    load: Callable[[int], Rows]
    place: Callable[[int], str]
    n_blocks: int
    sizes: tuple[int, ...] | None = None
    labels: Labels = None


# -----------------------------------------------------------------------------
# One Parquet file, written row group by row group, there when it is complete.
# -----------------------------------------------------------------------------


class ParquetWriter:
    """Writes a Parquet file that appears when it is complete, and else not at all.

    Parameters
    ----------
    path : str or Path
    """

    def __init__(self, path: FilePath) -> None:
        self.path = Path(path)
        self._partial = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        self._writer: Any = None

    def __enter__(self) -> Self:
        return self

    def add(self, columns: dict[str, Any]) -> None:
        """Write a row group."""
        pyarrow = import_pyarrow()
        from pyarrow import parquet

        table = pyarrow.table(columns)
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._partial, table.schema)
        self._writer.write_table(table.cast(self._writer.schema))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self._writer is not None:
                self._writer.close()
                if kind is None:
                    os.replace(self._partial, self.path)
        finally:
            self._partial.unlink(missing_ok=True)


# -----------------------------------------------------------------------------
# Arrays, memory-mapped files, frames and functions.
# -----------------------------------------------------------------------------


def array_reader(X: TableLike, rows: int) -> Reader:
    """Return the reader of an array, an .npy file, a frame or a `Table`."""
    X = check_readable(X, "X")
    if isinstance(X, Table) or is_frame(X):
        table = read_table(X)
        load: Callable[[int], Rows] = partial(_rows_of_table, table, rows)
        n, of, labels = len(table), "the frame", table.labels
    else:
        source, n = _array_or_path(X)
        load, labels = partial(_rows_of_array, source, rows), None
        of = str(source) if isinstance(source, Path) else "the array"
    sizes = tuple(min(rows, n - first) for first in range(0, n, rows))
    place = partial(_row_range, of, sizes)
    return Reader(load, place, len(sizes), sizes, labels)


def _array_or_path(X: TableLike) -> tuple[TableLike, int]:
    """Return an array, or the path of an .npy file, and how many rows it has."""
    if isinstance(X, str | Path):
        path = Path(X)
        if path.suffix != ".npy":
            raise InvalidInputError(
                f"{path} is no .npy file: from_parquet and from_csv read others"
            )
        mapped = _load_mapped(path)
        check_matrix(mapped, str(path))
        return path, len(mapped)
    # Of a memory map another process would get a copy of all rows.
    array = np.asarray(X)
    check_matrix(array, "X")
    return array, len(array)


def _rows_of_table(table: Table, rows: int, index: int) -> Table:
    first = index * rows
    return table.take(np.arange(first, min(first + rows, len(table))))


def _rows_of_array(source: TableLike, rows: int, index: int) -> Array:
    values = _load_mapped(source) if isinstance(source, Path) else source
    return np.array(values[index * rows : (index + 1) * rows], dtype=np.float64)


def _load_mapped(path: Path) -> Any:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise InvalidInputError(
            f"{path} cannot be read as an array: {error}"
        ) from error


def _row_range(of: str, sizes: tuple[int, ...], index: int) -> str:
    first = sum(sizes[:index])
    return f"{of}, rows {first} to {first + sizes[index] - 1}"


def check_matrix(values: TableLike, name: str) -> None:
    """Refuse what is not a matrix of numbers."""
    if values.ndim != 2 or 0 in values.shape:
        raise InvalidInputError(
            f"{name} must have rows and columns, got shape {values.shape}"
        )
    if values.dtype.kind not in "fiub":
        raise InvalidTypeError(
            f"{name} holds {values.dtype}: an array of numbers is needed; mixed "
            "columns come as a frame"
        )


def function_reader(
    function: Callable[[int], TableLike], n_blocks: int, labels: Labels
) -> Reader:
    """Return the reader of the arrays or frames that a function returns."""
    name = getattr(function, "__name__", type(function).__name__)
    place = partial(_numbered, f"{name}({{}})")
    return Reader(
        partial(_rows_of_call, function, place), place, n_blocks, None, labels
    )


def _numbered(template: str, index: int) -> str:
    return template.format(index)


def _rows_of_call(
    function: Callable[[int], TableLike], place: Callable[[int], str], index: int
) -> Rows:
    return _rows_of_any(function(index), place(index))


def _rows_of_any(rows: TableLike, place: str) -> Rows:
    if is_frame(rows):
        return read_table(rows, place)
    matrix = np.asarray(rows)
    check_matrix(matrix, place)
    return np.array(matrix, dtype=np.float64)


_PARTITION = "Dask partition {}"


def dask_reader(collection: TableLike) -> Reader:
    """Return the reader of a Dask array or frame, by its partitions."""
    if not type(collection).__module__.startswith("dask"):
        raise InvalidTypeError(
            f"from_dask takes a Dask array or frame, got {type(collection)}"
        )
    sizes = labels = None
    if hasattr(collection, "columns"):
        partitions, labels = collection.to_delayed(), tuple(collection.columns)
    elif collection.ndim != 2:
        raise InvalidTypeError(
            f"a Dask array must have two axes, got {collection.ndim}"
        )
    else:
        if collection.numblocks[1] != 1:
            collection = collection.rechunk({1: -1})
        if not np.isnan(collection.chunks[0]).any():
            sizes = tuple(int(k) for k in collection.chunks[0])
        partitions = collection.to_delayed().ravel()
    load = partial(_rows_of_partition, tuple(partitions))
    place = partial(_numbered, _PARTITION)
    return Reader(load, place, len(partitions), sizes, labels)


def _rows_of_partition(partitions: Sequence[Any], index: int) -> Rows:
    rows = partitions[index].compute(scheduler="synchronous")
    return _rows_of_any(rows, _PARTITION.format(index))


# -----------------------------------------------------------------------------
# CSV files: pieces of about so many bytes, cut between rows.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _CSVFile:
    """A CSV file, the names and types of its columns, and the ends of its pieces."""

    path: Path
    delimiter: str
    header: tuple[str, ...]
    labels: tuple[str, ...]
    ends: tuple[int, ...]
    sizes: tuple[int, ...]

    def parse(self, index: int, types: dict[str, Any] | None) -> "pyarrow.Table":
        """Return the rows of one piece as pyarrow reads them."""
        pyarrow = import_pyarrow()
        first, last = self.ends[index : index + 2]
        place = _row_range(str(self.path), self.sizes, index)
        with self.path.open("rb") as file:
            file.seek(first)
            piece = BytesIO(file.read(last - first))
        try:
            found = parse_csv(piece, self.delimiter, types, names=list(self.header))
        except pyarrow.ArrowException as error:
            raise InvalidInputError(f"{place}: {error}") from error
        return plain_columns(place, found.select(list(self.labels)))


def csv_reader(
    path: Path, columns: Sequence[str] | None, n_bytes: int, delimiter: str
) -> Reader:
    """Return the reader of a CSV file with a line of names at its head."""
    pyarrow = import_pyarrow()
    if n_bytes < 1:
        raise InvalidInputError(f"n_bytes must be at least 1, got {n_bytes}")
    if not path.exists():
        raise InvalidInputError(f"{path} does not exist")
    try:
        with path.open("rb") as file:
            line = file.readline().decode("utf-8-sig")
            body = file.tell()
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is no UTF-8: {error}") from error
    header = next(csv.reader([line], delimiter=delimiter), [])
    if not header:
        raise InvalidInputError(f"{path} has no line of column names")
    labels = _chosen(header, columns, path)
    ends, sizes = _csv_pieces(path, body, n_bytes)
    if not sizes:
        raise InvalidInputError(f"{path} has no rows")
    pieces = _CSVFile(path, delimiter, tuple(header), labels, ends, sizes)
    schema = pieces.parse(0, None).schema
    types = {
        field.name: pyarrow.float64() if _kind(field.type) == NUMBERS else field.type
        for field in schema
    }
    load = partial(_rows_of_csv, pieces, types)
    place = partial(_row_range, str(path), sizes)
    return Reader(load, place, len(sizes), sizes, labels)


def _rows_of_csv(file: _CSVFile, types: dict[str, Any], index: int) -> Table:
    place = _row_range(str(file.path), file.sizes, index)
    return read_table(file.parse(index, types), place)


def _csv_pieces(
    path: Path, body: int, n_bytes: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the ends of pieces in bytes, and their rows, in one pass.

    A line break inside quotes does not end a row; empty lines are not rows.
    """
    ends, sizes = [body], []
    place, quotes, rows = body, 0, 0
    with path.open("rb") as file:
        file.seek(body)
        for line in file:
            place += len(line)
            quotes += line.count(b'"')
            if quotes % 2 == 0 and line.strip(b"\r\n"):
                rows += 1
                if place - ends[-1] >= n_bytes:
                    ends.append(place)
                    sizes.append(rows)
                    rows = 0
    if rows or quotes % 2:
        ends.append(place)
        sizes.append(rows + quotes % 2)
    return tuple(ends), tuple(sizes)


def _kind(arrow_type: "pyarrow.DataType") -> str:
    """Return what a column of an Arrow type holds."""
    pyarrow = import_pyarrow()
    if pyarrow.types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    if pyarrow.types.is_null(arrow_type):
        return NUMBERS
    if arrow_type.num_fields:
        return ""
    if pyarrow.types.is_date64(arrow_type):
        arrow_type = pyarrow.timestamp("ms")
    empty = pyarrow.chunked_array([], arrow_type)
    return kind_of_dtype(nw.from_native(empty, series_only=True).dtype)


# -----------------------------------------------------------------------------
# Parquet files: their row groups, never a whole file.
# -----------------------------------------------------------------------------


def parquet_reader(
    path: FilePath | Sequence[FilePath],
    columns: Sequence[str] | None,
    *,
    as_stored: bool = False,
) -> Reader:
    """Return the reader of a file, a folder, a pattern or a list of files.

    Parameters
    ----------
    path : str, Path or list of such
    columns : list of str or None
        None: all.
    as_stored : bool
        Whether blocks are pyarrow tables instead of `Table`.
    """
    pyarrow = import_pyarrow()
    from pyarrow import parquet

    files = parquet_files(path)
    groups: list[tuple[Path, int]] = []
    sizes: list[int] = []
    kinds: dict[str, str] = {}
    for file in files:
        try:
            footer = parquet.read_metadata(file)
        except (pyarrow.ArrowException, OSError) as error:
            raise InvalidInputError(
                f"{file} cannot be read as Parquet: {error}"
            ) from error
        schema = footer.schema.to_arrow_schema()
        if not kinds:
            labels = _chosen(schema.names, columns, file)
        for name in labels:
            if name not in schema.names:
                raise InvalidInputError(
                    f"{file} has no column {name!r}, which {files[0]} has"
                )
            kind = _kind(schema.field(name).type)
            if kinds.setdefault(name, kind) != kind:
                raise InvalidInputError(
                    f"column {name!r} holds {kinds[name]} in {files[0]} and {kind} in "
                    f"{file}"
                )
        for group in range(footer.num_row_groups):
            rows = footer.row_group(group).num_rows
            if rows:
                groups.append((file, group))
                sizes.append(rows)
    if not groups:
        raise InvalidInputError(f"{path} has no rows")
    load = partial(_rows_of_group, tuple(groups), labels, as_stored)
    place = partial(_group_place, tuple(groups))
    return Reader(load, place, len(groups), tuple(sizes), labels)


def _rows_of_group(
    groups: Sequence[tuple[Path, int]],
    labels: Sequence[str],
    as_stored: bool,
    index: int,
) -> Rows:
    from pyarrow import parquet

    path, group = groups[index]
    place = _group_place(groups, index)
    # One thread: the memory of several would be given back late.
    with parquet.ParquetFile(path) as file:
        found = file.read_row_group(group, columns=list(labels), use_threads=False)
    found = plain_columns(place, found.select(list(labels)))
    return found if as_stored else read_table(found, place)


def _group_place(groups: Sequence[tuple[Path, int]], index: int) -> str:
    path, group = groups[index]
    return f"{path}, row group {group}"


def parquet_files(path: FilePath | Sequence[FilePath]) -> list[Path]:
    """Return the files that a path, a folder, a pattern or a list names, in order."""
    if not isinstance(path, str | Path):
        return [file for one in path for file in parquet_files(one)]
    if has_magic(str(path)):
        files = sorted(map(Path, glob(str(path))))
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
    names: Sequence[str], columns: Sequence[str] | None, file: Path
) -> tuple[str, ...]:
    known = check_names(str(file), names)
    for name in columns or ():
        if name not in names:
            raise InvalidInputError(
                f"{file} has no column {name!r}; it has {list(names)}"
            )
    return tuple(known if columns is None else columns)
