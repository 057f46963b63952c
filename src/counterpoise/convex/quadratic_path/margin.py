"""The margin system: how the free variables move, and its factor."""

import numpy as np

from counterpoise.convex.quadratic_path.layout import (
    LOWER,
    SIZE,
    UPPER,
    Line,
    Place,
    Scratch,
    Stored,
    Variables,
)
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.compiled import compiled
from counterpoise.numerics.factors import backward, forward, remove_row_using, solve_two
from counterpoise.numerics.reordered import inlined, inner


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
