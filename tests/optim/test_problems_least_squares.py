"""What is provable about the quadratics of ratio fitting, at any point."""

import cvxpy as cp
import numpy as np
import pytest
from reference.random_problems import to_eleven_digits
from scipy.optimize import nnls
from sklearn.metrics.pairwise import rbf_kernel

from counterpoise.optim import NonnegativeQuadratic, RidgeQuadratic, certified
from counterpoise.testing import check_problem


def gaussian_moments(seed):
    """Return H and h of Gaussian basis functions over two random samples."""
    rng = np.random.default_rng(seed)
    size, d = int(rng.integers(2, 20)), int(rng.integers(1, 4))
    source, target = rng.normal(size=(80, d)), 0.5 + rng.normal(size=(60, d))
    gamma = 10.0 ** rng.uniform(-1.5, 0.7)
    phi = rbf_kernel(source, target[:size], gamma=gamma)
    psi = rbf_kernel(target, target[:size], gamma=gamma)
    return phi.T @ phi / len(phi) + 1e-8 * np.eye(size), psi.mean(axis=0), rng


def least_over_the_orthant(H, c):
    x = cp.Variable(len(c), nonneg=True)
    root = np.linalg.cholesky(H)
    program = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(root.T @ x) - c @ x))
    to_eleven_digits(program)
    return float(program.value)


@pytest.mark.parametrize("seed", range(8))
def test_the_duality_gap_bounds_the_excess_at_any_nonnegative_point(seed):
    H, h, rng = gaussian_moments(seed)
    c = h - rng.uniform(0.0, 1.1) * h.max()
    points = rng.exponential(size=(10, len(c))) * (rng.random((10, len(c))) < 0.6)
    check_problem(
        NonnegativeQuadratic(H, c), min(least_over_the_orthant(H, c), 0.0), points
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_duality_gap_vanishes_at_the_solution_of_another_solver(seed):
    H, h, rng = gaussian_moments(seed)
    c = h - rng.uniform(0.01, 0.9) * h.max()
    root = np.linalg.cholesky(H)
    x = nnls(root.T, np.linalg.solve(root, c))[0]
    proof = NonnegativeQuadratic(H, c).certify(x)
    assert x.any()
    assert proof.gap <= 1e-9
    assert proof.infeasibility == 0.0


def test_a_distant_point_is_not_called_optimal():
    H, h, _ = gaussian_moments(3)
    assert not NonnegativeQuadratic(H, h).certify(np.ones(len(h))).holds(1e-3)


def test_a_negative_entry_is_an_infeasibility_whatever_the_gap():
    problem = NonnegativeQuadratic(np.eye(2), np.array([1.0, -1.0]))
    proof = problem.certify(np.array([1.0, -1.0]))
    assert proof.infeasibility == 1.0
    assert proof.bound <= -0.5
    assert not proof.holds(1e3)


def test_the_solution_is_zero_where_nothing_pulls():
    problem = NonnegativeQuadratic(np.ones((2, 2)), np.array([-1.0, 0.0]))
    assert problem.certify(np.zeros(2)).gap == 0.0
    assert problem.certify(np.ones(2)).gap == pytest.approx(3.0)


def test_quadratics_without_a_proof_are_refused():
    with pytest.raises(ValueError, match=r"H must be non-negative, got -0\.5"):
        NonnegativeQuadratic(np.array([[1.0, -0.5], [-0.5, 1.0]]), np.ones(2))
    with pytest.raises(ValueError, match="positive diagonal"):
        NonnegativeQuadratic(np.zeros((2, 2)), np.ones(2))
    with pytest.raises(ValueError, match="scale must be positive, got 0"):
        NonnegativeQuadratic(np.eye(2), np.ones(2), scale=0)
    with pytest.raises(ValueError, match="ridge must be positive, got 0"):
        RidgeQuadratic(np.eye(2), np.ones(2), ridge=0)


@pytest.mark.parametrize("seed", range(6))
def test_the_residual_bounds_the_excess_of_a_ridge_problem(seed):
    H, h, rng = gaussian_moments(seed)
    ridge = 10.0 ** rng.uniform(-3, 1)
    system = H + ridge * np.eye(len(h))
    solution = np.linalg.solve(system, h)
    optimum = -0.5 * float(h @ solution)
    check_problem(RidgeQuadratic(H, h, ridge), optimum, rng.normal(size=(10, len(h))))
    exact = certified(RidgeQuadratic(H, h, ridge), solution, 1e-12)
    assert exact.converged
    assert exact.certificate.kind == "closed form, then clipped"


def test_the_ridge_bound_is_exact_where_there_is_nothing_but_the_ridge():
    problem = RidgeQuadratic(np.zeros((2, 2)), np.array([2.0, 0.0]), ridge=4.0)
    proof = problem.certify(np.array([1.0, 1.0]))
    assert proof.gap == pytest.approx(proof.objective + 0.5, abs=1e-15)
