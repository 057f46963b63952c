"""Learners with sample weights."""

from counterpoise.models.kernel_ridge import WeightedKernelRidge

__all__ = [
    "WeightedKernelRidge",
]
