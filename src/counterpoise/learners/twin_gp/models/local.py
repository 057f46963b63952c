"""Twin Gaussian processes on the neighbours of each test row."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from counterpoise.learners.twin_gp.models.factors import NotPositiveDefinite
from counterpoise.learners.twin_gp.models.nearest import Neighbors
from counterpoise.learners.twin_gp.models.problems import Outputs, TwinProblems
from counterpoise.learners.twin_gp.models.rows import Settings, TwinRows
from counterpoise.numerics.arrays import Array, Indices

# Rows of less weight than this share of the largest that counts are passed over.
QUIET = 1e-6
# A model takes at most so many times `n_neighbors` rows, whatever they weigh.
MOST_TIMES_NEIGHBORS = 5


@dataclass(frozen=True, eq=False)
class LocalModel:
    """A model a test row, on its nearest training inputs.

    Neighbours are counted by their weights, until these reach `n_neighbors`, so that
    repeated rows and weights agree; of the last one only what is left of the count is
    used. Where weights are small, K = `MOST_TIMES_NEIGHBORS` times `n_neighbors` rows
    are the most. No factor of all rows is made: time and memory O(N) a test row to
    find the neighbours,
    O(K^3) for its factors and O(K^2) an evaluation.
    """

    rows: TwinRows
    settings: Settings
    n_neighbors: float

    def neighbors(self, X: Array) -> tuple[Indices, Array]:
        """Return the neighbours of test rows, and the roots of the weights they have.

        Test rows have different numbers of them; the shorter lists are filled up with
        rows of weight zero, which are absent.
        """
        near, weight = self._lists.of(X)
        return self._loud[near], np.sqrt(weight)

    def pose(self, X: Array) -> "LocalProblems":
        """Return the problems of test rows."""
        near, root = self.neighbors(X)
        return LocalProblems(self, X, near, root)

    def complaint(self) -> str | None:
        """Return what is wrong with the number of neighbours, if anything."""
        return self._lists.complaint()

    def row_bytes(self) -> int:
        """Return the memory that a test row takes."""
        width, rows = self._lists.width, self.rows
        numbers = 4 * width + 4 * (rows.X.shape[1] + rows.Y.shape[1])
        return self._lists.row_bytes() + 8 * width * numbers

    @cached_property
    def _loud(self) -> Indices:
        weight = self.rows.weight
        most = min(float(weight.max()), self.n_neighbors)
        return np.flatnonzero(weight > QUIET * most)

    @cached_property
    def _lists(self) -> Neighbors:
        most = int(MOST_TIMES_NEIGHBORS * self.n_neighbors)
        return Neighbors(self.rows.take(self._loud), self.n_neighbors, most)


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
    def _triangles(self) -> tuple[Array, Array, Array | None]:
        """L_x, L_y^-1 and L_t^-1, (m, K, K): the last two are for every evaluation."""
        settings = self.settings
        inputs = self.model.rows.X[self.near]
        S_x = _grams(inputs, settings.gamma_x, self.root, settings.ridge_x)
        S_y = _grams(self.neighbors, settings.gamma_y, self.root, settings.ridge_y)
        mixture = None
        if settings.loss.mixed == "mixture":
            t = settings.theta
            S_t = t * S_y
            S_t += (1.0 - t) * S_x
            mixture = _inverted(_cholesky(S_t))
        return _cholesky(S_x), _inverted(_cholesky(S_y)), mixture

    @cached_property
    def h(self) -> Array:
        """L_x^-1 s_x."""
        return _solved(self._triangles[0], self.s_x)

    @cached_property
    def u(self) -> Array:
        """S_x^-1 s_x."""
        return _solved(self._triangles[0], self.h, transposed=True)

    @cached_property
    def e_x(self) -> Array:
        """Schur complement of the inputs."""
        ridge = self.settings.ridge_x
        return np.maximum(1.0 + ridge - (self.h**2).sum(axis=1), ridge)

    @property
    def directions(self) -> Array | None:
        """Orthonormal columns that answers may differ by; None: all directions."""
        return self.model.rows.directions

    def likest(self) -> Array:
        """Return the outputs of the nearest training inputs."""
        return self.neighbors[:, 0]

    def mean(self) -> Array:
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
        triangle = self._triangles[1][some]
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
            factor, triangle = self._triangles[0][some], self._triangles[1][some]
            away = _transposed_times(factor, at.solved) - self.h[some]
            back = _times(factor, away)
            slope = 2.0 * _transposed_times(triangle, _times(triangle, back))
            return self.e_x[some] + (away**2).sum(axis=1), slope
        mixture = self._triangles[2]
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
        """Return the rows that are asked for: all in order, as usual, need no copy."""
        if len(which) != len(self.near) or (which != np.arange(len(which))).any():
            return which
        return slice(None)


def _grams(rows: Array, gamma: float, root: Array, ridge: float) -> Array:
    """Return D K D + ridge I of every list of rows, (m, K, K)."""
    rows = rows - rows.mean(axis=1)[:, None, :]
    norms = gamma * np.einsum("mkd,mkd->mk", rows, rows)
    out: Array = np.matmul(2.0 * gamma * rows, rows.transpose(0, 2, 1))
    out -= norms[:, :, None]
    out -= norms[:, None, :]
    np.minimum(out, 0.0, out=out)
    np.exp(out, out=out)
    out *= root[:, :, None]
    out *= root[:, None, :]
    places = np.arange(out.shape[1])
    out[:, places, places] = root * root + ridge
    return out


def _cholesky(S: Array) -> Array:
    """Return L of every matrix, whose memory is used."""
    for one in S:
        # The transpose of a symmetric array is itself, in the order that LAPACK wants.
        info = lapack.dpotrf(one.T, lower=0, clean=1, overwrite_a=1)[1]
        if info != 0:
            raise NotPositiveDefinite(
                "a kernel of neighbours is not positive definite to machine precision: "
                "raise the ridge, or divide the weights by their mean"
            )
    return S


def _inverted(lower: Array) -> Array:
    """Return L^-1 of every triangle, whose memory is used."""
    for one in lower:
        lapack.dtrtri(one.T, lower=0, overwrite_c=1)
    return lower


def _solved(lower: Array, B: Array, transposed: bool = False) -> Array:
    """Return L^-1 b, or L^-T b, of every triangle with its own b."""
    out = np.empty_like(B)
    for k, one in enumerate(lower):
        out[k] = lapack.dtrtrs(one.T, B[k], lower=0, trans=0 if transposed else 1)[0]
    return out


def _times(triangles: Array, B: Array) -> Array:
    return np.matmul(triangles, B[:, :, None])[:, :, 0]


def _transposed_times(triangles: Array, B: Array) -> Array:
    return np.matmul(B[:, None, :], triangles)[:, 0, :]
