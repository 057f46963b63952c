"""Targets that have the source's classes in other shares."""

from counterpoise.adaptation.label_shift.recognising import LabelShift
from counterpoise.adaptation.label_shift.weights import ClassShareWeights

__all__ = ["ClassShareWeights", "LabelShift"]
