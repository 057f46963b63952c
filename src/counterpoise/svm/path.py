"""Solution paths of weighted SVMs, with validation and error curves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from counterpoise.data.parameters import check_choice
from counterpoise.errors import InvalidInputError
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.compiled import add_multiple, reordered
from counterpoise.optim.certificate import Certificate
from counterpoise.optim.quadratic_path.compiled import (
    FREE,
    UPPER,
    EventLog,
    Line,
    Variables,
)
from counterpoise.optim.quadratic_path.path import ParametricPath

# -----------------------------------------------------------------------------
# The function at other points along a path: exact, piece by piece.
# -----------------------------------------------------------------------------


# A difference between path and running sum that moves the function by less than this
# waits until it is larger.
WAITS = 1e-13


@dataclass(frozen=True, eq=False)
class Trace:
    """Values of a function at some points: in piece k, `values + t * slopes`.

    `starts` are the thetas at which pieces begin, t is counted from there; `stop` is
    the end of the last one and `last` the values there.
    """

    starts: Array
    stop: float
    values: Array
    slopes: Array
    last: Array

    @property
    def lengths(self) -> Array:
        """How long the pieces are."""
        return np.diff(np.append(self.starts, self.stop))

    def at_all(self, thetas: Array) -> Array:
        """Return the values at many thetas, a row each; limits from above at jumps."""
        if not self.starts.size:
            return np.tile(self.last, (thetas.size, 1))
        direction = 1.0 if self.stop >= self.starts[0] else -1.0
        places = np.searchsorted(
            direction * self.starts, direction * thetas, side="right"
        )
        k = np.maximum(places - 1, 0)
        past = (thetas - self.starts[k])[:, None]
        out: Array = self.values[k] + past * self.slopes[k]
        out[thetas == self.stop] = self.last
        return out


def trace(path: ParametricPath, cross: Array) -> Trace:
    """Follow the function at points whose kernel with the rows is `cross`.

    Parameters
    ----------
    path : ParametricPath
    cross : array of shape (n_rows, n_points)
    """
    cross = np.ascontiguousarray(cross)
    n_pieces, n_points = path.starts.size, cross.shape[1]
    values, slopes = np.empty((n_pieces, n_points)), np.empty((n_pieces, n_points))
    variables, line = path.variables, path.line

    def combined(a: Array) -> Array:
        weights = variables.sign * a
        sums = np.bincount(variables.row, weights, minlength=len(cross))
        return np.asarray(sums, dtype=float)

    if n_pieces:
        labels = path.labels_in(0)
        rates = np.where(labels == UPPER, line.dupper, line.dlower)
        rates[labels == FREE] = 0.0
        now = path.at(0.0)
        running = combined(now) @ cross
        _replay(
            path.thetas,
            path.log,
            variables,
            line,
            cross,
            WAITS / max(float(np.abs(cross).max(initial=0.0)), 1e-300),
            now,
            running,
            combined(rates) @ cross,
            values,
            slopes,
        )
        last = running + path.end_bias
    else:
        last = combined(path.end) @ cross + path.end_bias
    return Trace(path.starts, 1.0, values, slopes, last)


def rescaled(traces: list[Trace], ends: list[tuple[float, float]]) -> Trace:
    """Return the traces of following segments as one, over their own parameter."""
    starts, slopes = [], []
    for one, (low, high) in zip(traces, ends, strict=True):
        starts.append(low + one.starts * (high - low))
        slopes.append(one.slopes / (high - low) if high != low else one.slopes)
    return Trace(
        np.concatenate(starts),
        ends[-1][1],
        np.concatenate([one.values for one in traces]),
        np.concatenate(slopes),
        traces[-1].last,
    )


@reordered
def _replay(
    thetas: Array,
    log: EventLog,
    variables: Variables,
    line: Line,
    cross: Array,
    waits: float,
    now: Array,
    running: Array,
    pull: Array,
    values: Array,
    slopes: Array,
) -> None:
    """Fill values and slopes; `now` is what the running sum stands for."""
    sign, row = variables.sign, variables.row
    lower, dlower, upper, dupper = line.lower, line.dlower, line.upper, line.dupper
    first, free = log.first, log.free
    n_points = running.size
    for k in range(log.bias.size):
        theta = thetas[k]
        if k > 0:
            for e in range(log.event[k - 1], log.event[k]):
                i = log.event_variable[e]
                old, new = log.event_from[e], log.event_to[e]
                at = cross[row[i]]
                if old != FREE:
                    moved = dupper[i] if old == UPPER else dlower[i]
                    now[i] = upper[i] if old == UPPER else lower[i]
                    now[i] += theta * moved
                    if moved != 0.0:
                        add_multiple(pull, -sign[i] * moved, at)
                if new != FREE:
                    moved = dupper[i] if new == UPPER else dlower[i]
                    bound = upper[i] if new == UPPER else lower[i]
                    bound += theta * moved
                    if abs(bound - now[i]) > waits:
                        add_multiple(running, sign[i] * (bound - now[i]), at)
                    if moved != 0.0:
                        add_multiple(pull, sign[i] * moved, at)
        slope, value = slopes[k], values[k]
        for j in range(n_points):
            slope[j] = pull[j] + log.dbias[k]
        for q in range(first[k], first[k + 1]):
            i = free[q]
            at = cross[row[i]]
            change = log.a[q] - now[i]
            if abs(change) > waits:
                add_multiple(running, sign[i] * change, at)
                now[i] = log.a[q]
            add_multiple(slope, sign[i] * log.da[q], at)
        length = thetas[k + 1] - theta
        for j in range(n_points):
            value[j] = running[j] + log.bias[k]
            running[j] += length * (slope[j] - log.dbias[k])
        for q in range(first[k], first[k + 1]):
            now[free[q]] += length * log.da[q]


# -----------------------------------------------------------------------------
# Where points change sides along a path.
# -----------------------------------------------------------------------------


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
    points: Indices


def flips(
    trace: Trace, level: Array | float = 0.0, *, side_of_zero: float = 1.0
) -> Flips:
    """Return where the function crosses a level.

    A point that starts at exactly the level starts on `side_of_zero`.

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
    sides = np.where(first == 0.0, side_of_zero, np.where(first > 0.0, 1.0, -1.0))
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


def _jumps(begin: Array, end: Array) -> NDArray[np.bool_]:
    """Return for every piece whether the function jumps where it begins."""
    if len(begin) < 2:
        return np.zeros(len(begin), dtype=bool)
    sizes = np.abs(begin[1:]).max(axis=1, initial=0.0)
    steps = np.abs(begin[1:] - end[:-1]).max(axis=1, initial=0.0)
    return np.append(False, steps > JUMP * (1.0 + sizes))


# -----------------------------------------------------------------------------
# Exact validation curves along a path, and where they are smallest.
# -----------------------------------------------------------------------------


# Intervals shorter than this share of the whole are no answers.
SHORTEST = 1e-12


@dataclass(frozen=True, eq=False)
class ValidationCurve:
    """A mean loss as a function of theta: linear pieces, with jumps between them.

    Attributes
    ----------
    loss : str
    thetas : array of shape (k,)
        Where the pieces begin.
    values, slopes : arrays of shape (k,)
        On a piece the loss is `values + (theta - thetas) * slopes`. For the 0-1 loss
        all slopes are zero.
    stop : float
        Where the last piece ends.
    """

    loss: str
    thetas: Array
    values: Array
    slopes: Array
    stop: float

    def at(self, theta: float) -> float:
        """Return the loss at theta; where it jumps, the limit from above."""
        low, high = sorted((float(self.thetas[0]), self.stop))
        if not low <= theta <= high:
            raise InvalidInputError(
                f"theta must be between {low:g} and {high:g}, got {theta:g}"
            )
        sign = 1.0 if self.stop >= self.thetas[0] else -1.0
        k = int(np.searchsorted(sign * self.thetas, sign * theta, side="right")) - 1
        k = max(k, 0)
        return float(self.values[k] + (theta - self.thetas[k]) * self.slopes[k])

    @property
    def minimum(self) -> float:
        """The smallest loss."""
        return float(min(self.values.min(), self._ends().min()))

    @property
    def optimal_intervals(self) -> tuple[tuple[float, float], ...]:
        """All intervals of theta on which the loss is smallest, in their order.

        Where the loss is not flat at its minimum they are single points.
        """
        best, ends = self.minimum, self._ends()
        slack = 1e-12 * max(1.0, abs(best))
        stops = np.append(self.thetas[1:], self.stop)
        low_start, low_end = self.values <= best + slack, ends <= best + slack
        intervals: list[list[float]] = []
        shortest = SHORTEST * abs(self.stop - self.thetas[0])
        for k in np.flatnonzero(low_start | low_end):
            start = float(self.thetas[k] if low_start[k] else stops[k])
            stop = float(stops[k] if low_end[k] else self.thetas[k])
            if intervals and abs(intervals[-1][1] - start) <= shortest:
                intervals[-1][1] = stop
            else:
                intervals.append([start, stop])
        longer = [one for one in intervals if abs(one[1] - one[0]) > shortest]
        return tuple((min(one), max(one)) for one in (longer or intervals))

    @property
    def best_interval(self) -> tuple[float, float]:
        """The longest of the optimal intervals."""
        return max(self.optimal_intervals, key=lambda one: one[1] - one[0])

    @property
    def best_theta(self) -> float:
        """The middle of the longest optimal interval."""
        return 0.5 * sum(self.best_interval)

    def thinned(self, most: int) -> "ValidationCurve":
        """Return the curve at no more than `most` of its pieces and its least value.

        For a picture: between the pieces that are kept it is drawn straight, or level
        if all pieces are.
        """
        if self.thetas.size <= most:
            return self
        last = self.thetas.size - 1
        evenly = np.linspace(0, last, most - 2).round()
        # The least value is where a piece begins, or where it ends and one begins.
        least = int(np.argmin(np.minimum(self.values, self._ends())))
        kept = np.append(evenly, [least, min(least + 1, last)])
        kept = np.unique(kept.astype(np.intp))
        thetas, values = self.thetas[kept], self.values[kept]
        slopes = np.zeros(kept.size)
        if self.slopes.any():
            ends = np.append(values[1:], self._ends()[-1])
            lengths = np.diff(np.append(thetas, self.stop))
            np.divide(ends - values, lengths, out=slopes, where=lengths != 0.0)
        return ValidationCurve(self.loss, thetas, values, slopes, self.stop)

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers and lists."""
        return {
            "loss": self.loss,
            "thetas": self.thetas.tolist(),
            "values": self.values.tolist(),
            "slopes": self.slopes.tolist(),
            "stop": float(self.stop),
            "minimum": self.minimum,
            "optimal_intervals": [list(one) for one in self.optimal_intervals],
        }

    def _ends(self) -> Array:
        stops = np.append(self.thetas[1:], self.stop)
        out: Array = self.values + (stops - self.thetas) * self.slopes
        return out


def average_curve(
    curves: Sequence[ValidationCurve], weights: ArrayLike | None = None
) -> ValidationCurve:
    """Return the mean of curves over one range, on the union of their breakpoints.

    Parameters
    ----------
    curves : sequence of ValidationCurve
        Of the folds of a cross-validation, say.
    weights : array, optional
        How much each counts; by default all the same.
    """
    first = curves[0]
    start, stop = float(first.thetas[0]), first.stop
    for one in curves:
        if (one.loss, float(one.thetas[0]), one.stop) != (first.loss, start, stop):
            raise InvalidInputError(
                "the curves are not of one loss over one range of theta"
            )
    shares = np.ones(len(curves)) if weights is None else np.asarray(weights, float)
    shares = shares / shares.sum()
    sign = 1.0 if stop >= start else -1.0
    thetas = sign * np.unique(np.concatenate([sign * one.thetas for one in curves]))
    values, slopes = np.zeros(thetas.size), np.zeros(thetas.size)
    for share, one in zip(shares, curves, strict=True):
        k = np.searchsorted(sign * one.thetas, sign * thetas, side="right") - 1
        values += share * (one.values[k] + (thetas - one.thetas[k]) * one.slopes[k])
        slopes += share * one.slopes[k]
    return ValidationCurve(first.loss, thetas, values, slopes, stop)


def zero_one(
    loss: str, start: float, stop: float, first: float, thetas: Array, changes: Array
) -> ValidationCurve:
    """Return a curve that jumps by `changes` at `thetas`, from a sum `first` on."""
    if thetas.size:
        totals = first + np.cumsum(changes)
        last_of_theta = np.append(np.diff(thetas) != 0.0, True)
        at, value = thetas[last_of_theta], totals[last_of_theta]
    else:
        at, value = np.empty(0), np.empty(0)
    if at.size and at[0] == start:
        starts, values = at, value
    else:
        starts, values = np.append(start, at), np.append(first, value)
    # What stays the same is one piece.
    new = np.append(True, np.abs(np.diff(values)) > 1e-14)
    starts, values = starts[new], values[new]
    return ValidationCurve(loss, starts, values, np.zeros(values.size), stop)


def hinge_curve(
    loss: str, trace: Trace, parts: list[tuple[Array, Array, Array]], weights: Array
) -> ValidationCurve:
    """Return the mean of sums of hinges, exactly.

    Parameters
    ----------
    loss : str
    trace : Trace
    parts : list of (scale, level, slope)
        The loss of a point is the sum of `scale * max(0, level - slope * f)`, all of
        them an entry a point.
    weights : array
        Of the points; they are divided by their sum.
    """
    share = weights / weights.sum()
    lengths = trace.lengths
    starts = [trace.starts]
    values = np.zeros(trace.starts.size)
    rates = np.zeros(trace.starts.size)
    kinks: list[tuple[Indices, Array, Array]] = []
    for scale, level, slope in parts:
        begin = level - slope * trace.values
        rate = -slope * trace.slopes
        end = begin + lengths[:, None] * rate
        # Where a hinge begins a piece at its kink, the end tells whether it is active.
        active = (begin > 0.0) | ((begin == 0.0) & (end > 0.0))
        gain = share * scale
        values += np.where(active, begin, 0.0) @ gain
        rates += np.where(active, rate, 0.0) @ gain
        piece, point = np.nonzero((begin * end) < 0.0)
        b, e = np.abs(begin[piece, point]), np.abs(end[piece, point])
        theta = trace.starts[piece] + lengths[piece] * b / (b + e)
        kinks.append((piece, theta, np.abs(rate[piece, point]) * gain[point]))
    piece = np.concatenate([one[0] for one in kinks])
    theta = np.concatenate([one[1] for one in kinks])
    change = np.concatenate([one[2] for one in kinks])
    direction = 1.0 if trace.stop >= trace.starts[0] else -1.0
    n_pieces = trace.starts.size
    all_pieces = np.concatenate([np.arange(n_pieces), piece])
    all_thetas = np.concatenate([*starts, theta])
    # A hinge that becomes active or idle raises the slope either way.
    all_changes = np.concatenate([rates, direction * change])
    is_kink = np.concatenate([np.zeros(n_pieces), np.ones(piece.size)])
    order = np.lexsort((is_kink, direction * all_thetas, all_pieces))
    at, of = all_thetas[order], all_pieces[order]
    new = is_kink[order] == 0.0
    running = np.cumsum(all_changes[order])
    begun = np.flatnonzero(new)
    base = running[begun] - rates
    slopes = running - np.repeat(base, np.diff(np.append(begun, at.size)))
    steps = np.append(np.diff(at), 0.0)
    steps[np.append(new[1:], True)] = 0.0
    risen = np.cumsum(steps * slopes)
    before = np.append(0.0, risen[:-1])
    base = before[begun]
    out = values[of] + before - np.repeat(base, np.diff(np.append(begun, at.size)))
    return ValidationCurve(loss, at, out, slopes, trace.stop)


@dataclass(frozen=True, eq=False)
class RegressorCurves:
    """Validation rows of a regressor: kernel with its rows, and centered targets.

    `losses` names each loss with the slopes above and below the prediction and half the
    width of its tube; the first is the default.
    """

    cross: Array
    y: Array
    weights: Array
    losses: dict[str, tuple[float, float, float]]

    def __call__(self, path: "SVMPath", loss: str | None) -> ValidationCurve:
        """Return the curve of one of the losses."""
        names = list(self.losses)
        name = check_choice("loss", loss or names[0], names)
        above, below, tube = self.losses[name]
        (trace,) = path.traces([self.cross])
        one = np.ones(self.y.size)
        parts = [
            (above * one, self.y - tube, one),
            (below * one, -self.y - tube, -one),
        ]
        return hinge_curve(name, trace, parts, self.weights)


# -----------------------------------------------------------------------------
# The exact curve of a ranking's worth, from where rows change places.
# -----------------------------------------------------------------------------


def ndcg(grades: Array, scores: Array) -> float:
    """Return the discounted gain of a ranking by that of the ideal one.

    The gain of a row is :math:`2^{grade} - 1`, divided by :math:`\\log_2(1 + rank)`.
    Rows of one score stand in their order.

    Examples
    --------
    >>> ndcg(np.array([0.0, 1.0]), np.array([0.0, 2.0]))
    1.0
    """
    gain = np.exp2(grades) - 1.0
    discount = 1.0 / np.log2(2.0 + np.arange(grades.size))
    order = np.argsort(-scores, kind="stable")
    return float(gain[order] @ discount / (np.sort(gain)[::-1] @ discount))


def ndcg_curve(trace: Trace, grades: Array, queries: NDArray[Any]) -> ValidationCurve:
    """Return 1 - NDCG over a path, in the mean over queries.

    It changes only where two rows of one query and of unequal grades change places, so
    that it is computed once between two such thetas in a row. Queries in which no row
    has a gain say nothing and are left out.

    Parameters
    ----------
    trace : Trace
        The scores of the rows along the path.
    grades : array of shape (m,)
    queries : array of shape (m,)
    """
    curves = []
    for query in np.unique(queries):
        rows = np.flatnonzero(queries == query)
        if grades[rows].max() > 0.0:
            curves.append(_of_query(trace, rows, grades[rows]))
    if not curves:
        raise InvalidInputError(
            "no query has a row with a grade above zero: no NDCG is there"
        )
    return average_curve(curves)


def _of_query(trace: Trace, rows: Indices, grades: Array) -> ValidationCurve:
    pairs = [
        (i, j) for i, j in combinations(range(rows.size), 2) if grades[i] != grades[j]
    ]
    start = float(trace.starts[0]) if trace.starts.size else 0.0
    thetas = np.array([start])
    if pairs:
        i, j = (rows[list(places)] for places in zip(*pairs, strict=True))
        between = Trace(
            trace.starts,
            trace.stop,
            trace.values[:, i] - trace.values[:, j],
            trace.slopes[:, i] - trace.slopes[:, j],
            trace.last[i] - trace.last[j],
        )
        swaps = np.unique(flips(between).thetas)
        inside = swaps[(swaps > start) & (swaps < trace.stop)]
        thetas = np.append(start, inside)
    middles = 0.5 * (thetas + np.append(thetas[1:], trace.stop))
    scores = trace.at_all(middles)[:, rows]
    values = np.array([1.0 - ndcg(grades, one) for one in scores])
    return ValidationCurve(
        "1 - NDCG", thetas, values, np.zeros(values.size), trace.stop
    )


# -----------------------------------------------------------------------------
# The record of a path: every model on it, exact.
# -----------------------------------------------------------------------------


# Labels of variables in words.
PLACES = ("below", "above", "margin")


@dataclass(frozen=True, eq=False)
class Segment:
    """A straight line of data between two values of theta, a path a machine."""

    start: float
    stop: float
    paths: tuple[ParametricPath, ...]

    def theta(self, t: Array) -> Array:
        """Return the thetas at the shares t of the segment."""
        return self.start + t * (self.stop - self.start)


@dataclass(frozen=True, eq=False)
class SVMPath:
    """All models on a path: exact at every theta, with the curve of their errors.

    Made by the `path` method of a support vector machine.

    Attributes
    ----------
    parameter : str
        What moves: "sample_weight" (theta from 0 to 1), or "C", "epsilon", "nu",
        "quantile" (theta is its value).
    estimator : estimator
        The fitted model that the path belongs to, as it was when the path was made.
    segments : tuple of Segment
    curves : callable or None
        Makes the validation curve of a loss; None if no validation rows were given.

    Notes
    -----
    Dual coefficients may jump where rows depend on one another; the decision function
    is continuous in theta but at the thetas of `jumps`, where no row is on the margin
    and the bias moves through its interval. There, limits from above are returned.
    """

    parameter: str
    estimator: Any
    segments: tuple[Segment, ...]
    curves: Callable[["SVMPath", str | None], ValidationCurve] | None = None

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.estimator!r}, {self.parameter} from "
            f"{self.start:g} to {self.stop:g}, {self.n_events} events)"
        )

    @property
    def start(self) -> float:
        """Where the path begins."""
        return self.segments[0].start

    @property
    def stop(self) -> float:
        """Where it ends."""
        return self.segments[-1].stop

    @property
    def _pieces(self) -> list[tuple[Segment, ParametricPath]]:
        return [(one, path) for one in self.segments for path in one.paths]

    @cached_property
    def thetas(self) -> Array:
        """The breakpoints of all machines, both ends among them."""
        parts = [one.theta(path.thetas) for one, path in self._pieces]
        out: Array = np.unique(np.concatenate(parts))
        return out if self.stop >= self.start else out[::-1]

    @property
    def n_events(self) -> int:
        """The number of rows that changed sides along the path."""
        return sum(path.n_events for _, path in self._pieces)

    @property
    def jumps(self) -> Array:
        """The thetas at which a bias jumps."""
        parts = [one.theta(path.jumps()) for one, path in self._pieces]
        out: Array = np.unique(np.concatenate(parts))
        return out

    def events(self) -> list[dict[str, object]]:
        """Return every change: theta, machine, training row, from where, to where.

        Places are "below" and "above" (the two bounds) and "margin". In a regressor
        with a tube, "side" is 1 for the bound above the target and -1 for that below.
        """
        out = []
        layouts = self.estimator._layouts(self.estimator._target)
        for one in self.segments:
            for k, path in enumerate(one.paths):
                rows, twice = layouts[k].rows, layouts[k].twice
                thetas = one.theta(path.log.event_theta)
                for theta, i, old, new in zip(
                    thetas.tolist(),
                    path.log.event_variable.tolist(),
                    path.log.event_from.tolist(),
                    path.log.event_to.tolist(),
                    strict=True,
                ):
                    event = {
                        "theta": theta,
                        "machine": k,
                        "row": int(rows[i % rows.size]),
                        "from": PLACES[old],
                        "to": PLACES[new],
                    }
                    if twice:
                        event["side"] = 1 if i < rows.size else -1
                    out.append(event)
        return out

    def at(self, theta: float) -> Any:
        """Return the fitted estimator at theta."""
        segment, t = self._find(theta)
        solutions = [(path.at(t), path.bias(t)) for path in segment.paths]
        return self.estimator._at(self.parameter, theta, solutions, segment, t)

    def decision_function(self, X: ArrayLike, theta: float) -> Array:
        """Return the decision function at theta."""
        model = self.at(theta)
        name = "decision_function" if hasattr(model, "decision_function") else "predict"
        out: Array = getattr(model, name)(X)
        return out

    def predict(self, X: ArrayLike, thetas: ArrayLike) -> NDArray[Any]:
        """Return what the models at many thetas predict, a row a theta.

        The functions are followed along the path once, at the cost of a few models.

        Parameters
        ----------
        X : array of shape (m, d)
        thetas : array of shape (k,)

        Returns
        -------
        array of shape (k, m)
        """
        thetas = np.atleast_1d(np.asarray(thetas, dtype=float))
        for theta in thetas.tolist():
            self._find(theta)
        traces = self.traces(self.estimator._cross(X))
        shape = (thetas.size, traces[0].last.size)
        functions = np.stack([one.at_all(thetas).ravel() for one in traces], axis=1)
        return self.estimator._answers(functions).reshape(shape)

    def switches(self, X: ArrayLike) -> Array:
        """Return the thetas at which the function of a machine changes its sign.

        Between two of them in a row, a classifier predicts the same for all rows,
        unless it breaks ties of more than two classes.
        """
        parts = [flips(one).thetas for one in self.traces(self.estimator._cross(X))]
        out: Array = np.unique(np.concatenate(parts))
        return out if self.stop >= self.start else out[::-1]

    def certify(self, theta: float | None = None) -> Certificate:
        """Prove the solution at theta from scratch, or at every breakpoint.

        Of several proofs the one with the largest residual is returned.
        """
        if theta is not None:
            segment, t = self._find(theta)
            proofs = [path.certify(t) for path in segment.paths]
        else:
            proofs = [
                path.certify(float(t)) for _, path in self._pieces for t in path.thetas
            ]
        return max(proofs, key=lambda one: one.residual or 0.0)

    @cached_property
    def validation_error(self) -> ValidationCurve:
        """The exact curve of the validation error over theta.

        The share of wrong labels for classifiers, the mean absolute error for
        regressors; validation rows must have been given to `path`.
        """
        return self.validation_curve()

    def validation_curve(self, loss: str | None = None) -> ValidationCurve:
        """Return the exact curve of another loss ("hinge", "epsilon", ...)."""
        if self.curves is None:
            raise InvalidInputError(
                "path was made without X_val and y_val: no curve is there"
            )
        return self.curves(self, loss)

    @property
    def optimal_intervals(self) -> tuple[tuple[float, float], ...]:
        """All intervals of theta on which the validation error is smallest."""
        return self.validation_error.optimal_intervals

    @property
    def best_interval(self) -> tuple[float, float]:
        """The longest of the optimal intervals."""
        return self.validation_error.best_interval

    def traces(self, cross: list[Array]) -> list[Trace]:
        """Return every machine's function at points of which the kernel is given."""
        ends = [(one.start, one.stop) for one in self.segments]
        return [
            rescaled([trace(one.paths[k], kernel) for one in self.segments], ends)
            for k, kernel in enumerate(cross)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists: breakpoints, margin sizes, biases, curve."""
        machines = []
        for k in range(len(self.segments[0].paths)):
            paths = [(one, one.paths[k]) for one in self.segments]
            machines.append(
                {
                    "thetas": [
                        t for one, p in paths for t in one.theta(p.starts).tolist()
                    ],
                    "biases": [b for _, p in paths for b in p.log.bias.tolist()],
                    "margin": [int(m) for _, p in paths for m in np.diff(p.log.first)],
                    "residual": max(
                        (float(r) for _, path in paths for r in path.log.residual),
                        default=0.0,
                    ),
                }
            )
        return {
            "parameter": self.parameter,
            "start": float(self.start),
            "stop": float(self.stop),
            "n_events": self.n_events,
            "machines": machines,
            "validation": self.validation_error.to_dict() if self.curves else None,
        }

    def _find(self, theta: float) -> tuple[Segment, float]:
        low, high = sorted((self.start, self.stop))
        if not low <= theta <= high:
            raise InvalidInputError(
                f"theta must be between {low:g} and {high:g}, got {theta:g}"
            )
        sign = 1.0 if self.stop >= self.start else -1.0
        for one in self.segments:
            if sign * theta < sign * one.stop or one is self.segments[-1]:
                span = one.stop - one.start
                return one, (theta - one.start) / span if span else 1.0
        raise AssertionError("a theta between the ends is in a segment")


# -----------------------------------------------------------------------------
# How machines of two classes decide among more.
# -----------------------------------------------------------------------------


def pairs_of(n_classes: int) -> list[tuple[int, int]]:
    """Return the pairs of classes in scikit-learn's order."""
    return list(combinations(range(n_classes), 2))


def votes(pairwise: Array, n_classes: int) -> Array:
    """Return how many duels each class wins; a positive value is for the first.

    A value of exactly zero is a vote for the second class of its pair, as in LIBSVM and
    so in scikit-learn's `predict`.
    """
    out = np.zeros((len(pairwise), n_classes))
    for k, (i, j) in enumerate(pairs_of(n_classes)):
        first = pairwise[:, k] > 0.0
        out[first, i] += 1.0
        out[~first, j] += 1.0
    return out


def winners(pairwise: Array, n_classes: int) -> Indices:
    """Return the class with most votes, the first of equal ones."""
    if n_classes == 2:
        return (pairwise[:, 0] >= 0.0).astype(np.intp)
    return np.argmax(votes(pairwise, n_classes), axis=1)


def confidences(pairwise: Array, n_classes: int) -> Array:
    """Return votes, ties among them broken by the summed values, a class a column.

    They are the votes that `winners` counts, so that the class of most votes is the one
    predicted. scikit-learn's `decision_function` gives a value of exactly zero to the
    first class of its pair instead, which its own `predict` contradicts.
    """
    total = np.zeros((len(pairwise), n_classes))
    for k, (i, j) in enumerate(pairs_of(n_classes)):
        total[:, i] += pairwise[:, k]
        total[:, j] -= pairwise[:, k]
    out: Array = votes(pairwise, n_classes) + total / (3.0 * (np.abs(total) + 1.0))
    return out


# -----------------------------------------------------------------------------
# The exact curve of wrong labels, from where points change sides.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ClassifierCurves:
    """Validation rows of a classifier: kernel with each machine's rows, and labels."""

    cross: list[Array]
    codes: Indices
    weights: Array
    n_classes: int

    def __call__(self, path: SVMPath, loss: str | None) -> ValidationCurve:
        """Return the curve of "error" (by default) or "hinge"."""
        check_choice("loss", loss or "error", ["error", "hinge"])
        traces = path.traces(self.cross)
        if loss != "hinge":
            return error_curve(path, traces, self.codes, self.weights, self.n_classes)
        if self.n_classes > 2:
            raise InvalidInputError("the hinge loss is for two classes")
        y = np.where(self.codes == 1, 1.0, -1.0)
        one = np.ones(y.size)
        return hinge_curve("hinge", traces[0], [(one, one, y)], self.weights)


def error_curve(
    path: SVMPath, traces: list[Trace], codes: Indices, weights: Array, n_classes: int
) -> ValidationCurve:
    """Return the curve of the weighted share of wrong labels."""
    share = weights / weights.sum()
    # As `winners` has it: zero is for the second class of two, and of a pair of more.
    side_of_zero = 1.0 if n_classes == 2 else -1.0
    crossings = [flips(one, side_of_zero=side_of_zero) for one in traces]
    start, stop = path.start, path.stop
    sides = np.column_stack([one.sides for one in crossings])
    first = float(share @ (winners(sides, n_classes) != codes))
    thetas = np.concatenate([one.thetas for one in crossings])
    points = np.concatenate([one.points for one in crossings])
    pair = np.repeat(np.arange(len(crossings)), [one.points.size for one in crossings])
    sign = 1.0 if stop >= start else -1.0
    order = np.argsort(sign * thetas, kind="stable")
    thetas, points, pair = thetas[order], points[order], pair[order]
    changes = np.zeros(thetas.size)
    if n_classes == 2:
        # The k-th flip of a point ends on the side it began on if k is even.
        by_point = np.argsort(points, kind="stable")
        ordered = points[by_point]
        begun = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        begun = begun[: ordered.size]
        counts = np.diff(np.append(begun, ordered.size))
        rank = np.arange(ordered.size) - np.repeat(begun, counts)
        side = np.where(rank % 2 == 0, -1.0, 1.0) * sides[ordered, 0]
        wrong = (side > 0.0) != (codes[ordered] == 1)
        changes[by_point] = np.where(wrong, 1.0, -1.0) * share[ordered]
    else:
        sides = sides.copy()
        for e, (point, k) in enumerate(zip(points, pair, strict=True)):
            row = sides[point : point + 1]
            was = winners(row, n_classes)[0] != codes[point]
            row[0, k] = -row[0, k]
            wrong = winners(row, n_classes)[0] != codes[point]
            changes[e] = share[point] * (float(wrong) - float(was))
    return zero_one("error", start, stop, first, thetas, changes)
