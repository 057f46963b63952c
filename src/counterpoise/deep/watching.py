"""What is seen of a training without any label of the target."""

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score

from counterpoise.numerics.arrays import Array

# Rows of each sample by which the features are judged, and the least of them.
JUDGED_ROWS, FEWEST_JUDGED = 1_000, 8
# Share of the mean variance that is added to every direction.
ADDED_VARIANCE = 1e-2


@dataclass(frozen=True, eq=False)
class TrainingRecord:
    """What was known after some iterations.

    Attributes
    ----------
    iteration : int
        Iterations done.
    loss : float
        Mean of the loss since the record before.
    class_weight : array of shape (K,)
        Weights of the classes from here on; the largest is one where they move.
    n_effective : float or None
        Effective number of classes in the target, exp(H(mean p)).
    entropy : float or None
        Mean entropy of the target rows' class probabilities, in nats.
    domain_auc : float or None
        How well a linear discriminant of the features tells target from source; one
        half: not at all. None where a sample has fewer than 8 rows, and, like the two
        above, without a target.
    """

    iteration: int
    loss: float
    class_weight: Array
    n_effective: float | None = None
    entropy: float | None = None
    domain_auc: float | None = None


def entropy_of(shares: Array) -> float:
    """Return the entropy of shares that sum to one, in nats."""
    some = shares[shares > 0.0]
    return float(-(some * np.log(some)).sum())


def effective_classes(prior: Array) -> float:
    """Return exp(H(prior)): as many classes of equal shares are as uneven."""
    return float(np.exp(entropy_of(prior)))


def linear_auc(features: Array, features_target: Array) -> float | None:
    """Return how well a linear discriminant tells rows apart that it was not fitted to.

    It is fitted to every other row, at most 1,000 of each sample, and judged on those
    between.
    """
    samples = [_some(part) for part in (features, features_target)]
    if min(map(len, samples)) < FEWEST_JUDGED:
        return None
    fitted = [part[::2] for part in samples]
    centred = np.vstack([part - part.mean(axis=0) for part in fitted])
    spread = centred.T @ centred / len(centred)
    d = spread.shape[0]
    spread[np.diag_indices(d)] += (
        ADDED_VARIANCE * np.trace(spread) / d + np.finfo(float).tiny
    )
    direction = np.linalg.solve(spread, fitted[1].mean(axis=0) - fitted[0].mean(axis=0))
    judged = [part[1::2] @ direction for part in samples]
    labels = np.repeat([0, 1], [len(part) for part in judged])
    return float(roc_auc_score(labels, np.concatenate(judged)))


def _some(rows: Array) -> Array:
    kept = np.linspace(0, len(rows) - 1, min(len(rows), JUDGED_ROWS)).astype(int)
    return rows[kept].astype(float)
