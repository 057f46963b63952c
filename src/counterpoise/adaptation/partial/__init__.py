"""Targets that have only some of the source's classes."""

from counterpoise.adaptation.partial.guard import PartialGuard
from counterpoise.adaptation.partial.weights import PartialWeights

__all__ = ["PartialGuard", "PartialWeights"]
