"""Networks trained by convex rounds: objective, rounds, proofs and limits, read alone.

activations.py      three activations as differences of convex functions
layers.py           parameters in one vector, forward, backward, Jacobian
objective.py        weighted mean squares and weight decay
proximal_round.py   one round without constraints, and the proof that it is solved
training.py         the training problem and its certificate
direct_rounds.py    rounds by L-BFGS, proved by a backward pass
cone_programme.py   the same round as a cone programme, the reference
limits.py           what outputs and weights have to keep
programme.py        a quadratic programme under limits, by Clarabel
lagrangian.py       what its multipliers prove
output_layer.py     the last layer alone: exact, with a duality gap
constrained_training.py  the training problem under limits
prox_linear.py      its rounds
"""

from counterpoise.convex.network.activations import (
    ACTIVATIONS,
    Activation,
    Sigmoid,
    Softplus,
    Tanh,
)
from counterpoise.convex.network.constrained_training import ConstrainedTraining
from counterpoise.convex.network.direct_rounds import DirectRounds, Round
from counterpoise.convex.network.layers import Layer, Network
from counterpoise.convex.network.limits import (
    ErrorBound,
    MeanWithin,
    OutputLimit,
    RisingRows,
    SignedWeights,
)
from counterpoise.convex.network.objective import NetworkObjective
from counterpoise.convex.network.output_layer import (
    ExactLayer,
    LayerObjective,
    OutputLayer,
)
from counterpoise.convex.network.prox_linear import ProxLinear
from counterpoise.convex.network.proximal_round import (
    Penalties,
    ProximalRound,
    RoundProof,
)
from counterpoise.convex.network.training import PROVED_ROUND, NetworkTraining

__all__ = [
    "ACTIVATIONS",
    "PROVED_ROUND",
    "Activation",
    "ConstrainedTraining",
    "DirectRounds",
    "ErrorBound",
    "ExactLayer",
    "Layer",
    "LayerObjective",
    "MeanWithin",
    "Network",
    "NetworkObjective",
    "NetworkTraining",
    "OutputLayer",
    "OutputLimit",
    "Penalties",
    "ProxLinear",
    "ProximalRound",
    "RisingRows",
    "Round",
    "RoundProof",
    "Sigmoid",
    "SignedWeights",
    "Softplus",
    "Tanh",
]
