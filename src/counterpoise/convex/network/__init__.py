"""Networks trained by convex rounds: objective, rounds, proofs and limits, read alone.

activations.py      three activations as differences of convex functions
layers.py           parameters in one vector, forward, backward, Jacobian
objective.py        weighted mean squares and weight decay
proximal_round.py   one round without constraints, and the proof that it is solved
training.py         the training problem and its certificate
direct_rounds.py    rounds by L-BFGS, proved by a backward pass
cone_programme.py   the same round as a cone programme, the reference
"""

from counterpoise.convex.network.activations import (
    ACTIVATIONS,
    Activation,
    Sigmoid,
    Softplus,
    Tanh,
)
from counterpoise.convex.network.direct_rounds import DirectRounds, Round
from counterpoise.convex.network.layers import Layer, Network
from counterpoise.convex.network.objective import NetworkObjective
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
    "DirectRounds",
    "Layer",
    "Network",
    "NetworkObjective",
    "NetworkTraining",
    "Penalties",
    "ProximalRound",
    "Round",
    "RoundProof",
    "Sigmoid",
    "Softplus",
    "Tanh",
]
