"""Few that stand for many: representatives, and what is made of them."""

from counterpoise.selection.path import SelectionPath
from counterpoise.selection.representatives import SubsetSelector
from counterpoise.selection.segmentation import (
    Segmentation,
    SegmentationScores,
    segment,
    segmentation_scores,
)

__all__ = [
    "Segmentation",
    "SegmentationScores",
    "SelectionPath",
    "SubsetSelector",
    "segment",
    "segmentation_scores",
]
