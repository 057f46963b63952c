"""Photographs with the segmentations that people drew, from COUNTERPOISE_DATA."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True, eq=False)
class Photograph:
    name: str
    image: np.ndarray
    truths: np.ndarray

    @property
    def human_count(self) -> float:
        """Median number of segments that people drew."""
        return float(np.median([np.unique(one).size for one in self.truths]))


def photographs(split: str, most: int | None = None) -> list[Photograph]:
    """Return the photographs of a split, in the order of their names; none: no data."""
    root = os.environ.get("COUNTERPOISE_DATA")
    folder = Path(root) / "bsds500" if root else None
    if folder is None or not folder.is_dir():
        return []
    from skimage.io import imread

    drawn = np.load(folder / "ground_truth.npz")
    paths = sorted((folder / "images").glob(f"{split}_*.jpg"))[:most]
    return [
        Photograph(path.stem, imread(path), drawn[f"{path.stem}_seg"]) for path in paths
    ]
