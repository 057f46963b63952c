"""How well scores tell two samples apart where rows belong together."""

import numpy as np
from scipy.stats import t as student

from counterpoise.numerics.arrays import Array, Indices


def auc_of_units(
    scores: Array,
    scores_target: Array,
    share: Array,
    share_target: Array,
    units: Indices,
    test_level: float,
    level: float,
) -> tuple[float, float, float, float]:
    r"""Return the AUC, the ends of its interval, and the chance of it.

    As in `domain_score`, with units in place of rows. The influence of a row on the
    AUC, :math:`q_j (V_j - A)`, is summed over the rows of its unit before it is squared
    (Obuchowski), and

    .. math:: e^2 = \sum_u \Bigl(\sqrt{\tfrac{G}{G - 1}} \sum_{i \in u} p_i (V_i - A)
        + \sqrt{\tfrac{H}{H - 1}} \sum_{j \in u} q_j (V_j - A)\Bigr)^2

    with G and H the numbers of units in source and target. The error for equal
    distributions is the same of :math:`r - 1/2`, r the rank of a row among both
    samples, instead of V - A. Quantiles are Student's, of min(G, H) - 1 degrees of
    freedom.

    Parameters
    ----------
    scores, scores_target : array of shape (n,), (m,)
    share, share_target : array of shape (n,), (m,)
        They sum to one.
    units : array of int of shape (n + m,)
        Numbers of the units of the source's rows, then of the target's.
    test_level : float
        Where the chance is not below it, the interval reaches down to one half.
    level : float
        Of the interval.

    References
    ----------
    N. Obuchowski, 1997.
    """
    n = scores.size
    above_source = share_below(scores_target, scores, share)
    above_target = share_below(scores, scores_target, share_target)
    auc = min(float(share_target @ above_source), 1.0)
    sizes = np.unique(units[:n]).size, np.unique(units[n:]).size
    error = _error(
        (1 - above_target - auc, above_source - auc), share, share_target, units, sizes
    )
    ranks = [
        (
            share_below(own, scores, share)
            + share_below(own, scores_target, share_target)
        )
        / 2
        for own in (scores, scores_target)
    ]
    by_chance = max(
        error,
        _error((0.5 - ranks[0], ranks[1] - 0.5), share, share_target, units, sizes),
    )
    df = max(min(sizes) - 1, 1)
    reach = float(student.ppf(0.5 + level / 2, df)) * error
    low, high = max(auc - reach, 0.0), min(auc + reach, 1.0)
    chance = float(student.sf((auc - 0.5) / (np.sqrt(2) * by_chance), df))
    if chance >= test_level:
        low = min(low, 0.5)
    return auc, low, high, chance


def share_below(values: Array, others: Array, share: Array) -> Array:
    """Return the share of the others below each value, ties counted half."""
    order = np.argsort(others)
    cumulative = np.concatenate([[0.0], np.cumsum(share[order])])
    below = cumulative[np.searchsorted(others, values, side="left", sorter=order)]
    up_to = cumulative[np.searchsorted(others, values, side="right", sorter=order)]
    return (below + up_to) / (2 * cumulative[-1])


def _error(
    influence: tuple[Array, Array],
    share: Array,
    share_target: Array,
    units: Indices,
    sizes: tuple[int, int],
) -> float:
    factors = [np.sqrt(size / max(size - 1, 1)) for size in sizes]
    parts = np.concatenate(
        [factors[0] * share * influence[0], factors[1] * share_target * influence[1]]
    )
    return float(np.sqrt((np.bincount(units, parts) ** 2).sum()))
