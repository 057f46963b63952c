"""Which of many rows an interior point begins with."""

import numpy as np

from counterpoise.convex.spectral.discrepancy import Discrepancy
from counterpoise.convex.spectral.steps.smoothed_weights import smoothed_weights
from counterpoise.numerics.arrays import Array, Indices

# All rows are used up to this many.
ALL = 600
# Least and largest number of rows to begin with.
LEAST, MOST = 300, 2500


def first_rows(
    problem: Discrepancy, x: Array | None, steps: int = 20, least: int = LEAST
) -> tuple[Indices, Array | None]:
    """Return rows to begin with, and weights on them (None: equal ones).

    Some accelerated smoothed steps say which rows will carry weight: the heaviest are
    taken. Where the rows could match the moment exactly, a sample in proportion to
    those weights is better: the heaviest alone are the middle of the target and lack
    its tails.
    """
    m, N = problem.rows.shape
    least = max(least, 2 * N)
    if problem.cap is not None:
        least = max(least, int(np.ceil(2.0 / problem.cap)))
    if m <= max(least, ALL):
        return np.arange(m), x
    guess = x
    if guess is None:
        guess = smoothed_weights(problem.rows, problem.target_moment, steps)
    effective = 1.0 / float(guess @ guess)
    count = int(min(m, max(least, min(1.2 * effective, MOST))))
    if effective < 0.25 * N * (N + 1):
        return np.sort(np.argsort(-guess, kind="stable")[:count]), None
    return spread_sample(guess, count)


def spread_sample(weights: Array, count: int) -> tuple[Indices, Array]:
    """Return some rows, drawn at equal intervals, and weights that stand for all.

    A row is taken with a probability in proportion to its weight, the heaviest surely;
    no chance is involved.

    Examples
    --------
    >>> import numpy as np
    >>> spread_sample(np.array([0.5, 0.3, 0.2]), 2)
    (array([0, 1]), array([0.5, 0.5]))
    """
    share = np.minimum(1.0, count * weights)
    for _ in range(20):
        share = np.minimum(1.0, share * (count / share.sum()))
    marks = np.arange(int(np.ceil(share.sum()))) + 0.5
    rows = np.unique(np.searchsorted(np.cumsum(share), marks))
    rows = rows[rows < weights.size]
    out = weights[rows] / share[rows]
    return rows, out / out.sum()
