"""The two real data sets, from the folder that COUNTERPOISE_DATA names."""

import gzip
import os
from pathlib import Path

import numpy as np


def folder(name):
    """Return the folder of a data set, or None where there is none."""
    root = os.environ.get("COUNTERPOISE_DATA")
    path = Path(root) / name if root else None
    return path if path is not None and path.is_dir() else None


def silhouettes():
    """Return frames and poses of some motions, and those of another.

    Points 0 and 1 of 21 are the fixed root and left out.
    """
    path = folder("poser_silhouette_pose")
    if path is None:
        return None
    data = np.load(path / "silhouette_pose.npz")
    X, X_target = (data[name].astype(float) for name in ("X_train", "X_test"))
    y, y_target = (data[name].astype(float) for name in ("Y_train", "Y_test"))
    return X, y[:, 6:], X_target, y_target[:, 6:]


def moods():
    """Return features, valence and arousal in [-1, 1], and years of songs."""
    path = folder("deam_music_emotion")
    if path is None:
        return None
    with gzip.open(path / "deam_features_annotations.csv.gz", "rt") as file:
        names = file.readline().strip().split(",")
        table = np.loadtxt(file, delimiter=",")
    column = {name: k for k, name in enumerate(names)}
    outside = {"song_id", "duration", "mediaeval_year"}
    outside |= {
        f"{mood}_{what}" for mood in ("valence", "arousal") for what in ("mean", "std")
    }
    X = table[:, [k for name, k in column.items() if name not in outside]]
    y = table[:, [column["valence_mean"], column["arousal_mean"]]]
    return X, (y - 5.0) / 4.0, table[:, column["mediaeval_year"]].astype(int)
