"""Kernel mean matching: weights that bring the source's kernel mean to the target's."""

from counterpoise.weights.mean_matching.estimator import KMM

__all__ = ["KMM"]
