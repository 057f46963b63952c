"""The interior point whose Newton matrix is made of matrices of rank one."""

from dataclasses import dataclass

import numpy as np

from counterpoise.convex.loop import State
from counterpoise.convex.requirements import Requirements
from counterpoise.convex.spectral.discrepancy import Discrepancy
from counterpoise.convex.spectral.solvers.incumbent import Incumbent, of_moments
from counterpoise.convex.spectral.solvers.working_set import WorkingSet
from counterpoise.numerics.arrays import Array


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
    >>> from counterpoise.convex import Discrepancy, solve
    >>> rows = np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> problem = Discrepancy.of(rows, np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> solve(problem, RankOneInteriorPoint(), tol=1e-4).x.round(2)
    array([0.2, 0.8, 0. ])
    """

    @property
    def accepts(self) -> Requirements:
        """A discrepancy in features."""
        return of_moments()

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
