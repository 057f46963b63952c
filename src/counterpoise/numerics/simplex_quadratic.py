"""Small dense quadratic programmes over the simplex."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .arrays import Array, Indices


def simplex_quadratic(
    curvature: Array, linear: Array, start: Array, max_pivots: int = 0
) -> Array:
    r"""Return the minimiser of :math:`u'Gu/2 - h'u` over the unit simplex.

    A primal active-set method, warm-started at `start`: solve the equality-constrained
    problem on the free entries, walk to it until an entry reaches zero (and fix that
    one), else free the entry with the worst multiplier. O(k^3) a pivot for k free
    entries; from a good start there are few pivots. A ridge of 1e-12 of the mean
    diagonal makes duplicated columns harmless; what it costs is mended by the next
    Newton model of the caller. Ends after `max_pivots` (0: ten a variable) with the
    best feasible point.
    """
    size = linear.size
    ridge = 1e-12 * max(float(np.trace(curvature)) / size, 1e-300)
    u = start.copy()
    free = u > 0.0
    for _ in range(max_pivots or 10 * size + 10):
        index = np.flatnonzero(free)
        wanted, multiplier = _equality_solution(curvature, linear, index, ridge)
        step = wanted - u[index]
        falling = wanted < 0.0
        if not falling.any():
            u[index] = wanted
            surplus = linear - curvature @ u - multiplier
            surplus[free] = -np.inf
            worst = int(np.argmax(surplus))
            if surplus[worst] <= 1e-14 * max(1.0, abs(multiplier)):
                break
            free[worst] = True
            continue
        ratios = u[index[falling]] / -step[falling]
        length = min(float(ratios.min()), 1.0)
        u[index] = np.maximum(u[index] + length * step, 0.0)
        blocked = index[falling][ratios <= length]
        u[blocked] = 0.0
        free[blocked] = False
    return u / u.sum()


def _equality_solution(
    curvature: Array, linear: Array, index: Indices, ridge: float
) -> tuple[Array, float]:
    """Return u and nu with G u + nu = h on the given entries and sum(u) = 1."""
    block = curvature[np.ix_(index, index)]
    diagonal = np.arange(index.size)
    while True:
        block[diagonal, diagonal] += ridge
        try:
            factor = cho_factor(block, lower=True, check_finite=False)
            break
        except np.linalg.LinAlgError:
            ridge *= 10.0
    both = cho_solve(
        factor,
        np.column_stack([linear[index], np.ones(index.size)]),
        check_finite=False,
    )
    multiplier = (both[:, 0].sum() - 1.0) / both[:, 1].sum()
    return both[:, 0] - multiplier * both[:, 1], float(multiplier)
