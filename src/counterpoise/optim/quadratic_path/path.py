"""Exact piecewise linear solution paths: problem data, pieces, and the event log."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.optim.certificate import Certificate
from counterpoise.optim.quadratic_path.compiled import (
    ENTRIES,
    LOGGED_EVENTS,
    PIECES,
    UPPER,
    EventLog,
    Line,
    State,
    Variables,
    extents,
)
from counterpoise.optim.quadratic_path.problem import BoxQuadratic, KernelRows

# -----------------------------------------------------------------------------
# The data of a problem at one point, and the line from one point to another.
# -----------------------------------------------------------------------------


class ProblemData(NamedTuple):
    """The data of the problem at one point."""

    p: Array
    lower: Array
    upper: Array
    d: float

    def problem(self, rows: KernelRows, variables: Variables) -> BoxQuadratic:
        """Return the problem with these data, which certifies its solutions."""
        d = self.d if variables.bias else None
        sign, row = variables.sign, variables.row
        return BoxQuadratic(rows.product, sign, row, *self[:3], d)


def line_between(old: ProblemData, new: ProblemData) -> Line:
    """Return the straight line from one problem's data to another's."""
    return Line(
        old.p,
        new.p - old.p,
        old.lower,
        new.lower - old.lower,
        old.upper,
        new.upper - old.upper,
        old.d,
        new.d - old.d,
    )


def data_at(line: Line, theta: float) -> ProblemData:
    """Return the data at one theta of a line."""
    return ProblemData(
        line.p + theta * line.dp,
        line.lower + theta * line.dlower,
        line.upper + theta * line.dupper,
        line.d + theta * line.dd,
    )


# -----------------------------------------------------------------------------
# A followed path: linear pieces, the free entries in each, and the events.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ParametricPath:
    """The solution for every theta in [0, 1], linear between breakpoints.

    The memory grows with the number of free entries in the pieces, not with the
    number of variables.

    Attributes
    ----------
    labels : array of shape (n,)
        Of the variables at theta = 0: 0 lower bound, 1 upper bound, 2 margin.
    log : EventLog
        Linear pieces, the free entries in them, and the changes of label.
    end, end_bias : array of shape (n,), float
        The solution at theta = 1.
    """

    rows: KernelRows
    variables: Variables
    line: Line
    labels: Indices
    log: EventLog
    end: Array
    end_bias: float

    @property
    def starts(self) -> Array:
        """Where the pieces begin; they have a length and constant labels."""
        return self.log.theta

    @cached_property
    def thetas(self) -> Array:
        """The breakpoints, both ends among them."""
        return np.append(self.starts, 1.0) if self.starts.size else np.array([0.0, 1.0])

    @property
    def n_events(self) -> int:
        """The number of changes of label."""
        return int(self.log.event_theta.size)

    def piece(self, theta: float) -> int:
        """Return which piece holds at theta; at a breakpoint the one that begins."""
        if not 0.0 <= theta <= 1.0:
            raise ValueError(f"theta must be between 0 and 1, got {theta:g}")
        return max(int(np.searchsorted(self.starts, theta, side="right")) - 1, 0)

    def at(self, theta: float) -> Array:
        """Return the variables at theta; where they jump, the limit from above."""
        if theta == 1.0 or not self.starts.size:
            return self.end.copy()
        k = self.piece(theta)
        log, data = self.log, data_at(self.line, theta)
        out = np.where(self.labels_in(k) == UPPER, data.upper, data.lower)
        entries = slice(log.first[k], log.first[k + 1])
        moved = (theta - self.starts[k]) * log.da[entries]
        out[log.free[entries]] = log.a[entries] + moved
        return out

    def bias(self, theta: float) -> float:
        """Return the multiplier of the equality at theta.

        Where no variable is free it is one of an interval: the one the path came with.
        """
        if theta == 1.0 or not self.starts.size:
            return self.end_bias
        k = self.piece(theta)
        return float(self.log.bias[k] + (theta - self.starts[k]) * self.log.dbias[k])

    def labels_in(self, k: int) -> Indices:
        """Return the label of every variable in piece k."""
        n_before = self.log.event[k]
        labels = self.labels.copy()
        # Of several changes of one variable the last is the one that stays.
        labels[self.log.event_variable[:n_before]] = self.log.event_to[:n_before]
        return labels

    def certify(self, theta: float) -> Certificate:
        """Prove the solution at theta from scratch."""
        problem = data_at(self.line, theta).problem(self.rows, self.variables)
        return problem.certify(self.at(theta), hint=self.bias(theta))

    def jumps(self) -> Array:
        """Return the thetas at which the bias jumps."""
        if not self.starts.size:
            return np.empty(0)
        ends = self.log.bias + np.diff(self.thetas) * self.log.dbias
        following = np.append(self.log.bias[1:], self.end_bias)
        large = np.abs(following - ends) > 1e-9 * (1.0 + np.abs(ends))
        out: Array = self.thetas[1:][large]
        return out


# -----------------------------------------------------------------------------
# What counts as zero on a line of data.
# -----------------------------------------------------------------------------


# Slack of the event search on gradients, in units of p: the smaller one where f is so
# small that its rounding is far below. On variables it follows from it, within these
# shares of the largest bound.
LEAST_GRADIENT, MOST_GRADIENT, SHARE_OF_F = 1e-11, 1e-10, 1e-17
LEAST_VALUE, MOST_VALUE = 1e-15, 1e-12


def event_tolerance(
    line: Line, largest: float, gradient: float | None, value: float | None
) -> tuple[float, float]:
    """Return the slacks on gradients and on variables; numbers override the defaults.

    Parameters
    ----------
    line : Line
    largest : float
        The largest entry of the kernel's diagonal.
    gradient, value : float or None
    """
    most, total, unit = extents(line)
    most = max(most, 1e-300)
    if unit == 0.0:
        unit = largest * most
    if gradient is None:
        rounding = SHARE_OF_F * total * largest
        gradient = min(max(LEAST_GRADIENT * unit, rounding), MOST_GRADIENT * unit)
    if value is None:
        value = 0.1 * gradient / largest
        value = max(LEAST_VALUE * most, min(MOST_VALUE * most, value))
    return float(gradient), float(value)


# -----------------------------------------------------------------------------
# The event log: how it begins, grows, and is cut to what was written.
# -----------------------------------------------------------------------------


def new_log(enabled: bool) -> EventLog:
    """Return an empty log with room for some pieces, without room if disabled."""
    pieces, entries = (256, 4096) if enabled else (0, 0)
    return EventLog(
        enabled=enabled,
        theta=np.empty(pieces),
        bias=np.empty(pieces),
        dbias=np.empty(pieces),
        first=np.zeros(pieces + 1, dtype=np.intp),
        event=np.empty(pieces, dtype=np.intp),
        residual=np.empty(pieces),
        free=np.empty(entries, dtype=np.intp),
        a=np.empty(entries),
        da=np.empty(entries),
        event_theta=np.empty(2 * pieces),
        event_variable=np.empty(2 * pieces, dtype=np.intp),
        event_from=np.empty(2 * pieces, dtype=np.intp),
        event_to=np.empty(2 * pieces, dtype=np.intp),
    )


def enlarged(log: EventLog, n_entries: int = 0) -> EventLog:
    """Return the log with twice its room, and for a piece of so many entries."""
    parts = []
    for name, part in zip(log._fields[1:], log[1:], strict=True):
        more = 2 * n_entries if name in ("free", "a", "da") else 0
        larger = np.empty(2 * part.size + more, dtype=part.dtype)
        larger[: part.size] = part
        parts.append(larger)
    return EventLog(log.enabled, *parts)  # type: ignore[arg-type]


def trimmed(log: EventLog, state: State) -> EventLog:
    """Return a copy of the log that ends with what was written."""
    pieces, entries, events = state.counts[[PIECES, ENTRIES, LOGGED_EVENTS]]
    sizes = [pieces] * 6 + [entries] * 3 + [events] * 4
    sizes[3] = pieces + 1  # `first` also holds the end of the last piece
    parts = [part[:n].copy() for part, n in zip(log[1:], sizes, strict=True)]
    return EventLog(log.enabled, *parts)  # type: ignore[arg-type]
