"""The kernel means of two samples, and what follows from them for any row."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from counterpoise.convex.objectives.mean_distance import (
    FactoredDistance,
    KernelDistance,
)
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.kernel import Kernel
from counterpoise.numerics.pivoted_cholesky import pivoted_cholesky
from counterpoise.samples.two_samples import TwoSamples

# A factor of this rank, with residuals this small, is cheap and as good as the kernel.
LARGEST_FACTOR_RANK, PIVOT_REST = 300, 1e-12
# What the factor may hide, as a share of the gap that is asked for.
HIDDEN_SHARE = 0.5
# Entries of the largest array, 1 GiB.
LARGEST_ARRAY = 2**27
# Target rows at most where the kernel has to be summed entry by entry.
TARGETS_SUMMED = 20_000
# Rows among which the uncovered target rows are counted where each costs n kernels.
TARGETS_COUNTED = 2000
# The smallest ridge that is ever chosen; a regression never has less.
LEAST_RIDGE = 1e-3


@dataclass(frozen=True, eq=False)
class KernelMeans:
    """The two kernel means, as far as fitting needs them.

    `distance` makes the objective from the ridges of the rows; `spread` is one less the
    mean kernel of two target rows, `scale` the unit of gaps, `uncovered` the share of
    target rows that the source does not reach. Where `distance` sees the span of the
    landmarks only, `point` is the target's mean there (None: it sees all), `residual`
    what it misses of the source rows, and `outside` of the target's mean.
    """

    distance: Callable[[Array], Any]
    spread: float
    scale: float
    target_mass: float
    uncovered: float
    landmarks: "SourceLandmarks"
    target: Array
    target_share: Array
    point: Array | None = None
    residual: Array | None = None
    outside: float = 0.0


@dataclass(frozen=True, eq=False)
class SourceLandmarks:
    """Rows in whose span others are expressed, and the source's coordinates there."""

    rows: Array
    triangle: Array
    source: Array


def kernel_means(samples: TwoSamples, gamma: float, tol: float) -> KernelMeans:
    """Return the kernel means of two samples, factored where that hides little."""
    n = samples.source.shape[0]
    rows = np.concatenate([samples.source, samples.target])
    factor, pivots, residual = pivoted_cholesky(
        rows, gamma, PIVOT_REST, LARGEST_FACTOR_RANK
    )
    source, target = factor[:, :n], factor[:, n:]
    landmarks = SourceLandmarks(rows[pivots], np.tril(factor[:, pivots].T), source)
    mean, point = source @ samples.source_share, target @ samples.target_share
    outside = float(np.sqrt(residual[n:]) @ samples.target_share)
    hidden = (float(np.sqrt(residual[:n]) @ samples.source_share) + outside) ** 2
    spread = _spread(
        1.0 - float(residual[n:] @ samples.target_share), float(point @ point), samples
    )
    scale = _scale(float((mean - point) @ (mean - point)), spread, samples)
    if hidden <= HIDDEN_SHARE * tol * scale:
        uncovered = _uncovered(samples, mean @ target, samples.target_share)
    elif n * n <= LARGEST_ARRAY:
        return _dense_means(samples, gamma, landmarks)
    else:
        uncovered = _uncovered_of_some(samples, gamma)
    return KernelMeans(
        lambda ridge: FactoredDistance(source, point, ridge),
        spread,
        scale,
        samples.target_mass,
        uncovered,
        landmarks,
        samples.target,
        samples.target_share,
        point,
        residual[:n],
        outside,
    )


def _dense_means(
    samples: TwoSamples, gamma: float, landmarks: SourceLandmarks
) -> KernelMeans:
    """Return the kernel means with the kernel of the source stored."""
    if samples.target.shape[0] > TARGETS_SUMMED:
        samples = samples.take(
            slice(None), _at_intervals(samples.target, TARGETS_SUMMED)
        )
    X, T = samples.source, samples.target
    p, q = samples.source_share, samples.target_share
    K = Kernel("rbf", gamma).matrix(X, X)
    kappa = Kernel("rbf", gamma).push(X, T, q)
    constant = float(Kernel("rbf", gamma).pull(q, T, T) @ q)
    spread = _spread(1.0, constant, samples)
    uniform = float(p @ (K @ p)) - 2.0 * float(kappa @ p) + constant
    return KernelMeans(
        lambda ridge: KernelDistance(K, kappa, constant, ridge),
        spread,
        _scale(uniform, spread, samples),
        samples.target_mass,
        _uncovered(samples, Kernel("rbf", gamma).pull(p, X, T), q),
        landmarks,
        T,
        q,
    )


def _spread(diagonal: float, constant: float, samples: TwoSamples) -> float:
    """Return the mean of k(t, t) less that of k(t, t') over pairs of different rows."""
    mass = samples.target_mass
    pairs = mass / (mass - 1.0) if mass > 1.0 else 1.0
    return max(pairs * (diagonal - constant), 0.0)


def _scale(uniform: float, spread: float, samples: TwoSamples) -> float:
    """Return the squared MMD of weights of one, or of chance if that is larger."""
    chance = spread * (1.0 / samples.source_mass + 1.0 / samples.target_mass)
    # Where all is rounding, there is no unit.
    return max(uniform, chance, 1e-9)


def _uncovered(samples: TwoSamples, reach: Array, share: Array) -> float:
    """Return the share of rows with less than one expected source neighbour."""
    return float(share[samples.source_mass * reach < 1.0].sum() / share.sum())


def _uncovered_of_some(samples: TwoSamples, gamma: float) -> float:
    """Return that share among target rows at equal intervals."""
    rows = _at_intervals(samples.target, TARGETS_COUNTED)
    reach = Kernel("rbf", gamma).pull(
        samples.source_share, samples.source, samples.target[rows]
    )
    return _uncovered(samples, reach, samples.target_share[rows])


def _at_intervals(rows: Array, count: int) -> Indices:
    n = rows.shape[0]
    return np.linspace(0, n - 1, min(n, count)).astype(np.intp)


@dataclass(frozen=True, eq=False)
class KernelSum:
    """A function of rows: kernels at centres, a constant, cut to [0, bound]."""

    centers: Array
    coef: Array
    constant: float
    gamma: float
    bound: float

    def at(self, X: Array) -> Array:
        """Return the function at rows."""
        sums = Kernel("rbf", self.gamma).push(X, self.centers, self.coef)
        return np.clip(sums + self.constant, 0.0, self.bound)


def extended(
    means: KernelMeans,
    samples: TwoSamples,
    v: Array,
    ridge: float,
    gamma: float,
    bound: float,
) -> KernelSum:
    r"""Return the weights of mean matching as a function of any row.

    At the optimum :math:`\rho w_i / N = \sum_j q_j k(t_j, x_i) - \sum_l v_l k(x_l, x_i)
    + \lambda` wherever :math:`0 < w_i < B`, and the cut of the right side elsewhere:
    read as a function of the row it gives the fitted weights at the rows of the fit.
    Where v is too far from the optimum for that, or there is no ridge, the kernel ridge
    regression of the weights does better, and is taken.
    """
    ratio = np.clip(v / samples.source_share, 0.0, bound)
    regression = _regression(means.landmarks, samples, ratio, ridge, gamma, bound)
    if ridge <= 0.0:
        return regression
    share, per_row = samples.source_share, samples.source_mass / ridge
    rises = -0.5 * per_row * means.distance(np.zeros_like(v)).gradient(v)
    constant = _constant(rises, share, float(v.sum()), bound)
    if means.point is None:
        used = v > 0.0
        centers = np.concatenate([means.target, samples.source[used]])
        coef = per_row * np.concatenate([means.target_share, -v[used]])
    else:
        centers = means.landmarks.rows
        inside = per_row * (means.point - means.landmarks.source @ v)
        coef = _at_landmarks(means.landmarks, inside)
    exact = KernelSum(centers, coef, constant, gamma, bound)
    errors = [
        float(share @ (one.at(samples.source) - ratio) ** 2)
        for one in (exact, regression)
    ]
    return exact if errors[0] <= errors[1] else regression


def _constant(rises: Array, share: Array, total: float, bound: float) -> float:
    """Return the constant at which the cut weights have the mean that they have."""
    low, high = -float(rises.max()), bound - float(rises.min())
    for _ in range(200):
        middle = 0.5 * (low + high)
        if float(share @ np.clip(rises + middle, 0.0, bound)) < total:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def _regression(
    landmarks: SourceLandmarks,
    samples: TwoSamples,
    ratio: Array,
    ridge: float,
    gamma: float,
    bound: float,
) -> KernelSum:
    """Return the kernel ridge regression of weights, as a sum of landmarks' kernels."""
    A, counts = landmarks.source, samples.source_share * samples.source_mass
    inner = (A * counts) @ A.T
    inner[np.diag_indices_from(inner)] += max(ridge, LEAST_RIDGE)
    factor = cho_factor(inner, lower=True, check_finite=False)
    inside = cho_solve(factor, A @ (counts * ratio), check_finite=False)
    mean = float(counts @ (inside @ A))
    if mean > 0.0:
        inside *= float(counts @ ratio) / mean
    coef = _at_landmarks(landmarks, inside)
    return KernelSum(landmarks.rows, coef, 0.0, gamma, bound)


def _at_landmarks(landmarks: SourceLandmarks, inside: Array) -> Array:
    """Return coefficients of the landmarks' kernels from coordinates in their span."""
    coef: Array = solve_triangular(
        landmarks.triangle, inside, lower=True, trans="T", check_finite=False
    )
    return coef
