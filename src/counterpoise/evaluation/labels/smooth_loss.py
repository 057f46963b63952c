"""A loss that tells more of a classifier than whether it is right."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from counterpoise.evaluation.confidence import fit_line
from counterpoise.evaluation.metrics import (
    ERROR_RATE,
    SMALLEST_PROBABILITY,
    Metric,
    class_probabilities,
)
from counterpoise.numerics.arrays import Array, Indices

# Metrics of right and wrong, of which single rows tell little.
OF_ERRORS = (ERROR_RATE, "accuracy")


@dataclass(frozen=True, eq=False)
class SmoothLosses:
    """What models of several amounts of weights say of held-out rows.

    Attributes
    ----------
    values : array of shape (k, n, K)
    classes, places : arrays
        The classes, and the column of each row's label.
    folds : list of arrays of int
        Rows that were held out together.
    """

    values: Array
    classes: NDArray[Any]
    places: Indices
    folds: list[Indices]

    @classmethod
    def of(
        cls, metric: Metric, y: Any, folds: Sequence[tuple[Indices, Indices]], k: int
    ) -> "SmoothLosses | None":
        """Return room for the values; None where none are asked for.

        For metrics other than those of right and wrong, several outputs, a single
        fold, rows that are held out more than once, and nothing to choose among.
        """
        labels = np.asarray(y)
        held_out = [out for _, out in folds]
        every = np.concatenate(held_out)
        if metric.name not in OF_ERRORS or labels.ndim != 1 or k == 1:
            return None
        if len(held_out) < 2 or np.unique(every).size < every.size:
            return None
        classes, places = np.unique(labels, return_inverse=True)
        return cls(np.zeros((k, labels.size, classes.size)), classes, places, held_out)

    def told_by(
        self, model: Any, X: Any, rows: Indices, which: int
    ) -> "SmoothLosses | None":
        """Keep what a model says of rows; None where it does not say how sure."""
        if not np.array_equal(getattr(model, "classes_", ()), self.classes):
            return None
        told = sureness(model, X)
        if told is None or not np.isfinite(told).all():
            return None
        self.values[which, rows] = told
        return self

    def losses(self, weights: Array) -> Array:
        """Return the losses of all amounts at all rows, zero where none held it out."""
        return np.array(
            [
                calibrated_losses(one, self.places, weights, self.folds)
                for one in self.values
            ]
        )


def sureness(model: Any, X: Any) -> Array | None:
    """Return a value a row and class, larger where the model is surer of the class.

    Logarithms of probabilities, else decision values, of two classes zero and the
    value of the second. None where there is none a class, as of one against one.
    """
    if hasattr(model, "predict_proba"):
        p = class_probabilities(model, X)
        return np.log(np.maximum(p, SMALLEST_PROBABILITY))
    if not hasattr(model, "decision_function"):
        return None
    values = np.asarray(model.decision_function(X), dtype=float)
    if values.ndim == 1:
        return np.column_stack([np.zeros(values.size), values])
    return values if values.shape[1] == len(model.classes_) else None


def calibrated_losses(
    values: Array, places: Indices, weights: Array, folds: Sequence[Indices]
) -> Array:
    r"""Return the log-loss of values that were made probabilities out of fold.

    .. math:: L_i = -\log \mathrm{softmax}(a f(x_i) + b)_{y_i}

    with slope and offsets of `fit_line`, fitted by weights to the values of all folds
    but the row's own: what the classifier's order of rows is worth, whatever the scale
    of its values. A row that no model held out has no loss, and is not asked for.

    Parameters
    ----------
    values : array of shape (n, K)
        Of models that had not seen the row.
    places : array of shape (n,)
        The column of each row's label.
    weights : array of shape (n,)
    folds : sequence of arrays of int
        Which rows were held out together.
    """
    # Of one spread: values of all scales begin at the same slope.
    centred = values - values.mean(axis=1, keepdims=True)
    scale = float(np.sqrt((centred**2).mean()))
    p = softmax(centred / scale if scale > 0 else centred, axis=1)
    losses = np.zeros(len(values))
    every = np.concatenate(folds)
    for out in folds:
        kept = np.setdiff1d(every, out)
        kept = kept[weights[kept] > 0]
        line = fit_line(p[kept], places[kept], weights[kept])
        own = line.of(p[out])[np.arange(out.size), places[out]]
        losses[out] = -np.log(np.maximum(own, SMALLEST_PROBABILITY))
    return losses
