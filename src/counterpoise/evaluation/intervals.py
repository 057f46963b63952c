"""Intervals: by standard errors, by resampling, and what several of them span."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from counterpoise.numerics.arrays import Array

# Rows that are worth fewer than this many make no narrower quantile than these would.
_FEWEST_EFFECTIVE = 3.0


@dataclass(frozen=True)
class Interval:
    """A value with its lower and upper end."""

    value: float
    low: float
    high: float

    def within(self, lowest: float, highest: float) -> "Interval":
        """Return the interval cut to where the value can lie at all."""
        value, low, high = np.clip([self.value, self.low, self.high], lowest, highest)
        return Interval(float(value), float(low), float(high))


def student_interval(
    value: float, error: float, effective_rows: float, level: float
) -> Interval:
    """Return the value and as many standard errors as its rows allow.

    The quantile is Student's with one degree of freedom less than effective rows.

    Examples
    --------
    >>> round(student_interval(1.0, 0.1, 11, 0.95).high, 3)
    1.223
    """
    reach = student_quantile(effective_rows, level) * error
    return Interval(value, value - reach, value + reach)


def student_quantile(effective_rows: float, level: float) -> float:
    """Return how many standard errors make an interval of the level."""
    freedom = max(effective_rows, _FEWEST_EFFECTIVE) - 1
    return float(stats.t.ppf(0.5 + level / 2, freedom))


def weighted_mean_error(values: Array, share: Array) -> float:
    r"""Return :math:`\sqrt{\sum_i p_i^2 (v_i - \bar v)^2}` of a mean with shares p.

    Examples
    --------
    >>> round(weighted_mean_error(np.array([0.0, 1.0]), np.array([0.5, 0.5])), 4)
    0.3536
    """
    centred = values - share @ values
    return float(np.sqrt(share**2 @ centred**2))


def skewness_of_mean(values: Array, share: Array) -> float:
    r"""Return the skewness of a mean with shares p, between minus one and one.

    .. math:: \sum_i p_i^3 (v_i - \bar v)^3 / \Bigl(\sum_i p_i^2 (v_i - \bar v)^2
        \Bigr)^{3/2}

    Examples
    --------
    >>> round(skewness_of_mean(np.array([0.0, 0.0, 0.0, 1.0]), np.full(4, 0.25)), 3)
    0.577
    """
    centred = share * (values - share @ values)
    spread = float(np.sqrt(centred @ centred))
    # Divided first: cubes of small numbers vanish.
    return float(np.clip(((centred / spread) ** 3).sum(), -1, 1)) if spread > 0 else 0.0


def hull(middle: float, *intervals: Interval) -> Interval:
    """Return the smallest interval around all, with the value `middle`.

    Examples
    --------
    >>> hull(1.0, Interval(1, 0, 2), Interval(2, 1, 3))
    Interval(value=1.0, low=0, high=3)
    """
    return Interval(
        middle, min(i.low for i in intervals), max(i.high for i in intervals)
    )


def resampled(
    value_of: Callable[[Array], float], weights: Array, n_resamples: int, seed: int
) -> Array:
    """Return the value for rows drawn again, as often as it is defined.

    Parameters
    ----------
    value_of : callable
        Takes the weights of all rows; a row that was drawn k times has k times its
        weight.
    weights : array of shape (n,)
    n_resamples : int
    seed : int
    """
    rng = np.random.default_rng(seed)
    n = weights.size
    found = []
    for _ in range(n_resamples):
        drawn = np.bincount(rng.integers(0, n, n), minlength=n)
        try:
            value = float(value_of(weights * drawn))
        except (ValueError, ZeroDivisionError):  # a class was not drawn
            continue
        if np.isfinite(value):
            found.append(value)
    return np.array(found)
