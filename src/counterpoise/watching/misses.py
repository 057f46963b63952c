r"""How far earlier estimates missed what labels showed, and what later ones owe to it.

An estimate without labels holds if p(y | x) is what it was. Labels tell whether it is:
of an earlier chunk k let :math:`\delta_k` be the mean loss of its labelled rows (30 at
least) less its estimate, and :math:`\sigma_k^2` the variance that rows and labels drawn
by chance give that difference. While

.. math:: Q = \sum_{k=1}^K \delta_k^2 / \sigma_k^2

is at most the 95 % quantile of chi-squared with K degrees of freedom, chance explains
the misses. Above it, every later interval counts

.. math:: \tau^2 = \max\Bigl(0, \frac1K \sum_k (\delta_k^2 - \sigma_k^2)\Bigr)

besides its own variance :math:`s^2`, with the degrees of freedom of Welch and
Satterthwaite, :math:`(s^2 + \tau^2)^2 / (s^4 / \nu + \tau^4 / K)`. The estimate itself
stays: an interval that has become wide says that it cannot be believed.

The reference has misses of its own: ten blocks of its rows in the order in which they
were given, each against all. In the order of time they show how the relation of labels
to rows wanders; shuffled rows show nothing. The larger of both variances counts.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from counterpoise.numerics.arrays import Array

BLOCKS_OF_REFERENCE, FEWEST_LABELS = 10, 30
_EXPLAINED_BY_CHANCE = 0.95


class Missed(NamedTuple):
    """The variance of estimates beyond chance, and of how many misses it is known."""

    variance: float
    times: int


NOTHING = Missed(0.0, 0)


def misses_of_blocks(rest: Array) -> list[tuple[float, float]]:
    """Return miss and variance of each block of a reference, by its residuals.

    None where blocks would have fewer than 30 rows.
    """
    if rest.size < BLOCKS_OF_REFERENCE * FEWEST_LABELS:
        return []
    noise, parts = float(rest.var(ddof=1)), np.array_split(rest, BLOCKS_OF_REFERENCE)
    # A block is a part of what it is compared with.
    return [
        (float(part.mean() - rest.mean()), noise * (1.0 / part.size - 1.0 / rest.size))
        for part in parts
    ]


def missed(misses: Iterable[tuple[float, float]]) -> Missed:
    """Return what chance does not explain of misses.

    Examples
    --------
    >>> missed([(0.1, 0.01), (-0.1, 0.01)])
    Missed(variance=0.0, times=2)
    >>> missed([(0.5, 0.01), (0.3, 0.01)])
    Missed(variance=0.16, times=2)
    """
    pairs = np.array([pair for pair in misses if pair[1] > 0.0]).reshape(-1, 2)
    squares, variances = pairs[:, 0] ** 2, pairs[:, 1]
    count = len(pairs)
    if not count:
        return NOTHING
    if (squares / variances).sum() <= chi2.ppf(_EXPLAINED_BY_CHANCE, count):
        return Missed(0.0, count)
    return Missed(max(0.0, float((squares - variances).mean())), count)
