r"""Activations as differences of convex functions, :math:`h = p - q`.

p and q are convex with slopes that change at most by `curve` per unit, so that the
Bregman distances of both are finite regularisers of a network's rounds.

==========  ===============================  =====================  ==================
h           p                                q                      curve
==========  ===============================  =====================  ==================
sigmoid     :math:`g(z) - z/4 - 1/2`         :math:`g(-z) - 1`      :math:`1/(6\sqrt3)`
tanh        :math:`2 p_\sigma(2z) - 1`       :math:`2q_\sigma(2z)`  :math:`8/(6\sqrt3)`
softplus    :math:`\log(1+e^{\tau z})/\tau`  0                      :math:`\tau/4`
==========  ===============================  =====================  ==================

with :math:`g(z) = \sigma(z)` for :math:`z \le 0`, else :math:`z/4 + 1/2`. All three
activations are increasing.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import expit

from counterpoise.numerics.arrays import Array

_SIGMOID_CURVE = 1.0 / (6.0 * np.sqrt(3.0))


class Together(NamedTuple):
    """An activation at some arguments, with what its rounds need of p and q.

    Attributes
    ----------
    value, slope : array
        h and its derivative.
    sum, sum_slope : array
        p + q and its derivative.
    """

    value: Array
    slope: Array
    sum: Array
    sum_slope: Array


class Activation(Protocol):
    """A smooth increasing function with its convex parts."""

    @property
    def curve(self) -> float:
        """The largest change of the slope of p or q per unit."""
        ...

    def value(self, z: Array) -> Array:
        """Return h."""
        ...

    def slope(self, z: Array) -> Array:
        """Return the derivative of h."""
        ...

    def parts(self, z: Array) -> tuple[Array, Array]:
        """Return p and q."""
        ...

    def part_slopes(self, z: Array) -> tuple[Array, Array]:
        """Return the derivatives of p and q."""
        ...

    def together(self, z: Array) -> Together:
        """Return h and p + q with their derivatives, in one go."""
        ...


@dataclass(frozen=True)
class Sigmoid:
    """The logistic function.

    Examples
    --------
    >>> p, q = Sigmoid().parts(np.array([-1.0, 2.0]))
    >>> np.allclose(p - q, Sigmoid().value(np.array([-1.0, 2.0])), atol=1e-15)
    True
    """

    curve: float = _SIGMOID_CURVE

    def value(self, z: Array) -> Array:
        """Return h."""
        return expit(z)

    def slope(self, z: Array) -> Array:
        """Return the derivative of h."""
        s = expit(z)
        return s * (1.0 - s)

    def parts(self, z: Array) -> tuple[Array, Array]:
        """Return p and q."""
        return _bent(z) - 0.25 * z - 0.5, _bent(-z) - 1.0

    def part_slopes(self, z: Array) -> tuple[Array, Array]:
        """Return the derivatives of p and q."""
        return _bent_slope(z) - 0.25, -_bent_slope(-z)

    def together(self, z: Array) -> Together:
        """Return h and p + q with their derivatives."""
        s = expit(z)
        slope = s * (1.0 - s)
        low = z <= 0.0
        return Together(
            s,
            slope,
            np.where(low, s - 0.5 * z - 1.0, -s),
            np.where(low, slope - 0.5, -slope),
        )


@dataclass(frozen=True)
class Tanh:
    """The hyperbolic tangent: twice a sigmoid of twice the argument, minus one."""

    curve: float = 8.0 * _SIGMOID_CURVE

    def value(self, z: Array) -> Array:
        """Return h."""
        return np.tanh(z)

    def slope(self, z: Array) -> Array:
        """Return the derivative of h."""
        return 1.0 - np.tanh(z) ** 2

    def parts(self, z: Array) -> tuple[Array, Array]:
        """Return p and q."""
        p, q = Sigmoid().parts(2.0 * z)
        return 2.0 * p - 1.0, 2.0 * q

    def part_slopes(self, z: Array) -> tuple[Array, Array]:
        """Return the derivatives of p and q."""
        p, q = Sigmoid().part_slopes(2.0 * z)
        return 4.0 * p, 4.0 * q

    def together(self, z: Array) -> Together:
        """Return h and p + q with their derivatives."""
        one = Sigmoid().together(2.0 * z)
        return Together(
            2.0 * one.value - 1.0,
            4.0 * one.slope,
            2.0 * one.sum - 1.0,
            4.0 * one.sum_slope,
        )


@dataclass(frozen=True)
class Softplus:
    """A smooth ramp, convex already; a large `tau` comes near to max(z, 0)."""

    tau: float = 1.0

    @property
    def curve(self) -> float:
        """The largest change of the slope of p per unit."""
        return 0.25 * self.tau

    def value(self, z: Array) -> Array:
        """Return h."""
        return np.logaddexp(0.0, self.tau * z) / self.tau

    def slope(self, z: Array) -> Array:
        """Return the derivative of h."""
        return expit(self.tau * z)

    def parts(self, z: Array) -> tuple[Array, Array]:
        """Return p and q."""
        return self.value(z), np.zeros_like(z)

    def part_slopes(self, z: Array) -> tuple[Array, Array]:
        """Return the derivatives of p and q."""
        return self.slope(z), np.zeros_like(z)

    def together(self, z: Array) -> Together:
        """Return h and p + q with their derivatives."""
        value, slope = self.value(z), self.slope(z)
        return Together(value, slope, value, slope)


ACTIVATIONS: dict[str, Activation] = {
    "sigmoid": Sigmoid(),
    "tanh": Tanh(),
    "softplus": Softplus(),
}


def _bent(z: Array) -> Array:
    """Return the sigmoid below zero, and its tangent at zero above."""
    return np.where(z <= 0.0, expit(np.minimum(z, 0.0)), 0.25 * z + 0.5)


def _bent_slope(z: Array) -> Array:
    s = expit(np.minimum(z, 0.0))
    return np.where(z <= 0.0, s * (1.0 - s), 0.25)
