"""One scale a column, from both samples."""

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import Matrix

# A source column whose variance is below this share of the target's says little.
NEARLY_CONSTANT = 1e-6


def pooled_scale(samples: TwoSamples, names: tuple[str, ...] | None = None) -> Array:
    r"""Return :math:`\sqrt{(var_{source} + var_{target}) / 2}` of every column.

    Never the source's scale alone: a column that hardly varies there would swamp all
    others. Zero for a column that is constant over both samples; a column that is
    constant in each, at two values, gets a thousandth of their distance, so that no
    row of one sample is near the other.

    Warns, with the names, where the source hardly varies and the target does.
    """
    means_and_variances = [
        _moments(rows, share)
        for rows, share in (
            (samples.source, samples.source_share),
            (samples.target, samples.target_share),
        )
    ]
    (mean, variance), (mean_target, variance_target) = means_and_variances
    scale = np.sqrt(0.5 * (variance + variance_target))
    apart = np.abs(mean - mean_target)
    # What rounding makes of the variance of a constant is not a scale.
    noise = 1e-13 * np.maximum(np.abs(mean), np.abs(mean_target))
    constant = scale <= noise
    scale = np.where(constant, np.where(apart > 10 * noise, 1e-3 * apart, 0.0), scale)
    flat = (variance < NEARLY_CONSTANT * variance_target) & ~constant
    if flat.any():
        listed = [names[k] if names else f"column {k}" for k in np.flatnonzero(flat)]
        warnings.warn(
            f"hardly varies in the source but does in the target: {', '.join(listed)}",
            UserWarning,
            stacklevel=4,
        )
    return scale


def scale_columns(X: Matrix, scale: Array) -> Matrix:
    """Return the columns divided by their scale; constant ones become zero."""
    factor = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    if sparse.issparse(X):
        return (X @ sparse.diags_array(factor)).tocsr()
    return X * factor


def _moments(X: Any, share: Array) -> tuple[Array, Array]:
    """Return the weighted means and variances of the columns."""
    if sparse.issparse(X):
        mean = np.asarray(share @ X).ravel()
        square = np.asarray(share @ X.multiply(X)).ravel()
        return mean, np.maximum(square - mean**2, 0.0)
    mean = share @ X
    centred = X - mean
    return mean, share @ (centred * centred)
