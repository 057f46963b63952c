"""Parts of a column in words: ranges, values, categories."""

import datetime
from collections.abc import Mapping
from typing import Any

from counterpoise.report.wording import HYPHEN, Cell, Name
from counterpoise.tables.kinds import DATES, ZONED_DATES
from counterpoise.tables.parts import CATEGORY, MISSING, RANGE, VALUE


def part_in_words(part: Mapping[str, Any], kind: str) -> Cell:
    """Return what the rows of a part have, for a table or a picture.

    Examples
    --------
    >>> part_in_words({"part": "range", "low": 20.0, "high": 30.5}, "numbers")
    '20 to 30.5'
    >>> part_in_words({"part": "range", "low": None, "high": 0.0}, "dates")
    'before 1970-01-01'
    """
    what = part.get("part")
    if what == CATEGORY:
        return Name(str(part["category"]))
    if what == VALUE:
        return value_in_words(part["value"], kind)
    if what != RANGE:
        return "no value" if what == MISSING else "all others"
    low, high = (
        None if part.get(end) is None else value_in_words(part[end], kind)
        for end in ("low", "high")
    )
    dates = kind in (DATES, ZONED_DATES)
    if low is None:
        return "all" if high is None else f"{'before' if dates else 'below'} {high}"
    if high is None:
        return f"since {low}" if dates else f"{low} or more"
    return f"{low} to {high}"


def part_cell(part: Mapping[str, Any], kind: str) -> Cell:
    """Return the same for a table, where a day is not broken over two lines."""
    said = part_in_words(part, kind)
    return unbroken(said, kind) if isinstance(said, str) else said


def unbroken(text: str, kind: str) -> str:
    """Return days in a text with hyphens at which no line ends."""
    return text.replace("-", HYPHEN) if kind in (DATES, ZONED_DATES) else text


def value_in_words(value: float, kind: str, digits: int = 6) -> str:
    """Return a number in at most so many figures, or the day of a date."""
    if kind in (DATES, ZONED_DATES):
        epoch = datetime.datetime(1970, 1, 1)
        try:
            return (epoch + datetime.timedelta(seconds=value)).date().isoformat()
        except OverflowError:
            pass
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e12 else f"{value:.{digits}g}"
