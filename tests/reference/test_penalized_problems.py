"""Penalized least squares against cvxpy, with certificates that never lie."""

import cvxpy as cp
import numpy as np
import pytest
from reference.random_problems import to_eleven_digits

from counterpoise.optim import (
    ADMM,
    L1,
    LeastSquares,
    Penalized,
    ProximalGradient,
    RowNorms,
)
from counterpoise.testing import check_problem, check_solver


def random_case(seed):
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(2, 12)), int(rng.integers(1, 5))
    n, m = rows * columns, int(rng.integers(5, 60))
    A = rng.standard_normal((m, n)) * np.logspace(0, -2 * (seed % 3), n)
    b = A @ rng.standard_normal(n) + 0.1 * rng.standard_normal(m)
    weight = 10.0 ** rng.uniform(-2, 0)
    penalty = L1(n, weight) if seed % 2 else RowNorms(rows, columns, weight)
    problem = Penalized(LeastSquares(A, b), penalty)
    x = cp.Variable(n)
    if seed % 2:
        norm = cp.norm1(x)
    else:
        norm = cp.sum(cp.norm2(cp.reshape(x, (rows, columns), order="C"), axis=1))
    value = cp.sum_squares(A @ x - b) / (2 * m) + weight * norm
    program = cp.Problem(cp.Minimize(value))
    to_eleven_digits(program)
    return problem, float(program.value), np.asarray(x.value)


@pytest.mark.parametrize("solver", [ProximalGradient(), ADMM()], ids=lambda s: type(s))
def test_a_penalized_solver_agrees_with_cvxpy(solver):
    for seed in range(20):
        problem, best, _ = random_case(seed)
        check_solver(solver, problem, best, max_iter=20_000, must_converge=True)


def test_the_generalized_gap_bounds_the_excess_and_closes_at_the_optimum():
    for seed in range(20):
        problem, best, x = random_case(seed)
        rng = np.random.default_rng(seed)
        points = np.array(
            [x + 10.0**-k * rng.standard_normal(x.size) for k in range(6)]
        )
        check_problem(problem, best, points)
        assert problem.certify(x).gap < 1e-3


def test_an_objective_without_a_lower_bound_cannot_be_penalized():
    from counterpoise.optim import Quadratic

    with pytest.raises(TypeError, match="Quadratic has no lower_bound"):
        Penalized(Quadratic(np.eye(2), np.zeros(2)), L1(2))
