"""Twelve kinds of shifts whose density ratio is known."""

from collections.abc import Callable

import numpy as np
from scipy import stats

Ratio = Callable[[np.ndarray], np.ndarray]
Drawn = tuple[np.ndarray, np.ndarray, Ratio]
LEVELS, LEVELS_TARGET = np.full(4, 0.25), np.array([0.4, 0.3, 0.2, 0.1])


def draw(name: str, seed: int, n: int = 800) -> Drawn:
    """Return source rows, target rows and the ratio as a function of rows."""
    rng = np.random.default_rng([seed, list(FAMILIES).index(name)])
    return FAMILIES[name](rng, n)


def relative_error(weights: np.ndarray, truth: np.ndarray) -> float:
    """Return the mean squared error over the mean square, both of mean one."""
    weights, truth = weights / weights.mean(), truth / truth.mean()
    return float(((weights - truth) ** 2).mean() / (truth**2).mean())


def autoregressive(d: int, r: float = 0.5) -> np.ndarray:
    """Return the correlations r to the power of the distance of two columns."""
    return r ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))


def _gaussians(mean, covariance) -> Callable[[np.random.Generator, int], Drawn]:
    """From a standard normal to another one."""
    mean, d = np.asarray(mean, dtype=float), len(mean)
    source = stats.multivariate_normal(np.zeros(d), np.eye(d))
    target = stats.multivariate_normal(mean, covariance)

    def drawn(rng, n):
        rows = rng.standard_normal((n, d))
        aims = rng.multivariate_normal(mean, covariance, n)
        return rows, aims, lambda X: np.exp(target.logpdf(X) - source.logpdf(X))

    return drawn


def _by_columns(source, target) -> Callable[[np.random.Generator, int], Drawn]:
    """From independent columns of some distributions to others."""

    def drawn(rng, n):
        rows, aims = (
            np.column_stack([one.rvs(n, random_state=rng) for one in columns])
            for columns in (source, target)
        )
        return rows, aims, lambda X: _density(target, X) / _density(source, X)

    return drawn


def _density(columns, X):
    return np.prod([one.pdf(X[:, j]) for j, one in enumerate(columns)], axis=0)


def _mixture(rng, n):
    rows = 1.6 * rng.standard_normal((n, 2))
    where = np.where(rng.random(n) < 0.3, -1.5, 1.0)
    first = where + 0.6 * rng.standard_normal(n)
    aims = np.column_stack([first, rng.standard_normal(n)])

    def ratio(X):
        two = 0.3 * stats.norm.pdf(X[:, 0], -1.5, 0.6)
        two += 0.7 * stats.norm.pdf(X[:, 0], 1.0, 0.6)
        return two * stats.norm.pdf(X[:, 1]) / stats.norm.pdf(X, 0, 1.6).prod(axis=1)

    return rows, aims, ratio


def _mixed_table(rng, n):
    """A category of four levels as indicators, and four columns of numbers."""
    mean = np.array([0.6, 0.0, 0.0, 0.0])

    def drawn(levels, at):
        level = rng.choice(4, size=n, p=levels)
        return np.hstack([np.eye(4)[level], rng.standard_normal((n, 4)) + at])

    def ratio(X):
        by_level = X[:, :4] @ (LEVELS_TARGET / LEVELS)
        return by_level * np.exp(X[:, 4:] @ mean - 0.5 * mean @ mean)

    return drawn(LEVELS, 0.0), drawn(LEVELS_TARGET, mean), ratio


def _first(d: int, value: float, rest: float = 0.0) -> np.ndarray:
    return np.r_[value, np.full(d - 1, rest)]


FAMILIES: dict[str, Callable[[np.random.Generator, int], Drawn]] = {
    "mean, 3 columns": _gaussians(_first(3, 0.8), np.eye(3)),
    "mean, 8 columns": _gaussians(_first(8, 0.8), np.eye(8)),
    "scale, 3 columns": _gaussians(np.zeros(3), 0.49 * np.eye(3)),
    "scale, 2 of 8 columns": _gaussians(
        np.zeros(8), np.diag(np.r_[0.49, 0.49, np.ones(6)])
    ),
    "correlation, 3 columns": _gaussians(np.zeros(3), autoregressive(3)),
    "correlation, 8 columns": _gaussians(np.zeros(8), autoregressive(8)),
    "correlation, 20 columns": _gaussians(np.zeros(20), autoregressive(20)),
    "t of 4 to normal": _by_columns([stats.t(4)] * 2, [stats.norm()] * 2),
    "mixture": _mixture,
    "lognormal": _by_columns(
        [stats.lognorm(1.0)] * 3,
        [stats.lognorm(0.9, scale=np.exp(0.6)), *[stats.lognorm(0.9)] * 2],
    ),
    "gamma": _by_columns([stats.gamma(2.0)] * 3, [stats.gamma(3.0)] * 3),
    "mixed table": _mixed_table,
}
