"""Selection of the source classes that the target contains."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from counterpoise.data.arrays import as_matrix, n_rows, two_samples
from counterpoise.data.labels_and_weights import as_classes
from counterpoise.data.parameters import as_seed, check_integer, check_number
from counterpoise.errors import InvalidInputError, refusals_of_estimators, warn_user
from counterpoise.linalg.arrays import Array
from counterpoise.optim.assignment.problem import SparseMatrix
from counterpoise.optim.loop import Solution
from counterpoise.selection.subset_selector import SelectionProblem, as_laplacian

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
    with refusals_of_estimators():
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


def neighbor_graph(points: Array, n_neighbors: int) -> SparseMatrix:
    """Return ones where either of two rows is among the other's nearest neighbours."""
    from sklearn.neighbors import kneighbors_graph

    k = min(n_neighbors, len(points) - 1)
    nearest = sparse.csr_array(kneighbors_graph(points, k, mode="connectivity"))
    return nearest.maximum(nearest.T)


# -----------------------------------------------------------------------------
# Class selection.
# -----------------------------------------------------------------------------


# Probabilities below this cost no more.
LEAST_PROBABILITY = 1e-6
# A class with a larger share of the target is present.
PRESENT_ABOVE = 2e-3
# A classifier whose largest probabilities have a smaller mean is said to be unsure.
UNSURE_BELOW = 0.4
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


def select_classes(
    X: ArrayLike,
    y: ArrayLike,
    X_target: ArrayLike,
    *,
    estimator: object = None,
    sparsity: float | str = "auto",
    smoothness: float = 0.3,
    n_neighbors: int = 7,
    graph: ArrayLike | SparseMatrix | None = None,
    tol: float = 1e-3,
    random_state: int | np.random.RandomState | None = None,
) -> ClassSelection:
    r"""Return which classes of the source a target holds, without its labels.

    The problem of `SubsetSelector` with the source's K classes as words and the m
    target rows as items, :math:`R_{ij} = -\log \max(p(j \mid x_i), 10^{-6})` by a
    classifier of the source: few classes that explain the target, alike in neighbours.

    Parameters
    ----------
    X, y : table of shape (n, d) and labels of shape (n,)
        The source.
    X_target : table of shape (m, d)
    estimator : classifier with `predict_proba`, optional
        Cloned and fitted to the source. None: the 50 principal components of both
        samples, less the source's mean, rows of unit length, logistic regression.
    sparsity : float or "auto"
        Penalty of a class, in units of that from which on one class is best. "auto":
        see Notes.
    smoothness : float
        Of the assignment over the graph.
    n_neighbors : int
        Neighbours of a target row in the graph (an edge where either is one of the
        other's); zero: no graph.
    graph : matrix of shape (m, m), optional
        Weights of edges, in place of neighbours.
    tol : float
        The gap to prove, in units of the objective above the rows' least costs.
    random_state : None, int or RandomState
        For the principal components.

    Returns
    -------
    ClassSelection

    Notes
    -----
    "auto" lets the graph speak first. With the shares q of the assignment without a
    penalty and :math:`K_e = 1 / \sum_j q_j^2` classes in effect,

    .. math:: \text{sparsity} = 0.15 \, (1 - K_e / K), \qquad
              c_j = \min(2 r_j, 1) \min(\max(1 - 2 K_e q_j, 0), 1)

    and the penalty of class j is multiplied by :math:`c_j`, :math:`r_j` the share of
    the source's rows of the class that the classifier gives to it: classes that hold
    half of an even share or more cost nothing, those of which the classifier finds less
    than half in the source cost less, and where all classes hold even shares there is
    no penalty at all. A given sparsity has :math:`c_j = 1`.

    The graph spreads the classifier's mistakes as well: below a `confidence` of 0.4
    there is a warning.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["a", "b", "c"], 30)
    >>> X = rng.normal(size=(90, 2)) + np.repeat([[0, 0], [6, 0], [0, 6]], 30, axis=0)
    >>> found = select_classes(X, y, X[:60] + 0.5)
    >>> found.classes[found.present].tolist()
    ['a', 'b']
    """
    rows = n_rows(X_target)
    labels = as_classes(y, n_rows(X))
    if len(np.unique(labels)) < 2:
        raise InvalidInputError(
            f"y must have two classes or more, got {labels[:1].tolist()} alone"
        )
    check_integer("n_neighbors", n_neighbors, low=0)
    if estimator is None:
        source, target = two_samples(X, X_target)
        assert target is not None
        predictions, points = default_predictions(
            source, labels, target, as_seed(random_state)
        )
    else:
        predictions = source_predictions(estimator, X, labels, X_target)
        needed = graph is None and n_neighbors > 0 and smoothness != 0.0
        points = as_matrix(X_target, name="X_target") if needed else np.zeros((rows, 1))
    if graph is None and n_neighbors > 0 and rows > 1 and smoothness != 0.0:
        graph = neighbor_graph(points, n_neighbors)
    selection = classes_by_probabilities(
        predictions.classes,
        predictions.probabilities,
        graph,
        recalls=predictions.recalls,
        sparsity=sparsity,
        smoothness=smoothness,
        tol=tol,
    )
    if selection.confidence < UNSURE_BELOW:
        warn_user(
            "the classifier is unsure of the target: its largest probabilities have "
            f"a mean of {selection.confidence:.2f}, below {UNSURE_BELOW:g}; the graph "
            "spreads its mistakes"
        )
    if not selection.solution.converged:
        warn_user(f"select_classes: {selection.solution}", ConvergenceWarning)
    return selection


def classes_by_probabilities(
    classes: NDArray[Any],
    probabilities: Array,
    graph: ArrayLike | SparseMatrix | None,
    *,
    recalls: Array | None = None,
    sparsity: float | str = "auto",
    smoothness: float = 0.3,
    tol: float = 1e-3,
    max_iter: int = 20_000,
) -> ClassSelection:
    """Return which classes are there, from probabilities and a graph of the rows.

    Parameters
    ----------
    classes : array of shape (K,)
    probabilities : array of shape (m, K)
        A classifier's, of the target rows.
    graph : matrix of shape (m, m) or None
        Weights of edges between target rows.
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
    laplacian = as_laplacian(graph, m)

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
        free = problem_with(np.zeros(K)).solved(0.0, "auto", tol, max_iter=max_iter)
        shares = free.x.reshape(m, K).mean(axis=0)
        sparsity, factors = auto_sparsity(shares, recalls)
    problem = problem_with(factors)
    penalty = float(sparsity) * problem.one_word.low
    solution = problem.solved(penalty, "auto", tol, max_iter=max_iter)
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
