"""Log-linear models of a density ratio, and what is provable about them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from counterpoise.convex.certificate import Certificate
from counterpoise.convex.newton_direction import newton_direction
from counterpoise.convex.objectives.tilted_likelihood import (
    MixedTilts,
    TiltedLikelihood,
)
from counterpoise.numerics.arrays import Array, Indices


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
