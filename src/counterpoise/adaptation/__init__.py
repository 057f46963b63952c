"""Weigh, then fit: models for the target, and what they will be worth there."""

from counterpoise.adaptation.adapted import Adapted, adapt
from counterpoise.adaptation.guard import Guard
from counterpoise.adaptation.labelling import which_rows_to_label
from counterpoise.adaptation.model_files.saving import load
from counterpoise.adaptation.odd_inputs import (
    CutTargetWarning,
    FarTargetWarning,
    TimeOrderWarning,
    TrainingRowsWarning,
)
from counterpoise.adaptation.partial import PartialGuard, PartialWeights
from counterpoise.adaptation.performance import estimate_performance
from counterpoise.adaptation.scoring import target_scorer
from counterpoise.adaptation.transduction import TransductiveSVC

__all__ = [
    "Adapted",
    "CutTargetWarning",
    "FarTargetWarning",
    "Guard",
    "PartialGuard",
    "PartialWeights",
    "TimeOrderWarning",
    "TrainingRowsWarning",
    "TransductiveSVC",
    "adapt",
    "estimate_performance",
    "load",
    "target_scorer",
    "which_rows_to_label",
]
