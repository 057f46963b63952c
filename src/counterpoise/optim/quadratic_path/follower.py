"""The path follower: first solutions, ties, moves, and added or removed rows."""

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.optim.certificate import Certificate
from counterpoise.optim.path import PathError
from counterpoise.optim.quadratic_path import compiled as loop
from counterpoise.optim.quadratic_path.compiled import (
    BIAS,
    EVENTS,
    FREE,
    LOWER,
    N_FREE,
    THETA,
    UPPER,
    EventLog,
    Line,
    State,
    Tolerance,
    Variables,
    Workspace,
)
from counterpoise.optim.quadratic_path.path import (
    ParametricPath,
    ProblemData,
    data_at,
    enlarged,
    event_tolerance,
    line_between,
    new_log,
    trimmed,
)
from counterpoise.optim.quadratic_path.problem import DenseRows, KernelRows

# -----------------------------------------------------------------------------
# A solution that moves: its state, and how it is taken along a line of data.
# -----------------------------------------------------------------------------


SINGULAR = 1e-12
ZERO_LIMIT = 4
# Ties at one theta in which the zero-length steps are no longer counted on.
MOST_ZERO_STEPS = 20

FAILURES = {
    loop.BUDGET: "more events than allowed",
    loop.INFEASIBLE: "the equality cannot be met within the bounds",
    loop.TIE: "events at one theta do not come to an end (is the kernel positive "
    "semidefinite?)",
    loop.INDEFINITE: "the kernel is not positive semidefinite",
}


class WorkSpentError(PathError):
    """A move cost more than it was allowed to."""


class Follower:
    """The solution of a quadratic program, moved exactly from data to data.

    Minimize a'Qa/2 - p'a over lower <= a <= upper and s'a = d, Q_ij = s_i s_j
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
    A first solution (`from_zero`, `from_prices`, `crossover`) must come first. An event
    costs O(n |M|), M the free variables: what the variables at bounds do is a
    maintained sum that changes by one kernel row an event. Ties are resolved by the
    problem that the derivative of the solution solves; whatever cannot be followed is a
    `PathError`.

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
        self.state, self.scratch = loop.new_state(n, size), loop.new_scratch(n, size)
        self.data = ProblemData(np.zeros(n), np.zeros(n), np.zeros(n), 0.0)
        self.depth = depth
        self.gradient_slack: float | None = None
        self.value_slack: float | None = None
        self.zero_limit, self.end_slack = ZERO_LIMIT, 1e-13
        self.max_events = 50 * n + 2000

    @property
    def a(self) -> Array:
        """The variables."""
        return self.state.a

    @property
    def bias(self) -> float:
        """The multiplier of the equality."""
        return float(self.state.numbers[BIAS])

    @property
    def margin(self) -> Indices:
        """The free variables."""
        return self.state.free[: self.state.counts[N_FREE]]

    @property
    def n_events(self) -> int:
        """The number of changes of label in the last move."""
        return int(self.state.counts[EVENTS])

    @property
    def f(self) -> Array:
        """K beta + b at the kernel's rows."""
        out: Array = self.state.f + self.state.numbers[BIAS]
        return out

    def gradient(self, p: Array) -> Array:
        """Return g = s f - p."""
        out: Array = self.variables.sign * self.f[self.variables.row] - p
        return out

    def certify(self) -> Certificate:
        """Prove the present solution from scratch."""
        problem = self.data.problem(self.rows, self.variables)
        return problem.certify(self.a, hint=self.bias)

    def combined(self, values: Array) -> Array:
        """Return the sum of s_i values_i over the variables of each kernel row."""
        weights: Array = self.variables.sign * values
        if self.variables.own_rows:
            return weights
        sums = np.bincount(self.variables.row, weights, minlength=self.rows.size)
        return np.asarray(sums, dtype=float)

    def recompute(self) -> None:
        """Compute f from scratch."""
        self.state.f[:] = self.rows.product(self.combined(self.a))

    def copy(self) -> "Follower":
        """Return a follower at the same solution that moves on its own."""
        out = object.__new__(Follower)
        out.__dict__.update(self.__dict__)
        m = self.state.counts[N_FREE]
        room = min(m + 32, self.state.free.size)
        factor = np.zeros((room, room))
        factor[:m, :m] = self.state.factor[:m, :m]
        state = self.state._replace(factor=factor)
        out.state = State(*(part.copy() for part in state))  # type: ignore[arg-type]
        out.scratch = loop.new_scratch(self.a.size, self.rows.size)
        return out

    def move(
        self,
        p: Array | None = None,
        lower: Array | None = None,
        upper: Array | None = None,
        d: float | None = None,
        *,
        logged: bool = True,
        max_events: int | None = None,
        max_work: float | None = None,
    ) -> ParametricPath:
        """Take the solution to other data along a straight line; return its path.

        Parameters
        ----------
        p, lower, upper, d : arrays or float, optional
            The data at theta = 1; those of None stay.
        logged : bool
            Whether to record the pieces; if not, the path is known at its end alone.
        max_events : int, optional
            More are an error; by default `self.max_events`, 50 n + 2000.
        max_work : float, optional
            More multiplications than this raise `WorkSpentError`.

        Raises
        ------
        PathError
            If theta = 1 is not reached, with the theta that was.
        """
        old = self.data
        new = ProblemData(
            old.p if p is None else np.asarray(p, dtype=float),
            old.lower if lower is None else np.asarray(lower, dtype=float),
            old.upper if upper is None else np.asarray(upper, dtype=float),
            old.d if d is None else float(d),
        )
        self.settle_closed()
        line = line_between(old, new)
        labels = self.state.status.copy()
        if max_events is None:
            max_events = self.max_events
        code, log = self.run(line, new_log(logged), max_events, max_work)
        if code != loop.REACHED:
            theta = float(self.state.numbers[THETA])
            self.data = data_at(line, theta)
            self.rest_at_bounds(self.data)
            if code == loop.BUDGET and self.n_events < max_events:
                raise WorkSpentError("more work than allowed", theta)
            raise PathError(FAILURES[code], theta)
        self.data = new
        self.rest_at_bounds(self.data)
        log = trimmed(log, self.state)
        return ParametricPath(
            self.rows, self.variables, line, labels, log, self.a.copy(), self.bias
        )

    def run(
        self, line: Line, log: EventLog, max_events: int, max_work: float | None = None
    ) -> tuple[int, EventLog]:
        """Follow a line to its end; return why it came back, and the log."""
        numbers, counts = self.state.numbers, self.state.counts
        since_refresh = counts[loop.SINCE_REFRESH]
        n_free = counts[N_FREE]
        counts[:] = 0
        counts[N_FREE], counts[loop.SINCE_REFRESH] = n_free, since_refresh
        numbers[THETA] = 0.0
        self.prepare(line)
        tolerance = self._tolerance(line, max_events)
        limit = tolerance.zero_limit
        last_theta, last_bias = -1.0, 0.0
        while True:
            code = loop.run(
                Workspace(
                    self.rows.stored,
                    self.variables,
                    line,
                    self.state,
                    self.scratch,
                    tolerance._replace(zero_limit=limit),
                    log,
                )
            )
            if max_work is not None and counts[loop.WORK] * self.rows.size > max_work:
                return loop.BUDGET, log
            if code == loop.ROW_MISSING:
                row = self.variables.row[counts[loop.VARIABLE]]
                self.rows.bring(int(row), self.variables.row[self.margin])
            elif code == loop.FACTOR_FULL:
                self.make_room(counts[N_FREE] + 2)
            elif code == loop.LOG_FULL:
                log = enlarged(log, int(counts[N_FREE]))
            elif code == loop.REFRESH:
                if not self._refresh(line):
                    return loop.INDEFINITE, log
            elif code == loop.TIE:
                same_theta = abs(numbers[THETA] - last_theta) <= 1e-13
                if same_theta and abs(numbers[BIAS] - last_bias) <= tolerance.gradient:
                    limit = min(4 * limit, MOST_ZERO_STEPS * self.a.size)
                    if limit >= MOST_ZERO_STEPS * self.a.size:
                        return loop.TIE, log
                else:
                    limit = tolerance.zero_limit
                last_theta, last_bias = numbers[THETA], numbers[BIAS]
                before = self.state.status.copy()
                if not resolve_tie(self, line, tolerance):
                    return loop.TIE, log
                log = self._log_changes(log, before)
                self.prepare(line)
                counts[loop.ZERO_RUN] = 0
            else:
                return code, log

    def _log_changes(self, log: EventLog, before: Indices) -> EventLog:
        """Put the changes of label of a resolved tie on the log."""
        counts, status = self.state.counts, self.state.status
        changed = np.flatnonzero(before != status)
        counts[EVENTS] += changed.size
        if log.enabled:
            first = counts[loop.LOGGED_EVENTS]
            events = slice(first, first + changed.size)
            while events.stop > log.event_variable.size:
                log = enlarged(log)
            log.event_theta[events] = self.state.numbers[THETA]
            log.event_variable[events] = changed
            log.event_from[events] = before[changed]
            log.event_to[events] = status[changed]
            counts[loop.LOGGED_EVENTS] = events.stop
        return log

    def prepare(self, line: Line) -> None:
        """Compute what the variables at bounds do, and which of them can move."""
        rates = np.empty(self.a.size)
        self._bound_rate_sum, count, share = loop.bound_rates(
            self.variables, line, self.state, rates
        )
        if count == 0:
            self.state.pull[:] = 0.0
        elif math.isfinite(share) and self.margin.size < count // 4:
            # All bounds grow together: what they do is what they are, times a share.
            on_margin = np.zeros(self.a.size)
            on_margin[self.margin] = self.a[self.margin]
            rest = self.state.f - self.rows.product(self.combined(on_margin))
            self.state.pull[:] = share * rest
        else:
            self.state.pull[:] = self.rows.product(self.combined(rates))

    def adopt_margin(self, margin: Indices, factor: Array | None) -> None:
        """Make these the free variables; labels are the caller's business."""
        m = margin.size
        self.make_room(m + 2)
        state = self.state
        state.counts[N_FREE] = m
        state.free[:m] = margin
        state.position[:] = -1
        state.position[margin] = np.arange(m)
        kernel_rows = self.variables.row[margin]
        for k in kernel_rows:
            self.rows.bring(int(k), kernel_rows)
        if factor is not None:
            state.factor[:m, :m] = factor
        else:
            self._factor_margin()

    def _factor_margin(self) -> float:
        """Factor the margin from scratch; return the least Schur complement."""
        least = loop.LEAST_PIVOT * self.pivot_unit
        return loop.rebuild(self.rows.stored, self.variables, self.state, least)

    def settle_closed(self) -> None:
        """Label the variables whose bounds coincide by the sign of their gradient."""
        data, state = self.data, self.state
        closed = data.upper - data.lower <= 0.0
        if not closed.any():
            return
        g = self.gradient(data.p)
        for i in np.flatnonzero(closed & (state.status == FREE)):
            loop.remove(state, state.position[i], self.scratch)
            state.status[i] = LOWER
            state.a[i] = data.lower[i]
        state.status[closed] = np.where(g[closed] < 0.0, UPPER, LOWER)

    def _tolerance(self, line: Line, max_events: int) -> Tolerance:
        largest = max(self.largest, 1e-300)
        gradient, value = event_tolerance(
            line, largest, self.gradient_slack, self.value_slack
        )
        return Tolerance(
            gradient,
            value,
            SINGULAR,
            self.pivot_unit,
            self.end_slack,
            largest,
            max(self._bound_rate_sum, 1e-300),
            self.zero_limit,
            self.rows.refresh_every,
            max_events,
        )

    def _refresh(self, line: Line) -> bool:
        """Compute sums and factor from scratch; False if the kernel is indefinite."""
        self.rest_at_bounds(data_at(line, self.state.numbers[THETA]))
        rates = np.empty(self.a.size)
        self._bound_rate_sum, _, _ = loop.bound_rates(
            self.variables, line, self.state, rates
        )
        both = np.column_stack([self.combined(self.a), self.combined(rates)])
        self.state.f[:], self.state.pull[:] = self.rows.product(both).T
        return self._factor_margin() >= loop.CLEARLY_NEGATIVE * self.pivot_unit

    def rest_at_bounds(self, data: ProblemData) -> None:
        """Put the variables that are not free on their bounds."""
        status = self.state.status
        np.copyto(self.a, data.lower, where=status == LOWER)
        np.copyto(self.a, data.upper, where=status == UPPER)

    def make_room(self, m: int) -> None:
        """Let the factor hold m rows."""
        old = self.state.factor
        if m > len(old):
            size = min(max(2 * len(old), m), self.state.free.size)
            factor = np.zeros((size, size))
            factor[: len(old), : len(old)] = old
            self.state = self.state._replace(factor=factor)


# -----------------------------------------------------------------------------
# Events that coincide: resolved by the problem that the derivative solves.
# -----------------------------------------------------------------------------


Mask: TypeAlias = NDArray[np.bool_]

UNBOUNDED = 1e30
# Slacks within this many tolerances take part in a tie.
WITHIN = 20.0
DEEPEST = 2


def resolve_tie(follower: Follower, line: Line, tolerance: Tolerance) -> bool:
    """Set the labels with which the solution leaves the present theta.

    To the right of theta the solution moves at a velocity that solves a problem of the
    same form: on the variables that are free or could become so, with the velocities
    of their bounds as bounds. It is solved by this very method, from a start whose p
    is shifted at random (from a fixed seed), so that its events do not coincide.
    False if that fails.
    """
    if follower.depth >= DEEPEST:
        return False
    state, variables, rows = follower.state, follower.variables, follower.rows
    status = state.status
    data = data_at(line, state.numbers[THETA])
    follower.rest_at_bounds(data)
    follower.recompute()
    free = status == FREE
    at_lower, at_upper = _touching(state, line, data, WITHIN * tolerance.value)
    end_width = line.upper + line.dupper - line.lower - line.dlower
    fixed = (data.upper - data.lower <= 0.0) & (end_width <= 0.0)
    flat = np.abs(follower.gradient(data.p)) <= WITHIN * tolerance.gradient
    weak = (flat | free) & (at_lower | at_upper) & ~fixed
    mobile = np.flatnonzero(free | weak)
    if not mobile.size:
        return False
    low = np.where(at_lower[mobile], line.dlower[mobile], -UNBOUNDED)
    high = np.where(at_upper[mobile], line.dupper[mobile], UNBOUNDED)
    rate = np.where(status == UPPER, line.dupper, line.dlower)
    rate[mobile] = 0.0
    pull = rows.product(follower.combined(rate))
    kernel_rows, sign = variables.row[mobile], variables.sign[mobile]
    p = line.dp[mobile] - sign * pull[kernel_rows]
    d = line.dd - float(variables.sign @ rate)
    small = Follower(
        DenseRows(rows.block(kernel_rows, kernel_rows)),
        sign,
        bias=variables.bias,
        shift=variables.shift,
        depth=follower.depth + 1,
    )
    labels = _velocity_labels(small, p, low, high, d)
    if labels is None:
        return False
    status[mobile] = labels
    m = small.margin.size
    follower.adopt_margin(mobile[small.margin], small.state.factor[:m, :m])
    follower.rest_at_bounds(data)
    follower.recompute()
    return True


def _touching(
    state: State, line: Line, data: ProblemData, slack: float
) -> tuple[Mask, Mask]:
    """Return which variables are at their lower and which at their upper bound."""
    at_lower = state.a - data.lower <= slack
    at_upper = data.upper - state.a <= slack
    # A box that closes leaves one bound to sit on: the nearer one.
    closing = at_lower & at_upper & (line.dupper - line.dlower < 0.0)
    nearer_lower = np.where(
        state.status == FREE,
        state.a - data.lower <= data.upper - state.a,
        state.status == LOWER,
    )
    return at_lower & (~closing | nearer_lower), at_upper & (~closing | ~nearer_lower)


def _velocity_labels(
    small: Follower, p: Array, low: Array, high: Array, d: float
) -> Indices | None:
    """Solve the problem of the velocities; return its labels, None if that fails."""
    bounded = np.concatenate(
        [np.abs(low[low > -UNBOUNDED]), np.abs(high[high < UNBOUNDED])]
    )
    scale = max(float(bounded.max(initial=0.0)), abs(d) / p.size, 1e-12)
    small.gradient_slack = max(1e-11 * scale, 1e-12 * float(np.abs(p).max()))
    small.value_slack = 1e-11 * scale
    small.zero_limit, small.end_slack = 50, 1e-9
    status = small.state.status
    inside = (low == -UNBOUNDED) & (high == UNBOUNDED)
    status[:] = np.where(low == -UNBOUNDED, UPPER, LOWER)
    small.a[:] = np.where(inside, 0.0, np.where(status == LOWER, low, high))
    status[inside] = FREE
    small.adopt_margin(np.flatnonzero(inside), None)
    small.recompute()
    g = small.gradient(p)
    rng = np.random.default_rng(1234 + small.depth - 1)
    unit = max(float(np.abs(g).max()), scale)
    shifts = unit * rng.uniform(0.2, 1.0, p.size)
    g_start = np.where(status == FREE, 0.0, g)
    wrong = ((status == LOWER) & (g <= 0.0)) | ((status == UPPER) & (g >= 0.0))
    g_start[wrong] = np.where(status == LOWER, shifts, -shifts)[wrong]
    d_start = float(small.variables.sign @ small.a)
    small.data = ProblemData(p + g - g_start, low, high, d_start)
    line = line_between(small.data, ProblemData(p, low, high, d))
    small.settle_closed()
    code, _ = small.run(line, new_log(False), small.max_events)
    # Without a margin an equality that cannot be met asks for the next bias jump.
    open_end = code == loop.INFEASIBLE and not small.margin.size
    if (code != loop.REACHED and not open_end) or np.abs(small.a).max() > 1e20:
        return None
    return small.state.status


# -----------------------------------------------------------------------------
# Three ways to a first solution.
# -----------------------------------------------------------------------------


# A value within this share of its box is taken to be at the bound.
AT_BOUND = 1e-8


def from_zero(
    follower: Follower,
    p: Array,
    lower: Array,
    upper: Array,
    d: float = 0.0,
    *,
    logged: bool = False,
    max_work: float | None = None,
) -> ParametricPath:
    """Solve by opening the boxes from nothing: every bound and d from zero."""
    zero = np.zeros(follower.a.size)
    _clear(follower)
    follower.data = ProblemData(np.array(p, dtype=float), zero, zero.copy(), 0.0)
    return follower.move(
        lower=lower, upper=upper, d=d, logged=logged, max_work=max_work
    )


def from_prices(
    follower: Follower,
    p: Array,
    lower: Array,
    upper: Array,
    d: float = 0.0,
    *,
    seed: int = 0,
) -> None:
    """Solve by moving p, from a random one for which the lower bounds are optimal."""
    _clear(follower)
    follower.a[:] = lower
    follower.recompute()
    unit = max(float(np.abs(p).max()), 1e-300) if np.any(p) else follower.largest
    g = follower.gradient(np.zeros(follower.a.size))
    follower.data = ProblemData(
        g - unit * np.random.default_rng(seed).uniform(0.0, 1.0, g.size),
        np.array(lower, dtype=float),
        np.array(upper, dtype=float),
        float(follower.variables.sign @ follower.a),
    )
    follower.move(p=p, d=d, logged=False)


def crossover(
    follower: Follower,
    a: Array,
    bias: float,
    p: Array,
    lower: Array,
    upper: Array,
    d: float = 0.0,
) -> None:
    """Make an approximate solution exact.

    Values near a bound are put on it, and p and d shifted so that (a, b) is exactly
    optimal; then they are moved to what they should be.
    """
    _clear(follower)
    state = follower.state
    lower, upper = np.array(lower, dtype=float), np.array(upper, dtype=float)
    a = np.clip(a, lower, upper)
    width = np.maximum(upper - lower, 0.0)
    status = np.full(a.size, FREE)
    status[a >= upper - AT_BOUND * width] = UPPER
    status[a <= lower + AT_BOUND * width] = LOWER
    state.status[:] = status = _independent(follower, status, a, lower, upper)
    state.a[:] = a
    follower.rest_at_bounds(ProblemData(p, lower, upper, d))
    state.numbers[BIAS] = bias
    follower.recompute()
    g = follower.gradient(p)
    wrong = ((status == LOWER) & (g < 0.0)) | ((status == UPPER) & (g > 0.0))
    shifted = (status == FREE) | (wrong & (width > 0.0))
    d_start = float(follower.variables.sign @ state.a)
    follower.data = ProblemData(
        np.where(shifted, p + g, p),
        lower,
        upper,
        d_start if follower.variables.bias else d,
    )
    follower.move(p=p, d=d, logged=False)


def _clear(follower: Follower) -> None:
    state = follower.state
    for part in (state.a, state.f, state.numbers, state.counts):
        part[:] = 0
    state.status[:] = LOWER
    state.position[:] = -1


def _independent(
    follower: Follower, status: Indices, a: Array, lower: Array, upper: Array
) -> Indices:
    """Factor the free variables; those that depend on others go to the nearer bound."""
    rows, variables = follower.rows, follower.variables
    free = np.flatnonzero(status == FREE)
    follower.make_room(free.size + 2)
    state = follower.state
    out = np.empty(free.size + 1)
    kernel_rows = variables.row[free]
    for i, k in zip(free.tolist(), kernel_rows.tolist(), strict=True):
        rows.bring(k, kernel_rows)
        complement = loop.border(rows.stored, variables, state, i, out)
        unit = max(rows.stored.diagonal[k] + variables.shift, follower.pivot_unit)
        if complement < loop.CLEARLY_NEGATIVE * unit:
            raise PathError(FAILURES[loop.INDEFINITE], 0.0)
        if complement <= SINGULAR * unit:
            status[i] = LOWER if a[i] - lower[i] < upper[i] - a[i] else UPPER
        else:
            loop.append(state, i, out, complement)
    return status


# -----------------------------------------------------------------------------
# A solution carried over to a problem with more or fewer variables.
# -----------------------------------------------------------------------------


def carried_over(
    follower: Follower,
    rows: KernelRows,
    sign: Array,
    row: Indices | None,
    p: Array,
    source: Indices,
    row_source: Indices,
) -> Follower:
    """Return a follower of another problem that begins where this one is.

    Parameters
    ----------
    follower : Follower
    rows : KernelRows
        The kernel rows of the new problem.
    sign, row, p : arrays
        Its variables; `p` of those that were there before must be unchanged.
    source : array of int
        Which old variable each is, -1 for a new one. New ones have both bounds at zero;
        old ones that are left out must be zero.
    row_source : array of int
        The same for kernel rows.
    """
    # What has no room left is on no margin.
    follower.settle_closed()
    variables = follower.variables
    out = Follower(rows, sign, row, bias=variables.bias, shift=variables.shift)
    if follower.max_events != 50 * follower.a.size + 2000:
        out.max_events = follower.max_events
    old, old_data = follower.state, follower.data
    known = source >= 0
    came = source[known]
    lower, upper = np.zeros(source.size), np.zeros(source.size)
    lower[known], upper[known] = old_data.lower[came], old_data.upper[came]
    state = out.state
    state.a[known] = old.a[came]
    state.status[known] = old.status[came]
    state.numbers[BIAS] = old.numbers[BIAS]
    where = np.full(old.a.size, -1)
    where[came] = np.flatnonzero(known)
    margin = where[follower.margin]
    if (margin < 0).any():
        raise ValueError("a variable on the margin cannot be left out")
    out.adopt_margin(margin, old.factor[: margin.size, : margin.size])
    there = row_source >= 0
    state = out.state
    state.f[there] = old.f[row_source[there]]
    if not there.all():
        beta = out.combined(state.a)
        used, new = np.flatnonzero(beta), np.flatnonzero(~there)
        state.f[new] = rows.block(new, used) @ beta[used]
    out.data = ProblemData(np.array(p, dtype=float), lower, upper, old_data.d)
    return out


def center_bias(follower: Follower) -> None:
    """Put the bias in the middle of its interval, where no variable is free.

    Any bias of the interval is optimal; the middle is what LIBSVM reports. An interval
    without an end keeps its other end.
    """
    if follower.margin.size or not follower.variables.bias:
        return
    sign, data = follower.variables.sign, follower.data
    f = follower.state.f[follower.variables.row]
    limit = sign * data.p - f
    status = follower.state.status
    open_box = data.upper > data.lower
    at_least = open_box & np.where(sign > 0.0, status == LOWER, status == UPPER)
    at_most = open_box & ~at_least
    low = limit[at_least].max(initial=-np.inf)
    high = limit[at_most].min(initial=np.inf)
    if np.isfinite(low) and np.isfinite(high):
        follower.state.numbers[BIAS] = 0.5 * (low + high)
    elif np.isfinite(low) or np.isfinite(high):
        follower.state.numbers[BIAS] = low if np.isfinite(low) else high
