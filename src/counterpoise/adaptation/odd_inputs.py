"""What is odd about the tables of a fit, said in warnings of their own."""

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from counterpoise.diagnosis.diagnosis import Diagnosis
from counterpoise.evaluation.splits import neighbors_alike
from counterpoise.numerics.row_keys import row_keys
from counterpoise.samples.overlap_verdict import NO_OVERLAP, NO_OVERLAP_ABOVE
from counterpoise.validation import Matrix, PartialOverlapWarning, n_rows
from counterpoise.validation.warning import warn_user

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
            f"every column of X_target lies outside the range of X by more than "
            f"{RANGES_APART:g} times the distance of its quartiles: was X transformed "
            "and X_target not? A pipeline hands its last step the target "
            "untransformed; put the pipeline inside, Adapted(make_pipeline(...)), or "
            'set transform_input=["X_target"]',
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


def warn_if_hardly_covered(found: Diagnosis) -> None:
    """Warn where more than half of the target may be thinly covered, or may not.

    Where the lower end of the share's interval is above one half a fit is refused.
    """
    if found.thin > NO_OVERLAP_ABOVE and found.verdict != NO_OVERLAP:
        warn_user(
            f"{found.thin:.1%} of the target rows, {found.thin_low:.1%} to "
            f"{found.thin_high:.1%} by chance, lie where the source has next to no "
            "rows: with a little more a fit would be refused",
            PartialOverlapWarning,
        )
