"""What an event does to labels, margin and maintained sums."""

from counterpoise.convex.quadratic_path.layout import (
    BIAS,
    BOUND_RATE,
    ENTERS,
    ENTERS_EMPTY,
    EVENTS,
    EXCHANGES,
    FREE,
    JUMPS,
    KIND,
    LOWER,
    SIZE,
    TAPED_EVENTS,
    THETA,
    TO_LOWER,
    UPPER,
    WHO,
    Line,
    Place,
    Scratch,
    Stored,
    Tape,
    Tolerance,
    Variables,
)
from counterpoise.convex.quadratic_path.margin import (
    append,
    border,
    bound_rate,
    bound_value,
    remove,
)
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.factors import backward
from counterpoise.numerics.reordered import add_multiple, add_rows, inlined, unchecked

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
