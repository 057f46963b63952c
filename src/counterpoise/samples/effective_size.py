"""What weights are worth, and how to make them less extreme."""

from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Array
from counterpoise.validation import check_number


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
    peak = w.max()
    scaled = w / peak if peak > 0 else w
    squares = float(scaled @ scaled)
    return float(scaled.sum()) ** 2 / squares if squares > 0 else 0.0


def flatten(weights: Any, exponent: float) -> Array:
    """Return the weights to a power, scaled to mean one.

    Exponent 1 leaves them, 0 makes them uniform, 1/2 is a good compromise.

    Examples
    --------
    >>> flatten([1.0, 4.0], 0.5).round(3)
    array([0.667, 1.333])
    """
    check_number("exponent", exponent, low=0.0, high=1.0)
    powered = _checked(weights) ** exponent
    return powered / powered.mean()


def clip(weights: Any, bound: float) -> Array:
    """Return weights of mean one, none above `bound`, in the same order.

    The largest weights are cut at the level at which, after scaling to mean one, the
    largest is `bound`.

    Examples
    --------
    >>> clip([0.5, 0.5, 0.5, 2.5], 1.6)
    array([0.8, 0.8, 0.8, 1.6])
    """
    check_number("bound", bound, low=1.0)
    w = _checked(weights)
    w = w / w.mean()
    if w.max() <= bound:
        return w
    # With the k largest cut at c the mean is (sum of the others + k c) / n, and c over
    # that is the bound; it rises with c, so the first k that fits is right.
    ordered = np.sort(w)[::-1]
    below = w.sum() - np.cumsum(ordered)
    n = w.size
    for k in range(1, n + 1):
        room = n - bound * k
        level = bound * below[k - 1] / room if room > 0 else np.inf
        if k == n or level >= ordered[k]:
            break
    if not np.isfinite(level):
        return np.ones(n)
    cut = np.minimum(w, level)
    return np.minimum(cut / cut.mean(), bound)


def _checked(weights: Any) -> Array:
    w = np.asarray(weights, dtype=float)
    if w.ndim != 1 or w.size == 0:
        raise ValueError(f"weights must be a non-empty vector, got shape {w.shape}")
    if not (np.isfinite(w).all() and (w >= 0).all()):
        row = int(np.argmax(~(np.isfinite(w) & (w >= 0))))
        raise ValueError(
            f"weights must be finite and at least 0, got {w[row]} in row {row}"
        )
    return w
