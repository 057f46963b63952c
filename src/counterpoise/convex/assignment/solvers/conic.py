"""A sparse assignment as one conic programme, by Clarabel."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.convex.assignment.problem import AssignmentDual
from counterpoise.convex.assignment.solvers.incumbent import BestAssignment, of_words
from counterpoise.convex.loop import State
from counterpoise.convex.requirements import Requirements
from counterpoise.numerics.arrays import Array


@dataclass(frozen=True)
class AssignmentConic:
    r"""The whole assignment as one programme for Clarabel, in one step.

    Variables U and m: minimise :math:`\langle C, U \rangle + \gamma\,\mathrm{tr}(U'LU)
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
    >>> from counterpoise.convex import solve
    >>> from counterpoise.convex.assignment import SparseAssignment
    >>> problem = SparseAssignment(np.array([[0.0, 1.0], [0.2, 0.0]]), 0.3)
    >>> solve(problem, AssignmentConic()).converged
    True
    """

    accuracy: float = 1e-8
    max_seconds: float = math.inf

    @property
    def accepts(self) -> Requirements:
        """A sparse assignment."""
        return of_words()

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state."""
        best = BestAssignment.at(problem, x)
        return best.state(problem, None, {"iterations": 0})

    def step(self, problem: Any, state: State) -> State:
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
    problem: Any, accuracy: float = 1e-8, max_seconds: float = math.inf
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


def _one(size: int) -> Any:
    return sparse.identity(size, format="csc")


def _second_order(n: int, words: int) -> Any:
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
