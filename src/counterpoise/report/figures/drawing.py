"""A picture with its words: title, explanation, caption, and its data as a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from counterpoise.report.record import Record
from counterpoise.report.wording import Cell, Sentence
from counterpoise.validation import InvalidInput

# Lines of a table of data that a curve is shown by.
_MOST_LINES = 26


@dataclass(frozen=True)
class DataTable:
    """Numbers in rows under a header.

    Attributes
    ----------
    header : tuple of str
    rows : tuple of tuples of cells
    note : str
        What else is to be said.
    prose : bool
        Whether cells are sentences, which a narrow screen shows one below another.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    prose: bool = False


@dataclass(frozen=True)
class Drawing:
    """A figure of the page.

    Attributes
    ----------
    name : str
        Its place on the page.
    title : str
        What it answers.
    explanation : Sentence
        How to read it, for somebody who never saw one.
    caption : Sentence
        What it shows here, with its numbers.
    pictures : tuple of str
        SVG elements.
    data : DataTable
    """

    name: str
    title: str
    explanation: Sentence
    caption: Sentence
    pictures: tuple[str, ...]
    data: DataTable


def record_of(fitted: Any) -> Record:
    """Return a record as it is, or that of a fitted object."""
    return fitted if isinstance(fitted, Record) else Record.of(fitted)


def section_of(fitted: Any, name: str) -> Any:
    """Return a section that a picture is drawn from.

    Raises
    ------
    ValueError
        Where there is nothing to draw.
    """
    record = record_of(fitted)
    if name not in record:
        raise InvalidInput(f"there is no section {name!r} to draw from")
    return record[name]


def thinned(rows: Sequence[tuple[Cell, ...]]) -> tuple[tuple[Cell, ...], ...]:
    """Return some of the rows of a long table, the first and the last among them."""
    last = len(rows) - 1
    if last < _MOST_LINES:
        return tuple(rows)
    places = sorted({round(k * last / (_MOST_LINES - 1)) for k in range(_MOST_LINES)})
    return tuple(rows[k] for k in places)
