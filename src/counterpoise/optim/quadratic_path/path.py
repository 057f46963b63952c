"""Exact piecewise solution paths: settings, pieces, event log, slack."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.optim.certificate import Certificate
from counterpoise.optim.quadratic_path.compiled import (
    ENTRIES,
    EVENTS,
    PIECES,
    TAPED_EVENTS,
    THETA,
    UPPER,
    Line,
    Place,
    Tape,
    Variables,
    extents,
)
from counterpoise.optim.quadratic_path.problem import BoxQuadratic, KernelRows

# -----------------------------------------------------------------------------
# The data of a problem at one point, and the line from one point to another.
# -----------------------------------------------------------------------------


class Setting(NamedTuple):
    """The data of the problem at one point."""

    p: Array
    lower: Array
    upper: Array
    d: float

    def changed(
        self,
        p: Array | None,
        lower: Array | None,
        upper: Array | None,
        d: float | None,
    ) -> "Setting":
        """Return the setting with what is given in its place."""
        return Setting(
            self.p if p is None else np.asarray(p, dtype=float),
            self.lower if lower is None else np.asarray(lower, dtype=float),
            self.upper if upper is None else np.asarray(upper, dtype=float),
            self.d if d is None else float(d),
        )

    def problem(self, rows: KernelRows, variables: Variables) -> BoxQuadratic:
        """Return the problem with these data, which proves its solutions."""
        return BoxQuadratic(
            rows.product,
            variables.sign,
            variables.row,
            self.p,
            self.lower,
            self.upper,
            self.d if variables.bias else None,
        )


def line_between(old: Setting, new: Setting) -> Line:
    """Return the straight line from one setting to another."""
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


def setting_at(line: Line, theta: float) -> Setting:
    """Return the setting at one theta of a line."""
    return Setting(
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

    What is kept grows with the number of free entries in the pieces, not with the
    number of variables.

    Attributes
    ----------
    starts : array of shape (n_pieces,)
        Where the pieces begin; they have a length, and their labels are constant.
    first : array of shape (n_pieces + 1,)
        Where the entries of a piece begin in `free`, `values` and `rates`.
    residuals : array of shape (n_pieces,)
        How far the margin was from its equations where the piece began, as the running
        sums tell; `certify` tells it from scratch.
    event_thetas, event_variables, event_from, event_to : arrays of shape (n_events,)
        The changes of label: 0 lower bound, 1 upper bound, 2 margin.
    """

    rows: KernelRows
    variables: Variables
    line: Line
    labels: Indices
    starts: Array
    biases: Array
    bias_rates: Array
    first: Indices
    events_before: Indices
    residuals: Array
    free: Indices
    values: Array
    rates: Array
    event_thetas: Array
    event_variables: Indices
    event_from: Indices
    event_to: Indices
    end: Array
    end_bias: float

    @cached_property
    def thetas(self) -> Array:
        """The breakpoints, both ends among them."""
        return np.append(self.starts, 1.0) if self.starts.size else np.array([0.0, 1.0])

    @property
    def n_events(self) -> int:
        """The number of changes of label."""
        return int(self.event_thetas.size)

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
        labels = self.labels_in(k)
        line = self.line
        bound = np.where(labels == UPPER, line.upper, line.lower)
        rate = np.where(labels == UPPER, line.dupper, line.dlower)
        out: Array = bound + theta * rate
        entries = slice(self.first[k], self.first[k + 1])
        moved = (theta - self.starts[k]) * self.rates[entries]
        out[self.free[entries]] = self.values[entries] + moved
        return out

    def bias(self, theta: float) -> float:
        """Return the multiplier of the equality at theta.

        Where no variable is free it is one of an interval: the one the path came with.
        """
        if theta == 1.0 or not self.starts.size:
            return self.end_bias
        k = self.piece(theta)
        return float(self.biases[k] + (theta - self.starts[k]) * self.bias_rates[k])

    def labels_in(self, k: int) -> Indices:
        """Return the label of every variable in piece k."""
        n_before = self.events_before[k]
        labels = self.labels.copy()
        # Of several changes of one variable the last is the one that stays.
        labels[self.event_variables[:n_before]] = self.event_to[:n_before]
        return labels

    def margin_sizes(self) -> Indices:
        """Return the number of free variables in every piece."""
        return np.diff(self.first)

    def problem(self, theta: float) -> BoxQuadratic:
        """Return the problem at one theta."""
        return setting_at(self.line, theta).problem(self.rows, self.variables)

    def certify(self, theta: float) -> Certificate:
        """Prove the solution at theta from scratch."""
        return self.problem(theta).certify(self.at(theta), hint=self.bias(theta))

    def jumps(self) -> Array:
        """Return the thetas at which the bias jumps."""
        if not self.starts.size:
            return np.empty(0)
        lengths = np.diff(self.thetas)
        ends = self.biases + lengths * self.bias_rates
        following = np.append(self.biases[1:], self.end_bias)
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


def event_slack(
    line: Line, largest: float, gradient: float | None, value: float | None
) -> tuple[float, float]:
    """Return the slack on gradients and on variables; what is given stays.

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
# The tape on which a path is written, and how it grows.
# -----------------------------------------------------------------------------


ENTRIES_OF_A_PIECE = ("free", "a", "da")


def new_tape(wanted: bool) -> Tape:
    """Return an empty tape with room for some pieces; none if it is not wanted."""
    pieces, entries = (256, 4096) if wanted else (0, 0)
    return Tape(
        wanted=wanted,
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
        event_who=np.empty(2 * pieces, dtype=np.intp),
        event_from=np.empty(2 * pieces, dtype=np.intp),
        event_to=np.empty(2 * pieces, dtype=np.intp),
    )


NO_TAPE = new_tape(False)


def longer(tape: Tape, room: int) -> Tape:
    """Return the tape with twice its room, and for a piece of `room` entries."""
    parts: dict[str, Any] = tape._asdict()
    for name, part in parts.items():
        if name != "wanted":
            more = 2 * room if name in ENTRIES_OF_A_PIECE else 0
            parts[name] = np.empty(2 * part.size + more, dtype=part.dtype)
            parts[name][: part.size] = part
    return Tape(**parts)


def write_changes(place: Place, tape: Tape, before: Indices) -> Tape:
    """Put the changes of label of a resolved tie on the tape."""
    counts, status = place.counts, place.status
    changed = np.flatnonzero(before != status)
    counts[EVENTS] += changed.size
    if not tape.wanted or not changed.size:
        return tape
    while counts[TAPED_EVENTS] + changed.size > tape.event_who.size:
        tape = longer(tape, 0)
    some = slice(counts[TAPED_EVENTS], counts[TAPED_EVENTS] + changed.size)
    tape.event_theta[some] = place.numbers[THETA]
    tape.event_who[some] = changed
    tape.event_from[some] = before[changed]
    tape.event_to[some] = status[changed]
    counts[TAPED_EVENTS] += changed.size
    return tape


def read_path(
    tape: Tape,
    rows: KernelRows,
    variables: Variables,
    line: Line,
    labels: Indices,
    place: Place,
    bias: float,
) -> ParametricPath:
    """Return what is on the tape as a path that began with these labels."""
    counts = place.counts
    k, entries, events = (int(counts[c]) for c in (PIECES, ENTRIES, TAPED_EVENTS))
    return ParametricPath(
        rows=rows,
        variables=variables,
        line=line,
        labels=labels,
        starts=tape.theta[:k].copy(),
        biases=tape.bias[:k].copy(),
        bias_rates=tape.dbias[:k].copy(),
        first=tape.first[: k + 1].copy(),
        events_before=tape.event[:k].copy(),
        residuals=tape.residual[:k].copy(),
        free=tape.free[:entries].copy(),
        values=tape.a[:entries].copy(),
        rates=tape.da[:entries].copy(),
        event_thetas=tape.event_theta[:events].copy(),
        event_variables=tape.event_who[:events].copy(),
        event_from=tape.event_from[:events].copy(),
        event_to=tape.event_to[:events].copy(),
        end=place.a.copy(),
        end_bias=bias,
    )
