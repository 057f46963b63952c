"""One scale a column, from both samples."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.tables.quantiles import column_limits
from counterpoise.validation import Matrix, warn_user

# A source column whose variance is below this share of the target's says little.
NEARLY_CONSTANT = 1e-6
# Squares of numbers below this one may vanish: columns of such are looked at in a unit.
_TINY = 1e-100
_SMALLEST_WITH_INVERSE = 1e-307
# Sparse rows of more columns than these are taken as text is.
FEW_COLUMNS = 100


def pooled_scale(samples: TwoSamples, names: tuple[str, ...] | None = None) -> Array:
    r"""Return :math:`\sqrt{(var_{source} + var_{target}) / 2}` of every column.

    Rows far outside the bulk count as if they lay at `column_limits`, so that a single
    one does not make all others look alike. Never the source's scale alone: a column
    that hardly varies there would swamp all others. Zero for a column that is constant
    over both samples; a column that is constant in each, at two values, gets a
    thousandth of their distance, so that no row of one sample is near the other.

    Sparse rows of more than 100 columns, as text is, have one scale for all columns
    that vary (`common_scale`): rare words, each divided by its own, would be as large
    as all that tells the samples apart.

    Columns of numbers below 1e-100, whose squares may vanish, are looked at in a power
    of two near their largest number, so that any such multiple has the same scale.

    Warns, with the names, where the source hardly varies and the target does.
    """
    exponents = _exponents(samples)
    if exponents.any():
        lifted = replace(
            samples,
            source=np.ldexp(samples.source, exponents),
            target=np.ldexp(samples.target, exponents),
        )
        return np.ldexp(pooled_scale(lifted, names), -exponents)
    both = _both(samples)
    (mean, variance), (mean_target, variance_target) = [
        _moments(rows, share) for rows, share in both
    ]
    if not sparse.issparse(samples.source):
        low, high = column_limits(both)
        far = np.zeros(low.size, dtype=bool)
        for rows, _ in both:
            far |= (rows.min(axis=0) < low) | (rows.max(axis=0) > high)
        if far.any():
            cut = [
                _moments(np.clip(rows[:, far], low[far], high[far]), share)
                for rows, share in both
            ]
            (mean[far], variance[far]), (mean_target[far], variance_target[far]) = cut
    if is_wide_and_sparse(samples.source):
        return common_scale(np.sqrt(0.5 * (variance + variance_target)), both)
    return scale_of_moments(
        (mean, variance),
        (mean_target, variance_target),
        names,
        # A word that one sample lacks is no accident of its column.
        warns=not sparse.issparse(samples.source),
    )


def scale_of_moments(
    moments: tuple[Array, Array],
    moments_target: tuple[Array, Array],
    names: tuple[str, ...] | None = None,
    *,
    warns: bool = True,
) -> Array:
    """Return the pooled scale, given the means and variances of both samples."""
    (mean, variance), (mean_target, variance_target) = moments, moments_target
    scale = np.sqrt(0.5 * (variance + variance_target))
    apart = np.abs(mean - mean_target)
    # What rounding makes of the variance of a constant is not a scale.
    noise = 1e-13 * np.maximum(np.abs(mean), np.abs(mean_target))
    constant = scale <= noise
    scale = np.where(constant, np.where(apart > 10 * noise, 1e-3 * apart, 0.0), scale)
    flat = (variance < NEARLY_CONSTANT * variance_target) & ~constant
    if flat.any() and warns:
        some = np.flatnonzero(flat)
        listed = [names[k] if names else f"column {k}" for k in some[:10]]
        if some.size > 10:
            listed.append(f"and {some.size - 10} more")
        warn_user(
            f"hardly varies in the source but does in the target: {', '.join(listed)}"
        )
    return scale


def is_wide_and_sparse(X: Any) -> bool:
    """Return whether rows are sparse and have more than 100 columns."""
    return sparse.issparse(X) and X.shape[1] > FEW_COLUMNS


def common_scale(scale: Array, both: list[tuple[Any, Array]]) -> Array:
    r"""Return one scale for all columns, zero for those that are constant.

    It is the median of the columns' own scales, a column counting by how many entries
    it has that are not zero: half of the entries stand in columns of a smaller one.
    """
    mass = np.zeros(scale.size)
    for rows, share in both:
        found = rows.tocsr().copy()
        found.data = (found.data != 0.0).astype(float)
        mass += np.asarray(share @ found).ravel()
    mass[scale <= 0.0] = 0.0
    order = np.argsort(scale, kind="stable")
    below = np.cumsum(mass[order])
    if below[-1] <= 0.0:
        return np.zeros_like(scale)
    middle = scale[order[np.searchsorted(below, 0.5 * below[-1])]]
    return np.where(scale > 0.0, middle, 0.0)


def far_rows(samples: TwoSamples) -> Any:
    """Return which target rows are far outside the bulk in some column."""
    low, high = column_limits(_both(samples))
    return ((samples.target < low) | (samples.target > high)).any(axis=1)


def rows_scaled(samples: TwoSamples, scale: Array) -> TwoSamples:
    """Return both samples with their columns divided by a scale."""
    source, target = samples.source, samples.target
    return replace(
        samples,
        source=scale_columns(source, scale),
        target=scale_columns(target, scale),
    )


def scaled_like(part: TwoSamples, samples: TwoSamples) -> tuple[Array, TwoSamples]:
    """Return the pooled scale of a part, and all rows with columns divided by it."""
    scale = pooled_scale(part)
    return scale, rows_scaled(samples, scale)


def scale_columns(X: Matrix, scale: Array) -> Matrix:
    """Return the columns divided by their scale; constant ones become zero.

    A scale so small that its inverse is no float divides by itself (in sparse rows: by
    the smallest whose inverse is one).
    """
    small = (scale > 0) & (scale < _SMALLEST_WITH_INVERSE)
    safe = np.maximum(scale, _SMALLEST_WITH_INVERSE) if small.any() else scale
    factor = np.divide(1.0, safe, out=np.zeros_like(scale), where=scale > 0)
    if sparse.issparse(X):
        return (X @ sparse.diags_array(factor)).tocsr()
    scaled = X * factor
    if small.any():
        scaled[:, small] = X[:, small] / scale[small]
    return scaled


def unit_exponents(largest: Array) -> Indices:
    """Return powers of two by which columns of tiny numbers become of size one.

    Zero for columns whose largest number is zero, or 1e-100 or more.

    Examples
    --------
    >>> unit_exponents(np.array([0.0, 2.0**-400, 3.0])).tolist()
    [0, 399, 0]
    """
    tiny = (largest > 0.0) & (largest < _TINY)
    return np.where(tiny, -np.frexp(largest)[1], 0)


def _exponents(samples: TwoSamples) -> Indices:
    if sparse.issparse(samples.source):
        return np.zeros(samples.source.shape[1], dtype=int)
    both = (np.abs(rows).max(axis=0) for rows in (samples.source, samples.target))
    return unit_exponents(np.maximum(*both))


def _both(samples: TwoSamples) -> list[tuple[Any, Array]]:
    return [
        (samples.source, samples.source_share),
        (samples.target, samples.target_share),
    ]


def _moments(X: Any, share: Array) -> tuple[Array, Array]:
    """Return the weighted means and variances of the columns."""
    if sparse.issparse(X):
        return sparse_moments(X, share)
    mean = share @ X
    centred = X - mean
    return mean, share @ (centred * centred)


def sparse_moments(X: Any, share: Array) -> tuple[Array, Array]:
    """Return the weighted means and variances of the columns of a sparse matrix."""
    entries = X.tocsr().copy()
    mean = np.asarray(share @ entries).ravel()
    # Mean square minus squared mean would leave of a large constant its rounding.
    entries.data = (entries.data - mean[entries.indices]) ** 2
    variance = np.asarray(share @ entries).ravel()
    entries.data = np.ones_like(entries.data)
    stored = np.asarray(share @ entries).ravel()
    full = np.bincount(entries.indices, minlength=X.shape[1]) == X.shape[0]
    zeros = np.where(full, 0.0, np.maximum(1.0 - stored, 0.0))
    return mean, variance + zeros * mean**2
