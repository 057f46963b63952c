"""Densities of inputs that go with bumps over the labels, at target rows."""

from typing import NamedTuple

import numpy as np

from counterpoise.convex import Corrective, MixtureLikelihood, solve
from counterpoise.engine import current_budget
from counterpoise.numerics.arrays import Array, Indices

LIKELIHOOD_FOLDS = 3
# A width is judged by solutions that are not proved further than this.
ROUGH_TOL = 1e-3
SMALLEST_DENSITY = 1e-300


class LabelledRows(NamedTuple):
    """Source rows with their labels and weights, and target rows with their shares."""

    X: Array
    y: Array
    weight: Array
    target: Array
    share: Array


def offered(
    gamma: float | str, middle: float, widths: tuple[float, ...]
) -> list[float]:
    """Return the widths to choose from, the narrowest first."""
    if isinstance(gamma, str):
        return [middle / width**2 for width in widths]
    return [float(gamma)]


def densities(
    rows: LabelledRows, gamma: float, shares: list[Array]
) -> list[tuple[Array, Array]]:
    """Return, for every set of bumps, their densities at the target rows.

    Rows are divided by what their nearest source row alone would give, whose logarithm,
    the Gaussian's normaliser included, comes beside: proportions do not notice, and
    nothing underflows.
    """
    m, d = rows.target.shape
    out = [np.empty((m, Q.shape[1])) for Q in shares]
    logs = np.empty(m)
    size = max(1, int(current_budget() // (32 * len(rows.X))))
    for first in range(0, m, size):
        some = slice(first, first + size)
        exponent = _exponents(rows.target[some], rows.X, gamma)
        top = exponent.max(axis=1)
        kernel = np.exp(exponent - top[:, None])
        logs[some] = top + 0.5 * d * np.log(gamma)
        for A, Q in zip(out, shares, strict=True):
            A[some] = np.maximum(kernel @ Q, SMALLEST_DENSITY)
    return [(A, logs) for A in out]


def _exponents(target: Array, X: Array, gamma: float) -> Array:
    middle = X.mean(axis=0)
    target, X = target - middle, X - middle
    out = 2.0 * (target @ X.T)
    out -= (target * target).sum(axis=1)[:, None]
    out -= (X * X).sum(axis=1)
    out *= gamma
    return np.minimum(out, 0.0)


def held_out_likelihood(A: Array, logs: Array, share: Array, part: Indices) -> float:
    """Return the mean log likelihood of target rows that were not fitted to."""
    total = 0.0
    for fold in range(LIKELIHOOD_FOLDS):
        held = part == fold
        if not held.any() or held.all():
            continue
        kept = share[~held] / share[~held].sum()
        x = solve(MixtureLikelihood(A[~held], kept), Corrective(), tol=ROUGH_TOL).x
        likelihood = np.log(np.maximum(A[held] @ x, SMALLEST_DENSITY)) + logs[held]
        total += float(share[held] @ likelihood)
    return total
