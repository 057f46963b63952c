"""Numbers, names and sentences as text."""

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from counterpoise.data.columns import CATEGORY, MISSING, RANGE, VALUE
from counterpoise.data.table import DATES, ZONED_DATES
from counterpoise.shift.diagnosis_text import percentage, printable

# -----------------------------------------------------------------------------
# Sentences with numbers and names in them, for the page and for text alike.
# -----------------------------------------------------------------------------


# Longer names are cut, on the page and in pictures.
LONGEST_NAME, LONGEST_LABEL, LONGEST_PROSE = 60, 22, 400
# A line to be typed is of use only as a whole.
LONGEST_COMMAND = 4_000
# Figures of a number, and at most where two would else look alike.
_FIGURES, _MOST_FIGURES = 3, 6
# A number and its sign stay on one line.
NARROW = "\N{NO-BREAK SPACE}"
# And so do the parts of a date.
HYPHEN = "\N{NON-BREAKING HYPHEN}"
# Records and the API speak of source and target; a person's screen of training and new
# data, which are plural.
_OF_THE_SCREEN = {"source": "training", "target": "new"}
_PLURAL = {
    "is": "are",
    "was": "were",
    "has": "have",
    "does": "do",
    "lies": "lie",
    "says": "say",
    "covers": "cover",
    "reaches": "reach",
    "seems": "seem",
}
_BOTH_ROWS = re.compile(r"(\d+) source and (\d+) target rows")
_ROWS = re.compile(r"\b(source|target)(?= rows?\b)", re.IGNORECASE)
_SAMPLE = re.compile(
    r"(?P<of>(?<![\d%}] )\bof )?\b(?P<the>[Tt]he) (?P<which>source|target)\b"
    rf"(?: (?P<verb>{'|'.join(_PLURAL)})\b)?"
)
# What is quoted is somebody's own name; an apostrophe in a word is no quote.
_QUOTED = re.compile(r"((?<!\w)'.*?'(?!\w)|(?<!\w)\".*?\"(?!\w))")
_PERCENT = re.compile(r"(?<=\d) ?(?=%)")
_TINY_CHANCE = re.compile(r"\bp = \d(?:\.\d+)?e-(?:0[5-9]|[1-9]\d+)")
# What a person need not know of conditional laws.
_OF_LABELS = (
    ("p(y | x) is the same in both samples", "rows alike still have the same labels"),
    ("change of p(y | x)", "change in the labels of rows alike"),
    ("p(y | x) has changed", "rows alike have other labels now"),
)


@dataclass(frozen=True)
class ShownNumber:
    """A number as it is shown, with its exact value and its place in the record."""

    value: float
    text: str
    path: str = ""
    exact: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # In the fewest digits that give the value back.
        object.__setattr__(self, "exact", repr(self.value))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Name:
    """A text from somebody's data: a column, a category, a class, a file.

    Longer ones than `longest` are cut.
    """

    text: str
    longest: int = LONGEST_NAME
    shown: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shown", readable(self.text, self.longest))

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


def sentence(template: str, *parts: Any) -> Sentence:
    """Return a sentence, its gaps ``{}`` filled with numbers, names or sentences.

    Examples
    --------
    >>> told(sentence("{} is {}", Name("a"), ShownNumber(0.5, "50 %")))
    'a is 50 %'
    """
    pieces = _PERCENT.sub(NARROW, template).split("{}")
    found: list[Part] = [pieces[0]]
    for part, piece in zip(parts, pieces[1:], strict=True):
        found += part if isinstance(part, tuple) else [part]
        found.append(piece)
    return tuple(part for part in found if part != "")


def told(words: Sequence[Part]) -> str:
    """Return a sentence as plain text."""
    return "".join(str(part) for part in words)


def for_a_person(words: str) -> str:
    """Return words of a record in the vocabulary of the screen.

    Examples
    --------
    >>> for_a_person("the target is distributed like the source")
    'the new data are distributed like the training data'
    >>> for_a_person("weighing the source rows")
    'weighing the training rows'
    >>> for_a_person("The source's own score does not tell the target's")
    "The training data's own score does not tell the new data's"
    >>> for_a_person("p = 3.2e-14: p(y | x) has changed")
    'p < 0.0001: rows alike have other labels now'
    >>> for_a_person("12% of the target rows") == f"12{NARROW}% of the new rows"
    True
    """
    parts = _QUOTED.split(words)
    for k in range(0, len(parts), 2):
        said = _BOTH_ROWS.sub(r"\1 training and \2 new rows", parts[k])
        for law, labels in _OF_LABELS:
            said = said.replace(law, labels)
        said = _TINY_CHANCE.sub("p < 0.0001", said)
        said = _PERCENT.sub(NARROW, said)
        parts[k] = _SAMPLE.sub(_as_data, _ROWS.sub(_as_kind, said))
    return "".join(parts)


def _as_kind(found: re.Match[str]) -> str:
    kind = _OF_THE_SCREEN[found[0].lower()]
    return kind.capitalize() if found[0][0].isupper() else kind


def _as_data(found: re.Match[str]) -> str:
    said = f"{found['of'] or ''}{found['the']} {_OF_THE_SCREEN[found['which']]} data"
    if found["verb"] is None:
        return said
    # What is said of a part of the data, or of a column, is said of one thing.
    verb = found["verb"] if found["of"] else _PLURAL[found["verb"]]
    return f"{said} {verb}"


def joined(sentences: Sequence[Sentence], between: str = " ") -> Sentence:
    """Return sentences one after another."""
    found: list[Part] = []
    for words in sentences:
        found += ([between] if found else []) + list(words)
    return tuple(found)


def readable(text: str, longest: int = LONGEST_NAME) -> str:
    r"""Return a name that can be seen, on one line and not too long.

    Control characters and those that turn the direction of writing are spelt out;
    a space that does not break is a space.

    Examples
    --------
    >>> readable("a\x00b"), readable(""), readable("  ")
    ('a\\x00b', '(no name)', '(2 spaces)')
    """
    text = text.replace(NARROW, " ")
    if not text:
        return "(no name)"
    if not text.strip(" "):
        return f"({len(text)} space{'s' if len(text) > 1 else ''})"
    if len(text) <= longest and text.isprintable():
        return text
    return printable(text, longest)


def lines(*columns: tuple[Show, Sequence[float | None]]) -> list[tuple[Cell, ...]]:
    """Return the rows of a table from its columns, each shown in its own way.

    Examples
    --------
    >>> [[str(cell) for cell in row] for row in lines((brief, [0.5]), (whole, [3]))]
    [['0.5', '3']]
    """
    shown = (
        [None if value is None else show(value) for value in values]
        for show, values in columns
    )
    return list(zip(*shown, strict=True))


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
    """Return a number of rows.

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


def told_apart(
    before: tuple[float, str], after: tuple[float, str]
) -> tuple[ShownNumber, ShownNumber] | None:
    """Return two numbers, each with its place, in figures enough to differ.

    Three, or as many more up to six as show a difference; None where six do not.

    Examples
    --------
    >>> [str(one) for one in told_apart((0.5512, "a"), (0.5509, "b"))]
    ['0.5512', '0.5509']
    >>> told_apart((0.55, "a"), (0.55 + 1e-9, "b")) is None
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


def whole(value: float, path: str = "") -> ShownNumber:
    """Return a count of things as it is."""
    return ShownNumber(value, f"{value:,.0f}", path)


def chance(value: float, path: str = "") -> ShownNumber:
    """Return a p-value."""
    text = f"<{NARROW}0.0001" if value < 0.0001 else f"{value:.2g}"
    return ShownNumber(value, text, path)


# -----------------------------------------------------------------------------
# Parts of a column in words: ranges, values, categories.
# -----------------------------------------------------------------------------


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
