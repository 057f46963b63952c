"""Two Gaussians of any dimension, apart by a known length and width."""

import numpy as np

from counterpoise.datasets.make.normals import diagonal, ratio_to_standard
from counterpoise.datasets.parameters import (
    Seed,
    check_count,
    check_finite,
    check_positive,
    generator,
)
from counterpoise.datasets.shift import Shift
from counterpoise.numerics.arrays import Array

_NOISE = 0.1


def make_gaussian_shift(
    d: int = 1,
    n: int = 500,
    m: int = 500,
    *,
    shift: float = 0.5,
    scale: float = 0.9,
    random_state: Seed = None,
) -> Shift:
    r"""Regression in `d` dimensions, source and target Gaussian.

    .. math::

        x_{\text{source}} \sim N(0, I), \quad
        x_{\text{target}} \sim N(\mu, \text{scale}^2 I), \quad
        \mu_j = \text{shift} / \sqrt{d}

    and in both, with :math:`u = \sum_j x_j / \sqrt{d}` the coordinate along the shift,

    .. math:: y = u + u^2 / 2 + N(0, 0.1^2),

    so the mean of y is 1/2 in the source and
    :math:`\text{shift} + (\text{shift}^2 + \text{scale}^2) / 2` in the target, and a
    straight line fitted to the source is not the best one for the target.

    Parameters
    ----------
    d : int
        Number of columns.
    n : int
        Number of source rows.
    m : int
        Number of target rows.
    shift : float
        Length of the vector from the source's mean to the target's, which points
        along the diagonal (against it if negative).
    scale : float
        Standard deviation of every column of the target.
    random_state : int, Generator, RandomState or None
        Where the draws come from; the same integer gives the same bytes.

    Returns
    -------
    Shift
        Its ratio is the exact ratio of the two densities, of expectation one over the
        source. It is bounded where `scale` < 1, and has a finite variance where
        `scale` < sqrt(2). A value beyond the largest float is that float.

    Examples
    --------
    One column, the target one standard deviation to the right, where y has mean 2:

    >>> from counterpoise.datasets import make_gaussian_shift
    >>> shift = make_gaussian_shift(n=100_000, shift=1, scale=1, random_state=0)
    >>> round(float((shift.ratio * shift.y).mean()), 1)
    2.0
    """
    check_count("d", d)
    check_count("n", n)
    check_count("m", m)
    check_finite("shift", shift)
    check_positive("scale", scale)
    rng = generator(random_state)
    mean = diagonal(shift, d)
    X = rng.standard_normal((n, d))
    X_target = mean + scale * rng.standard_normal((m, d))
    return Shift(
        X=X,
        y=curved_response(X, rng),
        X_target=X_target,
        y_target=curved_response(X_target, rng),
        ratio=ratio_to_standard(X, mean, scale),
        ratio_target=ratio_to_standard(X_target, mean, scale),
    )


def curved_response(X: Array, rng: np.random.Generator) -> Array:
    """Labels u + u**2 / 2 plus noise of sd 0.1, u the coordinate on the diagonal."""
    u = X @ diagonal(1.0, X.shape[1])
    y: Array = u + u**2 / 2 + _NOISE * rng.standard_normal(len(u))
    return y
