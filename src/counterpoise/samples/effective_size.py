"""What weights are worth, and how to make them less extreme."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Array
from counterpoise.validation import InvalidInput, check_number


def effective_sample_size(w: Any) -> float:
    r"""Return :math:`(\sum w)^2 / \sum w^2`, the number of equally weighted rows.

    It says how much averaging the weights leave, and nothing about overlap: disjoint
    samples can show n of n.

    Examples
    --------
    >>> effective_sample_size([1.0, 1.0, 0.0, 0.0])
    2.0
    """
    w = _checked(w)
    peak = float(w.max())
    if peak == 0:
        return 0.0
    # The square of a large weight overflows.
    scaled = w / peak
    return float(scaled.sum()) ** 2 / float(scaled @ scaled)


def powers(weights: Array, exponents: Sequence[float]) -> list[Array]:
    """Return the weights to several powers, each scaled to mean one."""
    base = _of_mean_one(_checked(weights))
    return [_of_mean_one(base**exponent) for exponent in exponents]


def flatten(weights: Any, exponent: float) -> Array:
    """Return the weights to a power, scaled to mean one.

    Exponent 1 leaves them, 0 makes them uniform, 1/2 is a good compromise.

    Examples
    --------
    >>> flatten([1.0, 4.0], 0.5).round(3)
    array([0.667, 1.333])
    """
    check_number("exponent", exponent, low=0.0, high=1.0)
    return _of_mean_one(_of_mean_one(_checked(weights)) ** exponent)


def clip(weights: Any, bound: float) -> Array:
    """Return weights of mean one, none above `bound`, in the same order.

    The largest weights are cut at the level at which, after scaling to mean one, the
    largest is `bound`. Where too few weights are positive for that, those become
    `bound`, and the rows of weight zero share what is left.

    Examples
    --------
    >>> clip([0.5, 0.5, 0.5, 2.5], 1.6)
    array([0.8, 0.8, 0.8, 1.6])
    """
    check_number("bound", bound, low=1.0)
    w = _of_mean_one(_checked(weights))
    if w.max() <= bound:
        return w
    n, n_positive = w.size, int(np.count_nonzero(w))
    if bound * n_positive <= n:
        rest = (n - bound * n_positive) / max(n - n_positive, 1)
        return np.where(w > 0, bound, rest)
    cut = np.minimum(w, _level(w, bound))
    return np.minimum(_of_mean_one(cut), bound)


def _level(w: Array, bound: float) -> float:
    """Return the level c at which c over the mean of min(w, c) is the bound."""
    n = w.size
    ascending = np.sort(w)
    # With the k largest cut at c the mean is (sum of the others + k c) / n, and c over
    # that rises with c, so the smallest k whose c reaches the next weight is right.
    k = np.arange(1, n)
    others = np.cumsum(ascending)[:-1][::-1]
    room = n - bound * k
    reaches = bound * others >= room * ascending[:-1][::-1]
    first = int(np.argmax(reaches)) if reaches.any() else n - 2
    # Rounding alone brings the search to where there is no room.
    level = bound * others[first] / room[first] if room[first] > 0 else np.inf
    return float(min(level, ascending[n - 1 - first]))


def _of_mean_one(w: Array) -> Array:
    peak = float(w.max())
    if peak == 0:
        raise InvalidInput(f"all {w.size} weights are zero: they have no mean of one")
    # The sum of weights near the largest float overflows.
    w = w / peak
    return w / w.mean()


def _checked(weights: Any) -> Array:
    w = np.asarray(weights, dtype=float)
    if w.ndim != 1 or w.size == 0:
        raise InvalidInput(f"weights must be a non-empty vector, got shape {w.shape}")
    if not (np.isfinite(w).all() and (w >= 0).all()):
        row = int(np.argmax(~(np.isfinite(w) & (w >= 0))))
        raise InvalidInput(
            f"weights must be finite and at least 0, got {w[row]} in row {row}"
        )
    return w
