"""Progress in lines of text: a line a step, and never a long silence."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import Any

from counterpoise.engine.progress import also_heard_by

# Seconds after which something is said whatever happens.
LONGEST_SILENCE = 4.0


class Teller:
    """What is going on, in lines.

    Parameters
    ----------
    say : callable
        Takes a line of text.
    longest_silence : float
        Seconds after which a line says how long the step has taken so far.
    says_begin : bool
        Whether a line is said as a step begins.
    """

    def __init__(
        self,
        say: Callable[[str], Any],
        longest_silence: float = LONGEST_SILENCE,
        *,
        says_begin: bool = True,
    ) -> None:
        self._say = say
        self._says_begin = says_begin
        self._silence = longest_silence
        self._lock = Lock()
        self._step = ""
        self._parts = ""
        self._began = self._said = time.monotonic()

    def begin(self, step: str) -> None:
        """Say that a step begins."""
        with self._lock:
            self._step, self._parts = step, ""
            self._began = self._said = time.monotonic()
            if self._says_begin:
                self._tell(step)

    def advance(self, done: int, total: int) -> None:
        """Note how far the step is; said when it is time to say something."""
        with self._lock:
            self._parts = f", {done} of {total}"

    def end(self) -> None:
        """Be silent from here on."""
        with self._lock:
            self._step = ""

    def wait(self) -> float:
        """Say something if it is time to, and return the seconds until it next is."""
        with self._lock:
            now = time.monotonic()
            if self._step and now - self._said >= self._silence:
                self._tell(f"{self._step}{self._parts} ({now - self._began:.0f} s)")
                return self._silence
            return max(self._silence - (now - self._said), 0.01)

    def _tell(self, line: str) -> None:
        self._said = time.monotonic()
        self._say(line)


@contextmanager
def never_silent(teller: Teller) -> Iterator[None]:
    """Let a teller say something in time, from a thread of its own."""
    over = Event()

    def watch() -> None:
        pause = teller.wait()
        while not over.wait(pause):
            pause = teller.wait()

    thread = Thread(target=watch, name="counterpoise progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        teller.end()


@contextmanager
def told(
    verbose: int, callback: Callable[[str, int, int], Any] | None
) -> Iterator[None]:
    """Tell of what runs inside, as the parameters of an estimator ask.

    Parameters
    ----------
    verbose : int
        Above zero: lines are printed.
    callback : callable or None
        Called with the words of the step, how many of its parts are over, and of how
        many; both are zero as a step begins.
    """
    if not verbose and callback is None:
        yield
        return
    teller = Teller(_printed if verbose else _unsaid)
    step = ""

    def hear(words: str) -> None:
        nonlocal step
        step = words
        teller.begin(words)
        if callback is not None:
            callback(words, 0, 0)

    def count(done: int, total: int) -> None:
        teller.advance(done, total)
        if callback is not None:
            callback(step, done, total)

    with never_silent(teller), also_heard_by(hear, count):
        yield


def _printed(line: str) -> None:
    sys.stdout.write(f"[counterpoise] {line}\n")
    sys.stdout.flush()


def _unsaid(line: str) -> None:
    """Say nothing: the callback was told."""
