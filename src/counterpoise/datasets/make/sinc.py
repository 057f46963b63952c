"""The one-dimensional regression that the literature on density ratios starts from."""

import numpy as np

from counterpoise.datasets.make.normals import log_normals, ratio_of
from counterpoise.datasets.parameters import Seed, check_count, check_finite, generator
from counterpoise.datasets.shift import Shift
from counterpoise.numerics.arrays import Array

_SOURCE_SCALE = 0.5
_TARGET_SCALE = 0.3
_NOISE = 0.1


def make_sinc_shift(
    n: int = 500, m: int = 300, *, mean: float = 0.0, random_state: Seed = None
) -> Shift:
    r"""Regression in one dimension, its target narrower than its source.

    .. math::

        x_{\text{source}} \sim N(\text{mean}, 0.5^2), \quad
        x_{\text{target}} \sim N(0, 0.3^2), \quad
        y = -2 x^3 + 3 \frac{\sin \pi x}{\pi x} + 1 + N(0, 0.1^2)

    Parameters
    ----------
    n : int
        Number of source rows.
    m : int
        Number of target rows.
    mean : float
        Mean of the source; at 0 the two differ in width alone, at 0.5 in place too.
    random_state : int, Generator, RandomState or None
        Where the draws come from; the same integer gives the same bytes.

    Returns
    -------
    Shift
        Its ratio is the exact ratio of the two densities, of expectation one over the
        source, and is bounded.

    Examples
    --------
    >>> from counterpoise.datasets import make_sinc_shift
    >>> shift = make_sinc_shift(random_state=0)
    >>> bool(shift.ratio.max() <= 0.5 / 0.3)
    True
    """
    check_count("n", n)
    check_count("m", m)
    check_finite("mean", mean)
    rng = generator(random_state)
    X = mean + _SOURCE_SCALE * rng.standard_normal((n, 1))
    X_target = _TARGET_SCALE * rng.standard_normal((m, 1))
    return Shift(
        X=X,
        y=_respond(X, rng),
        X_target=X_target,
        y_target=_respond(X_target, rng),
        ratio=_ratio(X, mean),
        ratio_target=_ratio(X_target, mean),
    )


def _ratio(X: Array, mean: float) -> Array:
    target = log_normals(X, np.zeros(1), _TARGET_SCALE)
    source = log_normals(X, np.full(1, mean), _SOURCE_SCALE)
    return ratio_of(target, source)[:, 0]


def _respond(X: Array, rng: np.random.Generator) -> Array:
    x = X[:, 0]
    noise = _NOISE * rng.standard_normal(len(x))
    y: Array = -2 * x**3 + 3 * np.sinc(x) + 1 + noise
    return y
