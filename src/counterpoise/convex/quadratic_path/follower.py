"""A solution that moves: its state, and how it is taken along a line of data."""

import math
from typing import Any

import numpy as np

from counterpoise.convex.certificate import Certificate
from counterpoise.convex.path import PathError
from counterpoise.convex.quadratic_path.layout import (
    BIAS,
    BUDGET,
    ENTRIES,
    EVENTS,
    FREE,
    INDEFINITE,
    INFEASIBLE,
    LOWER,
    NEEDS_ROOM,
    NEEDS_ROW,
    NEEDS_TAPE,
    PIECES,
    REACHED,
    REFRESH,
    SEARCH,
    SIZE,
    STAGE,
    TAPED_EVENTS,
    THETA,
    TIE,
    UPPER,
    WHO,
    WORK,
    ZERO_RUN,
    Line,
    Place,
    Scratch,
    Tape,
    Tolerance,
    Variables,
    new_place,
    new_scratch,
)
from counterpoise.convex.quadratic_path.loop import run
from counterpoise.convex.quadratic_path.margin import rebuild, remove
from counterpoise.convex.quadratic_path.pieces import ParametricPath
from counterpoise.convex.quadratic_path.pivots import CLEARLY_NEGATIVE, LEAST_PIVOT
from counterpoise.convex.quadratic_path.rows import KernelRows
from counterpoise.convex.quadratic_path.setting import (
    Setting,
    line_between,
    setting_at,
)
from counterpoise.convex.quadratic_path.slack import event_slack
from counterpoise.convex.quadratic_path.survey import survey
from counterpoise.convex.quadratic_path.taping import (
    NO_TAPE,
    longer,
    new_tape,
    read_path,
    write_changes,
)
from counterpoise.convex.quadratic_path.ties import resolve_tie
from counterpoise.numerics.arrays import Array, Indices

SINGULAR = 1e-12
ZERO_LIMIT = 4
# Ties at one theta in which the zero-length steps are no longer counted on.
MOST_ZERO_STEPS = 20

FAILURES = {
    BUDGET: "more events than allowed",
    INFEASIBLE: "the equality cannot be met within the bounds",
    TIE: "events at one theta do not come to an end (is the kernel positive "
    "semidefinite?)",
    INDEFINITE: "the kernel is not positive semidefinite",
}


class WorkSpentError(PathError):
    """A move cost more than it was allowed to."""


class Follower:
    """The solution of a quadratic programme, moved exactly from data to data.

    Minimise a'Qa/2 - p'a over lower <= a <= upper and s'a = d, Q_ij = s_i s_j
    K[k_i, k_j]. `BoxQuadratic` is the same problem and proves its solutions.

    Parameters
    ----------
    rows : KernelRows
    sign : array of shape (n,)
        +1 or -1.
    row : array of shape (n,), optional
        The kernel row of each variable; by default its own.
    bias : bool
        Whether there is the equality.

    Notes
    -----
    A start (`parametric.starts`) must come first. An event costs O(n |M|), M the free
    variables: what the variables at bounds do is a maintained sum that changes by one
    kernel row an event. Ties are resolved by the problem that the derivative of the
    solution solves; whatever cannot be followed is a `PathError`.

    References
    ----------
    Karasuyama, Harada, Sugiyama and Takeuchi (2012); Hastie, Rosset, Tibshirani and
    Zhu (2004).
    """

    def __init__(
        self,
        rows: KernelRows,
        sign: Array,
        row: Indices | None = None,
        *,
        bias: bool = True,
        shift: float | None = None,
        depth: int = 0,
    ) -> None:
        self.rows = rows
        sign = np.ascontiguousarray(sign, dtype=float)
        n, size = sign.size, rows.size
        row = np.arange(n) if row is None else np.ascontiguousarray(row, dtype=np.intp)
        diagonal = rows.stored.diagonal
        self.largest = float(diagonal.max())
        mean = float(diagonal.mean()) if self.largest > 0.0 else 1.0
        self.pivot_unit = 1e-3 * (self.largest + mean)
        if not bias:
            shift = 0.0
        self.variables = Variables(
            sign,
            row,
            bool(n == size and np.array_equal(row, np.arange(n))),
            bias,
            float(mean if shift is None else shift),
        )
        self.place, self.scratch = new_place(n, size), new_scratch(n, size)
        self.setting = Setting(np.zeros(n), np.zeros(n), np.zeros(n), 0.0)
        self.depth = depth
        self.gradient_slack: float | None = None
        self.value_slack: float | None = None
        self.zero_limit, self.end_slack = ZERO_LIMIT, 1e-13
        self.max_events = 50 * n + 2000

    @property
    def a(self) -> Array:
        """The variables."""
        return self.place.a

    @property
    def bias(self) -> float:
        """The multiplier of the equality."""
        return float(self.place.numbers[BIAS])

    @property
    def margin(self) -> Indices:
        """The free variables."""
        return self.place.free[: self.place.counts[SIZE]]

    @property
    def n_events(self) -> int:
        """The number of changes of label in the last move."""
        return int(self.place.counts[EVENTS])

    @property
    def f(self) -> Array:
        """K beta + b at the kernel's rows."""
        out: Array = self.place.f + self.place.numbers[BIAS]
        return out

    def gradient(self, p: Array | None = None) -> Array:
        """Return g = s f - p."""
        p = self.setting.p if p is None else p
        out: Array = self.variables.sign * self.f[self.variables.row] - p
        return out

    def certify(self) -> Certificate:
        """Prove the present solution from scratch."""
        problem = self.setting.problem(self.rows, self.variables)
        return problem.certify(self.a, hint=self.bias)

    def combined(self, values: Array) -> Array:
        """Return the sum of s_i values_i over the variables of each kernel row."""
        if self.variables.own_rows:
            out: Array = self.variables.sign * values
            return out
        weights = self.variables.sign * values
        sums = np.bincount(self.variables.row, weights, minlength=self.rows.size)
        return np.asarray(sums, dtype=float)

    def recompute(self) -> None:
        """Compute f from scratch."""
        self.place.f[:] = self.rows.product(self.combined(self.a))

    def copy(self) -> "Follower":
        """Return a follower at the same place that moves on its own."""
        out = object.__new__(Follower)
        out.__dict__.update(self.__dict__)
        m = self.place.counts[SIZE]
        room = min(m + 32, self.place.free.size)
        factor = np.zeros((room, room))
        factor[:m, :m] = self.place.factor[:m, :m]
        parts: dict[str, Any] = self.place._asdict()
        parts = {name: part.copy() for name, part in parts.items() if name != "factor"}
        out.place = Place(factor=factor, **parts)
        out.scratch = Scratch(*(np.empty_like(part) for part in self.scratch))  # type: ignore[arg-type]
        return out

    def move(
        self,
        p: Array | None = None,
        lower: Array | None = None,
        upper: Array | None = None,
        d: float | None = None,
        *,
        taped: bool = True,
        max_events: int | None = None,
        max_work: float | None = None,
    ) -> ParametricPath | None:
        """Take the solution to other data along a straight line.

        Parameters
        ----------
        p, lower, upper, d : arrays or float, optional
            The data at theta = 1; what is not given stays.
        taped : bool
            Whether to write down the path, which is then returned.
        max_events : int, optional
            More are an error; by default `self.max_events`, 50 n + 2000.
        max_work : float, optional
            More multiplications than this raise `WorkSpentError`.

        Raises
        ------
        PathError
            If theta = 1 is not reached, with the theta that was.
        """
        new = self.setting.changed(p, lower, upper, d)
        self.settle_closed()
        line = line_between(self.setting, new)
        labels = self.place.status.copy() if taped else self.place.status
        if max_events is None:
            max_events = self.max_events
        tape = new_tape(True) if taped else NO_TAPE
        code, tape = self.run(line, tape, max_events, max_work)
        theta = float(self.place.numbers[THETA])
        if code != REACHED:
            self._stop_at(line, theta)
            if code == BUDGET and self.place.counts[EVENTS] < max_events:
                raise WorkSpentError("more work than allowed", theta)
            raise PathError(FAILURES[code], theta)
        self.setting = new
        self._rest_at_bounds(new.lower, new.upper)
        if not taped:
            return None
        return read_path(
            tape, self.rows, self.variables, line, labels, self.place, self.bias
        )

    def run(
        self, line: Line, tape: Tape, max_events: int, max_work: float | None = None
    ) -> tuple[int, Tape]:
        """Follow a line to its end; return why it came back, and the tape."""
        numbers, counts = self.place.numbers, self.place.counts
        numbers[THETA] = 0.0
        counts[EVENTS] = counts[PIECES] = counts[ENTRIES] = counts[TAPED_EVENTS] = 0
        counts[WORK] = 0
        counts[STAGE], counts[ZERO_RUN] = SEARCH, 0
        self.prepare(line)
        tolerance = self._tolerance(line, max_events)
        limit = tolerance.zero_limit
        last_theta, last_bias = -1.0, 0.0
        while True:
            code = run(
                self.rows.stored,
                self.variables,
                line,
                self.place,
                self.scratch,
                tolerance,
                tape,
            )
            if max_work is not None and counts[WORK] * self.rows.size > max_work:
                return BUDGET, tape
            if code == NEEDS_ROW:
                who = self.variables.row[counts[WHO]]
                self.rows.bring(int(who), self.variables.row[self.margin])
            elif code == NEEDS_ROOM:
                self.make_room(counts[SIZE] + 2)
            elif code == NEEDS_TAPE:
                tape = longer(tape, int(counts[SIZE]))
            elif code == REFRESH:
                if not self._refresh(line):
                    return INDEFINITE, tape
            elif code == TIE:
                same_place = abs(numbers[THETA] - last_theta) <= 1e-13
                if same_place and abs(numbers[BIAS] - last_bias) <= tolerance.gradient:
                    limit = min(4 * limit, MOST_ZERO_STEPS * self.a.size)
                    if limit >= MOST_ZERO_STEPS * self.a.size:
                        return TIE, tape
                else:
                    limit = tolerance.zero_limit
                last_theta, last_bias = numbers[THETA], numbers[BIAS]
                before = self.place.status.copy()
                if not resolve_tie(self, line, tolerance):
                    return TIE, tape
                tape = write_changes(self.place, tape, before)
                self.prepare(line)
                counts[ZERO_RUN] = 0
            else:
                return code, tape
            if tolerance.zero_limit != limit:
                tolerance = tolerance._replace(zero_limit=limit)

    def follow_labels(self, line: Line) -> int:
        """Follow a line without a record; return why it came back."""
        self.setting = Setting(line.p, line.lower, line.upper, line.d)
        self.settle_closed()
        return self.run(line, NO_TAPE, self.max_events)[0]

    def like(self, K: Array, sign: Array) -> "Follower":
        """Return a follower of a smaller problem, for a tie in this one."""
        from counterpoise.convex.quadratic_path.rows import DenseRows

        return Follower(
            DenseRows(K),
            sign,
            bias=self.variables.bias,
            shift=self.variables.shift,
            depth=self.depth + 1,
        )

    def prepare(self, line: Line) -> None:
        """Compute what the variables at bounds do, and which of them can move."""
        rates = np.empty(self.a.size)
        self._moving, count, share = survey(self.variables, line, self.place, rates)
        if count == 0:
            self.place.pull[:] = 0.0
        elif math.isfinite(share) and self.margin.size < count // 4:
            # All bounds grow together: what they do is what they are, times a share.
            on_margin = np.zeros(self.a.size)
            on_margin[self.margin] = self.a[self.margin]
            rest = self.place.f - self.rows.product(self.combined(on_margin))
            self.place.pull[:] = share * rest
        else:
            self.place.pull[:] = self.rows.product(self.combined(rates))

    def adopt_margin(self, margin: Indices, factor: Array | None) -> None:
        """Make these the free variables; labels are the caller's business."""
        m = margin.size
        self.make_room(m + 2)
        place = self.place
        place.counts[SIZE] = m
        place.free[:m] = margin
        place.position[:] = -1
        place.position[margin] = np.arange(m)
        kernel_rows = self.variables.row[margin]
        for k in kernel_rows:
            self.rows.bring(int(k), kernel_rows)
        if factor is not None:
            place.factor[:m, :m] = factor
        else:
            unit = self.pivot_unit
            rebuild(self.rows.stored, self.variables, place, LEAST_PIVOT * unit)

    def settle_closed(self) -> None:
        """Give variables whose bounds are one the label their gradient asks for."""
        setting, place = self.setting, self.place
        closed = setting.upper - setting.lower <= 0.0
        if not closed.any():
            return
        g = self.gradient()
        for i in np.flatnonzero(closed & (place.status == FREE)):
            remove(place, place.position[i], self.scratch)
            place.status[i] = LOWER
            place.a[i] = setting.lower[i]
        place.status[closed] = np.where(g[closed] < 0.0, UPPER, LOWER)

    def _tolerance(self, line: Line, max_events: int) -> Tolerance:
        largest = max(self.largest, 1e-300)
        gradient, value = event_slack(
            line, largest, self.gradient_slack, self.value_slack
        )
        return Tolerance(
            gradient,
            value,
            SINGULAR,
            self.pivot_unit,
            self.end_slack,
            largest,
            max(self._moving, 1e-300),
            self.zero_limit,
            self.rows.refresh_every,
            max_events,
        )

    def _refresh(self, line: Line) -> bool:
        """Compute sums and factor from scratch; False if the kernel is indefinite."""
        theta = self.place.numbers[THETA]
        self._rest_at_bounds(
            line.lower + theta * line.dlower, line.upper + theta * line.dupper
        )
        rates = np.empty(self.a.size)
        self._moving, _, _ = survey(self.variables, line, self.place, rates)
        both = np.column_stack([self.combined(self.a), self.combined(rates)])
        self.place.f[:], self.place.pull[:] = self.rows.product(both).T
        unit = self.pivot_unit
        least = rebuild(
            self.rows.stored, self.variables, self.place, LEAST_PIVOT * unit
        )
        return least >= CLEARLY_NEGATIVE * unit

    def _rest_at_bounds(self, lower: Array, upper: Array) -> None:
        status = self.place.status
        np.copyto(self.place.a, lower, where=status == LOWER)
        np.copyto(self.place.a, upper, where=status == UPPER)

    def _stop_at(self, line: Line, theta: float) -> None:
        self.setting = setting_at(line, theta)
        self._rest_at_bounds(self.setting.lower, self.setting.upper)

    def make_room(self, m: int) -> None:
        """Let the factor hold m rows."""
        old = self.place.factor
        if m <= old.shape[0]:
            return
        size = min(max(2 * old.shape[0], m), self.place.free.size)
        factor = np.zeros((size, size))
        factor[: old.shape[0], : old.shape[1]] = old
        self.place = self.place._replace(factor=factor)
