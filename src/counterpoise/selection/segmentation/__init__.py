"""Segments of images: regions, features, words, the choice of few, merging."""

from counterpoise.selection.segmentation.scores import (
    SegmentationScores,
    segmentation_scores,
)
from counterpoise.selection.segmentation.segmenting import Segmentation, segment

__all__ = ["Segmentation", "SegmentationScores", "segment", "segmentation_scores"]
