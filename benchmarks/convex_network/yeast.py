"""The imbalanced pair of Yeast: classes 2 and 3 by frequency, NUC and MIT."""

import csv
import os
from pathlib import Path

import numpy as np


def folder():
    """Return the folder of Yeast, or None where it is not known."""
    root = os.environ.get("COUNTERPOISE_DATA")
    return Path(root) / "yeast" if root else None


def pair(rng, ratio, n_minority=8, n_test=100):
    """Return training rows (MIT is the rare class, label 1) and a balanced test."""
    with (folder() / "yeast.csv").open() as file:
        rows = list(csv.DictReader(file))
    label = np.array([row["class"] for row in rows])
    names = [name for name in rows[0] if name != "class"]
    X = np.array([[float(row[name]) for name in names] for row in rows])
    usual = rng.permutation(np.flatnonzero(label == "NUC"))
    rare = rng.permutation(np.flatnonzero(label == "MIT"))
    test = np.concatenate([usual[:n_test], rare[:n_test]])
    train = np.concatenate(
        [
            usual[n_test : n_test + n_minority * ratio],
            rare[n_test : n_test + n_minority],
        ]
    )
    y = (label == "MIT").astype(int)
    return X[train], y[train], X[test], y[test]


def balanced_error(said, y):
    """Return the mean of both classes' error rates, in per cent."""
    return 50.0 * ((said[y == 1] != 1).mean() + (said[y == 0] != 0).mean())


def class_misfits(z, y):
    """Return the mean absolute misfit of both classes."""
    return [float(np.abs(z[y == k] - k).mean()) for k in (0, 1)]
