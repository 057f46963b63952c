"""Every solver on random problems, against optima from cvxpy and Clarabel."""

import numpy as np
import pytest
from reference.random_problems import optimum, random_problem

from counterpoise.convex import (
    ADMM,
    Conic,
    Corrective,
    FrankWolfe,
    ProjectedGradient,
    ProximalGradient,
)
from counterpoise.testing import check_problem, check_solver, feasible_points

# A solver, its budget, and whether it must reach 1e-6 on all that it accepts.
SOLVERS = {
    "frank-wolfe": (FrankWolfe("plain"), 100, False),
    "frank-wolfe armijo": (FrankWolfe("plain", "armijo"), 100, False),
    "frank-wolfe open": (FrankWolfe("plain", "open"), 100, False),
    "away": (FrankWolfe("away"), 200, False),
    "away armijo": (FrankWolfe("away", "armijo"), 200, False),
    "pairwise": (FrankWolfe("pairwise"), 200, False),
    "pairwise armijo": (FrankWolfe("pairwise", "armijo"), 200, False),
    "corrective": (Corrective(), 200, True),
    "projected gradient": (ProjectedGradient(), 2000, True),
    "proximal gradient": (ProximalGradient(), 2000, True),
    "admm": (ADMM(), 2000, False),
    "conic": (Conic(), 10, False),
}


@pytest.fixture(scope="module")
def cases():
    problems = [random_problem(seed) for seed in range(200)]
    return [(problem, optimum(problem)) for problem in problems]


@pytest.mark.parametrize("name", SOLVERS)
def test_a_solver_proves_its_answer_or_says_that_it_cannot(name, cases):
    solver, budget, must_converge = SOLVERS[name]
    accepted = 0
    for seed, (problem, best) in enumerate(cases):
        other = feasible_points(problem.domain, 3, seed)[2]
        if not np.isfinite(problem.objective.value(other)):
            other = None
        solution = check_solver(
            solver,
            problem,
            best,
            max_iter=budget,
            must_converge=must_converge,
            other_start=other,
        )
        accepted += solution is not None
    assert accepted >= 50


def test_the_gap_is_never_smaller_than_the_excess(cases):
    points = 0
    for seed, (problem, best) in enumerate(cases[:100]):
        where = feasible_points(problem.domain, 6, seed)
        check_problem(problem, best, where)
        points += len(where)
    assert points >= 500
