"""Norms to add to an objective, each known by its prox."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from counterpoise.numerics.arrays import Array
from counterpoise.numerics.prox import row_threshold, soft_threshold


class Penalty(Protocol):
    """A norm times its weight."""

    @property
    def size(self) -> int:
        """The number of entries of a point."""
        ...

    def value(self, x: Array) -> float:
        """Return the penalty at x."""
        ...

    def prox(self, v: Array, step: float) -> Array:
        """Return the minimiser of step * value(x) + |x - v|^2 / 2."""
        ...

    def dual_norm(self, g: Array) -> float:
        """Return the largest g's over s with value(s) <= 1."""
        ...


@dataclass(frozen=True)
class L1:
    r"""The penalty :math:`weight \, \|x\|_1`.

    Examples
    --------
    >>> import numpy as np
    >>> L1(2, weight=0.5).value(np.array([1.0, -3.0]))
    2.0
    """

    size: int
    weight: float = 1.0

    def __post_init__(self) -> None:
        _check_weight(self.weight)

    def value(self, x: Array) -> float:
        """Return the penalty at x."""
        return self.weight * float(np.abs(x).sum())

    def prox(self, v: Array, step: float) -> Array:
        """Return the minimiser of step * value(x) + |x - v|^2 / 2."""
        return soft_threshold(v, step * self.weight)

    def dual_norm(self, g: Array) -> float:
        """Return the largest absolute entry over the weight."""
        return float(np.abs(g).max()) / self.weight


@dataclass(frozen=True)
class RowNorms:
    r"""The penalty :math:`weight \sum_i \|X_i\|_2` over the rows of a matrix.

    The matrix of shape (rows, columns) travels as the vector of its rows.

    Examples
    --------
    >>> import numpy as np
    >>> RowNorms(2, 2).value(np.array([3.0, 4.0, 0.0, 1.0]))
    6.0
    """

    rows: int
    columns: int
    weight: float = 1.0

    def __post_init__(self) -> None:
        _check_weight(self.weight)

    @property
    def size(self) -> int:
        """The number of entries of a point."""
        return self.rows * self.columns

    def value(self, x: Array) -> float:
        """Return the penalty at x."""
        return self.weight * float(np.linalg.norm(self._matrix(x), axis=1).sum())

    def prox(self, v: Array, step: float) -> Array:
        """Return the minimiser of step * value(x) + |x - v|^2 / 2."""
        return row_threshold(self._matrix(v), step * self.weight).ravel()

    def dual_norm(self, g: Array) -> float:
        """Return the largest norm of a row over the weight."""
        return float(np.linalg.norm(self._matrix(g), axis=1).max()) / self.weight

    def _matrix(self, x: Array) -> Array:
        return x.reshape(self.rows, self.columns)


def _check_weight(weight: float) -> None:
    if not weight > 0.0:
        raise ValueError(f"weight must be positive, got {weight}")
