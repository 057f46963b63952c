"""The twin Gaussian process problem: losses, kernels, factors."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from counterpoise.data.two_samples import canonical_order
from counterpoise.errors import InvalidInputError
from counterpoise.linalg.arrays import Array, Indices, positive_zero
from counterpoise.linalg.batched_lbfgs import Minima, minimize_together
from counterpoise.linalg.kernels import Kernel
from counterpoise.optim.certificate import Certificate

# -----------------------------------------------------------------------------
# Divergences between the Gaussian of the inputs and that of the outputs.
#
# Both Gaussians are over the N training rows and the test row. In y they depend on two
# numbers alone: the Schur complement e_y of the outputs' covariance, and a mixed term
#
# `"kl"`             u's_y, with u = S_x^-1 s_x
# `"inverse-kl"`     r = c_x - 2 v's_x + v'S_x v, with v = S_y^-1 s_y
# `"sharma-mittal"`  e_t = c_t - s_t'S_t^-1 s_t
#
# Each loss is its divergence in nats, up to a constant that is free of y; no y goes
# below its bound, by the chain rule: the divergence of the last variable given the
# others is not negative.
# -----------------------------------------------------------------------------


Mixed = Literal["linear", "quadratic", "mixture"]
DIVERGENCES = ("kl", "inverse-kl", "sharma-mittal")


class Loss(ABC):
    """A function of the mixed term and the Schur complements, with a lower bound."""

    mixed: ClassVar[Mixed]

    @property
    def scale(self) -> float:
        """The size of its slopes, beside those of KL."""
        return 1.0

    @abstractmethod
    def value(self, mixed: Array, e_y: Array, e_x: Array) -> Array:
        """Return the loss, O(1) a test row."""

    @abstractmethod
    def slopes(self, mixed: Array, e_y: Array, e_x: Array) -> tuple[Array, Array]:
        """Return its derivatives by the mixed term and by e_y."""

    @abstractmethod
    def bound(self, e_x: Array, spread: Array) -> Array:
        """Return what no y goes below; `spread` is u'S_y u, for "linear" only."""


@dataclass(frozen=True)
class KL(Loss):
    r"""KL(Y‖X): :math:`\tfrac12 [(c_y - 2 u's_y)/e_x - \log e_y]`.

    Bound: :math:`\tfrac12 [1 - \log e_x - u'S_y u / e_x]`.
    """

    ridge_y: float
    mixed = "linear"

    def value(self, mixed: Array, e_y: Array, e_x: Array) -> Array:
        """Return the loss."""
        out: Array = 0.5 * ((1.0 + self.ridge_y - 2.0 * mixed) / e_x - np.log(e_y))
        return out

    def slopes(self, mixed: Array, e_y: Array, e_x: Array) -> tuple[Array, Array]:
        """Return its derivatives by the mixed term and by e_y."""
        return -1.0 / e_x, -0.5 / e_y

    def bound(self, e_x: Array, spread: Array) -> Array:
        """Return what no y goes below."""
        out: Array = 0.5 * (1.0 - np.log(e_x) - spread / e_x)
        return out


@dataclass(frozen=True)
class InverseKL(Loss):
    r"""KL(X‖Y): :math:`\tfrac12 [r/e_y + \log e_y]`; bound: half of 1 + log e_x."""

    mixed = "quadratic"

    def value(self, mixed: Array, e_y: Array, e_x: Array) -> Array:
        """Return the loss."""
        out: Array = 0.5 * (mixed / e_y + np.log(e_y))
        return out

    def slopes(self, mixed: Array, e_y: Array, e_x: Array) -> tuple[Array, Array]:
        """Return its derivatives by the mixed term and by e_y."""
        return 0.5 / e_y, 0.5 * (1.0 - mixed / e_y) / e_y

    def bound(self, e_x: Array, spread: Array) -> Array:
        """Return what no y goes below."""
        out: Array = 0.5 * (1.0 + np.log(e_x))
        return out


@dataclass(frozen=True)
class SharmaMittal(Loss):
    r"""Rényi's divergence: :math:`(\log e_t - t \log e_y) / (2 (1 - t))`.

    Bound: :math:`\tfrac12 \log e_x`, because the Schur complement is concave:
    :math:`e_t \ge (1 - t) e_x + t e_y \ge e_x^{1-t} e_y^t`.
    """

    theta: float
    mixed = "mixture"

    @property
    def scale(self) -> float:
        """The size of its slopes, which fall with theta."""
        return min(1.0, 2.0 * self.theta)

    def value(self, mixed: Array, e_y: Array, e_x: Array) -> Array:
        """Return the loss."""
        t = self.theta
        out: Array = (np.log(mixed) - t * np.log(e_y)) / (2.0 * (1.0 - t))
        return out

    def slopes(self, mixed: Array, e_y: Array, e_x: Array) -> tuple[Array, Array]:
        """Return its derivatives by the mixed term and by e_y."""
        t = self.theta
        share = 1.0 / (2.0 * (1.0 - t))
        return share / mixed, -t * share / e_y

    def bound(self, e_x: Array, spread: Array) -> Array:
        """Return what no y goes below."""
        out: Array = 0.5 * np.log(e_x)
        return out


def loss_of(divergence: str, theta: float, ridge_y: float) -> Loss:
    """Return the loss of a name.

    Examples
    --------
    >>> loss_of("sharma-mittal", 0.3, 1e-3)
    SharmaMittal(theta=0.3)
    """
    if divergence == "kl":
        return KL(ridge_y)
    if divergence == "inverse-kl":
        return InverseKL()
    return SharmaMittal(theta)


def of_order(divergence: Array, order: float) -> Array:
    r"""Return Sharma and Mittal's divergence of an order, from Rényi's D.

    .. math:: (\exp((\text{order} - 1) D) - 1) / (\text{order} - 1)

    It grows with D for every order, which is D itself at one: the order never changes
    which y is best.

    Examples
    --------
    >>> of_order(np.array([0.0, 1.0]), 1.0)
    array([0., 1.])
    """
    if order == 1.0:
        return divergence
    with np.errstate(over="ignore"):
        out: Array = np.expm1((order - 1.0) * divergence) / (order - 1.0)
    return out


# -----------------------------------------------------------------------------
# Triangular factors of weighted kernels, and products with them.
# -----------------------------------------------------------------------------


# Triangles of up to so many rows are inverted.
INVERTED_ROWS = 1000


def weighted_kernel(rows: Array, gamma: float, root: Array, ridge: float) -> Array:
    """Return D K D + ridge I, with D the roots of the weights, (n, n).

    The ridge comes after the weights: a row of weight w has noise ridge / w. Before
    them it would cancel out of every Schur complement.
    """
    out = Kernel("rbf", gamma).matrix(rows, rows)
    out *= root[:, None]
    out *= root
    out[np.diag_indices_from(out)] = root * root + ridge
    return out


class NotPositiveDefiniteError(InvalidInputError, np.linalg.LinAlgError):
    """A kernel of the given rows and weights cannot be factored."""


@dataclass(frozen=True, eq=False)
class Factor:
    """A positive definite matrix S by its lower triangle L, S = LL'.

    Vectors are the rows of what it is given, so that `forward(B)` is B L^-T. All
    products are triangular, O(n^2) a vector: with a stored inverse of S a Schur
    complement would have lost all digits at a ridge of 1e-8, with the triangle, or its
    inverse, it keeps seven.

    Attributes
    ----------
    lower : array of shape (n, n)
        L.
    inverse : array of shape (n, n) or None
        L^-1, for small matrices: a product is twice as fast as a solve.
    """

    lower: Array
    inverse: Array | None = None

    @classmethod
    def of(cls, S: Array, often: bool = False) -> "Factor":
        """Factor a symmetric matrix, whose memory is used: n^3 / 3 flops.

        A small one that is needed `often` is inverted.
        """
        # The transpose of a symmetric array is itself, in the order that LAPACK wants.
        lower, info = lapack.dpotrf(S.T, lower=1, clean=1, overwrite_a=1)
        if info != 0:
            raise NotPositiveDefiniteError(
                "a kernel is not positive definite to machine precision: raise the "
                "ridge, or divide the weights by their mean"
            )
        return cls.by_triangle(lower) if often else cls(lower)

    @classmethod
    def by_triangle(cls, lower: Array) -> "Factor":
        """Take L itself, which is inverted where it is small: n^3 / 3 flops."""
        if len(lower) > INVERTED_ROWS:
            return cls(lower)
        inverse, info = lapack.dtrtri(lower, lower=1)
        return cls(lower, inverse if info == 0 else None)

    def forward(self, B: Array) -> Array:
        """Return L^-1 b for every row b."""
        if self.inverse is not None:
            return blas.dtrmm(1.0, self.inverse, B.T, lower=1).T
        return blas.dtrsm(1.0, self.lower, B.T, lower=1).T

    def backward(self, B: Array) -> Array:
        """Return L^-T b for every row b."""
        if self.inverse is not None:
            return blas.dtrmm(1.0, self.inverse, B.T, lower=1, trans_a=1).T
        return blas.dtrsm(1.0, self.lower, B.T, lower=1, trans_a=1).T

    def solve(self, B: Array) -> Array:
        """Return S^-1 b for every row b."""
        return self.backward(self.forward(B))

    def times(self, B: Array) -> Array:
        """Return L b for every row b."""
        return blas.dtrmm(1.0, self.lower, B.T, lower=1).T

    def transposed_times(self, B: Array) -> Array:
        """Return L'b for every row b."""
        return blas.dtrmm(1.0, self.lower, B.T, lower=1, trans_a=1).T

    def log_determinant(self) -> float:
        """Return log |S|."""
        return 2.0 * float(np.log(np.diagonal(self.lower)).sum())


def squares(B: Array) -> Array:
    """Return the squared norm of every row."""
    return np.einsum("ij,ij->i", B, B)


def products(A: Array, B: Array) -> Array:
    """Return the inner product of every pair of rows."""
    return np.einsum("ij,ij->i", A, B)


# -----------------------------------------------------------------------------
# Training rows, equal ones merged, and the settings of a model on them.
# -----------------------------------------------------------------------------


# Directions in which outputs vary less than this share of the most are rounding.
FLAT_DIRECTION = 1e-12
# A row whose noise ridge / weight is this many times the signal says nothing.
SILENT = 1e9


@dataclass(frozen=True)
class Settings:
    """The numbers that a twin Gaussian process depends on."""

    divergence: str
    theta: float
    gamma_x: float
    gamma_y: float
    ridge_x: float
    ridge_y: float

    @property
    def loss(self) -> Loss:
        """The function of y to minimize."""
        return loss_of(self.divergence, self.theta, self.ridge_y)

    @property
    def ridge_t(self) -> float:
        """The ridge of the mixture."""
        return (1.0 - self.theta) * self.ridge_x + self.theta * self.ridge_y

    @property
    def radius(self) -> float:
        """The width of the output kernel, the unit of length among outputs."""
        return 1.0 / float(np.sqrt(2.0 * self.gamma_y))


@dataclass(frozen=True, eq=False)
class TwinRows:
    """Different rows of positive weight, in an order of their own.

    Permuted rows, repeated rows and rows of weight zero give the same ones, to the
    bit: weight k is the row k times because copies are merged and their weights added.

    Attributes
    ----------
    X, Y : arrays of shape (n, d_x), (n, d_y)
    weight : array of shape (n,)
    group : array of shape (n,)
        Rows of a group are held out together.
    """

    X: Array
    Y: Array
    weight: Array
    group: Indices

    @classmethod
    def merged(
        cls, X: Array, Y: Array, weight: Array, group: Indices | None = None
    ) -> "TwinRows":
        """Take rows in any order; O(n (d_x + d_y)) beside the sort."""
        used = np.flatnonzero(weight > 0.0)
        table = [X[used], Y[used]]
        if group is not None:
            table.append(group[used, None].astype(float))
        whole = positive_zero(np.hstack(table))
        order = canonical_order(whole, weight[used])
        whole, weight = whole[order], weight[used][order]
        new = np.ones(len(whole), dtype=bool)
        new[1:] = (whole[1:] != whole[:-1]).any(axis=1)
        first = np.flatnonzero(new)
        whole, weight = whole[first], np.add.reduceat(weight, first)
        d = X.shape[1]
        held = np.arange(len(whole))
        if group is not None:
            held = whole[:, -1].astype(np.intp)
        return cls(
            np.ascontiguousarray(whole[:, :d]),
            np.ascontiguousarray(whole[:, d : d + Y.shape[1]]),
            weight,
            held,
        )

    def __len__(self) -> int:
        return len(self.weight)

    def take(self, which: Indices) -> "TwinRows":
        """Return some of the rows."""
        return TwinRows(
            self.X[which], self.Y[which], self.weight[which], self.group[which]
        )

    def with_outputs(self, Y: Array) -> "TwinRows":
        """Return the rows with other outputs."""
        return TwinRows(self.X, Y, self.weight, self.group)

    def heard(self, ridge: float) -> "TwinRows":
        """Return the rows whose noise does not drown them."""
        loud = np.flatnonzero(self.weight * SILENT > ridge)
        return self if loud.size in (0, len(self)) else self.take(loud)

    @cached_property
    def directions(self) -> Array | None:
        """Orthonormal columns that span how the outputs differ; None: all directions.

        Slopes lie in their span; what rounding adds outside of it grows where the loss
        curves downwards, and would make a constant output vary.
        """
        _, sizes, across = np.linalg.svd(self.Y - self.mean, full_matrices=False)
        used = sizes > FLAT_DIRECTION * sizes.max(initial=0.0)
        if used.sum() == self.Y.shape[1]:
            return None
        return np.ascontiguousarray(across[used].T)

    @property
    def root(self) -> Array:
        """The roots of the weights."""
        return np.sqrt(self.weight)

    @property
    def mean(self) -> Array:
        """The weighted mean of the outputs."""
        # Shares first: weights are used as given, and may be as large as numbers are.
        out: Array = (self.weight / self.weight.sum()) @ self.Y
        return out


def column_variances(A: Array, weight: Array) -> Array:
    """Return the weighted variance of every column."""
    share = weight / weight.sum()
    away = A - share @ A
    return share @ (away * away)


def width_rule(A: Array, weight: Array) -> float:
    """Return gamma = 1 / (4 sum of variances): the width is the usual pair distance.

    The root of the mean squared distance between two rows, each drawn in proportion
    to its weight, so that repeated rows and their weights agree; a median over pairs
    would not. One where all rows are equal.

    Examples
    --------
    >>> width_rule(np.array([[0.0], [2.0]]), np.ones(2))
    0.25
    """
    total = float(column_variances(A, weight).sum())
    scale = float(np.abs(A).max())
    return 1.0 / (4.0 * total) if total > (1e-12 * scale) ** 2 else 1.0


# -----------------------------------------------------------------------------
# The problems of many test rows: what to minimize over y, and what is proved.
# -----------------------------------------------------------------------------


# How far from the GPR mean a search starts, in widths of the output kernel.
PUSH = 1e-3
# Inputs of whose variance the training inputs explain less are like none of them.
UNEXPLAINED = 0.5
# Outputs of whose variance the training outputs explain less are like none of them.
UNLIKE = 1e-6


class Proof(NamedTuple):
    """What is proved about the answers to some test rows, an entry each.

    Attributes
    ----------
    value : array of shape (m,)
        The loss: the divergence in nats, up to a constant free of y.
    bound : array of shape (m,)
        What no y goes below.
    residual : array of shape (m,)
        Scaled stationarity, :math:`|dL/dy| / \\sqrt{2 \\gamma_y} / \\max(1, |L|)`
        in units of the loss's `scale`; infinite where y is like no training output,
        and every loss is flat.
    """

    value: Array
    bound: Array
    residual: Array

    @property
    def gap(self) -> Array:
        """The divergence to its lower bound, in nats; rounding may not go below."""
        return np.maximum(self.value - self.bound, 0.0)

    def certificates(self) -> list[Certificate]:
        """Return a certificate a test row."""
        return [
            Certificate(
                kind="divergence",
                objective=float(self.value[row]),
                bound=float(self.bound[row]),
                gap=float(self.gap[row]),
                residual=float(self.residual[row]),
            )
            for row in range(len(self.value))
        ]

    def summary(self) -> Certificate:
        """Return one certificate of all: mean values, and the largest residual."""
        if not len(self.value):
            return Certificate("none", 0.0)
        return Certificate(
            kind="divergence",
            objective=float(self.value.mean()),
            bound=float(self.bound.mean()),
            gap=float(self.gap.mean()),
            residual=float(self.residual.max()),
        )


class FoundAnswers(NamedTuple):
    """Answers to test rows, the steps they took, and what is left of their slopes.

    `residual` is as in `Proof`, and zero for rows that are like no training input,
    whose answer is the GPR mean and not stationary.
    """

    x: Array
    residual: Array
    n_iter: Indices


class Outputs(NamedTuple):
    """Outputs of some test rows, one each, as a model sees them, in arrays of its own.

    Attributes
    ----------
    kernel : array of shape (a, r)
        Similarities to the rows, or landmarks, of the model.
    features : array of shape (a, r)
        What e_y and the mixed term are functions of: the kernel itself, or the
        landmarks' coordinates.
    solved : array of shape (a, r)
        The inverse of the features' covariance times them.
    e_y : array of shape (a,)
        Schur complement.
    fall : array of shape (a, r)
        Minus half of its slope by the features.
    """

    kernel: Array
    features: Array
    solved: Array
    e_y: Array
    fall: Array


class TwinModel(ABC):
    """A twin Gaussian process on training rows."""

    rows: TwinRows
    settings: Settings

    @abstractmethod
    def pose(self, X: Array) -> "TwinProblems":
        """Return the problems of test rows."""

    @abstractmethod
    def row_bytes(self) -> int:
        """Return the memory that a test row takes."""


class TwinProblems(ABC):
    """Test inputs, and for each the loss of every output y.

    A model says what an output looks like to it (`outputs`), what the mixed term of the
    loss is (`mixed`), and how a slope by features is one by y (`pulled_back`).
    """

    model: "TwinModel"

    @property
    def settings(self) -> Settings:
        """The numbers of the model."""
        return self.model.settings

    @property
    def directions(self) -> Array | None:
        """Orthonormal columns that answers may differ by; None: all directions."""
        return self.model.rows.directions

    @cached_property
    @abstractmethod
    def e_x(self) -> Array:
        """Schur complement of the inputs, (m,)."""

    @abstractmethod
    def mean(self) -> Array:
        """Return the weighted GPR mean, (m, d)."""

    @abstractmethod
    def likest(self) -> Array:
        """Return the outputs of the most similar training inputs, (m, d)."""

    @abstractmethod
    def outputs(self, Y: Array, which: Indices) -> Outputs:
        """Return outputs of some test rows as the model sees them."""

    @abstractmethod
    def mixed(self, at: Outputs, which: Indices) -> tuple[Array, Array]:
        """Return the mixed term, and its slope by the features in an array of its own.

        See `losses` for what it is.
        """

    @abstractmethod
    def pulled_back(self, slope: Array, at: Outputs, Y: Array, which: Indices) -> Array:
        """Return slopes by y, without the factor 2 gamma_y; `slope` is overwritten."""

    @abstractmethod
    def spread(self) -> Array:
        """Return u'S_y u, which the bound of KL needs, (m,)."""

    def evaluate(self, Y: Array, which: Indices) -> tuple[Array, Array]:
        """Return the losses (a,) and gradients (a, d) of some test rows."""
        value, gradient, _ = self._evaluate(Y, which)
        return value, gradient

    def _evaluate(self, Y: Array, which: Indices) -> tuple[Array, Array, Array]:
        """Return losses, gradients and e_y."""
        loss = self.settings.loss
        at = self.outputs(Y, which)
        mixed, slope = self.mixed(at, which)
        # Only Sharma and Mittal's loss does without e_x.
        e_x = mixed if loss.mixed == "mixture" else self.e_x[which]
        by_mixed, by_e_y = loss.slopes(mixed, at.e_y, e_x)
        slope *= by_mixed[:, None]
        fall = at.fall
        fall *= (2.0 * by_e_y)[:, None]
        slope -= fall
        gradient = self.pulled_back(slope, at, Y, which)
        gradient *= 2.0 * self.settings.gamma_y
        return loss.value(mixed, at.e_y, e_x), gradient, at.e_y

    def bounds(self) -> Array:
        """Return what no y goes below, (m,)."""
        loss, e_x = self.settings.loss, self.e_x
        spread = self.spread() if loss.mixed == "linear" else np.zeros_like(e_x)
        return loss.bound(e_x, spread)

    @cached_property
    def lost(self) -> NDArray[np.bool_]:
        """Which inputs are like no training input, (m,)."""
        return self.e_x > 1.0 + self.settings.ridge_x - UNEXPLAINED

    def start(self) -> Array:
        """Return the weighted GPR mean, pushed a little towards the likest output.

        Where rows are mirrored the mean itself is a saddle, on which a search would
        stay.
        """
        mean = self.mean()
        push = self.likest() - mean
        length = np.linalg.norm(push, axis=1)
        most = PUSH * self.settings.radius
        push *= (most / np.maximum(length, most))[:, None]
        return mean + push

    def answers(self, tol: float, max_iter: int = 200) -> FoundAnswers:
        """Return a minimum of every test row, found from the start.

        Rows that are like no training input keep the GPR mean: there all losses ask for
        an output that is like no other, and the minimum lies away from the data.
        """
        known = np.flatnonzero(~self.lost)
        found = self.solve(self.start()[known], known, tol, max_iter)
        answers, residual = self.mean(), np.zeros(len(self.lost))
        n_iter = np.zeros(len(answers), dtype=np.intp)
        answers[known], residual[known], n_iter[known] = (
            found.x,
            found.residual / self.settings.loss.scale,
            found.n_iter,
        )
        return FoundAnswers(answers, residual, n_iter)

    def solve(
        self, start: Array, rows: Indices, tol: float, max_iter: int = 200
    ) -> Minima:
        """Return stationary points of some test rows, from a start each."""
        directions, settings = self.directions, self.settings
        minimize = partial(
            minimize_together,
            radius=settings.radius,
            tol=tol * settings.loss.scale,
            max_iter=max_iter,
        )
        if directions is None:
            return minimize(lambda Y, which: self.evaluate(Y, rows[which]), start)

        def along(steps: Array, which: Indices) -> tuple[Array, Array]:
            Y = start[which] + steps @ directions.T
            value, gradient = self.evaluate(Y, rows[which])
            return value, gradient @ directions

        found = minimize(along, np.zeros((len(start), directions.shape[1])))
        return found._replace(x=start + found.x @ directions.T)

    def prove(self, Y: Array) -> Proof:
        """Judge answers, whoever found them."""
        value, gradient, e_y = self._evaluate(Y, np.arange(len(Y)))
        steep = np.linalg.norm(gradient, axis=1) * self.settings.radius
        residual = steep / np.maximum(1.0, np.abs(value)) / self.settings.loss.scale
        flat = e_y > (1.0 - UNLIKE) * (1.0 + self.settings.ridge_y)
        return Proof(value, self.bounds(), np.where(flat, np.inf, residual))


# -----------------------------------------------------------------------------
# The Gaussian of the inputs, and test rows by their similarities to it.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class InputPart:
    """The Gaussian of the inputs: S_x by its factor, and the weighted GPR on it.

    Attributes
    ----------
    rows : TwinRows
    settings : Settings
    factor : Factor
        Of S_x.
    dual : array of shape (N, d_y)
        :math:`S_x^{-1} D (Y - m)`, m the weighted mean of Y.
    """

    rows: TwinRows
    settings: Settings
    factor: Factor
    dual: Array

    @classmethod
    def of(cls, rows: TwinRows, settings: Settings, S: Array) -> "InputPart":
        """Factor S_x, whose memory is used."""
        factor = Factor.of(S)
        right = rows.root[:, None] * (rows.Y - rows.mean)
        return cls(rows, settings, factor, factor.solve(right.T).T)

    def similarities(self, X: Array) -> Array:
        """Return s_x of test rows, (m, N)."""
        s = Kernel("rbf", self.settings.gamma_x).matrix(X, self.rows.X)
        s *= self.rows.root
        return s

    def mean(self, s: Array) -> Array:
        """Return the GPR mean at test rows."""
        out: Array = s @ self.dual + self.rows.mean
        return out

    def schur(self, h: Array) -> Array:
        """Return e_x from L_x^-1 s_x; it is at least the ridge."""
        ridge = self.settings.ridge_x
        return np.maximum(1.0 + ridge - squares(h), ridge)


def input_kernel(rows: TwinRows, settings: Settings) -> Array:
    """Return S_x."""
    return weighted_kernel(rows.X, settings.gamma_x, rows.root, settings.ridge_x)


def output_kernel(rows: TwinRows, settings: Settings) -> Array:
    """Return S_y."""
    return weighted_kernel(rows.Y, settings.gamma_y, rows.root, settings.ridge_y)


def factored(
    rows: TwinRows, settings: Settings, often: bool
) -> tuple[InputPart, Factor | None]:
    """Return the inputs' Gaussian and, where the loss mixes the two, the factor of S_t.

    :math:`S_t = (1 - t) S_x + t S_y`: a factor of :math:`N^3/3` flops, or two; `often`
    says whether that of S_t is needed in every evaluation.
    """
    S_x = input_kernel(rows, settings)
    mixture = None
    if settings.loss.mixed == "mixture":
        t, S_t = settings.theta, output_kernel(rows, settings)
        S_t *= t
        for first in range(0, len(S_x), 256):
            some = slice(first, first + 256)
            S_t[some] += (1.0 - t) * S_x[some]
        mixture = Factor.of(S_t, often=often)
    return InputPart.of(rows, settings, S_x), mixture


class InputModel(TwinModel):
    """A model whose inputs are all training rows."""

    inputs: InputPart


class SeenByInputs(TwinProblems):
    """Test rows by their similarities to all training rows, (m, N)."""

    model: InputModel
    s_x: Array

    @cached_property
    def h(self) -> Array:
        """L_x^-1 s_x."""
        return self.model.inputs.factor.forward(self.s_x)

    @cached_property
    def e_x(self) -> Array:
        """Schur complement of the inputs."""
        return self.model.inputs.schur(self.h)

    @cached_property
    def lost(self) -> NDArray[np.bool_]:
        """Which inputs are like no training input.

        What one training row alone explains is a bound of what all explain, and saves
        the solve with S_x for all inputs but strange ones.
        """
        part, ridge = self.model.inputs, self.settings.ridge_x
        alone = (self.s_x**2 / (part.rows.weight + ridge)).max(axis=1)
        out: NDArray[np.bool_] = alone < UNEXPLAINED
        strange = np.flatnonzero(out)
        if strange.size:
            e_x = part.schur(part.factor.forward(self.s_x[strange]))
            out[strange] = e_x > 1.0 + ridge - UNEXPLAINED
        return out

    def mean(self) -> Array:
        """Return the weighted GPR mean."""
        return self.model.inputs.mean(self.s_x)

    def likest(self) -> Array:
        """Return the outputs of the most similar training inputs."""
        rows = self.model.inputs.rows
        return rows.Y[(self.s_x / rows.root).argmax(axis=1)]


def output_gradient(by_kernel: Array, kernel: Array, Y: Array, at: Array) -> Array:
    """Return dL/dy from dL/dk(y_i, y), without the factor 2 gamma_y.

    `by_kernel` is overwritten.
    """
    by_kernel *= kernel
    out: Array = by_kernel @ Y
    out -= by_kernel.sum(axis=1)[:, None] * at
    return out
