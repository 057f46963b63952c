"""What the library warns about and refuses before it computes.

A refusal is known by its type: `InvalidInput` is about what somebody gave, and any
other error is a fault of the program. So the command line chooses its exit code.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

from counterpoise.numerics.refusals import InvalidInput, InvalidType
from counterpoise.validation.raised import was_raised_by

__all__ = [
    "InvalidInput",
    "InvalidType",
    "NoOverlapError",
    "NoTargetWarning",
    "OverlapMeasure",
    "PartialOverlapWarning",
    "WeakClassifierWarning",
    "refusals_of_estimators",
]

OverlapMeasure: TypeAlias = Literal["thin", "uncovered"]

_FOUND = {
    "thin": "lie where only the outermost source rows are",
    "uncovered": "have no source row within reach of the kernel",
}


@contextmanager
def refusals_of_estimators() -> Iterator[None]:
    """Let what scikit-learn says against the data that it gets be a refusal.

    It knows no type of its own for that. Around calls of somebody's estimator, metric
    or splitter a `ValueError` or `TypeError` that scikit-learn raises becomes an
    `InvalidInput` with the same words and notes. What comes out of an operation, of
    code of ours or of anybody else is no message about the data and passes as it is.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> try:
    ...     with refusals_of_estimators():
    ...         LinearRegression().fit([[float("nan")]], [1.0])
    ... except InvalidInput as error:
    ...     print(str(error).splitlines()[0])
    Input X contains NaN.
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        # An AttributeError besides says that a model is not fitted, for `hasattr`.
        if isinstance(error, InvalidInput | AttributeError):
            raise
        if not was_raised_by(error, "sklearn"):
            raise
        kind = InvalidType if isinstance(error, TypeError) else InvalidInput
        refusal = kind(*error.args)
        for note in getattr(error, "__notes__", ()):
            refusal.add_note(note)
        raise refusal from error


class NoTargetWarning(UserWarning):
    """`X_target` was not given: all weights are one and nothing is adapted."""


class NoOverlapError(InvalidInput):
    """Most of the target lies where the source has no rows.

    Parameters
    ----------
    share : float
        Share of the target rows, between 0 and 1, that the source does not reach.
    measure : {"thin", "uncovered"}
        How they were counted. "thin": their domain score exceeds nearly all
        scores of source rows. "uncovered": less than one source row is expected
        within the width of the kernel.
    auc : float or None
        How well a classifier tells the two samples apart; None if none was asked.
    columns : str
        Which columns make the samples disjoint, in words; empty if none do.

    Examples
    --------
    >>> print(NoOverlapError(0.91, "thin", auc=0.998))
    91.0% of the target rows lie where only the outermost source rows are (AUC of \
source against target 0.998): no weights make the source stand for them. \
force=True goes on all the same.
    """

    def __init__(
        self,
        share: float,
        measure: OverlapMeasure,
        auc: float | None = None,
        columns: str = "",
    ) -> None:
        # The arguments themselves go up, so that the error survives pickling
        # on its way back from a worker process.
        super().__init__(share, measure, auc, columns)
        self.share = share
        self.measure = measure
        self.auc = auc
        self.columns = columns

    def __str__(self) -> str:
        apart = (
            ""
            if self.auc is None
            else f" (AUC of source against target {self.auc:.3f})"
        )
        return (
            f"{self.share:.1%} of the target rows {_FOUND[self.measure]}{apart}: no "
            f"weights make the source stand for them. {self.columns}"
            f"{' ' if self.columns else ''}force=True goes on all the same."
        )


class PartialOverlapWarning(UserWarning):
    """Some target rows lie where the source has no rows."""


class WeakClassifierWarning(UserWarning):
    """The source classifier is unsure of the target: adaptation amplifies errors."""
