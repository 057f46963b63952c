"""A network of layers: its parameters in one vector, forward, and its Jacobian."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.convex.network.activations import Activation
from counterpoise.numerics.arrays import Array


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
    >>> from counterpoise.convex.network.activations import Sigmoid
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
