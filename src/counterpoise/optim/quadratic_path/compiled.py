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
REACHED, ROW_MISSING, FACTOR_FULL, LOG_FULL, REFRESH, TIE = 0, 1, 2, 3, 4, 5
BUDGET, INFEASIBLE, INDEFINITE = 6, 7, 8

# Entries of `State.numbers`: the parameter, the multiplier of the equality, the rate at
# which the variables at bounds change the equality, the largest residual seen.
THETA, BIAS, BOUND_RATE, WORST = 0, 1, 2, 3

# Entries of `State.counts`.
N_FREE, STAGE, VARIABLE, KIND, ZERO_RUN, SINCE_REFRESH = 0, 1, 2, 3, 4, 5
EVENTS, PIECES, ENTRIES, LOGGED_EVENTS = 6, 7, 8, 9
WORK = 10

# Rows that the factor of the margin has room for at first.
FIRST_ROOM = 32


class StoredRows(NamedTuple):
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


class State(NamedTuple):
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
    bound_rate_sum: float
    zero_limit: int
    refresh_every: int
    max_events: int


class EventLog(NamedTuple):
    """What is written down: linear pieces, the free entries in them, and events."""

    enabled: bool
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
    event_variable: Indices
    event_from: Indices
    event_to: Indices


class Workspace(NamedTuple):
    """Everything that the compiled loop reads and writes."""

    stored: StoredRows
    variables: Variables
    line: Line
    state: State
    scratch: Scratch
    tolerance: Tolerance
    log: EventLog


def new_state(n: int, size: int) -> State:
    """Return zeros for n variables and `size` kernel rows."""
    room = min(n + 2, FIRST_ROOM)
    return State(
        a=np.zeros(n),
        status=np.zeros(n, dtype=np.intp),
        free=np.zeros(n + 2, dtype=np.intp),
        position=np.full(n, -1),
        factor=np.zeros((room, room)),
        f=np.zeros(size),
        pull=np.zeros(size),
        side=np.zeros(n),
        numbers=np.zeros(4),
        counts=np.zeros(11, dtype=np.intp),
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
def _slacks(work: Workspace, db: float, least: float, left: float) -> float:
    """Slack and closing rate of every bound; the least (slack + tol) / rate.

    Without a branch and by reciprocals, so that it is vectorized and no infinity
    arises.
    """
    state, row = work.state, work.variables.row
    side, sign, f, v = state.side, work.variables.sign, state.f, work.scratch.rate_f
    theta, bias = state.numbers[THETA], state.numbers[BIAS]
    p, dp = work.line.p, work.line.dp
    slack, rate = work.scratch.slack, work.scratch.rate
    n, tol = side.shape[0], work.tolerance.gradient
    if work.variables.own_rows:
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
def next_event(work: Workspace, db: float) -> tuple[int, int, float]:
    """Return which variable changes its label next, how, and after what step.

    The first pass finds the longest step that violates nothing by more than its
    tolerance; the second takes, of all events up to there, the one with the largest
    rate, the safest pivot (Harris). -1: theta = 1 comes first.
    """
    line = work.line
    state, scratch, tolerance = work.state, work.scratch, work.tolerance
    a, free = state.a, state.free
    lower, dlower, upper, dupper = line.lower, line.dlower, line.upper, line.dupper
    m, theta = state.counts[N_FREE], state.numbers[THETA]
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
    longest = min(longest, _slacks(work, db, least_g, longest))
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
    variables: Variables, state: State, right: Array, r: float, scratch: Scratch
) -> float:
    """Solve Q_F da + s_F db = right, s_F'da = r; return db, leave da in `solved`.

    With LL' = Q_F + shift s_F s_F' both unknowns come from two triangular solves.
    """
    free, factor = state.free, state.factor
    sign = variables.sign
    m = state.counts[N_FREE]
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
    stored: StoredRows, variables: Variables, state: State, i: int, out: Array
) -> float:
    """Leave the factor's row of variable i in `out`; return its Schur complement."""
    sign = variables.sign
    m = state.counts[N_FREE]
    k = variables.row[i]
    row = stored.rows[stored.slot[k]]
    for q in range(m):
        j = state.free[q]
        s = sign[j] * sign[i]
        out[q] = s * (row[variables.row[j]] + variables.shift)
    forward(state.factor, m, out)
    return stored.diagonal[k] + variables.shift - inner(out, out, m)


@inlined
def append(state: State, i: int, border_row: Array, complement: float) -> None:
    """Put variable i at the end of the margin, its factor's row computed before."""
    factor, counts = state.factor, state.counts
    m = counts[N_FREE]
    for q in range(m):
        factor[m, q] = border_row[q]
    factor[m, m] = np.sqrt(complement)
    state.free[m] = i
    state.position[i] = m
    counts[N_FREE] = m + 1


@inlined
def remove(state: State, q: int, scratch: Scratch) -> None:
    """Take the q-th variable off the margin."""
    free, position, counts = state.free, state.position, state.counts
    m = counts[N_FREE]
    remove_row_using(state.factor, m, q, scratch.ones, scratch.solved)
    position[free[q]] = -1
    for j in range(q, m - 1):
        free[j] = free[j + 1]
        position[free[j]] = j
    counts[N_FREE] = m - 1


@compiled
def rebuild(
    stored: StoredRows, variables: Variables, state: State, least: float
) -> float:
    """Factor the margin from scratch; return the least Schur complement met.

    Below `least` a complement is taken as `least`.
    """
    m = state.counts[N_FREE]
    state.counts[N_FREE] = 0
    smallest = np.inf
    out = np.empty(m)
    for q in range(m):
        complement = border(stored, variables, state, state.free[q], out)
        smallest = min(smallest, complement)
        append(state, state.free[q], out, max(complement, least))
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
def write_event(state: State, log: EventLog, i: int, old: int, new: int) -> None:
    """Count a change of label, and put it on the log if one is wanted."""
    state.counts[EVENTS] += 1
    if log.enabled:
        e = state.counts[LOGGED_EVENTS]
        log.event_theta[e] = state.numbers[THETA]
        log.event_variable[e] = i
        log.event_from[e] = old
        log.event_to[e] = new
        state.counts[LOGGED_EVENTS] = e + 1


@inlined
def follow_bound(work: Workspace, i: int, share: float) -> None:
    """Add (share 1) or take away (-1) what a variable at a bound does to the sums."""
    stored, variables, line, state = work.stored, work.variables, work.line, work.state
    rate = share * variables.sign[i] * bound_rate(line, i, state.status[i])
    if rate != 0.0:
        add_multiple(state.pull, rate, stored.rows[stored.slot[variables.row[i]]])
        state.numbers[BOUND_RATE] += rate


@inlined
def rest_at(work: Workspace, i: int, label: int) -> None:
    """Give variable i the label of a bound."""
    state = work.state
    state.status[i] = label
    state.side[i] = 1.0 if label == LOWER else -1.0
    follow_bound(work, i, 1.0)


@inlined
def bias_jump(work: Workspace) -> bool:
    """Move the bias, the margin being empty, to where a variable can join it.

    The bounds change the equality at a rate that nothing compensates; the first
    variable whose move would do so is found at the end of the bias's interval. False
    if there is none: the equality cannot be met.
    """
    variables, line, state = work.variables, work.line, work.state
    counts, numbers = state.counts, state.numbers
    sign = variables.sign
    theta, b = numbers[THETA], numbers[BIAS]
    lack = line.dd - numbers[BOUND_RATE]
    best, distance = -1, 1e300
    for i in range(state.a.size):
        width = line.upper[i] - line.lower[i]
        opening = line.dupper[i] - line.dlower[i]
        if width + theta * opening <= 0.0 and width + opening <= 0.0:
            continue
        inwards = sign[i] if state.status[i] == LOWER else -sign[i]
        if inwards * lack > 0.0:
            f = state.f[variables.row[i]] + b
            g = sign[i] * f - (line.p[i] + theta * line.dp[i])
            # Of the wrong sign by rounding, it takes the bias back, not further.
            gap = sign[i] * g if lack > 0.0 else -sign[i] * g
            if gap < distance:
                best, distance = i, gap
    if best < 0:
        return False
    numbers[BIAS] = b - distance if lack > 0.0 else b + distance
    counts[VARIABLE], counts[KIND] = best, ENTERS_EMPTY
    return True


@unchecked
def pivot(work: Workspace) -> bool:
    """Carry out the pending event; False if the kernel proves to be indefinite."""
    stored, variables, line = work.stored, work.variables, work.line
    state, scratch, log = work.state, work.scratch, work.log
    i, kind = state.counts[VARIABLE], state.counts[KIND]
    theta = state.numbers[THETA]
    if kind >= ENTERS:
        old = state.status[i]
        state.a[i] = bound_value(line, i, old, theta)
        return _enter(work, i, old)
    label = LOWER if kind == TO_LOWER else UPPER
    write_event(state, log, i, FREE, label)
    bound = bound_value(line, i, label, theta)
    snap = bound - state.a[i]
    if snap != 0.0:
        state.a[i] = bound
        row = stored.rows[stored.slot[variables.row[i]]]
        add_multiple(state.f, variables.sign[i] * snap, row)
    remove(state, state.position[i], scratch)
    rest_at(work, i, label)
    return True


@inlined
def _enter(work: Workspace, i: int, old: int) -> bool:
    """Let a variable join the margin, or exchange it where it depends on the margin."""
    stored, variables, line = work.stored, work.variables, work.line
    state, scratch, tolerance, log = work.state, work.scratch, work.tolerance, work.log
    complement = border(stored, variables, state, i, scratch.ones)
    diagonal = stored.diagonal[variables.row[i]] + variables.shift
    unit = max(diagonal, tolerance.pivot)
    if complement < CLEARLY_NEGATIVE * unit:
        return False
    if complement <= tolerance.singular * unit:
        leaver, label = _slide(work, i, old)
        if leaver < 0:
            # It slid through its whole box to the other bound.
            label = UPPER if old == LOWER else LOWER
            write_event(state, log, i, old, label)
            follow_bound(work, i, -1.0)
            state.a[i] = bound_value(line, i, label, state.numbers[THETA])
            rest_at(work, i, label)
            return True
        j = state.free[leaver]
        write_event(state, log, j, FREE, label)
        state.a[j] = bound_value(line, j, label, state.numbers[THETA])
        remove(state, leaver, scratch)
        rest_at(work, j, label)
        complement = border(stored, variables, state, i, scratch.ones)
    write_event(state, log, i, old, FREE)
    complement = max(complement, LEAST_PIVOT * unit)
    follow_bound(work, i, -1.0)
    append(state, i, scratch.ones, complement)
    state.status[i] = FREE
    state.side[i] = 0.0
    return True


@inlined
def _slide(work: Workspace, i: int, old: int) -> tuple[int, int]:
    """Move variable i inwards, and the margin so that f stands still.

    The margin's row of i is in `scratch.ones`. Ends where a margin variable meets a
    bound (its position and that bound are returned) or i its other one (-1).
    """
    stored, variables, line = work.stored, work.variables, work.line
    state, scratch = work.state, work.scratch
    a, free = state.a, state.free
    sign, row = variables.sign, variables.row
    slot = stored.slot
    m, theta = state.counts[N_FREE], state.numbers[THETA]
    z = scratch.solved
    for q in range(m):
        z[q] = scratch.ones[q]
    backward(state.factor, m, z)
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
    add_rows(state.f, stored.rows, scratch.slots, scratch.coefficients, m + 1)
    a[i] += inwards * distance
    return leaver, label


# -----------------------------------------------------------------------------
# What a line does to the variables at bounds, in one compiled pass.
# -----------------------------------------------------------------------------


# Rates that differ by less than this share of the largest are proportional; so are
# those that differ by the rounding of the bounds themselves, of which f is a sum.
SAME_THETA, BOUND_ROUNDING = 1e-15, 2.5e-16


@compiled
def bound_rates(
    variables: Variables, line: Line, state: State, rates: Array
) -> tuple[float, int, float]:
    """Leave the rates of the bounds in `rates`, and set sides and the bound rate.

    Returns their sum of absolute values, how many are not zero, and the share by which
    all bounds grow together, NaN if they do not.
    """
    theta = state.numbers[THETA]
    total, bound_rate_sum, count = 0.0, 0.0, 0
    top, largest = -1, 0.0
    for i in range(rates.size):
        status = state.status[i]
        width = line.upper[i] - line.lower[i]
        opening = line.dupper[i] - line.dlower[i]
        open_now = width + theta * opening > 0.0 or width + opening > 0.0
        rates[i] = 0.0
        state.side[i] = 0.0
        if status != FREE:
            rates[i] = bound_rate(line, i, status)
            if open_now:
                state.side[i] = 1.0 if status == LOWER else -1.0
            if abs(state.a[i]) > largest:
                top, largest = i, abs(state.a[i])
        total += variables.sign[i] * rates[i]
        bound_rate_sum += abs(rates[i])
        count += rates[i] != 0.0
    state.numbers[BOUND_RATE] = total
    share = float("nan")
    if top >= 0:
        share = rates[top] / state.a[top]
        slack = max(SAME_THETA * abs(rates[top]), BOUND_ROUNDING * largest)
        for i in range(rates.size):
            if state.status[i] != FREE:
                off = abs(rates[i] - share * state.a[i])
                if off > slack:
                    share = float("nan")
                    break
    return bound_rate_sum, count, share


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
def run(work: Workspace) -> int:
    """Follow the solution until theta = 1 or until something is needed.

    Every stage can be entered again, so that the loop goes on where it came back.
    """
    stored, variables, line = work.stored, work.variables, work.line
    state, tolerance, log = work.state, work.tolerance, work.log
    numbers, counts = state.numbers, state.counts
    while True:
        if counts[STAGE] == CORRECT:
            _correct(work)
            counts[STAGE] = SEARCH
            if counts[ZERO_RUN] > tolerance.zero_limit:
                return TIE
            if counts[EVENTS] >= tolerance.max_events:
                return BUDGET
        if counts[STAGE] == SEARCH:
            if log.enabled and (
                counts[PIECES] + 2 > log.theta.size
                or counts[ENTRIES] + counts[N_FREE] > log.a.size
                or counts[LOGGED_EVENTS] + 3 > log.event_variable.size
            ):
                return LOG_FULL
            lack = line.dd - numbers[BOUND_RATE]
            if (
                variables.bias
                and counts[N_FREE] == 0
                and abs(lack) > AT_REST * tolerance.bound_rate_sum
            ):
                before = numbers[BIAS]
                if not bias_jump(work):
                    if 1.0 - numbers[THETA] < NEAR_THE_END:
                        numbers[THETA] = 1.0
                        return REACHED
                    return INFEASIBLE
                if abs(numbers[BIAS] - before) > tolerance.gradient:
                    counts[ZERO_RUN] = 0
                counts[STAGE] = PIVOT
            else:
                db = _direction(work)
                if 1.0 - numbers[THETA] <= 1e-15:
                    numbers[THETA] = 1.0
                    return REACHED
                who, kind, step = next_event(work, db)
                _move(work, step, db)
                counts[WORK] += counts[N_FREE] + 25
                if who < 0:
                    numbers[THETA] = 1.0
                    return REACHED
                counts[ZERO_RUN] = counts[ZERO_RUN] + 1 if step <= NO_STEP else 0
                counts[VARIABLE], counts[KIND] = who, kind
                counts[STAGE] = PIVOT
        if counts[STAGE] == PIVOT:
            if stored.slot[variables.row[counts[VARIABLE]]] < 0:
                return ROW_MISSING
            if counts[N_FREE] + 1 >= state.factor.shape[0]:
                return FACTOR_FULL
            if not pivot(work):
                return INDEFINITE
            counts[STAGE] = SEARCH if counts[KIND] == ENTERS_EMPTY else CORRECT
            counts[SINCE_REFRESH] += 1
            if counts[SINCE_REFRESH] >= tolerance.refresh_every:
                counts[SINCE_REFRESH] = 0
                return REFRESH


@unchecked
def _direction(work: Workspace) -> float:
    """Leave the rates of f and of the margin in `scratch`; return that of the bias."""
    stored, variables, line = work.stored, work.variables, work.line
    state, scratch = work.state, work.scratch
    free, pull = state.free, state.pull
    dp = line.dp
    sign, row = variables.sign, variables.row
    rows = stored.rows
    m = state.counts[N_FREE]
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
    lack = line.dd - state.numbers[BOUND_RATE]
    db = solve_margin(variables, state, right, lack, scratch)
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
        db += solve_margin(variables, state, right, rest, scratch)
        for q in range(m):
            da[q] += scratch.solved[q]
            coefficients[q] = sign[free[q]] * scratch.solved[q]
        add_rows(v, rows, slots, coefficients, m)
    return db


@inlined
def _move(work: Workspace, step: float, db: float) -> None:
    """Go one step, and write the linear piece down if it has a length."""
    state, scratch, log = work.state, work.scratch, work.log
    a, free = state.a, state.free
    numbers, counts = state.numbers, state.counts
    m = counts[N_FREE]
    if log.enabled and step > 0.0:
        piece, entry = counts[PIECES], counts[ENTRIES]
        log.theta[piece] = numbers[THETA]
        log.bias[piece] = numbers[BIAS]
        log.dbias[piece] = db
        log.event[piece] = counts[LOGGED_EVENTS]
        log.residual[piece] = numbers[WORST]
        for q in range(m):
            log.free[entry + q] = free[q]
            log.a[entry + q] = a[free[q]]
            log.da[entry + q] = scratch.step_a[q]
        counts[PIECES] = piece + 1
        counts[ENTRIES] = entry + m
        log.first[piece + 1] = entry + m
    for q in range(m):
        a[free[q]] += step * scratch.step_a[q]
    add_multiple(state.f, step, scratch.rate_f)
    numbers[BIAS] += step * db
    numbers[THETA] += step


@unchecked
def _correct(work: Workspace) -> None:
    """Put the margin back on its equations, at constant theta, inside its boxes.

    A variable that has just joined sits on its bound, so the Newton step is shortened
    by the largest factor that pushes nothing outside.
    """
    stored, variables, line = work.stored, work.variables, work.line
    state, scratch, tolerance = work.state, work.scratch, work.tolerance
    a, free, status = state.a, state.free, state.status
    counts, numbers = state.counts, state.numbers
    sign, row = variables.sign, variables.row
    m = counts[N_FREE]
    theta, b = numbers[THETA], numbers[BIAS]
    right = scratch.right
    off = 0.0
    for q in range(m):
        i = free[q]
        f = state.f[row[i]] + b
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
    db = solve_margin(variables, state, right, rest, scratch)
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
        add_rows(state.f, stored.rows, scratch.slots, scratch.coefficients, m)
        numbers[BIAS] = b + share * db
