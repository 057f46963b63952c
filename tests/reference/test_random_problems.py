"""Every solver on random problems, against optima from cvxpy and Clarabel."""

import numpy as np
import pytest
from reference.random_problems import optimum, random_problem
from reference.solver_settings import solver_settings

from counterpoise.testing import check_problem, check_solver, feasible_points

# Of every registered solver of the general family: those that take a simple set.
SOLVERS = {
    name: setting
    for name, setting in solver_settings("general").items()
    if name not in ("newton", "expectation maximization", "interior point")
}


@pytest.fixture(scope="module")
def cases():
    problems = [random_problem(seed) for seed in range(200)]
    return [(problem, optimum(problem)) for problem in problems]


@pytest.mark.parametrize("name", SOLVERS)
def test_a_solver_proves_its_answer_or_says_that_it_cannot(name, cases):
    setting, accepted = SOLVERS[name], 0
    for seed, (problem, best) in enumerate(cases):
        other = feasible_points(problem.domain, 3, seed)[2]
        if not np.isfinite(problem.objective.value(other)):
            other = None
        solution = check_solver(
            setting.make(problem),
            problem,
            best,
            max_iter=setting.steps,
            must_converge=setting.sure,
            other_start=other,
        )
        accepted += solution is not None
    assert accepted >= (5 if name == "partial pricing" else 50)


def test_the_gap_is_never_smaller_than_the_excess(cases):
    points = 0
    for seed, (problem, best) in enumerate(cases[:100]):
        where = feasible_points(problem.domain, 6, seed)
        check_problem(problem, best, where)
        points += len(where)
    assert points >= 500
