"""Likelihood objectives: logistic, mixture and log-linear."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit, log_softmax, logsumexp, softmax

from counterpoise.linalg.arrays import Array, Indices, finite_array
from counterpoise.linalg.compiled import compiled
from counterpoise.optim.objectives import ConicForm, distinct_columns, product, slices

# -----------------------------------------------------------------------------
# Negative log likelihoods of labels: a logistic regression, and a line of logits.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LogisticLoss:
    r"""The mean log loss of a linear function of columns, with a ridge.

    .. math:: \sum_i p_i \bigl(\log(1 + e^{z_i'x}) - y_i z_i'x\bigr)
        + \frac{\rho}{2} |x|^2

    Parameters
    ----------
    rows : array of shape (n, k)
        z.
    labels : array of shape (n,)
        y, zero or one.
    shares : array of shape (n,)
        p, sum one.
    ridge : float

    Examples
    --------
    >>> import numpy as np
    >>> f = LogisticLoss(np.ones((2, 1)), np.array([0.0, 1.0]), np.full(2, 0.5), 0.0)
    >>> f.gradient(np.zeros(1)), f.hessian(np.zeros(1))
    (array([0.]), array([[0.25]]))
    """

    rows: Array
    labels: Array
    shares: Array
    ridge: float
    _last: "_LastPoint" = field(default_factory=lambda: _LastPoint(), repr=False)

    def value(self, x: Array) -> float:
        """Return the function at x."""

        def value() -> float:
            margin = self.rows @ x
            each = np.logaddexp(0.0, margin) - self.labels * margin
            return float(self.shares @ each) + 0.5 * self.ridge * float(x @ x)

        return float(self._last.get("value", x, value))

    def gradient(self, x: Array) -> Array:
        """Return the gradient at x."""
        wrong = self.shares * (self._chances(x) - self.labels)
        return wrong @ self.rows + self.ridge * x

    def hessian(self, x: Array) -> Array:
        """Return the matrix of second derivatives at x."""
        p = self._chances(x)
        bend = (self.shares * p * (1.0 - p))[:, None]
        out: Array = self.rows.T @ (self.rows * bend)
        return out + self.ridge * np.eye(x.size)

    def direction(self, x: Array, gradient: Array) -> Array:
        """Return Newton's direction from x; the last one is kept."""

        def solved() -> Array:
            return np.asarray(-np.linalg.solve(self.hessian(x), gradient), np.float64)

        out: Array = self._last.get("direction", x, solved)
        return out

    def _chances(self, x: Array) -> Array:
        """Return the probabilities of ones at x; those of the last point are kept."""
        out: Array = self._last.get("chances", x, lambda: expit(self.rows @ x))
        return out


@dataclass(frozen=True, eq=False)
class SoftmaxLine:
    r"""The negative log likelihood of classes whose logits lie on a line.

    .. math:: -\sum_i w_i \log \mathrm{softmax}(a\, l_i + b)_{y_i}
        + \frac{\rho}{2} \bigl((a - 1)^2 + |b|^2\bigr)

    in :math:`x = (a, b_2, \ldots, b_k)`, with :math:`b_1 = 0`.

    Parameters
    ----------
    logits : array of shape (n, k)
        l.
    hit : array of shape (n, k)
        One in the column of a row's class, else zero.
    weights : array of shape (n,)
    ridge : float
    """

    logits: Array
    hit: Array
    weights: Array
    ridge: float
    _last: "_LastPoint" = field(default_factory=lambda: _LastPoint(), repr=False)

    @property
    def identity(self) -> Array:
        """The line that changes nothing, to which the ridge holds."""
        out = np.zeros(self.logits.shape[1])
        out[0] = 1.0
        return out

    def value(self, x: Array) -> float:
        """Return the function at x."""

        def value() -> float:
            logs = log_softmax(self.logits_at(x), axis=1)
            fit = -(self.weights @ (self.hit * logs).sum(axis=1))
            return float(fit + 0.5 * self.ridge * ((x - self.identity) ** 2).sum())

        return float(self._last.get("value", x, value))

    def gradient(self, x: Array) -> Array:
        """Return the gradient at x."""

        def gradient() -> Array:
            wrong = self.weights[:, None] * (self._shares(x) - self.hit)
            slopes = [[(wrong * self.logits).sum()], wrong[:, 1:].sum(axis=0)]
            return np.concatenate(slopes) + self.ridge * (x - self.identity)

        out: Array = self._last.get("gradient", x, gradient)
        return out

    def hessian(self, x: Array) -> Array:
        """Return the matrix of second derivatives at x."""
        q, logits, weights = self._shares(x), self.logits, self.weights
        k = q.shape[1]
        mean = (q * logits).sum(axis=1)
        out = np.empty((k, k))
        out[0, 0] = weights @ ((q * logits**2).sum(axis=1) - mean**2)
        out[0, 1:] = out[1:, 0] = weights @ (q * (logits - mean[:, None]))[:, 1:]
        out[1:, 1:] = -(q[:, 1:] * weights[:, None]).T @ q[:, 1:]
        out[1:, 1:] += np.diag(weights @ q[:, 1:])
        return out + self.ridge * np.eye(k)

    def direction(self, x: Array, gradient: Array) -> Array:
        """Return Newton's direction from x; the last one is kept."""

        def solved() -> Array:
            return np.asarray(-np.linalg.solve(self.hessian(x), gradient), np.float64)

        out: Array = self._last.get("direction", x, solved)
        return out

    def logits_at(self, x: Array) -> Array:
        """Return the logits on the line x."""
        z = x[0] * self.logits
        z[:, 1:] += x[1:]
        return z

    def _shares(self, x: Array) -> Array:
        """Return the probabilities at x; those of the last point are kept."""

        def shares() -> Array:
            return softmax(self.logits_at(x), axis=1)

        out: Array = self._last.get("shares", x, shares)
        return out


class _LastPoint:
    """What was computed at the last point.

    A trial of a line search, the point that it gives, its proof and the step after it
    ask for the same numbers; points have few entries and are compared by them.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[Array, Any]] = {}

    def get(self, name: str, x: Array, compute: Callable[[], Any]) -> Any:
        """Return what has this name at x."""
        known = self._known.get(name)
        if known is None or not np.array_equal(known[0], x):
            known = self._known[name] = x.copy(), compute()
        return known[1]


# -----------------------------------------------------------------------------
# Negative mean logarithms of linear functions.
# -----------------------------------------------------------------------------


# Rows whose largest entry lies beyond this, or below its inverse, are scaled.
EXTREME_ENTRY = 1e50
# A component of Ax below this counts as zero: its inverse overflows in gradients.
SMALLEST_COMPONENT = 1e-200


@dataclass(frozen=True, eq=False)
class NegativeMeanLog:
    r"""The negative mean logarithm :math:`-\sum_j w_j \log (Ax)_j`.

    Infinite where a component of Ax with positive weight is not positive, or below
    1e-200, where the gradient overflows.

    Parameters
    ----------
    A : array or `Design` of shape (m, n)
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
    _logs: Array | float = field(default=0.0, init=False, repr=False)

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
        if isinstance(self.A, np.ndarray):
            self._tame(share)

    def _tame(self, share: Array) -> None:
        """Divide rows of extreme size by their largest entry, and keep its logarithm.

        Gradients stay what they are; products of entries no longer overflow.
        """
        peak = np.abs(self.A).max(axis=1)
        peak = np.where((peak > 0.0) & (share > 0.0), peak, 1.0)
        if peak.max() > EXTREME_ENTRY or peak.min() < 1.0 / EXTREME_ENTRY:
            object.__setattr__(self, "A", self.A / peak[:, None])
            object.__setattr__(self, "_logs", np.log(peak))

    def value(self, x: Array) -> float:
        """Return the function at x."""
        return self.value_at(x, self.image(x))

    def gradient(self, x: Array) -> Array:
        """Return the gradient at x."""
        return self.gradient_at(x, self.image(x))

    def image(self, x: Array) -> Array:
        """Return Ax, rows of extreme size divided by their largest entry."""
        if isinstance(self.A, np.ndarray):
            return product(self.A, x)
        support = np.flatnonzero(x)
        return self.columns(support) @ x[support]

    def value_at(self, x: Array, image: Array) -> float:
        """Return the function at x, given Ax."""
        counted = self._share > 0.0
        if not (image[counted] >= SMALLEST_COMPONENT).all():
            return math.inf
        return self._offset - float(self._share[counted] @ np.log(image[counted]))

    def gradient_at(self, x: Array, image: Array) -> Array:
        """Return the gradient at x, given Ax."""
        v = self._pull(image)
        return -(self.A.pull(v) if self._matrix is None else v @ self._matrix)

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

    def columns(self, i: Indices) -> Array:
        """Return the columns i of A."""
        if self._matrix is not None:
            return self._matrix[:, i]
        out: Array = self.A.columns(i)
        return out

    def model(self, i: Indices, columns: Any, image: Array) -> tuple[Array, Array]:
        """Return gradient and Hessian in the coordinates i.

        Columns that are no array know their `moments` themselves.
        """
        if not isinstance(columns, np.ndarray):
            v = self._pull(image)
            pulled, bend = columns.moments(v, _over(v, image, self._share))
            return -pulled, bend
        scaled = (
            columns
            * np.divide(
                np.sqrt(self._share),
                image,
                out=np.zeros_like(image),
                where=self._share > 0,
            )[:, None]
        )
        return -(self._pull(image) @ columns), scaled.T @ scaled

    def distinct(self, i: Indices, count: int, alike: float) -> Indices:
        """Return the first `count` of the coordinates i that differ."""
        if isinstance(self.A, np.ndarray):
            return distinct_columns(self.A, i, count, alike)
        out: Indices = self.A.distinct(i, count, alike)
        return out

    def blocks(self, size: int) -> Iterator[tuple[float, "NegativeMeanLog"]]:
        """Yield pieces of `size` rows with their shares."""
        for rows in slices(self.A.shape[0], size):
            share = float(self._share[rows].sum())
            if share > 0.0:
                piece = NegativeMeanLog(self.A[rows], self._share[rows])
                if isinstance(self._logs, np.ndarray):
                    object.__setattr__(piece, "_logs", self._logs[rows])
                yield share, piece

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
            self._offset,
        )

    @property
    def _offset(self) -> float:
        """What scaled rows add to the value."""
        return -float((self._share * self._logs).sum())

    @property
    def _matrix(self) -> Array | None:
        """The matrix, if it is in memory."""
        if isinstance(self.A, np.ndarray):
            return self.A
        return getattr(self.A, "matrix", None)

    @property
    def _share(self) -> Array:
        assert self.weights is not None
        return self.weights

    def _pull(self, image: Array) -> Array:
        return _over(self._share, image, self._share)


def _over(part: Array, image: Array, share: Array) -> Array:
    """Return part / image, zero where a row has no share."""
    return np.divide(part, image, out=np.zeros_like(image), where=share > 0.0)


@compiled
def log_line(z: Array, q: Array, weights: Array, limit: float) -> float:
    r"""Return the maximiser of :math:`\sum_j w_j \log(z_j + t q_j)` on [0, limit].

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
# in
# memory.
# -----------------------------------------------------------------------------


# Entries of a block of rows: 64 MiB of float64.
BLOCK_ENTRIES = 2**23


@dataclass(frozen=True, eq=False)
class TiltedLikelihood:
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

    Notes
    -----
    Two capabilities serve Newton steps: `hessian(x)`, the matrix, and
    `hessian_operator(x)`, its product with a vector at the price of two products with
    the statistics.

    Examples
    --------
    >>> import numpy as np
    >>> S = np.array([[-1.0], [1.0]])
    >>> f = TiltedLikelihood(S, np.array([0.5]), np.full(2, 0.5), ridge=0.1)
    >>> f.gradient(np.zeros(1)), f.hessian(np.zeros(1))
    (array([-0.5]), array([[1.1]]))
    """

    statistics: Any
    mean: Array
    shares: Array
    ridge: float

    def value(self, x: Array) -> float:
        """Return the function at x."""
        return self.value_at(x, self.image(x))

    def gradient(self, x: Array) -> Array:
        """Return the gradient at x."""
        return self.gradient_at(x, self.image(x))

    def image(self, x: Array) -> Array:
        """Return Sx."""
        return np.asarray(self.statistics @ x)

    def value_at(self, x: Array, image: Array) -> float:
        """Return the function at x, given Sx."""
        ridge = 0.5 * self.ridge * float(x @ x)
        return log_mean(image, self.shares) - float(self.mean @ x) + ridge

    def gradient_at(self, x: Array, image: Array) -> Array:
        """Return the gradient at x, given Sx."""
        return self._pull(self._tilted(image)) - self.mean + self.ridge * x

    def hessian(self, x: Array) -> Array:
        """Return the matrix of second derivatives at x."""
        tilted = self._tilted(self.image(x))
        mean = self._pull(tilted)
        S, (n, p) = self.statistics, self.statistics.shape
        if sparse.issparse(S):
            out: Array = (S.T @ S.multiply(tilted[:, None])).toarray()
            out -= np.outer(mean, mean)
        elif hasattr(S, "second_moment"):
            out = S.second_moment(tilted, mean)
        else:
            out = np.zeros((p, p))
            for rows in slices(n, max(1, BLOCK_ENTRIES // p)):
                spread = (S[rows] - mean) * np.sqrt(tilted[rows])[:, None]
                out += spread.T @ spread
        out[np.diag_indices(p)] += self.ridge
        return out

    def hessian_operator(self, x: Array) -> Callable[[Array], Array]:
        """Return the product of the Hessian at x with a vector, as a function."""
        tilted = self._tilted(self.image(x))

        def product(v: Array) -> Array:
            along = self.image(v)
            return self._pull(tilted * (along - tilted @ along)) + self.ridge * v

        return product

    def _tilted(self, image: Array) -> Array:
        weights = self.shares * np.exp(image - image.max())
        return weights / weights.sum()

    def _pull(self, weights: Array) -> Array:
        return np.asarray(weights @ self.statistics)


@dataclass(frozen=True, eq=False)
class MixedTilts:
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

    def value(self, x: Array) -> float:
        """Return the function at x."""
        _, slopes = self.split(x)
        logs = self._mixed(x)[1]
        ridge = 0.5 * self.ridge * float(np.sum(slopes * slopes))
        return ridge - float(self.shares_target @ logs)

    def gradient(self, x: Array) -> Array:
        """Return the gradient at x."""
        tilts, logs = self._mixed(x)
        pull = self.shares_target @ np.exp(tilts - logs[:, None])
        shares, parts = self.parts(x)
        _, slopes = self.split(x)
        each = zip(shares, parts, slopes, strict=True)
        return np.concatenate(
            [-pull, *(q * part.gradient(eta) for q, part, eta in each)]
        )

    def split(self, x: Array) -> tuple[Array, Array]:
        """Return the proportions and the slopes, one row a component."""
        k = self.n_components
        return x[:k], x[k:].reshape(k, -1)

    def parts(self, x: Array) -> tuple[Array, list[TiltedLikelihood]]:
        """Return the expected proportions and the convex problem of each component.

        To replace x by those proportions and each component's slopes by better ones
        for its own problem never raises the value (the step of EM).
        """
        proportions, _ = self.split(x)
        tilts, logs = self._mixed(x)
        belongs = proportions * np.exp(tilts - logs[:, None])
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

    def _mixed(self, x: Array) -> tuple[Array, Array]:
        """Return log a_k and the logarithm of the mixture at the target rows."""
        proportions, slopes = self.split(x)
        tilts = np.column_stack(
            [
                self.statistics_target @ eta
                - log_mean(self.statistics @ eta, self.shares)
                for eta in slopes
            ]
        )
        return tilts, logsumexp(tilts, axis=1, b=proportions)


def log_mean(exponents: Array, shares: Array) -> float:
    """Return the logarithm of the mean of exponentials, without overflow."""
    top = float(exponents.max())
    return top + math.log(float(shares @ np.exp(exponents - top)))
