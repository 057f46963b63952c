"""Ways to search: a file a method, each judged by the problem's own proof."""

from typing import Any

from counterpoise.convex.loop import Solver
from counterpoise.convex.requirements import SolverMismatchError
from counterpoise.convex.solvers.admm import ADMM
from counterpoise.convex.solvers.conic import Conic
from counterpoise.convex.solvers.corrective import Corrective
from counterpoise.convex.solvers.frank_wolfe import FrankWolfe
from counterpoise.convex.solvers.interior_point import InteriorPoint
from counterpoise.convex.solvers.newton import ExpectationMaximization, Newton
from counterpoise.convex.solvers.partial_pricing import PartialPricing
from counterpoise.convex.solvers.projected_gradient import ProjectedGradient
from counterpoise.convex.solvers.proximal_gradient import ProximalGradient

__all__ = [
    "ADMM",
    "Conic",
    "Corrective",
    "ExpectationMaximization",
    "FrankWolfe",
    "InteriorPoint",
    "Newton",
    "PartialPricing",
    "ProjectedGradient",
    "ProximalGradient",
    "default_solver",
]


def default_solver(problem: Any) -> Solver:
    """Return the solver to begin with.

    Corrective over the simplex, which is best where few of many coordinates are used
    (ProjectedGradient is where hundreds are); else ProjectedGradient or
    ProximalGradient. A sparse assignment has a method of its own, ProximalADMM.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.convex import Constrained, Quadratic, Simplex
    >>> from counterpoise.convex import default_solver
    >>> problem = Constrained(Quadratic(np.eye(3), np.zeros(3)), Simplex(3))
    >>> type(default_solver(problem)).__name__
    'Corrective'
    """
    from counterpoise.convex.assignment.solvers import ProximalADMM

    candidates: tuple[Solver, ...] = (
        ProximalADMM(),
        Corrective(),
        ProjectedGradient(),
        ProximalGradient(),
    )
    for solver in candidates:
        if not solver.accepts.lacking(problem):
            return solver
    raise SolverMismatchError(
        "ProximalGradient, which takes most,",
        problem,
        candidates[-1].accepts.lacking(problem),
    )
