"""Twin Gaussian processes and their baselines, for outputs that belong together."""

from counterpoise.learners.twin_gp.direct import DirectTwinGP
from counterpoise.learners.twin_gp.estimator import TwinGP
from counterpoise.learners.twin_gp.gpr import WeightedGPR
from counterpoise.learners.twin_gp.models.modes import Modes
from counterpoise.learners.twin_gp.neighbors import WeightedKNN

__all__ = ["DirectTwinGP", "Modes", "TwinGP", "WeightedGPR", "WeightedKNN"]
