"""Matrices that need not be stored, as mixtures see them."""

from typing import Any, Protocol

from counterpoise.numerics.arrays import Array, Indices


class Design(Protocol):
    """A non-negative matrix A of shape (m, n), known by its columns.

    A plain array is one; what else offers these four does too. One that is in memory
    may say so: what it has as `matrix` is read in place of columns and products.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        ...

    def columns(self, i: Indices) -> Any:
        """Return the columns i, an array.

        Or, for a method that asks no more of them, what has ``@ shares``, ``[:, i]``,
        `beside` and `moments`.
        """
        ...

    def pull(self, v: Array) -> Array:
        """Return v'A for v >= 0, or an upper bound of it.

        Certificates are made of it, so that a bound costs tightness and never truth.
        """
        ...

    def distinct(self, i: Indices, count: int, alike: float) -> Indices:
        """Return the first `count` of the columns i, no two more alike than `alike`."""
        ...
