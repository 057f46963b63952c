"""Row groups as tables of the columns that count, read as the command line reads."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.cli.exits import BadData
from counterpoise.cli.reading.files import TableFile
from counterpoise.cli.reading.labels import CLASSIFICATION, read_labels
from counterpoise.cli.reading.pair import table_of
from counterpoise.engine.readers.parquet_files import ParquetReader
from counterpoise.numerics.arrays import Indices
from counterpoise.tables.arrow_columns import texts_of_arrow
from counterpoise.tables.column_readers import column_of_codes, column_of_numbers
from counterpoise.tables.columns import Table
from counterpoise.tables.table_column import TableColumn

# What the column of the rows' numbers is called, beside all that files can have.
ROW = "counterpoise: row"


@dataclass(frozen=True, eq=False)
class TypedReader:
    """Row groups as tables: columns by their kinds, label, name and number of rows.

    Attributes
    ----------
    stored : ParquetReader
        Reads the columns that are needed.
    kinds : dict
        What each column holds.
    name_column, label : str or None
    known : array or None
        Different labels of the rows drawn.
    task : str or None
    sizes : tuple of int
        Rows of every block that are not left out.
    """

    stored: ParquetReader
    kinds: Mapping[str, str]
    name_column: str | None
    label: str | None
    known: NDArray[Any] | None
    task: str | None
    sizes: tuple[int, ...]

    @property
    def n_blocks(self) -> int:
        """How many row groups there are."""
        return self.stored.n_blocks

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """Names of the columns of a block."""
        return (*self.kinds, *self._extra, ROW)

    @property
    def _extra(self) -> list[str]:
        return [one for one in (self.label, self.name_column) if one is not None]

    def place(self, index: int) -> str:
        """Return the file and the number of the row group."""
        return self.stored.place(index)

    def counted(self) -> "TypedReader":
        """Return the same with the rows that have a label counted."""
        if self.label is None:
            return self
        sizes = [self._labelled(k) for k in range(self.n_blocks)]
        if 0 in sizes:
            where = self.place(sizes.index(0))
            raise BadData(f"{where}: no row has a {self.label!r}; leave that file out")
        return replace(self, sizes=tuple(sizes))

    def _labelled(self, index: int) -> int:
        """Return how many rows of a block have a label, by the footer if it tells."""
        from pyarrow import parquet, types

        path, group = self.stored.groups[index]
        footer = parquet.read_metadata(path)
        schema = footer.schema.to_arrow_schema()
        place = schema.names.index(self.label)
        # Of a label that is NaN a footer knows nothing, nor of nested columns' places.
        if footer.num_columns == len(schema) and not types.is_floating(
            schema.field(place).type
        ):
            told = footer.row_group(group).column(place).statistics
            if told is not None and told.has_null_count:
                return int(footer.row_group(group).num_rows - told.null_count)
        only = replace(self.stored, labels=(self.label,))
        return int(present(only.stored(index)[self.label]).size)

    def read(self, index: int) -> Table:
        """Return one row group as a table, rows without a label left out."""
        columns = self.stored.stored(index)
        file = TableFile(Path(self.place(index)), columns, "", "stored")
        rows: Indices | None = None
        more: list[TableColumn] = []
        if self.label is not None:
            rows = present(columns[self.label])
            more.append(self._labels(file))
        if self.name_column is not None:
            texts, codes = texts_of_arrow(columns[self.name_column])
            codes = codes if rows is None else codes[rows]
            more.append(column_of_codes(self.name_column, texts, codes))
        numbers = np.arange(file.n_rows) if rows is None else rows
        place = self._firsts[index] + numbers + 1.0
        table = table_of(file, self.kinds, rows)
        return Table((*table.columns, *more, column_of_numbers(ROW, place)), named=True)

    @cached_property
    def _firsts(self) -> Indices:
        return np.concatenate([[0], np.cumsum(self.stored.sizes)[:-1]])

    def _labels(self, file: TableFile) -> TableColumn:
        assert self.label is not None
        found = read_labels(file, self.label, str(self.task), known=self.known).values
        if self.task == CLASSIFICATION and found.dtype.kind == "U":
            texts, codes = np.unique(found, return_inverse=True)
            return column_of_codes(self.label, texts.tolist(), codes.astype(np.intp))
        return column_of_numbers(self.label, found.astype(np.float64))


def present(column: Any) -> Indices:
    """Return the places of rows that have a value, NaN being none."""
    from pyarrow import compute

    missing = compute.is_null(column, nan_is_null=True).to_numpy()
    return np.flatnonzero(~np.asarray(missing, dtype=bool))
