"""The smallest hole in the source that the tests of cells find."""

import math

import numpy as np
from scipy.stats import norm

from counterpoise.numerics.arrays import Array
from counterpoise.samples.cells import chance_of_cells, cuts_of_pairs
from counterpoise.samples.domain_scores import TEST_LEVEL

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
