"""Compiled (numba) functions: decorators and loops whose sums may be reordered."""

import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from numba import njit

from counterpoise.linalg.arrays import Array, Indices

# -----------------------------------------------------------------------------
# Compile array functions once, and keep them on disk where that is possible.
# -----------------------------------------------------------------------------


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


# -----------------------------------------------------------------------------
# Compiled functions that make no arrays, and sums of rows in any order.
# -----------------------------------------------------------------------------


# Sums may be regrouped; infinities and NaN keep their meaning.
FREEDOM = {"reassoc", "contract", "nsz", "arcp"}


def reordered(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return the function compiled so that its sums use the processor's vectors."""
    return _with_freedom(function, FREEDOM)


def finite_only(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return the same for a function in which no infinity and no NaN can arise."""
    return _with_freedom(function, True)


def unchecked(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return the function compiled, a division by zero giving an infinity."""
    return _with_freedom(function, False)


def inlined(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return the function compiled into its callers, where it costs no call.

    Passing a tuple of arrays takes longer than many a function that gets it.
    """
    return _with_freedom(function, False, forceinline=True)


def _with_freedom(
    function: Callable[_P, _R], freedom: set[str] | bool, **more: bool
) -> Callable[_P, _R]:
    options: dict[str, Any] = {"fastmath": freedom, "error_model": "numpy", **more}
    # Nothing here makes arrays, so numba need not count who holds them: that takes half
    # of the time of an event. A numba that does not know the option goes without it.
    extras: tuple[dict[str, Any], ...] = (
        {"cache": True, "_nrt": False},
        {"cache": True},
        {},
    )
    for extra in extras:
        try:
            found = with_forgiving_cache(njit(**options, **extra)(function))
            return cast(Callable[_P, _R], found)
        except (RuntimeError, KeyError):  # KeyError: the option; else: no cache
            continue
    return function


@reordered
def inner(x: Array, y: Array, n: int) -> float:
    """Return the inner product of the first n entries."""
    total = 0.0
    for i in range(n):
        total += x[i] * y[i]
    return total


@reordered
def add_multiple(out: Array, c: float, x: Array) -> None:
    """Add c x to `out`."""
    for i in range(out.size):
        out[i] += c * x[i]


@reordered
def add_rows(
    out: Array, rows: Array, which: Indices, coefficients: Array, k: int
) -> None:
    """Add the first k chosen rows times their coefficients to `out`.

    Four rows at a time, so that `out` is read and written a quarter as often.
    """
    q = 0
    while q + 4 <= k:
        first, second = rows[which[q]], rows[which[q + 1]]
        third, fourth = rows[which[q + 2]], rows[which[q + 3]]
        a, b = coefficients[q], coefficients[q + 1]
        c, d = coefficients[q + 2], coefficients[q + 3]
        for j in range(out.size):
            out[j] += a * first[j] + b * second[j] + c * third[j] + d * fourth[j]
        q += 4
    while q < k:
        row, a = rows[which[q]], coefficients[q]
        for j in range(out.size):
            out[j] += a * row[j]
        q += 1
