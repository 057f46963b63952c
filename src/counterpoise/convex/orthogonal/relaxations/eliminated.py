"""One penalised round without X, which is eliminated in closed form."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.convex.orthogonal.relaxations.conic_rows import ConicRows
from counterpoise.convex.orthogonal.relaxations.frame_cones import Relaxation, add_ball
from counterpoise.convex.orthogonal.relaxations.lifted import RoundAnswer
from counterpoise.convex.orthogonal.spectrum import dense
from counterpoise.numerics.arrays import Array


def eigenvalue_shift(problem: Any, relaxation: Relaxation) -> float:
    """Return d such that the least <M, X> of the relaxation is <M - dI, PP'> + d m.

    "sdp": the least eigenvalue of M; "parabolic": the least of M_ii less the absolute
    values beside it (Gershgorin). Both are zero for the Laplacian of a graph.
    """
    M = problem.quadratic
    if M is None:
        return 0.0
    if relaxation == "sdp":
        return float(problem.quadratic_range[0])
    own = M.diagonal()
    beside = np.asarray(abs(M).sum(axis=1)).ravel() - np.abs(own)
    return float((own - beside).min())


@dataclass(frozen=True, eq=False)
class EliminatedRound:
    r"""The penalised relaxation of a problem without maximum and quadratic constraints.

    .. math:: \min_P\ \mathrm{tr} P'(M - dI)P + dm + \langle N - \mu P_c, P\rangle
              + \sum_i |\langle B_i, P\rangle + b_i|,\quad I - P'P \in \mathcal{C}

    with d of `eigenvalue_shift`: the same value and the same P as `LiftedRound`, with
    nm variables. With quadratic constraints or a maximum the shift would depend on
    their multipliers, so these are refused.

    Parameters
    ----------
    problem : OrthogonalProblem
    relaxation : {"sdp", "parabolic"}
    """

    problem: Any
    relaxation: Relaxation

    def __post_init__(self) -> None:
        if not can_eliminate(self.problem):
            raise ValueError("X cannot be eliminated: a constraint or maximum sees it")

    @cached_property
    def shift(self) -> float:
        """d."""
        return eigenvalue_shift(self.problem, self.relaxation)

    @cached_property
    def _curvature(self) -> Any:
        n, m = self.problem.shape
        extra = self._size - n * m
        blocks = [sparse.csc_array((extra, extra))] if extra else []
        if self.problem.quadratic is None:
            return sparse.csc_array((self._size, self._size))
        B = 2.0 * (dense(self.problem.quadratic) - self.shift * np.eye(n))
        whole = sparse.kron(sparse.csc_array(B), sparse.eye_array(m))
        return sparse.block_diag([whole, *blocks], format="csc")

    @property
    def _size(self) -> int:
        n, m = self.problem.shape
        return n * m + (0 if self.problem.l1 is None else len(self.problem.l1[1]))

    @cached_property
    def _rows(self) -> ConicRows:
        problem, (n, m) = self.problem, self.problem.shape
        rows = ConicRows(self._size)
        frame = sparse.eye_array(n * m, self._size)
        if problem.nonnegative:
            rows.cone("nonnegative", frame, np.zeros(n * m))
        if problem.constraints:
            F = np.stack([one.linear.ravel() for one in problem.constraints])
            c = np.array([one.constant for one in problem.constraints])
            rows.cone("nonnegative", -(sparse.csr_array(F) @ frame), -c)
        if problem.l1 is not None:
            B, b = problem.l1
            F = sparse.csr_array(B.reshape(len(b), -1)) @ frame
            above = sparse.eye_array(len(b), self._size, k=n * m)
            rows.cone(
                "nonnegative",
                sparse.vstack([above - F, above + F]),
                np.concatenate([-b, b]),
            )
        add_ball(rows, self.relaxation, n, m)
        return rows

    def solve(self, Pc: Array, penalty: float) -> RoundAnswer:
        """Return the solution of the round from Pc."""
        n, m = self.problem.shape
        q = np.zeros(self._size)
        q[n * m :] = 1.0
        q[: n * m] = -penalty * Pc.ravel()
        if self.problem.linear is not None:
            q[: n * m] += self.problem.linear.ravel()
        unit = penalty or self.problem.slope
        x = self._rows.again(q / unit, self._curvature / unit).x
        P = x[: n * m].reshape(n, m)
        value = float(q @ x + 0.5 * x @ (self._curvature @ x)) + self.shift * m
        return RoundAnswer(P, value, float(m - np.sum(P * P)))


def can_eliminate(problem: Any) -> bool:
    """Return whether X stands in the quadratic term alone."""
    return problem.forms is None and all(
        one.quadratic is None for one in problem.constraints
    )
