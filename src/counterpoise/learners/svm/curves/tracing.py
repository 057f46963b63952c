"""The function at other points along a path: exact, piece by piece."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.convex.quadratic_path import ParametricPath
from counterpoise.convex.quadratic_path.layout import FREE, UPPER
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.reordered import add_multiple, reordered

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
            path.biases,
            path.bias_rates,
            path.first,
            path.events_before,
            path.free,
            path.values,
            path.rates,
            path.event_variables,
            path.event_from,
            path.event_to,
            variables.sign,
            variables.row,
            line.lower,
            line.dlower,
            line.upper,
            line.dupper,
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
    starts: list[Any] = []
    slopes = []
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
    biases: Array,
    bias_rates: Array,
    first: Indices,
    events_before: Indices,
    free: Indices,
    entries: Array,
    rates: Array,
    who: Indices,
    before: Indices,
    after: Indices,
    sign: Array,
    row: Indices,
    lower: Array,
    dlower: Array,
    upper: Array,
    dupper: Array,
    cross: Array,
    waits: float,
    now: Array,
    running: Array,
    pull: Array,
    values: Array,
    slopes: Array,
) -> None:
    """Fill values and slopes; `now` is what the running sum stands for."""
    n_points = running.size
    for k in range(biases.size):
        theta = thetas[k]
        if k > 0:
            for e in range(events_before[k - 1], events_before[k]):
                i = who[e]
                at = cross[row[i]]
                if before[e] != FREE:
                    moved = dupper[i] if before[e] == UPPER else dlower[i]
                    now[i] = upper[i] if before[e] == UPPER else lower[i]
                    now[i] += theta * moved
                    if moved != 0.0:
                        add_multiple(pull, -sign[i] * moved, at)
                if after[e] != FREE:
                    moved = dupper[i] if after[e] == UPPER else dlower[i]
                    bound = upper[i] if after[e] == UPPER else lower[i]
                    bound += theta * moved
                    if abs(bound - now[i]) > waits:
                        add_multiple(running, sign[i] * (bound - now[i]), at)
                    if moved != 0.0:
                        add_multiple(pull, sign[i] * moved, at)
        slope, value = slopes[k], values[k]
        for j in range(n_points):
            slope[j] = pull[j] + bias_rates[k]
        for q in range(first[k], first[k + 1]):
            i = free[q]
            at = cross[row[i]]
            change = entries[q] - now[i]
            if abs(change) > waits:
                add_multiple(running, sign[i] * change, at)
                now[i] = entries[q]
            add_multiple(slope, sign[i] * rates[q], at)
        length = thetas[k + 1] - theta
        for j in range(n_points):
            value[j] = running[j] + biases[k]
            running[j] += length * (slope[j] - bias_rates[k])
        for q in range(first[k], first[k + 1]):
            now[free[q]] += length * rates[q]
