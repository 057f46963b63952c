"""Categories of the target that are the source's, spelled otherwise."""

import unicodedata
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Array
from counterpoise.tables.columns import Table
from counterpoise.tables.kinds import CATEGORIES
from counterpoise.tables.privacy import FEWEST_ROWS_TOLD
from counterpoise.tables.table_column import TableColumn


@dataclass(frozen=True)
class Spelling:
    """A category of the target that the source has in another spelling.

    Attributes
    ----------
    column : str
    target, source : str
        How either spells it.
    share : float
        Of the target rows, those that have it.
    """

    column: str
    target: str
    source: str
    share: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        return asdict(self)

    @classmethod
    def of_dict(cls, told: dict[str, Any]) -> "Spelling":
        """Return what `to_dict` told."""
        column, target, source = (
            str(told[key]) for key in ("column", "target", "source")
        )
        return cls(column, target, source, float(told["share"]))


def spelled_otherwise(
    source: Table, target: Table, target_share: Array
) -> tuple[Spelling, ...]:
    """Return the categories that are spelled otherwise, the commonest first.

    Those that five target rows have and no source row, while five source rows have one
    that is `folded` to the same; of several such the commonest. To every model they are
    different categories.

    Parameters
    ----------
    source, target : Table
        Rows that count.
    target_share : array of shape (m,)
        What the target rows count, of sum one.
    """
    found: list[Spelling] = []
    for one, other in zip(source.columns, target.columns, strict=True):
        if one.kind == other.kind == CATEGORIES:
            found += spelled_in_column(one, other, target_share)
    return tuple(sorted(found, key=lambda one: -one.share))


def folded(category: str) -> str:
    """Return a category without what people spell in more than one way.

    That is case, spaces around it or several in it, a final .0, and characters that
    Unicode has twice.

    Examples
    --------
    >>> folded(" Yes "), folded("10.0"), folded("New  York")
    ('yes', '10', 'new york')
    """
    plain = unicodedata.normalize("NFKC", category).casefold()
    return " ".join(plain.split()).removesuffix(".0")


def spelled_in_column(
    source: TableColumn, target: TableColumn, target_share: Array
) -> list[Spelling]:
    """Return those of one column of categories, as `spelled_otherwise`."""
    rows, rows_target = _rows_of(source), _rows_of(target)
    share = np.bincount(
        target.values[~target.missing],
        target_share[~target.missing],
        len(target.categories),
    )
    known: dict[str, str] = {}
    for k in np.argsort(-rows, kind="stable"):
        if rows[k] >= FEWEST_ROWS_TOLD:
            known.setdefault(folded(source.categories[k]), source.categories[k])
    there = {c for c, n in zip(source.categories, rows, strict=True) if n}
    return [
        Spelling(source.name, category, known[folded(category)], float(part))
        for category, n, part in zip(target.categories, rows_target, share, strict=True)
        if n >= FEWEST_ROWS_TOLD and category not in there and folded(category) in known
    ]


def _rows_of(column: TableColumn) -> Array:
    """Return how many rows have each category."""
    there = column.values[~column.missing]
    counts: Array = np.bincount(there, minlength=len(column.categories)).astype(float)
    return counts
