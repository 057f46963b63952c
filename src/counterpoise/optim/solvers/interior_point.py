"""A primal-dual interior-point method for simplex-constrained problems."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from counterpoise.linalg.arrays import Array
from counterpoise.optim.loop import Requirements, State
from counterpoise.optim.objectives import FactoredDistance, KernelDistance
from counterpoise.optim.problems import MeanMatching
from counterpoise.optim.sets import CappedSimplex

Distance = FactoredDistance | KernelDistance

# Share of the way to the boundary that a step goes.
NEARLY = 0.995
# Share of the middle that a start from elsewhere is mixed with.
INWARDS = 0.05
# From this gap on, in units of the scale, the free entries are solved for exactly.
CLOSE = 1e-2


@dataclass(frozen=True, eq=False)
class _Iterate:
    """A strictly feasible point with its multipliers, or a direction.

    The entries are those of x and, where the sum has slack, the sum itself; `low` and
    `high` are the multipliers of their bounds, `level` that of the sum.
    """

    x: Array
    low: Array
    high: Array
    level: float


@dataclass(frozen=True, eq=False)
class _Bounds:
    """Lower and upper bounds of the entries of `_Iterate`."""

    size: int
    low: Array
    high: Array
    total: float

    @classmethod
    def of(cls, domain: CappedSimplex) -> "_Bounds":
        """Return the bounds of a capped simplex."""
        low, high = np.zeros(domain.size), np.array(domain.caps)
        if domain.slack > 0.0:
            low = np.append(low, domain.total - domain.slack)
            high = np.append(high, min(domain.total + domain.slack, high.sum()))
        return cls(domain.size, low, high, domain.total)

    @property
    def slack(self) -> bool:
        """Whether the sum is an entry."""
        return self.low.size > self.size

    def entries(self, x: Array) -> Array:
        """Return x, with its sum if that is an entry."""
        return np.append(x, x.sum()) if self.slack else x

    def middle(self) -> Array:
        """Return a point inside: in proportion to the caps, half way between sums."""
        caps = self.high[: self.size]
        total = 0.5 * (self.low[-1] + self.high[-1]) if self.slack else self.total
        return self.entries(caps * (total / caps.sum()))

    def lacking(self, x: Array) -> float:
        """Return what the sum of the entries lacks."""
        goal = x[-1] if self.slack else self.total
        return float(goal - x[: self.size].sum())


@dataclass(frozen=True)
class InteriorPoint:
    r"""Mehrotra's predictor and corrector over a capped simplex.

    With multipliers z of :math:`x \ge 0`, t of :math:`x \le u` and y of the sum, a step
    solves

    .. math:: (\nabla^2 f + D)\,dx = r + 1\,dy, \quad D = z / x + t / (u - x)

    twice: towards :math:`z x = t (u - x) = 0`, then towards the center that this first
    direction calls for, with its second-order error removed. A sum with slack is one
    more entry between two bounds. A step costs one factorization of
    :math:`\nabla^2 f + D` (the objective's `newton`) and three solves; some ten to
    twenty steps give ten digits.

    Near the end the entries whose multipliers are larger than themselves are put on
    their bounds and the others solved for exactly: if that point has the smaller gap,
    it is the state's. So the answer has true zeros.

    References
    ----------
    Mehrotra (1992). Fine and Scheinberg (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise import KMM
    >>> X, X_target = np.arange(60.0)[:, None], np.arange(20.0, 50.0)[:, None]
    >>> KMM(solver="quadratic").fit(X, X_target=X_target).solution_.converged
    True
    """

    accepts: ClassVar[Requirements] = Requirements(
        objective=("evaluate", "newton"),
        domain=("caps", "total", "slack", "project"),
    )

    def begin(self, problem: MeanMatching, x: Array | None) -> State:
        """Return the first state."""
        first = problem.domain.start() if x is None else x
        claim = problem.certify(first)
        bounds = _Bounds.of(problem.domain)
        inside = bounds.middle()
        if x is not None:
            inside = (1.0 - INWARDS) * bounds.entries(x) + INWARDS * inside
        rooms = min(
            float((inside - bounds.low).min()), float((bounds.high - inside).min())
        )
        if not rooms > 0.0:
            # The caps leave a single point.
            return State(first, claim, None, stalled=True)
        center = max(problem.certify(inside[: bounds.size]).gap, 1e-14 * problem.scale)
        center /= 2.0 * inside.size
        memory = _Iterate(
            inside, center / (inside - bounds.low), center / (bounds.high - inside), 0.0
        )
        return State(first, claim, memory)

    def step(self, problem: MeanMatching, state: State) -> State:
        """Return the state after one step."""
        here: _Iterate = state.memory
        bounds = _Bounds.of(problem.domain)
        try:
            there = _advance(problem.objective, bounds, here)
        except np.linalg.LinAlgError:
            there = None
        if there is None or not np.isfinite(there.x).all():
            return replace(state, stalled=True)
        x = there.x[: bounds.size]
        claim = problem.certify(x)
        if claim.gap <= CLOSE * problem.scale:
            exact = _face_minimum(problem, bounds, there)
            if exact is not None:
                proof = problem.certify(exact)
                if proof.gap <= claim.gap:
                    x, claim = exact, proof
        # At the end the products of entries and multipliers are rounding only.
        left = (there.x - bounds.low) @ there.low + (bounds.high - there.x) @ there.high
        return State(x, claim, there, stalled=not float(left) > 1e-15 * problem.scale)


def _advance(objective: Distance, bounds: _Bounds, here: _Iterate) -> _Iterate:
    """Return the point after one predictor and one corrector."""
    n, x = bounds.size, here.x
    below, above = x - bounds.low, bounds.high - x
    center = float(below @ here.low + above @ here.high) / (2.0 * x.size)
    # The derivatives of the Lagrangian.
    slope = objective.gradient(x[:n]) - here.level
    if bounds.slack:
        slope = np.append(slope, here.level)
    slope = slope - here.low + here.high
    barrier = here.low / below + here.high / above
    solver = objective.newton(barrier[:n])
    ones = solver(np.ones(n))
    give = 1.0 / barrier[-1] if bounds.slack else 0.0

    def towards(low: Array, high: Array) -> _Iterate:
        right = low / below - high / above - slope
        free = solver(right[:n])
        lacking = bounds.lacking(x) - float(free.sum())
        if bounds.slack:
            lacking += give * right[-1]
        level = lacking / (float(ones.sum()) + give)
        move = free + level * ones
        if bounds.slack:
            move = np.append(move, give * (right[-1] - level))
        return _Iterate(
            move,
            (low - here.low * move) / below,
            (high + here.high * move) / above,
            level,
        )

    low, high = -below * here.low, -above * here.high
    first = towards(low, high)
    length = _length(bounds, here, first, 1.0)
    ahead = float(
        (below + length * first.x) @ (here.low + length * first.low)
        + (above - length * first.x) @ (here.high + length * first.high)
    ) / (2.0 * x.size)
    aim = (max(ahead, 0.0) / center) ** 3 * center
    move = towards(aim + low - first.x * first.low, aim + high + first.x * first.high)
    length = _length(bounds, here, move, NEARLY)
    return _Iterate(
        x + length * move.x,
        here.low + length * move.low,
        here.high + length * move.high,
        here.level + length * move.level,
    )


def _length(bounds: _Bounds, here: _Iterate, move: _Iterate, share: float) -> float:
    """Return the longest step, at most 1, that keeps everything positive."""
    pairs = (
        (here.x - bounds.low, move.x),
        (bounds.high - here.x, -move.x),
        (here.low, move.low),
        (here.high, move.high),
    )
    longest = 1.0
    for room, pace in pairs:
        falling = pace < 0.0
        if falling.any():
            limit = float(np.min(room[falling] / -pace[falling]))
            longest = min(longest, share * limit)
    return longest


def _face_minimum(
    problem: MeanMatching, bounds: _Bounds, here: _Iterate
) -> Array | None:
    """Return the minimizer over the face that the multipliers point at."""
    curvature = 2.0 * problem.objective.ridge
    if not curvature.min() > 0.0:
        return None
    n = bounds.size
    x, low, high = here.x[:n], here.low[:n], here.high[:n]
    emptied = curvature * x < low
    filled = curvature * (bounds.high[:n] - x) < high
    fixed = emptied | filled
    if fixed.all():
        return None
    at = np.where(filled, bounds.high[:n], 0.0)
    solver = problem.objective.newton(np.where(fixed, np.inf, 0.0))
    goal: float | None = bounds.total
    if bounds.slack:
        # The sum is held at one of its bounds, or lies free between them.
        below = here.low[-1] / (here.x[-1] - bounds.low[-1])
        above = here.high[-1] / (bounds.high[-1] - here.x[-1])
        goal = float(bounds.low[-1] if below > above else bounds.high[-1])
        if max(below, above) < 1.0:
            goal = None
    move = solver(np.column_stack([-problem.objective.gradient(at), np.ones(n)]))
    step = move[:, 0]
    if goal is not None:
        short = goal - float(at.sum() + step.sum())
        step = step + (short / float(move[:, 1].sum())) * move[:, 1]
    out: Array = np.clip(at + step, 0.0, bounds.high[:n])
    if problem.domain.infeasibility(out) > 0.0:
        out = problem.domain.project(out)
    return out
