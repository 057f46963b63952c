"""What comes to a fit that adapts, and what is odd about it."""

import zlib
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from counterpoise.evaluation.splits import neighbors_alike
from counterpoise.learners.boosting import boosting_for
from counterpoise.tables.columns import Table, two_tables
from counterpoise.tables.encoding import TableEncoder
from counterpoise.validation import Matrix, target_pieces, two_samples
from counterpoise.validation.warning import warn_user

# A target is odd where every column lies outside the source's range by so many times
# the distance of the source's quartiles.
FAR = 20.0
# Rows are those of a fit if more than this share is, and few of the fit are twins.
KNOWN, TWINS = 0.5, 0.1
# Whole numbers are classes up to so many different ones, each of ten rows in the mean.
MOST_CLASSES, ROWS_A_CLASS = 20, 10


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
    if sparse.issparse(X):
        table = sparse.csr_array(X)
        cuts = [slice(*ends) for ends in pairwise(table.indptr)]
        texts = (table.indices[c].tobytes() + table.data[c].tobytes() for c in cuts)
    else:
        # Negative zero is zero.
        texts = (row.tobytes() for row in np.asarray(X, dtype=float) + 0.0)
    return np.fromiter(map(zlib.crc32, texts), dtype=np.uint32)


def warn_if_fitted_to(marks: NDArray[np.uint32], fitted: NDArray[np.uint32]) -> None:
    """Warn where most rows are among those of a fit, and not as twins by chance."""
    twins = 1.0 - np.unique(fitted).size / fitted.size
    share = float(np.isin(marks, fitted).mean())
    if share > KNOWN and twins < TWINS:
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


def warn_if_far(X: Any, X_target: Any) -> None:
    """Warn about a target that looks like another unit or an earlier step."""
    source, target = two_samples(X, X_target, accept_sparse=True)
    if sparse.issparse(source) or target is None:
        return
    low, quarter, three, high = np.quantile(source, [0, 0.25, 0.75, 1], axis=0)
    room = FAR * (three - quarter)
    below = target.max(axis=0) < low - room
    above = target.min(axis=0) > high + room
    if (below | above).all():
        warn_user(
            f"every column of X_target lies outside the range of X by more than "
            f"{FAR:g} times the distance of its quartiles: was X transformed and "
            "X_target not? A pipeline hands its last step the target untransformed; "
            "put the pipeline inside, Adapted(make_pipeline(...)), or set "
            'transform_input=["X_target"]',
            FarTargetWarning,
        )


def warn_if_in_time_order(X: Matrix) -> None:
    """Warn where folds drawn by chance hold out rows next to rows fitted to."""
    if not sparse.issparse(X) and neighbors_alike(np.asarray(X, dtype=float)):
        warn_user(
            "neighbouring rows of X are near-duplicates, as in a time series: folds "
            'drawn by chance flatter every model. cv="blocks" holds out runs of '
            "neighbouring rows",
            TimeOrderWarning,
        )


def table_encoder(X: Any, X_target: Any) -> TableEncoder | None:
    """Return an encoder fitted to both samples; None where all are finite numbers."""
    if any(sparse.issparse(one) for one in (X, *target_pieces(X_target).values())):
        return None
    source, target = two_tables(X, X_target)
    if source.is_plain and target.is_plain:
        return None
    return TableEncoder().fit(source, target)


def encoded(encoder: TableEncoder | None, X: Any) -> Any:
    """Return a table, or the pieces of a target together, as the weighter sees them.

    Without an encoder a table leaves as it came.
    """
    if encoder is None:
        return X
    if isinstance(X, tuple):
        return np.vstack([encoder.transform(piece) for piece in X])
    return encoder.transform(X)


def reference_rows(X_target: Any, most: int, seed: int) -> Any:
    """Return at most so many rows of the target, as plain arrays."""
    pieces = list(target_pieces(X_target).values())
    if any(sparse.issparse(piece) for piece in pieces):
        target: Any = sparse.vstack(pieces, format="csr")
    else:
        target = Table.of(X_target)
    m = n_rows(target)
    some = np.arange(m)
    if m > most:
        some = np.sort(np.random.default_rng(seed).choice(m, most, replace=False))
    # A copy: what the user does to the table later is no business of the model's.
    return target[some] if sparse.issparse(target) else target.take(some)


def default_estimator(X: Any, y: Any, seed: int) -> Any:
    """Return histogram gradient boosting by the type of the label.

    Classes are strings, booleans, categories and pairs of numbers; whole numbers too,
    up to twenty different ones with ten rows each in the mean. Everything else is
    regression.

    Examples
    --------
    >>> type(default_estimator([[1.0], [2.0]], ["a", "b"], 0)).__name__
    'HistGradientBoostingClassifier'
    >>> type(default_estimator([[1.0], [2.0]], [0.5, 1.5], 0)).__name__
    'HistGradientBoostingRegressor'
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
        raise ValueError("Adapted requires y to be passed, but the target y is None")
    labels = np.asarray(y)
    if labels.dtype.kind == "f":
        gaps = np.isnan(labels)
    elif labels.dtype.kind == "O":
        # What is missing is None, or differs from itself as NaN does.
        gaps = np.array([one is None or one != one for one in labels.ravel()])
    else:
        return
    if gaps.any():
        row = int(np.argmax(gaps.reshape(len(labels), -1).any(axis=1)))
        raise ValueError(f"Input y contains NaN: row {row} has no label; leave it out")


def check_folds_have_classes(y: Any, folds: Any) -> None:
    """Refuse folds whose rows to fit to are all of one class, by the rarest class."""
    labels = np.asarray(y)
    if any(np.unique(labels[kept]).size < 2 for kept, _ in folds):
        classes, counts = np.unique(labels, return_counts=True)
        rarest = int(np.argmin(counts))
        raise ValueError(
            f"class {classes[rarest]!s} has {counts[rarest]} of {labels.size} rows: a "
            "fold of cross-validation has no other class to fit to; collect more such "
            "rows, or fit with weighter=None"
        )


def readable(X: Any) -> Any:
    """Return what has rows as it came, and what only turns into an array as one."""
    first = X[0] if isinstance(X, list) and X else None
    if isinstance(first, str):
        raise TypeError(
            "X and X_target must be tables, got a list of texts: turn them into "
            "columns first, as in vectorizer.fit_transform(texts), and give Adapted "
            "what it returns"
        )
    return (
        X
        if X is None or hasattr(X, "__len__") or hasattr(X, "shape")
        else np.asarray(X)
    )


def n_rows(X: Any) -> int:
    """Return the number of rows of anything that has some."""
    if hasattr(X, "shape") and len(X.shape):
        return int(X.shape[0])
    return len(X)
