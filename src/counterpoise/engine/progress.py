"""A channel for progress: long work announces its steps, whoever listens hears them.

Nothing is printed here. Without a listener a step is a message of level INFO to the
logger "counterpoise" and nothing else; a listener is set for what runs inside a `with`,
in its own thread of execution alone.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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
    >>> from counterpoise.engine import advance, announce, heard_by
    >>> with heard_by(print, print):
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
    >>> from counterpoise.engine import advance
    >>> advance(1, 5)  # nobody listens: nothing is said
    """
    heard = _LISTENER.get()
    if heard is not None and heard[1] is not None:
        heard[1](done, total)


@contextmanager
def heard_by(listener: Listener, counter: Counter | None = None) -> Iterator[None]:
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
    >>> with heard_by(heard.append):
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


@contextmanager
def also_heard_by(listener: Listener, counter: Counter) -> Iterator[None]:
    """As `heard_by`, and who listened before hears it too."""
    outer = _LISTENER.get()

    def hear(step: str) -> None:
        listener(step)
        if outer is not None:
            outer[0](step)

    def count(done: int, total: int) -> None:
        counter(done, total)
        if outer is not None and outer[1] is not None:
            outer[1](done, total)

    with heard_by(hear, count):
        yield
