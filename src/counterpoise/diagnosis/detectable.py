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
# For normals Wilcoxon's test of the mean, Mood's of the spread and Spearman's of the
# correlation need one over these times the rows of the best ones.
_WILCOXON, _MOOD, _SPEARMAN = 0.955, 0.76, 0.912
# Families of tests, their kinds and sides among which a chance of cells is corrected,
# and what the choice of one cell costs.
_FAMILIES, _KINDS, _SIDES, _CHOSEN = 3, 2, 2, 2
# Kinds of moments of ranks, where there are two columns of numbers.
_MOMENTS = 4


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
    correlation : float
        Of two such columns that were uncorrelated; NaN in files of older versions.
    """

    mean: float
    scale: float
    level: float
    hole: float
    correlation: float = float("nan")

    def to_dict(self) -> dict[str, float]:
        """Return plain numbers."""
        found: dict[str, Any] = asdict(self)
        if np.isnan(self.correlation):
            found["correlation"] = None
        return found

    @classmethod
    def of_dict(cls, told: dict[str, Any]) -> "Detectable":
        """Return what `to_dict` told; older ones tell no correlation."""
        known = {key: float(one) for key, one in told.items() if one is not None}
        return cls(**known)

    def __str__(self) -> str:
        hole = f"{self.hole:.2g}" if self.hole <= 1 else "none, however large,"
        together = f"the correlation of two columns by {self.correlation:.2g}, "
        if np.isnan(self.correlation):
            together = ""
        return (
            "What could have been missed, as less than this is found less than four "
            f"times in five: one column's mean moved by {self.mean:.2g} standard "
            f"deviations, its spread by a factor of {self.scale:.3g}, a category of a "
            f"tenth of the rows by a factor of {self.level:.2g}, {together}a hole in "
            f"the source that holds a share of {hole} of the target."
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
    mean    :math:`(z_{1 - 0.005/k} + z_{0.8})\, e / \sqrt{0.955}` (Wilcoxon)
    scale   :math:`\exp\bigl((z_{1 - 0.005/k} + z_{0.8})\, e / \sqrt{1.52}\bigr)` (Mood)
    correl. :math:`\tanh\bigl((z_{1 - 0.005/l} + z_{0.8})\, e / \sqrt{0.912}\bigr)`
            (Spearman)
    level   f with :math:`0.1 (f - 1) = (z_{1 - a} + z_{0.8})\, e \sqrt{0.1 (1 + f)/2}`,
            :math:`a = 0.01 / (24 K c k)` for K levels, c categories and k kinds of
            columns, 2 where there are numbers beside them (cells)
    hole    `smallest_hole`, in one of the pairs of numbers, times as many kinds of
            pairs as there are
    ======  ==========================================================================

    with k = 4 p and l = 2 p (p - 1) of p columns of numbers (k = 2 of one).

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
    (0.21, 1.18)
    """
    e, often = np.sqrt(1 / n + 1 / m), float(norm.ppf(POWER))
    n_numbers = d - n_categories
    alone, paired = max(n_numbers, 1), max(comb(n_numbers, 2), 1.0)
    z = norm.isf(TEST_LEVEL / 2 / alone / (_MOMENTS if alone > 1 else 2)) + often
    mean = z * e / np.sqrt(_WILCOXON)
    # e enters the logarithm of a scale by the variance of a sample's log deviation.
    scale = np.exp(z * e / np.sqrt(2 * _MOOD))
    z = norm.isf(TEST_LEVEL / 2 / paired / _MOMENTS) + often
    correlation = np.tanh(z * e / np.sqrt(_SPEARMAN))
    n_kinds = 2 if n_numbers and d > 1 else 1
    among = n_kinds * max(n_categories, 1) * max(n_levels, 2)
    part = TEST_LEVEL / (_FAMILIES * _KINDS * _SIDES * _CHOSEN * among)
    reach = ((norm.isf(part) + often) * e) ** 2 / LEVEL_SHARE / 2
    # f - 1 = x solves x^2 = reach (x + 2).
    level = 1 + (reach + np.sqrt(reach**2 + 8 * reach)) / 2
    pairs = [comb(n_numbers, 2), n_numbers * n_categories, comb(n_categories, 2)]
    hole = smallest_hole(n, m, max(pairs[0], 1.0) * max(np.count_nonzero(pairs), 1))
    found = mean, scale, level, hole, correlation
    return Detectable(*map(float, found))
