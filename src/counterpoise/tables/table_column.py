"""One column of a table as plain arrays."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from counterpoise.numerics.arrays import Indices
from counterpoise.tables.kinds import CATEGORIES, DATES, NOTHING, ZONED_DATES

Times: TypeAlias = NDArray[np.datetime64]


@dataclass(frozen=True, eq=False)
class TableColumn:
    """One column of a table.

    Attributes
    ----------
    label : hashable
        Its name in a frame, its index in an array.
    kind : str
        What it holds: numbers, categories, dates, dates with a time zone, durations or
        no value at all.
    values : array of shape (n,)
        Numbers, or seconds (durations; dates since 1970, at the meridian of Greenwich
        if they have a time zone), NaN where missing. Of categories the place in
        `categories`, -1 where missing.
    categories : tuple of str
        In alphabetical order.
    local : datetime64 array or None
        Of dates, what the clock showed where they were taken.
    """

    label: Hashable
    kind: str
    values: NDArray[Any]
    categories: tuple[str, ...] = ()
    local: Times | None = None

    @property
    def name(self) -> str:
        """The label as text; an array's columns are named as scikit-learn does."""
        return self.label if isinstance(self.label, str) else f"x{self.label}"

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which rows have no value."""
        return self.values < 0 if self.kind == CATEGORIES else np.isnan(self.values)

    def with_values(self, values: NDArray[Any]) -> "TableColumn":
        """Return the column with other values; itself if they are its own."""
        return self if values is self.values else replace(self, values=values)

    def take(self, rows: Any) -> "TableColumn":
        """Return some rows, with the categories that they have."""
        values = self.values[rows]
        local = None if self.local is None else self.local[rows]
        if self.kind != CATEGORIES:
            return TableColumn(self.label, self.kind, values, local=local)
        used = np.unique(values[values >= 0])
        # The last one is what the place -1 of a missing value points at.
        place = np.full(len(self.categories) + 1, -1, dtype=np.intp)
        place[used] = np.arange(used.size)
        kept = tuple(self.categories[k] for k in used)
        return TableColumn(self.label, self.kind, place[values], kept)


def take_rows(columns: Sequence[TableColumn], rows: Any) -> tuple[TableColumn, ...]:
    """Return some rows of all columns, with the categories that they have."""
    return tuple(column.take(rows) for column in columns)


def names_of(columns: Sequence[TableColumn]) -> list[str]:
    """Return the names of columns, as text."""
    return [column.name for column in columns]


def of_one_kind(
    source: TableColumn, target: TableColumn
) -> tuple[TableColumn, TableColumn, tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Return both in the form of the kind that one of them has, and what they miss."""
    kind = target.kind if source.kind == NOTHING else source.kind
    source, target = of_kind(source, kind), of_kind(target, kind)
    return source, target, (source.missing, target.missing)


def joined(pieces: Sequence[TableColumn]) -> TableColumn:
    """Return one column with the rows of all, which hold the same or nothing."""
    if len(pieces) == 1:
        return pieces[0]
    kind = next((p.kind for p in pieces if p.kind != NOTHING), NOTHING)
    pieces = [of_kind(piece, kind) for piece in pieces]
    label = pieces[0].label
    if kind == CATEGORIES:
        categories = tuple(sorted({c for piece in pieces for c in piece.categories}))
        return TableColumn(
            label,
            kind,
            np.concatenate([places_in(categories, piece) for piece in pieces]),
            categories,
        )
    values = np.concatenate([piece.values for piece in pieces])
    if kind not in (DATES, ZONED_DATES):
        return TableColumn(label, kind, values)
    local = np.concatenate([piece.local for piece in pieces if piece.local is not None])
    return TableColumn(label, kind, values, local=local)


def places_in(categories: Sequence[str], column: TableColumn) -> Indices:
    """Return the place of each row's category; -1 if missing, -2 if not there."""
    place = {category: k for k, category in enumerate(categories)}
    codes = [place.get(category, -2) for category in column.categories]
    # The last one is what the place -1 of a missing value points at.
    return np.array([*codes, -1], dtype=np.intp)[column.values]


def of_kind(column: TableColumn, kind: str) -> TableColumn:
    """Return the column; one that holds nothing in the form of a kind that does."""
    if column.kind != NOTHING or kind == NOTHING:
        return column
    n = len(column.values)
    if kind == CATEGORIES:
        return TableColumn(column.label, kind, np.full(n, -1, dtype=np.intp))
    never = np.full(n, "NaT", dtype="M8[us]") if kind in (DATES, ZONED_DATES) else None
    return TableColumn(column.label, kind, column.values, local=never)
