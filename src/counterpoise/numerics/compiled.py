"""Compile array functions once, and keep them on disk where that is possible."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function compiled by numba, cached on disk if the disk allows it."""
    try:
        return cast(Callable[P, R], njit(cache=True)(function))
    except RuntimeError:  # numba finds no directory that it may write to
        return cast(Callable[P, R], njit(function))
