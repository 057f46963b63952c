"""The published ADMM of subset selection."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from counterpoise.linalg.arrays import Array
from counterpoise.optim.assignment.problem import (
    AssignmentDual,
    Smoother,
    SparseAssignment,
    SparseMatrix,
)
from counterpoise.optim.assignment.solvers import (
    ACCEPTS_ASSIGNMENT,
    BestAssignment,
    check_penalty,
    first_penalty,
)
from counterpoise.optim.loop import Requirements, State
from counterpoise.optim.sets import project_rows

# From a and b to U and V.
FirstStep: TypeAlias = Callable[[Array, Array], tuple[Array, Array]]


@dataclass(frozen=True, eq=False)
class _SlackMemory:
    step: FirstStep
    U: Array
    V: Array
    y1: Array
    y2: Array
    mu: float
    best: BestAssignment
    rounds: int


@dataclass(frozen=True)
class SlackADMM:
    r"""Zohrizadeh's ADMM for sparse assignments with the max norm.

    A slack V makes the columns of U + V constant, :math:`m_j`, so that
    :math:`\lambda_j m_j` is linear; scaled multipliers y:

    .. math::

        (U, V) &= \arg\min \gamma \, \mathrm{tr}(U'LU) + \sum_j \lambda_j m_j
        + \tfrac{\mu}{2} \|U - \hat U + y_1\|^2 + \tfrac{\mu}{2} \|V - \hat V + y_2\|^2
        \\
        \hat U &= \text{items of } U + y_1 - C/\mu \text{ projected onto the simplex}
        \\
        \hat V &= \max(V + y_2, 0), \qquad y_1 \mathrel{+}= U - \hat U, \quad
        y_2 \mathrel{+}= V - \hat V

    With :math:`a = \hat U - y_1`, :math:`b = \hat V - y_2` the first step is
    :math:`m = \mathrm{mean}(a + b) - 2\lambda/(\mu n)`,
    :math:`U = (I + (\gamma/\mu) L)^{-1} (a - b)/2 + m/2`, :math:`V = m - U`.
    :math:`\max(-\mu y_2, 0)` is a dual point.

    Parameters
    ----------
    update : {"closed", "kkt"}
        The first step in closed form, O(l nnz(factor)); or as published, by the dense
        factor of a KKT matrix of order 3n - 1, O(l n^2).
    every : int
        Iterations in one step of the search; after each step there is a proof.
    mu : float, optional
        :math:`\mu`, in units of the problem's costs; it stays. By default
        `first_penalty` of the problem.

    Notes
    -----
    Printed is :math:`\hat U` from :math:`U + y_1 + C/\mu`; the derivative has the sign
    above. The chain of equal columns has n - 1 equations, an n-th makes the KKT matrix
    singular.

    References
    ----------
    Zohrizadeh (2019), chapter 2.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import solve
    >>> from counterpoise.optim.assignment.problem import SparseAssignment
    >>> problem = SparseAssignment(np.array([[0.0, 1.0], [0.2, 0.0]]), 0.3)
    >>> solve(problem, SlackADMM("kkt")).converged
    True
    """

    update: Literal["closed", "kkt"] = "closed"
    every: int = 20
    mu: float | None = None
    accepts: ClassVar[Requirements] = ACCEPTS_ASSIGNMENT

    def __post_init__(self) -> None:
        check_penalty(self.mu)
        if self.update not in ("closed", "kkt"):
            raise ValueError(f"update must be 'closed' or 'kkt', got {self.update!r}")
        if self.every < 1:
            raise ValueError(f"every must be at least 1, got {self.every}")

    def begin(self, problem: SparseAssignment, x: Array | None) -> State:
        """Return the first state."""
        if problem.norm != "max":
            raise ValueError(
                f"the slack is that of the max norm, got norm = {problem.norm!r}"
            )
        best = BestAssignment.at(problem, x)
        mu = first_penalty(problem) if self.mu is None else self.mu
        L = problem.laplacian if problem.is_smoothed else None
        n, t, levels = len(best.U), problem.smoothness / mu, problem.penalties / mu
        if self.update == "closed":
            step = _closed_step(Smoother(L, n), t, levels)
        else:
            step = _kkt_step(L, n, t, levels)
        zero = np.zeros_like(best.U)
        memory = _SlackMemory(step, best.U, zero, zero, zero, mu, best, 0)
        return best.state(problem, memory, {"iterations": 0})

    def step(self, problem: SparseAssignment, state: State) -> State:
        """Return the state after `every` iterations."""
        memory: _SlackMemory = state.memory
        Uh, Vh, y1, y2, mu = memory.U, memory.V, memory.y1, memory.y2, memory.mu
        costs = problem.excess_costs / mu
        for _ in range(self.every):
            U, V = memory.step(Uh - y1, Vh - y2)
            Uh = project_rows(U + y1 - costs)
            Vh = np.maximum(V + y2, 0.0)
            y1 = y1 + U - Uh
            y2 = y2 + V - Vh
        best = memory.best.or_point(problem, Uh)
        for Y in (U, Uh):
            best = best.or_dual(problem, AssignmentDual(-mu * y2, Y))
        rounds = memory.rounds + self.every
        memory = _SlackMemory(memory.step, Uh, Vh, y1, y2, mu, best, rounds)
        return best.state(problem, memory, {"iterations": rounds})


def _closed_step(smoother: Smoother, t: float, levels: Array) -> FirstStep:
    """Return the first step in closed form."""
    order = smoother.order

    def step(a: Array, b: Array) -> tuple[Array, Array]:
        middle = (a + b).mean(axis=0) - 2.0 * levels / len(a)
        U = np.empty_like(a)
        U[order] = smoother.apply(np.ascontiguousarray(0.5 * (a - b)[order]), t)
        U += 0.5 * middle
        return U, middle - U

    return step


def _kkt_step(laplacian: SparseMatrix, n: int, t: float, levels: Array) -> FirstStep:
    """Return the first step by the factored KKT matrix, divided by mu."""
    K = np.zeros((3 * n - 1, 3 * n - 1))
    np.fill_diagonal(K[: 2 * n, : 2 * n], 1.0)
    if laplacian is not None:
        K[:n, :n] += 2.0 * t * laplacian.toarray()
    chain = np.eye(n)[:-1] - np.eye(n)[1:]
    K[2 * n :, : 2 * n] = np.hstack([chain, chain])
    K[: 2 * n, 2 * n :] = K[2 * n :, : 2 * n].T
    factor = lu_factor(K, check_finite=False)

    def step(a: Array, b: Array) -> tuple[Array, Array]:
        right = np.zeros((3 * n - 1, a.shape[1]))
        right[:n] = a - levels / n
        right[n : 2 * n] = b - levels / n
        solved = lu_solve(factor, right, check_finite=False)
        return solved[:n], solved[n : 2 * n]

    return step
