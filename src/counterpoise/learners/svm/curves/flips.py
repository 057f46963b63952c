"""Where points change sides along a path."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.learners.svm.curves.tracing import Trace
from counterpoise.numerics.arrays import Array

# A difference between the end of a piece and the beginning of the next, in units of the
# function, that is no rounding.
JUMP = 1e-9


@dataclass(frozen=True, eq=False)
class Flips:
    """Where points change sides along a trace, in the order of theta.

    `sides` are those at the start, +1 or -1.
    """

    sides: Array
    thetas: Array
    points: Any


def flips(trace: Trace, level: Array | float = 0.0) -> Flips:
    """Return where the function crosses a level.

    The side of a point is remembered: a flip is where its side at the end of a piece
    is not the remembered one, so that no crossing is lost to rounding between two
    pieces. Where the bias jumps the side is looked at before the piece begins, too: a
    point may jump to the other side and come back within one piece.
    """
    begin = trace.values - level
    end = begin + trace.lengths[:, None] * trace.slopes
    n_pieces = len(begin)
    jumped = np.flatnonzero(_jumps(begin, end))
    seen = np.vstack([begin[jumped], end, trace.last - level])
    piece_seen = np.concatenate([jumped, np.arange(n_pieces + 1)])
    at_end = np.repeat([0, 1], [jumped.size, n_pieces + 1])
    order = np.argsort(2 * piece_seen + at_end, kind="stable")
    seen, piece_seen, at_end = seen[order], piece_seen[order], at_end[order]
    first = begin[0] if n_pieces else seen[0]
    sides = np.where(first >= 0.0, 1.0, -1.0)
    # A value of exactly zero keeps the side it came from.
    signs = np.sign(seen)
    if (signs == 0.0).any():
        previous = sides
        for k in range(len(signs)):
            signs[k] = np.where(signs[k] == 0.0, previous, signs[k])
            previous = signs[k]
    row, point = np.nonzero(signs != np.vstack([sides, signs[:-1]]))
    piece = piece_seen[row]
    thetas = np.append(trace.starts, trace.stop)[piece]
    inside = (at_end[row] == 1) & (piece < n_pieces)
    before = np.zeros(piece.size)
    before[inside] = begin[piece[inside], point[inside]]
    after = seen[row, point]
    # A point that was on its new side already when the piece began got there between
    # two pieces, by rounding.
    crossed = inside & (before * after < 0.0)
    length = np.append(trace.lengths, 0.0)[piece]
    share = np.abs(before) / np.maximum(np.abs(before) + np.abs(after), 1e-300)
    thetas = thetas + np.where(crossed, length * share, 0.0)
    direction = 1.0 if trace.stop >= thetas.min(initial=trace.stop) else -1.0
    order = np.argsort(direction * thetas, kind="stable")
    return Flips(sides, thetas[order], point[order])


def _jumps(begin: Array, end: Array) -> Any:
    """Return for every piece whether the function jumps where it begins."""
    if len(begin) < 2:
        return np.zeros(len(begin), dtype=bool)
    sizes = np.abs(begin[1:]).max(axis=1, initial=0.0)
    steps = np.abs(begin[1:] - end[:-1]).max(axis=1, initial=0.0)
    return np.append(False, steps > JUMP * (1.0 + sizes))
