"""The semidefinite program: right, refused where it is too large."""

import numpy as np
import pytest
from optim.spectral.random_moments import (
    optimum,
    random_problem,
    thesis_samples,
)

from counterpoise.optim import Discrepancy, DiscrepancySDP, solve
from counterpoise.optim.spectral.published import memory_needed


@pytest.mark.parametrize("options", [{}, {"cap": 0.6}, {"spread": 0.1}])
@pytest.mark.parametrize("seed", [0, 7])
def test_it_finds_the_optimum_of_cvxpy(seed, options):
    problem = random_problem(seed, **options)
    solution = solve(problem, DiscrepancySDP(), tol=1e-6)
    assert solution.converged, solution
    scale = solution.certificate.scale
    assert abs(solution.certificate.objective - optimum(problem)) <= 2e-6 * scale


def test_the_dual_matrix_alone_proves_the_value():
    problem = random_problem(4)
    solver = DiscrepancySDP()
    state = solver.step(problem, solver.begin(problem, None))
    assert problem.dual_value(state.hint) >= state.claim.objective * (1 - 1e-6)


def test_a_large_program_is_refused_beforehand_with_its_memory():
    problem = Discrepancy.of(*thesis_samples(100, 100, 130))
    with pytest.raises(ValueError, match=r"order 130, at most 120 .* some 8\.7 GB"):
        solve(problem, DiscrepancySDP())
    assert memory_needed(200) == pytest.approx(48e9, rel=0.02)


def test_few_rows_in_many_columns_are_few_coordinates():
    X, T = thesis_samples(4, 5, 500)
    assert solve(Discrepancy.of(X, T), DiscrepancySDP(), tol=1e-6).converged


def test_a_time_limit_leaves_a_valid_certificate():
    problem = random_problem(1)
    solution = solve(problem, DiscrepancySDP(max_seconds=0.0), tol=1e-6)
    assert not solution.converged
    assert np.isfinite(solution.x).all()
    assert solution.certificate.objective >= optimum(problem) * (1 - 1e-7)
