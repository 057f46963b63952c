"""Selection of the source classes that the target contains (partial targets)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from counterpoise.data.parameters import check_number
from counterpoise.errors import InvalidInputError, estimator_errors
from counterpoise.linalg.arrays import Array
from counterpoise.optim.assignment.problem import SparseAssignment, SparseMatrix
from counterpoise.optim.assignment.selection_problem import SelectionProblem
from counterpoise.optim.assignment.solvers import ProximalADMM
from counterpoise.optim.loop import Solution

# -----------------------------------------------------------------------------
# Predictions of a source classifier, and neighbors among the target rows.
# -----------------------------------------------------------------------------


# Principal components of both samples that the default classifier sees.
COMPONENTS = 50


@dataclass(frozen=True, eq=False)
class SourcePredictions:
    """Predictions of a classifier of the source.

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


def default_predictions(
    X: Array, y: NDArray[Any], X_target: Array, seed: int
) -> tuple[SourcePredictions, Array]:
    """Return predictions of the default classifier, and its target rows.

    Principal components of both samples, the source's mean taken off, rows of unit
    length, logistic regression with C = 1.
    """
    from sklearn.linear_model import LogisticRegression

    source, target = common_components(X, X_target, seed)
    predictions = source_predictions(
        LogisticRegression(max_iter=1000), source, y, target
    )
    return predictions, target


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


def source_predictions(
    estimator: object, X: ArrayLike, y: NDArray[Any], X_target: ArrayLike
) -> SourcePredictions:
    """Return the predictions of a classifier, cloned and fitted to the source."""
    from sklearn.base import clone

    if not hasattr(estimator, "fit"):
        raise InvalidInputError(f"estimator must be a classifier, got {estimator!r}")
    with estimator_errors():
        model = clone(estimator).fit(X, y)
        if not hasattr(model, "predict_proba"):
            raise InvalidInputError(
                f"estimator must have predict_proba, {type(estimator).__name__} has not"
            )
        p = np.asarray(model.predict_proba(X_target), dtype=float)
        own = np.asarray(model.predict_proba(X), dtype=float)
    if not np.isfinite(p).all():
        row = int(np.argmax(~np.isfinite(p).all(axis=1)))
        raise InvalidInputError(f"the probabilities of target row {row} are not finite")
    classes = np.asarray(model.classes_)
    right = classes[own.argmax(axis=1)] == y
    recalls = np.array([right[y == one].mean() for one in classes])
    return SourcePredictions(classes, p, recalls)


def neighbor_laplacian(points: Array, n_neighbors: int) -> SparseMatrix:
    """Return the Laplacian of the graph of nearest neighbors.

    Two rows are joined, with weight one, where one is a neighbor of the other.
    """
    from sklearn.neighbors import kneighbors_graph

    k = min(n_neighbors, len(points) - 1)
    nearest = sparse.csr_array(kneighbors_graph(points, k, mode="connectivity"))
    graph = sparse.csr_array(nearest.maximum(nearest.T))
    return sparse.csc_array(sparse.diags_array(graph.sum(axis=1)) - graph)


# -----------------------------------------------------------------------------
# Class selection.
# -----------------------------------------------------------------------------


# Probabilities below this cost no more.
LEAST_PROBABILITY = 1e-6
# A class with a larger share of the target is present.
PRESENT_ABOVE = 2e-3
# The sparsity of "auto" where the target holds one class of very many.
AUTO_SPARSITY = 0.15


@dataclass(frozen=True, eq=False)
class ClassSelection:
    """Which classes a target holds.

    Attributes
    ----------
    classes : array of shape (K,)
        The labels of the source.
    shares : array of shape (K,)
        Of the target, by the assignment; they add up to one.
    present : array of bool of shape (K,)
        Classes with a share above 2e-3.
    labels : array of shape (m,)
        Every target row's class.
    assignment : array of shape (m, K)
    confidence : float
        The mean of the classifier's largest probabilities.
    sparsity : float
        What the penalty was, in units of that from which on one class is best.
    class_costs : array of shape (K,)
        What the penalty was multiplied by, class by class.
    solution : Solution
        The assignment with its certificate.
    """

    classes: NDArray[Any]
    shares: Array
    present: NDArray[np.bool_]
    labels: NDArray[Any]
    assignment: Array
    confidence: float
    sparsity: float
    class_costs: Array
    solution: Solution


def classes_by_probabilities(
    classes: NDArray[Any],
    probabilities: Array,
    laplacian: SparseMatrix,
    *,
    recalls: Array | None = None,
    sparsity: float | str = "auto",
    smoothness: float = 0.3,
    tol: float = 1e-3,
    max_iter: int = 20_000,
) -> ClassSelection:
    """Return which classes are present, from probabilities and a graph of the rows.

    Parameters
    ----------
    classes : array of shape (K,)
    probabilities : array of shape (m, K)
        A classifier's, of the target rows.
    laplacian : sparse matrix of shape (m, m) or None
        Of a graph of the target rows.
    recalls : array of shape (K,), optional
        How well the classifier finds each class in the source; None: perfectly.
    sparsity, smoothness, tol
        As of `select_classes`.
    max_iter : int
        Largest number of iterations.
    """
    check_number("smoothness", smoothness, low=0.0)
    check_number("tol", tol, low=0.0, closed="neither")
    check_number("sparsity", sparsity, low=0.0, options=("auto",))
    m, K = probabilities.shape
    costs = -np.log(np.maximum(probabilities, LEAST_PROBABILITY))

    def problem_with(factors: Array) -> SelectionProblem:
        return SelectionProblem(
            costs,
            np.full(m, 1.0 / m),
            laplacian,
            float(smoothness) / m,
            "max",
            factors,
            np.arange(K),
            None,
        )

    factors = np.ones(K)
    if sparsity == "auto":
        free = problem_with(np.zeros(K)).solved(0.0, _solver, tol, max_iter=max_iter)
        shares = free.x.reshape(m, K).mean(axis=0)
        sparsity, factors = auto_sparsity(shares, recalls)
    problem = problem_with(factors)
    penalty = float(sparsity) * problem.one_word.low
    solution = problem.solved(penalty, _solver, tol, max_iter=max_iter)
    assignment = solution.x.reshape(m, K)
    shares = assignment.mean(axis=0)
    return ClassSelection(
        classes,
        shares,
        shares > PRESENT_ABOVE,
        classes[assignment.argmax(axis=1)],
        assignment,
        float(probabilities.max(axis=1).mean()),
        float(sparsity),
        factors,
        solution,
    )


def _solver(problem: SparseAssignment) -> ProximalADMM:
    return ProximalADMM()


def auto_sparsity(shares: Array, recalls: Array | None = None) -> tuple[float, Array]:
    r"""Return sparsity and costs of classes from their shares without a penalty.

    :math:`0.15 (1 - K_e / K)` and
    :math:`\min(2 r_j, 1) \min(\max(1 - 2 K_e q_j, 0), 1)`, with
    :math:`K_e = 1 / \sum_j q_j^2`; `recalls` are r, None: ones.

    Examples
    --------
    >>> import numpy as np
    >>> sparsity, costs = auto_sparsity(np.array([0.5, 0.5, 0.0, 0.0]))
    >>> round(sparsity, 3), costs
    (0.075, array([0., 0., 1., 1.]))
    """
    effective = 1.0 / float(shares @ shares)
    sparsity = AUTO_SPARSITY * max(1.0 - effective / len(shares), 0.0)
    costs = np.clip(1.0 - 2.0 * effective * shares, 0.0, 1.0)
    if recalls is not None:
        costs = np.minimum(2 * recalls, 1) * costs
    return sparsity, costs
