"""Whether a classifier's probabilities come true as often as they say."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from counterpoise.evaluation.answers import Answers
from counterpoise.numerics.arrays import Array
from counterpoise.samples.effective_size import effective_sample_size
from counterpoise.tables.privacy import FEWEST_ROWS_TOLD

_N_BINS = 10


def reliability_of(
    answers: Answers, labels: NDArray[Any], weights: Array
) -> dict[str, Any] | None:
    """Return the same of a model's answers; None of one without probabilities.

    Parameters
    ----------
    answers : Answers
        Of the model, at the rows.
    labels : array of shape (n,)
    weights : array of shape (n,)
        Density ratio target/source at the rows.
    """
    if answers.classes is None or "predict_proba" not in answers.said:
        return None
    p = answers.said["predict_proba"]
    if p.shape[1] == 2:
        predicted, true = p[:, 1], labels == answers.classes[1]
    else:
        predicted = p.max(axis=1)
        true = answers.classes[p.argmax(axis=1)] == labels
    return reliability(predicted, true, weights)


def reliability(
    predicted: Array, came_true: Array, weights: Array, level: float = 0.95
) -> dict[str, Any] | None:
    r"""Return observed against predicted frequencies, in bins of equal weight.

    The interval of a bin is Wilson's, with the effective number of its rows; `error` is
    the mean of :math:`|observed - predicted|` by weight.

    Parameters
    ----------
    predicted : array of shape (n,)
        Probability of the second class of two, of the likeliest class of more.
    came_true : array of shape (n,)
        Whether it was so, 0 or 1.
    weights : array of shape (n,)
        Density ratio target/source at the rows.
    """
    order = np.argsort(predicted, kind="stable")
    p, y, w = predicted[order], came_true[order].astype(float), weights[order]
    if w.sum() <= 0 or p.size < FEWEST_ROWS_TOLD:
        return None
    w = w / w.sum()
    place = np.minimum((np.cumsum(w) - w / 2) * _N_BINS, _N_BINS - 1).astype(int)
    z = float(norm.ppf(0.5 + level / 2))
    bins, error = [], 0.0
    for k in range(_N_BINS):
        there = place == k
        mass = float(w[there].sum())
        if np.count_nonzero(there) < FEWEST_ROWS_TOLD or mass <= 0:
            continue
        share = w[there] / mass
        said, seen = float(share @ p[there]), float(share @ y[there])
        n = effective_sample_size(share)
        middle = (seen + z * z / (2 * n)) / (1 + z * z / n)
        reach = (
            z / (1 + z * z / n) * np.sqrt(seen * (1 - seen) / n + z * z / (4 * n * n))
        )
        low, high = max(middle - reach, 0.0), min(middle + reach, 1.0)
        bins.append(
            {
                "predicted": said,
                "observed": seen,
                "low": float(low),
                "high": float(high),
                "share": mass,
            }
        )
        error += mass * abs(seen - said)
    return {"bins": bins, "error": error} if bins else None
