"""What the columns of a table in blocks hold, counted over every row in one pass."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.engine import Blocks, announce, map_reduce
from counterpoise.tables.columns import Table
from counterpoise.tables.kinds import CATEGORIES, NOTHING
from counterpoise.tables.privacy import FEWEST_ROWS_TOLD
from counterpoise.tables.table_column import TableColumn

# Categories that are told, the commonest first.
CATEGORIES_TOLD = 10


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """One column, counted: rows, gaps, and what those with a value add up to.

    Attributes
    ----------
    name, kind : str
    n, missing : int
        Rows, and those without a value.
    mean, squares : float
        Of numbers (dates and durations in seconds): the mean, and the sum of squares
        about it.
    low, high : float
    counts : dict
        Rows of each category.
    """

    name: str
    kind: str
    n: int
    missing: int
    mean: float = 0.0
    squares: float = 0.0
    low: float = np.inf
    high: float = -np.inf
    counts: dict[str, int] | None = None

    @classmethod
    def of(cls, column: TableColumn) -> "ColumnSums":
        """Return the sums of one block's column."""
        there = column.values[~column.missing]
        n, missing = len(column.values), len(column.values) - len(there)
        if column.kind == CATEGORIES:
            found = np.bincount(there, minlength=len(column.categories)).tolist()
            counts = dict(zip(column.categories, found, strict=True))
            return cls(column.name, column.kind, n, missing, counts=counts)
        if not len(there):
            return cls(column.name, column.kind, n, missing)
        mean = float(there.mean())
        about = float(((there - mean) ** 2).sum())
        ends = float(there.min()), float(there.max())
        return cls(column.name, column.kind, n, missing, mean, about, *ends)

    @property
    def standard_deviation(self) -> float:
        """Of the rows with a value; NaN where there is none."""
        there = self.n - self.missing
        return float(np.sqrt(self.squares / there)) if there else np.nan

    def __add__(self, later: "ColumnSums") -> "ColumnSums":
        """Return both together, means by Chan's formula."""
        kind = later.kind if self.kind == NOTHING else self.kind
        one, other = self.n - self.missing, later.n - later.missing
        both = max(one + other, 1)
        apart = later.mean - self.mean
        counts = None
        if self.counts is not None or later.counts is not None:
            counts = dict(self.counts or {})
            for name, count in (later.counts or {}).items():
                counts[name] = counts.get(name, 0) + count
        return ColumnSums(
            self.name,
            kind,
            self.n + later.n,
            self.missing + later.missing,
            self.mean + apart * other / both,
            self.squares + later.squares + apart**2 * one * other / both,
            min(self.low, later.low),
            max(self.high, later.high),
            counts,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers; of fewer than 5 rows nothing is told but how many."""
        there = self.n - self.missing
        out: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "rows": self.n,
            "missing": self.missing / max(self.n, 1),
        }
        if there < FEWEST_ROWS_TOLD:
            return out
        if self.counts is None:
            spread = self.standard_deviation
            return {**out, "mean": self.mean, "standard_deviation": spread}
        common = sorted(self.counts.items(), key=lambda one: (-one[1], one[0]))
        told = [one for one in common if one[1] >= FEWEST_ROWS_TOLD][:CATEGORIES_TOLD]
        shares = {name: count / there for name, count in told}
        return {**out, "categories": len(self.counts), "shares": shares}


def column_sums(blocks: Blocks) -> tuple[ColumnSums, ...]:
    """Return what every column of a table holds, over all rows, in one pass.

    Examples
    --------
    >>> blocks = Blocks.from_arrays(np.array([[1.0], [2.0], [6.0]]), rows=2)
    >>> found, = column_sums(blocks)
    >>> found.n, found.mean, round(found.standard_deviation, 3)
    (3, 3.0, 2.16)
    """
    announce("counting every row")
    return map_reduce(blocks, _sums_of_block, _added)


def _sums_of_block(rows: Any, first: int) -> tuple[ColumnSums, ...]:
    table = rows if isinstance(rows, Table) else Table.of(rows)
    return tuple(ColumnSums.of(column) for column in table.columns)


def _added(
    earlier: tuple[ColumnSums, ...], later: tuple[ColumnSums, ...]
) -> tuple[ColumnSums, ...]:
    return tuple(a + b for a, b in zip(earlier, later, strict=True))
