"""Which classes the target seems to have: shares, weights, and what was overruled."""

from typing import Any

import numpy as np

from counterpoise.tables.privacy import FEWEST_ROWS_TOLD


def classes_section(fitted: Any) -> dict[str, Any] | None:
    """Return shares and weights of the classes, where a fitted object has some.

    Parameters
    ----------
    fitted : Adapted, PartialWeights or a network with `class_prior_`
    """
    found = getattr(fitted, "weighter_", fitted)
    if not hasattr(found, "class_prior_"):
        return None
    classes = [str(one) for one in found.classes_.tolist()]
    absent = set(found.absent_classes_.tolist())
    guard = getattr(found, "guard_", None)
    return {
        "names": classes,
        "prior": found.class_prior_.tolist(),
        "weight": found.class_weight_.tolist(),
        "absent": [one in absent for one in found.classes_.tolist()],
        "n_absent": len(absent),
        "overruled": _overruled(found),
        "training": _training(found),
        "guard": None if guard is None else guard.to_dict(),
    }


def _overruled(found: Any) -> list[dict[str, Any]]:
    """Return where rows went that the classifier had put into absent classes.

    Of fewer than five rows nothing is told.
    """
    confusion = getattr(found, "confusion_", None)
    if confusion is None:
        return []
    classes, absent = found.classes_.tolist(), set(found.absent_classes_.tolist())
    told = []
    for k, one in enumerate(classes):
        rows = int(confusion[k].sum())
        if one in absent and rows >= FEWEST_ROWS_TOLD:
            best = int(np.argmax(confusion[k]))
            told.append(
                {
                    "from": str(one),
                    "rows": rows,
                    "mostly_to": str(classes[best]),
                    "share": float(confusion[k, best] / rows),
                }
            )
    return told


def _training(found: Any) -> dict[str, Any] | None:
    """Return the class weights over the training of a network."""
    history = getattr(found, "history_", None)
    if not history:
        return None
    return {
        "iteration": [one.iteration for one in history],
        "weight": [np.asarray(one.class_weight).tolist() for one in history],
    }
