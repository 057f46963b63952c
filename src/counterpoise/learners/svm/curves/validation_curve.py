"""Exact validation curves along a path, and where they are smallest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.learners.svm.curves.tracing import Trace
from counterpoise.numerics.arrays import Array
from counterpoise.validation import InvalidInput, check_choice

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
            raise InvalidInput(
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
        found: list[list[float]] = []
        shortest = SHORTEST * abs(self.stop - self.thetas[0])
        for k in np.flatnonzero(low_start | low_end):
            start = float(self.thetas[k] if low_start[k] else stops[k])
            stop = float(stops[k] if low_end[k] else self.thetas[k])
            if found and abs(found[-1][1] - start) <= shortest:
                found[-1][1] = stop
            else:
                found.append([start, stop])
        long = [one for one in found if abs(one[1] - one[0]) > shortest]
        return tuple((min(one), max(one)) for one in (long or found))

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

    def to_dict(self) -> dict[str, Any]:
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
    curves: Sequence[ValidationCurve], weights: Any = None
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
            raise InvalidInput("the curves are not of one loss over one range of theta")
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
    kinks: list[tuple[Any, Array, Array]] = []
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
    """Validation rows of a regressor: kernel with its rows, and centred targets.

    `losses` names each loss with the slopes above and below the prediction and half the
    width of its tube; the first is the default.
    """

    cross: Array
    y: Array
    weights: Array
    losses: dict[str, tuple[float, float, float]]

    def __call__(self, path: Any, loss: str | None) -> ValidationCurve:
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
