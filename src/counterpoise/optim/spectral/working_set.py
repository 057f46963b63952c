"""Column generation and interior point on working sets of rows."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.optim.loop import Acceptance, Requirements, Solver, State
from counterpoise.optim.spectral.interior_point import (
    Iterate,
    SpectralInterior,
    quadratic_forms,
    spectral_norm,
)
from counterpoise.optim.spectral.problem import Discrepancy, DualMatrix

# -----------------------------------------------------------------------------
# One method, and another where the first gets stuck.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Fallback:
    """The steps of a method, so many at most; then those of another from its point.

    Parameters
    ----------
    first, then : Solver
    most : int
        Steps of the first, unless it stalls before.
    """

    first: Solver
    then: Solver
    most: int

    @property
    def accepts(self) -> Acceptance:
        """What the first accepts; the other accepts that too."""
        return self.first.accepts

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state of the first method."""
        state = self.first.begin(problem, x)
        return replace(state, memory=(1, self.first, state))

    def step(self, problem: Any, state: State) -> State:
        """Return the next state of the method that is at work."""
        count, solver, before = state.memory
        after = solver.step(problem, before)
        if solver is self.first and (after.stalled or count == self.most):
            solver = self.then
            after = solver.begin(problem, after.x)
        return replace(after, memory=(count + 1, solver, after))


# -----------------------------------------------------------------------------
# The best point and the best dual matrix that a search has seen.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Incumbent:
    """A point with its value, and a dual matrix with the bound that it gives.

    Methods that move between poor points keep the best of each kind; the two need not
    come from the same step.
    """

    z: Array
    value: float
    dual: Any = None
    bound: float = -math.inf

    @classmethod
    def at(cls, problem: Any, z: Array | None) -> "Incumbent":
        """Return the incumbent of a search that begins at z, or at equal weights."""
        first: Array = problem.start() if z is None else problem.inside(z)
        return cls(first, problem.value(first))

    def or_point(self, problem: Any, z: Array) -> "Incumbent":
        """Return the better of this point and z; O(mN^2 + N^3)."""
        z = problem.inside(z)
        return self.or_valued(z, problem.value(z))

    def or_valued(self, z: Array, value: float) -> "Incumbent":
        """Return the better of this point and z, whose value is known."""
        return replace(self, z=z, value=value) if value < self.value else self

    def or_dual(self, problem: Any, Y: Array) -> "Incumbent":
        """Return the better of this dual matrix and Y, scaled; O(mN^2 + N^3).

        Of Y the best truncation counts: small eigenvalues of a dual matrix on its way
        cost nuclear norm and prove little.
        """
        bound, dual, _ = problem.truncated(Y)
        return self.or_bounded(dual, bound)

    def or_bounded(self, Y: Any, bound: float) -> "Incumbent":
        """Return the better of this dual matrix and Y, whose bound is known."""
        return replace(self, dual=Y, bound=bound) if bound > self.bound else self

    def state(
        self,
        problem: Any,
        memory: Any,
        stalled: bool = False,
        counts: Mapping[str, int] | None = None,
    ) -> State:
        """Return the state that offers the point and the dual matrix."""
        claim = problem.claim(self.z, self.value, max(self.bound, 0.0))
        return State(self.z, claim, memory, self.dual, counts or {}, stalled)


# What solvers need that work on second moments of rows.
NEEDS_MOMENTS = Requirements(
    objective=("value",),
    domain=("vertex", "project"),
    problem=("rows", "target_moment", "operator", "pull", "truncated", "claim"),
    hint="a Discrepancy is needed; of a KernelDiscrepancy take `features()`",
)
# What those need that have a kernel form as well.
NEEDS_MOMENTS_OR_KERNEL = Requirements(
    objective=("value",),
    domain=("vertex", "project"),
    problem=("spread", "inside", "claim"),
    hint="a Discrepancy or a KernelDiscrepancy is needed",
)


def refuse_spread(problem: Any, name: str) -> None:
    """Raise an error if the problem has a term that a published method lacks."""
    if problem.spread > 0.0:
        raise ValueError(
            f"{name} minimizes the norm alone, got spread = {problem.spread:g}; the "
            "interior point, column generation, the semidefinite program and the "
            "subgradient method take a spread"
        )


# -----------------------------------------------------------------------------
# A few accelerated steps on a smoothed spectral norm: a first idea of the weights.
# -----------------------------------------------------------------------------


def smoothed_weights(rows: Array, target: Array, steps: int = 20) -> Array:
    r"""Return weights whose :math:`\|A - \sum z_i x_i x_i'\|_2` is well on its way.

    Accelerated gradient steps in the entropy's geometry on
    :math:`\mu \log \sum_k (e^{\lambda_k/\mu} + e^{-\lambda_k/\mu})`, the Lipschitz
    constant found by trial, the smoothing reduced as the value falls. A step costs
    :math:`O(mN^2 + N^3)` two or three times.
    """
    m, N = rows.shape

    def smooth(z: Array, width: float) -> tuple[float, float, Array]:
        M = target - (rows * z[:, None]).T @ rows
        values, vectors = eigh(M, check_finite=False, driver="evd")
        norm = max(float(values[-1]), -float(values[0]))
        up = np.exp((values - norm) / width)
        down = np.exp((-values - norm) / width)
        total = float(up.sum() + down.sum())
        Y = (vectors * ((up - down) / total)) @ vectors.T
        return norm, norm + width * float(np.log(total)), Y

    best = np.full(m, 1.0 / m)
    lowest, _, _ = smooth(best, 1.0)
    if not lowest > 0.0:
        return best
    error = np.log(2.0 * N)
    width, curve = 0.25 * lowest / error, 0.25 * lowest
    x = w = best
    share = 1.0
    for _ in range(steps):
        y = (1.0 - share) * x + share * w
        norm, value, Y = smooth(y, width)
        slope = -quadratic_forms(rows, Y)
        if norm < lowest:
            best, lowest = y, norm
        curve *= 0.7
        for _ in range(30):
            logs = np.log(np.maximum(w, 1e-300)) - (slope - slope.min()) / (
                curve * share
            )
            ahead = np.exp(logs - logs.max())
            ahead /= ahead.sum()
            there = (1.0 - share) * x + share * ahead
            norm, now, _ = smooth(there, width)
            off = there - y
            model = value + slope @ off + 0.5 * curve * np.abs(off).sum() ** 2
            if now <= model + 1e-12 * abs(value):
                break
            curve *= 2.0
        x, w = there, ahead
        if norm < lowest:
            best, lowest = x, norm
        share = 2.0 / (1.0 + np.sqrt(1.0 + 4.0 / share**2))
        if now < 2.0 * width * error:
            # The smoothing is what is left: less of it, from the best point on.
            width *= 0.6
            x = w = 0.999 * best + 0.001 / m
            share = 1.0
    return best


# -----------------------------------------------------------------------------
# Which of many rows an interior point begins with.
# -----------------------------------------------------------------------------


# All rows are used up to this many.
ALL = 600
# Least and largest number of rows to begin with.
LEAST_FIRST_ROWS, MOST_FIRST_ROWS = 300, 2500


def first_rows(
    problem: Discrepancy,
    x: Array | None,
    steps: int = 20,
    least: int = LEAST_FIRST_ROWS,
) -> tuple[Indices, Array | None]:
    """Return rows to begin with, and weights on them (None: equal ones).

    Some accelerated smoothed steps say which rows will carry weight: the heaviest are
    taken. Where the rows could match the moment exactly, a sample in proportion to
    those weights is better: the heaviest alone are the middle of the target and lack
    its tails.
    """
    m, N = problem.rows.shape
    least = max(least, 2 * N)
    if problem.cap is not None:
        least = max(least, int(np.ceil(2.0 / problem.cap)))
    if m <= max(least, ALL):
        return np.arange(m), x
    guess = x
    if guess is None:
        guess = smoothed_weights(problem.rows, problem.target_moment, steps)
    effective = 1.0 / float(guess @ guess)
    count = int(min(m, max(least, min(1.2 * effective, MOST_FIRST_ROWS))))
    if effective < 0.25 * N * (N + 1):
        return np.sort(np.argsort(-guess, kind="stable")[:count]), None
    return spread_sample(guess, count)


def spread_sample(weights: Array, count: int) -> tuple[Indices, Array]:
    """Return some rows, drawn at equal intervals, and weights that stand for all.

    A row is taken with a probability in proportion to its weight, the heaviest surely;
    no chance is involved.

    Examples
    --------
    >>> import numpy as np
    >>> spread_sample(np.array([0.5, 0.3, 0.2]), 2)
    (array([0, 1]), array([0.5, 0.5]))
    """
    share = np.minimum(1.0, count * weights)
    for _ in range(20):
        share = np.minimum(1.0, share * (count / share.sum()))
    marks = np.arange(int(np.ceil(share.sum()))) + 0.5
    rows = np.unique(np.searchsorted(np.cumsum(share), marks))
    rows = rows[rows < weights.size]
    out = weights[rows] / share[rows]
    return rows, out / out.sum()


# -----------------------------------------------------------------------------
# Interior-point steps on some of the rows, priced on all of them.
# -----------------------------------------------------------------------------


# Rows are exchanged when the gap on those in use is below this share of what the
# others cost.
EXCHANGE = 0.7
# Rows nearest to use that join, as a share of those in use.
NEAR_USE = 0.1
# Weight of a new row, as a share of the mean weight.
ENTRY = 0.05
# Steps without progress after which the dual matrices are put in the middle again.
PATIENCE = 15
# Times that a search without a step is taken up again.
MOST_RECOVERIES = 4
# Where directions join: the share of the middle in the dual matrices, and the room
# above the norm, in units of the gap.
BLEND, ROOM = 0.3, 0.5


@dataclass(frozen=True, eq=False)
class WorkingSet:
    """The rows in use, an interior point on them, and the best seen so far.

    `age` counts the steps since rows were exchanged, when the gap was `gap_then`.
    `restricted` is the bound on the rows in use, `missed` how much of it the others
    take away; `spent`: rounding leaves no step.
    """

    problem: Discrepancy
    columns: Indices
    interior: SpectralInterior
    inside: Iterate
    incumbent: Incumbent
    pulls: Array
    restricted: float = 0.0
    missed: float = 0.0
    age: int = 0
    gap_then: float = np.inf
    failures: int = 0
    spent: bool = False

    @classmethod
    def of(
        cls,
        problem: Discrepancy,
        columns: Indices,
        z: Array | None = None,
        incumbent: Incumbent | None = None,
    ) -> "WorkingSet":
        """Return a fresh set of rows at z (or equal weights on them)."""
        interior = _interior(problem, columns)
        inside = interior.start(None if z is None else _pushed_inside(z, problem.cap))
        return cls(
            problem,
            columns,
            interior,
            inside,
            incumbent or Incumbent.at(problem, None),
            np.zeros(problem.size),
        )._priced()

    def widened(self, problem: Discrepancy) -> "WorkingSet":
        """Return the same weights and dual matrix where directions have joined.

        The first ones are the old ones, in their order.
        """
        here, N = self.inside, problem.rows.shape[1]
        interior = _interior(problem, self.columns)
        old = len(here.M)
        M = interior.operator(here.z)
        norm = spectral_norm(M)
        point = self.point
        value = norm + problem.spread_term(point)
        gap = value - max(self.incumbent.bound, 0.0)
        share = min(0.5, max(1e-3, BLEND * gap / norm))
        above, below = np.zeros((N, N)), np.zeros((N, N))
        above[:old, :old], below[:old, :old] = here.above, here.below
        keep = 1.0 - share
        inside = replace(
            here,
            t=norm + ROOM * gap,
            above=blended(above, share),
            below=blended(below, share),
            low=keep * here.low,
            high=keep * here.high,
            level=keep * here.level,
            M=M,
            norm=norm,
            pulls=keep * here.pulls,
        )
        start = replace(self.incumbent, z=point, value=value)
        if isinstance(start.dual, DualMatrix):
            room = np.zeros((N - old, start.dual.values.size))
            wider = np.concatenate([start.dual.directions, room])
            start = replace(start, dual=DualMatrix(wider, start.dual.values))
        return replace(
            self,
            problem=problem,
            interior=interior,
            inside=inside,
            incumbent=start,
            age=0,
            gap_then=np.inf,
            failures=0,
            spent=False,
        )._priced()

    def turned(self, turn: Array) -> "WorkingSet":
        """Return the same on the span of an orthonormal `turn` of the directions."""
        here = self.inside
        above, below = turn.T @ here.above @ turn, turn.T @ here.below @ turn
        trace = float(np.trace(above) + np.trace(below))
        inside = replace(
            here,
            above=above / trace,
            below=below / trace,
            M=turn.T @ here.M @ turn,
            matched=False,
        )
        incumbent = replace(self.incumbent, dual=None, bound=-np.inf)
        return replace(self, inside=inside, incumbent=incumbent)

    @property
    def whole(self) -> bool:
        """Whether all rows are in use."""
        return self.columns.size == self.pulls.size

    @property
    def point(self) -> Array:
        """The weights of all rows."""
        if self.whole:
            return self.inside.z
        z = np.zeros(self.problem.size)
        z[self.columns] = self.inside.z
        return z

    @property
    def gap(self) -> float:
        """The gap of the best point and the best bound."""
        return self.incumbent.value - max(self.incumbent.bound, 0.0)

    @property
    def _restricted_gap(self) -> float:
        """The gap on the rows in use."""
        value = self.inside.norm + self.problem.spread_term(self.point)
        return value - self.restricted

    def advanced(self, accuracy: float = 0.0) -> "WorkingSet":
        """Return the set after one step, with other rows before it if they are due.

        `accuracy` is the absolute gap that is wanted: no row is exchanged for less.
        One step on w of m rows costs O(w^2 N + w^3 / 3 + N^3), pricing O(m N^2).
        """
        here = self
        if not self.whole and self.missed > 0.0:
            near = 0.5 * max(self.restricted, 2.0 * accuracy)
            if self._restricted_gap < min(EXCHANGE * self.missed, near):
                here = self._exchanged()
        if here.age >= PATIENCE and here.gap > 0.9 * here.gap_then:
            here = replace(here, inside=here.interior.start(here.inside.z), age=0)
        try:
            inside = here.interior.advance(here.inside)
        except np.linalg.LinAlgError:
            return here._recovered()
        out = replace(here, inside=inside, age=here.age + 1)._priced()
        if here.age >= PATIENCE and here.gap <= 0.9 * here.gap_then:
            out = replace(out, age=0, gap_then=here.gap)
        return out

    def _recovered(self) -> "WorkingSet":
        """Return the set with other rows or with its matrices in the middle again.

        Rounding has left no step; it has the last word when neither has helped.
        """
        failures = self.failures + 1
        if failures > MOST_RECOVERIES:
            return replace(self, spent=True)
        if not self.whole and self.missed > 0.0 and failures % 2:
            return replace(self._exchanged(), failures=failures)
        inside = self.interior.start(self.inside.z)
        return replace(self, inside=inside, age=0, failures=failures)

    def _priced(self) -> "WorkingSet":
        """Return the same with its proof over all rows."""
        problem, point, here = self.problem, self.point, self.inside
        best, dual, pulls = problem.truncated(here.Y)
        target = float(np.sum(problem.target_moment * here.Y))
        bound = restricted = problem.bound(target, pulls)
        if not self.whole:
            low = float(pulls.min()) - 10.0 * float(np.ptp(pulls))
            inside = np.full(problem.size, low)
            inside[self.columns] = pulls[self.columns]
            restricted = problem.bound(target, inside)
        value = here.norm + problem.spread_term(point)
        return replace(
            self,
            incumbent=self.incumbent.or_valued(point, value).or_bounded(dual, best),
            pulls=pulls,
            restricted=restricted,
            missed=max(restricted - bound, 0.0),
        )

    def _exchanged(self) -> "WorkingSet":
        """Return the set with unused rows dropped and violating ones joined, warm."""
        problem, W, z, pulls = self.problem, self.columns, self.inside.z, self.pulls
        N = problem.rows.shape[1]
        here, gap = self.inside, self._restricted_gap
        top = float(pulls[W].max()) if problem.cap is None else self.inside.level
        slack = top - pulls[W]
        kept = W[(z > 1e-3 / W.size) | (slack < 0.5 * np.median(slack))]
        outside = np.setdiff1d(np.arange(problem.size), W, assume_unique=True)
        tempting = outside[pulls[outside] > top - 0.5 * gap]
        count = min(tempting.size, max(200, N, W.size // 2))
        near = min(int(NEAR_USE * W.size), outside.size)
        if near > count:
            tempting, count = outside, near
        joined = tempting[np.argsort(-pulls[tempting], kind="stable")[:count]]
        columns = np.union1d(kept, joined)
        fresh = np.isin(columns, joined, assume_unique=True)
        weights, low = np.empty(columns.size), np.empty(columns.size)
        places = np.searchsorted(W, columns[~fresh])
        weights[~fresh], low[~fresh] = z[places], here.low[places]
        # A new row enters with next to no weight and the multiplier that is central for
        # it: the point stays where it is, and Newton's steps mend the mismatch.
        center = here.center(W.size)
        room = np.maximum(here.level - pulls[columns[fresh]], 1e-300)
        weights[fresh] = np.minimum(center / room, ENTRY / columns.size)
        low[fresh] = center / weights[fresh]
        high = np.full(columns.size, float(np.median(here.high)))
        high[~fresh] = here.high[places]
        total = float(weights.sum())
        interior = _interior(problem, columns)
        inside = interior.mismatched(here, weights / total, low * total, high)
        return replace(
            self,
            columns=columns,
            interior=interior,
            inside=inside,
            age=0,
            gap_then=self.gap,
        )


def blended(Y: Array, share: float) -> Array:
    """Return a half of the dual matrix mixed with its share of the middle."""
    N = len(Y)
    return (1.0 - share) * Y + (share / (2.0 * N)) * np.eye(N)


def _interior(problem: Discrepancy, columns: Indices) -> SpectralInterior:
    rows = problem.rows if columns.size == problem.size else problem.rows[columns]
    cap = problem.cap if problem.cap is not None and problem.cap < 1.0 else None
    return SpectralInterior(rows, problem.target_moment, cap, problem.bend)


def _pushed_inside(z: Array, cap: float | None) -> Array:
    """Return a point with every entry positive and strictly below the cap."""
    even = 1.0 / z.size
    out = 0.999 * z + 0.001 * even
    if cap is not None and cap < 1.0 and out.max() > 0.99 * cap:
        reach = (0.99 * cap - even) / (float(out.max()) - even)
        out = even + max(reach, 0.0) * (out - even)
    return out


# -----------------------------------------------------------------------------
# The interior point whose Newton matrix is made of matrices of rank one.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class RankOneInteriorPoint:
    r"""Primal and dual interior-point steps over all rows.

    Solves :math:`\min t : -tI \preceq M(z) \preceq tI` with its dual at once
    (`steps/interior.py`); a step costs :math:`O(m^2N + m^3/3 + N^3)`, some ten
    to thirty steps give six digits. Every iterate is feasible on both sides, so that
    every step has its proof. Best up to some hundred rows.

    References
    ----------
    Helmberg, Rendl, Vanderbei and Wolkowicz (1996). Mehrotra (1992).

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import Discrepancy, solve
    >>> rows = np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> problem = Discrepancy.of(rows, np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> solve(problem, RankOneInteriorPoint(), tol=1e-4).x.round(2)
    array([0.2, 0.8, 0. ])
    """

    accepts: ClassVar[Requirements] = NEEDS_MOMENTS

    def begin(self, problem: Discrepancy, x: Array | None) -> State:
        """Return the first state."""
        incumbent = Incumbent.at(problem, x)
        if no_choice(problem):
            return incumbent.state(problem, None, stalled=True)
        work = WorkingSet.of(problem, np.arange(problem.size), x, incumbent)
        return work.incumbent.state(problem, work)

    def step(self, problem: Discrepancy, state: State) -> State:
        """Return the state after one step."""
        work: WorkingSet = state.memory.advanced()
        return work.incumbent.state(problem, work, stalled=work.spent)


def no_choice(problem: Discrepancy) -> bool:
    """Tell whether the set of weights is a single point, or nothing is to be gained."""
    alone = problem.size == 1
    filled = problem.cap is not None and problem.cap * problem.size <= 1.0 + 1e-9
    return alone or filled or not problem.uniform_value > problem.floor


# -----------------------------------------------------------------------------
# Column generation: an interior point on the rows that may carry weight.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnGeneration:
    r"""Interior-point steps on a working set of rows, each priced on all rows.

    Few of many rows carry weight. The first working set are the heaviest rows of some
    accelerated smoothed steps; a point on it, with zeros elsewhere, is feasible, and
    :math:`x_i'Yx_i` of *all* rows makes its bound valid. Once the rows left out limit
    the gap, weightless ones are dropped and those that violate join, and the search
    goes on warm. Where the rows
    could match the moment exactly, the first set is a sample in proportion to those
    weights instead. A step on w of m rows costs :math:`O(w^2N + w^3/3 + N^3 + mN^2)`.

    Parameters
    ----------
    first : int
        Least size of the first working set.
    warm_steps : int
        Accelerated steps that choose it.
    """

    first: int = 300
    warm_steps: int = 20

    accepts: ClassVar[Requirements] = NEEDS_MOMENTS

    def begin(self, problem: Discrepancy, x: Array | None) -> State:
        """Return the first state."""
        incumbent = Incumbent.at(problem, x)
        if no_choice(problem):
            return incumbent.state(problem, None, stalled=True)
        columns, z = first_rows(problem, x, self.warm_steps, self.first)
        work = WorkingSet.of(problem, columns, z, incumbent)
        return work.incumbent.state(problem, work)

    def step(self, problem: Discrepancy, state: State) -> State:
        """Return the state after one step."""
        work: WorkingSet = state.memory.advanced()
        return work.incumbent.state(
            problem, work, work.spent, {"rows in use": work.columns.size}
        )
