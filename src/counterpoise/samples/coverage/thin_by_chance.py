"""Which share of thinly covered rows chance explains, and how many rows tell more."""

from itertools import count

import numpy as np

from counterpoise.numerics.arrays import Array

# A target row is thinly covered where only the outermost 0.5 % of the source rows are.
THIN_QUANTILE = 0.995
# Above this share of the target the samples overlap in part.
THIN_ABOVE = 0.05


def as_share(parts: Array) -> float:
    """Return the sum of shares of rows, between zero and one whatever the rounding.

    Examples
    --------
    >>> as_share(np.full(3, 1 / 3 + 1e-9)), as_share(np.array([]))
    (1.0, 0.0)
    """
    return float(np.clip(parts.sum(), 0.0, 1.0))


def thin_by_chance(n: float, m: float) -> float:
    """Return a share that `thin` hardly exceeds if n and m rows are drawn alike.

    Above the threshold lie k of n source rows, k at most 0.5 %, so about (k + 1) / n of
    either distribution; the limit is three standard errors above that, one from each
    sample.

    Examples
    --------
    >>> round(thin_by_chance(1000, 1000), 3), round(thin_by_chance(20, 20), 3)
    (0.016, 0.25)
    """
    outermost = np.floor((1 - THIN_QUANTILE) * n + 1e-9) + 1
    expected = outermost / (n + 1)
    error = np.sqrt(outermost / (n + 1) ** 2 + expected * (1 - expected) / m)
    return float(expected + 3 * error)


def rows_that_tell() -> int:
    """Return how many rows of each sample tell a thin share from chance.

    The smallest n for which chance (`thin_by_chance`) explains no more than the 5 % of
    thinly covered rows from which on the samples overlap in part.

    Examples
    --------
    >>> rows_that_tell()
    104
    """
    return next(n for n in count(2) if thin_by_chance(n, n) <= THIN_ABOVE)
