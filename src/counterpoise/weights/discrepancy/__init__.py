"""Weights of least discrepancy: what hypotheses of a class see of the two samples."""

from counterpoise.weights.discrepancy.estimator import DiscrepancyWeights

__all__ = ["DiscrepancyWeights"]
