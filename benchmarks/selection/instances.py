"""Problems as images pose them: regions on a grid, and words near their textures."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse


@dataclass(frozen=True)
class Instance:
    """Dissimilarities (n, l), shares, and a planar graph with its Laplacian."""

    R: np.ndarray
    mass: np.ndarray
    W: object
    L: object

    @property
    def costs(self):
        return self.mass[:, None] * self.R


def image_like(n, words, seed, columns=20, textures=5):
    """Return n regions of a few textures on a grid, and words near the textures."""
    rng = np.random.default_rng(seed)
    side = int(np.ceil(np.sqrt(n)))
    places = np.column_stack(np.divmod(np.arange(n), side))
    centers = rng.uniform(0, side, size=(textures, 2))
    texture = ((places[:, None] - centers[None]) ** 2).sum(-1).argmin(1)
    pure = rng.gamma(1.0, 1.0, size=(textures, columns))
    X = _unit(pure[texture] + 0.25 * rng.gamma(1.0, 1.0, size=(n, columns)))
    D = pure[rng.integers(0, textures, size=words)]
    D = _unit(D + 0.35 * rng.gamma(1.0, 1.0, size=(words, columns)))
    R = ((X[:, None] - D[None]) ** 2).sum(-1)
    mass = rng.gamma(2.0, 1.0, size=n)
    right = [(a, a + 1) for a in range(n - 1) if (a + 1) % side]
    below = [(a, a + side) for a in range(n - side)]
    i, j = np.array(right + below).T
    weight = np.exp(-((X[i] - X[j]) ** 2).sum(1) / 0.1 - 0.2)
    W = sparse.coo_array((weight, (i, j)), shape=(n, n))
    W = sparse.csc_array(W + W.T)
    L = sparse.csc_array(sparse.diags_array(W.sum(axis=1)) - W)
    return Instance(R, mass / mass.sum(), W, L)


def _unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)
