"""Problems handed to Clarabel in conic form."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy import sparse

from counterpoise.linalg.arrays import Array
from counterpoise.optim.certificate import DomainProblem
from counterpoise.optim.loop import Requirements, State
from counterpoise.optim.objectives import ConicForm
from counterpoise.optim.sets import Polyhedron


@dataclass(frozen=True)
class Conic:
    """The whole problem as one conic program, solved by Clarabel in one step.

    The answer is projected onto the domain before it is judged, because an
    interior-point method meets its constraints up to its tolerance only. The one step
    cannot be cut short by a time budget, except by `max_seconds`.

    Parameters
    ----------
    accuracy : float
        Clarabel's own tolerance on gap and feasibility.
    max_seconds : float
        Clarabel's own time limit.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import MixtureLikelihood, Conic, solve
    >>> problem = MixtureLikelihood(np.random.default_rng(0).random((20, 4)) + 0.1)
    >>> solve(problem, Conic(), tol=1e-4).converged
    True
    """

    accuracy: float = 1e-12
    max_seconds: float = math.inf

    accepts: ClassVar[Requirements] = Requirements(
        objective=("evaluate", "conic"), domain=("polyhedron", "project")
    )

    def begin(self, problem: DomainProblem, x: Array | None) -> State:
        """Return the first state."""
        x = problem.start() if x is None else x
        return State(x, problem.certify(x))

    def step(self, problem: DomainProblem, state: State) -> State:
        """Return the answer of Clarabel; there is no second step."""
        form = over_polyhedron(problem.objective.conic(), problem.domain.polyhedron())
        x, _ = solve_conic(form, self.accuracy, self.max_seconds)
        x = x[: problem.domain.size]
        if not np.isfinite(x).all():
            return replace(state, stalled=True)
        x = problem.domain.project(x)
        return State(x, problem.certify(x), stalled=True)


def over_polyhedron(form: ConicForm, polyhedron: Polyhedron) -> ConicForm:
    """Return a conic form with linear constraints on its first entries added."""
    equations, right, inequalities, limits = polyhedron
    more = form.q.size - equations.shape[1]
    rows = [
        sparse.hstack(
            [sparse.csc_matrix(part), sparse.csc_matrix((part.shape[0], more))]
        )
        for part in (equations, inequalities)
        if part.shape[0] > 0
    ]
    cones = (("zero", right.size), ("nonnegative", limits.size), *form.cones)
    return ConicForm(
        form.P,
        form.q,
        sparse.csc_matrix(sparse.vstack([*rows, form.A])),
        np.concatenate([right, limits, form.b]),
        tuple(cone for cone in cones if cone[1] > 0),
    )


def solve_conic(
    form: ConicForm,
    accuracy: float,
    max_seconds: float = math.inf,
    presolve: bool = True,
) -> tuple[Array, Array]:
    """Return variables and multipliers of a conic form at Clarabel's optimum."""
    import clarabel

    kinds = {
        "zero": clarabel.ZeroConeT,
        "nonnegative": clarabel.NonnegativeConeT,
        "exponential": lambda size: clarabel.ExponentialConeT(),
        "semidefinite": clarabel.PSDTriangleConeT,
    }
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.time_limit = max_seconds
    settings.presolve_enable = presolve
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = accuracy
    answer = clarabel.DefaultSolver(
        sparse.triu(form.P, format="csc"),
        form.q,
        form.A,
        form.b,
        [kinds[name](size) for name, size in form.cones],
        settings,
    ).solve()
    return np.asarray(answer.x, dtype=float), np.asarray(answer.z, dtype=float)
