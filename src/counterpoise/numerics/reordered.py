"""Compiled functions that make no arrays, and sums of rows in any order."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from numba import njit

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.compiled import with_forgiving_cache

_P = ParamSpec("_P")
_R = TypeVar("_R")

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
