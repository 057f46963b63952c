"""What is odd about a chunk, named: categories, columns without values, units."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from counterpoise.numerics.arrays import Array, is_single
from counterpoise.tables.columns import Table
from counterpoise.tables.kinds import CATEGORIES, NOTHING, NUMBERS
from counterpoise.tables.privacy import FEWEST_ROWS_TOLD
from counterpoise.tables.table_column import TableColumn
from counterpoise.validation import InvalidInput

# A unit is held to have changed where this share of a column lies outside the
# reference's range, and its typical size is so many times as large or small.
_SHARE_OUTSIDE, _TIMES = 0.5, 5.0
_LISTED = 5


@dataclass(frozen=True)
class KnownColumns:
    """What the columns of the reference held.

    Attributes
    ----------
    kinds : dict
        Of each column, by its label.
    categories : dict
        Of each column of categories those that it had.
    ranges : dict
        Of each column of numbers the least, the largest, and the median absolute value.
    single : tuple
        Columns of numbers of single precision.
    """

    kinds: dict[Hashable, str]
    categories: dict[Hashable, tuple[str, ...]]
    ranges: dict[Hashable, tuple[float, float, float]]
    single: tuple[Hashable, ...]

    @classmethod
    def of(cls, table: Table) -> "KnownColumns":
        """Return what the reference held."""
        kinds: dict[Hashable, str] = {}
        categories: dict[Hashable, tuple[str, ...]] = {}
        ranges: dict[Hashable, tuple[float, float, float]] = {}
        for column in table.columns:
            kinds[column.label] = column.kind
            if column.kind == CATEGORIES:
                categories[column.label] = column.categories
            elif column.kind == NUMBERS:
                there = column.values[~column.missing]
                ranges[column.label] = (
                    float(there.min()),
                    float(there.max()),
                    float(np.median(np.abs(there))),
                )
        return cls(kinds, categories, ranges, tuple(single_columns(table)))

    def check_has(self, table: Table) -> None:
        """Refuse a chunk that lacks columns of the reference, by their names."""
        if table.labels is None:
            return
        lacking = [repr(k) for k in self.kinds if k not in set(table.labels)]
        if lacking:
            raise InvalidInput(
                f"columns that the reference had are gone: {', '.join(lacking)}"
            )

    def oddities(self, table: Table) -> list[tuple[str, str]]:
        """Return what is odd about a chunk: the column, and a sentence about it."""
        found = []
        for column in table.columns:
            label, name = column.label, column.name
            if self.kinds.get(label, NOTHING) == NOTHING:
                continue
            if column.missing.all():
                said = [f"column {name!r} has no value at all"]
            elif label in self.categories and column.kind == CATEGORIES:
                said = _new(column, self.categories[label])
            elif label in self.ranges and column.kind == NUMBERS:
                there = column.values[~column.missing]
                said = _unit(name, there, *self.ranges[label])
            else:
                said = []
            found += [(name, one) for one in said]
        return found


def single_columns(table: Table) -> list[Hashable]:
    """Return the labels of columns of numbers of single precision."""
    numbers = [column for column in table.columns if column.kind == NUMBERS]
    return [column.label for column in numbers if is_single(column.values)]


def _new(column: TableColumn, had: tuple[str, ...]) -> list[str]:
    name, has, values = column.name, column.categories, column.values
    counts = np.bincount(values[values >= 0], minlength=len(has))
    new = [k for k, category in enumerate(has) if category not in set(had)]
    if not new:
        return []
    rows = int(counts[new].sum())
    # A category that few rows have may name a person.
    told = [repr(has[k]) for k in new if counts[k] >= FEWEST_ROWS_TOLD]
    named = f": {', '.join(told[:_LISTED])}" if told else ""
    more = f" and {len(told) - _LISTED} more" if len(told) > _LISTED else ""
    return [f"column {name!r} has categories that are new, in {rows} rows{named}{more}"]


def _unit(name: str, values: Array, low: float, high: float, size: float) -> list[str]:
    outside = float(((values < low) | (values > high)).mean())
    now = float(np.median(np.abs(values)))
    if outside < _SHARE_OUTSIDE or size == 0.0 or now == 0.0:
        return []
    times = now / size
    if 1 / _TIMES < times < _TIMES:
        return []
    return [
        f"column {name!r}: {outside:.0%} of the values lie outside the reference's "
        f"range, about {times:.3g} times its size: its unit may have changed"
    ]
