"""Compiled (numba) functions: decorators and loops whose sums may be reordered."""

import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from numba import njit

from counterpoise.linalg.arrays import Array, Indices

_P = ParamSpec("_P")
_R = TypeVar("_R")
# Whether the warning about numba's cache has been given.
_warned = False
# Sums may be regrouped; infinities and NaN keep their meaning.
FREEDOM = {"reassoc", "contract", "nsz", "arcp"}


def _compile(function: Any, **options: Any) -> Any:
    """Return the function compiled, cached on disk if the disk allows it."""
    try:
        dispatcher = njit(cache=True, **options)(function)
    except RuntimeError:  # numba finds no directory that it may write to
        return njit(**options)(function)
    cache = dispatcher._cache
    cache.load_overload = _guarded(cache, cache.load_overload, "read")
    cache.save_overload = _guarded(cache, cache.save_overload, "written")
    return dispatcher


def _guarded(cache: Any, method: Callable[..., Any], verb: str) -> Callable[..., Any]:
    """Return the cache's method, a failure of which is a warning, once a process.

    A full disk, a file that was cut off or that something else wrote: the function is
    compiled again.
    """

    def guarded(*arguments: Any) -> Any:
        global _warned
        try:
            return method(*arguments)
        except Exception as error:
            if not _warned:
                _warned = True
                warnings.warn(
                    f"numba's cache of compiled functions cannot be {verb} "
                    f"({type(error).__name__}: {error}): functions are compiled anew, "
                    f"which takes seconds in every process; look at {cache.cache_path}",
                    RuntimeWarning,
                    stacklevel=2,
                )
        return None

    return guarded


def compiled(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return the function compiled by numba."""
    out: Callable[_P, _R] = _compile(function)
    return out


# Functions that make no arrays, so that numba need not count who holds them: that takes
# half of the time of an event.


def reordered(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return the function compiled so that its sums use the processor's vectors."""
    out: Callable[_P, _R] = _compile(
        function, fastmath=FREEDOM, error_model="numpy", _nrt=False
    )
    return out


def finite_only(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return the same for a function in which no infinity and no NaN can arise."""
    out: Callable[_P, _R] = _compile(
        function, fastmath=True, error_model="numpy", _nrt=False
    )
    return out


def unchecked(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return the function compiled, a division by zero giving an infinity."""
    out: Callable[_P, _R] = _compile(function, error_model="numpy", _nrt=False)
    return out


def inlined(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return the function compiled into its callers, where it costs no call.

    Passing a tuple of arrays takes longer than many a function that gets it.
    """
    out: Callable[_P, _R] = _compile(
        function, error_model="numpy", _nrt=False, forceinline=True
    )
    return out


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
