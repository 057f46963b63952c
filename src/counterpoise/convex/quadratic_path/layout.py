"""What the compiled loop works on: tuples of arrays, and the names of their places."""

from typing import NamedTuple

import numpy as np

from counterpoise.numerics.arrays import Array, Indices

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
