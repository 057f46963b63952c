"""What is being done, and for how long: bars on a terminal, lines elsewhere."""

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from counterpoise.cli.notices import Notice
from counterpoise.cli.option_words import in_options
from counterpoise.cli.terminal import one_line
from counterpoise.engine.progress import heard_by
from counterpoise.engine.telling import Teller, never_silent
from counterpoise.report.wording import NARROW, for_a_person


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
    from counterpoise.validation.warning import is_own

    return in_options(str(warning)) if is_own(warning) else Notice(str(warning))
