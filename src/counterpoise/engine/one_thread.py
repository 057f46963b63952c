"""One thread for linear algebra while something is fitted: the same bits everywhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

_LOCK = Lock()
# How many are inside, and what the libraries had before the first of them.
_INSIDE: dict[str, Any] = {"count": 0, "limits": None}


@contextmanager
def one_thread() -> Iterator[None]:
    """Let linear algebra take one thread inside, in all threads of the process.

    Sums of two threads differ in their last digits from those of one. The first to come
    sets the limit and the last to go takes it away, in whatever order they do.
    """
    with _LOCK:
        if _INSIDE["count"] == 0:
            _INSIDE["limits"] = _libraries().limit(limits=1, user_api="blas")
            _INSIDE["limits"].__enter__()
        _INSIDE["count"] += 1
    try:
        yield
    finally:
        with _LOCK:
            _INSIDE["count"] -= 1
            if _INSIDE["count"] == 0:
                _INSIDE["limits"].__exit__(None, None, None)
                _INSIDE["limits"] = None


@cache
def _libraries() -> ThreadpoolController:
    """Return the loaded libraries that have threads; to look for them takes time."""
    return ThreadpoolController()
