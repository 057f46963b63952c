"""How a column becomes numbers: a plan for each kind."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from counterpoise.numerics.arrays import Array
from counterpoise.tables.kinds import CATEGORIES, DATES, NOTHING, NUMBERS, ZONED_DATES
from counterpoise.tables.quantiles import pooled_middle_and_spread
from counterpoise.tables.table_column import TableColumn, Times, places_in
from counterpoise.validation import InvalidInput

# A category is rare below this share of both samples, or below this many rows, which
# in small tables are at most one in twenty.
RARE_SHARE, RARE_ROWS, RARE_FRACTION = 0.01, 10, 0.05
# Strings are an identifier where more than this share of them differ in a sample, and
# free text where they are also this long; fewer rows than these do not tell.
DISTINCT, LONG, ROWS_TO_TELL = 0.9, 30, 20

_MONTH, _WEEKDAY, _HOUR = "month", "weekday", "hour"


@dataclass(frozen=True)
class DroppedPlan:
    """A column that is left out."""

    label: Hashable
    kind: str
    reason: str
    names: tuple[str, ...] = ()

    def encode(self, column: TableColumn) -> Array:
        """Return its output columns."""
        return np.empty((len(column.values), 0))


@dataclass(frozen=True)
class NumberPlan:
    """A number on the scale of both samples, and whether it was there."""

    label: Hashable
    kind: str
    name: str
    middle: float
    spread: float
    with_missing: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its output columns."""
        return (self.name, *([f"{self.name}: missing"] if self.with_missing else []))

    def encode(self, column: TableColumn) -> Array:
        """Return its output columns."""
        scaled = self.scale(column.values)
        if not self.with_missing:
            return scaled[:, None]
        return np.column_stack([scaled, column.missing])

    def decode(self, columns: Array) -> TableColumn:
        """Return the column that encoded rows still tell, up to rounding."""
        values = columns[:, 0] * self.spread + self.middle
        if self.with_missing:
            values = np.where(columns[:, 1] > 0, np.nan, values)
        return TableColumn(self.label, self.kind, values)

    def scale(self, values: Array) -> Array:
        """Return the values about the middle, over the spread; zero where missing."""
        return np.where(np.isnan(values), 0.0, (values - self.middle) / self.spread)


@dataclass(frozen=True)
class DatesPlan:
    """A date as a number, and those parts of it that vary."""

    label: Hashable
    kind: str
    number: NumberPlan
    parts: tuple[tuple[str, NumberPlan], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its output columns."""
        return (*self.number.names, *(scaled.name for _, scaled in self.parts))

    def encode(self, column: TableColumn) -> Array:
        """Return its output columns."""
        assert column.local is not None
        values = _parts(column.local)
        columns = [scaled.scale(values[part]) for part, scaled in self.parts]
        return np.column_stack([self.number.encode(column), *columns])

    def decode(self, columns: Array) -> TableColumn:
        """Return the column that encoded rows still tell; not what the clock showed."""
        found = self.number.decode(columns)
        never = np.full(len(columns), "NaT", dtype="M8[us]")
        return TableColumn(self.label, self.kind, found.values, local=never)


@dataclass(frozen=True)
class CategoriesPlan:
    """A category as zeros and a one."""

    label: Hashable
    kind: str
    name: str
    kept: tuple[str, ...]
    rare: tuple[str, ...]
    unseen: tuple[str, ...]
    with_missing: bool
    unseen_share: float

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its output columns."""
        return (
            *(f"{self.name}={category}" for category in self.kept),
            *(f"{self.name}: {pool}" for pool in self._pools()),
        )

    def encode(self, column: TableColumn) -> Array:
        """Return its output columns."""
        known = (*self.kept, *self.rare, *self.unseen)
        place = self._places()
        # Beyond the last column is where rows without any one go.
        nowhere = len(self.names)
        new = place.get("unseen", place.get("rare", nowhere))
        to = [
            *range(len(self.kept)),
            *(place["rare"] for _ in self.rare),
            *(place["unseen"] for _ in self.unseen),
            new,
            place.get("missing", nowhere),
        ]
        # Places -1 (missing) and -2 (new) point at the two last entries.
        chosen = np.array(to)[places_in(known, column)]
        return np.eye(nowhere + 1)[:, :nowhere][chosen]

    def decode(self, columns: Array) -> TableColumn:
        """Return the column that encoded rows still tell.

        Those of a pool have its name in brackets; what has a place of its own, neither
        being known nor in a pool, is missing.
        """
        there = columns.any(axis=1)
        names = [*self.kept, *(f"({pool})" for pool in self._pools())]
        place = np.where(there, columns.argmax(axis=1), -1)
        if self.with_missing:
            place[place == names.index("(missing)", len(self.kept))] = -1
        order = np.argsort(names, kind="stable")
        at = np.append(np.argsort(order, kind="stable"), -1)
        return TableColumn(
            self.label, self.kind, at[place], tuple(names[k] for k in order)
        )

    def _pools(self) -> Iterator[str]:
        if self.rare:
            yield "rare"
        if self.unseen:
            yield "unseen"
        if self.with_missing:
            yield "missing"

    def _places(self) -> dict[str, int]:
        return {pool: len(self.kept) + k for k, pool in enumerate(self._pools())}


ColumnPlan: TypeAlias = NumberPlan | DatesPlan | CategoriesPlan | DroppedPlan


def plan_column(
    column: TableColumn, mass: Array, is_target: NDArray[np.bool_]
) -> ColumnPlan:
    """Return how to encode a column, given both samples of it."""
    missing = column.missing | (mass == 0)
    if column.kind == NOTHING or missing.all():
        return DroppedPlan(column.label, column.kind, "no value in either sample")
    if column.kind == CATEGORIES:
        return _plan_categories(column, mass, is_target)
    share = _halves(mass, is_target)
    number = _plan_number(column, column.kind, column.values, share)
    if column.kind not in (DATES, ZONED_DATES):
        return number
    assert column.local is not None
    parts = []
    for part, values in _parts(column.local).items():
        counted = values[~missing]
        if counted.min() < counted.max():
            plan = _plan_number(column, NUMBERS, values, share, f": {part}")
            parts.append((part, plan))
    return DatesPlan(column.label, column.kind, number, tuple(parts))


def _plan_number(
    column: TableColumn, kind: str, values: Array, share: Array, part: str = ""
) -> NumberPlan:
    counted = np.flatnonzero(~np.isnan(values) & (share > 0))
    if share[counted].min() < share[counted].max():
        # What is in order already is put in order three times more at no cost.
        counted = counted[np.argsort(values[counted], kind="stable")]
    middle, spread = pooled_middle_and_spread(values[counted], share[counted])
    missing = bool((np.isnan(values) & (share > 0)).any())
    name = f"{column.name}{part}"
    return NumberPlan(column.label, kind, name, middle, spread, missing)


def _plan_categories(
    column: TableColumn, mass: Array, is_target: NDArray[np.bool_]
) -> CategoriesPlan | DroppedPlan:
    there = ~column.missing & (mass > 0)
    k = len(column.categories)
    source, target = (
        np.bincount(column.values[rows], mass[rows], minlength=k).astype(np.float64)
        for rows in (there & ~is_target, there & is_target)
    )
    identifier = _identifier(column, source, target)
    if identifier:
        return identifier
    n, m = float(mass[~is_target].sum()), float(mass[is_target].sum())
    few = min(RARE_ROWS, RARE_FRACTION * (n + m))
    rare = (source / n + target / m < 2 * RARE_SHARE) | (source + target < few)
    new = (source == 0) & (target > 0)
    # What nobody has is a category by its type alone.
    rare &= source + target > 0
    apart = rare & new
    if target[apart].sum() / m <= _new_by_chance(source, n, m):
        apart = np.zeros_like(apart)
    names = np.array(column.categories, dtype=object)
    missing = bool((column.missing & (mass > 0)).any())
    kept = ~rare & (source + target > 0)
    if not (kept.any() or apart.any() or missing):
        return DroppedPlan(column.label, column.kind, "every category is rare")
    return CategoriesPlan(
        column.label,
        column.kind,
        column.name,
        kept=tuple(names[kept]),
        rare=tuple(names[rare & ~apart]),
        unseen=tuple(names[apart]),
        with_missing=missing,
        unseen_share=float(target[new].sum() / m),
    )


def _new_by_chance(source: Array, n: float, m: float) -> float:
    """Return a share of new categories that samples drawn alike hardly exceed.

    The chance of a category not yet seen is about the share of those seen once (Good,
    1953); three standard errors are allowed.
    """
    once = float(np.count_nonzero((source > 0) & (source <= 1)))
    return once / n + 3 * float(np.sqrt((once + 1) / n**2 + (once + 1) / (n * m)))


def _identifier(
    column: TableColumn, source: Array, target: Array
) -> DroppedPlan | None:
    """Refuse free text; say whether the strings are an identifier."""
    differ = [
        np.count_nonzero(mass) > DISTINCT * mass.sum()
        for mass in (source, target)
        if mass.sum() >= ROWS_TO_TELL
    ]
    if not differ or not all(differ):
        return None
    seen = source + target > 0
    lengths = np.array([len(category) for category in column.categories])[seen]
    if lengths.mean() >= LONG:
        raise InvalidInput(
            f"column {column.label!r} looks like free text ({lengths.size} different "
            f"strings of {lengths.mean():.0f} characters on the average): drop it or "
            "turn it into numbers first"
        )
    reason = f"an identifier: {lengths.size} different strings"
    return DroppedPlan(column.label, column.kind, reason)


def _parts(local: Times) -> dict[str, Array]:
    """Return month, weekday and hour, NaN where there is no date."""
    days = local.astype("M8[D]")
    parts = {
        _MONTH: local.astype("M8[M]").astype("i8") % 12 + 1.0,
        # The first of January 1970 was a Thursday.
        _WEEKDAY: (days.astype("i8") + 3) % 7 + 0.0,
        _HOUR: local.astype("M8[h]").astype("i8") % 24 + 0.0,
    }
    return {
        part: np.where(np.isnat(local), np.nan, values)
        for part, values in parts.items()
    }


def _halves(mass: Array, is_target: NDArray[np.bool_]) -> Array:
    """Return shares of which half is in either sample."""
    totals = np.where(is_target, mass[is_target].sum(), mass[~is_target].sum())
    return mass / (2 * totals)
