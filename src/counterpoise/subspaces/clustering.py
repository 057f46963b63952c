"""Orthogonal nonnegative graph clustering."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from counterpoise.data.arrays import estimator_matrix
from counterpoise.data.parameters import as_random, check_choice, check_integer
from counterpoise.errors import InvalidInputError, held_back, warn_user
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.stiefel import smallest_eigenpairs
from counterpoise.optim.loop import Progress, Solution, certified, solve
from counterpoise.optim.stiefel.local_search import on_supports
from counterpoise.optim.stiefel.problem import OrthogonalProblem
from counterpoise.optim.stiefel.relaxations import Relaxation
from counterpoise.optim.stiefel.solvers import NonnegativeRounds
from counterpoise.subspaces.orthogonal import check_frame_search, warn_of_frame

# -----------------------------------------------------------------------------
# Graphs of nearest neighbours, and what they say of new rows.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """Rows joined to their nearest ones, weights exp(-d^2 / (2 s^2)).

    Attributes
    ----------
    affinity : sparse array of shape (n, n)
        Symmetric: rows are joined where one is a neighbour of the other.
    width : float
        s, the median distance to a neighbour.
    search : NearestNeighbors
        Finds the neighbours of new rows.
    """

    affinity: Any
    width: float
    search: Any

    def to_rows(self, X: Array) -> Any:
        """Return the weights of new rows with their neighbours among the old."""
        distance, place = self.search.kneighbors(X)
        # The nearest keeps weight one, however far: new rows belong somewhere.
        nearest = distance[:, :1] ** 2
        weight = np.exp(-(distance**2 - nearest) / (2.0 * self.width**2))
        count = len(X) * distance.shape[1]
        start = np.arange(0, count + 1, distance.shape[1])
        shape = (len(X), self.affinity.shape[0])
        return sparse.csr_array((weight.ravel(), place.ravel(), start), shape=shape)


def neighbor_graph(X: Array, n_neighbors: int) -> NeighborGraph:
    """Return the graph of every row with its nearest others, all of them if few."""
    n = len(X)
    k = min(n_neighbors, n - 1)
    search = NearestNeighbors(n_neighbors=k).fit(X)
    distance, place = search.kneighbors()
    width = float(np.median(distance))
    if not width > 0.0:
        positive = distance[distance > 0.0]
        width = float(positive.mean()) if positive.size else 1.0
    weight = np.exp(-(distance**2) / (2.0 * width**2))
    # Places of 32 bits, which is what scikit-learn takes.
    start = np.arange(0, n * k + 1, k).astype(np.int32)
    place = place.astype(np.int32)
    one_way = sparse.csr_array((weight.ravel(), place.ravel(), start), shape=(n, n))
    return NeighborGraph(sparse.csr_array(one_way.maximum(one_way.T)), width, search)


def laplacian(affinity: Any) -> Any:
    """Return degrees less affinities."""
    degrees = np.asarray(affinity.sum(axis=1)).ravel()
    return sparse.csr_array(sparse.diags_array(degrees) - affinity)


def n_components(affinity: Any) -> int:
    """Return the number of parts that no edge joins."""
    return int(connected_components(affinity, directed=False)[0])


# -----------------------------------------------------------------------------
# Clusters of a graph by non-negative orthonormal indicators.
# -----------------------------------------------------------------------------


# Runs of k-means of which the best is a start: settled labels, whatever the seed.
RUNS_OF_K_MEANS = 10


class OrthogonalGraphClustering(ClusterMixin, BaseEstimator):
    r"""Cut a graph into clusters whose indicators are orthonormal and not negative.

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
    feasibility; the bound is the proof that counts. Rows without a neighbour get the
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
        random_state: Any = None,
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

    def __sklearn_tags__(self) -> Any:
        """Return the tags; a matrix of affinities is cut by rows and columns."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity == "precomputed"
        tags.input_tags.sparse = self.affinity == "precomputed"
        return tags

    def fit(self, X: Any, y: Any = None) -> "OrthogonalGraphClustering":
        """Find the clusters.

        Parameters
        ----------
        X : array-like or frame of shape (n, d), or affinities of shape (n, n)
        y : ignored
        """
        mu = self._check()
        k, name = int(self.n_clusters), type(self).__name__
        given = self.affinity == "precomputed"
        X = estimator_matrix(self, X, reset=True, min_rows=2, accept_sparse=given)
        if k > X.shape[0]:
            raise InvalidInputError(
                f"n_clusters = {k} exceeds n_samples = {X.shape[0]}"
            )
        if given:
            affinity = _read_affinity(X)
        else:
            self.graph_ = neighbor_graph(X, int(self.n_neighbors))
            affinity = self.graph_.affinity
        self.affinity_matrix_ = affinity
        joined = np.flatnonzero(np.asarray(affinity.sum(axis=1)).ravel() > 0.0)
        if len(joined) < max(k, 2):
            joined = np.arange(X.shape[0])
        elif len(joined) < X.shape[0]:
            alone = np.setdiff1d(np.arange(X.shape[0]), joined)
            warn_user(
                f"{name}: {len(alone)} rows have no neighbour (the first is row "
                f"{alone[0]}); they get the label of the largest cluster"
            )
        inner = affinity[joined][:, joined]
        parts = n_components(inner)
        if parts > k:
            warn_user(
                f"{name}: the graph falls into {parts} parts, more than n_clusters = "
                f"{k}: many ways to join them are equally good"
            )
        problem = OrthogonalProblem(laplacian(inner), n_columns=k, nonnegative=True)
        found = self._searched(problem, inner, None if given else X[joined], mu)
        warn_of_frame(name, found)
        self.solution_ = found
        self.indicator_ = np.zeros((X.shape[0], k))
        self.indicator_[joined] = found.x
        labels = _labels_of_indicator(self.indicator_, affinity)
        self.labels_ = labels
        self.objective_ = found.certificate.objective
        self.bound_ = found.certificate.bound
        self.n_iter_ = max(found.n_iter, 1)
        return self

    def predict(self, X: Any) -> Indices:
        """Return the labels of new rows, by the indicator at their neighbours.

        Parameters
        ----------
        X : matrix of shape (k, d), or affinities with the rows of `fit`, (k, n)
        """
        check_is_fitted(self, "indicator_")
        given = self.affinity == "precomputed"
        X = estimator_matrix(self, X, reset=False, accept_sparse=given)
        weights = sparse.csr_array(X) if given else self.graph_.to_rows(X)
        votes = weights @ _membership(self.labels_, self.indicator_.shape[1])
        strength = np.asarray(weights @ self.indicator_)
        # Ties of the neighbours' labels are broken by how much they belong.
        labels = np.argmax(votes + 1e-9 * strength, axis=1)
        lost = ~(votes.max(axis=1) > 0.0)
        labels[lost] = _largest_cluster(self.labels_)
        return labels

    def _check(self) -> float | None:
        check_integer("n_clusters", self.n_clusters, low=1)
        check_integer("n_neighbors", self.n_neighbors, low=1)
        check_integer("n_init", self.n_init, low=1)
        check_choice("affinity", self.affinity, ("nearest_neighbors", "precomputed"))
        return check_frame_search(
            self.relaxation, self.penalty, self.tol, self.max_iter, self.max_time
        )

    def _searched(
        self, problem: OrthogonalProblem, affinity: Any, X: Any, mu: float | None
    ) -> Solution:
        """Return the best of the searches from all starts."""
        n, k = problem.shape
        if k == 1 or k == n:
            labels = np.zeros(n, dtype=np.intp) if k == 1 else np.arange(n)
            return certified(problem, on_supports(problem, labels), self.tol)
        began, best = time.perf_counter(), None
        method = NonnegativeRounds(
            cast(Relaxation, self.relaxation), mu, accuracy=float(self.tol)
        )
        for labels in self._starts(affinity, X, k):
            left = None
            if self.max_time is not None:
                left = max(self.max_time - (time.perf_counter() - began), 0.0)
                if best is not None and not left > 0.0:
                    break
            found = solve(
                problem,
                method,
                _membership(labels, k),
                tol=float(self.tol),
                max_iter=int(self.max_iter),
                max_time=left,
                callback=self.callback,
            )
            lower = best is None or (
                found.certificate.objective < best.certificate.objective
            )
            best = found if lower else best
        assert best is not None
        return best

    def _starts(self, affinity: Any, X: Any, k: int) -> Any:
        """Yield labels to begin from."""
        draw = as_random(self.random_state)
        seeds = draw.randint(2**31 - 1, size=int(self.n_init) + 1)
        coordinates = _spectral_coordinates(affinity, k)
        rows = coordinates if X is None else X
        count = int(self.n_init)
        sources = [(rows, seed) for seed in seeds[: max(count - 1, 1)]]
        if count > 1:
            sources.append((coordinates, seeds[-1]))
        known: set[bytes] = set()
        for source, seed in sources:
            labels = _by_means(source, k, seed)
            if labels.tobytes() not in known:
                known.add(labels.tobytes())
                yield labels


def _by_means(rows: Array, k: int, seed: int) -> Indices:
    """Return the labels of k-means, numbered as they first occur."""
    # Fewer distinct rows than clusters: labels are given all the same.
    with held_back(ConvergenceWarning):
        labels = KMeans(k, n_init=RUNS_OF_K_MEANS, random_state=seed).fit_predict(rows)
    _, first, at = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[at]


def _spectral_coordinates(affinity: Any, k: int) -> Array:
    """Return the smallest eigenvectors of the normalised Laplacian, by root degree."""
    degrees = np.asarray(affinity.sum(axis=1)).ravel()
    root = 1.0 / np.sqrt(np.maximum(degrees, 1e-300))
    scale = sparse.diags_array(np.where(degrees > 0.0, root, 0.0))
    normal = sparse.eye_array(len(degrees)) - scale @ affinity @ scale
    vectors = smallest_eigenpairs(sparse.csr_array(normal), k, low=0.0)[1]
    return vectors * np.where(degrees > 0.0, root, 1.0)[:, None]


def _membership(labels: Indices, k: int) -> Array:
    """Return the indicator of labels with columns of length one."""
    out = np.zeros((len(labels), k))
    out[np.arange(len(labels)), labels] = 1.0
    return out / np.sqrt(np.maximum(out.sum(axis=0), 1.0))


def _largest_cluster(labels: Indices) -> int:
    return int(np.argmax(np.bincount(labels)))


def _labels_of_indicator(indicator: Array, affinity: Any) -> Indices:
    """Return the label of every row, by its neighbours where its indicator is zero."""
    labels = np.argmax(indicator, axis=1)
    empty = ~(indicator.max(axis=1) > 0.0)
    if empty.any():
        votes = np.asarray(affinity[empty] @ indicator)
        nearest = np.argmax(votes, axis=1)
        known = votes.max(axis=1) > 0.0
        nearest[~known] = _largest_cluster(labels[~empty])
        labels[empty] = nearest
    return labels


def _read_affinity(X: Any) -> Any:
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
