"""Two samples in, a weight a source row out."""

from counterpoise.weights.auto import AutoWeights
from counterpoise.weights.discrepancy import DiscrepancyWeights
from counterpoise.weights.discriminator import DiscriminatorWeights
from counterpoise.weights.kliep import KLIEP
from counterpoise.weights.least_squares import LSIF, RULSIF, ULSIF
from counterpoise.weights.mean_matching import KMM
from counterpoise.weights.mixture import MixtureKLIEP
from counterpoise.weights.target_shift import TargetShiftWeights
from counterpoise.weights.uniform import UniformWeights

__all__ = [
    "KLIEP",
    "KMM",
    "LSIF",
    "RULSIF",
    "ULSIF",
    "AutoWeights",
    "DiscrepancyWeights",
    "DiscriminatorWeights",
    "MixtureKLIEP",
    "TargetShiftWeights",
    "UniformWeights",
]
