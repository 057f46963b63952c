"""The report as plain text, for terminals and logs."""

import textwrap
from collections.abc import Iterable, Iterator

from counterpoise.report.chapters import text_tables
from counterpoise.report.figures.drawing import DataTable
from counterpoise.report.record import Record
from counterpoise.report.titled_table import TitledTable
from counterpoise.report.verdict import verdict_of
from counterpoise.report.wording import HYPHEN, NARROW, Cell, told

TEXT_WIDTH = 80
# Lines of a table, and characters of a cell.
_TEXT_LINES, _TEXT_CELL = 10, 28


def record_text(record: Record) -> str:
    """Return the verdict, the numbers and the tables of a record, as lines."""
    return plain_text(_lines(record))


def plain_text(lines: Iterable[str]) -> str:
    """Return lines as a text without spaces and hyphens of a special kind."""
    return "\n".join(lines).replace(NARROW, " ").replace(HYPHEN, "-") + "\n"


def text_table(data: DataTable, longest: int, most: int | None = None) -> Iterator[str]:
    """Return the lines of a table, its cells cut at so many characters."""
    rows = [data.header, *data.rows[:most]]
    cells = [[_cut(cell, longest) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (c.ljust(w) for c, w in zip(row, widths, strict=True))
        yield f"  {'  '.join(padded)}".rstrip()
    if most is not None and len(data.rows) > most:
        yield f"  and {len(data.rows) - most} more"
    if data.note:
        yield _filled(data.note, "  ")


def _cut(cell: Cell, longest: int) -> str:
    text = "" if cell is None else str(cell)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _lines(record: Record) -> Iterator[str]:
    verdict = verdict_of(record)
    yield verdict.title
    yield "=" * min(len(verdict.title), TEXT_WIDTH)
    if verdict.lead:
        yield _filled(told(verdict.lead))
    yield ""
    for answer in verdict.answers:
        yield f"{answer.question} {answer.short}."
        yield _filled(told(answer.told), "  ")
        if answer.sure:
            yield _filled(told(answer.sure), "  ")
    for number in verdict.numbers:
        yield ""
        yield f"{number.label}: {number.value}"
        yield _filled(told(number.beside), "  ")
    if verdict.steps:
        yield ""
        yield "What to do next"
        for k, step in enumerate(verdict.steps, start=1):
            yield _filled(told(step), "     ", f"  {k}. ")
    for table in text_tables(record):
        yield from _table(table)


def _table(table: TitledTable) -> Iterator[str]:
    yield ""
    yield table.title
    if table.data.rows:
        yield from text_table(table.data, _TEXT_CELL, _TEXT_LINES)
    elif table.data.note:
        yield _filled(table.data.note, "  ")


def _filled(text: str, indent: str = "", first: str | None = None) -> str:
    return textwrap.fill(
        text,
        TEXT_WIDTH,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_long_words=False,
    )
