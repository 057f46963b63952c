"""Active-set Newton: few steps on every width, duplicates included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.random_problems import random_quadratic

from counterpoise.datasets import make_gaussian_shift
from counterpoise.linalg.kernels import Kernel, median_distance
from counterpoise.optim import (
    Constrained,
    Corrective,
    MixtureLikelihood,
    Simplex,
    solve,
)
from counterpoise.optim.likelihoods import log_line
from counterpoise.optim.solvers.corrective import simplex_quadratic


def sinc_design(sigma, seed=0):
    rng = np.random.default_rng(seed)
    source, target = 0.5 * rng.standard_normal(500), 0.3 * rng.standard_normal(300)

    def kernel(a, b):
        return np.exp(-0.5 * np.subtract.outer(a, b) ** 2 / sigma**2)

    scale = np.maximum(kernel(source, target).mean(axis=0), 1e-150)
    return kernel(target, target) / scale


@pytest.mark.parametrize("sigma", [1e-3, 1e-2, 0.03, 0.08, 0.2, 0.5, 1.0, 10.0, 100.0])
def test_six_digits_within_fifty_newton_steps_at_every_width(sigma):
    solution = solve(MixtureLikelihood(sinc_design(sigma)), Corrective())
    assert solution.converged
    assert solution.history[-1].counts.get("newton", 0) <= 50


def test_duplicated_columns_and_rows_do_no_harm():
    A = sinc_design(0.1)
    twice = np.vstack([A, A])
    single = solve(MixtureLikelihood(A), Corrective(), tol=1e-10)
    double = solve(
        MixtureLikelihood(np.hstack([twice, twice])), Corrective(), tol=1e-10
    )
    assert double.converged
    assert double.certificate.objective == pytest.approx(
        single.certificate.objective, abs=1e-9
    )


def test_a_row_weight_of_two_is_the_row_twice():
    A = sinc_design(0.1)
    weights = np.ones(300)
    weights[:50] = 2.0
    weighted = solve(MixtureLikelihood(A, weights), Corrective(), tol=1e-10)
    repeated = solve(MixtureLikelihood(np.vstack([A, A[:50]])), Corrective(), tol=1e-10)
    assert weighted.certificate.objective == pytest.approx(
        repeated.certificate.objective, abs=1e-9
    )


@pytest.mark.parametrize("condition", [1e2, 1e8, 1e14])
def test_quadratics_of_every_condition_are_solved_to_ten_digits(condition):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        problem = Constrained(random_quadratic(rng, 120, condition), Simplex(120))
        assert solve(problem, Corrective(), tol=1e-10).converged


def test_a_dense_start_is_accepted():
    problem = MixtureLikelihood(sinc_design(0.1))
    solution = solve(problem, Corrective(), np.full(300, 1 / 300), tol=1e-9)
    assert solution.converged
    assert solution.history[-1].support < 30


@pytest.mark.parametrize("d", [3, 5, 10])
@pytest.mark.parametrize("width", [0.05, 0.1, 0.2])
def test_narrow_kernels_with_few_centers_are_solved_too(d, width):
    for seed in range(3):
        shift = make_gaussian_shift(d, n=500, m=200, random_state=seed)
        centers = shift.X_target[: 20 + 50 * seed]
        gamma = 0.5 / (width * median_distance(shift.X_target)) ** 2
        kernel = Kernel("rbf", gamma)
        scale = np.maximum(kernel.matrix(shift.X, centers).mean(axis=0), 1e-300)
        A = kernel.matrix(shift.X_target, centers) / scale
        A = A[A.max(axis=1) > 0]
        assert solve(MixtureLikelihood(A), Corrective()).converged


def test_an_optimum_of_many_atoms_takes_few_steps():
    shift = make_gaussian_shift(10, n=500, m=500, random_state=0)
    gamma = 0.5 / (0.2 * median_distance(shift.X_target)) ** 2
    scale = Kernel("rbf", gamma).matrix(shift.X, shift.X_target).mean(axis=0)
    A = Kernel("rbf", gamma).matrix(shift.X_target, shift.X_target) / scale
    solution = solve(MixtureLikelihood(A), Corrective())
    assert solution.converged
    assert solution.history[-1].support > 200
    assert solution.n_iter < 20


@settings(deadline=None)  # the first call compiles
@given(st.integers(0, 10_000), st.floats(0.01, 100))
def test_the_log_line_search_finds_the_maximum(seed, limit):
    rng = np.random.default_rng(seed)
    z, q = rng.random(12) + 0.01, rng.standard_normal(12)
    weights = rng.random(12)
    step = log_line(z, q, weights, limit)
    assert 0.0 <= step <= limit
    assert (z + step * q > 0).all() or step == 0.0
    slope = float(weights @ (q / (z + step * q)))
    scale = float(weights @ np.abs(q / (z + step * q)))
    if step == 0.0:
        assert slope <= 1e-9 * scale
    elif step == limit:
        assert slope >= 0.0
    else:
        assert abs(slope) <= 1e-8 * scale


def test_the_simplex_quadratic_meets_its_optimality_conditions():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(1, 30))
        root = rng.standard_normal((int(rng.integers(1, 40)), k))
        G, h = root.T @ root, rng.standard_normal(k)
        start = np.zeros(k)
        start[int(rng.integers(k))] = 1.0
        u = simplex_quadratic(G, h, start, 1e-12, 1000)
        assert u.min() >= 0.0
        assert u.sum() == pytest.approx(1.0)
        slopes = G @ u - h
        assert slopes @ u - slopes.min() <= 1e-9 * max(1.0, np.abs(slopes).max())
