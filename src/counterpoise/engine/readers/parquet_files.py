"""Blocks of Parquet files: their row groups, never a whole file."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from counterpoise.tables.arrow_columns import table_of_arrow, without_dictionary
from counterpoise.validation import InvalidInput


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
            raise InvalidInput(f"{file} cannot be read as Parquet: {error}") from error
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
        raise InvalidInput(f"{path} has no rows")
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
        raise InvalidInput(f"{path}: no Parquet file is there")
    for file in files:
        if not file.exists():
            raise InvalidInput(f"{file} does not exist")
    return files


def _chosen(
    names: list[str], columns: Sequence[str] | None, file: Path
) -> tuple[str, ...]:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInput(f"{file} has the column {twice[0]!r} more than once")
    if columns is None:
        return tuple(n for n in names if not n.startswith("__index_level_"))
    for name in columns:
        if name not in names:
            raise InvalidInput(f"{file} has no column {name!r}; it has {names}")
    return tuple(columns)


def _check_same(
    schema: Any, found: Any, labels: tuple[str, ...], first: Path, file: Path
) -> None:
    """Refuse a file with other columns, or other kinds in them, than the first."""
    from counterpoise.tables.arrow_columns import kind_of_arrow

    for name in labels:
        if name not in found.names:
            raise InvalidInput(f"{file} has no column {name!r}, which {first} has")
        kinds = [kind_of_arrow(one.field(name).type) for one in (schema, found)]
        if kinds[0] != kinds[1]:
            raise InvalidInput(
                f"column {name!r} holds {kinds[0]} in {first} and {kinds[1]} in {file}"
            )
