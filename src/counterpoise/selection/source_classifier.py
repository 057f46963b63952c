"""What a classifier of the source says of target rows, and which of them are near."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from counterpoise.numerics.arrays import Array
from counterpoise.validation import InvalidInput, refusals_of_estimators

# Principal components of both samples that the default classifier sees.
COMPONENTS = 50


@dataclass(frozen=True, eq=False)
class SourceAnswers:
    """What a classifier of the source says.

    Attributes
    ----------
    classes : array of shape (K,)
    probabilities : array of shape (m, K)
        Of the target rows.
    recalls : array of shape (K,)
        Of each class, the share of its source rows that are given to it.
    """

    classes: NDArray[Any]
    probabilities: Array
    recalls: Array


def default_answers(
    X: Array, y: NDArray[Any], X_target: Array, seed: int
) -> tuple[SourceAnswers, Array]:
    """Return what the default classifier says, and the target rows as it sees them.

    Principal components of both samples, the source's mean taken off, rows of unit
    length, logistic regression with C = 1.
    """
    from sklearn.linear_model import LogisticRegression

    source, target = common_components(X, X_target, seed)
    answers = answers_of(LogisticRegression(max_iter=1000), source, y, target)
    return answers, target


def default_probabilities(
    X: Array, y: NDArray[Any], X_target: Array, seed: int
) -> tuple[NDArray[Any], Array, Array]:
    """Return classes, probabilities and target rows of the default classifier."""
    answers, target = default_answers(X, y, X_target, seed)
    return answers.classes, answers.probabilities, target


def common_components(X: Array, X_target: Array, seed: int) -> tuple[Array, Array]:
    """Return both samples in their common components, as rows of unit length."""
    from sklearn.decomposition import PCA

    both = np.vstack([X, X_target])
    if both.shape[1] > COMPONENTS:
        size = min(COMPONENTS, len(both))
        both = PCA(size, svd_solver="randomized", random_state=seed).fit_transform(both)
    both = both - both[: len(X)].mean(axis=0)
    length = np.linalg.norm(both, axis=1, keepdims=True)
    both = both / np.where(length > 0.0, length, 1.0)
    return both[: len(X)], both[len(X) :]


def answers_of(estimator: Any, X: Any, y: NDArray[Any], X_target: Any) -> SourceAnswers:
    """Return what somebody's classifier says, fitted to the source."""
    from sklearn.base import clone

    if not hasattr(estimator, "fit"):
        raise InvalidInput(f"estimator must be a classifier, got {estimator!r}")
    with refusals_of_estimators():
        model = clone(estimator).fit(X, y)
        if not hasattr(model, "predict_proba"):
            raise InvalidInput(
                f"estimator must have predict_proba, {type(estimator).__name__} has not"
            )
        p = np.asarray(model.predict_proba(X_target), dtype=float)
        own = np.asarray(model.predict_proba(X), dtype=float)
    if not np.isfinite(p).all():
        row = int(np.argmax(~np.isfinite(p).all(axis=1)))
        raise InvalidInput(f"the probabilities of target row {row} are not finite")
    classes = np.asarray(model.classes_)
    right = classes[own.argmax(axis=1)] == y
    recalls = np.array([right[y == one].mean() for one in classes])
    return SourceAnswers(classes, p, recalls)


def neighbor_graph(points: Array, n_neighbors: int) -> Any:
    """Return ones where either of two rows is among the other's nearest neighbours."""
    from sklearn.neighbors import kneighbors_graph

    k = min(n_neighbors, len(points) - 1)
    nearest = sparse.csr_array(kneighbors_graph(points, k, mode="connectivity"))
    return nearest.maximum(nearest.T)
