"""Small samples whose target has some of the classes."""

import numpy as np
import torch

from counterpoise.deep.network import DomainNetwork
from counterpoise.deep.training import Recipe, Schedule, Training, TrainingRows


def make_partial(seed=0, n=240, n_classes=6, present=(0, 1, 2), d=12, moved=0.5):
    """Return clusters with labels, and moved rows of some of them with theirs."""
    rng = np.random.default_rng(seed)
    centers = 3.0 * rng.normal(size=(n_classes, d))
    y = np.arange(n) % n_classes
    X = centers[y] + rng.normal(size=(n, d))
    y_target = np.array(present)[np.arange(n // 2) % len(present)]
    X_target = centers[y_target] + rng.normal(size=(n // 2, d)) + moved
    return X, y, X_target, y_target


def recipe(**changes):
    usual = {
        "method": "sspda",
        "schedule": Schedule("late", 1 / 3, 0.2, 60),
        "moving": True,
        "entropy": 0.1,
        "selection": 0.03,
        "batch_size": 36,
        "learning_rate": 0.05,
        "momentum": 0.9,
        "weight_decay": 0.0,
        "class_balanced": False,
        "guard": 0.35,
        "monitor": None,
        "patience": None,
        "seed": 0,
    }
    return Recipe(**{**usual, **changes})


def rows_of(seed=0):
    X, y, X_target, _ = make_partial(seed)
    return TrainingRows.of(X, y, np.ones(len(X)), X_target, 6, (X.shape[1],))


def training(class_weight=None, **changes):
    torch.manual_seed(0)
    network = DomainNetwork.of(None, (12,), 6, 16)
    weight = np.ones(6) if class_weight is None else class_weight
    return Training(network, rows_of(), recipe(**changes), weight)
