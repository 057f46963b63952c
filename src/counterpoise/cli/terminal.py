"""Terminal output: exit codes, notices, progress."""

import json
import re
import sys
import textwrap
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np

from counterpoise.data.progress import TextProgress, heartbeat, listening_to_progress
from counterpoise.messages import INFO, PROBLEM, Finding, FindingText

if TYPE_CHECKING:
    from counterpoise.cli.files import TableFile
    from counterpoise.errors import NoOverlapError
    from counterpoise.shift.diagnosis import Diagnosis

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


class CliError(Exception):
    """End the command with a code and a message of one line."""

    code = FAULT


class UsageError(CliError):
    """What was asked for makes no sense."""

    code = WRONG_USE


class DataError(CliError):
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
    if isinstance(error, CliError):
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


def refusal(error: "NoOverlapError") -> Finding:
    """Return why a fit was refused for want of overlap."""
    auc = Finding("auc_of_samples", INFO, {"auc": error.auc})
    uncovered = error.measure == "uncovered_fraction"
    values = {
        "share": error.share,
        "how": Finding("beyond_source_scores" if uncovered else "beyond_kernel"),
        "auc": "" if error.auc is None else auc,
        "columns": f"{error.columns} " if error.columns else "",
    }
    return Finding("weights_refused", PROBLEM, values)


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
        self.told = "".join(
            repr(part.value) if isinstance(part, Cell) else str(part) for part in parts
        )
        self.recorded = "".join(
            "a value"
            if isinstance(part, Cell)
            else part.name
            if isinstance(part, Path)
            else part
            for part in parts
        )

    def renamed(self, path: Path, name: Path) -> "Notice":
        """Return the sentence with another name for a file."""
        return Notice(*(name if part == path else part for part in self._parts))


def of_training_rows(
    model: object, path: Path, table: "TableFile", n_rows: int
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
        Labeled rows.
    n_rows : int
        How many of them count.
    """
    if table.sha256 == _sha256_of_the_fit(path):
        yield Notice(
            table.path,
            " is the table that the model was fitted to: its rows flatter the model, "
            "give labeled rows that it has not seen",
        )
    elif n_rows == np.size(getattr(model, "weights_", ())):
        yield Notice(
            "the model was fitted to as many rows as ",
            table.path,
            " has: if they are these, they flatter it; give labeled rows that it has "
            "not seen",
        )


def _sha256_of_the_fit(path: Path) -> str | None:
    """Return the digest of the training table by the record beside a model."""
    try:
        found = json.loads((path.parent / _RECORD).read_text(encoding="utf-8"))
        return str(found["data"]["source"]["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def of_dependence(diagnosis: "Diagnosis | None") -> list[str]:
    """Return how the rows depend on each other, or the hint that they may."""
    if diagnosis is None:
        return []
    if diagnosis.dependence is not None:
        return [diagnosis.dependence.finding.text("terminal")]
    hint = diagnosis.dependence_hint
    return [] if hint is None else [hint.text("terminal")]


# -----------------------------------------------------------------------------
# Sentences and tables for the terminal.
# -----------------------------------------------------------------------------


_TERMINAL_WIDTH = 88
# Where there is no terminal, a table is as wide as its cells.
_LOG_WIDTH = 10_000
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

    What cannot be printed is shown as "?": names of columns come from files, and may
    hold anything.

    Examples
    --------
    >>> one_line("first\\n  second"), one_line("a\\x1b[2Jb")
    ('first second', 'a?[2Jb')
    """
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


def show(blocks: Iterable[Block], stream: TextIO | None = None) -> None:
    """Write blocks to stderr, or to another stream."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    stream = sys.stderr if stream is None else stream
    width = None if stream.isatty() else _LOG_WIDTH
    console = Console(file=stream, highlight=False, width=width)
    for block in blocks:
        console.print(Text(one_line(block.title), style="bold"))
        for line in block.lines:
            # A path or a long name stays whole, to be copied.
            filled = textwrap.fill(
                one_line(line),
                min(_TERMINAL_WIDTH, console.width),
                initial_indent="  ",
                subsequent_indent="  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
            # Not every terminal knows a space that does not break.
            console.print(Text(filled.replace("\u00a0", " ")), soft_wrap=True)
        if block.rows:
            table = Table(
                box=None, show_header=bool(block.header), padding=(0, 0, 0, 2)
            )
            for name in block.header or [""] * len(block.rows[0]):
                table.add_column(Text(one_line(name), style="dim"))
            for row in block.rows:
                table.add_row(
                    *(Text(one_line(cell).replace("\u00a0", " ")) for cell in row)
                )
            with console.capture() as capture:
                console.print(table)
            lines = [line.rstrip() for line in capture.get().splitlines()]
            print("\n".join(lines), file=stream)
    stream.flush()


def cells(*values: object) -> tuple[str, ...]:
    """Return the cells of a row: numbers in three figures, nothing for None.

    Examples
    --------
    >>> cells("age", 0.12345, None)
    ('age', '0.123', '')
    """
    return tuple(
        ""
        if value is None
        else f"{value:.3g}"
        if isinstance(value, float)
        else f"{value}"
        for value in values
    )


# -----------------------------------------------------------------------------
# Progress: a bar on a terminal, lines elsewhere.
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
        self._notices: dict[str, str] = {}
        self._bar = None
        if not quiet and self._stream.isatty():
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeElapsedColumn,
            )

            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=Console(file=self._stream),
                transient=True,
            )
            self._task = self._bar.add_task("", total=len(plan))
            self._bar.start()
        # A bar has a clock of its own.
        self.teller = TextProgress(self._say_busy, says_begin=False)

    def begin(self, step: str) -> None:
        """End the step before and begin another."""
        self.end()
        self._step, self._since = step, time.perf_counter()
        self._cpu_since = time.process_time()
        self.teller.begin(step)
        if self._bar is not None:
            self._bar.update(self._task, description=step, refresh=True)

    def advance(self, done: int, total: int) -> None:
        """Show how many parts of the step are over."""
        self.teller.advance(done, total)
        if self._bar is not None and self._step is not None:
            text = f"{self._step}, {done} of {total}"
            self._bar.update(self._task, description=text, refresh=True)

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
        else:
            self._print(f"{self._step}: {passed:.1f} s")
        self._step = None

    def notice(self, notice: str | Notice) -> None:
        """Say something that the user should know, once."""
        if isinstance(notice, str):
            notice = Notice(notice)
        text = one_line(notice.told)
        if text not in self._notices:
            self._notices[text] = one_line(notice.recorded)
            self._print(f"note: {text}".replace("\u00a0", " "))

    @property
    def notices(self) -> tuple[str, ...]:
        """What was said, as it is recorded: without paths and values of tables."""
        return tuple(dict.fromkeys(self._notices.values()))

    def stop(self) -> None:
        """Take the bar away."""
        self.end()
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _print(self, line: str) -> None:
        if self._bar is not None:
            self._bar.console.print(line, markup=False, highlight=False)
        elif not self._quiet:
            print(line, file=self._stream, flush=True)

    def _say_busy(self, line: str) -> None:
        if self._bar is None:
            self._print(f"... {line}")


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
            heartbeat(steps.teller),
            listening_to_progress(steps.begin, steps.advance),
        ):
            # What numpy and scikit-learn say to programmers means nothing here.
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda warning, *_, **__: steps.notice(
                warning_text(warning)
            )
            yield steps
    finally:
        warnings.showwarning = shown
        steps.stop()


def warning_text(warning: Warning | str) -> str:
    """Return the text of a warning; that of a finding as the command line has it."""
    text = warning.args[0] if isinstance(warning, Warning) and warning.args else warning
    if isinstance(text, FindingText):
        return text.finding.text("terminal")
    return str(text)
