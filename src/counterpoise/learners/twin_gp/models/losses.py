r"""Divergences between the Gaussian of the inputs and that of the outputs.

Both Gaussians are over the N training rows and the test row. In y they depend on two
numbers alone: the Schur complement e_y of the outputs' covariance, and a mixed term

=================  ==============================================================
`"kl"`             :math:`u's_y`, with :math:`u = S_x^{-1} s_x`
`"inverse-kl"`     :math:`r = c_x - 2 v's_x + v'S_x v`, with :math:`v = S_y^{-1} s_y`
`"sharma-mittal"`  :math:`e_t = c_t - s_t'S_t^{-1} s_t`
=================  ==============================================================

Each loss is its divergence in nats, up to a constant that is free of y; its bound is
one that no y goes below, by the chain rule: the divergence of the last variable given
the others is not negative.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from counterpoise.numerics.arrays import Array

Mixed = Literal["linear", "quadratic", "mixture"]
DIVERGENCES = ("kl", "inverse-kl", "sharma-mittal")


class Loss(Protocol):
    """A function of the mixed term and the Schur complements, with a lower bound."""

    @property
    def mixed(self) -> Mixed:
        """Which mixed term it takes."""
        ...

    @property
    def scale(self) -> float:
        """The size of its slopes, beside those of KL."""
        ...

    def value(self, mixed: Array, e_y: Array, e_x: Array) -> Array:
        """Return the loss, O(1) a test row."""
        ...

    def slopes(self, mixed: Array, e_y: Array, e_x: Array) -> tuple[Array, Array]:
        """Return its derivatives by the mixed term and by e_y."""
        ...

    def bound(self, e_x: Array, spread: Array) -> Array:
        """Return what no y goes below; `spread` is u'S_y u, for "linear" only."""
        ...


@dataclass(frozen=True)
class KL:
    r"""KL(Y‖X): :math:`\tfrac12 [(c_y - 2 u's_y)/e_x - \log e_y]`.

    Bound: :math:`\tfrac12 [1 - \log e_x - u'S_y u / e_x]`.
    """

    ridge_y: float
    mixed: Mixed = "linear"
    scale: float = 1.0

    def value(self, mixed: Array, e_y: Array, e_x: Array) -> Array:
        """Return the loss."""
        out: Array = 0.5 * ((1.0 + self.ridge_y - 2.0 * mixed) / e_x - np.log(e_y))
        return out

    def slopes(self, mixed: Array, e_y: Array, e_x: Array) -> tuple[Array, Array]:
        """Return its derivatives by the mixed term and by e_y."""
        return -1.0 / e_x, -0.5 / e_y

    def bound(self, e_x: Array, spread: Array) -> Array:
        """Return what no y goes below."""
        out: Array = 0.5 * (1.0 - np.log(e_x) - spread / e_x)
        return out


@dataclass(frozen=True)
class InverseKL:
    r"""KL(X‖Y): :math:`\tfrac12 [r/e_y + \log e_y]`; bound: half of 1 + log e_x."""

    mixed: Mixed = "quadratic"
    scale: float = 1.0

    def value(self, mixed: Array, e_y: Array, e_x: Array) -> Array:
        """Return the loss."""
        out: Array = 0.5 * (mixed / e_y + np.log(e_y))
        return out

    def slopes(self, mixed: Array, e_y: Array, e_x: Array) -> tuple[Array, Array]:
        """Return its derivatives by the mixed term and by e_y."""
        return 0.5 / e_y, 0.5 * (1.0 - mixed / e_y) / e_y

    def bound(self, e_x: Array, spread: Array) -> Array:
        """Return what no y goes below."""
        out: Array = 0.5 * (1.0 + np.log(e_x))
        return out


@dataclass(frozen=True)
class SharmaMittal:
    r"""Rényi's divergence: :math:`(\log e_t - t \log e_y) / (2 (1 - t))`.

    Bound: :math:`\tfrac12 \log e_x`, because the Schur complement is concave:
    :math:`e_t \ge (1 - t) e_x + t e_y \ge e_x^{1-t} e_y^t`.
    """

    theta: float
    mixed: Mixed = "mixture"

    @property
    def scale(self) -> float:
        """The size of its slopes, which fall with theta."""
        return min(1.0, 2.0 * self.theta)

    def value(self, mixed: Array, e_y: Array, e_x: Array) -> Array:
        """Return the loss."""
        t = self.theta
        out: Array = (np.log(mixed) - t * np.log(e_y)) / (2.0 * (1.0 - t))
        return out

    def slopes(self, mixed: Array, e_y: Array, e_x: Array) -> tuple[Array, Array]:
        """Return its derivatives by the mixed term and by e_y."""
        t = self.theta
        share = 1.0 / (2.0 * (1.0 - t))
        return share / mixed, -t * share / e_y

    def bound(self, e_x: Array, spread: Array) -> Array:
        """Return what no y goes below."""
        out: Array = 0.5 * np.log(e_x)
        return out


def loss_of(divergence: str, theta: float, ridge_y: float) -> Loss:
    """Return the loss of a name.

    Examples
    --------
    >>> loss_of("sharma-mittal", 0.3, 1e-3)
    SharmaMittal(theta=0.3, mixed='mixture')
    """
    if divergence == "kl":
        return KL(ridge_y)
    if divergence == "inverse-kl":
        return InverseKL()
    return SharmaMittal(theta)


def of_order(divergence: Array, order: float) -> Array:
    r"""Return Sharma and Mittal's divergence of an order, from Rényi's D.

    .. math:: (\exp((\text{order} - 1) D) - 1) / (\text{order} - 1)

    It grows with D for every order, which is D itself at one: the order never changes
    which y is best.

    Examples
    --------
    >>> of_order(np.array([0.0, 1.0]), 1.0)
    array([0., 1.])
    """
    if order == 1.0:
        return divergence
    with np.errstate(over="ignore"):
        out: Array = np.expm1((order - 1.0) * divergence) / (order - 1.0)
    return out
