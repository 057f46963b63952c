"""A folder or a pattern of Parquet files, and rows drawn of it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from glob import has_magic
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.cli.exits import BadData
from counterpoise.cli.in_blocks.typed_reader import TypedReader
from counterpoise.cli.reading.files import TableFile
from counterpoise.engine import Blocks, sample
from counterpoise.engine.checkpoints import fingerprint
from counterpoise.engine.readers.parquet_files import (
    ParquetReader,
    StoredReader,
    parquet_reader,
)
from counterpoise.validation import InvalidInput

# Copies of a table that the main job makes of a file that is read whole.
COPIES_OF_A_FILE = 8


def is_large(path: Any, max_memory: int | None = None) -> bool:
    """Return whether a table is read in blocks.

    A folder or a pattern is, and a Parquet file that takes more than `max_memory` when
    it is read whole: eight copies of eight bytes a cell.
    """
    if not isinstance(path, Path):
        return False
    if path.is_dir() or has_magic(str(path)):
        return True
    if max_memory is None or not _is_parquet(path):
        return False
    import pyarrow.parquet

    try:
        footer = pyarrow.parquet.read_metadata(path)
    except pyarrow.ArrowException:
        return False
    cells = footer.num_rows * footer.num_columns
    return bool(COPIES_OF_A_FILE * 8 * cells > max_memory)


def _is_parquet(path: Path) -> bool:
    """Return whether a file begins as Parquet does; reading it says what is wrong."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


@dataclass(frozen=True, eq=False)
class DrawnFile(TableFile):
    """Rows drawn of many files, as if they were one.

    Attributes
    ----------
    places : array of int
        Where each row stands among all.
    """

    places: Any = None

    def place(self, row: int) -> str:
        """Return where a row is among those of all files."""
        return f"row {int(self.places[row]) + 1}"


@dataclass(frozen=True, eq=False)
class LargeTable:
    """Parquet files that are one table.

    Attributes
    ----------
    path : Path
        As it was given.
    reader : ParquetReader
    """

    path: Path
    reader: ParquetReader

    @classmethod
    def at(cls, path: Path) -> "LargeTable":
        """Return the table of a file, a folder or a pattern."""
        try:
            return cls(path, parquet_reader(path, None))
        except InvalidInput as error:
            raise BadData(str(error)) from error

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(self.reader.sizes)

    @cached_property
    def fingerprints(self) -> list[dict[str, Any]]:
        """Name, size and footer of every file."""
        return [fingerprint(path) for path in self.reader.files]

    def whole_type(self, name: str | None) -> Any:
        """Return the type of a column of whole numbers; None for any other."""
        if name is None:
            return None
        import pyarrow
        import pyarrow.parquet

        kind = pyarrow.parquet.read_schema(self.reader.files[0]).field(name).type
        return kind if pyarrow.types.is_integer(kind) else None

    def drawn(self, k: int, seed: int) -> DrawnFile:
        """Return k rows drawn by chance, in their order."""
        kept = self.reader
        stored = Blocks(StoredReader(kept.groups, kept.sizes, kept.labels))
        found = sample(stored, k, seed)
        told = json.dumps(self.fingerprints, sort_keys=True)
        return DrawnFile(
            self.path,
            found.rows,
            hashlib.sha256(told.encode()).hexdigest(),
            "stored",
            places=found.places,
        )

    def typed(
        self,
        kinds: Mapping[str, str],
        *,
        name_column: str | None = None,
        label: str | None = None,
        known: NDArray[Any] | None = None,
        task: str | None = None,
    ) -> Blocks:
        """Return the columns that count as blocks, with labels and names of rows.

        Parameters
        ----------
        kinds : mapping
            What each column holds.
        name_column : str or None
            Column that names the rows.
        label : str or None
            Column of the labels; rows without one are left out.
        known : array or None
            Labels of rows drawn, which say what labels are.
        task : str or None
            What they are for.
        """
        extra = [one for one in (label, name_column) if one is not None]
        wanted = tuple(dict.fromkeys([*kinds, *extra]))
        lacking = [name for name in wanted if name not in (self.reader.labels or ())]
        if lacking:
            raise BadData(f"{self.path} has no column {lacking[0]!r}")
        reader = TypedReader(
            replace(self.reader, labels=wanted),
            dict(kinds),
            name_column,
            label,
            None if known is None else np.unique(known),
            task,
            self.reader.sizes,
        )
        return Blocks(reader.counted())
