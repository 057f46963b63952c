"""Log-linear models of a density ratio, and what is provable about them.

The statistics of a sample are an array, a sparse matrix, or anything with `shape`,
`S @ v`, `q @ S` and `S[rows]` (a plain array), so that products of columns need not be
written out.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from counterpoise.convex.certificate import Certificate
from counterpoise.convex.newton_direction import newton_direction
from counterpoise.convex.objectives.columns import slices
from counterpoise.numerics.arrays import Array, Indices

# Entries of a block of rows: 64 MiB of float64.
BLOCK = 2**23


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
        else:
            out = np.zeros((p, p))
            for rows in slices(n, max(1, BLOCK // p)):
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
class LogLinearRatio:
    r"""Fit one log-linear density ratio: minimise a `TiltedLikelihood`.

    .. math:: \log \sum_i q_i \exp(S x)_i - t'x + \frac{\rho}{2} |x|^2

    The objective is strongly convex with modulus :math:`\rho`, so its gradient g proves
    :math:`f(x) - f^* \le |g|^2 / (2 \rho)`. Half the squared Newton decrement
    :math:`g'H^{-1}g / 2`, the excess to second order and far smaller where the ridge is
    small, is kept as `residual`. The gap is measured in units of
    :math:`\max(|f|, 0.1)` nats: the optimum is zero where nothing has shifted.

    Parameters
    ----------
    statistics : matrix of shape (n, p)
        S, of the source.
    mean : array of shape (p,)
        t, the mean statistics of the target.
    shares : array of shape (n,)
        q, positive, sum one.
    ridge : float
        rho, positive.
    """

    statistics: Any
    mean: Array
    shares: Array
    ridge: float

    def __post_init__(self) -> None:
        if not self.ridge > 0.0:
            raise ValueError(f"ridge must be positive, got {self.ridge}")

    @cached_property
    def objective(self) -> TiltedLikelihood:
        """The negative log likelihood with its ridge."""
        return TiltedLikelihood(self.statistics, self.mean, self.shares, self.ridge)

    def start(self) -> Array:
        """Return zero, the uniform weights."""
        return np.zeros(self.mean.size)

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Bound how far x is from optimal, whoever found it."""
        image = self.objective.image(x)
        value = self.objective.value_at(x, image)
        gradient = self.objective.gradient_at(x, image)
        direction = newton_direction(self.objective, x, gradient, 1e-3)
        return self._proof(value, gradient, -0.5 * float(gradient @ direction))

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient at x prove."""
        return self._proof(value, gradient, None)

    def _proof(
        self, value: float, gradient: Array, decrement: float | None
    ) -> Certificate:
        gap = float(gradient @ gradient) / (2.0 * self.ridge)
        return Certificate(
            kind="gradient over strong convexity",
            objective=value,
            bound=value - gap,
            gap=gap,
            scale=max(abs(value), 0.1),
            residual=decrement,
        )


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


@dataclass(frozen=True, eq=False)
class LogLinearMixture:
    r"""Fit a mixture of log-linear density ratios: minimise `MixedTilts`.

    Not convex, so nothing is bounded (kind "stationarity"). The residual, in nats, is
    zero exactly at points that no small change improves to first order:

    .. math:: \max_k g_k - 1 + \sum_k |\nabla_{\eta_k}|^2 / (2 \rho)

    where :math:`g_k = \sum_j r_j a_k(t_j) / w(t_j)` averages to one over the
    proportions. Its unit is :math:`\max(|f|, 0.1)` nats.

    Parameters
    ----------
    As of `MixedTilts`.
    """

    statistics: Any
    statistics_target: Any
    shares: Array
    shares_target: Array
    n_components: int
    ridge: float

    def __post_init__(self) -> None:
        if not self.ridge > 0.0:
            raise ValueError(f"ridge must be positive, got {self.ridge}")

    @cached_property
    def objective(self) -> MixedTilts:
        """The negative log likelihood with its ridge."""
        return MixedTilts(
            self.statistics,
            self.statistics_target,
            self.shares,
            self.shares_target,
            self.n_components,
            self.ridge,
        )

    def start(self) -> Array:
        """Return a component for each cluster of target rows.

        The clusters are those of k-means from equal pieces along the direction in
        which the target statistics vary most; whatever the order of the rows.
        """
        labels = self._clusters()
        k = self.n_components
        belongs = np.full((labels.size, k), 0.1 / k)
        belongs[np.arange(labels.size), labels] += 0.9
        proportions, parts = self.objective.parts_of(belongs)
        # Statistics of variance about one make this nearly the component's own fit.
        center = np.asarray(self.shares @ self.statistics)
        slopes = [(part.mean - center) / (1.0 + part.ridge) for part in parts]
        return np.concatenate([proportions, *slopes])

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Say how far x is from a point that no small change improves."""
        return self.judge(x, self.objective.value(x), self.objective.gradient(x))

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient at x prove."""
        k = self.n_components
        slopes = gradient[k:]
        residual = max(float(-gradient[:k].min()) - 1.0, 0.0)
        residual += float(slopes @ slopes) / (2.0 * self.ridge)
        proportions = x[:k]
        return Certificate(
            kind="stationarity",
            objective=value,
            scale=max(abs(value), 0.1),
            residual=residual,
            infeasibility=max(
                abs(float(proportions.sum()) - 1.0), -float(proportions.min()), 0.0
            ),
        )

    def _clusters(self) -> Indices:
        T, share, k = self.statistics_target, self.shares_target, self.n_components
        mean = np.asarray(share @ T)
        axis = np.random.default_rng(0).standard_normal(mean.size)
        for _ in range(30):
            along = np.asarray(T @ axis) - mean @ axis
            axis = np.asarray((share * along) @ T) - float(share @ along) * mean
            axis /= max(float(np.linalg.norm(axis)), 1e-300)
        along = np.asarray(T @ axis)
        order = np.argsort(along)
        position = np.empty(along.size)
        position[order] = np.cumsum(share[order]) - 0.5 * share[order]
        labels = np.minimum((k * position).astype(np.intp), k - 1)
        for _ in range(20):
            nearness = np.column_stack([self._nearness(labels == c) for c in range(k)])
            labels = np.argmax(nearness, axis=1)
        return labels

    def _nearness(self, members: Any) -> Array:
        """Return, up to what all clusters share, how near rows are to one's mean."""
        share = self.shares_target * members
        if share.sum() <= 0.0:
            return np.full(share.size, -np.inf)
        center = np.asarray(share @ self.statistics_target) / share.sum()
        return np.asarray(self.statistics_target @ center) - 0.5 * float(
            center @ center
        )


def log_mean(exponents: Array, shares: Array) -> float:
    """Return the logarithm of the mean of exponentials, without overflow."""
    top = float(exponents.max())
    return top + math.log(float(shares @ np.exp(exponents - top)))
