"""One penalised round with P and X = PP' as variables."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from counterpoise.convex.orthogonal.relaxations.conic_rows import ConicRows
from counterpoise.convex.orthogonal.relaxations.frame_cones import (
    Relaxation,
    add_ball,
    add_lifting,
)
from counterpoise.convex.orthogonal.relaxations.lifted_terms import LiftedTerms
from counterpoise.numerics.arrays import Array


@dataclass(frozen=True, eq=False)
class RoundAnswer:
    """What a round found.

    Attributes
    ----------
    P : array of shape (n, m)
        Inside the ball of the relaxation, on a frame where the round was exact; not
        finite where the conic solver gave up.
    value : float
        The least value of the penalised relaxation; it bounds nothing globally.
    lack : float
        tr(X - PP'), zero where the round was exact.
    """

    P: Array
    value: float
    lack: float


@dataclass(frozen=True, eq=False)
class LiftedRound:
    r"""The penalised relaxation of any problem, by Clarabel.

    .. math:: \min_{P, X}\ \langle M, X\rangle + \langle N, P\rangle + \ldots
              - \mu \langle P_c, P\rangle,\quad
              I - P'P \in \mathcal{C},\ X - PP' \in \mathcal{D},\ \mathrm{tr} X = m

    with both cones the positive semidefinite matrices ("sdp": two cones of order
    n + m) or those H with :math:`H_{ii} + H_{jj} \ge 2 |H_{ij}|` ("parabolic":
    second-order cones, n + twice the pairs of rows that a term couples + m^2, of
    dimension m + 2). The objective is divided by mu, without which Clarabel gives up
    where mu is large; between rounds it alone changes.

    Parameters
    ----------
    problem : OrthogonalProblem
    relaxation : {"sdp", "parabolic"}
    """

    problem: Any
    relaxation: Relaxation

    @cached_property
    def terms(self) -> LiftedTerms:
        """The variables and the terms."""
        return LiftedTerms(self.problem, every_pair=self.relaxation == "sdp")

    @cached_property
    def _rows(self) -> ConicRows:
        terms, shape = self.terms, self.problem.shape
        rows = ConicRows(terms.size)
        terms.add_terms(rows)
        add_ball(rows, self.relaxation, *shape)
        places = terms.lifted.start + np.arange(len(terms.rows))
        add_lifting(rows, self.relaxation, shape, (terms.rows, terms.columns, places))
        return rows

    @cached_property
    def _objective(self) -> Array:
        return self.terms.objective()

    def solve(self, Pc: Array, penalty: float) -> RoundAnswer:
        """Return the solution of the round from Pc."""
        q = self._objective.copy()
        q[self.terms.frame] -= penalty * Pc.ravel()
        unit = penalty or self.problem.slope
        x = self._rows.again(q / unit).x
        n, m = self.problem.shape
        P = x[self.terms.frame].reshape(n, m)
        trace = x[self.terms.lifted][:n].sum()
        return RoundAnswer(P, float(q @ x), float(trace - np.sum(P * P)))
