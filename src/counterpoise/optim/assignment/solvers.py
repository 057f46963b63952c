"""Proximal ADMM and the conic solver of assignment problems."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from scipy import sparse

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.optim.assignment.local_search import improved_set, proximal_sweep
from counterpoise.optim.assignment.problem import (
    AssignmentDual,
    Reduction,
    Smoother,
    SparseAssignment,
    SparseMatrix,
)
from counterpoise.optim.loop import Requirements, State

# -----------------------------------------------------------------------------
# The best assignment and the best bound that a search has seen.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BestAssignment:
    """An assignment with its value, and a dual point with its bound.

    Both are above the least costs. They need not come from the same iteration.
    """

    U: Array
    excess: float
    dual: AssignmentDual | None = None
    bound: float = -math.inf

    @classmethod
    def at(cls, problem: SparseAssignment, x: Array | None) -> "BestAssignment":
        """Return the incumbent of a search that begins at x, or at equal shares."""
        first = problem.matrix(problem.start() if x is None else problem.inside(x))
        return cls(first, problem.excess(first))

    def or_point(self, problem: SparseAssignment, U: Array) -> "BestAssignment":
        """Return the better of this assignment and U."""
        excess = problem.excess(U)
        return replace(self, U=U, excess=excess) if excess < self.excess else self

    def or_rounded(self, problem: SparseAssignment, U: Array) -> "BestAssignment":
        """Return the better of this assignment and one of whole items near U.

        Words with an entry of one half or more are improved word by word, and every
        item takes the cheapest. Without a graph an optimum is often such a vertex, and
        where words tie, U is between several.
        """
        tops = U.max(axis=0)
        words = np.flatnonzero(tops >= 0.5)
        if words.size == 0:
            words = np.array([int(tops.argmax())])
        words = improved_set(problem.excess_costs, words, problem.penalties)
        cheapest = words[problem.excess_costs[:, words].argmin(axis=1)]
        whole = np.zeros_like(U)
        whole[np.arange(len(U)), cheapest] = 1.0
        return self.or_point(problem, whole)

    def or_dual(
        self, problem: SparseAssignment, dual: AssignmentDual
    ) -> "BestAssignment":
        """Return the better of this dual point and another."""
        bound = problem.excess_bound(dual)
        return replace(self, dual=dual, bound=bound) if bound > self.bound else self

    def state(
        self,
        problem: SparseAssignment,
        memory: object,
        counts: Mapping[str, int],
        stalled: bool = False,
    ) -> State:
        """Return the state that offers the assignment and the dual point."""
        x = self.U.ravel()
        claim = problem.claim(x, self.excess, self.bound)
        return State(x, claim, memory, self.dual, counts, stalled)


# What solvers of assignment problems need.
ACCEPTS_ASSIGNMENT = Requirements(
    objective=("value", "gradient"),
    problem=("excess_costs", "penalties", "excess", "excess_bound", "claim"),
    hint="a SparseAssignment is needed",
)


# -----------------------------------------------------------------------------
# ADMM with one half for the simplex of every item and one for the norms of words.
# -----------------------------------------------------------------------------


# Steps between two looks at the penalty parameter, and how far apart the residuals must
# be; after so many iterations the looks become ever rarer, as convergence asks for.
BALANCE_STEPS, BALANCE_RATIO, RARER_AFTER = 3, 5.0, 3000
# The penalty parameter is not made smaller where gamma is so many times larger: in
# floating point smoothing would no longer shrink.
LARGEST_SMOOTHING = 1e10


@dataclass
class _Halves:
    """The splitting, items in the smoother's order; overwritten by every sweep."""

    smoother: Smoother
    Z1: Array
    Z2: Array
    y1: Array
    y2: Array
    mu: float
    rows: Array
    columns: Array


@dataclass
class Trail:
    """Where a search left off, for the next one along a path to begin."""

    halves: "_Halves | None" = None


@dataclass(frozen=True)
class _ProximalMemory:
    halves: _Halves
    costs: Array
    best: BestAssignment
    rounds: int
    next_balance: int


@dataclass(frozen=True)
class ProximalADMM:
    r"""ADMM on U = Z1 = Z2 for sparse assignments, proved at every step.

    .. math::

        U &= (I + (\gamma/\mu) L)^{-1} (Z_1 - y_1 + Z_2 - y_2) / 2 \\
        Z_1 &= \text{items of } a U + (1 - a) Z_1 + y_1 - C/\mu
        \text{ projected onto the simplex} \\
        Z_2 &= \text{words of } a U + (1 - a) Z_2 + y_2
        \text{ under the proximal map of } (\lambda_j/\mu) \Omega \text{ and } U \ge 0

    with scaled multipliers y and relaxation a. :math:`Z_1` is an assignment at every
    iteration and :math:`\mu y_2` a dual point, so both sides of the gap are free. The
    smoothing is one sparse factorization for every new :math:`\mu`, or a stored inverse
    where the factor would be full. An iteration costs O(nl + l nnz(factor)); no KKT
    matrix, and half of the variables of the published splitting.

    :math:`\mu` begins as `mu` or `first_penalty` says, and is multiplied by the root of
    the residuals' ratio, between 0.2 and 5, where they are apart by more than 5.

    Parameters
    ----------
    relaxation : float
        Between 0 and 2.
    every : int
        Iterations in one step of the search; after each step there is a proof.
    reduction : {"auto", "sparse", "inverse"}
        How smoothing is done, see `Smoother`.
    trail : Trail, optional
        Where a search before left off; begins there, and is left where this one ends.
    mu : float, optional
        The first :math:`\mu`, in units of the problem's costs.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import solve
    >>> from counterpoise.optim.assignment.problem import SparseAssignment
    >>> problem = SparseAssignment(np.array([[0.0, 1.0], [0.2, 0.0]]), 0.3)
    >>> solve(problem, ProximalADMM()).converged
    True
    """

    relaxation: float = 1.8
    every: int = 20
    reduction: Reduction = "auto"
    trail: Trail | None = field(default=None, compare=False)
    mu: float | None = None
    accepts: ClassVar[Requirements] = ACCEPTS_ASSIGNMENT

    def __post_init__(self) -> None:
        check_penalty(self.mu)
        if not 0.0 < self.relaxation < 2.0:
            raise ValueError(f"relaxation must be in (0, 2), got {self.relaxation}")
        if self.every < 1:
            raise ValueError(f"every must be at least 1, got {self.every}")

    def begin(self, problem: SparseAssignment, x: Array | None) -> State:
        """Return the first state."""
        best = BestAssignment.at(problem, x)
        old = None if self.trail is None else self.trail.halves
        if old is not None and x is None:
            halves = old
            order = halves.smoother.order
            best = best.or_point(problem, _put_back(halves.Z1, order))
        else:
            n = problem.shape[0]
            laplacian = problem.laplacian if problem.is_smoothed else None
            smoother = Smoother(laplacian, n, self.reduction)
            order = smoother.order
            U = np.ascontiguousarray(best.U[order])
            halves = _Halves(
                smoother,
                U.copy(),
                U.copy(),
                np.zeros_like(U),
                np.zeros_like(U),
                first_penalty(problem) if self.mu is None else self.mu,
                np.zeros(len(U)),
                np.zeros(U.shape[1]),
            )
        if self.trail is not None:
            self.trail.halves = halves
        costs = np.ascontiguousarray(problem.excess_costs[order])
        memory = _ProximalMemory(halves, costs, best, 0, BALANCE_STEPS)
        return best.state(problem, memory, {"iterations": 0})

    def step(self, problem: SparseAssignment, state: State) -> State:
        """Return the state after `every` iterations."""
        memory: _ProximalMemory = state.memory
        halves, best = memory.halves, memory.best
        U, before = self._sweeps(problem, memory)
        order = halves.smoother.order
        Z1 = _put_back(halves.Z1, order)
        G = _put_back(halves.mu * halves.y2, order)
        best = best.or_point(problem, Z1)
        best = best.or_dual(problem, AssignmentDual(G, Z1))
        if problem.is_smoothed:
            best = best.or_dual(problem, AssignmentDual(G, _put_back(U, order)))
        elif problem.norm == "max":
            best = best.or_rounded(problem, Z1)
            best = best.or_dual(problem, problem.raised(AssignmentDual(G)))
        rounds = memory.rounds + self.every
        step_number = rounds // self.every
        next_balance = memory.next_balance
        if step_number >= next_balance:
            wait = BALANCE_STEPS
            if rounds > RARER_AFTER:
                wait = max(wait, step_number // 4)
            next_balance = step_number + wait
            gamma = problem.smoothness if problem.is_smoothed else 0.0
            _balance(halves, gamma, U, *before)
        memory = _ProximalMemory(halves, memory.costs, best, rounds, next_balance)
        return best.state(problem, memory, {"iterations": rounds})

    def _sweeps(
        self, problem: SparseAssignment, memory: _ProximalMemory
    ) -> tuple[Array, tuple[Array, Array]]:
        """Iterate; return the last U and both halves before the last iteration."""
        halves = memory.halves
        mu = halves.mu
        t = problem.smoothness / mu
        costs, levels = memory.costs / mu, problem.penalties / mu
        words = problem.shape[1]
        sums, counts, before = np.empty(words), np.empty(words), np.empty(words)
        X = 0.5 * (halves.Z1 - halves.y1 + halves.Z2 - halves.y2)
        for k in range(self.every):
            X = np.ascontiguousarray(halves.smoother.apply(X, t))
            if k == self.every - 1:
                U, old = X.copy(), (halves.Z1.copy(), halves.Z2.copy())
            proximal_sweep(
                X,
                halves.Z1,
                halves.Z2,
                halves.y1,
                halves.y2,
                costs,
                levels,
                problem.norm == "max",
                self.relaxation,
                halves.rows,
                halves.columns,
                sums,
                counts,
                before,
            )
        return U, old


def check_penalty(mu: float | None) -> None:
    """Refuse a penalty parameter that is not a positive number."""
    if mu is not None and not 0.0 < mu < math.inf:
        raise ValueError(f"mu must be positive and finite, got {mu}")


def first_penalty(problem: SparseAssignment) -> float:
    """Return the penalty parameter to begin with.

    Half of the costs' standard deviation or of 0.4 times their median, whichever is
    less, plus 0.03 gamma: a few far items do not count.
    """
    # A power of two, by which squares of small costs do not vanish.
    unit = 2.0 ** float(np.frexp(problem.excess_costs.max())[1] - 1)
    spread = unit * (problem.excess_costs / unit).std()
    middle = np.median(problem.excess_costs)
    if middle > 0.0:
        spread = min(spread, 0.4 * middle)
    gamma = problem.smoothness if problem.is_smoothed else 0.0
    return max(0.5 * float(spread) + 0.03 * gamma, 1e-300)


def _balance(halves: _Halves, gamma: float, U: Array, Z1: Array, Z2: Array) -> None:
    """Change the penalty parameter where one residual is far above the other."""
    apart = np.hypot(np.linalg.norm(U - halves.Z1), np.linalg.norm(U - halves.Z2))
    size = np.hypot(np.linalg.norm(halves.Z1), np.linalg.norm(halves.Z2))
    moved = np.hypot(np.linalg.norm(halves.Z1 - Z1), np.linalg.norm(halves.Z2 - Z2))
    weight = np.hypot(np.linalg.norm(halves.y1), np.linalg.norm(halves.y2))
    primal, dual = apart / max(size, 1e-300), moved / max(weight, 1e-12)
    if dual > primal and gamma > LARGEST_SMOOTHING * halves.mu:
        return
    if primal > BALANCE_RATIO * dual or dual > BALANCE_RATIO * primal:
        ratio = primal / max(dual, 1e-300)
        factor = float(np.clip(math.sqrt(ratio), 0.2, 5.0))
        halves.mu *= factor
        halves.y1 /= factor
        halves.y2 /= factor


def _put_back(X: Array, order: Indices) -> Array:
    """Return the rows of X in the items' own order."""
    out = np.empty_like(X)
    out[order] = X
    return out


# -----------------------------------------------------------------------------
# A sparse assignment as one conic program, by Clarabel.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class AssignmentConic:
    r"""The whole assignment as one program for Clarabel, in one step.

    Variables U and m: minimize :math:`\langle C, U \rangle + \gamma\,\mathrm{tr}(U'LU)
    + \lambda'm` over :math:`U \ge 0`, :math:`U1 = 1` and columns of a norm of at most
    :math:`m_j` (max norm: nl inequalities; Euclidean: l second-order cones). The
    answer is projected onto the simplex of every item before it is judged; the
    multipliers of the norms are the dual point.

    Parameters
    ----------
    accuracy : float
        Clarabel's own tolerance on gap and feasibility.
    max_seconds : float
        Clarabel's own time limit.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import solve
    >>> from counterpoise.optim.assignment.problem import SparseAssignment
    >>> problem = SparseAssignment(np.array([[0.0, 1.0], [0.2, 0.0]]), 0.3)
    >>> solve(problem, AssignmentConic()).converged
    True
    """

    accuracy: float = 1e-8
    max_seconds: float = math.inf
    accepts: ClassVar[Requirements] = ACCEPTS_ASSIGNMENT

    def begin(self, problem: SparseAssignment, x: Array | None) -> State:
        """Return the first state."""
        best = BestAssignment.at(problem, x)
        return best.state(problem, None, {"iterations": 0})

    def step(self, problem: SparseAssignment, state: State) -> State:
        """Return the answer of Clarabel; there is no second step."""
        best = BestAssignment.at(problem, state.x)
        # Clarabel's tolerances are partly absolute.
        largest = max(problem.excess_costs.max(), problem.penalties.max())
        unit = float(largest) if largest > 1e-250 else 1.0
        scaled = replace(
            problem,
            costs=problem.excess_costs / unit,
            penalties=problem.penalties / unit,
            smoothness=problem.smoothness / unit,
        )
        U, G, iterations = clarabel_assignment(scaled, self.accuracy, self.max_seconds)
        G = unit * G
        counts = {"iterations": iterations}
        if not np.isfinite(U).all():
            return best.state(problem, None, counts, stalled=True)
        inside = problem.matrix(problem.inside(U.ravel()))
        best = best.or_point(problem, inside)
        best = best.or_dual(problem, AssignmentDual(G, inside))
        return best.state(problem, None, counts, stalled=True)


def clarabel_assignment(
    problem: SparseAssignment, accuracy: float = 1e-8, max_seconds: float = math.inf
) -> tuple[Array, Array, int]:
    """Return Clarabel's U, the multipliers of the norms, and its iterations."""
    import clarabel

    n, words = problem.shape
    entries = n * words
    P = sparse.csc_matrix((entries + words, entries + words))
    if problem.is_smoothed:
        # Rows of U lie one after the other: L acts between them.
        rough = sparse.kron(2.0 * problem.smoothness * problem.laplacian, _one(words))
        P = sparse.block_diag([rough, sparse.csc_matrix((words, words))], format="csc")
    sums = sparse.kron(_one(n), np.ones((1, words)))
    items = sparse.hstack([sums, sparse.csc_matrix((n, words))])
    above = sparse.hstack([-_one(entries), sparse.csc_matrix((entries, words))])
    cones = [clarabel.ZeroConeT(n), clarabel.NonnegativeConeT(entries)]
    if problem.norm == "max":
        largest = sparse.kron(np.ones((n, 1)), _one(words))
        norms = sparse.hstack([_one(entries), -largest])
        cones.append(clarabel.NonnegativeConeT(entries))
    else:
        norms = _second_order(n, words)
        cones += [clarabel.SecondOrderConeT(n + 1)] * words
    A = sparse.vstack([items, above, norms], format="csc")
    b = np.zeros(A.shape[0])
    b[:n] = 1.0
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.time_limit = max_seconds
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = accuracy
    q = np.concatenate([problem.excess_costs.ravel(), problem.penalties])
    answer = clarabel.DefaultSolver(
        sparse.triu(P, format="csc"), q, A, b, cones, settings
    ).solve()
    U = np.asarray(answer.x, dtype=float)[:entries].reshape(n, words)
    z = np.asarray(answer.z, dtype=float)[n + entries :]
    if problem.norm == "max":
        G = z.reshape(n, words)
    else:
        # The cone's multiplier has the opposite sign of the norm's subgradient.
        G = -z.reshape(words, n + 1)[:, 1:].T
    return U, np.ascontiguousarray(G), int(answer.iterations)


def _one(size: int) -> SparseMatrix:
    return sparse.identity(size, format="csc")


def _second_order(n: int, words: int) -> SparseMatrix:
    """Return the rows by which (m_j, column j of U) lies in a second-order cone."""
    block = np.arange(words)[:, None] * (n + 1)
    at_m = block.ravel()
    at_u = (block + 1 + np.arange(n)[None, :]).ravel()
    entry = (np.arange(n)[None, :] * words + np.arange(words)[:, None]).ravel()
    rows = np.concatenate([at_m, at_u])
    columns = np.concatenate([n * words + np.arange(words), entry])
    minus = np.full(len(rows), -1.0)
    shape = (words * (n + 1), n * words + words)
    return sparse.csc_matrix((minus, (rows, columns)), shape=shape)
