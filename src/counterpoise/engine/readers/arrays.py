"""Blocks of arrays, memory-mapped files and frames."""

from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from counterpoise.tables.columns import Table, read_table
from counterpoise.validation import InvalidInput, InvalidType


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
                raise InvalidInput(
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
        raise InvalidInput(f"{path} cannot be read as an array: {error}") from error


def check_matrix(found: Any, name: str) -> None:
    """Refuse what is no matrix of numbers."""
    if found.ndim != 2 or 0 in found.shape:
        raise InvalidInput(
            f"{name} must have rows and columns, got shape {found.shape}"
        )
    if found.dtype.kind not in "fiub":
        raise InvalidType(
            f"{name} holds {found.dtype}: an array of numbers is needed; mixed columns "
            "come as a frame"
        )


def _sizes(n: int, rows: int) -> tuple[int, ...]:
    full, rest = divmod(n, rows)
    return (rows,) * full + ((rest,) if rest else ())
