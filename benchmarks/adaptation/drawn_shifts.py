"""Simulated covariate shifts of a chosen strength: p(y | x) never changes.

Each problem draws rows of the source, or of a target for which the weights of the true
density ratio leave the share `kept` of the rows, ESS/n.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Draw = Callable[[np.random.Generator, int, float | None], tuple]


@dataclass(frozen=True)
class Problem:
    """How rows are drawn; `kept` is None for the source."""

    name: str
    kind: str
    draw: Draw


def _chance(z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-z))


def _classes(rng: np.random.Generator, n: int, kept: float | None) -> tuple:
    """Move the means of two of five columns; classes with an interaction."""
    X = rng.normal(size=(n, 5))
    if kept is not None:
        # A move of normal columns by mu leaves exp(-|mu|^2).
        X[:, :2] += np.sqrt(-np.log(kept) / 1.25) * np.array([1.0, 0.5])
    z = 1.5 * X[:, 0] - X[:, 1] ** 2 + 0.5 + X[:, 2] * X[:, 3]
    return X, (rng.random(n) < _chance(z)).astype(int)


def _noisy(rng: np.random.Generator, n: int, kept: float | None) -> tuple:
    """Move two of five columns to where the noise is larger."""
    X = rng.normal(size=(n, 5))
    if kept is not None:
        X[:, :2] += np.sqrt(-np.log(kept) / 2)
    mean = X[:, 0] + 0.5 * X[:, 1] ** 2 + np.sin(2 * X[:, 2])
    return X, mean + np.exp(0.3 * X[:, 0]) * rng.normal(size=n)


def _narrow(rng: np.random.Generator, n: int, kept: float | None) -> tuple:
    """Draw two columns from a narrower and moved normal; a wavy boundary."""
    X = rng.normal(size=(n, 2))
    if kept is not None:
        width = 0.7 if kept < 0.6 else 1.0
        most = width**2 * (2 - width**2)
        X *= width
        X[:, 0] += np.sqrt(-(2 - width**2) * np.log(min(kept / most, 1.0)))
    chance = _chance(2 * np.sin(2 * X[:, 0]) + X[:, 1])
    return X, (rng.random(n) < chance).astype(int)


def _ten(rng: np.random.Generator, n: int, kept: float | None) -> tuple:
    """Tilt a pair of two-humped columns among ten; heavy-tailed noise."""
    X = rng.normal(size=(n, 10))
    X[:, 5:] = np.abs(X[:, 5:]) + 0.3 * X[:, :5]
    if kept is not None:
        move = np.sqrt(-np.log(kept) / 2)
        X[:, :2] += move
        X[:, 5:7] += 0.3 * move
    noise = 0.7 * rng.standard_t(6, size=n)
    return X, X[:, 0] + np.abs(X[:, 2]) + 0.5 * X[:, 7] * X[:, 1] + noise


PROBLEMS = (
    Problem("classes, d = 5", "classification", _classes),
    Problem("noise that grows, d = 5", "regression", _noisy),
    Problem("narrower target, d = 2", "classification", _narrow),
    Problem("heavy tails, d = 10", "regression", _ten),
)
