"""Where training begins: drawn, from a scikit-learn MLP, or from the last fit."""

from typing import Any

import numpy as np
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.utils.validation import check_is_fitted

from counterpoise.convex.network import (
    ACTIVATIONS,
    Activation,
    Layer,
    Network,
    NetworkObjective,
    Softplus,
)
from counterpoise.convex.network.output_layer import LayerObjective, OutputLayer
from counterpoise.learners.convex_network.units import Units
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.validation import InvalidInput, InvalidType, check_choice

# The smooth ramp that stands for a rectifier.
SMOOTH_RECTIFIER = Softplus(tau=10.0)
_OF_MLP: dict[str, Activation] = {
    "logistic": ACTIVATIONS["sigmoid"],
    "tanh": ACTIVATIONS["tanh"],
    "relu": SMOOTH_RECTIFIER,
}


def activation_named(activation: str, init: Any) -> Activation:
    """Return the activation: that of an MLP to begin with, else the one asked for.

    A rectifier becomes a softplus with tau 10.
    """
    check_choice("activation", activation, list(ACTIVATIONS))
    if isinstance(init, str):
        check_choice("init", init, ["he"])
        return ACTIVATIONS[activation]
    if not isinstance(init, MLPClassifier | MLPRegressor):
        raise InvalidType(
            "init must be 'he' or a fitted scikit-learn MLPClassifier or MLPRegressor, "
            f"got {type(init).__name__}"
        )
    check_is_fitted(init, "coefs_")
    if init.activation not in _OF_MLP:
        known = ", ".join(map(repr, _OF_MLP))
        raise InvalidInput(
            f"init has activation {init.activation!r}: {known} can be taken over"
        )
    return _OF_MLP[init.activation]


def random_weights(network: Network, random: np.random.RandomState) -> Array:
    """Return weights by He's rule, normal of variance 2 / inputs, and zero biases."""
    layers = [
        (random.standard_normal((a, b)) * np.sqrt(2.0 / a), np.zeros(b))
        for a, b in zip(network.sizes[:-1], network.sizes[1:], strict=True)
    ]
    return network.pack(layers)


def warm_start_weights(mlp: Any, objective: NetworkObjective, units: Units) -> Array:
    """Return the parameters of a fitted MLP, in the units of training.

    A regressor's are taken whole. Of a classifier the hidden layers are, and the last
    layer is fitted to them: its own belongs to another loss.
    """
    network = objective.network
    own = tuple(w.shape[0] for w in mlp.coefs_)
    if own != network.sizes[:-1]:
        raise InvalidInput(
            f"init has {own[0]} columns and hidden layers {own[1:]}; X has "
            f"{network.sizes[0]} columns and hidden is {network.sizes[1:-1]}"
        )
    layers = [
        Layer(np.asarray(w, dtype=float), np.asarray(b, dtype=float))
        for w, b in zip(mlp.coefs_, mlp.intercepts_, strict=True)
    ]
    # A regressor of counts has an exponential after its last layer.
    linear = isinstance(mlp, MLPRegressor) and mlp.out_activation_ == "identity"
    if linear and layers[-1].biases.size == network.sizes[-1]:
        return network.pack(units.learned(layers))
    inputs, outputs = network.sizes[-2:]
    empty = Layer(np.zeros((inputs, outputs)), np.zeros(outputs))
    x = network.pack([*units.learned([*layers[:-1], empty])[:-1], empty])
    return with_best_last_layer(x, objective)


def with_best_last_layer(x: Array, objective: NetworkObjective) -> Array:
    """Return parameters whose last layer is the best for the hidden ones."""
    network = objective.network
    inputs = network.last_inputs(x, objective.X)
    layer = LayerObjective(inputs, objective.Y, objective.share, objective.alpha)
    found = OutputLayer(layer, inputs).solved()
    assert found is not None
    return np.concatenate([x[: network.starts[-2]], found[0]])


def start_with_signs(x: Array, places: Indices, signs: Array) -> Array:
    """Return a drawn start in which weights have the signs that they must have."""
    x = x.copy()
    x[places] = signs * np.abs(x[places])
    return x
