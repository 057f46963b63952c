"""Pure functions of losses, weights and predictions."""

from counterpoise.evaluation import bounds
from counterpoise.evaluation.annotators.agreed_labels import Consensus, consensus

__all__ = ["Consensus", "bounds", "consensus"]
