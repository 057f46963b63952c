"""Exact, local and landmark models of twin Gaussian processes."""

import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import lapack

from counterpoise.data.parallel import current_budget
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.cholesky import pivoted_cholesky
from counterpoise.linalg.kernels import Kernel
from counterpoise.optim.loop import Solution, attested
from counterpoise.twin_gp.problem import (
    Factor,
    InputModel,
    InputPart,
    NotPositiveDefiniteError,
    Outputs,
    Proof,
    SeenByInputs,
    Settings,
    TwinModel,
    TwinProblems,
    TwinRows,
    factored,
    output_gradient,
    output_kernel,
    products,
    squares,
)

# -----------------------------------------------------------------------------
# Test rows a block at a time, within the memory budget.
# -----------------------------------------------------------------------------


# More test rows at a time bring nothing.
ROWS_AT_A_TIME = 2000


def block_size(row_bytes: int) -> int:
    """Return how many test rows fit in the memory budget at a time."""
    return int(np.clip(current_budget() // (2 * max(row_bytes, 1)), 1, ROWS_AT_A_TIME))


def blocks(X: Array, row_bytes: int) -> list[Array]:
    """Return the rows in blocks that fit in the memory budget."""
    size = block_size(row_bytes)
    return [X[first : first + size] for first in range(0, len(X), size)]


def in_blocks(function: Callable[[Array], Array], X: Array, row_bytes: int) -> Array:
    """Return what a function says about all rows, a block at a time."""
    return np.concatenate([function(part) for part in blocks(X, row_bytes)])


def check_factors_fit(
    n: int, count: int, instead: str = "set n_neighbors (local models)"
) -> None:
    """Refuse so many N x N factors as the memory budget does not hold."""
    need = 8 * count * n * n
    if need > current_budget():
        raise MemoryError(
            f"{count} factors of {n} rows take {need / 2**30:.1f} GiB, more than the "
            f"memory budget of {current_budget() / 2**30:.1f} GiB: {instead} or raise "
            "counterpoise.data.memory_budget"
        )


# -----------------------------------------------------------------------------
# The training rows nearest to test rows, counted by their weights.
# -----------------------------------------------------------------------------


# What adds up to the count exactly may miss it by this share of it, which is rounding.
COUNT_ROUNDING = 1e-12
# Training inputs on which a count is judged.
JUDGED_BY_COUNT = 200


@dataclass(frozen=True, eq=False)
class Neighbors:
    """Lists of the rows nearest to test rows, until their weights reach `count`.

    Of the last row only as much of its weight is used as the count leaves, so that
    repeated rows and weights agree: of three copies two may be in. O(N d) a test row.

    Attributes
    ----------
    rows : TwinRows
    count : float
    cap : int or None
        Most rows in a list, whatever they weigh.
    """

    rows: TwinRows
    count: float
    cap: int | None = None

    @cached_property
    def width(self) -> int:
        """The most rows that a list can have: the lightest ones, up to the cap."""
        return min(lightest(self.rows.weight, self.count), self.cap or len(self.rows))

    def of(self, X: Array) -> tuple[Indices, Array]:
        """Return the neighbors of test rows and what is used of their weights.

        Lists have different lengths; the shorter ones are filled up with rows of which
        nothing is used.
        """
        distance = _squared_distances(X, self.rows.X)
        return first_ones(distance, self.rows.weight, self.count, self.width)

    def row_bytes(self) -> int:
        """Return the memory that the list of a test row takes."""
        return 24 * len(self.rows) + 64 * self.width

    def complaint(self) -> str | None:
        """Return what is wrong with counting these weights, if anything."""
        rows = self.rows
        light = too_light("n_neighbors", rows.weight, self.count)
        if light is not None or self.width == lightest(rows.weight, self.count):
            return light
        spread = 2 * np.arange(JUDGED_BY_COUNT) + 1
        height = np.cumsum(rows.weight)
        by_weight = np.searchsorted(height, spread / (2 * JUDGED_BY_COUNT) * height[-1])
        reached = self._reached(spread * len(rows) // (2 * JUDGED_BY_COUNT))
        heavy = self._reached(by_weight)
        missed, heavy_missed = (
            one < self.count * (1.0 - COUNT_ROUNDING) for one in (reached, heavy)
        )
        if not (missed.any() or heavy_missed.any()):
            return None
        least = min(reached.min(), heavy.min())
        return (
            f"n_neighbors = {self.count:g} counts weights, and those of the "
            f"{self.width} nearest rows, the most that are used, add up to less at "
            f"{missed.mean():.0%} of the training inputs, or {heavy_missed.mean():.0%} "
            f"by weight (down to {least:.3g}): flatten the weights "
            "(counterpoise.flatten) if answers are wanted there"
        )

    def _reached(self, which: Indices) -> Array:
        """Return what the lists of some of the rows themselves add up to."""

        def total(X: Array) -> Array:
            out: Array = self.of(X)[1].sum(axis=1)
            return out

        return in_blocks(total, self.rows.X[which], self.row_bytes())


def lightest(weight: Array, count: float) -> int:
    """Return how many rows can be needed to reach a count, whichever they are."""
    needed = int(np.searchsorted(np.cumsum(np.sort(weight)), count)) + 1
    return min(needed, len(weight))


def too_light(name: str, weight: Array, count: float) -> str | None:
    """Return what is wrong with a count that all rows together do not reach."""
    total = float(weight.sum())
    if total > count or len(weight) <= count:
        return None
    return (
        f"{name} = {count:g} counts weights, and those of all {len(weight)} rows add "
        f"up to {total:.3g}: divide the weights by their mean"
    )


def first_ones(
    key: Array, weight: Array, count: float, most: int
) -> tuple[Indices, Array]:
    """Return the columns of least key, ascending, until their weights reach a count.

    Parameters
    ----------
    key : array of shape (m, n)
    weight : array of shape (n,)
    count : float
    most : int
        How many columns can be needed, or are allowed.

    Returns
    -------
    columns, used : arrays of shape (m, k)
        Used is of the last column what the count leaves, and nothing of those that
        fill up the shorter lists.

    Examples
    --------
    >>> first_ones(np.array([[5.0, 1.0, 3.0]]), np.array([1.0, 2.0, 2.0]), 3.0, 3)
    (array([[1, 2]]), array([[2., 1.]]))
    """
    m, n = key.shape
    if most < n:
        columns = np.argpartition(key, most - 1, axis=1)[:, :most]
    else:
        columns = np.tile(np.arange(n), (m, 1))
    order = np.lexsort((columns, np.take_along_axis(key, columns, axis=1)), axis=1)
    columns = np.take_along_axis(columns, order, axis=1)
    used = weight[columns]
    left = np.full(used.shape, float(count))
    left[:, 1:] -= np.cumsum(used, axis=1)[:, :-1]
    np.minimum(used, left, out=used)
    used[left <= COUNT_ROUNDING * count] = 0.0
    width = int((used > 0.0).sum(axis=1).max())
    return columns[:, :width], used[:, :width]


def _squared_distances(X: Array, rows: Array) -> Array:
    middle = rows.mean(axis=0)
    X, rows = X - middle, rows - middle
    out: Array = X @ rows.T
    out *= -2.0
    out += (X * X).sum(axis=1)[:, None]
    out += (rows * rows).sum(axis=1)
    return np.maximum(out, 0.0, out=out)


# -----------------------------------------------------------------------------
# Outputs by their similarities to training rows: all of them, or the nearest ones.
# -----------------------------------------------------------------------------


Part = Literal["inputs", "outputs", "mixture"]
NO_TRIANGLES = np.empty((0, 0, 0))


class Factors(NamedTuple):
    """Positive definite matrices, one a test row: the products of `Factor`.

    Of `lower` and `inverse` the one is there that the products need.
    """

    lower: Array = NO_TRIANGLES
    inverse: Array = NO_TRIANGLES

    def forward(self, B: Array) -> Array:
        """Return L^-1 b for every triangle with its own row b."""
        return np.matmul(self.inverse, B[:, :, None])[:, :, 0]

    def backward(self, B: Array) -> Array:
        """Return L^-T b."""
        return np.matmul(B[:, None, :], self.inverse)[:, 0, :]

    def solve(self, B: Array) -> Array:
        """Return S^-1 b."""
        return self.backward(self.forward(B))

    def times(self, B: Array) -> Array:
        """Return L b."""
        return np.matmul(self.lower, B[:, :, None])[:, :, 0]

    def transposed_times(self, B: Array) -> Array:
        """Return L'b."""
        return np.matmul(B[:, None, :], self.lower)[:, 0, :]


class SimilarityProblems(TwinProblems):
    """Two triangular solves an evaluation for KL, four for Sharma-Mittal, or six."""

    @cached_property
    @abstractmethod
    def s_x(self) -> Array:
        """Similarities of the inputs to training rows."""

    @cached_property
    @abstractmethod
    def h(self) -> Array:
        """L_x^-1 s_x."""

    @cached_property
    @abstractmethod
    def u(self) -> Array:
        """S_x^-1 s_x."""

    @abstractmethod
    def factor(self, of: Part, which: Indices) -> Factor | Factors:
        """Return the factor of S_x, S_y or S_t at some test rows."""

    @abstractmethod
    def output_similarities(self, Y: Array, which: Indices) -> Array:
        """Return s_y of outputs of some test rows."""

    def outputs(self, Y: Array, which: Indices) -> Outputs:
        """Return outputs by their similarities to training rows."""
        s_y, ridge = self.output_similarities(Y, which), self.settings.ridge_y
        factor = self.factor("outputs", which)
        h = factor.forward(s_y)
        e_y = np.maximum(1.0 + ridge - squares(h), ridge)
        v = factor.backward(h)
        return Outputs(s_y, s_y, v, e_y, v)

    def mixed(self, at: Outputs, which: Indices) -> tuple[Array, Array]:
        """Return the mixed term and its slope by s_y."""
        kind, t = self.settings.loss.mixed, self.settings.theta
        if kind == "linear":
            u = self.u[which]
            return products(u, at.features), u
        if kind == "quadratic":
            # r = e_x + |L_x'v - h|^2, which cancels nothing.
            factor = self.factor("inputs", which)
            away = factor.transposed_times(at.solved) - self.h[which]
            slope = self.factor("outputs", which).solve(factor.times(away))
            slope *= 2.0
            return self.e_x[which] + squares(away), slope
        mixture = self.factor("mixture", which)
        h = mixture.forward(t * at.features + (1.0 - t) * self.s_x[which])
        slope = mixture.backward(h)
        slope *= -2.0 * t
        ridge = self.settings.ridge_t
        return np.maximum(1.0 + ridge - squares(h), ridge), slope


# -----------------------------------------------------------------------------
# Twin Gaussian processes on the neighbors of each test row.
# -----------------------------------------------------------------------------


# Rows of less weight than this share of the largest that counts are passed over.
QUIET = 1e-6
# A model takes at most so many times `n_neighbors` rows, whatever they weigh.
MOST_TIMES_NEIGHBORS = 5


@dataclass(frozen=True, eq=False)
class LocalModel(TwinModel):
    """A model a test row, on its nearest training inputs.

    Neighbors are counted by their weights, until these reach `n_neighbors`, so that
    repeated rows and weights agree; of the last one only what is left of the count is
    used. Where weights are small, K = `MOST_TIMES_NEIGHBORS` times `n_neighbors` rows
    are the most. No factor of all rows is made: time and memory O(N) a test row to
    find the neighbors,
    O(K^3) for its factors and O(K^2) an evaluation.
    """

    rows: TwinRows
    settings: Settings
    n_neighbors: float

    def neighbors(self, X: Array) -> tuple[Indices, Array]:
        """Return the neighbors of test rows, and the roots of the weights they have.

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
        """Return what is wrong with the number of neighbors, if anything."""
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
class LocalProblems(SimilarityProblems):
    """Test rows with the factors of their neighbors, all in one array."""

    model: LocalModel
    X: Array
    near: Indices
    root: Array

    @cached_property
    def neighbors(self) -> Array:
        """The neighbors' outputs, (m, K, d_y)."""
        return self.model.rows.Y[self.near]

    @cached_property
    def s_x(self) -> Array:
        """Similarities of the inputs to their neighbors."""
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

    def factor(self, of: Part, which: Indices) -> Factors:
        """Return the factors around these test rows."""
        if of == "inputs":
            return Factors(lower=self._triangles[0][self._some(which)])
        inverse = self._triangles[1 if of == "outputs" else 2]
        assert inverse is not None
        return Factors(inverse=inverse[self._some(which)])

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
        return np.maximum(1.0 + ridge - squares(self.h), ridge)

    def likest(self) -> Array:
        """Return the outputs of the nearest training inputs."""
        return self.neighbors[:, 0]

    def mean(self) -> Array:
        """Return the GPR mean of the neighbors."""
        weight = self.root**2
        share = weight / weight.sum(axis=1)[:, None]
        mean = np.einsum("mk,mkd->md", share, self.neighbors)
        away = self.neighbors - mean[:, None, :]
        out: Array = mean + np.einsum("mk,mkd->md", self.u * self.root, away)
        return out

    def output_similarities(self, Y: Array, which: Indices) -> Array:
        """Return s_y of outputs of some test rows."""
        some = self._some(which)
        away = self.neighbors[some] - Y[:, None, :]
        distance = np.einsum("mkd,mkd->mk", away, away)
        return self.root[some] * np.exp(-self.settings.gamma_y * distance)

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
        return products(self.u, Factors(lower=S_y).times(self.u))

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
            raise NotPositiveDefiniteError(
                "a kernel of neighbors is not positive definite to machine precision: "
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


# -----------------------------------------------------------------------------
# Twin Gaussian processes on all rows, O(N^2) an evaluation and test row.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ExactModel(InputModel):
    """All factors: two of N^3 / 3 flops, three for Sharma-Mittal."""

    rows: TwinRows
    settings: Settings
    inputs: InputPart
    outputs: Factor
    mixture: Factor | None

    @classmethod
    def of(cls, rows: TwinRows, settings: Settings) -> "ExactModel":
        """Fit to rows."""
        inputs, mixture = factored(rows, settings, often=True)
        return cls(rows, settings, inputs, cls.factor_outputs(rows, settings), mixture)

    @staticmethod
    def factor_outputs(rows: TwinRows, settings: Settings) -> Factor:
        """Return the factor of S_y."""
        return Factor.of(output_kernel(rows, settings), often=True)

    def pose(self, X: Array) -> "ExactProblems":
        """Return the problems of test rows."""
        return ExactProblems(self, self.inputs.similarities(X))

    def row_bytes(self) -> int:
        """Return the memory that a test row takes."""
        return 64 * len(self.rows)


@dataclass(frozen=True, eq=False)
class ExactProblems(SeenByInputs, SimilarityProblems):
    """Test rows by their similarities to all training rows."""

    model: ExactModel
    s_x: Array

    @cached_property
    def u(self) -> Array:
        """S_x^-1 s_x."""
        return self.model.inputs.factor.backward(self.h)

    def factor(self, of: Part, which: Indices) -> Factor:
        """Return the factor, the same for all test rows."""
        model = self.model
        if of == "inputs":
            return model.inputs.factor
        factor = model.outputs if of == "outputs" else model.mixture
        assert factor is not None
        return factor

    def output_similarities(self, Y: Array, which: Indices) -> Array:
        """Return s_y of outputs."""
        s_y = Kernel("rbf", self.settings.gamma_y).matrix(Y, self.model.rows.Y)
        s_y *= self.model.rows.root
        return s_y

    def pulled_back(self, slope: Array, at: Outputs, Y: Array, which: Indices) -> Array:
        """Return slopes by y, without the factor 2 gamma_y."""
        return output_gradient(slope, at.kernel, self.model.rows.Y, Y)

    def spread(self) -> Array:
        """Return u'S_y u."""
        return squares(self.model.outputs.transposed_times(self.u))


# -----------------------------------------------------------------------------
# Twin Gaussian processes through output landmarks: an evaluation is free of N.
#
# Pivoted Cholesky of the output kernel gives r rows m with
# :math:`k_y(Y, y) \approx \Phi c(y)`, :math:`c(y) = T^{-1} k_y(Y_m, y)`. With
# :math:`P = D \Phi` and :math:`M = (P'P + l_y I)^{-1}`
#
# .. math:: e_y = (1 - |c|^2) + l_y (1 + c'Mc)
#
# in which every term is positive, and after one pass over the training rows the mixed
# terms need r numbers a test row. The bounds of `losses` hold for the landmark
# problem as
# they stand: it is a twin Gaussian process whose outputs have the kernel
# :math:`\Phi\Phi'`, or a larger one in :math:`S_t`, which makes :math:`e_t` larger.
# -----------------------------------------------------------------------------


# Pivoting stops when no row's kernel is off by more than this share of the ridge.
SHARE_OF_RIDGE = 1e-3


@dataclass(frozen=True, eq=False)
class OutputLandmarks:
    """Rows that stand for the output kernel.

    Attributes
    ----------
    Y : array of shape (r, d_y)
    triangle : Factor
        T, of the landmarks' kernel.
    coordinates : array of shape (r, N)
        P', the coordinates of the training rows times the roots of their weights.
    inner : Factor
        Of P'P + ridge I.
    residual : float
        The most by which a row's kernel is off.
    """

    Y: Array
    triangle: Factor
    coordinates: Array
    inner: Factor
    residual: float

    @classmethod
    def of(cls, rows: TwinRows, settings: Settings, most: int) -> "OutputLandmarks":
        """Choose at most so many: time O(N r (r + d_y))."""
        tol = SHARE_OF_RIDGE * settings.ridge_y
        factor, pivots, residual = pivoted_cholesky(rows.Y, settings.gamma_y, tol, most)
        triangle = np.asfortranarray(factor[:, pivots].T)
        factor *= rows.root
        inner = factor @ factor.T
        inner[np.diag_indices_from(inner)] += settings.ridge_y
        return cls(
            rows.Y[pivots],
            Factor.by_triangle(triangle),
            factor,
            Factor.of(inner, often=True),
            float(residual.max()),
        )


@dataclass(frozen=True, eq=False)
class LandmarkModel(InputModel):
    """What is left of the training rows, a pass over them done.

    Attributes
    ----------
    basis, triangle : arrays of shape (N, r), (r, r), or None
        QR of :math:`L_t^{-1} P` (Sharma-Mittal), of :math:`L_x'P` (inverse KL);
        for KL `basis` is :math:`S_x^{-1} P`.
    """

    rows: TwinRows
    settings: Settings
    landmarks: OutputLandmarks
    inputs: InputPart
    mixture: Factor | None
    basis: Array
    triangle: Factor | None

    @classmethod
    def of(
        cls, rows: TwinRows, settings: Settings, landmarks: OutputLandmarks
    ) -> "LandmarkModel":
        """Fit to rows: N^3 / 3 flops, twice that for Sharma-Mittal, and N^2 r."""
        inputs, mixture = factored(rows, settings, often=False)
        triangle = None
        if settings.loss.mixed == "linear":
            basis = inputs.factor.solve(landmarks.coordinates).T
        else:
            tall = (
                mixture.forward(landmarks.coordinates)
                if mixture is not None
                else inputs.factor.transposed_times(landmarks.coordinates)
            )
            basis, upper = np.linalg.qr(tall.T)
            triangle = Factor(np.asfortranarray(upper.T))
        return cls(rows, settings, landmarks, inputs, mixture, basis, triangle)

    def exact(self) -> ExactModel:
        """Return the model without landmarks: N^3 / 3 flops more."""
        outputs = ExactModel.factor_outputs(self.rows, self.settings)
        return ExactModel(self.rows, self.settings, self.inputs, outputs, self.mixture)

    def pose(self, X: Array) -> "LandmarkProblems":
        """Return the problems of test rows: N^2 flops each."""
        return LandmarkProblems(self, self.inputs.similarities(X))

    def row_bytes(self) -> int:
        """Return the memory that a test row takes."""
        return 32 * len(self.rows) + 128 * len(self.landmarks.Y)


@dataclass(frozen=True, eq=False)
class LandmarkProblems(SeenByInputs):
    """An evaluation is O(r^2 + r d_y) a test row."""

    model: LandmarkModel
    s_x: Array

    @cached_property
    def known(self) -> tuple[Array, Array]:
        """What the mixed term needs of the inputs: r numbers a test row, and one.

        KL: :math:`P'u` and nothing. Inverse KL: :math:`q = Q'h` and
        :math:`e_x + |h|^2 - |q|^2`. Sharma-Mittal, with :math:`h = L_t^{-1} s_x`:
        :math:`(1-t) q` and :math:`c_t - (1-t)^2 (|h|^2 - |q|^2)`.
        """
        model, kind = self.model, self.settings.loss.mixed
        if kind == "linear":
            return self.s_x @ model.basis, np.zeros(len(self.s_x))
        if kind == "quadratic":
            q = self.h @ model.basis
            return q, self.e_x + np.maximum(squares(self.h) - squares(q), 0.0)
        assert model.mixture is not None
        left = 1.0 - self.settings.theta
        h = model.mixture.forward(self.s_x)
        q = h @ model.basis
        beside = np.maximum(squares(h) - squares(q), 0.0)
        return left * q, 1.0 + self.settings.ridge_t - left * left * beside

    def outputs(self, Y: Array, which: Indices) -> Outputs:
        """Return outputs by their coordinates among the landmarks."""
        marks, ridge = self.model.landmarks, self.settings.ridge_y
        kernel = Kernel("rbf", self.settings.gamma_y).matrix(Y, marks.Y)
        c = marks.triangle.forward(kernel)
        v = marks.inner.forward(c)
        e_y = np.maximum(1.0 - squares(c), 0.0) + ridge * (1.0 + squares(v))
        Mc = marks.inner.backward(v)
        return Outputs(kernel, c, Mc, e_y, c - ridge * Mc)

    def mixed(self, at: Outputs, which: Indices) -> tuple[Array, Array]:
        """Return the mixed term and its slope by the coordinates."""
        kind, triangle = self.settings.loss.mixed, self.model.triangle
        vector, number = self.known[0][which], self.known[1][which]
        if kind == "linear":
            return products(vector, at.features), vector
        assert triangle is not None
        if kind == "quadratic":
            away = triangle.transposed_times(at.solved) - vector
            slope = self.model.landmarks.inner.solve(triangle.times(away))
            slope *= 2.0
            return number + squares(away), slope
        t = self.settings.theta
        vector += t * triangle.transposed_times(at.features)
        slope = triangle.times(vector)
        slope *= -2.0 * t
        return np.maximum(number - squares(vector), self.settings.ridge_t), slope

    def pulled_back(self, slope: Array, at: Outputs, Y: Array, which: Indices) -> Array:
        """Return slopes by y, without the factor 2 gamma_y."""
        marks = self.model.landmarks
        by_kernel = marks.triangle.backward(slope)
        return output_gradient(by_kernel, at.kernel, marks.Y, Y)

    def spread(self) -> Array:
        """Return u'S_y u."""
        u = self.model.inputs.factor.backward(self.h)
        return squares(self.known[0]) + self.settings.ridge_y * squares(u)


# -----------------------------------------------------------------------------
# Which model a twin Gaussian process uses: all rows, landmarks, or neighbors.
# -----------------------------------------------------------------------------


Model: TypeAlias = ExactModel | LandmarkModel | LocalModel

# Up to so many rows all of them are as fast as landmarks; up to so many they are
# affordable where landmarks do not stand for them, and in a search.
ROWS_TAKEN_ALL, AFFORDABLE_ROWS, AFFORDABLE_IN_SEARCH = 500, 2000, 1000
# Most landmarks that "auto" takes, and most in a search.
MOST_LANDMARKS, MOST_LANDMARKS_IN_SEARCH = 400, 200
# Landmarks that leave more than this share of the ridge do not stand for all rows.
POOR = 0.1
# Training inputs on which a model is judged when it is fitted.
JUDGED_INPUTS = 20


def build(
    rows: TwinRows,
    settings: Settings,
    n_landmarks: int | str | None,
    n_neighbors: int | None,
) -> Model:
    """Return the model of rows.

    "auto" takes all rows while there are few, or some and the output kernel so narrow
    that the landmarks it may have do not stand for it; "search" does the same sooner.
    """
    rows = rows.heard(min(settings.ridge_x, settings.ridge_y))
    if n_neighbors is not None:
        return LocalModel(rows, settings, n_neighbors)
    check_factors_fit(len(rows), 3 if settings.loss.mixed == "mixture" else 2)
    few = {"auto": ROWS_TAKEN_ALL, "search": MOST_LANDMARKS_IN_SEARCH}
    if n_landmarks is None or len(rows) <= few.get(str(n_landmarks), 0):
        return ExactModel.of(rows, settings)
    if n_landmarks == "auto":
        return _through_landmarks(rows, settings, MOST_LANDMARKS, AFFORDABLE_ROWS)
    if n_landmarks == "search":
        most = MOST_LANDMARKS_IN_SEARCH
        return _through_landmarks(rows, settings, most, AFFORDABLE_IN_SEARCH)
    return _through_landmarks(rows, settings, int(n_landmarks), 0)


def _through_landmarks(
    rows: TwinRows, settings: Settings, most: int, affordable: int
) -> Model:
    """Return a model of landmarks, or of all rows where they are few and those poor."""
    landmarks = OutputLandmarks.of(rows, settings, most)
    poor = landmarks.residual > POOR * settings.ridge_y
    if poor and len(rows) <= affordable:
        return ExactModel.of(rows, settings)
    return LandmarkModel.of(rows, settings, landmarks)


def judge(model: Model, tol: float, scale: Array) -> tuple[Solution, float | None]:
    """Return answers at some training inputs with their proof, and the landmark error.

    Rows that are like no other (`TwinProblems.lost`) are answered, not proved.
    The error is the mean distance, in the outputs' unit, between an answer through
    landmarks and the minimum of the loss of all rows that lies nearest down from it;
    zero for all rows, None for neighbors.
    """
    began = time.perf_counter()
    count = min(JUDGED_INPUTS, len(model.rows))
    some = np.linspace(0, len(model.rows) - 1, count).astype(np.intp)
    X = model.rows.X[some]
    found, proofs = [], []
    for part in blocks(X, model.row_bytes()):
        problems = model.pose(part)
        found.append(problems.answers(tol))
        proof = problems.prove(found[-1].x)
        proofs.append([entries[~problems.lost] for entries in proof])
    certificate = Proof(*map(np.concatenate, zip(*proofs, strict=True))).summary()
    answers = np.concatenate([one.x for one in found])
    n_iter = max(int(one.n_iter.max()) for one in found)
    ended = "proved" if certificate.holds(tol) else "no step improves the point"
    seconds = time.perf_counter() - began
    solution = attested(
        answers, certificate, tol, n_iter=n_iter, seconds=seconds, ended=ended
    )
    if isinstance(model, LocalModel):
        return solution, None
    if isinstance(model, ExactModel):
        return solution, 0.0
    exact = model.exact().pose(X)
    best = exact.solve(answers, np.arange(count), max(tol, 1e-6)).x
    error = np.linalg.norm((best - answers) * scale, axis=1)
    return solution, float(error.mean())
