"""Rows of cells as lines of text and as a table of HTML, every text escaped."""

from collections.abc import Sequence
from html import escape

_LONGEST_NAME = 30


def aligned(rows: Sequence[Sequence[str]], *, numbers: bool) -> list[str]:
    """Return lines, the columns one below the other; numbers to the right."""
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [first.ljust(widths[0])]
        for cell, width in zip(others, widths[1:], strict=True):
            cells.append(cell.rjust(width) if numbers else cell.ljust(width))
        lines.append("  ".join(cells).rstrip())
    return lines


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of HTML."""
    head = "".join(f'<th scope="col">{safe(cell)}</th>' for cell in header)
    head = f"<thead><tr>{head}</tr></thead>" if header else ""
    body = "".join(
        f"<tr>{''.join(f'<td>{safe(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table>{head}<tbody>{body}</tbody></table>"


def safe(text: str) -> str:
    """Return text that is safe within HTML."""
    return escape(text, quote=True)


def in_quotes(name: str) -> str:
    """Return a name as it stands in a sentence."""
    return f"'{printable(name)}'"


def printable(text: str, longest: int = _LONGEST_NAME) -> str:
    r"""Return a name as it can be printed: on one line, and not too long.

    Examples
    --------
    >>> printable("a\nb")
    'a\\nb'
    >>> printable("1\xa0000")
    '1 000'
    """
    # Longer ones are cut before they are looked through.
    text = "".join(
        c if c.isprintable() else c.encode("unicode_escape", "replace").decode()
        # The space that does not break a line is a space.
        for c in text[: longest + 1].replace("\xa0", " ")
    )
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
