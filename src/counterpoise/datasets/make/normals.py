"""Densities of Gaussians and their mixtures, by logarithms."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from counterpoise.numerics.arrays import Array

_LARGEST_EXPONENT = float(np.log(np.finfo(np.float64).max))


def log_normals(X: Array, means: Array, scale: float = 1.0) -> Array:
    r"""Log densities of Gaussians at the rows of `X`, less the constant of N(0, I).

    .. math::

        \log N(x;\, \mu_k, s^2 I) + \tfrac{d}{2} \log 2 \pi
        = -\frac{|x - \mu_k|^2}{2 s^2} - d \log s

    Parameters
    ----------
    X : array of shape (n, d)
        The points.
    means : array of shape (k, d) or (d,)
        One mean a row.
    scale : float
        The standard deviation s of every column.

    Returns
    -------
    array of shape (n, k)
    """
    distances = cdist(X, np.atleast_2d(means))
    # A square beyond the largest float is a density of zero, not a mistake.
    with np.errstate(over="ignore"):
        logs: Array = -((distances / scale) ** 2) / 2 - X.shape[1] * np.log(scale)
    return logs


def log_mixture(logs: Array, shares: ArrayLike) -> Array:
    """Log density of the mixture of the columns of `logs`; shares may be zero."""
    mixed: Array = logsumexp(logs, b=np.asarray(shares, dtype=float), axis=1)
    return mixed


def ratio_of(log_target: Array, log_source: Array) -> Array:
    """Ratio of two densities, at most the largest float instead of infinite."""
    return np.exp(np.minimum(log_target - log_source, _LARGEST_EXPONENT))


def ratio_to_standard(X: Array, mean: Array, scale: float) -> Array:
    """Ratio of N(mean, scale**2 I) to N(0, I) at the rows of `X`."""
    target = log_normals(X, mean, scale)
    return ratio_of(target, log_normals(X, np.zeros_like(mean)))[:, 0]


def diagonal(length: float, d: int) -> Array:
    """Return the vector of `d` equal entries whose signed length is `length`."""
    return np.full(d, length / np.sqrt(d))
