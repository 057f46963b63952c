"""Twin Gaussian processes on the neighbours of each test row."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from counterpoise.learners.twin_gp.problems import Outputs, TwinProblems
from counterpoise.learners.twin_gp.rows import Rows, Settings
from counterpoise.numerics.arrays import Array, Indices


@dataclass(frozen=True, eq=False)
class LocalModel:
    """A model a test row, on its nearest training inputs.

    Neighbours are counted by their weights, until these reach `n_neighbors`, so that
    repeated rows and weights agree. No factor of all rows is made: time and memory
    O(N) a test row to find the neighbours, O(K^3) for its factors and O(K^2) an
    evaluation.
    """

    rows: Rows
    settings: Settings
    n_neighbors: float

    def neighbors(self, X: Array) -> tuple[Indices, Array]:
        """Return the neighbours of test rows, and the roots of their weights.

        Test rows have different numbers of them; the shorter lists are filled up with
        rows of weight zero, which are absent.
        """
        rows = self.rows
        distance = _squared_distances(X, rows.X)
        # No more rows than this can be needed, whichever they are.
        least = np.cumsum(np.sort(rows.weight))
        most = int(np.searchsorted(least, self.n_neighbors)) + 1
        most = min(most, len(rows))
        if most < len(rows):
            near = np.argpartition(distance, most - 1, axis=1)[:, :most]
        else:
            near = np.tile(np.arange(len(rows)), (len(X), 1))
        away = np.take_along_axis(distance, near, axis=1)
        order = np.lexsort((near, away), axis=1)
        near = np.take_along_axis(near, order, axis=1)
        weight = rows.weight[near]
        before = np.cumsum(weight, axis=1) - weight
        # What adds up to the count exactly may miss it by rounding.
        used = before < self.n_neighbors * (1.0 - 1e-12)
        width = int(used.sum(axis=1).max())
        return near[:, :width], np.sqrt(np.where(used, weight, 0.0)[:, :width])

    def pose(self, X: Array) -> "LocalProblems":
        """Return the problems of test rows."""
        near, root = self.neighbors(X)
        return LocalProblems(self, X, near, root)

    def row_bytes(self) -> int:
        """Return the memory that a test row takes."""
        least = np.cumsum(np.sort(self.rows.weight))
        width = int(np.searchsorted(least, self.n_neighbors)) + 1
        width = min(width, len(self.rows))
        return 16 * len(self.rows) + 40 * width * width


@dataclass(frozen=True, eq=False)
class LocalProblems(TwinProblems):
    """Test rows with the factors of their neighbours, all in one array."""

    model: LocalModel
    X: Array
    near: Indices
    root: Array

    @property
    def settings(self) -> Settings:
        """The numbers of the model."""
        return self.model.settings

    @cached_property
    def neighbors(self) -> Array:
        """The neighbours' outputs, (m, K, d_y)."""
        return self.model.rows.Y[self.near]

    @cached_property
    def s_x(self) -> Array:
        """Similarities of the inputs to their neighbours."""
        away = self.model.rows.X[self.near] - self.X[:, None, :]
        distance = np.einsum("mkd,mkd->mk", away, away)
        return self.root * np.exp(-self.settings.gamma_x * distance)

    @cached_property
    def _inverses(self) -> tuple[Array, Array, Array | None]:
        """The inverse triangles of S_x, S_y and S_t, (m, K, K)."""
        settings = self.settings
        inputs = self.model.rows.X[self.near]
        S_x = _grams(inputs, settings.gamma_x, self.root, settings.ridge_x)
        S_y = _grams(self.neighbors, settings.gamma_y, self.root, settings.ridge_y)
        mixture = None
        if settings.loss.mixed == "mixture":
            t = settings.theta
            mixture = _inverse_triangles((1.0 - t) * S_x + t * S_y)
        return _inverse_triangles(S_x), _inverse_triangles(S_y), mixture

    @cached_property
    def _triangles(self) -> Array:
        """L_x, (m, K, K)."""
        settings, inputs = self.settings, self.model.rows.X[self.near]
        S_x = _grams(inputs, settings.gamma_x, self.root, settings.ridge_x)
        return np.asarray(np.linalg.cholesky(S_x), dtype=float)

    @cached_property
    def h(self) -> Array:
        """L_x^-1 s_x."""
        return _times(self._inverses[0], self.s_x)

    @cached_property
    def u(self) -> Array:
        """S_x^-1 s_x."""
        return _transposed_times(self._inverses[0], self.h)

    @cached_property
    def e_x(self) -> Array:
        """Schur complement of the inputs."""
        ridge = self.settings.ridge_x
        return np.maximum(1.0 + ridge - (self.h**2).sum(axis=1), ridge)

    def start(self) -> Array:
        """Return the GPR mean of the neighbours."""
        weight = self.root**2
        share = weight / weight.sum(axis=1)[:, None]
        mean = np.einsum("mk,mkd->md", share, self.neighbors)
        away = self.neighbors - mean[:, None, :]
        out: Array = mean + np.einsum("mk,mkd->md", self.u * self.root, away)
        return out

    def outputs(self, Y: Array, which: Indices) -> Outputs:
        """Return outputs by their similarities to the neighbours, O(K^2) a row."""
        settings, some = self.settings, self._some(which)
        away = self.neighbors[some] - Y[:, None, :]
        distance = np.einsum("mkd,mkd->mk", away, away)
        s_y = self.root[some] * np.exp(-settings.gamma_y * distance)
        triangle = self._inverses[1][some]
        h = _times(triangle, s_y)
        ridge = settings.ridge_y
        e_y = np.maximum(1.0 + ridge - (h**2).sum(axis=1), ridge)
        v = _transposed_times(triangle, h)
        return Outputs(s_y, s_y, v, e_y, v)

    def mixed(self, at: Outputs, which: Indices) -> tuple[Array, Array]:
        """Return the mixed term and its slope by s_y."""
        kind, t, some = self.settings.loss.mixed, self.settings.theta, self._some(which)
        if kind == "linear":
            u = self.u[which]
            return (u * at.features).sum(axis=1), u
        if kind == "quadratic":
            # r = e_x + |L_x'v - h|^2, which cancels nothing.
            factor, triangle = self._triangles[some], self._inverses[1][some]
            away = _transposed_times(factor, at.solved) - self.h[some]
            back = _times(factor, away)
            slope = 2.0 * _transposed_times(triangle, _times(triangle, back))
            return self.e_x[some] + (away**2).sum(axis=1), slope
        mixture = self._inverses[2]
        assert mixture is not None
        mixture = mixture[some]
        h = _times(mixture, (1.0 - t) * self.s_x[some] + t * at.features)
        ridge = self.settings.ridge_t
        e_t = np.maximum(1.0 + ridge - (h**2).sum(axis=1), ridge)
        return e_t, -2.0 * t * _transposed_times(mixture, h)

    def pulled_back(self, slope: Array, at: Outputs, Y: Array, which: Indices) -> Array:
        """Return slopes by y, without the factor 2 gamma_y."""
        slope *= at.kernel
        out: Array = np.einsum("mk,mkd->md", slope, self.neighbors[self._some(which)])
        out -= slope.sum(axis=1)[:, None] * Y
        return out

    def spread(self) -> Array:
        """Return u'S_y u."""
        settings = self.settings
        S_y = _grams(self.neighbors, settings.gamma_y, self.root, settings.ridge_y)
        out: Array = (self.u * _times(S_y, self.u)).sum(axis=1)
        return out

    def _some(self, which: Indices) -> slice | Indices:
        """Return the rows that are asked for: all is the usual case, needs no copy."""
        return slice(None) if len(which) == len(self.near) else which


def _squared_distances(X: Array, rows: Array) -> Array:
    middle = rows.mean(axis=0)
    X, rows = X - middle, rows - middle
    out = -2.0 * (X @ rows.T)
    out += (X * X).sum(axis=1)[:, None]
    out += (rows * rows).sum(axis=1)
    return np.maximum(out, 0.0)


def _grams(rows: Array, gamma: float, root: Array, ridge: float) -> Array:
    """Return D K D + ridge I of every list of rows, (m, K, K)."""
    rows = rows - rows.mean(axis=1)[:, None, :]
    norms = np.einsum("mkd,mkd->mk", rows, rows)
    out = norms[:, :, None] + norms[:, None, :]
    out -= 2.0 * np.matmul(rows, rows.transpose(0, 2, 1))
    np.maximum(out, 0.0, out=out)
    out *= -gamma
    np.exp(out, out=out)
    out *= root[:, :, None]
    out *= root[:, None, :]
    places = np.arange(out.shape[1])
    out[:, places, places] = root * root + ridge
    return out


def _inverse_triangles(S: Array) -> Array:
    """Return L^-1 of every matrix."""
    lower = np.asarray(np.linalg.cholesky(S), dtype=float)
    for k in range(len(lower)):
        # The transpose is upper triangular in the order that LAPACK wants.
        lower[k] = lapack.dtrtri(lower[k].T, lower=0)[0].T
    return lower


def _times(triangles: Array, B: Array) -> Array:
    return np.matmul(triangles, B[:, :, None])[:, :, 0]


def _transposed_times(triangles: Array, B: Array) -> Array:
    return np.matmul(B[:, None, :], triangles)[:, 0, :]
