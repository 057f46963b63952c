"""How far off a fitted model was at rows that it has not seen."""

from typing import Any

import numpy as np

from counterpoise.adaptation.routing import rows_of
from counterpoise.evaluation.conformal import (
    Calibration,
    absolute_scores,
    adaptive_scores,
)
from counterpoise.evaluation.metrics import is_classifier
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.validation import InvalidInput, InvalidType


def divided(n: int, share: float, groups: Any, seed: int) -> tuple[Indices, Indices]:
    """Return rows to fit to and rows held out for calibration, groups whole."""
    if share == 0.0:
        return np.arange(n), np.arange(0)
    names = np.arange(n) if groups is None else np.asarray(groups)
    different, place = np.unique(names, return_inverse=True)
    if different.size < 2:
        raise InvalidInput("calibration needs two groups or more, got one")
    order = np.random.default_rng(seed).permutation(different.size)
    sizes = np.cumsum(np.bincount(place)[order])
    # As many groups as bring the held-out rows nearest to their share.
    count = int(np.argmin(np.abs(sizes[:-1] - share * n))) + 1
    held_out = np.isin(place, order[:count])
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def calibrated(model: Any, X: Any, y: Any, weights: Array) -> Calibration:
    """Return the model's calibration on labelled rows with their density ratios.

    Regressors are scored by :math:`|y - f(x)|`, classifiers by the probability of all
    classes more probable than the label.
    """
    if not is_classifier(model):
        return Calibration.of(absolute_scores(y, model.predict(X)), weights)
    if not hasattr(model, "predict_proba"):
        raise InvalidType(
            f"{type(model).__name__} has no predict_proba: calibration must be 0.0"
        )
    classes, labels = np.asarray(model.classes_), np.asarray(y)
    place = np.minimum(np.searchsorted(classes, labels), classes.size - 1)
    place = np.where(classes[place] == labels, place, -1)
    return Calibration.of(adaptive_scores(model.predict_proba(X), place), weights)


def calibrated_on(
    model: Any,
    samples: SamplesAsRead | None,
    X: Any,
    y: Any,
    counts: Array | None,
    rows: Indices,
) -> Calibration:
    """Return what source rows that were held out tell of a fitted model's errors.

    Parameters
    ----------
    model : Adapted
    samples : SamplesAsRead or None
    X, y : all source rows
    counts : array of shape (n,) or None
        The user's own weights.
    rows : indices
        Those held out.
    """
    X, y = rows_of(X, rows), rows_of(y, rows)
    weights = np.ones(rows.size)
    if model.weighter_ is not None and samples is not None:
        of_labels = getattr(model.weighter_, "needs_labels", False)
        weights = model.weighter_.weigh(y if of_labels else samples.source[rows])
    if counts is not None and counts[rows].any():
        # On the scale of a row that counts once, as the row to predict does.
        weights = weights * counts[rows] / counts[rows].mean()
    return calibrated(model.estimator_, X, y, weights)
