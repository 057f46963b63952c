"""Subgradient steps: their averages prove, with caps and spreads as well."""

import numpy as np
import pytest
from optim.spectral.random_moments import (
    optimum,
    random_problem,
    thesis_samples,
)

from counterpoise.optim import Discrepancy, SpectralSubgradient, solve
from counterpoise.optim.spectral import published as subgradient


@pytest.mark.parametrize("kind", ["entropic", "polyak"])
@pytest.mark.parametrize("options", [{}, {"cap": 0.2}, {"spread": 0.1}])
def test_it_reaches_the_optimum_and_proves_it(kind, options):
    problem = random_problem(3, **options)
    solution = solve(problem, SpectralSubgradient(kind), tol=1e-2, max_iter=2000)
    assert solution.converged, solution
    best = optimum(problem)
    assert solution.certificate.bound <= best * (1 + 1e-7)
    assert best * (1 - 1e-7) <= solution.certificate.objective <= 1.01 * best
    assert problem.domain.infeasibility(solution.x) <= 1e-12


def test_lanczos_walks_as_all_eigenvectors_do(monkeypatch):
    problem = Discrepancy.of(*thesis_samples(20, 60, 70))
    solver = SpectralSubgradient()
    lanczos = solve(problem, solver, tol=1e-2, max_iter=500)
    monkeypatch.setattr(subgradient, "DENSE", 1000)
    dense = solve(problem, solver, tol=1e-2, max_iter=500)
    assert lanczos.converged
    assert dense.converged
    assert lanczos.certificate.objective >= dense.certificate.bound
    assert dense.certificate.objective >= lanczos.certificate.bound


def test_the_extreme_vector_is_that_of_the_largest_modulus():
    problem = Discrepancy.of(*thesis_samples(20, 60, 70))
    z = problem.start()
    near = np.ones(70) / np.sqrt(70)
    value, v = subgradient._extreme(problem, z, near)
    assert abs(value) == pytest.approx(problem.norm(z), rel=1e-3)
    assert v @ problem.operator(z) @ v == pytest.approx(value, rel=1e-3)


def test_the_point_within_the_cap_is_nearest_in_entropy():
    rng = np.random.default_rng(0)
    y = rng.dirichlet(np.full(9, 0.3))
    z = subgradient._within_the_cap(y, 0.3)
    assert z.sum() == pytest.approx(1.0, abs=1e-12)
    assert z.max() <= 0.3 + 1e-15
    free = z < 0.3
    assert np.ptp((z / y)[free]) <= 1e-12 * (z / y)[free].max()
    assert ((z / y)[~free] <= (z / y)[free].max() * (1 + 1e-12)).all()
    np.testing.assert_allclose(subgradient._within_the_cap(y, None), y)


def test_one_row_needs_no_step():
    problem = Discrepancy(np.array([[2.0, 0.0]]), np.diag([1.0, 1.0]))
    solution = solve(problem, SpectralSubgradient(), tol=1e-9)
    assert solution.certificate.objective == pytest.approx(3.0)
    assert solution.converged


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "steepest"}, "'entropic' or 'polyak', got 'steepest'"),
        ({"every": 0}, "at least 1, got 0"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        SpectralSubgradient(**options)
