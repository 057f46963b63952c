"""Orthogonal nonnegative graph clustering."""

import time
from collections.abc import Callable, Iterator
from typing import cast

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from counterpoise.data.arrays import estimator_matrix
from counterpoise.data.parameters import as_random, check_choice, check_integer
from counterpoise.errors import InvalidInputError, suppress_warnings, warn_user
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.stiefel import SymmetricMatrix, smallest_eigenpairs
from counterpoise.optim.loop import Progress, Solution, certified, solve
from counterpoise.optim.stiefel.local_search import on_supports
from counterpoise.optim.stiefel.problem import OrthogonalProblem
from counterpoise.optim.stiefel.relaxations import Relaxation
from counterpoise.optim.stiefel.solvers import NonnegativeRounds
from counterpoise.subspaces.orthogonal import (
    check_search_parameters,
    warn_if_not_converged,
)

# -----------------------------------------------------------------------------
# Neighbor graphs.
# -----------------------------------------------------------------------------


def neighbor_graph(search: NearestNeighbors) -> tuple[sparse.csr_array, float]:
    """Return symmetric affinities exp(-d^2 / (2 s^2)) of neighbors, and s.

    Two rows are joined where one is a neighbor of the other; s is the median distance
    to a neighbor.
    """
    graph = sparse.csr_array(search.kneighbors_graph(mode="distance"))
    width = float(np.median(graph.data))
    if not width > 0.0:
        positive = graph.data[graph.data > 0.0]
        width = float(positive.mean()) if positive.size else 1.0
    graph.data = np.exp(-(graph.data**2) / (2.0 * width**2))
    return sparse.csr_array(graph.maximum(graph.T)), width


# -----------------------------------------------------------------------------
# Orthogonal nonnegative graph clustering.
# -----------------------------------------------------------------------------


# Runs of k-means of which the best is a start: settled labels, whatever the seed.
KMEANS_RUNS = 10


class OrthogonalGraphClustering(ClusterMixin, BaseEstimator):
    r"""Orthogonal nonnegative graph clustering (ONGR): cut a graph into clusters.

    .. math:: \min_P\ \mathrm{tr}\, P'LP \quad\text{with}\quad P'P = I,\ P \ge 0

    with L the Laplacian of the graph: at most one entry of a row is not zero, and its
    column is the row's label, without k-means. For given labels the best column is the
    eigenvector of the least eigenvalue of L on its rows, so the objective is the sum of
    the clusters' least eigenvalues, which thin connections within a cluster and many to
    others make large.

    Parameters
    ----------
    n_clusters : int
    affinity : {"nearest_neighbors", "precomputed"}
        The first: rows are joined to their nearest ones, with weights
        :math:`e^{-d^2/2s^2}`, s the median of these distances. "precomputed": X is a
        symmetric matrix of affinities (n, n), dense or sparse.
    n_neighbors : int
    relaxation : {"sdp", "parabolic"}
        What a round relaxes P'P = I to.
    penalty : "auto" or float
        "auto": rising, from one that moves labels freely to one that keeps them. A
        large number alone keeps the start's labels.
    n_init : int
        Starts: one from the spectral coordinates, the others from k-means (of the rows,
        or of the spectral coordinates where affinities are given), each the best of ten
        runs; one that equals an earlier one is left out, and the lowest objective wins.
        One start: k-means.
    tol : float
        Accuracy of the rounds.
    max_iter : int
        Most rounds from a start.
    max_time : float, optional
        Seconds after which no further round or start begins.
    callback : callable, optional
        Called with the `Progress` after every round; True ends the search from a start.
    random_state : None, int or RandomState
        Draws the starts.

    Attributes
    ----------
    labels_ : array of shape (n,)
        0 to n_clusters - 1.
    indicator_ : array of shape (n, n_clusters)
        P: not negative, orthonormal columns, to rounding.
    affinity_matrix_ : sparse array of shape (n, n)
    objective_ : float
        tr(P'LP).
    bound_ : float
        The sum of the smallest eigenvalues of L (Ky Fan): no P has less.
    solution_ : Solution
    n_iter_ : int
        Rounds from the start that won.

    Notes
    -----
    Rounds are solved by ADMM with a sparse factor of L (`NonnegativeRounds`), some
    seconds at n = 1000 and seven clusters. The lowest objective need not be the truth:
    starts that fit the rows well are part of the answer, more random ones are not. Any
    labels with their best columns are stationary, so the certificate says little but
    feasibility; the bound is the proof that counts. Rows without a neighbor get the
    largest cluster's label and a row of zeros.

    References
    ----------
    Han, Xiong and Nie (2017), Orthogonal and nonnegative graph reconstruction.
    Zohrizadeh (2019), chapter 3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clusters = OrthogonalGraphClustering(3, random_state=0).fit(X)
    >>> sorted(np.bincount(clusters.labels_).tolist())
    [36, 50, 64]
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        affinity: str = "nearest_neighbors",
        n_neighbors: int = 8,
        relaxation: str = "sdp",
        penalty: float | str = "auto",
        n_init: int = 4,
        tol: float = 1e-4,
        max_iter: int = 100,
        max_time: float | None = None,
        callback: Callable[[Progress], object] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.relaxation = relaxation
        self.penalty = penalty
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.callback = callback
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        """Return the tags; a matrix of affinities is cut by rows and columns."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity == "precomputed"
        tags.input_tags.sparse = self.affinity == "precomputed"
        return tags

    def fit(
        self, X: ArrayLike | SymmetricMatrix, y: object = None
    ) -> "OrthogonalGraphClustering":
        """Find the clusters.

        Parameters
        ----------
        X : array-like or frame of shape (n, d), or affinities of shape (n, n)
        y : ignored
        """
        check_integer("n_clusters", self.n_clusters, low=1)
        check_integer("n_neighbors", self.n_neighbors, low=1)
        check_integer("n_init", self.n_init, low=1)
        check_choice("affinity", self.affinity, ("nearest_neighbors", "precomputed"))
        penalty = check_search_parameters(
            self.relaxation, self.penalty, self.tol, self.max_iter, self.max_time
        )
        k, name = int(self.n_clusters), type(self).__name__
        precomputed = self.affinity == "precomputed"
        X = estimator_matrix(self, X, reset=True, min_rows=2, accept_sparse=precomputed)
        n = X.shape[0]
        if k > n:
            raise InvalidInputError(f"n_clusters = {k} exceeds n_samples = {n}")
        if precomputed:
            affinity = _read_affinity(X)
        else:
            n_neighbors = min(int(self.n_neighbors), n - 1)
            self.neighbors_ = NearestNeighbors(n_neighbors=n_neighbors).fit(X)
            affinity, self.width_ = neighbor_graph(self.neighbors_)
        self.affinity_matrix_ = affinity
        joined = np.flatnonzero(affinity.sum(axis=1) > 0.0)
        if len(joined) < max(k, 2):
            joined = np.arange(n)
        elif len(joined) < n:
            alone = np.setdiff1d(np.arange(n), joined)
            warn_user(
                f"{name}: {len(alone)} rows have no neighbor (the first is row "
                f"{alone[0]}); they get the label of the largest cluster"
            )
        inner = affinity[joined][:, joined]
        parts = connected_components(inner, directed=False, return_labels=False)
        if parts > k:
            warn_user(
                f"{name}: the graph falls into {parts} parts, more than n_clusters = "
                f"{k}: many ways to join them are equally good"
            )
        rows = None if precomputed else X[joined]
        self.solution_ = self._search(inner, rows, penalty)
        warn_if_not_converged(name, self.solution_)
        self.indicator_ = np.zeros((n, k))
        self.indicator_[joined] = self.solution_.x
        self.labels_ = np.argmax(self.indicator_, axis=1)
        empty = ~(self.indicator_.max(axis=1) > 0.0)
        if empty.any():
            # Rows of zeros get the label of their neighbors.
            votes = affinity[empty] @ self.indicator_
            largest = np.argmax(np.bincount(self.labels_[~empty]))
            self.labels_[empty] = np.where(
                votes.max(axis=1) > 0.0, np.argmax(votes, axis=1), largest
            )
        self.objective_ = self.solution_.certificate.objective
        self.bound_ = self.solution_.certificate.bound
        self.n_iter_ = max(self.solution_.n_iter, 1)
        return self

    def predict(self, X: ArrayLike | SymmetricMatrix) -> Indices:
        """Return the labels of new rows, by the indicator at their neighbors.

        Parameters
        ----------
        X : matrix of shape (k, d), or affinities with the rows of `fit`, (k, n)
        """
        check_is_fitted(self, "indicator_")
        precomputed = self.affinity == "precomputed"
        X = estimator_matrix(self, X, reset=False, accept_sparse=precomputed)
        weights = sparse.csr_array(X) if precomputed else self._weights_of(X)
        votes = weights @ _membership(self.labels_, self.indicator_.shape[1])
        # Ties of the neighbors' labels are broken by how much they belong.
        labels = np.argmax(votes + 1e-9 * (weights @ self.indicator_), axis=1)
        labels[~(votes.max(axis=1) > 0.0)] = np.argmax(np.bincount(self.labels_))
        return labels

    def _weights_of(self, X: Array) -> sparse.csr_array:
        """Return affinities of new rows to their neighbors among the training rows."""
        graph = sparse.csr_array(self.neighbors_.kneighbors_graph(X, mode="distance"))
        squares = graph.data.reshape(len(X), -1) ** 2
        # The nearest has weight one, however far: every new row belongs somewhere.
        weights = np.exp(-(squares - squares[:, :1]) / (2.0 * self.width_**2))
        graph.data = weights.ravel()
        return graph

    def _search(
        self, affinity: sparse.csr_array, X: Array | None, penalty: float | None
    ) -> Solution:
        """Return the best of the searches from all starts."""
        n, k = affinity.shape[0], int(self.n_clusters)
        laplacian = sparse.diags_array(affinity.sum(axis=1)) - affinity
        problem = OrthogonalProblem(laplacian, n_columns=k, nonnegative=True)
        if k == 1 or k == n:
            labels = np.zeros(n, dtype=np.intp) if k == 1 else np.arange(n)
            return certified(problem, on_supports(problem, labels), self.tol)
        began, best = time.perf_counter(), None
        method = NonnegativeRounds(
            cast(Relaxation, self.relaxation), penalty, accuracy=float(self.tol)
        )
        for labels in self._starts(affinity, X, k):
            left = None
            if self.max_time is not None:
                left = max(self.max_time - (time.perf_counter() - began), 0.0)
                if best is not None and not left > 0.0:
                    break
            solution = solve(
                problem,
                method,
                _membership(labels, k),
                tol=float(self.tol),
                max_iter=int(self.max_iter),
                max_time=left,
                callback=self.callback,
            )
            objective = solution.certificate.objective
            if best is None or objective < best.certificate.objective:
                best = solution
        assert best is not None
        return best

    def _starts(
        self, affinity: sparse.csr_array, X: Array | None, k: int
    ) -> Iterator[Indices]:
        """Yield labels to begin from."""
        draw, count = as_random(self.random_state), int(self.n_init)
        seeds = draw.randint(2**31 - 1, size=count + 1)
        # The smallest eigenvectors of the normalized Laplacian, by root degree.
        degrees = affinity.sum(axis=1)
        root = 1.0 / np.sqrt(np.maximum(degrees, 1e-300))
        scale = sparse.diags_array(np.where(degrees > 0.0, root, 0.0))
        normalized = sparse.eye_array(len(degrees)) - scale @ affinity @ scale
        vectors = smallest_eigenpairs(sparse.csr_array(normalized), k, low=0.0)[1]
        coordinates = vectors * np.where(degrees > 0.0, root, 1.0)[:, None]
        rows = coordinates if X is None else X
        sources = [(rows, seed) for seed in seeds[: max(count - 1, 1)]]
        if count > 1:
            sources.append((coordinates, seeds[-1]))
        known: set[bytes] = set()
        for source, seed in sources:
            # Fewer distinct rows than clusters: labels are given all the same.
            with suppress_warnings(ConvergenceWarning):
                means = KMeans(k, n_init=KMEANS_RUNS, random_state=seed)
                labels = means.fit_predict(source)
            # Numbered as they first occur.
            _, first, at = np.unique(labels, return_index=True, return_inverse=True)
            labels = np.argsort(np.argsort(first))[at]
            if labels.tobytes() not in known:
                known.add(labels.tobytes())
                yield labels


def _membership(labels: Indices, k: int) -> Array:
    """Return the indicator of labels with columns of length one."""
    out = np.zeros((len(labels), k))
    out[np.arange(len(labels)), labels] = 1.0
    return out / np.sqrt(np.maximum(out.sum(axis=0), 1.0))


def _read_affinity(X: SymmetricMatrix) -> sparse.csr_array:
    """Return a symmetric matrix of affinities without its diagonal, or refuse it."""
    if X.shape[0] != X.shape[1]:
        raise InvalidInputError(
            f"X must be a square matrix of affinities, got shape {X.shape}"
        )
    affinity = sparse.csr_array(X)
    if affinity.nnz and affinity.data.min() < 0.0:
        at = affinity.tocoo()
        where = int(np.argmin(at.data))
        raise InvalidInputError(
            "affinities must not be negative, got "
            f"{at.data[where]:g} at row {at.row[where]}, column {at.col[where]}"
        )
    apart = abs(affinity - affinity.T)
    if apart.nnz and apart.max() > 1e-8 * max(abs(affinity).max(), 1e-300):
        at = apart.tocoo()
        where = int(np.argmax(at.data))
        raise InvalidInputError(
            f"affinities must be symmetric: those of rows {at.row[where]} and "
            f"{at.col[where]} differ by {at.data[where]:g}"
        )
    symmetric = (affinity + affinity.T) / 2.0
    return sparse.csr_array(symmetric - sparse.diags_array(symmetric.diagonal()))
