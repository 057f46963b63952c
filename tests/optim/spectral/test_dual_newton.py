"""Newton steps on the dual, against Clarabel, differences and the other solvers."""

import numpy as np
import pytest
from optim.spectral.random_moments import optimum, random_problem

from counterpoise import DiscrepancyWeights
from counterpoise.optim import (
    ColumnGeneration,
    Discrepancy,
    DualNewton,
    Fallback,
    SolverMismatchError,
    solve,
)
from counterpoise.optim.spectral.choice import best_solver
from counterpoise.optim.spectral.dual_newton import (
    DualPoint,
    FreeRows,
    newton_point,
    project_nuclear,
    to_matrix,
    to_vector,
)


def two_samples(n=600, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X, T = rng.standard_normal((n, d)), 0.9 * rng.standard_normal((n, d)) + 0.3
    return np.column_stack([X, np.ones(n)]), np.column_stack([T, np.ones(n)])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("cap", [None, 2.0], ids=["no cap", "cap"])
def test_the_optimum_is_that_of_clarabel(seed, cap):
    cap = None if cap is None else cap / random_problem(seed).size
    problem = random_problem(seed, spread=0.1, cap=cap)
    best = optimum(problem)
    found = solve(problem, DualNewton(), tol=1e-5, max_iter=60)
    rounding = 1e-6 * best + 1e-7 * problem.uniform_value
    assert found.converged, found
    assert found.certificate.bound <= best + rounding
    assert found.certificate.objective >= best - rounding
    assert problem.domain.infeasibility(found.x) <= 1e-9


def test_gradient_and_curvature_are_those_of_the_bound():
    problem = Discrepancy.of(*two_samples(), spread=0.2)
    rng = np.random.default_rng(1)
    form, away = (project_nuclear(A + A.T) for A in rng.standard_normal((2, 5, 5)))
    form *= 0.3
    here = DualPoint.at(problem, form)
    curvature = FreeRows.of(problem.rows[here.z > 0]).curvature(problem.bend)
    step = 1e-4 * away
    there, back = (DualPoint.at(problem, form + s * step) for s in (1.0, -1.0))
    slope = 0.5 * (there.bound - back.bound)
    assert np.sum(here.gradient * step) == pytest.approx(slope, rel=1e-5)
    bent = to_vector(step) @ curvature @ to_vector(step)
    change = np.sum((back.gradient - there.gradient) * step) / 2
    assert bent == pytest.approx(change, rel=1e-2)


def test_a_newton_point_is_the_best_of_the_model_in_the_ball():
    rng = np.random.default_rng(2)
    A = rng.standard_normal((10, 10))
    curvature, gradient = A @ A.T, rng.standard_normal((4, 4))
    gradient = gradient + gradient.T
    form = np.zeros((4, 4))

    def model(Y):
        v = to_vector(Y - form)
        return to_vector(gradient) @ v - 0.5 * v @ curvature @ v

    found = newton_point(form, gradient, curvature)
    assert np.abs(np.linalg.eigvalsh(found)).sum() <= 1 + 1e-9
    for _ in range(200):
        B = rng.standard_normal((4, 4))
        other = project_nuclear(found + 0.1 * (B + B.T))
        assert model(other) <= model(found) + 1e-9


def test_vectors_have_the_inner_products_of_their_matrices():
    A, B = (M + M.T for M in np.random.default_rng(3).standard_normal((2, 4, 4)))
    assert to_vector(A) @ to_vector(B) == pytest.approx(np.sum(A * B))
    assert to_matrix(to_vector(A), 4) == pytest.approx(A)


def test_many_columns_are_refused_before_anything_is_stored():
    rng = np.random.default_rng(0)
    problem = Discrepancy.of(*rng.standard_normal((2, 80, 61)), spread=0.1)
    with pytest.raises(ValueError, match=r"60 columns at most, got 61: .* 1891 by"):
        solve(problem, DualNewton())


def test_without_a_spread_it_says_what_it_needs():
    with pytest.raises(SolverMismatchError, match="a spread above zero is needed"):
        solve(random_problem(3), DualNewton())


def test_the_weights_of_many_rows_are_those_of_column_generation():
    X, T = two_samples(3500, 3)
    found = DiscrepancyWeights(tol=1e-6).fit(X[:, :-1], X_target=T[:, :-1])
    other = DiscrepancyWeights(tol=1e-6, solver="column-generation")
    other.fit(X[:, :-1], X_target=T[:, :-1])
    assert found.solution_.converged
    values = [one.solution_.certificate.objective for one in (found, other)]
    assert values[0] == pytest.approx(values[1], rel=2e-6)
    assert np.abs(found.weights_ - other.weights_).max() <= 0.02


def test_where_the_dual_is_ill_conditioned_another_method_takes_over():
    problem = Discrepancy.of(*two_samples(400, 6), spread=1e-6)
    assert not solve(problem, DualNewton(), tol=1e-6, max_iter=8).converged
    both = Fallback(DualNewton(), ColumnGeneration(), 8)
    found = solve(problem, both, tol=1e-6, max_iter=300)
    assert found.converged
    assert found.n_iter > 8


def test_the_choice_of_a_problem_goes_by_its_spread():
    X, T = two_samples(3200, 2)
    assert isinstance(best_solver(Discrepancy.of(X, T, spread=0.01)), Fallback)
    assert isinstance(best_solver(Discrepancy.of(X, T)), ColumnGeneration)
