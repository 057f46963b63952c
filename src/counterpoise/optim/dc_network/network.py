"""Feed-forward networks: activations, layers and the training objective."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from counterpoise.linalg.arrays import Array

# -----------------------------------------------------------------------------
# Activations as differences of convex functions, :math:`h = p - q`.
#
# p and q are convex with slopes that change at most by `curve` per unit, so that the
# Bregman distances of both are finite regularizers of a network's rounds.
#
# ==========  ===============================  =====================
# ==================
# h           p                                q                      curve
# ==========  ===============================  =====================
# ==================
# sigmoid     :math:`g(z) - z/4 - 1/2`         :math:`g(-z) - 1`
# :math:`1/(6\sqrt3)`
# tanh        :math:`2 p_\sigma(2z) - 1`       :math:`2q_\sigma(2z)`
# :math:`8/(6\sqrt3)`
# softplus    :math:`\log(1+e^{\tau z})/\tau`  0                      :math:`\tau/4`
# ==========  ===============================  =====================
# ==================
#
# with :math:`g(z) = \sigma(z)` for :math:`z \le 0`, else :math:`z/4 + 1/2`. All three
# activations are increasing.
# -----------------------------------------------------------------------------


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


Activation: TypeAlias = Sigmoid | Tanh | Softplus

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


# -----------------------------------------------------------------------------
# A network of layers: its parameters in one vector, forward, and its Jacobian.
# -----------------------------------------------------------------------------


class Layer(NamedTuple):
    """Weights (inputs x units) and biases of one layer."""

    weights: Array
    biases: Array


@dataclass(frozen=True)
class Network:
    r"""Layers :math:`z_l = a_{l-1} w_l + b_l`, :math:`a_l = h(z_l)`, :math:`a_0 = X`.

    The last layer has no activation. Rows of data are rows; a vector of parameters
    holds, layer after layer, the weights row by row and then the biases.

    Parameters
    ----------
    sizes : tuple of int
        Columns, units of every hidden layer, outputs.
    activation : Activation
        Of the hidden layers.

    Examples
    --------
    >>> from counterpoise.optim.dc_network.network import Sigmoid
    >>> net = Network((2, 3, 1), Sigmoid())
    >>> net.size, net.outputs(np.zeros(13), np.ones((4, 2))).shape
    (13, (4, 1))
    """

    sizes: tuple[int, ...]
    activation: Activation

    @property
    def depth(self) -> int:
        """The number of layers."""
        return len(self.sizes) - 1

    @cached_property
    def size(self) -> int:
        """The number of parameters."""
        return sum((a + 1) * b for a, b in self._pairs)

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        return list(zip(self.sizes[:-1], self.sizes[1:], strict=True))

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where each layer begins among the parameters, and where the last ends."""
        lengths = [(a + 1) * b for a, b in self._pairs]
        return tuple(int(k) for k in np.cumsum([0, *lengths]))

    @cached_property
    def is_weight(self) -> NDArray[np.bool_]:
        """Which parameters are weights, and not biases."""
        marks = [np.arange((a + 1) * b) < a * b for a, b in self._pairs]
        return np.concatenate(marks)

    def unpack(self, x: Array) -> list[Layer]:
        """Return the layers as views of a vector."""
        out = []
        for first, (a, b) in zip(self.starts[:-1], self._pairs, strict=True):
            middle = first + a * b
            out.append(Layer(x[first:middle].reshape(a, b), x[middle : middle + b]))
        return out

    @staticmethod
    def pack(layers: Sequence[tuple[Array, Array]]) -> Array:
        """Return layers as one vector."""
        return np.concatenate([np.ravel(part) for layer in layers for part in layer])

    def forward(self, x: Array, X: Array) -> tuple[list[Array], list[Array]]:
        """Return arguments z_1 to z_L and what feeds them, a_0 to a_(L-1)."""
        zs, activations = [], [X]
        for k, layer in enumerate(self.unpack(x)):
            zs.append(activations[-1] @ layer.weights + layer.biases)
            if k < self.depth - 1:
                activations.append(self.activation.value(zs[-1]))
        return zs, activations

    def outputs(self, x: Array, X: Array) -> Array:
        """Return the outputs of the last layer."""
        return self.forward(x, X)[0][-1]

    def last_inputs(self, x: Array, X: Array) -> Array:
        """Return what feeds the last layer, with a column of ones for the bias."""
        inputs = self.forward(x, X)[1][-1]
        return np.column_stack([inputs, np.ones(len(X))])

    def backward(self, x: Array, X: Array, signal: Array) -> Array:
        """Return the gradient by the parameters of the sum of signal * outputs."""
        zs, activations = self.forward(x, X)
        layers, out, d = self.unpack(x), [], signal
        for k in reversed(range(self.depth)):
            out.append((activations[k].T @ d, d.sum(axis=0)))
            if k:
                d = (d @ layers[k].weights.T) * self.activation.slope(zs[k - 1])
        return self.pack(out[::-1])

    def jacobian(self, x: Array, X: Array) -> tuple[Array, Array]:
        """Return derivatives of outputs, (rows, outputs, parameters), and outputs."""
        zs, activations = self.forward(x, X)
        layers = self.unpack(x)
        m, n_outputs = len(X), self.sizes[-1]
        out = np.empty((m, n_outputs, self.size))
        slopes = [self.activation.slope(z) for z in zs[:-1]]
        for k in range(n_outputs):
            d = np.zeros((m, n_outputs))
            d[:, k] = 1.0
            for layer in reversed(range(self.depth)):
                first, last = self.starts[layer], self.starts[layer + 1]
                middle = last - d.shape[1]
                products = activations[layer][:, :, None] * d[:, None, :]
                out[:, k, first:middle] = products.reshape(m, -1)
                out[:, k, middle:last] = d
                if layer:
                    d = (d @ layers[layer].weights.T) * slopes[layer - 1]
        return out, zs[-1]


# -----------------------------------------------------------------------------
# The training objective: weighted mean squares and weight decay.
# -----------------------------------------------------------------------------


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
    >>> from counterpoise.optim.dc_network.network import Sigmoid
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
