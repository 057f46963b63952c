"""Weights as a function of the label, from target rows without labels."""

from counterpoise.weights.target_shift.estimator import TargetShiftWeights

__all__ = ["TargetShiftWeights"]
