"""Checks for objectives, sets, problems, solvers and weight estimators."""

from counterpoise.testing.checks import (
    check_domain,
    check_objective,
    check_penalty,
    check_problem,
    check_solver,
    feasible_points,
)

__all__ = [
    "check_domain",
    "check_objective",
    "check_penalty",
    "check_problem",
    "check_solver",
    "feasible_points",
]
