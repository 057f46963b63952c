"""Compiled steps of the path follower: layout, events, pivots, margins."""

from typing import NamedTuple

import numpy as np

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.cholesky import backward, forward, remove_row_using, solve_two
from counterpoise.linalg.compiled import (
    add_multiple,
    add_rows,
    compiled,
    finite_only,
    inlined,
    inner,
    unchecked,
)

# -----------------------------------------------------------------------------
# What the compiled loop works on: tuples of arrays, and the names of their places.
# -----------------------------------------------------------------------------


# Where a variable is: at its lower bound, at its upper bound, or on the margin. A label
# that is kept, never read off the values: where both bounds are one it says which of
# them the variable follows when they part.
LOWER, UPPER, FREE = 0, 1, 2

# What the loop is about to do when it is entered.
SEARCH, PIVOT, CORRECT = 0, 1, 2

# How the pending event changes the margin.
TO_LOWER, TO_UPPER, ENTERS, ENTERS_EMPTY = 0, 1, 2, 3

# Why the loop came back.
REACHED, NEEDS_ROW, NEEDS_ROOM, NEEDS_TAPE, REFRESH, TIE = 0, 1, 2, 3, 4, 5
BUDGET, INFEASIBLE, INDEFINITE = 6, 7, 8

# Entries of `Place.numbers`: the parameter, the multiplier of the equality, the rate at
# which the variables at bounds change the equality, the largest residual seen.
THETA, BIAS, BOUND_RATE, WORST = 0, 1, 2, 3
N_NUMBERS = 4

# Entries of `Place.counts`.
SIZE, STAGE, WHO, KIND, ZERO_RUN, SINCE_REFRESH = 0, 1, 2, 3, 4, 5
EVENTS, PIECES, ENTRIES, TAPED_EVENTS = 6, 7, 8, 9
EXCHANGES, CORRECTORS, JUMPS, WORK = 10, 11, 12, 13
N_COUNTS = 14

# Rows that the factor of the margin has room for at first.
FIRST_ROOM = 32


class Stored(NamedTuple):
    """Kernel rows at hand: row k is `rows[slot[k]]`, or not there if `slot[k]` < 0."""

    rows: Array
    slot: Indices
    diagonal: Array


class Variables(NamedTuple):
    """Signs and kernel rows of the variables, and how the equality is met.

    `shift` times s s' is added to the margin matrix, which makes it positive definite
    exactly where the bordered one is not singular.
    """

    sign: Array
    row: Indices
    own_rows: bool
    bias: bool
    shift: float


class Line(NamedTuple):
    """Data at theta = 0, and their change per unit of theta."""

    p: Array
    dp: Array
    lower: Array
    dlower: Array
    upper: Array
    dupper: Array
    d: float
    dd: float


class Place(NamedTuple):
    """Where the solution is; everything in it is changed in place.

    `f` is K beta without the bias, `pull` its rate of change by the bounds alone,
    `side` is +1 at the lower bound, -1 at the upper one and 0 where no event can come.
    """

    a: Array
    status: Indices
    free: Indices
    position: Indices
    factor: Array
    f: Array
    pull: Array
    side: Array
    numbers: Array
    counts: Indices


class Scratch(NamedTuple):
    """Room for the loop."""

    rate_f: Array
    step_a: Array
    right: Array
    ones: Array
    solved: Array
    coefficients: Array
    slots: Indices
    slack: Array
    rate: Array


class Tolerance(NamedTuple):
    """What counts as zero.

    `gradient` and `value` are the slacks of the event search, `singular` the least
    Schur complement in units of `pivot`, `end` how close to theta = 1 an event is left
    out, `zero_limit` how many steps of no length call for the tie to be resolved.
    """

    gradient: float
    value: float
    singular: float
    pivot: float
    end: float
    largest: float
    moving: float
    zero_limit: int
    refresh_every: int
    max_events: int


class Tape(NamedTuple):
    """What is written down: linear pieces, the free entries in them, and events."""

    wanted: bool
    theta: Array
    bias: Array
    dbias: Array
    first: Indices
    event: Indices
    residual: Array
    free: Indices
    a: Array
    da: Array
    event_theta: Array
    event_who: Indices
    event_from: Indices
    event_to: Indices


def new_place(n: int, size: int) -> Place:
    """Return zeros for n variables and `size` kernel rows."""
    room = min(n + 2, FIRST_ROOM)
    return Place(
        a=np.zeros(n),
        status=np.zeros(n, dtype=np.intp),
        free=np.zeros(n + 2, dtype=np.intp),
        position=np.full(n, -1),
        factor=np.zeros((room, room)),
        f=np.zeros(size),
        pull=np.zeros(size),
        side=np.zeros(n),
        numbers=np.zeros(N_NUMBERS),
        counts=np.zeros(N_COUNTS, dtype=np.intp),
    )


def new_scratch(n: int, size: int) -> Scratch:
    """Return room for n variables and `size` kernel rows."""
    return Scratch(
        rate_f=np.zeros(size),
        step_a=np.zeros(n + 2),
        right=np.zeros(n + 2),
        ones=np.zeros(n + 2),
        solved=np.zeros(n + 2),
        coefficients=np.zeros(n + 2),
        slots=np.zeros(n + 2, dtype=np.intp),
        slack=np.zeros(n),
        rate=np.zeros(n),
    )


# -----------------------------------------------------------------------------
# The next event: two passes over everything that can come to its end.
# -----------------------------------------------------------------------------


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


# -----------------------------------------------------------------------------
# The margin system: how the free variables move, and its factor.
# -----------------------------------------------------------------------------


@inlined
def solve_margin(
    variables: Variables, place: Place, right: Array, r: float, scratch: Scratch
) -> float:
    """Solve Q_F da + s_F db = right, s_F'da = r; return db, leave da in `solved`.

    With LL' = Q_F + shift s_F s_F' both unknowns come from two triangular solves.
    """
    free, factor = place.free, place.factor
    sign = variables.sign
    m = place.counts[SIZE]
    solved, ones = scratch.solved, scratch.ones
    for q in range(m):
        solved[q] = right[q]
    if not variables.bias:
        forward(factor, m, solved)
        backward(factor, m, solved)
        return 0.0
    for q in range(m):
        ones[q] = sign[free[q]]
    solve_two(factor, m, solved, ones)
    of_right, of_ones = 0.0, 0.0
    for q in range(m):
        s = sign[free[q]]
        of_right += s * solved[q]
        of_ones += s * ones[q]
    shifted = (of_right - r) / of_ones
    for q in range(m):
        solved[q] -= ones[q] * shifted
    return shifted + variables.shift * r


@inlined
def border(
    stored: Stored, variables: Variables, place: Place, i: int, out: Array
) -> float:
    """Leave the factor's row of variable i in `out`; return its Schur complement."""
    sign = variables.sign
    m = place.counts[SIZE]
    k = variables.row[i]
    row = stored.rows[stored.slot[k]]
    for q in range(m):
        j = place.free[q]
        s = sign[j] * sign[i]
        out[q] = s * (row[variables.row[j]] + variables.shift)
    forward(place.factor, m, out)
    return stored.diagonal[k] + variables.shift - inner(out, out, m)


@inlined
def append(place: Place, i: int, border_row: Array, complement: float) -> None:
    """Put variable i at the end of the margin, its factor's row computed before."""
    factor, counts = place.factor, place.counts
    m = counts[SIZE]
    for q in range(m):
        factor[m, q] = border_row[q]
    factor[m, m] = np.sqrt(complement)
    place.free[m] = i
    place.position[i] = m
    counts[SIZE] = m + 1


@inlined
def remove(place: Place, q: int, scratch: Scratch) -> None:
    """Take the q-th variable off the margin."""
    free, position, counts = place.free, place.position, place.counts
    m = counts[SIZE]
    remove_row_using(place.factor, m, q, scratch.ones, scratch.solved)
    position[free[q]] = -1
    for j in range(q, m - 1):
        free[j] = free[j + 1]
        position[free[j]] = j
    counts[SIZE] = m - 1


@compiled
def rebuild(stored: Stored, variables: Variables, place: Place, least: float) -> float:
    """Factor the margin from scratch; return the least Schur complement met.

    Below `least` a complement is taken as `least`.
    """
    m = place.counts[SIZE]
    place.counts[SIZE] = 0
    smallest = np.inf
    out = np.empty(m)
    for q in range(m):
        complement = border(stored, variables, place, place.free[q], out)
        smallest = min(smallest, complement)
        append(place, place.free[q], out, max(complement, least))
    return smallest


@inlined
def bound_value(line: Line, i: int, status: int, theta: float) -> float:
    """Return where the bound of a label is at theta."""
    if status == LOWER:
        return line.lower[i] + theta * line.dlower[i]
    return line.upper[i] + theta * line.dupper[i]


@inlined
def bound_rate(line: Line, i: int, status: int) -> float:
    """Return how fast the bound of a label moves."""
    return line.dupper[i] if status == UPPER else line.dlower[i]


# -----------------------------------------------------------------------------
# What an event does to labels, margin and maintained sums.
# -----------------------------------------------------------------------------


# A Schur complement this far below zero, in units of the diagonal, is no rounding.
CLEARLY_NEGATIVE = -1e-8
# Entries of a null vector below this are rounding errors.
NO_ENTRY = 1e-9
LEAST_PIVOT = 1e-16


@inlined
def write_event(place: Place, tape: Tape, i: int, old: int, new: int) -> None:
    """Count a change of label, and put it on the tape if one is wanted."""
    place.counts[EVENTS] += 1
    if tape.wanted:
        e = place.counts[TAPED_EVENTS]
        tape.event_theta[e] = place.numbers[THETA]
        tape.event_who[e] = i
        tape.event_from[e] = old
        tape.event_to[e] = new
        place.counts[TAPED_EVENTS] = e + 1


@inlined
def follow_bound(
    stored: Stored, variables: Variables, line: Line, place: Place, i: int, share: float
) -> None:
    """Add (share 1) or take away (-1) what a variable at a bound does to the sums."""
    rate = share * variables.sign[i] * bound_rate(line, i, place.status[i])
    if rate != 0.0:
        add_multiple(place.pull, rate, stored.rows[stored.slot[variables.row[i]]])
        place.numbers[BOUND_RATE] += rate


@inlined
def rest_at(
    stored: Stored, variables: Variables, line: Line, place: Place, i: int, label: int
) -> None:
    """Give variable i the label of a bound."""
    place.status[i] = label
    place.side[i] = 1.0 if label == LOWER else -1.0
    follow_bound(stored, variables, line, place, i, 1.0)


@inlined
def join_margin(
    stored: Stored,
    variables: Variables,
    line: Line,
    place: Place,
    i: int,
    border_row: Array,
    complement: float,
) -> None:
    """Put variable i on the margin."""
    follow_bound(stored, variables, line, place, i, -1.0)
    append(place, i, border_row, complement)
    place.status[i] = FREE
    place.side[i] = 0.0


@inlined
def bias_jump(
    variables: Variables, line: Line, place: Place, tolerance: Tolerance
) -> bool:
    """Move the bias, the margin being empty, to where a variable can join it.

    The bounds change the equality at a rate that nothing compensates; the first
    variable whose move would do so is found at the end of the bias's interval. False
    if there is none: the equality cannot be met.
    """
    counts, numbers = place.counts, place.numbers
    sign = variables.sign
    theta, b = numbers[THETA], numbers[BIAS]
    lack = line.dd - numbers[BOUND_RATE]
    best, distance = -1, 1e300
    for i in range(place.a.size):
        width = line.upper[i] - line.lower[i]
        opening = line.dupper[i] - line.dlower[i]
        if width + theta * opening <= 0.0 and width + opening <= 0.0:
            continue
        inwards = sign[i] if place.status[i] == LOWER else -sign[i]
        if inwards * lack > 0.0:
            f = place.f[variables.row[i]] + b
            g = sign[i] * f - (line.p[i] + theta * line.dp[i])
            # Of the wrong sign by rounding, it takes the bias back, not further.
            gap = sign[i] * g if lack > 0.0 else -sign[i] * g
            if gap < distance:
                best, distance = i, gap
    if best < 0:
        return False
    numbers[BIAS] = b - distance if lack > 0.0 else b + distance
    counts[JUMPS] += 1
    counts[WHO], counts[KIND] = best, ENTERS_EMPTY
    return True


@unchecked
def pivot(
    stored: Stored,
    variables: Variables,
    line: Line,
    place: Place,
    scratch: Scratch,
    tolerance: Tolerance,
    tape: Tape,
) -> bool:
    """Carry out the pending event; False if the kernel proves to be indefinite."""
    i, kind = place.counts[WHO], place.counts[KIND]
    theta = place.numbers[THETA]
    if kind >= ENTERS:
        old = place.status[i]
        place.a[i] = bound_value(line, i, old, theta)
        return _enter(stored, variables, line, place, scratch, tolerance, tape, i, old)
    label = LOWER if kind == TO_LOWER else UPPER
    write_event(place, tape, i, FREE, label)
    bound = bound_value(line, i, label, theta)
    snap = bound - place.a[i]
    if snap != 0.0:
        place.a[i] = bound
        row = stored.rows[stored.slot[variables.row[i]]]
        add_multiple(place.f, variables.sign[i] * snap, row)
    remove(place, place.position[i], scratch)
    rest_at(stored, variables, line, place, i, label)
    return True


@inlined
def _enter(
    stored: Stored,
    variables: Variables,
    line: Line,
    place: Place,
    scratch: Scratch,
    tolerance: Tolerance,
    tape: Tape,
    i: int,
    old: int,
) -> bool:
    """Let a variable join the margin, or exchange it where it depends on the margin."""
    complement = border(stored, variables, place, i, scratch.ones)
    diagonal = stored.diagonal[variables.row[i]] + variables.shift
    unit = max(diagonal, tolerance.pivot)
    if complement < CLEARLY_NEGATIVE * unit:
        return False
    if complement <= tolerance.singular * unit:
        place.counts[EXCHANGES] += 1
        leaver, label = _slide(stored, variables, line, place, scratch, i, old)
        if leaver < 0:
            _cross(stored, variables, line, place, tape, i, old)
            return True
        j = place.free[leaver]
        write_event(place, tape, j, FREE, label)
        place.a[j] = bound_value(line, j, label, place.numbers[THETA])
        remove(place, leaver, scratch)
        rest_at(stored, variables, line, place, j, label)
        complement = border(stored, variables, place, i, scratch.ones)
    write_event(place, tape, i, old, FREE)
    complement = max(complement, LEAST_PIVOT * unit)
    join_margin(stored, variables, line, place, i, scratch.ones, complement)
    return True


@inlined
def _cross(
    stored: Stored,
    variables: Variables,
    line: Line,
    place: Place,
    tape: Tape,
    i: int,
    old: int,
) -> None:
    """Take a variable that slid through its whole box to the other bound."""
    label = UPPER if old == LOWER else LOWER
    write_event(place, tape, i, old, label)
    follow_bound(stored, variables, line, place, i, -1.0)
    place.a[i] = bound_value(line, i, label, place.numbers[THETA])
    rest_at(stored, variables, line, place, i, label)


@inlined
def _slide(
    stored: Stored,
    variables: Variables,
    line: Line,
    place: Place,
    scratch: Scratch,
    i: int,
    old: int,
) -> tuple[int, int]:
    """Move variable i inwards, and the margin so that f stands still.

    The margin's row of i is in `scratch.ones`. Ends where a margin variable meets a
    bound (its position and that bound are returned) or i its other one (-1).
    """
    a, free = place.a, place.free
    sign, row = variables.sign, variables.row
    slot = stored.slot
    m, theta = place.counts[SIZE], place.numbers[THETA]
    z = scratch.solved
    for q in range(m):
        z[q] = scratch.ones[q]
    backward(place.factor, m, z)
    inwards = 1.0 if old == LOWER else -1.0
    width = bound_value(line, i, UPPER, theta) - bound_value(line, i, LOWER, theta)
    distance, leaver, label = max(width, 0.0), -1, LOWER
    for q in range(m):
        j = free[q]
        change = -inwards * z[q]
        if change < -NO_ENTRY:
            room = a[j] - bound_value(line, j, LOWER, theta)
            if max(room, 0.0) / -change < distance:
                distance, leaver, label = max(room, 0.0) / -change, q, LOWER
        elif change > NO_ENTRY:
            room = bound_value(line, j, UPPER, theta) - a[j]
            if max(room, 0.0) / change < distance:
                distance, leaver, label = max(room, 0.0) / change, q, UPPER
    for q in range(m):
        j = free[q]
        a[j] -= inwards * distance * z[q]
        scratch.slots[q] = slot[row[j]]
        scratch.coefficients[q] = -sign[j] * inwards * distance * z[q]
    scratch.slots[m] = slot[row[i]]
    scratch.coefficients[m] = sign[i] * inwards * distance
    add_rows(place.f, stored.rows, scratch.slots, scratch.coefficients, m + 1)
    a[i] += inwards * distance
    return leaver, label


# -----------------------------------------------------------------------------
# What a line does to the variables at bounds, in one compiled pass.
# -----------------------------------------------------------------------------


# Rates that differ by less than this share of the largest are proportional; so are
# those that differ by the rounding of the bounds themselves, of which f is a sum.
SAME_THETA, BOUND_ROUNDING = 1e-15, 2.5e-16


@compiled
def survey(
    variables: Variables, line: Line, place: Place, rates: Array
) -> tuple[float, int, float]:
    """Leave the rates of the bounds in `rates`, and set sides and the bound rate.

    Returns their sum of absolute values, how many are not zero, and the share by which
    all bounds grow together, NaN if they do not.
    """
    theta = place.numbers[THETA]
    total, moving, count = 0.0, 0.0, 0
    top, largest = -1, 0.0
    for i in range(rates.size):
        status = place.status[i]
        width = line.upper[i] - line.lower[i]
        opening = line.dupper[i] - line.dlower[i]
        open_now = width + theta * opening > 0.0 or width + opening > 0.0
        rates[i] = 0.0
        place.side[i] = 0.0
        if status != FREE:
            rates[i] = bound_rate(line, i, status)
            if open_now:
                place.side[i] = 1.0 if status == LOWER else -1.0
            if abs(place.a[i]) > largest:
                top, largest = i, abs(place.a[i])
        total += variables.sign[i] * rates[i]
        moving += abs(rates[i])
        count += rates[i] != 0.0
    place.numbers[BOUND_RATE] = total
    share = float("nan")
    if top >= 0:
        share = rates[top] / place.a[top]
        slack = max(SAME_THETA * abs(rates[top]), BOUND_ROUNDING * largest)
        for i in range(rates.size):
            if place.status[i] != FREE:
                off = abs(rates[i] - share * place.a[i])
                if off > slack:
                    share = float("nan")
                    break
    return moving, count, share


@compiled
def extents(line: Line) -> tuple[float, float, float]:
    """Return the largest bound, the sum of all, and the largest p, absolute values."""
    bound, total, price = 0.0, 0.0, 0.0
    for i in range(line.p.size):
        low = max(abs(line.lower[i]), abs(line.lower[i] + line.dlower[i]))
        high = max(abs(line.upper[i]), abs(line.upper[i] + line.dupper[i]))
        bound = max(bound, low, high)
        total += max(low, high)
        price = max(price, abs(line.p[i]), abs(line.p[i] + line.dp[i]))
    return bound, total, price


# -----------------------------------------------------------------------------
# From event to event, compiled; it comes back when it needs something from outside.
# -----------------------------------------------------------------------------


# A step of no length; an equality that changes by less than this share is at rest.
NO_STEP, AT_REST = 1e-14, 1e-11
# An infeasible end so close to theta = 1 is rounding.
NEAR_THE_END = 1e-9
# A direction is refined where its equations are off by more than this share.
REFINE = 1e-13
LOOP_ROUNDING = 2e-16


@unchecked
def run(
    stored: Stored,
    variables: Variables,
    line: Line,
    place: Place,
    scratch: Scratch,
    tolerance: Tolerance,
    tape: Tape,
) -> int:
    """Follow the solution until theta = 1 or until something is needed.

    Every stage can be entered again, so that the loop goes on where it came back.
    """
    numbers, counts = place.numbers, place.counts
    while True:
        if counts[STAGE] == CORRECT:
            _correct(stored, variables, line, place, scratch, tolerance)
            counts[STAGE] = SEARCH
            if counts[ZERO_RUN] > tolerance.zero_limit:
                return TIE
            if counts[EVENTS] >= tolerance.max_events:
                return BUDGET
        if counts[STAGE] == SEARCH:
            if _tape_is_full(place, tape):
                return NEEDS_TAPE
            lack = line.dd - numbers[BOUND_RATE]
            if (
                variables.bias
                and counts[SIZE] == 0
                and abs(lack) > AT_REST * tolerance.moving
            ):
                before = numbers[BIAS]
                if not bias_jump(variables, line, place, tolerance):
                    if 1.0 - numbers[THETA] < NEAR_THE_END:
                        numbers[THETA] = 1.0
                        return REACHED
                    return INFEASIBLE
                if abs(numbers[BIAS] - before) > tolerance.gradient:
                    counts[ZERO_RUN] = 0
                counts[STAGE] = PIVOT
            else:
                db = _direction(stored, variables, line, place, scratch)
                if 1.0 - numbers[THETA] <= 1e-15:
                    numbers[THETA] = 1.0
                    return REACHED
                who, kind, step = next_event(
                    variables,
                    line,
                    place,
                    scratch,
                    tolerance,
                    numbers[THETA],
                    numbers[BIAS],
                    db,
                )
                _move(place, scratch, tape, step, db)
                counts[WORK] += counts[SIZE] + 25
                if who < 0:
                    numbers[THETA] = 1.0
                    return REACHED
                counts[ZERO_RUN] = counts[ZERO_RUN] + 1 if step <= NO_STEP else 0
                counts[WHO], counts[KIND] = who, kind
                counts[STAGE] = PIVOT
        if counts[STAGE] == PIVOT:
            if stored.slot[variables.row[counts[WHO]]] < 0:
                return NEEDS_ROW
            if counts[SIZE] + 1 >= place.factor.shape[0]:
                return NEEDS_ROOM
            if not pivot(stored, variables, line, place, scratch, tolerance, tape):
                return INDEFINITE
            counts[STAGE] = SEARCH if counts[KIND] == ENTERS_EMPTY else CORRECT
            counts[SINCE_REFRESH] += 1
            if counts[SINCE_REFRESH] >= tolerance.refresh_every:
                counts[SINCE_REFRESH] = 0
                return REFRESH


@inlined
def _tape_is_full(place: Place, tape: Tape) -> bool:
    counts = place.counts
    return tape.wanted and (
        counts[PIECES] + 2 > tape.theta.size
        or counts[ENTRIES] + counts[SIZE] > tape.a.size
        or counts[TAPED_EVENTS] + 3 > tape.event_who.size
    )


@unchecked
def _direction(
    stored: Stored, variables: Variables, line: Line, place: Place, scratch: Scratch
) -> float:
    """Leave the rates of f and of the margin in `scratch`; return that of the bias."""
    free, pull = place.free, place.pull
    dp = line.dp
    sign, row = variables.sign, variables.row
    rows = stored.rows
    m = place.counts[SIZE]
    v, da, right = scratch.rate_f, scratch.step_a, scratch.right
    slots, coefficients = scratch.slots, scratch.coefficients
    for j in range(v.size):
        v[j] = pull[j]
    if m == 0:
        return 0.0
    for q in range(m):
        i = free[q]
        k = row[i]
        right[q] = dp[i] - sign[i] * pull[k]
        slots[q] = stored.slot[k]
    lack = line.dd - place.numbers[BOUND_RATE]
    db = solve_margin(variables, place, right, lack, scratch)
    for q in range(m):
        da[q] = scratch.solved[q]
        coefficients[q] = sign[free[q]] * da[q]
    add_rows(v, rows, slots, coefficients, m)
    # How well the margin's equations hold comes free of charge with v.
    off, total, largest = 0.0, 0.0, 0.0
    for q in range(m):
        i = free[q]
        right[q] = dp[i] - sign[i] * (v[row[i]] + db)
        off = max(off, abs(right[q]))
        total += sign[i] * da[q]
        largest = max(largest, abs(da[q]))
    if off > REFINE * (1.0 + largest):
        rest = lack - total if variables.bias else 0.0
        db += solve_margin(variables, place, right, rest, scratch)
        for q in range(m):
            da[q] += scratch.solved[q]
            coefficients[q] = sign[free[q]] * scratch.solved[q]
        add_rows(v, rows, slots, coefficients, m)
    return db


@inlined
def _move(place: Place, scratch: Scratch, tape: Tape, step: float, db: float) -> None:
    """Go one step, and write the linear piece down if it has a length."""
    a, free = place.a, place.free
    numbers, counts = place.numbers, place.counts
    m = counts[SIZE]
    if tape.wanted and step > 0.0:
        piece, entry = counts[PIECES], counts[ENTRIES]
        tape.theta[piece] = numbers[THETA]
        tape.bias[piece] = numbers[BIAS]
        tape.dbias[piece] = db
        tape.event[piece] = counts[TAPED_EVENTS]
        tape.residual[piece] = numbers[WORST]
        for q in range(m):
            tape.free[entry + q] = free[q]
            tape.a[entry + q] = a[free[q]]
            tape.da[entry + q] = scratch.step_a[q]
        counts[PIECES] = piece + 1
        counts[ENTRIES] = entry + m
        tape.first[piece + 1] = entry + m
    for q in range(m):
        a[free[q]] += step * scratch.step_a[q]
    add_multiple(place.f, step, scratch.rate_f)
    numbers[BIAS] += step * db
    numbers[THETA] += step


@unchecked
def _correct(
    stored: Stored,
    variables: Variables,
    line: Line,
    place: Place,
    scratch: Scratch,
    tolerance: Tolerance,
) -> None:
    """Put the margin back on its equations, at constant theta, inside its boxes.

    A variable that has just joined sits on its bound, so the Newton step is shortened
    by the largest factor that pushes nothing outside.
    """
    a, free, status, counts, numbers = (
        place.a,
        place.free,
        place.status,
        place.counts,
        place.numbers,
    )
    sign, row = variables.sign, variables.row
    m = counts[SIZE]
    theta, b = numbers[THETA], numbers[BIAS]
    right = scratch.right
    off = 0.0
    for q in range(m):
        i = free[q]
        f = place.f[row[i]] + b
        right[q] = line.p[i] + theta * line.dp[i] - sign[i] * f
        off = max(off, abs(right[q]))
    numbers[WORST] = off
    if off <= 0.1 * tolerance.gradient:
        return
    total, size = 0.0, 0.0
    for i in range(a.size):
        value = a[i]
        if status[i] != FREE:
            value = bound_value(line, i, status[i], theta)
        total += sign[i] * value
        size += abs(value)
    rest = line.d + theta * line.dd - total if variables.bias else 0.0
    at_rounding = off <= LOOP_ROUNDING * size * tolerance.largest
    if at_rounding and abs(rest) <= 2.0 * LOOP_ROUNDING * size:
        return
    counts[CORRECTORS] += 1
    db = solve_margin(variables, place, right, rest, scratch)
    change = scratch.solved
    share = 1.0
    for q in range(m):
        i = free[q]
        if change[q] < 0.0:
            room = a[i] - (line.lower[i] + theta * line.dlower[i])
            if room + change[q] < -tolerance.value:
                share = min(share, max(room, 0.0) / -change[q])
        elif change[q] > 0.0:
            room = (line.upper[i] + theta * line.dupper[i]) - a[i]
            if change[q] - room > tolerance.value:
                share = min(share, max(room, 0.0) / change[q])
    if share > 0.0:
        for q in range(m):
            i = free[q]
            a[i] += share * change[q]
            scratch.slots[q] = stored.slot[row[i]]
            scratch.coefficients[q] = sign[i] * share * change[q]
        add_rows(place.f, stored.rows, scratch.slots, scratch.coefficients, m)
        numbers[BIAS] = b + share * db
