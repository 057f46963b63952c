"""What is said to a person: tables by rich on a terminal, plain lines elsewhere."""

import re
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TextIO

_TERMINAL_WIDTH = 88
# A message that quotes a name or a type from a file is cut here, at either end of it.
_LONGEST_MESSAGE = 2_000


@dataclass(frozen=True)
class Block:
    """A heading, sentences, and perhaps a table."""

    title: str
    lines: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def one_line(text: object) -> str:
    """Return a message without line breaks and without runs of spaces.

    Examples
    --------
    >>> one_line("first\\n  second")
    'first second'
    """
    # A space that does not break stands before a percent sign, and stays there.
    words = " ".join(re.split(r"[^\S\u00a0]+", str(text).strip()))
    return "".join(c if c.isprintable() or c == "\u00a0" else "?" for c in words)


def one_short_line(text: object) -> str:
    """Return a message in one line, a very long one without its middle.

    Examples
    --------
    >>> len(one_short_line("x" * 10**6))
    2005
    """
    line, half = one_line(text), _LONGEST_MESSAGE // 2
    return line if len(line) <= 2 * half else f"{line[:half]} ... {line[-half:]}"


def harmless(block: Block) -> Block:
    """Return the block with texts that cannot move the cursor.

    Names of columns come from files and may hold anything.

    Examples
    --------
    >>> harmless(Block("a\x1b[2Jb")).title
    'a?[2Jb'
    """
    return Block(
        one_line(block.title),
        tuple(map(one_line, block.lines)),
        tuple(map(one_line, block.header)),
        tuple(tuple(map(one_line, row)) for row in block.rows),
    )


def show(blocks: Iterable[Block], stream: TextIO | None = None) -> None:
    """Write blocks to stderr, or to another stream."""
    stream = sys.stderr if stream is None else stream
    console = _console(stream)
    for block in map(harmless, blocks):
        if console is None:
            print(plain(block), file=stream, flush=True)
        else:
            _show_rich(block, console)


def plain(block: Block) -> str:
    """Return a block as plain text.

    Examples
    --------
    >>> print(plain(Block("Shift", ("None.",), ("column", "KS"), (("age", "0.1"),))))
    Shift
      None.
      column  KS
      age     0.1
    """
    block = harmless(block)
    lines = [block.title, *(_wrapped(line) for line in block.lines)]
    rows = [row for row in (block.header, *block.rows) if row]
    if rows:
        widths = [
            max(len(cell) for cell in column) for column in zip(*rows, strict=True)
        ]
        for row in rows:
            cells = (cell.ljust(w) for cell, w in zip(row, widths, strict=True))
            lines.append(f"  {'  '.join(cells)}".rstrip())
    # Lines are broken by now, and not every terminal knows such spaces.
    return "\n".join(lines).replace("\u00a0", " ")


def _wrapped(line: str) -> str:
    # A path or a long name stays whole, to be copied.
    return textwrap.fill(
        line,
        _TERMINAL_WIDTH,
        initial_indent="  ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _console(stream: TextIO) -> Any:
    if not stream.isatty():
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(file=stream, highlight=False)


def _show_rich(block: Block, console: Any) -> None:
    from rich.table import Table
    from rich.text import Text

    console.print(Text(block.title, style="bold"))
    for line in block.lines:
        console.print(Text(line), soft_wrap=False)
    if block.rows:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for name in block.header:
            table.add_column(Text(name, style="dim"))
        for row in block.rows:
            table.add_row(*(Text(cell) for cell in row))
        console.print(table)


def cells(*values: Any) -> tuple[str, ...]:
    """Return the cells of a row: numbers in three figures, nothing for None.

    Examples
    --------
    >>> cells("age", 0.12345, None)
    ('age', '0.123', '')
    """
    return tuple(_cell(value) for value in values)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3g}"
    return str(value)
