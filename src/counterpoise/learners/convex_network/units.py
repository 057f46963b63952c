"""Columns and responses on a common scale, and layers between the two units."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterpoise.convex.network import Layer
from counterpoise.numerics.arrays import Array
from counterpoise.validation import InvalidInput

# Columns that vary less have coefficients that are no floats.
_SMALLEST_SPREAD = 1e-304


@dataclass(frozen=True, eq=False)
class Units:
    """How a user's columns and responses become those that are trained on.

    Attributes
    ----------
    mean, spread : arrays of shape (d,)
        Taken off columns, and what they are divided by; a constant column has spread
        one.
    y_mean, y_spread : float
        The same of responses.
    """

    mean: Array
    spread: Array
    y_mean: float = 0.0
    y_spread: float = 1.0

    @classmethod
    def of(cls, X: Array, y: Array | None, share: Array, standardize: bool) -> "Units":
        """Return weighted means and spreads; zeros and ones unless `standardize`.

        A spread below 1e-304, whose inverse is next to no float, is refused.
        """
        if not standardize:
            return cls.none(X.shape[1])
        mean, spread = share @ X, column_spreads(X, share)
        small = np.flatnonzero(spread < _SMALLEST_SPREAD)
        if small.size:
            raise InvalidInput(
                f"column {small[0]} (counted from 0) varies by {spread[small[0]]:.3g}: "
                "coefficients of so small numbers are beyond floats; multiply the "
                "column"
            )
        if y is None:
            return cls(mean, spread)
        y_spread = column_spreads(y[:, None], share)[0]
        return cls(mean, spread, float(share @ y), float(y_spread))

    @classmethod
    def none(cls, n_columns: int) -> "Units":
        """Return the user's own."""
        return cls(np.zeros(n_columns), np.ones(n_columns))

    def columns(self, X: Array) -> Array:
        """Return rows in the units of training."""
        return (X - self.mean) / self.spread

    def responses(self, y: Array) -> Array:
        """Return responses in the units of training."""
        return (y - self.y_mean) / self.y_spread

    def told(self, layers: Sequence[Layer]) -> list[Layer]:
        """Return layers of training as layers of the user's units."""
        (w, b), *rest = layers
        scaled = w / self.spread[:, None]
        out = [Layer(scaled, b - self.mean @ scaled), *rest]
        w, b = out[-1]
        out[-1] = Layer(w * self.y_spread, b * self.y_spread + self.y_mean)
        return out

    def learned(self, layers: Sequence[Layer]) -> list[Layer]:
        """Return layers of the user's units as layers of training."""
        out = list(layers)
        w, b = out[-1]
        out[-1] = Layer(w / self.y_spread, (b - self.y_mean) / self.y_spread)
        w, b = out[0]
        out[0] = Layer(w * self.spread[:, None], b + self.mean @ w)
        return out


def column_spreads(X: Array, share: Array) -> Array:
    """Return weighted standard deviations; one for a constant column.

    Examples
    --------
    >>> column_spreads(np.array([[1.0, 5.0], [3.0, 5.0]]), np.array([0.5, 0.5]))
    array([1., 1.])
    """
    mean = share @ X
    apart = X - mean
    # Squares of numbers near one neither vanish nor overflow.
    largest = np.abs(apart).max(axis=0)
    largest = np.where(largest > 0.0, largest, 1.0)
    spread = largest * np.sqrt(share @ (apart / largest) ** 2)
    # What rounding makes of the spread of a constant is not one.
    constant = spread <= 1e-13 * np.abs(mean)
    return np.where(constant, 1.0, spread)
