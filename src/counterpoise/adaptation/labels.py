"""What the labels of a fit are: classes or numbers, none missing, enough to a fold."""

from typing import Any

import numpy as np

from counterpoise.learners.boosting import boosting_for
from counterpoise.validation import InvalidInput
from counterpoise.validation.frames import is_missing

# Whole numbers are classes up to so many different ones, each of ten rows in the mean.
MOST_CLASSES, ROWS_A_CLASS = 20, 10


def default_estimator(X: Any, y: Any, seed: int) -> Any:
    """Return histogram gradient boosting by the type of the label.

    Classes are strings, booleans, categories and pairs of numbers; whole numbers too,
    up to twenty different ones with ten rows each in the mean. Everything else is
    regression.

    Examples
    --------
    >>> type(default_estimator([[1.0], [2.0]], ["a", "b"], 0)).__name__
    'BoostedClassifier'
    >>> type(default_estimator([[1.0], [2.0]], [0.5, 1.5], 0)).__name__
    'BoostedRegressor'
    """
    return boosting_for(X, classes=are_classes(y), seed=seed)


def are_classes(y: Any) -> bool:
    """Return whether labels are classes, by the rule of `default_estimator`."""
    values = np.asarray(y)
    if values.ndim != 1 or values.size == 0:
        return False
    if values.dtype.kind not in "iuf":
        return True
    if not np.array_equal(values, np.round(values)):
        return False
    different = np.unique(values).size
    return different <= 2 or different <= min(MOST_CLASSES, values.size // ROWS_A_CLASS)


def check_none_missing(y: Any) -> None:
    """Refuse labels with a gap, by its row."""
    if y is None:
        raise InvalidInput("Adapted requires y to be passed, but the target y is None")
    labels = np.asarray(y)
    if labels.dtype.kind == "f":
        gaps = np.isnan(labels)
    elif labels.dtype.kind == "O":
        # Dates that are none differ from themselves.
        gaps = np.array([is_missing(one) or one != one for one in labels.ravel()])
    else:
        return
    if gaps.any():
        row = int(np.argmax(gaps.reshape(len(labels), -1).any(axis=1)))
        raise InvalidInput(
            f"Input y contains NaN: row {row} has no label; leave it out"
        )


def check_folds_have_classes(y: Any, folds: Any) -> None:
    """Refuse folds whose rows to fit to are all of one class, by the rarest class."""
    labels = np.asarray(y)
    if any(np.unique(labels[kept]).size < 2 for kept, _ in folds):
        classes, counts = np.unique(labels, return_counts=True)
        rarest = int(np.argmin(counts))
        raise InvalidInput(
            f"class {classes[rarest]!s} has {counts[rarest]} of {labels.size} rows: a "
            "fold of cross-validation has no other class to fit to; collect more such "
            "rows, or fit with weighter=None"
        )
