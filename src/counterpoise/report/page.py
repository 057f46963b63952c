"""The report as an HTML page and as text."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from counterpoise.messages.numbers import NARROW
from counterpoise.report.formatting import (
    HYPHEN,
    Command,
    Link,
    Name,
    ShownNumber,
    Table,
    sentence,
    to_text,
)
from counterpoise.report.report import Report
from counterpoise.report.tables import CHAPTERS, text_tables
from counterpoise.report.verdict import verdict_of

# -----------------------------------------------------------------------------
# The report as plain text, for terminals and logs.
# -----------------------------------------------------------------------------


TEXT_WIDTH = 80
# Lines of a table, and characters of a cell.
_TEXT_LINES, _TEXT_CELL = 10, 28


def record_text(record: Report) -> str:
    """Return the verdict, the numbers and the tables of a record, as lines."""
    return plain_text(_lines(record))


def plain_text(lines: Iterable[str]) -> str:
    """Return lines as a text without spaces and hyphens of a special kind."""
    return "\n".join(lines).replace(NARROW, " ").replace(HYPHEN, "-") + "\n"


def text_table(data: Table, longest: int, most: int | None = None) -> Iterator[str]:
    """Return the lines of a table, its cells cut at so many characters."""
    texts = (
        ["" if cell is None else str(cell) for cell in row]
        for row in (data.header, *data.rows[:most])
    )
    cells = [
        [text if len(text) <= longest else f"{text[: longest - 1]}…" for text in row]
        for row in texts
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (c.ljust(w) for c, w in zip(row, widths, strict=True))
        yield f"  {'  '.join(padded)}".rstrip()
    if most is not None and len(data.rows) > most:
        yield f"  and {len(data.rows) - most} more"
    if data.note:
        yield _filled(data.note, "  ")


def _lines(record: Report) -> Iterator[str]:
    verdict = verdict_of(record)
    yield verdict.title
    yield "=" * min(len(verdict.title), TEXT_WIDTH)
    if verdict.lead:
        yield _filled(to_text(verdict.lead))
    yield ""
    for answer in verdict.answers:
        yield f"{answer.question} {answer.short}."
        yield _filled(to_text(answer.told), "  ")
        if answer.sure:
            yield _filled(to_text(answer.sure), "  ")
    for number in verdict.numbers:
        yield ""
        yield f"{number.label}: {number.value}"
        yield _filled(to_text(number.beside), "  ")
    if verdict.steps:
        yield ""
        yield "What to do next"
        for k, step in enumerate(verdict.steps, start=1):
            yield _filled(to_text(step), "     ", f"  {k}. ")
    for table in text_tables(record):
        yield ""
        yield table.title
        if table.rows:
            yield from text_table(table, _TEXT_CELL, _TEXT_LINES)
        elif table.note:
            yield _filled(table.note, "  ")


def _filled(text: str, indent: str = "", first: str | None = None) -> str:
    return textwrap.fill(
        text,
        TEXT_WIDTH,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_long_words=False,
    )


# -----------------------------------------------------------------------------
# One HTML page from a record alone: no script, nothing from elsewhere.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Page:
    """A report: HTML to be saved, shown in a notebook, or read as text.

    Attributes
    ----------
    html : str
        The whole page, nothing outside it is needed.
    record : Record
        What it was made from.
    """

    html: str = field(repr=False)
    record: Report

    def save(self, path: str | Path) -> None:
        """Write the page to a file."""
        # A lone half of a surrogate pair has no UTF-8.
        text = self.html.encode("utf-8", "backslashreplace")
        Path(path).write_bytes(text)

    def text(self) -> str:
        """Return the report as plain text, for terminals and logs."""
        return record_text(self.record)

    def _repr_html_(self) -> str:
        return fragment(self.record)


def render(
    record: Report | Mapping[str, Any], *, record_file: str | None = None
) -> Page:
    """Return the page of a record.

    Parameters
    ----------
    record : Record, or what its `to_dict` gives
    record_file : str or None
        Name of the record's file in the folder where the page will be, to link to.

    Examples
    --------
    >>> from counterpoise.datasets import make_gaussian_shift
    >>> from counterpoise import diagnose
    >>> shift = make_gaussian_shift(2, n=200, m=200, random_state=0)
    >>> found = diagnose(shift.X, shift.X_target, random_state=0)
    >>> page = render(Report.from_estimator(found))
    >>> page.html.count("<script"), page.text().splitlines()[0]
    (0, 'The new data differ from the training data, but are covered.')
    """
    record = record if isinstance(record, Report) else Report.from_dict(record)
    chapters = []
    for chapter in CHAPTERS:
        drawn, own = chapter.drawn(record), chapter.tables_of(record, record_file)
        if drawn or own:
            spans = [len(one.pictures) > 1 for one in drawn]
            wide = _filled_rows([*spans, *(one.wide for one in own)])
            cards = [*(("drawing", one) for one in drawn), *(("table", t) for t in own)]
            chapters.append(
                {"chapter": chapter, "cards": list(zip(cards, wide, strict=True))}
            )
    html = (
        environment()
        .get_template("page.html")
        .render(verdict=verdict_of(record), chapters=chapters, record=record)
    )
    return Page(html, record)


def _filled_rows(wide: list[bool]) -> list[bool]:
    """Return which cards are wide, so that none stands alone in a row of two.

    Examples
    --------
    >>> _filled_rows([False, False, False, True])
    [False, False, True, True]
    """
    filled, alone = [], None
    for place, is_wide in enumerate(wide):
        filled.append(is_wide)
        if is_wide:
            if alone is not None:
                filled[alone] = True
            alone = None
        else:
            alone = place if alone is None else None
    if alone is not None:
        filled[alone] = True
    return filled


def fragment(record: Report) -> str:
    """Return the first screen alone, to be put into a notebook.

    Examples
    --------
    >>> from counterpoise import Report
    >>> from counterpoise.report import fragment
    >>> "<script" in fragment(Report.from_dict({"data": {"task": "regression"}}))
    False
    """
    template = environment().get_template("fragment.html")
    return template.render(verdict=verdict_of(record))


def environment() -> Any:
    """Return Jinja's environment: everything is escaped, nothing may be missing."""
    try:
        import jinja2
    except ImportError as error:
        raise ImportError(
            "the report needs jinja2: pip install 'counterpoise[report]'"
        ) from error
    found = jinja2.Environment(
        loader=jinja2.PackageLoader("counterpoise.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters["parts"] = lambda text: (
        sentence(text) if isinstance(text, str) else text
    )
    found.tests["number"] = lambda part: isinstance(part, ShownNumber)
    found.tests["name"] = lambda part: isinstance(part, Name)
    found.tests["command"] = lambda part: isinstance(part, Command)
    found.tests["link"] = lambda part: isinstance(part, Link)
    return found
