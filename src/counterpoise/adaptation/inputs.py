"""Inputs of a fit: labels, target rows, warnings about suspicious data."""

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from counterpoise.data.arrays import Matrix, n_rows, target_pieces
from counterpoise.data.frames import is_missing
from counterpoise.data.samples import SamplesAsRead
from counterpoise.data.table import Table
from counterpoise.errors import InvalidInputError, PartialOverlapWarning, warn_user
from counterpoise.linalg.arrays import Array, row_keys
from counterpoise.messages import WARNING, Finding, FindingText
from counterpoise.models.boosting import boosting_for
from counterpoise.performance.intervals import neighbors_alike
from counterpoise.shift.diagnosis import Diagnosis
from counterpoise.shift.support import NO_OVERLAP, NO_OVERLAP_ABOVE
from counterpoise.weights.base import WeightEstimator

# -----------------------------------------------------------------------------
# What the labels of a fit are: classes or numbers, none missing, enough to a fold.
# -----------------------------------------------------------------------------


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
        raise InvalidInputError(
            "Adapted requires y to be passed, but the target y is None"
        )
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
        raise InvalidInputError(
            f"Input y contains NaN: row {row} has no label; leave it out"
        )


def check_folds_have_classes(y: Any, folds: Any) -> None:
    """Refuse folds whose rows to fit to are all of one class, by the rarest class."""
    labels = np.asarray(y)
    if any(np.unique(labels[kept]).size < 2 for kept, _ in folds):
        classes, counts = np.unique(labels, return_counts=True)
        rarest = int(np.argmin(counts))
        raise InvalidInputError(
            f"class {classes[rarest]!s} has {counts[rarest]} of {labels.size} rows: a "
            "fold of cross-validation has no other class to fit to; collect more such "
            "rows, or fit with weight_estimator=None"
        )


# -----------------------------------------------------------------------------
# Target rows that a fitted model keeps, to compare later ones with.
# -----------------------------------------------------------------------------


def reference_rows(samples: SamplesAsRead, most: int, seed: int) -> Any:
    """Return at most so many rows of the target, as plain arrays."""
    target: Any = None
    if samples.tables is not None:
        target = samples.tables[1]
    elif samples.given is not None:
        pieces = list(target_pieces(samples.given[1]).values())
        if any(sparse.issparse(piece) for piece in pieces):
            target = sparse.vstack(pieces, format="csr")
        else:
            target = Table.of(samples.given[1])
    else:
        target = samples.target
    m = n_rows(target)
    some = np.arange(m)
    if m > most:
        some = np.sort(np.random.default_rng(seed).choice(m, most, replace=False))
    # A copy: what the user does to the table later is no business of the model's.
    return target[some] if sparse.issparse(target) else target.take(some)


# -----------------------------------------------------------------------------
# What is odd about the tables of a fit, said in warnings of their own.
# -----------------------------------------------------------------------------


# A target is odd where every column lies outside the source's range by so many times
# the distance of the source's quartiles.
RANGES_APART = 20.0
# Rows are those of a fit if more than this share is, and few of the fit are twins.
SHARE_KNOWN, SHARE_TWINS = 0.5, 0.1


class CutTargetWarning(UserWarning):
    """`X_target` has as many rows as `X`: cross-validation would cut it."""


class TimeOrderWarning(UserWarning):
    """Neighbouring rows are near-duplicates: folds drawn by chance flatter."""


class FarTargetWarning(UserWarning):
    """Every column of the target is far from the source: was it transformed?"""


class TrainingRowsWarning(UserWarning):
    """Rows to judge a model by are among those that it was fitted to."""


def row_marks(X: Matrix) -> NDArray[np.uint32]:
    """Return a number a row by which to know it again; equal rows have equal ones."""
    rows = X if sparse.issparse(X) else np.asarray(X, dtype=float)
    return np.fromiter(map(zlib.crc32, row_keys(rows)), dtype=np.uint32)


def warn_if_fitted_to(marks: NDArray[np.uint32], fitted: NDArray[np.uint32]) -> None:
    """Warn where most rows are among those of a fit, and not as twins by chance."""
    twins = 1.0 - np.unique(fitted).size / fitted.size
    share = float(np.isin(marks, fitted).mean())
    if share > SHARE_KNOWN and twins < SHARE_TWINS:
        warn_user(
            f"{share:.0%} of the rows of X are rows that the model was fitted to, and "
            "flatter it: give rows that it has not seen, or cv=5 to fit it again "
            "without each fold",
            TrainingRowsWarning,
        )


def warn_if_cut(X_target: Any, n: int) -> None:
    """Warn about a bare target that cross-validation takes for a vector of rows."""
    if isinstance(X_target, tuple) or n_rows(X_target) != n:
        return
    warn_user(
        f"X_target has as many rows as X ({n}): inside cross-validation scikit-learn "
        "cuts it like X, and a part of the target is lost in every fold. Give it as a "
        "tuple, X_target=(X_target,), to pass it whole",
        CutTargetWarning,
    )


def warn_if_far(source: Matrix, target: Matrix) -> None:
    """Warn about a target that looks like another unit or an earlier step."""
    if sparse.issparse(source):
        return
    low, quarter, three, high = np.quantile(source, [0, 0.25, 0.75, 1], axis=0)
    room = RANGES_APART * (three - quarter)
    below = target.max(axis=0) < low - room
    above = target.min(axis=0) > high + room
    if (below | above).all():
        warn_user(
            FindingText(Finding("far_target", WARNING, {"times": RANGES_APART})),
            FarTargetWarning,
        )


def warn_if_in_time_order(X: Matrix) -> None:
    """Warn where folds drawn by chance hold out rows next to rows fitted to."""
    if not sparse.issparse(X) and neighbors_alike(np.asarray(X, dtype=float)):
        warn_user(
            FindingText(Finding("time_order", WARNING)),
            TimeOrderWarning,
        )


def warn_if_hardly_covered(found: Diagnosis) -> None:
    """Warn where more than half of the target may be thinly covered, or may not.

    Where the lower end of the share's interval is above one half a fit is refused.
    """
    if found.uncovered_fraction > NO_OVERLAP_ABOVE and found.verdict != NO_OVERLAP:
        warn_user(
            f"{found.uncovered_fraction:.1%} of the target rows, "
            f"{found.uncovered_fraction_low:.1%} to "
            f"{found.uncovered_fraction_high:.1%} by chance, lie where the source has "
            f"next to no "
            "rows: with a little more a fit would be refused",
            PartialOverlapWarning,
        )


# -----------------------------------------------------------------------------
# How samples as read reach a weight estimator.
# -----------------------------------------------------------------------------


def fit_weight_estimator(
    weight_estimator: Any,
    samples: SamplesAsRead,
    y: Any = None,
    counts: Array | None = None,
) -> Any:
    """Return the weight estimator, fitted: ours behind its door, others at theirs.

    Parameters
    ----------
    weight estimator : estimator with `predict_weights`
    samples : SamplesAsRead
    y : array of shape (n,)
        Labels of the source rows, for a weight estimator that looks at them.
    counts : array of shape (n,) or None
        The user's weights, for a weight estimator of somebody else's.
    """
    if type(weight_estimator).fit is WeightEstimator.fit:
        return weight_estimator._fit_samples(samples)
    given = samples.given if samples.encoder is None else None
    X, X_target = given or (samples.source, samples.target)
    return weight_estimator.fit(X, y, X_target=X_target, sample_weight=counts)
