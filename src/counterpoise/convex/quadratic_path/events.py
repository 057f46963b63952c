"""The next event: two passes over everything that can come to its end."""

from counterpoise.convex.quadratic_path.layout import (
    ENTERS,
    SIZE,
    TO_LOWER,
    TO_UPPER,
    Line,
    Place,
    Scratch,
    Tolerance,
    Variables,
)
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.reordered import finite_only, unchecked

# Rates below this share of the largest are rounding errors.
NO_RATE = 1e-13


@finite_only
def _slacks(
    side: Array,
    sign: Array,
    row: Indices,
    own_rows: bool,
    f: Array,
    bias: float,
    v: Array,
    db: float,
    p: Array,
    dp: Array,
    theta: float,
    slack: Array,
    rate: Array,
    tol: float,
    least: float,
    left: float,
) -> float:
    """Slack and closing rate of every bound; the least (slack + tol) / rate.

    Without a branch and by reciprocals, so that it is vectorised and no infinity
    arises.
    """
    n = side.shape[0]
    if own_rows:
        for i in range(n):
            c = side[i] * sign[i]
            slack[i] = c * (f[i] + bias) - side[i] * (p[i] + theta * dp[i])
            rate[i] = side[i] * dp[i] - c * (v[i] + db)
    else:
        for i in range(n):
            c = side[i] * sign[i]
            j = row[i]
            slack[i] = c * (f[j] + bias) - side[i] * (p[i] + theta * dp[i])
            rate[i] = side[i] * dp[i] - c * (v[j] + db)
    inverse = 1.0 / left
    for i in range(n):
        ratio = rate[i] / (max(slack[i], 0.0) + tol)
        inverse = max(inverse, ratio if rate[i] > least else 0.0)
    return 1.0 / inverse


@unchecked
def next_event(
    variables: Variables,
    line: Line,
    place: Place,
    scratch: Scratch,
    tolerance: Tolerance,
    theta: float,
    bias: float,
    db: float,
) -> tuple[int, int, float]:
    """Return which variable changes its label next, how, and after what step.

    The first pass finds the longest step that violates nothing by more than its
    tolerance; the second takes, of all events up to there, the one with the largest
    rate, the safest pivot (Harris). -1: theta = 1 comes first.
    """
    a, free = place.a, place.free
    lower, dlower, upper, dupper = line.lower, line.dlower, line.upper, line.dupper
    m = place.counts[SIZE]
    left = 1.0 - theta
    longest = left
    largest = 1e-300
    step_a = scratch.step_a
    for q in range(m):
        largest = max(largest, abs(step_a[q]))
    least_a = NO_RATE * largest
    least_g = NO_RATE * (largest + abs(db))
    tol_a, tol_g = tolerance.value, tolerance.gradient
    for q in range(m):
        i = free[q]
        above = a[i] - (lower[i] + theta * dlower[i])
        below = (upper[i] + theta * dupper[i]) - a[i]
        falls, rises = dlower[i] - step_a[q], step_a[q] - dupper[i]
        if falls > least_a:
            longest = min(longest, (max(above, 0.0) + tol_a) / falls)
        if rises > least_a:
            longest = min(longest, (max(below, 0.0) + tol_a) / rises)
    slack, rate = scratch.slack, scratch.rate
    longest = min(
        longest,
        _slacks(
            place.side,
            variables.sign,
            variables.row,
            variables.own_rows,
            place.f,
            bias,
            scratch.rate_f,
            db,
            line.p,
            line.dp,
            theta,
            slack,
            rate,
            tol_g,
            least_g,
            longest,
        ),
    )
    step, who, kind, best = left, -1, -1, -1.0
    last = left - tolerance.end
    for q in range(m):
        i = free[q]
        above = a[i] - (lower[i] + theta * dlower[i])
        below = (upper[i] + theta * dupper[i]) - a[i]
        falls, rises = dlower[i] - step_a[q], step_a[q] - dupper[i]
        if falls > least_a:
            t = max(above, 0.0) / falls
            if t <= longest and falls / tol_a > best and t + tol_a / falls < last:
                best, who, kind, step = falls / tol_a, i, TO_LOWER, t
        if rises > least_a:
            t = max(below, 0.0) / rises
            if t <= longest and rises / tol_a > best and t + tol_a / rises < last:
                best, who, kind, step = rises / tol_a, i, TO_UPPER, t
    for i in range(slack.size):
        r = rate[i]
        if r > least_g and max(slack[i], 0.0) <= longest * r:
            t = max(slack[i], 0.0) / r
            if r / tol_g > best and t + tol_g / r < last:
                best, who, kind, step = r / tol_g, i, ENTERS, t
    return who, kind, max(step, 0.0)
