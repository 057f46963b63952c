"""What outputs and weights of a network have to keep: convex limits with names."""

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from counterpoise.numerics.arrays import Array, Indices


@dataclass(frozen=True, eq=False)
class ErrorBound:
    r"""The mean absolute error of some rows, outputs summed, is at most `bound`.

    .. math:: \sum_i \omega_i \sum_k |z_{ik} - y_{ik}| \le bound

    Parameters
    ----------
    name : str
    rows : array of int
    share : array
        What each of them counts; of sum one.
    truth : array of shape (n, n_outputs)
        y at these rows.
    bound : float
    """

    name: str
    rows: Indices
    share: Array
    truth: Array
    bound: float

    def value(self, z: Array) -> float:
        """Return the mean absolute error."""
        return float(self.share @ np.abs(z[self.rows] - self.truth).sum(axis=1))

    def violation(self, z: Array) -> float:
        """Return by how much the bound is exceeded."""
        return max(self.value(z) - self.bound, 0.0)

    def tightened(self, margin: float) -> "ErrorBound":
        """Return the limit with a smaller bound."""
        return replace(self, bound=self.bound - margin)


@dataclass(frozen=True, eq=False)
class MeanWithin:
    """The mean output of some rows is between `low` and `high`.

    Parameters
    ----------
    name : str
    rows : array of int
    share : array
        What each of them counts; of sum one.
    low, high : float
        May be infinite, not both.
    """

    name: str
    rows: Indices
    share: Array
    low: float
    high: float

    def value(self, z: Array) -> float:
        """Return the mean output."""
        return float(self.share @ z[self.rows, 0])

    def violation(self, z: Array) -> float:
        """Return by how much the nearer end is exceeded."""
        mean = self.value(z)
        return max(self.low - mean, mean - self.high, 0.0)

    def tightened(self, margin: float) -> "MeanWithin":
        """Return the limit with ends moved inwards, at most to a quarter of its width.

        An interval of no width stays.
        """
        margin = min(margin, 0.25 * (self.high - self.low))
        return replace(self, low=self.low + margin, high=self.high - margin)


@dataclass(frozen=True, eq=False)
class RisingRows:
    """The output at row `upper[i]` is no lower than at row `lower[i]`.

    Parameters
    ----------
    name : str
    lower, upper : arrays of int
    least : float
        What the rise is at least: zero, or a margin.
    """

    name: str
    lower: Indices
    upper: Indices
    least: float = 0.0

    def value(self, z: Array) -> float:
        """Return the largest fall; negative where all rise."""
        return -float(self.rises(z).min())

    def rises(self, z: Array) -> Array:
        """Return the rise of every pair."""
        rises: Array = z[self.upper, 0] - z[self.lower, 0]
        return rises

    def violation(self, z: Array) -> float:
        """Return the largest fall, zero where there is none."""
        return max(self.least + self.value(z), 0.0)

    def tightened(self, margin: float) -> "RisingRows":
        """Return the limit that asks for a rise."""
        return replace(self, least=self.least + margin)


@dataclass(frozen=True, eq=False)
class SignedWeights:
    """Some weights have a sign or are zero.

    Parameters
    ----------
    name : str
    places : array of int
        Where they are in the vector of parameters.
    signs : array
        1 or -1.
    """

    name: str
    places: Indices
    signs: Array

    def violation(self, x: Array) -> float:
        """Return the largest weight of the wrong sign."""
        return float(np.maximum(-self.signs * x[self.places], 0.0).max(initial=0.0))

    def kept(self, x: Array) -> Array:
        """Return parameters in which weights of the wrong sign are zero."""
        x = x.copy()
        here = x[self.places]
        x[self.places] = np.where(self.signs * here < 0.0, 0.0, here)
        return x


OutputLimit: TypeAlias = ErrorBound | MeanWithin | RisingRows
