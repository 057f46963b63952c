"""Selection of the source classes that the target contains."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from counterpoise.data.arrays import as_matrix, n_rows, two_samples
from counterpoise.data.labels_and_weights import as_classes
from counterpoise.data.parameters import as_seed, check_integer
from counterpoise.errors import InvalidInputError, warn_user
from counterpoise.optim.assignment.problem import SparseMatrix
from counterpoise.selection.subset_selector import as_laplacian
from counterpoise.weights.partial import (
    ClassSelection,
    classes_by_probabilities,
    default_predictions,
    neighbor_laplacian,
    source_predictions,
)

# A classifier whose largest probabilities have a smaller mean is said to be unsure.
UNSURE_BELOW = 0.4


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
    classifier of the source: few classes that explain the target, alike in neighbors.

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
        Neighbors of a target row in the graph (an edge where either is one of the
        other's); zero: no graph.
    graph : matrix of shape (m, m), optional
        Weights of edges, in place of neighbors.
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
        laplacian = neighbor_laplacian(points, n_neighbors)
    else:
        laplacian = as_laplacian(graph, rows)
    selection = classes_by_probabilities(
        predictions.classes,
        predictions.probabilities,
        laplacian,
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
