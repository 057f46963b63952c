"""Chunks of rows: validation, times, unexpected columns."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.data.columns import FEWEST_ROWS_TOLD
from counterpoise.data.table import CATEGORIES, NOTHING, NUMBERS, Table, TableColumn
from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.linalg.arrays import Array, Indices, is_single

# -----------------------------------------------------------------------------
# A table of rows with times as chunks: by calendar, by count, by a column.
# -----------------------------------------------------------------------------


# numpy's name of each calendar unit.
_CALENDAR = {"hour": "h", "day": "D", "week": "W", "month": "M", "year": "Y"}
# numpy counts weeks from a Thursday, the first of January 1970.
_MONDAY = np.timedelta64(3, "D")


class NoDateError(InvalidInputError):
    """A time that cannot be read: its row, counted from 0, and what stands there."""

    def __init__(self, row: int, text: str) -> None:
        self.row, self.text = row, text
        super().__init__(f"the time of row {row} (counted from 0) is no date: {text!r}")


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows of a table.

    Attributes
    ----------
    time : str or int
        The beginning of its hour, day, week (Monday), month or year; by count the
        number of the chunk; by a column its value.
    rows : integer array
        Places of its rows, in the order of time.
    """

    time: Any
    rows: Indices = field(repr=False)


def cut(times: Any, every: str | int) -> tuple[list[Chunk], list[str]]:
    """Return the chunks of a table in the order of time, and what is to be said.

    Parameters
    ----------
    times : array of shape (n,)
        Dates as strings, datetime64 or pandas' own, for the calendar; any values that
        can be ordered, for a count; the values of the column, to cut by it.
    every : {"hour", "day", "week", "month", "year"}, int or "value"
        A calendar unit, a number of rows, or one chunk a value.

    Notes
    -----
    Calendar units without rows between two with rows are said, and are no chunks.

    Examples
    --------
    >>> chunks, said = cut(["2024-01-03", "2024-01-09", "2024-01-01"], "week")
    >>> [(chunk.time, chunk.rows.tolist()) for chunk in chunks]
    [('2024-01-01', [2, 0]), ('2024-01-08', [1])]
    """
    values = np.asarray(times)
    if isinstance(every, int) and not isinstance(every, bool):
        return _by_count(values, every), []
    if every == "value":
        return _by_value(values), []
    if every not in _CALENDAR:
        known = ", ".join(_CALENDAR)
        raise InvalidInputError(
            f"every must be one of {known}, a number of rows or 'value', got {every!r}"
        )
    when = _dates(values)
    missing = np.isnat(when)
    said = []
    if missing.any():
        said.append(f"{int(missing.sum())} rows have no time and are in no chunk")
    order = np.flatnonzero(~missing)
    order = order[np.argsort(when[order], kind="stable")]
    begin = _begins(when[order], every)
    present, first = np.unique(begin, return_index=True)
    parts = np.split(order, first[1:]) if order.size else []
    chunks = [Chunk(str(t), rows) for t, rows in zip(present, parts, strict=True)]
    # Weeks are counted in days, all others in their own unit.
    apart = (present[1:] - present[:-1]).astype(int)
    empty = int((apart // (7 if every == "week" else 1) - 1).sum())
    if empty > 0:
        said.append(f"{empty} {every}s between the first and the last have no rows")
    return chunks, said


def _begins(when: Any, every: str) -> Any:
    if every == "week":
        days = when.astype("datetime64[D]")
        return (days + _MONDAY).astype("datetime64[W]").astype(
            "datetime64[D]"
        ) - _MONDAY
    return when.astype(f"datetime64[{_CALENDAR[every]}]")


def _by_count(values: NDArray[Any], size: int) -> list[Chunk]:
    if size < 1:
        raise InvalidInputError(f"a chunk has at least one row, got every={size}")
    try:
        order = np.argsort(values, kind="stable")
    except TypeError as error:
        raise InvalidInputError(f"times that cannot be ordered: {error}") from error
    return [
        Chunk(str(values[order[first]]), order[first : first + size])
        for first in range(0, order.size, size)
    ]


def _by_value(values: NDArray[Any]) -> list[Chunk]:
    # In the order in which the values first come.
    present, first, place = np.unique(
        values.astype(str), return_index=True, return_inverse=True
    )
    return [
        Chunk(str(present[k]), np.flatnonzero(place == k)) for k in np.argsort(first)
    ]


def _dates(values: NDArray[Any]) -> Any:
    if values.dtype.kind == "M":
        return values.astype("datetime64[s]")
    texts: Sequence[Any] = values.tolist()
    found = np.empty(len(texts), dtype="datetime64[s]")
    for row, text in enumerate(texts):
        if text is None or text != text or str(text).strip() in ("", "NaT", "nan"):
            found[row] = np.datetime64("NaT")
            continue
        try:
            found[row] = np.datetime64(_plain(str(text)), "s")
        except ValueError as error:
            raise NoDateError(row, str(text)) from error
    return found


def _plain(text: str) -> str:
    """Return an ISO date without its time zone, as the clock there showed it."""
    text = text.strip().removesuffix("Z")
    for sign in ("+", "-"):
        head, found, tail = text[10:].rpartition(sign)
        if found and ":" in head and tail.replace(":", "").isdigit():
            return text[:10] + head
    return text


# -----------------------------------------------------------------------------
# What a chunk is called, as plain words or numbers that can be ordered.
# -----------------------------------------------------------------------------


def as_time(time: Any, number: int | None) -> Any:
    """Return a time as text or a number; None as the number of the chunk.

    Examples
    --------
    >>> as_time(np.datetime64("2024-01-01"), 3), as_time(None, 3)
    ('2024-01-01', 3)
    """
    if time is None:
        return number
    if isinstance(time, str | int | float):
        return time
    if isinstance(time, np.datetime64):
        return str(time)
    if isinstance(time, np.generic):
        return time.item()
    if hasattr(time, "isoformat"):
        return time.isoformat()
    raise InvalidTypeError(
        f"time must be text, a number, a date or None, got {type(time).__name__}"
    )


def is_before(time: Any, other: Any) -> bool:
    """Return whether a time comes before another; False where they do not compare."""
    if isinstance(time, str) != isinstance(other, str):
        return False
    return bool(time < other)


# -----------------------------------------------------------------------------
# What is odd about a chunk, named: categories, columns without values, units.
# -----------------------------------------------------------------------------


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
            raise InvalidInputError(
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
