"""Pairs of domains as feature vectors, the target with some of the classes."""

import os
from functools import cache
from pathlib import Path

import numpy as np

OFFICE = ("amazon", "webcam", "dslr")
# The ten classes of the published protocol, by their places among 31.
OFFICE_TEN = np.array([0, 1, 5, 10, 11, 12, 15, 16, 17, 22])
# Published accuracies, ResNet-50 fine-tuned; ours are frozen EfficientNet-Lite2
# features, so that orders and gains compare, and levels do not.
PUBLISHED = {
    "amazon>webcam": {"ResNet-50": 54.52, "DANN": 41.35, "PADA": 86.54, "SSPDA": 93.42},
    "dslr>webcam": {"ResNet-50": 94.57, "DANN": 46.78, "PADA": 99.32, "SSPDA": 97.62},
    "webcam>dslr": {"ResNet-50": 94.27, "DANN": 38.85, "PADA": 100.0, "SSPDA": 100.0},
    "amazon>dslr": {"ResNet-50": 65.61, "DANN": 41.36, "PADA": 82.17, "SSPDA": 90.43},
    "dslr>amazon": {"ResNet-50": 73.17, "DANN": 41.34, "PADA": 92.69, "SSPDA": 93.45},
    "webcam>amazon": {"ResNet-50": 71.71, "DANN": 44.68, "PADA": 95.41, "SSPDA": 95.53},
}
OFFICE_TASKS = tuple(PUBLISHED)
# The two small domains.
QUICK_TASKS = ("webcam>dslr", "dslr>webcam")
HALF_SETS = {
    "effnet": ("effnetlite2_1280", ("amazon", "caltech10", "dslr", "webcam")),
    "googlenet": ("googlenet1024", ("amazon", "dslr", "webcam")),
    "surf": ("surf_bow800", ("amazon", "caltech10", "dslr", "webcam")),
}


def folder() -> Path:
    """Return where the data are, or say what is missing."""
    name = os.environ.get("COUNTERPOISE_DATA")
    if not name:
        raise SystemExit("set COUNTERPOISE_DATA to the folder of the data sets")
    return Path(name)


@cache
def _archive(*parts: str):
    path = folder().joinpath(*parts)
    if not path.is_file():
        raise SystemExit(f"{path} is missing")
    return dict(np.load(path))


@cache
def office(name: str):
    """Return rows and labels of a domain of Office-31, 31 classes."""
    found = _archive("office31", "office31_effnetlite2.npz")
    rows = found["domain"] == list(found["domain_names"]).index(name)
    return found["X"][rows].astype(float), found["y"][rows].astype(int)


@cache
def half_domain(kind: str, name: str):
    """Return rows and labels of a domain of ten classes."""
    if kind == "digits":
        found = _archive("mnist_usps", "mnist_usps_16x16.npz")
        return found[f"X_{name}"].astype(float), found[f"y_{name}"].astype(int)
    found = _archive("office_caltech10", f"{HALF_SETS[kind][0]}.npz")
    X, y = found[f"X_{name}"].astype(float), found[f"y_{name}"].astype(int)
    if kind == "surf":
        # Counts of words: shares, each column in its domain's own units.
        X = X / np.maximum(X.sum(axis=1, keepdims=True), 1e-9)
        X = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9)
    return X, y


def office_task(task: str, kept=OFFICE_TEN):
    """Return X, y, X_target, y_target of a task of Office-31."""
    source, target = task.split(">")
    X, y = office(source)
    return X, y, *_some_classes(*office(target), kept)


def half_tasks(quick: bool = False) -> list[tuple[str, str, str]]:
    """Return set, source and target of all tasks of ten classes."""
    tasks = [("digits", "mnist", "usps"), ("digits", "usps", "mnist")]
    for kind, (_, names) in HALF_SETS.items():
        tasks += [(kind, a, b) for a in names for b in names if a != b]
    few = [tasks[0], ("googlenet", "webcam", "dslr")]
    return few if quick else tasks


def half_task(kind: str, source: str, target: str, seed: int):
    """Return a task whose target has five of ten classes, drawn by the seed."""
    X, y = half_domain(kind, source)
    kept = np.sort(np.random.default_rng(seed).permutation(10)[:5])
    return X, y, *_some_classes(*half_domain(kind, target), kept)


def _some_classes(X, y, kept):
    rows = np.isin(y, kept)
    return X[rows], y[rows]
