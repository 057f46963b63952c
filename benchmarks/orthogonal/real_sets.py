"""Real data from the folder that COUNTERPOISE_DATA names."""

import os
from pathlib import Path

import numpy as np


class MissingDataError(Exception):
    """A data set is not there; the message says which."""


def folder(name):
    """Return the folder of a set, or say what is missing."""
    home = os.environ.get("COUNTERPOISE_DATA")
    if not home:
        raise MissingDataError("COUNTERPOISE_DATA is not set")
    path = Path(home) / name
    if not path.is_dir():
        raise MissingDataError(f"no folder {name} in COUNTERPOISE_DATA")
    return path


def faces():
    with np.load(folder("yale_faces") / "yale_32x32.npz") as kept:
        return kept["X"].astype(float), kept["y"].astype(int)


def shapes(name):
    if name == "iris":
        from sklearn.datasets import load_iris

        return load_iris(return_X_y=True)
    with np.load(folder("shape_sets") / "shape_sets.npz") as kept:
        return kept[f"{name}_X"].astype(float), kept[f"{name}_y"].astype(int)
