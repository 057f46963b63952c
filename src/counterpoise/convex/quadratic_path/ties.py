"""Events that coincide: resolved by the problem that the derivative solves."""

from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from counterpoise.convex.quadratic_path.layout import (
    FREE,
    INFEASIBLE,
    LOWER,
    REACHED,
    SIZE,
    THETA,
    UPPER,
    Line,
    Place,
    Tolerance,
    Variables,
)
from counterpoise.convex.quadratic_path.rows import KernelRows
from counterpoise.numerics.arrays import Array, Indices

Mask: TypeAlias = NDArray[np.bool_]

UNBOUNDED = 1e30
# Slacks within this many tolerances take part in a tie.
WITHIN = 20.0
DEEPEST = 2


def resolve_tie(follower: "Tied", line: Line, tolerance: Tolerance) -> bool:
    """Give the labels with which the solution leaves the present theta.

    To the right of theta the solution moves at a velocity that solves a problem of the
    same form: on the variables that are free or could become so, with the velocities
    of their bounds as bounds. It is solved by this very method, from a start whose p
    is shifted at random (from a fixed seed), so that its events do not coincide.
    False if that fails.
    """
    if follower.depth >= DEEPEST:
        return False
    place, variables = follower.place, follower.variables
    theta = place.numbers[THETA]
    lower = line.lower + theta * line.dlower
    upper = line.upper + theta * line.dupper
    status = place.status
    place.a[:] = np.where(
        status == LOWER, lower, np.where(status == UPPER, upper, place.a)
    )
    follower.recompute()
    g = follower.gradient(line.p + theta * line.dp)
    free = status == FREE
    at_lower, at_upper = _touching(place, line, lower, upper, tolerance)
    fixed = (upper - lower <= 0.0) & (
        line.upper + line.dupper - line.lower - line.dlower <= 0.0
    )
    flat = np.abs(g) <= WITHIN * tolerance.gradient
    weak = (flat | free) & (at_lower | at_upper) & ~fixed
    taking_part = np.flatnonzero(free | weak)
    if not taking_part.size:
        return False
    low = np.where(at_lower[taking_part], line.dlower[taking_part], -UNBOUNDED)
    high = np.where(at_upper[taking_part], line.dupper[taking_part], UNBOUNDED)
    rate = np.where(status == UPPER, line.dupper, line.dlower)
    rate[taking_part] = 0.0
    pull = follower.rows.product(follower.combined(rate))
    kernel_rows = variables.row[taking_part]
    sign = variables.sign[taking_part]
    p = line.dp[taking_part] - sign * pull[kernel_rows]
    d = line.dd - float(variables.sign @ rate)
    small = follower.like(follower.rows.block(kernel_rows, kernel_rows), sign)
    labels = _velocities(small, p, low, high, d)
    if labels is None:
        return False
    status[taking_part] = labels
    m = small.place.counts[SIZE]
    factor = small.place.factor[:m, :m]
    follower.adopt_margin(taking_part[small.place.free[:m]], factor)
    place = follower.place
    place.a[:] = np.where(
        status == LOWER, lower, np.where(status == UPPER, upper, place.a)
    )
    follower.recompute()
    return True


def _touching(
    place: Place, line: Line, lower: Array, upper: Array, tolerance: Tolerance
) -> tuple[Mask, Mask]:
    """Return which variables are at their lower and which at their upper bound."""
    at_lower = place.a - lower <= WITHIN * tolerance.value
    at_upper = upper - place.a <= WITHIN * tolerance.value
    # A box that closes leaves one bound to sit on: the nearer one.
    closing = at_lower & at_upper & (line.dupper - line.dlower < 0.0)
    nearer_lower = np.where(
        place.status == FREE,
        place.a - lower <= upper - place.a,
        place.status == LOWER,
    )
    return at_lower & (~closing | nearer_lower), at_upper & (~closing | ~nearer_lower)


def _velocities(
    small: "Tied", p: Array, low: Array, high: Array, d: float
) -> Indices | None:
    """Solve the problem of the velocities; return its labels, None if that fails."""
    bounded = np.concatenate(
        [np.abs(low[low > -UNBOUNDED]), np.abs(high[high < UNBOUNDED])]
    )
    scale = max(float(bounded.max(initial=0.0)), abs(d) / p.size, 1e-12)
    small.gradient_slack = max(1e-11 * scale, 1e-12 * float(np.abs(p).max()))
    small.value_slack = 1e-11 * scale
    small.zero_limit, small.end_slack = 50, 1e-9
    place = small.place
    inside = (low == -UNBOUNDED) & (high == UNBOUNDED)
    status = np.where(low == -UNBOUNDED, UPPER, LOWER)
    place.a[:] = np.where(status == LOWER, low, high)
    place.a[inside] = 0.0
    status[inside] = FREE
    place.status[:] = status
    small.adopt_margin(np.flatnonzero(inside), None)
    small.recompute()
    place = small.place
    g = small.gradient(p)
    chance = np.random.default_rng(1234 + small.depth - 1)
    unit = max(float(np.abs(g).max()), scale)
    shifts = unit * chance.uniform(0.2, 1.0, p.size)
    wanted = g.copy()
    wanted[status == FREE] = 0.0
    wrong = ((status == LOWER) & (g <= 0.0)) | ((status == UPPER) & (g >= 0.0))
    wanted[wrong] = np.where(status == LOWER, shifts, -shifts)[wrong]
    start = p + g - wanted
    d_start = float(small.variables.sign @ place.a)
    line = Line(start, p - start, low, 0 * low, high, 0 * high, d_start, d - d_start)
    code = small.follow_labels(line)
    # Without a margin an equality that cannot be met asks for the next bias jump.
    open_end = code == INFEASIBLE and small.place.counts[SIZE] == 0
    if code != REACHED and not open_end:
        return None
    if float(np.abs(small.place.a).max()) > 1e20:
        return None
    return small.place.status.copy()


class Tied(Protocol):
    """What a follower offers to the resolution of its ties."""

    rows: KernelRows
    place: Place
    variables: Variables
    depth: int
    gradient_slack: float | None
    value_slack: float | None
    zero_limit: int
    end_slack: float

    def recompute(self) -> None: ...  # noqa: D102
    def gradient(self, p: Array | None = None) -> Array: ...  # noqa: D102
    def combined(self, values: Array) -> Array: ...  # noqa: D102
    def like(self, K: Array, sign: Array) -> "Tied": ...  # noqa: D102
    def adopt_margin(  # noqa: D102
        self, margin: Indices, factor: Array | None
    ) -> None: ...
    def follow_labels(self, line: Line) -> int: ...  # noqa: D102
