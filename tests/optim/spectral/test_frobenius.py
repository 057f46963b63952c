"""The minimizer of the Frobenius norm, and the programs that it shares."""

import cvxpy as cp
import numpy as np
import pytest
from optim.spectral.random_moments import random_problem, thesis_samples

from counterpoise.optim import (
    CappedSimplex,
    Discrepancy,
    Frobenius,
    KernelDiscrepancy,
    Simplex,
    solve,
)
from counterpoise.optim.spectral import frobenius
from counterpoise.optim.spectral.frobenius import (
    KernelSquares,
    MomentQuadratics,
    RowSquares,
    frobenius_weights,
)


def least_frobenius(problem):
    """The least norm by cvxpy, from the stacked outer products themselves."""
    z = cp.Variable(problem.size, nonneg=True)
    outer = np.stack([np.outer(x, x).ravel() for x in problem.rows], axis=1)
    unit = np.abs(outer).max()
    distance = cp.norm((problem.target_moment.ravel() - outer @ z) / unit)
    limits = [cp.sum(z) == 1]
    if problem.cap is not None:
        limits.append(z <= problem.cap)
    cp.Problem(cp.Minimize(distance), limits).solve(solver="CLARABEL")
    return unit * float(distance.value)


@pytest.mark.parametrize("options", [{}, {"cap": 0.6}])
@pytest.mark.parametrize("seed", [0, 1, 2, 5, 7])
def test_it_minimizes_the_frobenius_norm(seed, options):
    problem = random_problem(seed, **options)
    z = frobenius_weights(problem)
    assert problem.domain.infeasibility(z) <= 1e-12
    found = np.linalg.norm(problem.operator(z))
    size = np.linalg.norm(problem.target_moment)
    assert found <= least_frobenius(problem) + 2e-5 * size


def test_its_certificate_is_true_though_it_minimizes_another_norm():
    problem = random_problem(3)
    solution = solve(problem, Frobenius(), tol=1e-3)
    z = frobenius_weights(problem)
    np.testing.assert_array_equal(solution.x, z)
    assert solution.certificate.objective == pytest.approx(problem.norm(z))
    assert 0.0 <= solution.certificate.bound <= solution.certificate.objective
    assert not solution.converged


def test_it_is_the_answer_even_where_equal_weights_have_the_smaller_norm():
    rng = np.random.default_rng(0)
    for _ in range(200):
        X, T = rng.standard_normal((3, 3)), rng.standard_normal((4, 3))
        problem = Discrepancy.of(X, T)
        if problem.norm(frobenius_weights(problem)) > problem.uniform_value:
            break
    assert problem.norm(frobenius_weights(problem)) > problem.uniform_value
    found = solve(problem, Frobenius()).x
    np.testing.assert_array_equal(found, frobenius_weights(problem))


@pytest.mark.parametrize("domain", [Simplex(300), CappedSimplex(300, 0.01)])
def test_many_rows_are_solved_on_few_of_them(monkeypatch, domain):
    X, T = thesis_samples(300, 50, 6)
    problem = Discrepancy.of(X, T)
    linear = -problem.pull(problem.target_moment)
    whole = MomentQuadratics(RowSquares(X), domain).minimize(1.0, linear)
    monkeypatch.setattr(frobenius, "WHOLE", 40)

    def value(u):
        return 0.5 * np.sum((X.T @ (u[:, None] * X)) ** 2) + linear @ u

    for curvature in (RowSquares(X), KernelSquares((X @ X.T) ** 2)):
        few = MomentQuadratics(curvature, domain).minimize(1.0, linear)
        assert domain.infeasibility(few) <= 1e-12
        assert value(few) == pytest.approx(value(whole), abs=1e-7)


@pytest.mark.parametrize("cap", [None, 0.1])
def test_a_kernel_gives_the_weights_of_its_features(cap):
    X, T = thesis_samples(20, 30, 10)
    both = np.vstack([X, T])
    kernel = KernelDiscrepancy(both @ both.T, np.full(30, 1 / 30), cap=cap)
    here = solve(kernel, Frobenius(), tol=1e-3)
    there = solve(Discrepancy.of(X, T, cap=cap), Frobenius(), tol=1e-3)
    np.testing.assert_allclose(here.x, there.x, atol=1e-6)
    assert here.certificate.objective == pytest.approx(there.certificate.objective)


def test_a_spread_is_refused():
    with pytest.raises(ValueError, match=r"spread = 0\.5"):
        solve(random_problem(3, spread=0.5), Frobenius())
