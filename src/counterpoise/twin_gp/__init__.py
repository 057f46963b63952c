"""Twin Gaussian processes for structured outputs."""

from counterpoise.twin_gp.annotators import consensus
from counterpoise.twin_gp.baselines import WeightedGPR, WeightedKNN
from counterpoise.twin_gp.estimators import DirectTwinGP, Modes, TwinGP

__all__ = [
    "DirectTwinGP",
    "Modes",
    "TwinGP",
    "WeightedGPR",
    "WeightedKNN",
    "consensus",
]
