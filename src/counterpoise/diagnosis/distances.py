"""How far apart one column is in two samples: arrays in, numbers out."""

import numpy as np
from scipy import stats

from counterpoise.numerics.arrays import Array

# Cells of a table of counts with less expected in either sample are pooled; with two
# cells left, and less than the second expected, the test is exact.
_LEAST_EXPECTED, _ENOUGH = 1.0, 5.0


def standardized_difference(
    values: Array, target: Array, share: Array, target_share: Array
) -> float | None:
    r"""Return the difference of the means in pooled standard deviations.

    .. math::

        \mathrm{SMD} = \frac{\bar t - \bar x}{\sqrt{(s_x^2 + s_t^2) / 2}}, \quad
        \bar x = \sum_i p_i x_i, \quad s_x^2 = \sum_i p_i (x_i - \bar x)^2

    None where both samples are constant, at two values.

    Parameters
    ----------
    values, target : array of shape (n,), (m,)
        The column in the source and in the target.
    share, target_share : array of shape (n,), (m,)
        What a row counts in a mean over its sample; they sum to one.

    Examples
    --------
    >>> half = np.full(2, 0.5)
    >>> standardized_difference(np.array([0.0, 2]), np.array([1.0, 3]), half, half)
    1.0
    """
    # Divided first: the square of a large number overflows.
    scale = max(float(np.abs(values).max()), float(np.abs(target).max()))
    if scale == 0:
        return 0.0
    mean, variance = _moments(values / scale, share)
    mean_target, variance_target = _moments(target / scale, target_share)
    return standardized(mean, mean_target, variance, variance_target)


def standardized(
    mean: float, mean_target: float, variance: float, variance_target: float
) -> float | None:
    """Return the difference of two means in pooled standard deviations."""
    apart, spread = mean_target - mean, np.sqrt((variance + variance_target) / 2)
    if spread > 0:
        return float(apart / spread)
    return 0.0 if apart == 0 else None


def ks_distance(
    values: Array, target: Array, share: Array, target_share: Array
) -> float:
    r"""Return the largest distance of the two distribution functions.

    .. math::

        \max_z \Bigl| \sum_{x_i \le z} p_i - \sum_{t_j \le z} q_j \Bigr|

    Parameters
    ----------
    values, target : array of shape (n,), (m,)
        The column in the source and in the target.
    share, target_share : array of shape (n,), (m,)
        What a row counts in a mean over its sample; they sum to one.

    References
    ----------
    A. Kolmogorov, 1933. N. Smirnov, 1939.

    Examples
    --------
    >>> half = np.full(2, 0.5)
    >>> ks_distance(np.array([0.0, 2]), np.array([1.0, 3]), half, half)
    0.5
    """
    n, m = values.size, target.size
    if _are_equal(share) and _are_equal(target_share):
        ordered, ordered_target = np.sort(values), np.sort(target)
        apart = 0.0
        for at in (ordered, ordered_target):
            below = np.searchsorted(ordered, at, side="right") / n
            below -= np.searchsorted(ordered_target, at, side="right") / m
            apart = max(apart, float(np.abs(below).max()))
        return min(apart, 1.0)
    orders = np.argsort(values), np.argsort(target)
    both = np.concatenate([values[orders[0]], target[orders[1]]])
    # A stable sort merges two that are in order already in one pass.
    merged = np.argsort(both, kind="stable")
    both = both[merged]
    steps = np.concatenate([share[orders[0]], -target_share[orders[1]]])
    ahead = np.cumsum(steps[merged])
    # Between equal values there is no place to look.
    last = np.append(both[1:] != both[:-1], True)
    return min(float(np.abs(ahead[last]).max()), 1.0)


def ks_p_value(distance: float, n: float, m: float) -> float:
    """Return the chance of a distance as large between two samples drawn alike.

    That of one sample of n m / (n + m) rows and its distribution, as in scipy's
    ``ks_2samp(method="asymp")``. With weights, n and m are effective sizes.
    """
    return float(ks_p_values(*np.array([[distance], [n], [m]]))[0])


def ks_p_values(distances: Array, n: Array, m: Array) -> Array:
    """Return `ks_p_value` of many distances, in one call."""
    sizes = np.maximum(np.round(n * m / (n + m)), 1)
    out: Array = stats.kstwo.sf(distances, sizes)
    return out


def shares_p_value(shares: Array, target_shares: Array, n: float, m: float) -> float:
    """Return the chance of shares as different in two samples drawn alike.

    Pearson's test of equal shares. Categories of which less than one row is expected
    in either sample are pooled; where two are left and less than five rows expected,
    the test is Fisher's. With weights, n and m are effective sizes.

    Parameters
    ----------
    shares, target_shares : array of shape (k,)
        What each category has of either sample; they sum to one.
    n, m : float
        Number of rows.
    """
    counts = np.stack([n * shares, m * target_shares])
    counts = _pooled(counts[:, counts.sum(axis=0) > 0])
    if counts.shape[1] < 2:
        return 1.0
    expected = np.outer([n, m], counts.sum(axis=0)) / (n + m)
    if counts.shape[1] == 2 and expected.min() < _ENOUGH:
        return float(stats.fisher_exact(np.round(counts).astype(int)).pvalue)
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return float(stats.chi2.sf(statistic, counts.shape[1] - 1))


def means_p_value(
    apart: Array, variance: Array, variance_target: Array, n: float, m: float
) -> Array:
    """Return the chance of means as far apart in two samples drawn alike.

    By the normal distribution, with the variance of both samples together.
    """
    together = (n * variance + m * variance_target) / (n + m)
    together = together + n * m / (n + m) ** 2 * apart**2
    error = np.sqrt(together * (1 / n + 1 / m))
    z = np.divide(apart, error, out=np.zeros_like(error), where=error > 0)
    p: Array = 2 * stats.norm.sf(np.abs(z))
    return p


def holm(p_values: Array) -> Array:
    """Return p-values corrected for their number (Holm).

    With k of them in order, the i-th is multiplied by k - i + 1, and none is below one
    before it: the chance that any of those below a level is a false alarm is at most
    that level, however they depend on each other.

    References
    ----------
    S. Holm, 1979.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(p_values.size, 0, -1)
    corrected = np.empty_like(p_values)
    corrected[order] = np.minimum(np.maximum.accumulate(factors * p_values[order]), 1)
    return corrected


def _are_equal(share: Array) -> bool:
    return bool(share.min() == share.max())


def _moments(values: Array, share: Array) -> tuple[float, float]:
    if values.min() == values.max():
        return float(values[0]), 0.0
    mean = float(share @ values)
    return mean, float(share @ (values - mean) ** 2)


def _pooled(counts: Array) -> Array:
    """Return the cells, those with too little expected in either sample as one."""
    totals = counts.sum(axis=1)
    least = counts.sum(axis=0) * totals.min() / totals.sum()
    order = np.argsort(-least, kind="stable")
    enough = int(np.count_nonzero(least >= _LEAST_EXPECTED))
    if enough == counts.shape[1]:
        return counts
    rest = float(least[order[enough:]].sum())
    # A rest that is too small itself goes to the smallest cell that is not.
    kept = enough if rest >= _LEAST_EXPECTED or enough < 2 else enough - 1
    pool = counts[:, order[kept:]].sum(axis=1)
    return np.column_stack([counts[:, order[:kept]], pool])
