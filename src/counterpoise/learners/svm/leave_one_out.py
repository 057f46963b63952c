"""The record of models that are each fitted without one row."""

from dataclasses import dataclass
from typing import Any

from counterpoise.numerics.arrays import Array


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """What the models without each row say about it.

    Attributes
    ----------
    decision : array
        The decision function at each row, of the model fitted without it.
    predictions : array of shape (n,)
    error : float
        The weighted share of wrong labels, or mean absolute error.
    """

    decision: Array
    predictions: Array
    error: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists."""
        return {
            "decision": self.decision.tolist(),
            "predictions": self.predictions.tolist(),
            "error": float(self.error),
        }
