"""Parquet and Feather files, with errors that name file and column."""

from pathlib import Path
from typing import Any

from counterpoise.cli.exits import BadData, listed
from counterpoise.cli.reading.packages import import_pyarrow
from counterpoise.cli.terminal import one_line


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
