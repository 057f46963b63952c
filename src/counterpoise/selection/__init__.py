"""Sparse subset selection, exemplars and image segmentation."""

from counterpoise.selection.classes import select_classes
from counterpoise.selection.prototypes import (
    Prototypes,
    select_prototypes,
    select_representatives,
)
from counterpoise.selection.segmentation import (
    Segmentation,
    SegmentationScores,
    segment,
    segmentation_scores,
)
from counterpoise.selection.subset_selector import SelectionPath, SubsetSelector
from counterpoise.weights.partial import ClassSelection

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
    "select_representatives",
]
