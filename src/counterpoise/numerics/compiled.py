"""Compile array functions once, and keep them on disk where that is possible."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from numba import njit

_P = ParamSpec("_P")
_R = TypeVar("_R")


def compiled(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return the function compiled by numba, cached on disk if the disk allows it."""
    try:
        return cast(Callable[_P, _R], njit(cache=True)(function))
    except RuntimeError:  # numba finds no directory that it may write to
        return cast(Callable[_P, _R], njit(function))
