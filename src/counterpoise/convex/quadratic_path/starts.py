"""Three ways to a first solution."""

import numpy as np

from counterpoise.convex.path import PathError
from counterpoise.convex.quadratic_path.follower import (
    FAILURES,
    SINGULAR,
    Follower,
)
from counterpoise.convex.quadratic_path.layout import (
    BIAS,
    FREE,
    INDEFINITE,
    LOWER,
    SIZE,
    UPPER,
)
from counterpoise.convex.quadratic_path.margin import append, border
from counterpoise.convex.quadratic_path.pieces import ParametricPath
from counterpoise.convex.quadratic_path.pivots import CLEARLY_NEGATIVE
from counterpoise.convex.quadratic_path.setting import Setting
from counterpoise.numerics.arrays import Array, Indices

# A value within this share of its box is taken to be at the bound.
AT_BOUND = 1e-8


def from_zero(
    follower: Follower,
    p: Array,
    lower: Array,
    upper: Array,
    d: float = 0.0,
    *,
    taped: bool = False,
    max_work: float | None = None,
) -> ParametricPath | None:
    """Solve by opening the boxes from nothing: every bound and d from zero."""
    zero = np.zeros(follower.a.size)
    _clear(follower)
    follower.setting = Setting(np.array(p, dtype=float), zero, zero.copy(), 0.0)
    return follower.move(lower=lower, upper=upper, d=d, taped=taped, max_work=max_work)


def from_prices(
    follower: Follower,
    p: Array,
    lower: Array,
    upper: Array,
    d: float = 0.0,
    *,
    seed: int = 0,
) -> None:
    """Solve by moving p, from a random one for which the lower bounds are optimal."""
    _clear(follower)
    follower.a[:] = lower
    follower.recompute()
    chance = np.random.default_rng(seed)
    unit = max(float(np.abs(p).max()), 1e-300) if np.any(p) else follower.largest
    g = follower.gradient(np.zeros(follower.a.size))
    start = g - unit * chance.uniform(0.0, 1.0, g.size)
    follower.setting = Setting(
        start,
        np.array(lower, dtype=float),
        np.array(upper, dtype=float),
        float(follower.variables.sign @ follower.a),
    )
    follower.move(p=p, d=d, taped=False)


def crossover(
    follower: Follower,
    a: Array,
    bias: float,
    p: Array,
    lower: Array,
    upper: Array,
    d: float = 0.0,
) -> None:
    """Make somebody else's approximate solution exact.

    Values near a bound are put on it, and p and d shifted so that (a, b) is exactly
    optimal; then they are moved to what they should be.
    """
    _clear(follower)
    lower, upper = np.array(lower, dtype=float), np.array(upper, dtype=float)
    a = np.clip(a, lower, upper)
    width = np.maximum(upper - lower, 0.0)
    status = np.full(a.size, FREE)
    status[a >= upper - AT_BOUND * width] = UPPER
    status[a <= lower + AT_BOUND * width] = LOWER
    status = _independent(follower, status, a, lower, upper)
    follower.place.status[:] = status
    follower.place.a[:] = np.where(
        status == LOWER, lower, np.where(status == UPPER, upper, a)
    )
    follower.place.numbers[BIAS] = bias
    follower.recompute()
    g = follower.gradient(p)
    wrong = ((status == LOWER) & (g < 0.0)) | ((status == UPPER) & (g > 0.0))
    shifted = (status == FREE) | (wrong & (width > 0.0))
    start = np.where(shifted, p + g, p)
    d_start = float(follower.variables.sign @ follower.a)
    if not follower.variables.bias:
        d_start = d
    follower.setting = Setting(start, lower, upper, d_start)
    follower.move(p=p, d=d, taped=False)


def _clear(follower: Follower) -> None:
    place = follower.place
    place.a[:] = 0.0
    place.f[:] = 0.0
    place.numbers[:] = 0.0
    place.counts[:] = 0
    place.status[:] = LOWER
    place.position[:] = -1


def _independent(
    follower: Follower, status: Indices, a: Array, lower: Array, upper: Array
) -> Indices:
    """Factor the free variables; those that depend on others go to the nearer bound."""
    rows, variables = follower.rows, follower.variables
    wanted = np.flatnonzero(status == FREE)
    follower.make_room(wanted.size + 2)
    place = follower.place
    out = np.empty(wanted.size + 1)
    kernel_rows = variables.row[wanted]
    for i, k in zip(wanted.tolist(), kernel_rows.tolist(), strict=True):
        rows.bring(k, kernel_rows)
        complement = border(rows.stored, variables, place, i, out)
        unit = max(rows.stored.diagonal[k] + variables.shift, follower.pivot_unit)
        if complement < CLEARLY_NEGATIVE * unit:
            raise PathError(FAILURES[INDEFINITE], 0.0)
        if complement <= SINGULAR * unit:
            status[i] = LOWER if a[i] - lower[i] < upper[i] - a[i] else UPPER
        else:
            append(place, i, out, complement)
    assert place.counts[SIZE] == np.count_nonzero(status == FREE)
    return status
