"""From event to event, compiled; it comes back when it needs something from outside."""

from counterpoise.convex.quadratic_path.events import next_event
from counterpoise.convex.quadratic_path.layout import (
    BIAS,
    BOUND_RATE,
    BUDGET,
    CORRECT,
    CORRECTORS,
    ENTERS_EMPTY,
    ENTRIES,
    EVENTS,
    FREE,
    INDEFINITE,
    INFEASIBLE,
    KIND,
    NEEDS_ROOM,
    NEEDS_ROW,
    NEEDS_TAPE,
    PIECES,
    PIVOT,
    REACHED,
    REFRESH,
    SEARCH,
    SINCE_REFRESH,
    SIZE,
    STAGE,
    TAPED_EVENTS,
    THETA,
    TIE,
    WHO,
    WORK,
    WORST,
    ZERO_RUN,
    Line,
    Place,
    Scratch,
    Stored,
    Tape,
    Tolerance,
    Variables,
)
from counterpoise.convex.quadratic_path.margin import bound_value, solve_margin
from counterpoise.convex.quadratic_path.pivots import bias_jump, pivot
from counterpoise.numerics.reordered import add_multiple, add_rows, inlined, unchecked

# A step of no length; an equality that changes by less than this share is at rest.
NO_STEP, AT_REST = 1e-14, 1e-11
# An infeasible end so close to theta = 1 is rounding.
NEAR_THE_END = 1e-9
# A direction is refined where its equations are off by more than this share.
REFINE = 1e-13
ROUNDING = 2e-16


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
    at_rounding = off <= ROUNDING * size * tolerance.largest
    if at_rounding and abs(rest) <= 2.0 * ROUNDING * size:
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
