"""What a network's training lowers: weighted mean squares and a little decay."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterpoise.convex.network.layers import Network
from counterpoise.numerics.arrays import Array


@dataclass(frozen=True, eq=False)
class NetworkObjective:
    r"""The weighted mean squared error of a network and the size of its weights.

    .. math::

        f(w, b) = \sum_j o_j |z_{L,j} - y_j|^2 + \frac{\alpha}{2} \sum_l |w_l|^2,
        \qquad \sum_j o_j = 1

    Biases are free. Not convex with a hidden layer.

    Parameters
    ----------
    network : Network
    X : array of shape (m, d)
    Y : array of shape (m, n_outputs)
    share : array of shape (m,)
        o, positive, of sum one.
    alpha : float
        Weight decay, not negative.

    Examples
    --------
    >>> from counterpoise.convex.network.activations import Sigmoid
    >>> X, Y = np.array([[0.0], [1.0]]), np.array([[0.0], [2.0]])
    >>> f = NetworkObjective(Network((1, 1), Sigmoid()), X, Y, np.full(2, 0.5), 0.2)
    >>> f.value(np.array([2.0, 0.0]))
    0.4
    """

    network: Network
    X: Array
    Y: Array
    share: Array
    alpha: float

    @cached_property
    def scale(self) -> float:
        """The loss of the best constant, the unit of gaps; one where that is zero."""
        spread = float(self.share @ ((self.Y - self.share @ self.Y) ** 2).sum(axis=1))
        return spread if spread > 0.0 else 1.0

    @property
    def unit(self) -> float:
        """What fixed penalties are multiplied by: `scale`, and one where it is less."""
        return max(self.scale, 1.0)

    def loss(self, x: Array) -> float:
        """Return the weighted mean squared error."""
        residual = self.network.outputs(x, self.X) - self.Y
        return float(self.share @ (residual**2).sum(axis=1))

    def decay(self, x: Array) -> float:
        """Return what the size of the weights adds."""
        weights = x[self.network.is_weight]
        return 0.5 * self.alpha * float(weights @ weights)

    def value(self, x: Array) -> float:
        """Return f."""
        return self.loss(x) + self.decay(x)

    def gradient(self, x: Array) -> Array:
        """Return the gradient of f."""
        residual = self.network.outputs(x, self.X) - self.Y
        signal = 2.0 * self.share[:, None] * residual
        slopes = self.network.backward(x, self.X, signal)
        return slopes + self.alpha * np.where(self.network.is_weight, x, 0.0)
