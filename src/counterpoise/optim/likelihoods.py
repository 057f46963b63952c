"""Likelihood objectives: mixtures and log-linear models."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from counterpoise.linalg.arrays import Array, Indices, finite_array
from counterpoise.linalg.compiled import compiled
from counterpoise.optim.objectives import (
    ConicForm,
    Evaluation,
    Objective,
    distinct_columns,
    product,
)

# -----------------------------------------------------------------------------
# Negative mean logarithms of linear functions.
# -----------------------------------------------------------------------------


# Rows whose largest entry lies beyond this, or below its inverse, are scaled.
EXTREME_ENTRY = 1e50
# A component of Ax below this counts as zero: its inverse overflows in gradients.
SMALLEST_COMPONENT = 1e-200


@dataclass(frozen=True, eq=False)
class NegativeMeanLog(Objective):
    r"""The negative mean logarithm :math:`-\sum_j w_j \log (Ax)_j`.

    Infinite where a component of Ax with positive weight is not positive, or below
    1e-200, where the gradient overflows.

    Parameters
    ----------
    A : array or design of shape (m, n)
        A design is a non-negative matrix that need not be stored. It has `shape`,
        `columns(i)`, `pull(v)` (v'A for v >= 0, or an upper bound of it: a bound costs
        tightness of certificates and never truth) and `distinct(i, count, alike)`.
        What it has as `matrix` is read in place of columns and products. Columns that
        are no array offer ``@ shares``, ``[:, i]``, `beside` and `moments`.
    weights : array of shape (m,), optional
        Non-negative weights of the rows; scaled to sum one. All equal by default.

    Examples
    --------
    >>> import numpy as np
    >>> round(NegativeMeanLog(np.eye(2)).value(np.array([0.5, 0.5])), 6)
    0.693147
    """

    A: Any
    weights: Array | None = None
    _share: Array = field(init=False, repr=False)
    _matrix: Array | None = field(default=None, init=False, repr=False)
    _offset: float = field(default=0.0, init=False, repr=False)

    def __post_init__(self) -> None:
        if not hasattr(self.A, "pull"):
            object.__setattr__(self, "A", finite_array("A", self.A, 2))
        m = self.A.shape[0]
        if self.weights is None:
            share = np.full(m, 1.0 / m)
        else:
            share = np.asarray(self.weights, dtype=float)
            if share.shape != (m,):
                raise ValueError(f"weights must have shape ({m},), got {share.shape}")
            if not (share.min() >= 0.0 and 0.0 < share.sum() < math.inf):
                raise ValueError(
                    "weights must be non-negative, finite and not all zero"
                )
            share = share / share.sum()
        object.__setattr__(self, "weights", share)
        object.__setattr__(self, "_share", share)
        if isinstance(self.A, np.ndarray):
            self._scale_extreme_rows(share)
        matrix = self.A if isinstance(self.A, np.ndarray) else None
        object.__setattr__(self, "_matrix", getattr(self.A, "matrix", matrix))

    def _scale_extreme_rows(self, share: Array) -> None:
        """Divide rows of extreme size by their largest entry.

        Gradients stay what they are; products of entries no longer overflow.
        """
        peak = np.abs(self.A).max(axis=1)
        peak = np.where((peak > 0.0) & (share > 0.0), peak, 1.0)
        if peak.max() > EXTREME_ENTRY or peak.min() < 1.0 / EXTREME_ENTRY:
            object.__setattr__(self, "A", self.A / peak[:, None])
            object.__setattr__(self, "_offset", -float((share * np.log(peak)).sum()))

    def evaluate(self, x: Array, image: Array | None = None) -> Evaluation:
        """Return value and gradient at x; a known image saves a product."""
        at = self.image(x) if image is None else image
        counted = self._share > 0.0
        value = math.inf
        if (at[counted] >= SMALLEST_COMPONENT).all():
            logs = np.log(at[counted])
            value = self._offset - float(self._share[counted] @ logs)

        def gradient() -> Array:
            v = _over(self._share, at, self._share)
            return -(self.A.pull(v) if self._matrix is None else v @ self._matrix)

        return Evaluation(x, value, gradient, at)

    def image(self, x: Array) -> Array:
        """Return Ax, rows of extreme size divided by their largest entry."""
        if isinstance(self.A, np.ndarray):
            return product(self.A, x)
        support = np.flatnonzero(x)
        out: Array = self.columns(support) @ x[support]
        return out

    def along(
        self,
        x: Array,
        direction: Array,
        limit: float,
        images: tuple[Array, Array] | None = None,
    ) -> float:
        """Return the best step in [0, limit], by safeguarded Newton."""
        here, there = images or (self.image(x), self.image(direction))
        return log_line(here, there, self._share, limit)

    def columns(self, i: Indices) -> Any:
        """Return the columns i of A."""
        return self.A.columns(i) if self._matrix is None else self._matrix[:, i]

    def model(self, i: Indices, columns: Any, image: Array) -> tuple[Array, Array]:
        """Return gradient and Hessian in the coordinates i.

        Columns that are no array know their `moments` themselves.
        """
        v = _over(self._share, image, self._share)
        if not isinstance(columns, np.ndarray):
            pulled, bend = columns.moments(v, _over(v, image, self._share))
            return -pulled, bend
        roots = _over(np.sqrt(self._share), image, self._share)
        scaled = columns * roots[:, None]
        return -(v @ columns), scaled.T @ scaled

    def distinct(self, i: Indices, count: int, alike: float) -> Indices:
        """Return the first `count` of the coordinates i that differ."""
        if isinstance(self.A, np.ndarray):
            return distinct_columns(self.A, i, count, alike)
        out: Indices = self.A.distinct(i, count, alike)
        return out

    def conic(self) -> ConicForm:
        """Return the exponential cones t_j <= log (Ax)_j, as (t, 1, Ax)."""
        counted = np.flatnonzero(self._share > 0.0)
        A = self.A[counted]
        k, n = A.shape
        rows = sparse.lil_matrix((3 * k, n + k))
        rows[0::3, n:] = -sparse.identity(k)
        rows[2::3, :n] = -A
        b = np.zeros(3 * k)
        b[1::3] = 1.0
        return ConicForm(
            sparse.csc_matrix((n + k, n + k)),
            np.concatenate([np.zeros(n), -self._share[counted]]),
            sparse.csc_matrix(rows),
            b,
            (("exponential", 3),) * k,
        )


def _over(part: Array, image: Array, share: Array) -> Array:
    """Return part / image, zero where a row has no share."""
    return np.divide(part, image, out=np.zeros_like(image), where=share > 0.0)


@compiled
def log_line(z: Array, q: Array, weights: Array, limit: float) -> float:
    r"""Return the maximizer of :math:`\sum_j w_j \log(z_j + t q_j)` on [0, limit].

    Safeguarded Newton on the derivative, which falls: a step that leaves the bracket
    or does not shrink is replaced by bisection. O(m) an iteration, some ten of them.
    """
    inside = True
    slope = 0.0
    for j in range(z.size):
        if weights[j] > 0.0:
            value = z[j] + limit * q[j]
            if not value > 0.0:
                inside = False
                break
            slope += weights[j] * q[j] / value
    if inside and slope >= 0.0:
        return limit
    low, high, t = 0.0, limit, 0.0
    last = 0.0
    for _ in range(300):
        slope = 0.0
        bend = 0.0
        inside = True
        for j in range(z.size):
            if weights[j] > 0.0:
                value = z[j] + t * q[j]
                if not value > 0.0:
                    inside = False
                    break
                part = q[j] / value
                slope += weights[j] * part
                bend += weights[j] * part * part
        if not inside:
            high = t
        elif slope > 0.0:
            low = t
        else:
            high = t
        if inside and (bend == 0.0 or abs(slope) <= 1e-13 * np.sqrt(bend)):
            break
        following = t + slope / bend if inside else -1.0
        move = abs(following - t)
        # Far below the root Newton only doubles what is tiny: bisect, over orders of
        # magnitude first, unless its steps shrink.
        if not (low < following < high) or 2.0 * move > last:
            following = 0.5 * (low + high)
            if low > 0.0 and high > 16.0 * low:
                following = np.sqrt(low * high)
        elif move <= 1e-15 * t:
            break
        last = abs(following - t)
        if last <= 1e-15 * high and low > 0.0:
            break
        t = following
    # The lower end of the bracket is inside and no worse than where we began.
    return t if inside else low


# -----------------------------------------------------------------------------
# Log likelihoods of a sample under tilted ones: log-linear models of a density ratio.
#
# The statistics of a sample are an array, a sparse matrix, or anything with `shape`,
# `S @ v`, `q @ S` and `S[rows]` (a plain array) or `S.second_moment(q, mean)` (of the
# rows about a mean), so that products of columns need not be written out, nor rows be
# in memory.
# -----------------------------------------------------------------------------


# Entries of a block of rows: 64 MiB of float64.
BLOCK_ENTRIES = 2**23


@dataclass(frozen=True, eq=False)
class TiltedLikelihood(Objective):
    r"""The negative log likelihood of a sample under a tilted one, with a ridge.

    .. math:: \log \sum_i q_i \exp(S x)_i - t'x + \frac{\rho}{2} |x|^2

    where t are the mean statistics of the one sample and S, q the statistics and the
    shares of the other. Strongly convex with modulus :math:`\rho`; the Hessian is the
    covariance of the statistics under the tilted shares :math:`q_i \exp(Sx)_i`, plus
    :math:`\rho I`.

    Parameters
    ----------
    statistics : matrix of shape (n, p)
        S.
    mean : array of shape (p,)
        t.
    shares : array of shape (n,)
        q, positive, sum one.
    ridge : float

    Examples
    --------
    >>> import numpy as np
    >>> S = np.array([[-1.0], [1.0]])
    >>> f = TiltedLikelihood(S, np.array([0.5]), np.full(2, 0.5), ridge=0.1)
    >>> here = f.evaluate(np.zeros(1))
    >>> here.gradient, here.hessian()
    (array([-0.5]), array([[1.1]]))
    """

    statistics: Any
    mean: Array
    shares: Array
    ridge: float
    hessian: ClassVar[bool] = True

    def image(self, x: Array) -> Array:
        """Return Sx."""
        return np.asarray(self.statistics @ x)

    def evaluate(self, x: Array, image: Array | None = None) -> Evaluation:
        """Return value and derivatives at x; a known image saves a product."""
        S = self.statistics
        if image is None:
            image = self.image(x)
        top = float(image.max())
        powers = np.exp(image - top)
        value = top + math.log(float(self.shares @ powers)) - float(self.mean @ x)
        tilted = self.shares * powers
        tilted /= tilted.sum()

        def gradient() -> Array:
            return np.asarray(tilted @ S) - self.mean + self.ridge * x

        def hessian() -> Array:
            out = _covariance(S, tilted)
            out[np.diag_indices_from(out)] += self.ridge
            return out

        def hessian_product(v: Array) -> Array:
            along = self.image(v)
            pulled = (tilted * (along - tilted @ along)) @ S
            return np.asarray(pulled) + self.ridge * v

        return Evaluation(
            x,
            value + 0.5 * self.ridge * float(x @ x),
            gradient,
            image,
            hessian,
            hessian_product,
        )


def _covariance(S: Any, shares: Array) -> Array:
    """Return the covariance of the rows of S by their shares."""
    mean = np.asarray(shares @ S)
    if sparse.issparse(S):
        moment: Array = (S.T @ S.multiply(shares[:, None])).toarray()
        return moment - np.outer(mean, mean)
    if hasattr(S, "second_moment"):
        return np.asarray(S.second_moment(shares, mean))
    n, p = S.shape
    out = np.zeros((p, p))
    size = max(1, BLOCK_ENTRIES // p)
    for first in range(0, n, size):
        rows = slice(first, first + size)
        spread = (S[rows] - mean) * np.sqrt(shares[rows])[:, None]
        out += spread.T @ spread
    return out


@dataclass(frozen=True, eq=False)
class MixedTilts(Objective):
    r"""The negative log likelihood of a sample under a mixture of tilted ones.

    .. math::
        -\sum_j r_j \log \sum_k \pi_k a_k(t_j) + \frac{\rho}{2} \sum_k |\eta_k|^2, \quad
        a_k(t) = \frac{\exp(\eta_k's(t))}{\sum_i q_i \exp(\eta_k's(x_i))}

    in the vector of the proportions :math:`\pi` followed by all :math:`\eta_k`. Not
    convex.

    Parameters
    ----------
    statistics, statistics_target : matrix of shape (n, p), (m, p)
    shares, shares_target : array of shape (n,), (m,)
        q and r; positive, sum one.
    n_components : int
    ridge : float
    """

    statistics: Any
    statistics_target: Any
    shares: Array
    shares_target: Array
    n_components: int
    ridge: float

    def evaluate(self, x: Array, image: Array | None = None) -> Evaluation:
        """Return value and gradient at x."""
        _, slopes = self.split(x)
        ratios, logs = self._ratios(x)
        ridge = 0.5 * self.ridge * float(np.sum(slopes * slopes))

        def gradient() -> Array:
            shares, parts = self.parts(x)
            each = zip(shares, parts, slopes, strict=True)
            pulled = [q * part.gradient(eta) for q, part, eta in each]
            return np.concatenate([-(self.shares_target @ ratios), *pulled])

        return Evaluation(x, ridge - float(self.shares_target @ logs), gradient)

    def split(self, x: Array) -> tuple[Array, Array]:
        """Return the proportions and the slopes, one row a component."""
        k = self.n_components
        return x[:k], x[k:].reshape(k, -1)

    def parts(self, x: Array) -> tuple[Array, list[TiltedLikelihood]]:
        """Return the expected proportions and the convex problem of each component.

        To replace x by those proportions and each component's slopes by better ones
        for its own problem never raises the value (the step of EM).
        """
        belongs = self.split(x)[0] * self._ratios(x)[0]
        return self.parts_of(belongs / belongs.sum(axis=1, keepdims=True))

    def parts_of(self, belongs: Array) -> tuple[Array, list[TiltedLikelihood]]:
        """Return the same, given the share of every row that belongs to a component."""
        counted = self.shares_target[:, None] * belongs
        shares = np.maximum(counted.sum(axis=0), 1e-100)
        return shares / shares.sum(), [
            TiltedLikelihood(
                self.statistics,
                np.asarray(counted[:, k] @ self.statistics_target) / shares[k],
                self.shares,
                self.ridge / shares[k],
            )
            for k in range(self.n_components)
        ]

    def _ratios(self, x: Array) -> tuple[Array, Array]:
        """Return a_k over the mixture at the target rows, and the mixture's log."""
        proportions, slopes = self.split(x)
        tilts = np.column_stack(
            [
                self.statistics_target @ eta
                - log_mean(self.statistics @ eta, self.shares)
                for eta in slopes
            ]
        )
        logs = logsumexp(tilts, axis=1, b=proportions)
        return np.exp(tilts - logs[:, None]), logs


def log_mean(exponents: Array, shares: Array) -> float:
    """Return the logarithm of the mean of exponentials, without overflow."""
    top = float(exponents.max())
    return top + math.log(float(shares @ np.exp(exponents - top)))
