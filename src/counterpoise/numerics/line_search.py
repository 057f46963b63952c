"""One-dimensional minimisation inside the compiled loops."""

import numpy as np

from counterpoise.numerics.arrays import Array
from counterpoise.numerics.compiled import compiled


@compiled
def log_line(z: Array, q: Array, weights: Array, limit: float) -> float:
    r"""Return the maximiser of :math:`\sum_j w_j \log(z_j + t q_j)` on [0, limit].

    Safeguarded Newton on the derivative, which falls: a step that leaves the bracket
    or does not shrink is replaced by bisection. O(m) an iteration, some ten of them.
    """
    inside = True
    slope = 0.0
    for j in range(z.size):
        if weights[j] > 0.0:
            value = z[j] + limit * q[j]
            if not value > 0.0:
                inside = False
                break
            slope += weights[j] * q[j] / value
    if inside and slope >= 0.0:
        return limit
    low, high, t = 0.0, limit, 0.0
    last = 0.0
    for _ in range(300):
        slope = 0.0
        bend = 0.0
        inside = True
        for j in range(z.size):
            if weights[j] > 0.0:
                value = z[j] + t * q[j]
                if not value > 0.0:
                    inside = False
                    break
                part = q[j] / value
                slope += weights[j] * part
                bend += weights[j] * part * part
        if not inside:
            high = t
        elif slope > 0.0:
            low = t
        else:
            high = t
        if inside and (bend == 0.0 or abs(slope) <= 1e-13 * np.sqrt(bend)):
            break
        following = t + slope / bend if inside else -1.0
        move = abs(following - t)
        # Far below the root Newton only doubles what is tiny: bisect, over orders of
        # magnitude first, unless its steps shrink.
        if not (low < following < high) or 2.0 * move > last:
            following = 0.5 * (low + high)
            if low > 0.0 and high > 16.0 * low:
                following = np.sqrt(low * high)
        elif move <= 1e-15 * t:
            break
        last = abs(following - t)
        if last <= 1e-15 * high and low > 0.0:
            break
        t = following
    # The lower end of the bracket is inside and no worse than where we began.
    return t if inside else low
