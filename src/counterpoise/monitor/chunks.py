"""A table of rows with times cut into chunks: by calendar, count or value."""

import re
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from counterpoise.errors import InvalidInputError
from counterpoise.linalg.arrays import Indices

# -----------------------------------------------------------------------------
# A table of rows with times as chunks: by calendar, by count, by a column.
# -----------------------------------------------------------------------------


# numpy's name of each calendar unit.
_CALENDAR = {"hour": "h", "day": "D", "week": "W", "month": "M", "year": "Y"}
# numpy counts weeks from a Thursday, the first of January 1970.
_MONDAY = np.timedelta64(3, "D")
# A clock time with its time zone, such as +01:00.
_ZONED = re.compile(r"^(.{10}.*:.*)[+-]\d[\d:]*$")


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
    time : str
        The beginning of its hour, day, week (Monday), month or year; by count the
        number of the chunk; by a column its value.
    rows : integer array
        Places of its rows, in the order of time.
    """

    time: str
    rows: Indices = field(repr=False)


def cut(times: ArrayLike, every: str | int) -> tuple[list[Chunk], list[str]]:
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
    >>> chunks, notes = cut(["2024-01-03", "2024-01-09", "2024-01-01"], "week")
    >>> [(chunk.time, chunk.rows.tolist()) for chunk in chunks]
    [('2024-01-01', [2, 0]), ('2024-01-08', [1])]
    """
    values = np.asarray(times)
    if isinstance(every, int) and not isinstance(every, bool):
        return _by_count(values, every), []
    if every == "value":
        # In the order in which the values first come.
        _, first, place = np.unique(
            values.astype(str), return_index=True, return_inverse=True
        )
        of_value = [np.flatnonzero(place == k) for k in np.argsort(first)]
        return [Chunk(str(values[rows[0]]), rows) for rows in of_value], []
    if every not in _CALENDAR:
        known = ", ".join(_CALENDAR)
        raise InvalidInputError(
            f"every must be one of {known}, a number of rows or 'value', got {every!r}"
        )
    when = _dates(values)
    missing = np.isnat(when)
    notes = []
    if missing.any():
        notes.append(f"{int(missing.sum())} rows have no time and are in no chunk")
    order = np.flatnonzero(~missing)
    order = order[np.argsort(when[order], kind="stable")]
    if every == "week":
        days = when[order].astype("datetime64[D]")
        weeks = (days + _MONDAY).astype("datetime64[W]")
        begin = weeks.astype("datetime64[D]") - _MONDAY
    else:
        begin = when[order].astype(f"datetime64[{_CALENDAR[every]}]")
    present, first = np.unique(begin, return_index=True)
    parts = np.split(order, first[1:]) if order.size else []
    chunks = [Chunk(str(t), rows) for t, rows in zip(present, parts, strict=True)]
    # Weeks are counted in days, all others in their own unit.
    apart = (present[1:] - present[:-1]).astype(int)
    empty = int((apart // (7 if every == "week" else 1) - 1).sum())
    if empty > 0:
        notes.append(f"{empty} {every}s between the first and the last have no rows")
    return chunks, notes


def _by_count(values: NDArray[np.generic], size: int) -> list[Chunk]:
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


def _dates(values: NDArray[np.generic]) -> NDArray[np.datetime64]:
    if values.dtype.kind == "M":
        return values.astype("datetime64[s]")
    result = np.empty(values.size, dtype="datetime64[s]")
    for row, text in enumerate(values.tolist()):
        if text is None or text != text or str(text).strip() in ("", "NaT", "nan"):
            result[row] = np.datetime64("NaT")
            continue
        # An ISO date without its time zone, as the clock there showed it.
        plain = _ZONED.sub(r"\1", str(text).strip().removesuffix("Z"))
        try:
            result[row] = np.datetime64(plain, "s")
        except ValueError as error:
            raise NoDateError(row, str(text)) from error
    return result
