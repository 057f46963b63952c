"""Terminal output: exit codes, notices, progress."""

import json
import re
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from counterpoise.data.progress import Teller, heard_by, never_silent
from counterpoise.report.formatting import NARROW, for_a_person

# -----------------------------------------------------------------------------
# What the command line ends with: a code, and one line that says why.
# -----------------------------------------------------------------------------


FINE = 0
WRONG_USE = 1
BAD_DATA = 2
CONDITION_HOLDS = 3
NO_OVERLAP = 4
NOT_PROVED = 5
# Shells say it so: 128 and the number of the signal.
INTERRUPTED = 130
# A fault of the program itself, as sysexits.h has it.
FAULT = 70

MEANINGS = {
    FINE: "fine",
    WRONG_USE: "wrong use",
    BAD_DATA: "bad data",
    CONDITION_HOLDS: "a --fail-if condition holds",
    NO_OVERLAP: "the source does not cover the target",
    NOT_PROVED: "a certificate does not hold",
    FAULT: "a fault of counterpoise itself",
    INTERRUPTED: "interrupted; no file is half written",
}


class Stop(Exception):  # noqa: N818
    """End the command with a code and a message of one line."""

    code = FAULT


class WrongUse(Stop):
    """What was asked for makes no sense."""

    code = WRONG_USE


class BadData(Stop):
    """A table cannot be used as it is."""

    code = BAD_DATA


def code_of(error: BaseException) -> int:
    """Return the exit code of an error, by its type alone.

    Examples
    --------
    >>> from counterpoise import NoOverlapError
    >>> code_of(NoOverlapError(0.9, "uncovered_fraction")), code_of(ValueError("x"))
    (4, 70)
    """
    if isinstance(error, Stop):
        return error.code
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, ImportError | OSError | MemoryError):
        return WRONG_USE
    from counterpoise.data.parallel import BlockFailedError
    from counterpoise.errors import InvalidInputError, NoOverlapError

    if isinstance(error, NoOverlapError):
        return NO_OVERLAP
    # A block fails where its file cannot be read.
    return (
        BAD_DATA if isinstance(error, InvalidInputError | BlockFailedError) else FAULT
    )


def listed(names: Iterable[object], most: int = 5) -> str:
    """Return names in quotes, the first few of many.

    Examples
    --------
    >>> listed("abc", most=2)
    "'a', 'b' and 1 more"
    """
    quoted = [repr(name) for name in names]
    if len(quoted) <= most:
        return ", ".join(quoted)
    return f"{', '.join(quoted[:most])} and {len(quoted) - most} more"


# -----------------------------------------------------------------------------
# What the library says of its parameters, in the options of the command line.
# -----------------------------------------------------------------------------


# What is said in Python, and what there is to do here.
_IN_OPTIONS = (
    (re.escape('cv="blocks" holds out'), "--time COLUMN holds out"),
    (
        r": was X transformed and X_target not\? A pipeline .*",
        ": is one of the files in other units, or transformed already?",
    ),
    (
        r"; raise max_iter or max_time, or accept a larger tol",
        "; another --weight-estimator may do better",
    ),
    (r"\brow (\d+) of X_target\b", r"row \1 of the target"),
    (r"\b(columns?|rows) of X_target\b", r"\1 of the target"),
    (r"\b(columns?|rows|range) of X\b", r"\1 of the source"),
    (r" and standardize is False\b", ""),
    (r"groups= or time=; --groups or --time", "--groups or --time"),
    (r"\ballow_no_overlap=True\b", "--allow-no-overlap"),
    (r"\bselect_rows_to_label says", "counterpoise label says"),
    (r"\bcalibration_fraction=0\.2\b", "--calibration-fraction 0.2"),
)


def in_options(words: str) -> str:
    """Return the library's words with options that exist in place of parameters.

    Examples
    --------
    >>> in_options('cv="blocks" holds out runs of neighbouring rows')
    '--time COLUMN holds out runs of neighbouring rows'
    """
    for said, put in _IN_OPTIONS:
        words = re.sub(said, put, words)
    return words


# -----------------------------------------------------------------------------
# What the user should know: in full on the terminal, without data in the record.
# -----------------------------------------------------------------------------


# What a run calls its record.
_RECORD = "report.json"


@dataclass(frozen=True)
class Cell:
    """A value of a table, which is shown and never recorded."""

    value: object


class Notice:
    """A sentence in two versions.

    A record goes from hand to hand and must be the same wherever its tables lie: it
    has names of files for paths, and no value of a table.

    Parameters
    ----------
    *parts : str, Path or Cell
        The sentence.

    Attributes
    ----------
    told : str
        For the person at the terminal.
    recorded : str
        For the record.

    Examples
    --------
    >>> notice = Notice(Path("in/live.csv"), ": ", Cell("x"), " in line 2 is odd")
    >>> notice.told == f"{Path('in/live.csv')}: 'x' in line 2 is odd"
    True
    >>> notice.recorded
    'live.csv: a value in line 2 is odd'
    """

    def __init__(self, *parts: str | Path | Cell) -> None:
        self._parts = parts
        self.told = "".join(map(_told, parts))
        self.recorded = "".join(map(_recorded, parts))

    def renamed(self, path: Path, name: Path) -> "Notice":
        """Return the sentence with another name for a file."""
        return Notice(*(name if part == path else part for part in self._parts))


def _told(part: str | Path | Cell) -> str:
    return repr(part.value) if isinstance(part, Cell) else str(part)


def _recorded(part: str | Path | Cell) -> str:
    if isinstance(part, Cell):
        return "a value"
    return part.name if isinstance(part, Path) else part


def of_training_rows(
    model: Any, path: Path, table: Any, n_rows: int
) -> Iterator[Notice]:
    """Return what to say where a model is to be judged by the rows of its own fit.

    The file of a model holds nothing by which to know its rows again. So a table is
    that of the fit where the record beside the model has its SHA-256, and may be it
    where it has as many rows.

    Parameters
    ----------
    model : the saved model
    path : Path
        Of its file.
    table : TableFile
        Labelled rows.
    n_rows : int
        How many of them count.
    """
    if table.sha256 == _sha256_of_the_fit(path):
        yield Notice(
            table.path,
            " is the table that the model was fitted to: its rows flatter the model, "
            "give labelled rows that it has not seen",
        )
    elif n_rows == np.size(getattr(model, "weights_", ())):
        yield Notice(
            "the model was fitted to as many rows as ",
            table.path,
            " has: if they are these, they flatter it; give labelled rows that it has "
            "not seen",
        )


def _sha256_of_the_fit(path: Path) -> str | None:
    """Return the digest of the training table by the record beside a model."""
    try:
        found = json.loads((path.parent / _RECORD).read_text(encoding="utf-8"))
        return str(found["data"]["source"]["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def of_dependence(diagnosis: Any) -> list[str]:
    """Return what rows were taken to belong to, or the question whether they do."""
    if diagnosis is None:
        return []
    if diagnosis.dependence is not None:
        return [str(diagnosis.dependence)]
    return [in_options(diagnosis.asks)] if diagnosis.asks else []


# -----------------------------------------------------------------------------
# What is said to a person: tables by rich on a terminal, plain lines elsewhere.
# -----------------------------------------------------------------------------


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


# -----------------------------------------------------------------------------
# What is being done, and for how long: bars on a terminal, lines elsewhere.
# -----------------------------------------------------------------------------


class Steps:
    """Steps, one after the other, with their times.

    Parameters
    ----------
    plan : sequence of str
        The steps that there will be.
    quiet : bool
        Whether nothing is said.
    stream : text file or None
        Where it is said; stderr if None.

    Attributes
    ----------
    seconds, cpu_seconds : dict
        Seconds of each step that is over, on the clock and of the processors.
    """

    def __init__(
        self, plan: Sequence[str], *, quiet: bool = False, stream: TextIO | None = None
    ) -> None:
        self.seconds: dict[str, float] = {}
        self.cpu_seconds: dict[str, float] = {}
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet
        self._step: str | None = None
        self._since = self._cpu_since = 0.0
        self._said: dict[str, str] = {}
        self._bar, self._task = self._rich(len(plan))
        # A bar has a clock of its own.
        is_mute = quiet or self._bar is not None
        self.teller = Teller(self._say_unless(is_mute), says_begin=False)

    def begin(self, what: str) -> None:
        """End the step before and begin another."""
        self.end()
        self._step, self._since = what, time.perf_counter()
        self._cpu_since = time.process_time()
        self.teller.begin(for_a_person(what))
        if self._bar is not None:
            said = for_a_person(what)
            self._bar.update(self._task, description=said, refresh=True)

    def advance(self, done: int, total: int) -> None:
        """Show how many parts of the step are over."""
        self.teller.advance(done, total)
        if self._bar is not None and self._step is not None:
            said = f"{for_a_person(self._step)}, {done} of {total}"
            self._bar.update(self._task, description=said, refresh=True)

    def end(self) -> None:
        """End the step that is going on, if one is."""
        if self._step is None:
            return
        self.teller.end()
        passed = time.perf_counter() - self._since
        used = time.process_time() - self._cpu_since
        self.seconds[self._step] = self.seconds.get(self._step, 0.0) + passed
        self.cpu_seconds[self._step] = self.cpu_seconds.get(self._step, 0.0) + used
        if self._bar is not None:
            self._bar.advance(self._task)
        elif not self._quiet:
            said = f"{for_a_person(self._step)}: {passed:.1f} s"
            print(said, file=self._stream, flush=True)
        self._step = None

    def notice(self, notice: str | Notice) -> None:
        """Say something that the user should know, once."""
        is_ours = isinstance(notice, str)
        if isinstance(notice, str):
            notice = Notice(notice)
        text = one_line(notice.told)
        if text in self._said:
            return
        self._said[text] = one_line(notice.recorded)
        if self._quiet:
            return
        said = f"note: {for_a_person(text) if is_ours else text}"
        said = said.replace(NARROW, " ")
        if self._bar is not None:
            self._bar.console.print(said, markup=False, highlight=False)
        else:
            print(said, file=self._stream, flush=True)

    @property
    def notices(self) -> tuple[str, ...]:
        """What was said, as it is recorded: without paths and values of tables."""
        return tuple(dict.fromkeys(self._said.values()))

    def stop(self) -> None:
        """Take the bar away."""
        self.end()
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _say_unless(self, is_mute: bool) -> Callable[[str], None]:
        def say(line: str) -> None:
            if not is_mute:
                print(f"... {line}", file=self._stream, flush=True)

        return say

    def _rich(self, total: int) -> tuple[Any, Any]:
        if self._quiet or not self._stream.isatty():
            return None, None
        try:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                TextColumn,
                TimeElapsedColumn,
            )
            from rich.progress import Progress as Bar
        except ImportError:
            return None, None
        bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(file=self._stream),
            transient=True,
        )
        task = bar.add_task("", total=total)
        bar.start()
        return bar, task


@contextmanager
def followed(plan: Sequence[str], *, quiet: bool = False) -> Iterator[Steps]:
    """Show the steps of what runs inside, also those that the library announces.

    The library's warnings become notices.
    """
    steps = Steps(plan, quiet=quiet)
    shown = warnings.showwarning
    try:
        with (
            warnings.catch_warnings(),
            never_silent(steps.teller),
            heard_by(steps.begin, steps.advance),
        ):
            # What numpy and scikit-learn say to programmers means nothing here.
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, *_, **__: steps.notice(
                _noticed(message)
            )
            yield steps
    finally:
        warnings.showwarning = shown
        steps.stop()


def _noticed(warning: Warning | str) -> str | Notice:
    """Return a warning as a notice; to others the target is what is predicted."""
    from sklearn.exceptions import ConvergenceWarning

    from counterpoise.errors import CounterpoiseWarning

    is_ours = isinstance(warning, CounterpoiseWarning | ConvergenceWarning)
    return in_options(str(warning)) if is_ours else Notice(str(warning))
