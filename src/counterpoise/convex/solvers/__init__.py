"""Ways to search: a file a method, each judged by the problem's own proof."""

from typing import Any

from ..requirements import SolverMismatchError
from ..solve import Solver
from .admm import ADMM
from .conic import Conic
from .corrective import Corrective
from .frank_wolfe import FrankWolfe
from .projected_gradient import ProjectedGradient
from .proximal_gradient import ProximalGradient

__all__ = [
    "ADMM",
    "Conic",
    "Corrective",
    "FrankWolfe",
    "ProjectedGradient",
    "ProximalGradient",
    "default_solver",
]


def default_solver(problem: Any) -> Solver:
    """Return the fastest of our solvers that accepts the problem."""
    candidates: tuple[Solver, ...] = (
        Corrective(),
        ProjectedGradient(),
        ProximalGradient(),
    )
    for solver in candidates:
        if not solver.accepts.lacking(problem):
            return solver
    raise SolverMismatchError(
        "No solver of ours", problem, candidates[-1].accepts.lacking(problem)
    )
