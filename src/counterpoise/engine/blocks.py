"""Rows in pieces that can be read again, wherever they are kept."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from counterpoise.engine.readers.arrays import ArrayReader, TableReader
from counterpoise.engine.readers.batches import BatchReader
from counterpoise.engine.readers.csv_files import csv_reader
from counterpoise.engine.readers.dask_collections import dask_reader
from counterpoise.engine.readers.parquet_files import parquet_reader
from counterpoise.engine.schedule import each_block
from counterpoise.tables.columns import Table
from counterpoise.validation import InvalidInput, InvalidType

# Rows of a block that is cut from an array.
ROWS_A_BLOCK = 65_536


class Reader(Protocol):
    """Reads a block by its number, in any process, as often as it is asked."""

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """Rows of every block; None where only reading tells."""

    @property
    def labels(self) -> tuple[Hashable, ...] | None:
        """Names of the columns; None where they are only counted."""

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""

    def read(self, index: int) -> Any:
        """Return the rows of a block: a matrix of numbers, or a `Table`."""

    def place(self, index: int) -> str:
        """Return where a block's rows come from, in words."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """A table too large to hold: pieces of rows, each of which can be read again.

    A block is a matrix of numbers or a `Table` of mixed columns. Nothing is read before
    it is needed, nothing is kept afterwards; who reads, one process or a cluster's, is
    the business of `distribute`.

    Attributes
    ----------
    reader : Reader
        What reads a block by its number; pickled to whoever works on it.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = Blocks.from_arrays(np.arange(10.0).reshape(5, 2), rows=2)
    >>> blocks.n_blocks, blocks.n_rows, blocks.read(2)
    (3, 5, array([[8., 9.]]))
    """

    reader: Reader

    @classmethod
    def from_arrays(cls, X: Any, *, rows: int = ROWS_A_BLOCK) -> "Blocks":
        """Return the rows of an array, a memory-mapped one or a frame, in pieces.

        Parameters
        ----------
        X : array-like of shape (n, d), path of an .npy file, or frame
            A path is mapped into memory by whoever reads it, never loaded.
        rows : int
            Rows of a block.
        """
        if rows < 1:
            raise InvalidInput(f"rows must be at least 1, got {rows}")
        if isinstance(X, Table) or hasattr(X, "columns"):
            return cls(TableReader.of(X, rows))
        return cls(ArrayReader.of(X, rows))

    @classmethod
    def from_parquet(
        cls, path: Any, *, columns: Sequence[str] | None = None
    ) -> "Blocks":
        """Return the row groups of a Parquet file, a folder or a pattern of them.

        Parameters
        ----------
        path : str, Path or list of such
            A file; a folder, whose ``*.parquet`` are taken in the order of their names;
            or a pattern such as ``live-*.parquet``.
        columns : list of str or None
            None: all.
        """
        return cls(parquet_reader(path, columns))

    @classmethod
    def from_csv(
        cls,
        path: str | Path,
        *,
        columns: Sequence[str] | None = None,
        n_bytes: int = 2**24,
        delimiter: str = ",",
    ) -> "Blocks":
        """Return a CSV file in pieces of about so many bytes, cut between rows.

        The file is looked through once for its rows (quoted line breaks are seen). What
        a column holds is decided by the first piece; a later cell that does not fit is
        an error that names file and piece.
        """
        return cls(csv_reader(Path(path), columns, n_bytes, delimiter))

    @classmethod
    def from_dask(cls, collection: Any) -> "Blocks":
        """Return the partitions of a Dask array (cut by rows) or frame."""
        return cls(dask_reader(collection))

    @classmethod
    def from_batches(
        cls,
        read: Callable[[int], Any],
        n_blocks: int,
        *,
        columns: Sequence[str] | None = None,
    ) -> "Blocks":
        """Return the blocks that a function gives by their number.

        Parameters
        ----------
        read : callable
            ``read(i)`` gives block i, an array or a frame, the same at every call;
            pickled, so that a cluster can ask again.
        n_blocks : int
        columns : list of str or None
            Names of the columns where ``read`` gives arrays.
        """
        if n_blocks < 1:
            raise InvalidInput(f"n_blocks must be at least 1, got {n_blocks}")
        return cls(
            BatchReader(read, n_blocks, None if columns is None else tuple(columns))
        )

    @classmethod
    def of(cls, X: Any) -> "Blocks":
        """Return blocks as they are, and anything else in pieces."""
        return X if isinstance(X, Blocks) else cls.from_arrays(X)

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return self.reader.n_blocks

    @property
    def labels(self) -> tuple[Hashable, ...] | None:
        """Names of the columns; None where they are only counted."""
        return self.reader.labels

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Rows of every block; read once where the files do not tell."""
        sizes = self.reader.sizes
        if sizes is None:
            sizes = tuple(each_block(self, _rows_of))
        return np.array(sizes, dtype=np.int64)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The place of every block's first row in the whole."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]])

    @property
    def n_rows(self) -> int:
        """How many rows there are in all."""
        return int(self.sizes.sum())

    def read(self, index: int) -> Any:
        """Return the rows of one block."""
        return self.reader.read(index)

    def place(self, index: int) -> str:
        """Return where a block's rows come from, in words."""
        return self.reader.place(index)

    def mapped(
        self, change: Callable[[Any], Any], labels: tuple[str, ...] | None = None
    ) -> "Blocks":
        """Return the same rows changed, block by block, when they are read.

        Parameters
        ----------
        change : callable
            Takes a block's rows, returns as many; pickled.
        labels : tuple of str or None
            Names of the columns that it returns.
        """
        return replace(self, reader=MappedReader(self.reader, change, labels))

    def numbers(self) -> "Blocks":
        """Return the same rows as matrices of finite numbers.

        A block that holds anything else is an error that names its place.
        """
        labels = self.labels
        names = None if labels is None else tuple(map(str, labels))
        return self.mapped(as_numbers_only, names)


@dataclass(frozen=True, eq=False)
class MappedReader:
    """Reads what another reader reads, changed."""

    inner: Reader
    change: Callable[[Any], Any]
    labels: tuple[Hashable, ...] | None

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """Rows of every block."""
        return self.inner.sizes

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return self.inner.n_blocks

    def read(self, index: int) -> Any:
        """Return the changed rows of a block."""
        return self.change(self.inner.read(index))

    def place(self, index: int) -> str:
        """Return where a block's rows come from, in words."""
        return self.inner.place(index)


def as_numbers_only(rows: Any) -> Any:
    """Return a block as a matrix of finite numbers, or refuse it by its column."""
    if isinstance(rows, Table):
        for column in rows.columns:
            if column.kind != "numbers" or np.isnan(column.values).any():
                held = "missing values" if column.kind == "numbers" else column.kind
                raise InvalidType(
                    f"column {column.label!r} holds {held}: numbers are needed; "
                    "encode both samples first (counterpoise.samples.TableEncoder)"
                )
        return rows.matrix()
    found = np.isfinite(rows)
    if not found.all():
        row, place = (int(k) for k in np.argwhere(~found)[0])
        raise InvalidInput(
            f"row {row} of the block, column {place}, is {rows[row, place]}: numbers "
            "must be finite"
        )
    return np.asarray(rows, dtype=np.float64)


def _rows_of(rows: Any, first: int | None) -> int:
    return len(rows)
