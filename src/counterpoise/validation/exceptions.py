"""What the library warns about and refuses before it computes."""

from typing import Literal, TypeAlias

OverlapMeasure: TypeAlias = Literal["thin", "uncovered"]

_FOUND = {
    "thin": "lie where only the outermost source rows are",
    "uncovered": "have no source row within reach of the kernel",
}


class NoTargetWarning(UserWarning):
    """`X_target` was not given: all weights are one and nothing is adapted."""


class NoOverlapError(ValueError):
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

    Examples
    --------
    >>> print(NoOverlapError(0.91, "thin", auc=0.998))
    91.0% of the target rows lie where only the outermost source rows are (AUC of \
source against target 0.998): no weights make the source stand for them. \
force=True goes on all the same.
    """

    def __init__(
        self, share: float, measure: OverlapMeasure, auc: float | None = None
    ) -> None:
        # The arguments themselves go up, so that the error survives pickling
        # on its way back from a worker process.
        super().__init__(share, measure, auc)
        self.share = share
        self.measure = measure
        self.auc = auc

    def __str__(self) -> str:
        apart = (
            ""
            if self.auc is None
            else f" (AUC of source against target {self.auc:.3f})"
        )
        return (
            f"{self.share:.1%} of the target rows {_FOUND[self.measure]}{apart}: no "
            "weights make the source stand for them. force=True goes on all the same."
        )


class PartialOverlapWarning(UserWarning):
    """Some target rows lie where the source has no rows."""
