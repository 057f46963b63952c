"""What an estimator and a weighter see of a block of rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.engine import Blocks
from counterpoise.numerics.arrays import Array
from counterpoise.tables.columns import Table
from counterpoise.tables.encoding import TableEncoder
from counterpoise.tables.frames import frame_of
from counterpoise.tables.kinds import CATEGORIES, DATES, ZONED_DATES
from counterpoise.validation import InvalidInput, InvalidType


@dataclass(frozen=True, eq=False)
class LabelsOfRows:
    """Where the labels of a block's rows come from.

    Attributes
    ----------
    column : str or None
        The column of the blocks that has them.
    values : array of shape (n,) or None
        All of them, where they are no column.
    """

    column: str | None = None
    values: NDArray[Any] | None = None

    @classmethod
    def of(cls, y: Any, blocks: Blocks) -> "LabelsOfRows":
        """Return what `y` means beside blocks: a column's name, or all labels."""
        if y is None:
            raise InvalidInput(
                "Adapted requires y to be passed, but the target y is None"
            )
        if not isinstance(y, str):
            values = np.asarray(y)
            if values.ndim != 1 or values.size != blocks.n_rows:
                raise InvalidInput(
                    f"y has the shape {values.shape}, X has {blocks.n_rows} rows"
                )
            return cls(values=values)
        if blocks.labels is None or y not in blocks.labels:
            raise InvalidInput(
                f"X has no column {y!r}: y is the name of the column of labels, or an "
                f"array of {blocks.n_rows}"
            )
        return cls(column=y)

    def at(self, rows: Any, first: int) -> NDArray[Any]:
        """Return the labels of a block's rows; None is missing."""
        if self.values is not None:
            return self.values[first : first + len(rows)]
        if not isinstance(rows, Table):
            raise InvalidType(f"the labels {self.column!r} need a table with columns")
        found = next(c for c in rows.columns if c.label == self.column)
        if found.kind != CATEGORIES:
            return found.values
        texts = np.array([*found.categories, None], dtype=object)
        return texts[found.values]


@dataclass(frozen=True, eq=False)
class RowsAsSeen:
    """Rows of a block as an estimator sees them: a frame, or a matrix of numbers.

    Attributes
    ----------
    kinds : mapping or None
        What each column holds, by its name, those alone; None for matrices.
    """

    kinds: Mapping[str, str] | None

    def __call__(self, rows: Any) -> Any:
        """Return the rows as the estimator sees them."""
        if self.kinds is None:
            return rows
        return frame_of(self.columns(rows), self.kinds)

    def columns(self, rows: Any) -> Any:
        """Return the columns that count, in their order."""
        if self.kinds is None:
            return rows
        found = {column.name: column for column in rows.columns}
        lacking = [name for name in self.kinds if name not in found]
        if lacking:
            raise InvalidInput(f"column {lacking[0]!r} is not there")
        return Table(tuple(found[name] for name in self.kinds), named=True)

    @classmethod
    def of(cls, rows: Any, label: str | None) -> "RowsAsSeen":
        """Return what is seen of rows like these, all columns but the label."""
        if not isinstance(rows, Table):
            return cls(None)
        kinds = {
            c.name: DATES if c.kind == ZONED_DATES else c.kind
            for c in rows.columns
            if c.label != label
        }
        return cls(kinds)


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Rows of a block as a weighter sees them: finite numbers."""

    seen: RowsAsSeen
    encoder: TableEncoder | None

    def __call__(self, rows: Any) -> Array:
        """Return the rows as numbers; refuse what is not finite without an encoder."""
        columns = self.seen.columns(rows)
        if self.encoder is not None:
            if not isinstance(columns, Table):
                columns = Table.of(columns)
            return self.encoder._encoded(columns)
        from counterpoise.engine.blocks import as_numbers_only

        return as_numbers_only(columns)
