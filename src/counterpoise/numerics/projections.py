"""Euclidean projections onto simple sets, exact up to rounding."""

import numpy as np

from counterpoise.numerics.arrays import Array


def project_simplex(point: Array, total: float = 1.0) -> Array:
    r"""Return the nearest point of :math:`\{x \ge 0, \sum x = total\}`.

    Sorting finds the multiplier :math:`\tau` with :math:`x = \max(v - \tau, 0)` in
    O(n log n).

    Examples
    --------
    >>> import numpy as np
    >>> project_simplex(np.array([0.5, 1.5, -1.0]))
    array([0., 1., 0.])
    """
    descending = np.sort(point)[::-1]
    excess = np.cumsum(descending) - total
    count = np.arange(1, point.size + 1)
    last = np.flatnonzero(descending * count > excess)[-1]
    # Subtracting the largest entry first keeps digits when the entries are huge.
    top = descending[0]
    tau = (np.sum(descending[: last + 1] - top) - total) / (last + 1)
    return np.maximum((point - top) - tau, 0.0)


def project_capped_simplex(point: Array, upper: Array, total: float = 1.0) -> Array:
    r"""Return the nearest point of :math:`\{0 \le x \le upper, \sum x = total\}`.

    The sum of :math:`\min(\max(v - \tau, 0), u)` falls piecewise linearly in
    :math:`\tau` with breakpoints :math:`v_i` and :math:`v_i - u_i`; sorting them
    brackets the multiplier, and one linear equation gives it.

    Examples
    --------
    >>> import numpy as np
    >>> project_capped_simplex(np.array([2.0, 1.0, 0.0]), np.full(3, 0.5))
    array([0.5, 0.5, 0. ])
    """
    room = float(upper.sum())
    if total >= room:
        return upper.copy()
    top = float(point.max())
    shifted = point - top
    breaks = np.sort(np.concatenate([shifted, shifted - upper]))

    def mass(tau: float) -> float:
        return float(np.clip(shifted - tau, 0.0, upper).sum())

    low, high = 0, breaks.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        if mass(breaks[middle]) >= total:
            low = middle
        else:
            high = middle
    inside = 0.5 * (breaks[low] + breaks[high])
    capped = shifted - inside >= upper
    free = (shifted > inside) & ~capped
    if free.any():
        tau = (shifted[free].sum() + upper[capped].sum() - total) / free.sum()
    else:
        tau = inside
    return np.clip(shifted - tau, 0.0, upper)


def project_box(point: Array, lower: Array, upper: Array) -> Array:
    """Return the nearest point between `lower` and `upper`."""
    return np.clip(point, lower, upper)


def project_rows(points: Array) -> Array:
    r"""Return the nearest point of the unit simplex to every row.

    Examples
    --------
    >>> import numpy as np
    >>> project_rows(np.array([[0.5, 1.5, -1.0], [0.2, 0.3, 0.5]]))
    array([[0. , 1. , 0. ],
           [0.2, 0.3, 0.5]])
    """
    shifted = points - points.max(axis=1, keepdims=True)
    descending = -np.sort(-shifted, axis=1)
    excess = np.cumsum(descending, axis=1) - 1.0
    count = np.arange(1, points.shape[1] + 1)
    last = np.count_nonzero(descending * count > excess, axis=1)
    tau = excess[np.arange(len(points)), last - 1] / last
    return np.maximum(shifted - tau[:, None], 0.0)
