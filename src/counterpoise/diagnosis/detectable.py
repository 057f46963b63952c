"""What could have been missed: the smallest shift of each kind that would be found."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import comb
from scipy.stats import norm

from counterpoise.diagnosis.smallest_hole import POWER, smallest_hole
from counterpoise.numerics.arrays import Array
from counterpoise.samples.domain_scores import TEST_LEVEL
from counterpoise.samples.effective_size import effective_sample_size
from counterpoise.tables.columns import Table

# A level that so many of the rows have.
LEVEL_SHARE = 0.1
# Mood's test of the spread needs 1 / 0.76 times the rows of the best one for normals.
_MOOD = 0.76
# Families of tests and sides among which a chance of cells is corrected, and what the
# choice of one cell costs.
_FAMILIES, _SIDES, _CHOSEN = 3, 2, 2


@dataclass(frozen=True)
class Detectable:
    """The smallest shift of one kind that is found with a chance of 0.8.

    Attributes
    ----------
    mean : float
        Of one column of normal numbers, in standard deviations.
    scale : float
        Factor by which the spread of one such column grows.
    level : float
        Factor by which a category of a tenth of the rows becomes commoner.
    hole : float
        Share of the target that lies where, in a column or a pair, the source has no
        rows; more than one if no share would be found.
    """

    mean: float
    scale: float
    level: float
    hole: float

    def to_dict(self) -> dict[str, float]:
        """Return plain numbers."""
        found: dict[str, Any] = asdict(self)
        return found

    def __str__(self) -> str:
        hole = f"{self.hole:.2g}" if self.hole <= 1 else "none, however large,"
        return (
            "What could have been missed, as less than this is found less than four "
            f"times in five: one column's mean moved by {self.mean:.2g} standard "
            f"deviations, its spread by a factor of {self.scale:.3g}, a category of a "
            f"tenth of the rows by a factor of {self.level:.2g}, a hole in the source "
            f"that holds a share of {hole} of the target."
        )


def detectable_of(source: Table, w: Array, v: Array) -> Detectable:
    """Return what would be found in samples of these rows and columns.

    Parameters
    ----------
    source : Table
    w, v : array of shape (n,), (m,)
        What the rows count.
    """
    levels = [len(column.categories) for column in source.columns if column.categories]
    n, m = (effective_sample_size(one) for one in (w, v))
    d = len(source.columns)
    return detectable(n, m, d, max([2, *levels]), n_categories=len(levels))


def detectable(
    n: float, m: float, d: int, n_levels: int = 2, n_categories: int = 0
) -> Detectable:
    r"""Return the smallest shifts that the tests of `diagnose` find.

    With :math:`e = \sqrt{1/n + 1/m}`, :math:`z_p` normal quantiles, each test at a
    level of 0.01 and corrected for what it looks at:

    ======  ==========================================================================
    mean    :math:`2 \Phi^{-1}((1 + D)/2)`, :math:`D = e \sqrt{\log(2 d / 0.01) / 2}`
            (Kolmogorov and Smirnov; the largest distance in two samples exceeds the
            true one about as much as chance may lower it)
    scale   :math:`\exp\bigl((z_{1 - 0.005/d} + z_{0.8})\, e / \sqrt{1.52}\bigr)` (Mood)
    level   f with :math:`0.1 (f - 1) = (z_{1 - a} + z_{0.8})\, e \sqrt{0.1 (1 + f)/2}`,
            :math:`a = 0.01 / (12 K c k)` for K levels, c categories and k kinds of
            columns, 2 where there are numbers beside them (cells)
    hole    `smallest_hole`, in one of the pairs of numbers, times as many kinds of
            pairs as there are
    ======  ==========================================================================

    Parameters
    ----------
    n, m : float
        Effective sizes.
    d : int
        Number of columns.
    n_levels : int
        Levels of the category that has most.
    n_categories : int
        How many of the columns are categories; of none, what is told of a level is
        told of one among the columns.

    Examples
    --------
    >>> found = detectable(1000, 1000, d=10)
    >>> round(found.mean, 2), round(found.scale, 2)
    (0.22, 1.16)
    """
    e, often = np.sqrt(1 / n + 1 / m), float(norm.ppf(POWER))
    distance = e * np.sqrt(np.log(2 * d / TEST_LEVEL) / 2)
    mean = 2 * norm.ppf((1 + min(distance, 1.0)) / 2)
    z = norm.isf(TEST_LEVEL / 2 / d) + often
    # e enters the logarithm of a scale by the variance of a sample's log deviation.
    scale = np.exp(z * e / np.sqrt(2 * _MOOD))
    n_numbers = d - n_categories
    n_kinds = 2 if n_numbers and d > 1 else 1
    among = n_kinds * max(n_categories, 1) * max(n_levels, 2)
    part = TEST_LEVEL / (_FAMILIES * _SIDES * _CHOSEN * among)
    reach = ((norm.isf(part) + often) * e) ** 2 / LEVEL_SHARE / 2
    # f - 1 = x solves x^2 = reach (x + 2).
    level = 1 + (reach + np.sqrt(reach**2 + 8 * reach)) / 2
    pairs = [comb(n_numbers, 2), n_numbers * n_categories, comb(n_categories, 2)]
    hole = smallest_hole(n, m, max(pairs[0], 1.0) * max(np.count_nonzero(pairs), 1))
    return Detectable(float(mean), float(scale), float(level), float(hole))
