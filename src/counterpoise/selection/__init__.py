"""Few that stand for many: words, prototypes, classes, segments of images."""

from counterpoise.selection.segmentation import (
    Segmentation,
    SegmentationScores,
    segment,
    segmentation_scores,
)

__all__ = ["Segmentation", "SegmentationScores", "segment", "segmentation_scores"]
