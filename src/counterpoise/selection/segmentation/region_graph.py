"""Which regions touch, how alike they are, and what merges."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from counterpoise.numerics.arrays import Array, Indices


@dataclass(frozen=True, eq=False)
class Borders:
    """Pairs of regions that share a border (an edge of two pixels, not a corner).

    Attributes
    ----------
    n_regions : int
    first, second : arrays of shape (n_borders,)
        The regions of each pair, `first` below `second`.
    strength : array of shape (n_borders,)
        Mean boundary strength along the border.
    """

    n_regions: int
    first: Indices
    second: Indices
    strength: Array

    def matrix(self, values: Array) -> sparse.csr_array:
        """Return values of the borders as a symmetric matrix of the regions."""
        rows = np.concatenate([self.first, self.second])
        columns = np.concatenate([self.second, self.first])
        shape = (self.n_regions, self.n_regions)
        return sparse.csr_array((np.tile(values, 2), (rows, columns)), shape=shape)


def borders_of(regions: Indices, strength: Array) -> Borders:
    """Return the borders between regions, with the larger strength of two pixels."""
    n = int(regions.max()) + 1
    pairs, strengths = [], []
    for here, there in (
        (np.s_[:, :-1], np.s_[:, 1:]),
        (np.s_[:-1, :], np.s_[1:, :]),
    ):
        one, other = regions[here], regions[there]
        apart = one != other
        low, high = np.minimum(one, other)[apart], np.maximum(one, other)[apart]
        pairs.append(low * n + high)
        strengths.append(np.maximum(strength[here], strength[there])[apart])
    found, places = np.unique(np.concatenate(pairs), return_inverse=True)
    total = np.bincount(places, np.concatenate(strengths), minlength=found.size)
    length = np.bincount(places, minlength=found.size)
    return Borders(n, found // n, found % n, total / length)


def likeness(borders: Borders, features: Array, edge_width: float) -> sparse.csr_array:
    r"""Return the weights of the graph of regions.

    .. math:: W_{ij} = \exp(-\|x_i - x_j\|^2 / \text{edge_width} - b_{ij})

    for regions with a common border of mean strength b, zero for all others.
    """
    apart = features[borders.first] - features[borders.second]
    distance = np.einsum("ij,ij->i", apart, apart)
    return borders.matrix(np.exp(-distance / edge_width - borders.strength))


def merged(borders: Borders, words: Indices) -> Indices:
    """Return the segment of every region: those that touch and took the same word."""
    same = (words[borders.first] == words[borders.second]).astype(float)
    links = borders.matrix(same)
    links.eliminate_zeros()
    return connected_components(links, directed=False)[1].astype(np.intp)
