"""Few that stand for many: representatives, and what is made of them."""

from counterpoise.selection.classes import ClassSelection, select_classes
from counterpoise.selection.path import SelectionPath
from counterpoise.selection.prototypes import Prototypes, select_prototypes
from counterpoise.selection.representatives import SubsetSelector
from counterpoise.selection.rows import select_rows
from counterpoise.selection.segmentation import (
    Segmentation,
    SegmentationScores,
    segment,
    segmentation_scores,
)

__all__ = [
    "ClassSelection",
    "Prototypes",
    "Segmentation",
    "SegmentationScores",
    "SelectionPath",
    "SubsetSelector",
    "segment",
    "segmentation_scores",
    "select_classes",
    "select_prototypes",
    "select_rows",
]
