"""Graphs of nearest neighbours, and what they say of new rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors

from counterpoise.numerics.arrays import Array


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
