"""The path follower: starts, ties, restarts and added or removed rows."""

import math
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.optim.certificate import Certificate
from counterpoise.optim.path import PathError
from counterpoise.optim.quadratic_path.compiled import (
    BIAS,
    BUDGET,
    CLEARLY_NEGATIVE,
    ENTRIES,
    EVENTS,
    FREE,
    INDEFINITE,
    INFEASIBLE,
    LEAST_PIVOT,
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
    append,
    border,
    new_place,
    new_scratch,
    rebuild,
    remove,
    run,
    survey,
)
from counterpoise.optim.quadratic_path.path import (
    NO_TAPE,
    ParametricPath,
    Setting,
    event_slack,
    line_between,
    longer,
    new_tape,
    read_path,
    setting_at,
    write_changes,
)
from counterpoise.optim.quadratic_path.problem import KernelRows

# -----------------------------------------------------------------------------
# Events that coincide: resolved by the problem that the derivative solves.
# -----------------------------------------------------------------------------


Mask: TypeAlias = NDArray[np.bool_]

UNBOUNDED = 1e30
# Slacks within this many tolerances take part in a tie.
WITHIN = 20.0
DEEPEST = 2


def resolve_tie(follower: "Tied", line: Line, tolerance: Tolerance) -> bool:
    """Give the labels with which the solution leaves the present theta.

    To the right of theta the solution moves at a velocity that solves a problem of the
    same form: on the variables that are free or could become so, with the velocities
    of their bounds as bounds. It is solved by this very method, from a start whose p
    is shifted at random (from a fixed seed), so that its events do not coincide.
    False if that fails.
    """
    if follower.depth >= DEEPEST:
        return False
    place, variables = follower.place, follower.variables
    theta = place.numbers[THETA]
    lower = line.lower + theta * line.dlower
    upper = line.upper + theta * line.dupper
    status = place.status
    place.a[:] = np.where(
        status == LOWER, lower, np.where(status == UPPER, upper, place.a)
    )
    follower.recompute()
    g = follower.gradient(line.p + theta * line.dp)
    free = status == FREE
    at_lower, at_upper = _touching(place, line, lower, upper, tolerance)
    fixed = (upper - lower <= 0.0) & (
        line.upper + line.dupper - line.lower - line.dlower <= 0.0
    )
    flat = np.abs(g) <= WITHIN * tolerance.gradient
    weak = (flat | free) & (at_lower | at_upper) & ~fixed
    taking_part = np.flatnonzero(free | weak)
    if not taking_part.size:
        return False
    low = np.where(at_lower[taking_part], line.dlower[taking_part], -UNBOUNDED)
    high = np.where(at_upper[taking_part], line.dupper[taking_part], UNBOUNDED)
    rate = np.where(status == UPPER, line.dupper, line.dlower)
    rate[taking_part] = 0.0
    pull = follower.rows.product(follower.combined(rate))
    kernel_rows = variables.row[taking_part]
    sign = variables.sign[taking_part]
    p = line.dp[taking_part] - sign * pull[kernel_rows]
    d = line.dd - float(variables.sign @ rate)
    small = follower.like(follower.rows.block(kernel_rows, kernel_rows), sign)
    labels = _velocities(small, p, low, high, d)
    if labels is None:
        return False
    status[taking_part] = labels
    m = small.place.counts[SIZE]
    factor = small.place.factor[:m, :m]
    follower.adopt_margin(taking_part[small.place.free[:m]], factor)
    place = follower.place
    place.a[:] = np.where(
        status == LOWER, lower, np.where(status == UPPER, upper, place.a)
    )
    follower.recompute()
    return True


def _touching(
    place: Place, line: Line, lower: Array, upper: Array, tolerance: Tolerance
) -> tuple[Mask, Mask]:
    """Return which variables are at their lower and which at their upper bound."""
    at_lower = place.a - lower <= WITHIN * tolerance.value
    at_upper = upper - place.a <= WITHIN * tolerance.value
    # A box that closes leaves one bound to sit on: the nearer one.
    closing = at_lower & at_upper & (line.dupper - line.dlower < 0.0)
    nearer_lower = np.where(
        place.status == FREE,
        place.a - lower <= upper - place.a,
        place.status == LOWER,
    )
    return at_lower & (~closing | nearer_lower), at_upper & (~closing | ~nearer_lower)


def _velocities(
    small: "Tied", p: Array, low: Array, high: Array, d: float
) -> Indices | None:
    """Solve the problem of the velocities; return its labels, None if that fails."""
    bounded = np.concatenate(
        [np.abs(low[low > -UNBOUNDED]), np.abs(high[high < UNBOUNDED])]
    )
    scale = max(float(bounded.max(initial=0.0)), abs(d) / p.size, 1e-12)
    small.gradient_slack = max(1e-11 * scale, 1e-12 * float(np.abs(p).max()))
    small.value_slack = 1e-11 * scale
    small.zero_limit, small.end_slack = 50, 1e-9
    place = small.place
    inside = (low == -UNBOUNDED) & (high == UNBOUNDED)
    status = np.where(low == -UNBOUNDED, UPPER, LOWER)
    place.a[:] = np.where(status == LOWER, low, high)
    place.a[inside] = 0.0
    status[inside] = FREE
    place.status[:] = status
    small.adopt_margin(np.flatnonzero(inside), None)
    small.recompute()
    place = small.place
    g = small.gradient(p)
    chance = np.random.default_rng(1234 + small.depth - 1)
    unit = max(float(np.abs(g).max()), scale)
    shifts = unit * chance.uniform(0.2, 1.0, p.size)
    wanted = g.copy()
    wanted[status == FREE] = 0.0
    wrong = ((status == LOWER) & (g <= 0.0)) | ((status == UPPER) & (g >= 0.0))
    wanted[wrong] = np.where(status == LOWER, shifts, -shifts)[wrong]
    start = p + g - wanted
    d_start = float(small.variables.sign @ place.a)
    line = Line(start, p - start, low, 0 * low, high, 0 * high, d_start, d - d_start)
    code = small.follow_labels(line)
    # Without a margin an equality that cannot be met asks for the next bias jump.
    open_end = code == INFEASIBLE and small.place.counts[SIZE] == 0
    if code != REACHED and not open_end:
        return None
    if float(np.abs(small.place.a).max()) > 1e20:
        return None
    return small.place.status.copy()


class Tied(Protocol):
    """What a follower offers to the resolution of its ties."""

    rows: KernelRows
    place: Place
    variables: Variables
    depth: int
    gradient_slack: float | None
    value_slack: float | None
    zero_limit: int
    end_slack: float

    def recompute(self) -> None: ...  # noqa: D102
    def gradient(self, p: Array | None = None) -> Array: ...  # noqa: D102
    def combined(self, values: Array) -> Array: ...  # noqa: D102
    def like(self, K: Array, sign: Array) -> "Tied": ...  # noqa: D102
    def adopt_margin(  # noqa: D102
        self, margin: Indices, factor: Array | None
    ) -> None: ...
    def follow_labels(self, line: Line) -> int: ...  # noqa: D102


# -----------------------------------------------------------------------------
# A solution that moves: its state, and how it is taken along a line of data.
# -----------------------------------------------------------------------------


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
        from counterpoise.optim.quadratic_path.problem import DenseRows

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
    taped: bool = False,
    max_work: float | None = None,
) -> ParametricPath | None:
    """Solve by opening the boxes from nothing: every bound and d from zero."""
    zero = np.zeros(follower.a.size)
    _clear(follower)
    follower.setting = Setting(np.array(p, dtype=float), zero, zero.copy(), 0.0)
    return follower.move(lower=lower, upper=upper, d=d, taped=taped, max_work=max_work)


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
    chance = np.random.default_rng(seed)
    unit = max(float(np.abs(p).max()), 1e-300) if np.any(p) else follower.largest
    g = follower.gradient(np.zeros(follower.a.size))
    start = g - unit * chance.uniform(0.0, 1.0, g.size)
    follower.setting = Setting(
        start,
        np.array(lower, dtype=float),
        np.array(upper, dtype=float),
        float(follower.variables.sign @ follower.a),
    )
    follower.move(p=p, d=d, taped=False)


def crossover(
    follower: Follower,
    a: Array,
    bias: float,
    p: Array,
    lower: Array,
    upper: Array,
    d: float = 0.0,
) -> None:
    """Make somebody else's approximate solution exact.

    Values near a bound are put on it, and p and d shifted so that (a, b) is exactly
    optimal; then they are moved to what they should be.
    """
    _clear(follower)
    lower, upper = np.array(lower, dtype=float), np.array(upper, dtype=float)
    a = np.clip(a, lower, upper)
    width = np.maximum(upper - lower, 0.0)
    status = np.full(a.size, FREE)
    status[a >= upper - AT_BOUND * width] = UPPER
    status[a <= lower + AT_BOUND * width] = LOWER
    status = _independent(follower, status, a, lower, upper)
    follower.place.status[:] = status
    follower.place.a[:] = np.where(
        status == LOWER, lower, np.where(status == UPPER, upper, a)
    )
    follower.place.numbers[BIAS] = bias
    follower.recompute()
    g = follower.gradient(p)
    wrong = ((status == LOWER) & (g < 0.0)) | ((status == UPPER) & (g > 0.0))
    shifted = (status == FREE) | (wrong & (width > 0.0))
    start = np.where(shifted, p + g, p)
    d_start = float(follower.variables.sign @ follower.a)
    if not follower.variables.bias:
        d_start = d
    follower.setting = Setting(start, lower, upper, d_start)
    follower.move(p=p, d=d, taped=False)


def _clear(follower: Follower) -> None:
    place = follower.place
    place.a[:] = 0.0
    place.f[:] = 0.0
    place.numbers[:] = 0.0
    place.counts[:] = 0
    place.status[:] = LOWER
    place.position[:] = -1


def _independent(
    follower: Follower, status: Indices, a: Array, lower: Array, upper: Array
) -> Indices:
    """Factor the free variables; those that depend on others go to the nearer bound."""
    rows, variables = follower.rows, follower.variables
    wanted = np.flatnonzero(status == FREE)
    follower.make_room(wanted.size + 2)
    place = follower.place
    out = np.empty(wanted.size + 1)
    kernel_rows = variables.row[wanted]
    for i, k in zip(wanted.tolist(), kernel_rows.tolist(), strict=True):
        rows.bring(k, kernel_rows)
        complement = border(rows.stored, variables, place, i, out)
        unit = max(rows.stored.diagonal[k] + variables.shift, follower.pivot_unit)
        if complement < CLEARLY_NEGATIVE * unit:
            raise PathError(FAILURES[INDEFINITE], 0.0)
        if complement <= SINGULAR * unit:
            status[i] = LOWER if a[i] - lower[i] < upper[i] - a[i] else UPPER
        else:
            append(place, i, out, complement)
    assert place.counts[SIZE] == np.count_nonzero(status == FREE)
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
    old, old_setting = follower.place, follower.setting
    known = source >= 0
    came = source[known]
    lower, upper = np.zeros(source.size), np.zeros(source.size)
    lower[known], upper[known] = old_setting.lower[came], old_setting.upper[came]
    place = out.place
    place.a[known] = old.a[came]
    place.status[known] = old.status[came]
    place.numbers[BIAS] = old.numbers[BIAS]
    where = np.full(old.a.size, -1)
    where[came] = np.flatnonzero(known)
    margin = where[follower.margin]
    if (margin < 0).any():
        raise ValueError("a variable on the margin cannot be left out")
    out.adopt_margin(margin, old.factor[: margin.size, : margin.size])
    there = row_source >= 0
    place = out.place
    place.f[there] = old.f[row_source[there]]
    if not there.all():
        beta = out.combined(place.a)
        used, new = np.flatnonzero(beta), np.flatnonzero(~there)
        place.f[new] = rows.block(new, used) @ beta[used]
    out.setting = Setting(np.array(p, dtype=float), lower, upper, old_setting.d)
    return out


def centre_bias(follower: Follower) -> None:
    """Put the bias in the middle of its interval, where no variable is free.

    Any bias of the interval is optimal; the middle is what LIBSVM reports. An interval
    without an end keeps its other end.
    """
    if follower.margin.size or not follower.variables.bias:
        return
    sign, setting = follower.variables.sign, follower.setting
    f = follower.place.f[follower.variables.row]
    limit = sign * setting.p - f
    status = follower.place.status
    open_box = setting.upper > setting.lower
    at_least = open_box & np.where(sign > 0.0, status == LOWER, status == UPPER)
    at_most = open_box & ~at_least
    low = limit[at_least].max(initial=-np.inf)
    high = limit[at_most].min(initial=np.inf)
    if np.isfinite(low) and np.isfinite(high):
        follower.place.numbers[BIAS] = 0.5 * (low + high)
    elif np.isfinite(low) or np.isfinite(high):
        follower.place.numbers[BIAS] = low if np.isfinite(low) else high
