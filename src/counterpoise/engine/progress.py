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

_LISTENER: ContextVar[Listener | None] = ContextVar("progress", default=None)
_LOG = logging.getLogger("counterpoise")


def announce(step: str) -> None:
    """Say that a step begins, in a few words such as "weighing the source rows"."""
    _LOG.info(step)
    listener = _LISTENER.get()
    if listener is not None:
        listener(step)


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Let a listener hear the steps of what runs inside.

    Parameters
    ----------
    listener : callable
        Is called with the words of every step as it begins.

    Examples
    --------
    >>> heard = []
    >>> with heard_by(heard.append):
    ...     announce("weighing")
    >>> announce("fitting")
    >>> heard
    ['weighing']
    """
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
