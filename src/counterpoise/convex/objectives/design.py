"""Matrices that need not be stored, as mixtures see them."""

from typing import Any, Protocol

import numpy as np

from counterpoise.convex.objectives.columns import distinct_columns, product
from counterpoise.numerics.arrays import Array, Indices


class Design(Protocol):
    """A non-negative matrix A of shape (m, n), known by its columns.

    A plain array is one; what else offers these four does too.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        ...

    def columns(self, i: Indices) -> Array:
        """Return the columns i."""
        ...

    def pull(self, v: Array) -> Array:
        """Return v'A for v >= 0, or an upper bound of it.

        Certificates are made of it, so that a bound costs tightness and never truth.
        """
        ...

    def distinct(self, i: Indices, count: int, alike: float) -> Indices:
        """Return the first `count` of the columns i, no two more alike than `alike`."""
        ...


def columns_of(A: Any, i: Indices) -> Array:
    """Return the columns i of an array or a design."""
    out: Array = A[:, i] if isinstance(A, np.ndarray) else A.columns(i)
    return out


def pulled(A: Any, v: Array) -> Array:
    """Return v'A."""
    out: Array = v @ A if isinstance(A, np.ndarray) else A.pull(v)
    return out


def image_under(A: Any, x: Array) -> Array:
    """Return Ax, reading only the columns where x is not zero if it is sparse."""
    if isinstance(A, np.ndarray):
        return product(A, x)
    support = np.flatnonzero(x)
    return columns_of(A, support) @ x[support]


def distinct_of(A: Any, i: Indices, count: int, alike: float) -> Indices:
    """Return the first `count` of the columns i, no two more alike than `alike`."""
    if isinstance(A, np.ndarray):
        return distinct_columns(A, i, count, alike)
    out: Indices = A.distinct(i, count, alike)
    return out
