"""Samples in which one column or one row decides what a discrepancy is."""

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import warn_user

# Scales of columns further apart than this, or means further from zero, decide alone.
UNEVEN = 100.0
# One of fewer target rows may well have most of their squared norm.
FEW_TARGETS = 5


def warn_of_scales(samples: TwoSamples, standardized: bool, kernel: str) -> None:
    """Warn where one column decides, by its scale or by its level.

    How often a word occurs is no unit of measurement: sparse rows are not looked at.
    """
    if sparse.issparse(samples.source):
        return
    mean, spread = _moments(samples)
    varies = spread > 0
    if not varies.any():
        return
    scales = spread[varies]
    if not standardized and scales.max() > UNEVEN * scales.min():
        warn_user(
            f"the scales of the columns go from {scales.min():.3g} to "
            f"{scales.max():.3g} and standardize is False: the column with the largest "
            "numbers decides"
        )
    far = np.flatnonzero(varies & (np.abs(mean) > UNEVEN * spread))
    if standardized and kernel != "rbf" and far.size:
        j = int(far[np.argmax(np.abs(mean[far]) / spread[far])])
        warn_user(
            f"column {j} lies {abs(mean[j]) / spread[j]:.0f} times its scale away from "
            "zero: its level decides; subtract a typical value"
        )


def warn_of_one_row(masses: Array, norm: float, places: Indices) -> None:
    """Warn where one target row has most of the target's second moment.

    Parameters
    ----------
    masses : array of shape (m,)
        Share times squared norm of every target row.
    norm : float
        The discrepancy of the source as it is.
    places : array of shape (m,)
        Where the rows stand in X_target.
    """
    worst, total = int(np.argmax(masses)), float(masses.sum())
    dominates = masses[worst] > 0.5 * total and masses[worst] > 0.5 * norm
    if masses.size >= FEW_TARGETS and dominates:
        warn_user(
            f"row {int(places[worst])} of X_target has {masses[worst] / total:.0%} of "
            "the target's squared norm: the weights chase its direction alone; look at "
            "that row, or scale or clip its columns"
        )


def _moments(samples: TwoSamples) -> tuple[Array, Array]:
    """Return means and scales of the columns, each sample counting half."""
    means, variances = [], []
    for rows, share in (
        (samples.source, samples.source_share),
        (samples.target, samples.target_share),
    ):
        mean = share @ rows
        means.append(mean)
        variances.append(share @ (rows - mean) ** 2)
    return 0.5 * (means[0] + means[1]), np.sqrt(0.5 * (variances[0] + variances[1]))
