"""The smallest shift and the smallest uncovered region that could be detected."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import comb
from scipy.stats import norm

from counterpoise.data.table import Table
from counterpoise.data.two_samples import effective_sample_size
from counterpoise.linalg.arrays import Array
from counterpoise.messages import INFO, Finding
from counterpoise.shift.domain_classifier import TEST_LEVEL
from counterpoise.shift.two_sample_tests import chance_of_cells, cuts_of_pairs

# -----------------------------------------------------------------------------
# The smallest hole in the source that the tests of cells find.
# -----------------------------------------------------------------------------


# A shift of the size told is found with about this chance.
POWER = 0.8
# How far the middle of a hole is from the next corner of cells, in cells: half way
# between the worst place and the best.
_OFF_CORNER = 0.25
# Counts of source rows vary too, and so does the place of a hole: with so much more a
# hole is found four times in five, over drawn samples of many sizes.
_MORE = 1.25
# Families of tests, their kinds, sides and cuts among which a chance is corrected.
_FAMILIES, _KINDS, _SIDES, _CUTS = 3, 2, 2, 2
# A share is told to a part of this.
_FINE_ENOUGH = 1e-3


def smallest_hole(n: float, m: float, among: float) -> float:
    r"""Return the least share of the target that lies in a hole which is found.

    The hole is a square in the ranks of two columns. Cut into g x g cells, its middle a
    quarter of a cell from a corner of cells in both columns, it covers the part
    :math:`u_c` of a cell, which then holds :math:`t = m / g^2` rows of the target and
    :math:`s = (1 - u_c) n / (g^2 (1 - h))` of the source. With the chance of these
    counts by `cell_tests`, each t lowered by what four draws of five exceed,

    .. math:: z_{0.8} \frac{u_c t}{\sqrt{h m}}, \quad \text{a share of }
        z_{0.8} \sqrt{h m} \text{ rows,}

    a hole is found if the chance, times 24 `among` (three families of tests of two
    kinds, two sides, two cuts), is at most 0.01 by one of the cuts. What is returned is
    1.25 times that share, by simulation: the source's counts and a hole's place vary as
    well.

    Parameters
    ----------
    n, m : float
        Effective sizes.
    among : float
        How many pairs of columns are tested.

    Returns
    -------
    float
        More than one if none would be found.

    Examples
    --------
    >>> round(smallest_hole(1000, 1000, among=45), 3)
    0.096
    """
    low, high = 0.0, 1.0
    while high - low > _FINE_ENOUGH * high:
        middle = (low + high) / 2
        if _is_found(middle, n, m, among):
            high = middle
        else:
            low = middle
    return _MORE * high


def _is_found(share: float, n: float, m: float, among: float) -> bool:
    among *= _FAMILIES * _KINDS * _SIDES * _CUTS
    return any(
        among * _chance(share, n, m, cut) <= TEST_LEVEL for cut in cuts_of_pairs(n + m)
    )


def _chance(share: float, n: float, m: float, cut: int) -> float:
    """Return the chance of the counts of cells around a hole of this share."""
    covered = np.outer(*[_covered(math.sqrt(share), cut)] * 2).ravel()
    fewer = norm.ppf(POWER) * covered * m / cut**2 / math.sqrt(share * m)
    t = np.maximum(m / cut**2 - fewer, 0.0)
    s = (1.0 - covered) * n / cut**2 / (1.0 - share)
    return chance_of_cells(s, t, n / (n + m))


def _covered(side: float, cut: int) -> Array:
    """Return which part of each of the cells of a line a side of a hole covers."""
    middle = (cut // 2 + _OFF_CORNER) / cut
    low = np.clip(middle - side / 2, 0.0, 1.0 - side)
    ends = np.arange(cut + 1) / cut
    inside = np.clip(ends, low, low + side)
    parts: Array = np.diff(inside) * cut
    return parts


# -----------------------------------------------------------------------------
# What could have been missed: the smallest shift of each kind that would be found.
# -----------------------------------------------------------------------------


# A level that so many of the rows have.
LEVEL_SHARE = 0.1
# For normals Wilcoxon's test of the mean, Mood's of the spread and Spearman's of the
# correlation need one over these times the rows of the best ones.
_WILCOXON, _MOOD, _SPEARMAN = 0.955, 0.76, 0.912
# Families of tests, their kinds and sides among which a chance of cells is corrected,
# and what the choice of one cell costs.
_SHIFT_FAMILIES, _SHIFT_KINDS, _SHIFT_SIDES, _CHOSEN = 3, 2, 2, 2
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

    @property
    def finding(self) -> Finding:
        """What could have been missed."""
        hole = f"{self.hole:.2g}" if self.hole <= 1 else "none, however large,"
        values: dict[str, object] = {
            "mean": self.mean,
            "scale": self.scale,
            "level": self.level,
        }
        correlation: Finding | str = ""
        if not np.isnan(self.correlation):
            correlation = Finding(
                "detectable_correlation", INFO, {"correlation": self.correlation}
            )
        values |= {"hole": hole, "correlation": correlation}
        return Finding("detectable", INFO, values)

    def __str__(self) -> str:
        return str(self.finding)


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
    part = TEST_LEVEL / (
        _SHIFT_FAMILIES * _SHIFT_KINDS * _SHIFT_SIDES * _CHOSEN * among
    )
    reach = ((norm.isf(part) + often) * e) ** 2 / LEVEL_SHARE / 2
    # f - 1 = x solves x^2 = reach (x + 2).
    level = 1 + (reach + np.sqrt(reach**2 + 8 * reach)) / 2
    pairs = [comb(n_numbers, 2), n_numbers * n_categories, comb(n_categories, 2)]
    hole = smallest_hole(n, m, max(pairs[0], 1.0) * max(np.count_nonzero(pairs), 1))
    found = mean, scale, level, hole, correlation
    return Detectable(*map(float, found))
