"""Problems handed to Clarabel in conic form."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.linalg.arrays import Array
from counterpoise.optim.loop import Requirements, State
from counterpoise.optim.objectives import ConicForm
from counterpoise.optim.solvers.first_order import claimed


@dataclass(frozen=True)
class Conic:
    """The whole problem as one conic programme, solved by Clarabel in one step.

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

    @property
    def accepts(self) -> Requirements:
        """An objective in conic form over a polyhedron."""
        return Requirements(
            objective=("value", "gradient", "conic"), domain=("polyhedron", "project")
        )

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state."""
        return self._state(problem, problem.start() if x is None else x, False)

    def step(self, problem: Any, state: State) -> State:
        """Return the answer of Clarabel; there is no second step."""
        form = over_polyhedron(problem.objective.conic(), problem.domain.polyhedron())
        x = solve_conic(form, self.accuracy, self.max_seconds)[: problem.domain.size]
        if not np.isfinite(x).all():
            return State(state.x, state.claim, stalled=True)
        return self._state(problem, problem.domain.project(x), True)

    @staticmethod
    def _state(problem: Any, x: Array, last: bool) -> State:
        _, _, claim = claimed(problem, x)
        return State(x, claim, stalled=last)


def over_polyhedron(
    form: ConicForm, polyhedron: tuple[Any, Array, Any, Array]
) -> ConicForm:
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
        form.constant,
    )


def solve_conic(
    form: ConicForm, accuracy: float, max_seconds: float = math.inf
) -> Array:
    """Return the variables of a conic form at Clarabel's optimum."""
    import clarabel

    kinds = {
        "zero": clarabel.ZeroConeT,
        "nonnegative": clarabel.NonnegativeConeT,
        "exponential": lambda size: clarabel.ExponentialConeT(),
    }
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.time_limit = max_seconds
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = accuracy
    answer = clarabel.DefaultSolver(
        sparse.triu(form.P, format="csc"),
        form.q,
        form.A,
        form.b,
        [kinds[name](size) for name, size in form.cones],
        settings,
    ).solve()
    return np.asarray(answer.x, dtype=float)
