"""Limits that no function of the inputs can keep: a linear programme."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from counterpoise.convex.network.limits import ErrorBound, MeanWithin, OutputLimit
from counterpoise.numerics.arrays import Array, Indices


class BestOfAll(NamedTuple):
    """A function that exceeds limits least, of all functions.

    Attributes
    ----------
    excess : array of shape (n_limits,)
    outputs : array of shape (n, n_outputs)
        Its values at the rows.
    unit : float
        The largest number among bounds and truths, which rounding is relative to.
    """

    excess: Array
    outputs: Array
    unit: float = 1.0


def best_of_all(
    rows: Array, n_outputs: int, limits: Sequence[OutputLimit]
) -> BestOfAll | None:
    """Return the best of all functions, and by how much it exceeds each limit.

    Values are free at each distinct row and the same at equal ones; of all such
    functions one is taken whose excesses have the least sum. A positive sum proves that
    no function of these inputs keeps all limits.

    Parameters
    ----------
    rows : array of shape (n, d)
    n_outputs : int
    limits : sequence of limits

    Returns
    -------
    BestOfAll or None
        None where the linear programme was not solved.

    Examples
    --------
    >>> same = np.zeros((2, 1))
    >>> truth = np.array([[0.0], [1.0]])
    >>> both = [
    ...     ErrorBound(str(k), np.array([k]), np.ones(1), truth[[k]], 0.25)
    ...     for k in (0, 1)
    ... ]
    >>> best_of_all(same, 1, both).excess.sum().round(6)
    np.float64(0.5)
    """
    distinct, which = np.unique(rows, axis=0, return_inverse=True)
    which = which.ravel()
    n_values = len(distinct) * n_outputs
    n_errors = [
        limit.truth.size if isinstance(limit, ErrorBound) else 0 for limit in limits
    ]
    n = n_values + sum(n_errors) + len(limits)
    blocks: list[sparse.coo_array] = []
    ends: list[Array] = []

    def add(entries: Array, lines: Indices, places: Indices, end: Array) -> None:
        shape = (end.size, n)
        blocks.append(sparse.coo_array((entries, (lines, places)), shape=shape))
        ends.append(end)

    first = n_values
    for k, limit in enumerate(limits):
        slack = n - len(limits) + k
        if isinstance(limit, ErrorBound):
            size = n_errors[k]
            line = np.arange(size)
            value = which[limit.rows][:, None] * n_outputs + np.arange(n_outputs)
            error = first + line
            one = np.ones(size)
            both = np.concatenate([line, line])
            places = np.concatenate([value.ravel(), error])
            truth = limit.truth.ravel()
            add(np.concatenate([one, -one]), both, places, truth)
            add(np.concatenate([-one, -one]), both, places, -truth)
            share = np.append(np.repeat(limit.share, n_outputs), -1.0)
            zero = np.zeros(size + 1, dtype=np.intp)
            add(share, zero, np.append(error, slack), np.array([limit.bound]))
            first += size
        elif isinstance(limit, MeanWithin):
            place = np.append(which[limit.rows] * n_outputs, slack)
            zero = np.zeros(place.size, dtype=np.intp)
            if np.isfinite(limit.high):
                add(np.append(limit.share, -1.0), zero, place, np.array([limit.high]))
            if np.isfinite(limit.low):
                add(np.append(-limit.share, -1.0), zero, place, np.array([-limit.low]))
        else:
            size = limit.lower.size
            line, one = np.arange(size), np.ones(size)
            low, up = which[limit.lower], which[limit.upper]
            places = np.concatenate(
                [low * n_outputs, up * n_outputs, np.full(size, slack)]
            )
            entries = np.concatenate([one, -one, -one])
            add(entries, np.tile(line, 3), places, np.full(size, -limit.least))
    cost = np.zeros(n)
    cost[n - len(limits) :] = 1.0
    bounds = [(None, None)] * n_values + [(0.0, None)] * (n - n_values)
    end = np.concatenate(ends)
    unit = float(np.abs(end).max(initial=0.0)) or 1.0
    found = linprog(
        cost,
        A_ub=sparse.csr_array(sparse.vstack(blocks)),
        b_ub=end / unit,
        bounds=bounds,
        method="highs",
    )
    if not found.success:
        return None
    x = unit * np.asarray(found.x, dtype=float)
    values = x[:n_values].reshape(len(distinct), n_outputs)
    return BestOfAll(x[n - len(limits) :], values[which], unit)
