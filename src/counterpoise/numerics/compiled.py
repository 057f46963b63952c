"""Compile array functions once, and keep them on disk where that is possible."""

import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from numba import njit

_P = ParamSpec("_P")
_R = TypeVar("_R")


def compiled(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return the function compiled by numba, cached on disk if the disk allows it.

    A full disk, a file that was cut off or that something else wrote: the function is
    compiled without a cache, and a warning says so once.
    """
    try:
        found: Any = njit(cache=True)(function)
    except RuntimeError:  # numba finds no directory that it may write to
        return cast(Callable[_P, _R], njit(function))
    return cast(Callable[_P, _R], with_forgiving_cache(found))


def with_forgiving_cache(found: Any) -> Any:
    """Return a compiled function whose cache may be unreadable, or not writable."""
    if hasattr(found, "_cache"):
        found._cache = _ForgivingCache(found._cache)
    return found


class _ForgivingCache:
    """numba's cache of one function, without which a fit can do."""

    told = False

    def __init__(self, cache: Any) -> None:
        self._own = cache

    def __getattr__(self, name: str) -> Any:
        if name == "_own":
            raise AttributeError(name)
        return getattr(self._own, name)

    def load_overload(self, *given: Any) -> Any:
        """Return what was compiled before, None if that cannot be read."""
        try:
            return self._own.load_overload(*given)
        except Exception as error:
            self._tell("read", error)
        return None

    def save_overload(self, *given: Any) -> None:
        """Keep what was compiled, if it can be written."""
        try:
            self._own.save_overload(*given)
        except Exception as error:
            self._tell("written", error)

    def _tell(self, what: str, error: Exception) -> None:
        if _ForgivingCache.told:
            return
        _ForgivingCache.told = True
        warnings.warn(
            f"numba's cache of compiled functions cannot be {what} "
            f"({type(error).__name__}: {error}): functions are compiled anew, which "
            f"takes seconds in every process; look at {self._own.cache_path}",
            RuntimeWarning,
            stacklevel=2,
        )
