"""Checks for anybody's objective, domain, penalty, problem or solver.

Each raises an `AssertionError` that says which promise is broken. A known optimum comes
from a closed form or from somebody else's solver, never from one of ours.
"""

from counterpoise.testing.domains import check_domain, feasible_points
from counterpoise.testing.objectives import check_objective
from counterpoise.testing.penalties import check_penalty
from counterpoise.testing.problems import check_problem
from counterpoise.testing.solvers import check_solver

__all__ = [
    "check_domain",
    "check_objective",
    "check_penalty",
    "check_problem",
    "check_solver",
    "feasible_points",
]
