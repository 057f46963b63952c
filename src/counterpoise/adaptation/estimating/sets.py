"""How large the intervals and sets of a fitted model are on the target."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from counterpoise.adaptation.out_of_fold import adapted_within, ends_in_adapted
from counterpoise.evaluation.conformal import interval_sizes, set_sizes
from counterpoise.evaluation.metrics import is_classifier

# What `predict_interval` and `predict_set` promise by default.
LEVEL = 0.9


def target_sets(
    model: Any, pieces: Sequence[Any], labels: Any, level: float = LEVEL
) -> dict[str, Any] | None:
    """Return the sizes of intervals or sets; None for a model without a calibration.

    Parameters
    ----------
    model : fitted predictor
        An `Adapted`, or a pipeline or search that ends in one.
    pieces : sequence of tables
        Target rows.
    labels : array of shape (n,)
        Of source rows, to compare the width of intervals with.
    level : float
    """
    if not ends_in_adapted(model):
        return None
    inside = [adapted_within(model, piece) for piece in pieces]
    inner = inside[0][0]
    if getattr(inner, "calibration_", None) is None:
        return None
    if is_classifier(inner.estimator_):
        sets = [one.predict_set(rows, level) for one, rows in inside]
        return set_sizes(np.concatenate(sets), level)
    intervals = [one.predict_interval(rows, level) for one, rows in inside]
    return interval_sizes(np.concatenate(intervals), labels, level)
