"""Progress: steps that long work announces, and listeners that report them."""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event, Lock, Thread

# -----------------------------------------------------------------------------
# A channel for progress: long work announces its steps, whoever listens hears them.
#
# Nothing is printed here. Without a listener a step is a message of level INFO to the
# logger "counterpoise" and nothing else; a listener is set for what runs inside a
# `with`, in its own thread of execution alone.
# -----------------------------------------------------------------------------


Listener = Callable[[str], None]
Counter = Callable[[int, int], None]

_LISTENER: ContextVar[tuple[Listener, Counter | None] | None] = ContextVar(
    "progress", default=None
)
_LOG = logging.getLogger("counterpoise")


def announce(step: str) -> None:
    """Say that a step begins, in a few words such as "weighing the source rows".

    Examples
    --------
    >>> from counterpoise.data.progress import advance, announce, listening_to_progress
    >>> with listening_to_progress(print, print):
    ...     announce("weighing the source rows")
    ...     advance(1, 5)
    weighing the source rows
    1 5
    """
    _LOG.info(step)
    heard = _LISTENER.get()
    if heard is not None:
        heard[0](step)


def advance(done: int, total: int) -> None:
    """Say that so many of the parts of the step that goes on are over.

    Parts are folds, candidates and the like; a step may count several kinds of them,
    one after the other.

    Examples
    --------
    >>> from counterpoise.data.progress import advance
    >>> advance(1, 5)  # nobody listens: nothing is said
    """
    heard = _LISTENER.get()
    if heard is not None and heard[1] is not None:
        heard[1](done, total)


@contextmanager
def listening_to_progress(
    listener: Listener, counter: Counter | None = None
) -> Iterator[None]:
    """Let a listener hear the steps of what runs inside.

    Parameters
    ----------
    listener : callable
        Is called with the words of every step as it begins.
    counter : callable or None
        Is called with how many parts of the step are over, and of how many.

    Examples
    --------
    >>> heard = []
    >>> with listening_to_progress(heard.append):
    ...     announce("weighing")
    >>> announce("fitting")
    >>> heard
    ['weighing']
    """
    token = _LISTENER.set((listener, counter))
    try:
        yield
    finally:
        _LISTENER.reset(token)


# -----------------------------------------------------------------------------
# Progress in lines of text: a line a step, and never a long silence.
# -----------------------------------------------------------------------------


# Seconds after which something is said whatever happens.
LONGEST_SILENCE = 4.0


class TextProgress:
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
        say: Callable[[str], object],
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
def heartbeat(teller: TextProgress) -> Iterator[None]:
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
    verbose: int, callback: Callable[[str, int, int], object] | None
) -> Iterator[None]:
    """Report the steps inside, as the parameters of an estimator ask.

    An outer listener hears them as well.

    Parameters
    ----------
    verbose : int
        Above zero: a line is printed as a step begins.
    callback : callable or None
        Called with the words of the step, how many of its parts are over, and of how
        many; both are zero as a step begins.
    """
    outer = _LISTENER.get()
    step = ""

    def hear(words: str) -> None:
        nonlocal step
        step = words
        if verbose:
            sys.stdout.write(f"[counterpoise] {words}\n")
            sys.stdout.flush()
        if callback is not None:
            callback(words, 0, 0)
        if outer is not None:
            outer[0](words)

    def count(done: int, total: int) -> None:
        if callback is not None:
            callback(step, done, total)
        if outer is not None and outer[1] is not None:
            outer[1](done, total)

    with listening_to_progress(hear, count):
        yield
