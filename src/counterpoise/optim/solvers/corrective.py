"""Fully corrective methods on the simplex, with partial pricing."""

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.cholesky import append_row, remove_row, solve_factored
from counterpoise.linalg.compiled import compiled
from counterpoise.optim.certificate import DomainProblem
from counterpoise.optim.loop import Requirements, State
from counterpoise.optim.objectives import Evaluation
from counterpoise.optim.problems import MixtureLikelihood
from counterpoise.optim.solvers.first_order import few_atoms

# -----------------------------------------------------------------------------
# Newton steps over the simplex of few atoms, and the quadratic program of each.
# -----------------------------------------------------------------------------


# Coordinates among which those that join are looked for.
MOST_COORDINATES = 20_000
MOST_JOINING = 320
# A slope so many times the mean one tells of a point far from the optimum.
STEEP = 1e3


@dataclass(frozen=True, eq=False)
class _Atoms:
    """The columns of the objective's matrix that are in use, and their shares.

    `active` are their places among all `size`.
    """

    objective: Any
    active: Indices
    columns: Any
    size: int

    def correct(
        self, shares: Array, gap: float, noise: float, most: int
    ) -> tuple[Array, int]:
        """Return better shares and the number of Newton steps that they took.

        A step solves the second-order model over the simplex and searches the line to
        its minimizer; `most` of them, or until one promises less than a fiftieth of
        `gap`. Where a step promises no more than `noise` it is taken in full: a line
        search would only see rounding.
        """
        image, taken = self.columns @ shares, 0
        for _ in range(most):
            slopes, curvature = self.objective.model(self.active, self.columns, image)
            wanted = simplex_quadratic(
                np.ascontiguousarray(curvature),
                curvature @ shares - slopes,
                shares,
                1e-4 * gap,
                10 * self.active.size + 20,
            )
            direction = wanted - shares
            fall = -float(slopes @ direction)
            taken += 1
            shares = self.move(shares, direction, image if fall > noise else None)
            if fall < 0.02 * gap:
                break
            image = self.columns @ shares
        return shares, taken

    def mix_in(self, shares: Array, image: Array, n_old: int) -> Array:
        """Return shares with every very promising newcomer mixed in by a line search.

        Those after the first `n_old` are newcomers, very promising ones have slopes
        `STEEP` times the mean one. Far from the optimum a Newton step only doubles
        what is tiny.
        """
        for k in range(n_old, self.active.size):
            slopes, _ = self.objective.model(self.active, self.columns, image)
            if not -slopes[k] > STEEP * abs(shares @ slopes):
                break
            direction = -shares
            direction[k] += 1.0
            shares = self.move(shares, direction, image)
            image = self.columns @ shares
        return shares

    def move(self, shares: Array, direction: Array, image: Array | None) -> Array:
        """Return the shares after the best step in [0, 1], or one without an image.

        Rounding noise is set to zero, and the sum to one.
        """
        length = 1.0
        if image is not None:
            x, way = np.zeros(self.size), np.zeros(self.size)
            x[self.active], way[self.active] = shares, direction
            images = (image, self.columns @ direction)
            length = float(self.objective.along(x, way, 1.0, images))
        moved = shares + length * direction
        out = np.where(moved > 1e-15, moved, 0.0)
        return np.asarray(out / out.sum())


def simplex_quadratic(
    curvature: Array, linear: Array, start: Array, tol: float, max_pivots: int
) -> Array:
    r"""Return the minimizer of :math:`u'Gu/2 - h'u` over the unit simplex.

    A primal active-set method, warm-started at `start`: a Newton step on the free
    entries, taken until an entry reaches zero (which is then fixed); once it is taken
    in full, the entry with the worst multiplier is freed. The factor of the free part
    of :math:`G + \tau 11'`, which is as good as G on the simplex, lives through added
    and removed rows: O(k^2) a pivot. Steps come from the slopes at the present point,
    so that a nearly singular G costs pivots and not digits.

    Parameters
    ----------
    curvature : array of shape (k, k)
        G, symmetric, positive semidefinite.
    linear : array of shape (k,)
        h.
    start : array of shape (k,)
        A point of the simplex.
    tol : float
        The search ends when no slope promises more than this.
    max_pivots : int
        Ends with the present point, which is never worse than `start`.
    """
    size = linear.size
    tau = float(np.trace(curvature)) / size
    if not (np.isfinite(tau) and np.isfinite(linear).all()):
        # Curvature beyond all floats: no step along it would be one.
        return start / start.sum()
    ridge = 1e-13 * max(tau, 1e-300)
    u = start / start.sum()
    order = np.argsort(u <= 0.0, kind="stable")
    k = int(np.count_nonzero(u))
    factor = np.zeros((size, size))
    some = order[:k]
    block = curvature[np.ix_(some, some)] + tau
    block[np.arange(k), np.arange(k)] += ridge
    try:
        factor[:k, :k] = np.linalg.cholesky(block)
    except np.linalg.LinAlgError:
        _factorize(block, factor, ridge)
    curvature = np.ascontiguousarray(curvature)
    return _pivot(curvature, linear, u, factor, order, k, tau, tol, max_pivots)


@compiled
def _factorize(block: Array, factor: Array, least: float) -> None:
    """Fill in the factor of a block that is singular, row by row."""
    for k in range(block.shape[0]):
        append_row(factor, k, block[k, :k].copy(), block[k, k], least)


@compiled
def _pivot(
    curvature: Array,
    linear: Array,
    u: Array,
    factor: Array,
    order: Indices,
    k: int,
    tau: float,
    tol: float,
    max_pivots: int,
) -> Array:
    """Return the minimizer; the first k of `order` are free, as the factor has them."""
    size = linear.size
    ridge = 1e-13 * max(tau, 1e-300)
    slopes = curvature @ u - linear
    free = u > 0.0
    row = np.empty(size)
    refined = 0
    for _ in range(max_pivots):
        step = _newton_step(factor, k, order, slopes, u)
        length = 1.0
        blocking = -1
        for i in range(k):
            if u[order[i]] + step[i] < 0.0:
                ratio = u[order[i]] / -step[i]
                if ratio < length or blocking < 0:
                    length, blocking = ratio, i
        for i in range(k):
            u[order[i]] = max(u[order[i]] + length * step[i], 0.0)
        if blocking >= 0:
            gone = order[blocking]
            u[gone] = 0.0
            free[gone] = False
            remove_row(factor, k, blocking)
            for i in range(blocking, k - 1):
                order[i] = order[i + 1]
            k -= 1
            slopes = curvature @ u - linear
            continue
        slopes = curvature @ u - linear
        level = u @ slopes
        best = -1
        promise = tol
        spread = 0.0
        for i in range(size):
            if free[i]:
                spread = max(spread, abs(slopes[i] - level))
            elif level - slopes[i] > promise:
                best, promise = i, level - slopes[i]
        if best >= 0:
            for j in range(k):
                row[j] = curvature[best, order[j]] + tau
            append_row(factor, k, row, curvature[best, best] + tau + ridge, ridge)
            order[k] = best
            free[best] = True
            k += 1
            refined = 0
        elif spread > tol and refined < 3:
            refined += 1
        else:
            break
    return u / u.sum()


@compiled
def _newton_step(
    factor: Array, k: int, order: Indices, slopes: Array, u: Array
) -> Array:
    """Return the step to the minimum over the free entries, their sum kept."""
    right = np.empty(k)
    for i in range(k):
        right[i] = slopes[order[i]]
    pull = solve_factored(factor, k, right)
    ones = solve_factored(factor, k, np.ones(k))
    step = (pull.sum() / ones.sum()) * ones - pull
    # What rounding leaves of the sum goes to the largest entry.
    largest = 0
    for i in range(k):
        if u[order[i]] > u[order[largest]]:
            largest = i
    step[largest] -= step.sum()
    return step


# -----------------------------------------------------------------------------
# Active-set Newton steps over the simplex: few atoms, each with its best share.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _CorrectiveMemory:
    active: Indices
    shares: Array
    columns: Any
    here: Evaluation
    n_join: int


@dataclass(frozen=True)
class Corrective:
    r"""Fully corrective Frank-Wolfe with second-order corrections.

    A step computes one full gradient, lets the coordinates that promise most join the
    active ones (no two that are nearly alike), and minimizes over the active ones by
    Newton steps: the second-order model over their simplex, solved exactly by a primal
    active-set method, then an exact line search. Cost: one product with all columns a
    step, O(m k^2) a Newton step for k active atoms. The negative logarithm is
    self-concordant and a quadratic is its own model, so some tens of Newton steps give
    six digits and more.

    Parameters
    ----------
    n_join : int
        Largest number of coordinates that join in the first step; it doubles after a
        step in which as many joined and the gap hardly fell.
    n_newton : int
        Largest number of Newton steps on the active coordinates in a step.
    alike : float
        A coordinate more similar than this to one that has just joined must wait.

    Notes
    -----
    `counts` of the history holds the Newton steps.

    References
    ----------
    Wang (2007), on the constrained Newton method for mixtures.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import MixtureLikelihood, Corrective, solve
    >>> problem = MixtureLikelihood(np.random.default_rng(0).random((20, 4)) + 0.1)
    >>> solve(problem, Corrective(), tol=1e-6).converged
    True
    """

    n_join: int = 10
    n_newton: int = 5
    alike: float = 0.9

    accepts: ClassVar[Requirements] = Requirements(
        objective=("evaluate", "along", "columns", "model", "distinct"),
        domain=("coordinates",),
    )

    def begin(self, problem: DomainProblem, x: Array | None) -> State:
        """Return the first state."""
        x = few_atoms(problem) if x is None else x
        active = np.flatnonzero(x)
        shares = x[active] / x[active].sum()
        columns = problem.objective.columns(active)
        return _state(problem, active, shares, columns, self.n_join, 0)

    def step(self, problem: DomainProblem, state: State) -> State:
        """Return the state after one join and its Newton steps."""
        memory: _CorrectiveMemory = state.memory
        objective, gap = problem.objective, state.claim.gap
        gradient, shares = memory.here.gradient, memory.shares
        level = float(shares @ gradient[memory.active])
        promising = _most_promising(level - gradient, memory.active, 0.02 * gap)
        joining = objective.distinct(promising, memory.n_join, self.alike)
        active = np.concatenate([memory.active, joining])
        shares = np.concatenate([shares, np.zeros(joining.size)])
        columns, fresh = memory.columns, objective.columns(joining)
        if isinstance(columns, np.ndarray):
            columns = np.hstack([columns, fresh])
        else:
            columns = columns.beside(fresh)
        atoms = _Atoms(objective, active, columns, problem.domain.size)
        if -gradient[joining].min(initial=0.0) > STEEP * abs(level):
            assert memory.here.image is not None
            shares = atoms.mix_in(shares, memory.here.image, memory.active.size)
        noise = 1e-10 * max(1.0, abs(state.claim.objective))
        shares, taken = atoms.correct(shares, gap, noise, self.n_newton)
        keep, n_newton = shares > 0.0, state.counts.get("newton", 0) + taken
        # Where a full group of newcomers hardly helps, the optimum has many atoms.
        slow = joining.size == memory.n_join
        n_join = min(2 * memory.n_join, MOST_JOINING) if slow else memory.n_join
        after = _state(
            problem, active[keep], shares[keep], columns[:, keep], n_join, n_newton
        )
        if after.claim.gap < 0.3 * gap:
            after = replace(after, memory=replace(after.memory, n_join=memory.n_join))
        return state_unless_worse(after, state)


def _state(
    problem: DomainProblem,
    active: Indices,
    shares: Array,
    columns: Any,
    n_join: int,
    n_newton: int,
) -> State:
    x = np.zeros(problem.domain.size)
    x[active] = shares
    here = problem.objective.evaluate(x, columns @ shares)
    claim = problem.judge(x, here.value, here.gradient)
    memory = _CorrectiveMemory(active, shares, columns, here, n_join)
    return State(x, claim, memory, counts={"newton": n_newton} if n_newton else {})


def _most_promising(promise: Array, active: Indices, least: float) -> Indices:
    """Return the inactive coordinates that promise more than `least`, best first."""
    promise[active] = -np.inf
    count = min(MOST_COORDINATES, promise.size)
    candidates = np.argpartition(-promise, count - 1)[:count]
    candidates = candidates[promise[candidates] > least]
    return candidates[np.lexsort((candidates, -promise[candidates]))]


def state_unless_worse(after: State, before: State) -> State:
    """Return the state after a step, or the stalled one before if none is better."""
    worse = after.claim.objective >= before.claim.objective
    if worse and after.claim.gap >= before.claim.gap:
        return replace(before, stalled=True)
    return after


# -----------------------------------------------------------------------------
# Column generation: solve on few columns, look at all of them now and then.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class PartialPricing:
    """The corrective method on a pool of columns, refilled from full gradients.

    A step minimizes over the pool to a tenth of the present gap, then computes one
    full gradient, which proves the gap over *all* columns and says which join the
    pool. For problems whose matrix is too large to store: a step reads all columns
    once, and some four to nine steps give six digits.

    Parameters
    ----------
    pool : int
        Columns kept from one step to the next, beside the active ones.
    refill : int
        Columns that join after a full gradient.
    inner : Corrective
        The method on the pool.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import MixtureLikelihood, PartialPricing, solve
    >>> problem = MixtureLikelihood(np.random.default_rng(0).random((20, 4)) + 0.1)
    >>> solve(problem, PartialPricing(), tol=1e-6).converged
    True
    """

    pool: int = 400
    refill: int = 300
    inner: Corrective = field(default_factory=lambda: Corrective(n_join=30))

    @property
    def accepts(self) -> Requirements:
        """What the inner method accepts, of a problem that can leave columns out."""
        return replace(self.inner.accepts, problem=("restricted",))

    def begin(self, problem: DomainProblem, x: Array | None) -> State:
        """Return the first state."""
        x = few_atoms(problem) if x is None else x
        return self._state(problem, x, np.flatnonzero(x), Counter())

    def step(self, problem: MixtureLikelihood, state: State) -> State:
        """Return the state after one pool and one full gradient."""
        pool: Indices = state.memory
        part = problem.restricted(pool)
        inside = self.inner.begin(part, state.x[pool])
        for _ in range(100):
            if inside.stalled or inside.claim.gap <= 0.1 * state.claim.gap:
                break
            inside = self.inner.step(part, inside)
        x = np.zeros_like(state.x)
        x[pool] = inside.x
        counts = Counter(state.counts) + Counter(inside.counts) + Counter({"passes": 1})
        return state_unless_worse(self._state(problem, x, pool, counts), state)

    def _state(
        self, problem: DomainProblem, x: Array, old: Indices, counts: Counter[str]
    ) -> State:
        here = problem.objective.evaluate(x)
        claim = problem.judge(x, here.value, here.gradient)
        best = _smallest(here.gradient, self.refill)
        kept = old[_smallest(here.gradient[old], self.pool)]
        pool = np.unique(np.concatenate([np.flatnonzero(x), kept, best]))
        return State(x, claim, pool, counts=dict(counts))


def _smallest(values: Array, count: int) -> Indices:
    """Return the places of the smallest values."""
    if count >= values.size:
        return np.arange(values.size)
    return np.argpartition(values, count)[:count]
