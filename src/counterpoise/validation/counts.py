"""Weights without a scale: how many rows each row stands for."""

import numpy as np

from counterpoise.numerics.arrays import Array
from counterpoise.validation.warning import warn_user

# Whole numbers above this are no counts: floats of that size are nearly all whole.
LARGEST_COUNT = 1e9
# A weight this near a whole number from one on, or nearer than so much of itself, is
# one: shares times a mass are, but for rounding.
WHOLE_WITHIN, OF_ITSELF = 1e-9, 1e-12
# Below this part of the largest weight a row counts for nothing: in no sum of squares,
# or of a billion such rows, would a digit show it.
LEAST_PART = 1e-30
# Of smaller ones it is said.
LEAST_TOLD = 1e-100


def as_counts(weights: Array) -> Array:
    r"""Return weights as counts of rows: whole numbers as they are, others by worth.

    Weights are counts where every one is a whole number, zero or from 1 to 10^9 (to
    10^-9, or 10^-12 of itself). All others count by their proportions alone, together
    for the :math:`(\sum w)^2 / \sum w^2` rows that they are worth: any positive
    multiple of them gives the same counts.

    Examples
    --------
    >>> as_counts(np.array([1.0, 2.0])), as_counts(np.array([0.5, 0.5]))
    (array([1., 2.]), array([1., 1.]))
    """
    nearest = np.rint(weights)
    peak = float(weights.max())
    off = np.abs(weights - nearest)
    near = (nearest > 0) & (off <= np.maximum(WHOLE_WITHIN, OF_ITSELF * weights))
    if peak <= LARGEST_COUNT and (near | (weights == 0)).all():
        return weights
    # By powers of two, so that such multiples give the same bits.
    scaled = np.ldexp(weights, -int(np.frexp(peak)[1]))
    total = float(scaled.sum())
    worth = scaled * (total / float(scaled @ scaled))
    # Equal weights are as good as none, and rounding must not make a difference.
    nearest = np.rint(worth)
    return np.where((np.abs(worth - nearest) <= 1e-9) & (nearest > 0), nearest, worth)


def without_negligible(weights: Array, name: str) -> Array:
    """Return weights without those below 10^-30 of the largest, which become zero.

    They change no sum. Where a weight is below 10^-100 of the largest, as no ratio of
    densities is by itself, a warning tells how many rows that leaves out.
    """
    negligible = (weights > 0) & (weights < LEAST_PART * weights.max())
    if not negligible.any():
        return weights
    row = int(np.argmin(np.where(negligible, weights, np.inf)))
    if weights[row] >= LEAST_TOLD * weights.max():
        return np.where(negligible, 0.0, weights)
    warn_user(
        f"{name} spans more than 100 orders of magnitude: {int(negligible.sum())} of "
        f"{weights.size} rows count for nothing beside the largest weight, "
        f"{float(weights.max()):.3g}, and are left out (the least is row {row}, "
        f"counted from 0, of weight {float(weights[row]):.3g})",
        UserWarning,
    )
    return np.where(negligible, 0.0, weights)
