"""Weights by labels in `Adapted`: asked for, or taken where they explain the shift."""

from typing import Any

import numpy as np

from counterpoise.adaptation.label_shift.class_shares import ClassShares, class_shares
from counterpoise.adaptation.label_shift.recognising import (
    LabelShift,
    judged,
    recognised,
)
from counterpoise.adaptation.label_shift.weights import ClassShareWeights
from counterpoise.adaptation.weighing import fit_weighter
from counterpoise.evaluation.metrics import is_classifier
from counterpoise.numerics.arrays import Array
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.overlap_verdict import NO_OVERLAP, NO_SHIFT, TOO_FEW
from counterpoise.validation import InvalidInput, as_classes
from counterpoise.weights.target_shift.estimator import TargetShiftWeights

BY_INPUTS, LABELS, EITHER = "auto", "labels", "either"


def weighter_by_labels(
    samples: SamplesAsRead,
    estimator: Any,
    y: Any,
    counts: Array | None,
    seed: int,
    *,
    force: bool,
) -> tuple[Any, LabelShift | None]:
    """Return a fitted weighter by labels, and whether they explain the shift.

    Of a classifier by the shares of the classes, of a regressor `TargetShiftWeights`.
    """
    if not is_classifier(estimator, y):
        weighter = TargetShiftWeights(force=force, random_state=seed)
        return fit_weighter(weighter, samples, y, counts), None
    weight = np.ones(len(y)) if counts is None else counts
    labels = as_classes(y, weight.size)
    found = class_shares(samples, labels, weight, seed)
    weighter = ClassShareWeights(random_state=seed).fit_shares(found, labels, weight)
    return weighter, recognised(found, samples, labels, seed)


def explained(
    by_inputs: Any,
    verdict: str,
    samples: SamplesAsRead,
    estimator: Any,
    y: Any,
    counts: Array | None,
    seed: int,
) -> tuple[LabelShift | None, ClassShareWeights | None]:
    """Return whether labels explain the shift, and their weights if they are preferred.

    Nothing is asked of numbers, of several outputs, where no shift is found or none
    can be made up for, and of classes of a single row.
    """
    if verdict in (NO_SHIFT, TOO_FEW, NO_OVERLAP) or np.ndim(y) != 1:
        return None, None
    if not is_classifier(estimator, y):
        return None, None
    weight = np.ones(len(y)) if counts is None else counts
    labels = as_classes(y, weight.size)
    try:
        found: ClassShares = class_shares(samples, labels, weight, seed)
    except InvalidInput:
        return None, None
    told = judged(recognised(found, samples, labels, seed), _score_of(by_inputs))
    if told.preferred != LABELS:
        return told, None
    weighter = ClassShareWeights(random_state=seed)
    return told, weighter.fit_shares(found, labels, weight)


def _score_of(weighter: Any) -> float:
    """Return the held-out score of the weights that were chosen; of none zero."""
    results = getattr(weighter, "cv_results_", None) or {}
    scores = np.asarray(results.get("score", ()), dtype=float)
    chosen = np.asarray(results.get("chosen", ()), dtype=bool)
    found = scores[chosen] if chosen.size == scores.size else scores[:0]
    return float(found[0]) if found.size and np.isfinite(found[0]) else 0.0
