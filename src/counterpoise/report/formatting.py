"""Sentences with numbers and names in them, tables and drawings with their words."""

import datetime
import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from counterpoise.data.columns import CATEGORY, MISSING, RANGE, VALUE
from counterpoise.data.table import DATES, ZONED_DATES
from counterpoise.messages.numbers import LONGEST_NAME, NARROW, percentage, readable

if TYPE_CHECKING:
    from counterpoise.report.report import Report

# -----------------------------------------------------------------------------
# The parts of a sentence.
# -----------------------------------------------------------------------------


LONGEST_PROSE = 400
# A line to be typed is of use only as a whole.
LONGEST_COMMAND = 4_000
# Figures of a number, and at most where two would else look alike.
_FIGURES, _MOST_FIGURES = 3, 6
# The parts of a date stay on one line.
HYPHEN = "\N{NON-BREAKING HYPHEN}"
_PERCENT = re.compile(r"(?<=\d) ?(?=%)")


@dataclass(frozen=True)
class ShownNumber:
    """A number as it is shown, with its exact value and its place in the record."""

    value: float
    text: str
    path: str = ""

    @property
    def exact(self) -> str:
        """The fewest digits that give the value back."""
        return repr(self.value)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Name:
    """A text from somebody's data: a column, a category, a class, a file.

    Longer ones than `longest` are cut.
    """

    text: str
    longest: int = LONGEST_NAME

    @property
    def shown(self) -> str:
        """The name as it can be printed."""
        return readable(self.text, self.longest)

    def __str__(self) -> str:
        return self.shown


@dataclass(frozen=True)
class Command:
    """A line to be typed."""

    text: str

    @property
    def words(self) -> list[str]:
        """Its words, none of which is broken over two lines if there is room."""
        words = readable(self.text, LONGEST_COMMAND).split(" ")
        # No name of a file is as long.
        return [f"{w[:299]}…" if len(w) > 300 else w for w in words]

    def __str__(self) -> str:
        return " ".join(self.words)


@dataclass(frozen=True)
class Link:
    """A file in the folder of the page."""

    file: str

    @property
    def address(self) -> str:
        """Relative, whatever the name looks like."""
        return f"./{quote(self.file, safe='', errors='replace')}"

    def __str__(self) -> str:
        return readable(self.file)


Part = str | ShownNumber | Name | Command | Link
Sentence = tuple[Part, ...]
Cell = Part | None
Show = Callable[[float], ShownNumber]


def sentence(
    template: str, record: "Report | None" = None, /, **parts: Part | Sentence
) -> Sentence:
    """Return a sentence, its fields filled with parts or with numbers of a record.

    A field is the name of a part, or the path of a number with the way to show it:
    "share", "count", "brief", "two" or "four" figures, three by default.

    Examples
    --------
    >>> to_text(sentence("{a} is {b}", a=Name("x"), b=ShownNumber(0.5, "50 %")))
    'x is 50 %'
    >>> from counterpoise.report import Report
    >>> record = Report.from_dict({"shift": {"auc": 0.75, "n_source": 1234}})
    >>> to_text(sentence("{shift.auc} of {shift.n_source:count} rows", record))
    '0.750 of 1,234 rows'
    """
    pieces: list[Part] = []
    for literal, name, show, _ in string.Formatter().parse(template):
        pieces.append(_PERCENT.sub(NARROW, literal))
        if name in parts:
            part = parts[name]
            pieces += part if isinstance(part, tuple) else [part]
        elif name is not None:
            assert record is not None
            pieces.append(_SHOWS[show or ""](record.at(name), name))
    return tuple(piece for piece in pieces if piece != "")


def to_text(sentence: Sequence[Part]) -> str:
    """Return a sentence as plain text."""
    return "".join(map(str, sentence))


def joined(sentences: Sequence[Sentence], between: str = " ") -> Sentence:
    """Return sentences one after another."""
    pieces: list[Part] = []
    for one in sentences:
        pieces += ([between] if pieces else []) + list(one)
    return tuple(pieces)


# -----------------------------------------------------------------------------
# Numbers as they are shown.
# -----------------------------------------------------------------------------


def share(value: float, path: str = "") -> ShownNumber:
    """Return a share as a percentage.

    What is not all, or not nothing, does not look like it.

    Examples
    --------
    >>> str(share(0.1234)) == f"12.3{NARROW}%"
    True
    >>> str(share(0.0001)) == f"<{NARROW}0.1{NARROW}%"
    True
    """
    return ShownNumber(value, percentage(value).replace(" ", NARROW), path)


def count(value: float, path: str = "") -> ShownNumber:
    """Return a number of rows or of other things.

    Examples
    --------
    >>> str(count(12345.6))
    '12,346'
    """
    return ShownNumber(value, f"{value:,.0f}", path)


def figures(value: float, path: str = "", digits: int = _FIGURES) -> ShownNumber:
    """Return a number in so many figures.

    Examples
    --------
    >>> str(figures(0.21)), str(figures(123456.0)), str(figures(0.0))
    ('0.210', '123,456', '0')
    """
    if value == 0:
        return ShownNumber(value, "0", path)
    if 10 ** (digits - 1) <= abs(value) < 1e9:
        return ShownNumber(value, f"{value:,.0f}", path)
    return ShownNumber(value, f"{value:#,.{digits}g}".rstrip("."), path)


def distinct_figures(
    before: tuple[float, str], after: tuple[float, str]
) -> tuple[ShownNumber, ShownNumber] | None:
    """Return two numbers, each with its place, in figures enough to differ.

    Three, or as many more up to six as show a difference; None where six do not.

    Examples
    --------
    >>> [str(one) for one in distinct_figures((0.5512, "a"), (0.5509, "b"))]
    ['0.5512', '0.5509']
    >>> distinct_figures((0.55, "a"), (0.55 + 1e-9, "b")) is None
    True
    """
    for digits in range(_FIGURES, _MOST_FIGURES + 1):
        first, second = (figures(*one, digits=digits) for one in (before, after))
        if first.text != second.text:
            return first, second
    return None


def brief(value: float, path: str = "") -> ShownNumber:
    """Return a number that somebody chose, as short as it is.

    Examples
    --------
    >>> str(brief(0.75)), str(brief(1.0))
    ('0.75', '1')
    """
    return ShownNumber(value, f"{value:g}", path)


def four_figures(value: float, path: str = "") -> ShownNumber:
    """Return a number in four figures."""
    return figures(value, path, 4)


def two_figures(value: float, path: str = "") -> ShownNumber:
    """Return a number in two figures."""
    return figures(value, path, 2)


def chance(value: float, path: str = "") -> ShownNumber:
    """Return a p-value."""
    text = f"<{NARROW}0.0001" if value < 0.0001 else f"{value:.2g}"
    return ShownNumber(value, text, path)


_SHOWS: Mapping[str, Callable[[Any, str], ShownNumber]] = {
    "": figures,
    "share": share,
    "count": count,
    "brief": brief,
    "two": two_figures,
    "four": four_figures,
}


# -----------------------------------------------------------------------------
# Tables and drawings.
# -----------------------------------------------------------------------------


# Lines of a table of data that a curve is shown by.
_MOST_LINES = 26


@dataclass(frozen=True)
class Table:
    """Rows under a header, with a heading and a sentence where it stands by itself.

    Attributes
    ----------
    header : tuple of str
    rows : sequence of tuples of cells
    note : str
        What else is to be said.
    name, title : str
        Its place on the page, and its heading.
    about : str or Sentence
    prose : bool
        Whether cells are sentences, which a narrow screen shows one below another.
    folded : bool
        Whether it is shown on demand alone.
    wide : bool
        Whether it takes a row of the page by itself.
    in_text : bool
        Whether the report as plain text has it too.
    """

    header: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]
    note: str = ""
    name: str = ""
    title: str = ""
    about: str | Sentence = ()
    prose: bool = False
    folded: bool = False
    wide: bool = False
    in_text: bool = False


@dataclass(frozen=True)
class Drawing:
    """A figure of the page.

    Attributes
    ----------
    name, title : str
        Its place on the page, and what it answers.
    explanation : str or Sentence
        How to read it, for somebody who never saw one.
    caption : Sentence
        What it shows here, with its numbers.
    pictures : sequence of str
        SVG elements.
    data : Table
    """

    name: str
    title: str
    explanation: str | Sentence
    caption: Sentence
    pictures: Sequence[str] = field(repr=False)
    data: Table = field(repr=False)


def optional(value: float | None, show: Show = figures) -> Cell:
    """Return a number as a cell; None for None."""
    return None if value is None else show(value)


def columns(*several: tuple[Show, Sequence[float | None]]) -> list[tuple[Cell, ...]]:
    """Return the rows of a table from its columns, each shown in its own way.

    Examples
    --------
    >>> [[str(cell) for cell in row] for row in columns((brief, [0.5]), (count, [3]))]
    [['0.5', '3']]
    """
    shown = ([optional(value, show) for value in values] for show, values in several)
    return list(zip(*shown, strict=True))


def thinned(rows: Sequence[tuple[Cell, ...]]) -> Sequence[tuple[Cell, ...]]:
    """Return some of the rows of a long table, the first and the last among them."""
    last = len(rows) - 1
    if last < _MOST_LINES:
        return rows
    places = sorted({round(k * last / (_MOST_LINES - 1)) for k in range(_MOST_LINES)})
    return [rows[k] for k in places]


def without_empty_columns(
    header: tuple[str, ...], rows: Sequence[tuple[Cell, ...]]
) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
    """Return header and rows without the columns that have nothing in them."""
    kept = [k for k in range(len(header)) if any(row[k] for row in rows)]
    return tuple(header[k] for k in kept), [tuple(row[k] for k in kept) for row in rows]


# -----------------------------------------------------------------------------
# Parts of a column: ranges, values, categories.
# -----------------------------------------------------------------------------


def part_name(part: Mapping[str, Any], kind: str) -> str | Name:
    """Return what the rows of a part have, for a table or a picture.

    Examples
    --------
    >>> part_name({"part": "range", "low": 20.0, "high": 30.5}, "numbers")
    '20 to 30.5'
    >>> part_name({"part": "range", "low": None, "high": 0.0}, "dates")
    'before 1970-01-01'
    """
    what = part.get("part")
    if what == CATEGORY:
        return Name(str(part["category"]))
    if what == VALUE:
        return value_text(part["value"], kind)
    if what != RANGE:
        return "no value" if what == MISSING else "all others"
    low, high = (
        None if part.get(end) is None else value_text(part[end], kind)
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
    name = part_name(part, kind)
    return unbroken(name, kind) if isinstance(name, str) else name


def unbroken(text: str, kind: str) -> str:
    """Return days in a text with hyphens at which no line ends."""
    return text.replace("-", HYPHEN) if kind in (DATES, ZONED_DATES) else text


def value_text(value: float, kind: str, digits: int = 6) -> str:
    """Return a number in at most so many figures, or the day of a date."""
    if kind in (DATES, ZONED_DATES):
        epoch = datetime.datetime(1970, 1, 1)
        try:
            return (epoch + datetime.timedelta(seconds=value)).date().isoformat()
        except OverflowError:
            pass
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e12 else f"{value:.{digits}g}"
