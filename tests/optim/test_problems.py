"""What problems prove."""

import numpy as np
import pytest

from counterpoise.optim import (
    L1,
    Box,
    Certificate,
    Constrained,
    LeastSquares,
    MixtureLikelihood,
    NegativeMeanLog,
    Penalized,
    Quadratic,
    Simplex,
    certified,
    solve,
)


def mixture(seed=0, m=40, n=15):
    rng = np.random.default_rng(seed)
    return MixtureLikelihood(np.exp(-4.0 * rng.random((m, n))), rng.random(m) + 0.1)


def test_the_mixture_bound_is_tighter_than_the_frank_wolfe_gap():
    problem = mixture()
    generic = Constrained(problem.objective, problem.domain)
    for seed in range(20):
        x = np.random.default_rng(seed).dirichlet(np.ones(15))
        tight, loose = problem.certify(x), generic.certify(x)
        assert tight.gap < loose.gap
        assert tight.residual == pytest.approx(loose.gap, rel=1e-9)


def test_the_slopes_of_a_mixture_average_to_one():
    problem = mixture()
    x = np.random.default_rng(1).dirichlet(np.ones(15))
    assert -problem.objective.gradient(x) @ x == pytest.approx(1.0, abs=1e-12)


def test_the_start_of_a_mixture_covers_rows_that_one_column_does_not():
    far = np.exp(-0.5 * np.subtract.outer(np.arange(0.0, 400, 4), np.arange(100)) ** 2)
    problem = MixtureLikelihood(far[:25] + 0.0)
    proof = problem.certify(problem.start())
    assert np.isfinite(proof.objective)
    assert np.isfinite(proof.gap)


def test_a_row_that_no_column_reaches_is_named():
    with pytest.raises(ValueError, match="row 1 of A is zero"):
        MixtureLikelihood(np.array([[1.0, 0.5], [0.0, 0.0]]))


def test_a_row_that_does_not_count_may_be_zero():
    A = np.array([[1.0, 0.5], [0.0, 0.0]])
    problem = MixtureLikelihood(A, np.array([1.0, 0.0]))
    assert solve(problem).x.tolist() == [1.0, 0.0]


def test_an_infinite_mixture_is_refused_at_once():
    with pytest.raises(ValueError, match="got inf at row 0, column 1"):
        MixtureLikelihood(np.array([[1.0, np.inf], [3.0, 4.0]]))


def test_a_point_just_outside_that_is_better_than_the_optimum_proves_nothing():
    steep = Quadratic(np.zeros((2, 2)), np.array([1e8, 0.0]))
    problem = Constrained(steep, Box(np.zeros(2), np.ones(2)))
    proof = problem.certify(np.array([-1e-6, 0.0]))
    assert proof.objective < 0.0
    assert not proof.holds(1e-6)


def test_a_lower_bound_that_is_none_is_found_out():
    class Wrong(LeastSquares):
        lower_bound = 10.0

    problem = Penalized(Wrong(np.eye(2), np.ones(2)), L1(2))
    with pytest.raises(ValueError, match="below its lower_bound 10"):
        problem.certify(np.zeros(2))


def test_a_negative_mixture_is_refused():
    with pytest.raises(ValueError, match="A must be non-negative"):
        MixtureLikelihood(np.array([[1.0, -0.5]]))


def test_a_point_outside_the_set_is_no_answer_however_small_its_gap():
    problem = Constrained(Quadratic(np.eye(2), np.zeros(2)), Simplex(2))
    proof = problem.certify(np.zeros(2))
    assert proof.infeasibility == pytest.approx(1.0)
    assert not proof.holds(1e3)


def test_a_point_without_a_value_proves_nothing():
    problem = Constrained(NegativeMeanLog(np.eye(2)), Simplex(2))
    proof = problem.certify(np.array([1.0, 0.0]))
    assert proof.gap == np.inf
    assert proof.bound == -np.inf
    assert not proof.holds(1e3)


def test_a_closed_form_gets_the_same_proof_without_iterations():
    problem = Constrained(Quadratic(np.eye(4), np.zeros(4)), Simplex(4))
    solution = certified(problem, np.full(4, 0.25))
    assert solution.converged
    assert solution.n_iter == 0
    assert solution.certificate.gap == pytest.approx(0.0, abs=1e-15)


def test_certificates_that_bound_nothing_go_by_their_residual_or_promise_nothing():
    assert Certificate("stationarity", 1.0, residual=1e-8).holds(1e-6)
    assert not Certificate("stationarity", 1.0, residual=1e-3).holds(1e-6)
    assert not Certificate("nothing known", 1.0).holds(1e-6)
    assert Certificate("none", 1.0).holds(1e-6)


def test_the_scale_of_a_problem_is_the_unit_of_its_gap():
    Q, c = np.diag([1.0, 2.0, 3.0]), np.zeros(3)
    coarse = Constrained(Quadratic(Q, c), Simplex(3), scale=1e4)
    fine = Constrained(Quadratic(Q, c), Simplex(3))
    assert coarse.certify(coarse.start()).holds(1e-4)
    assert not fine.certify(fine.start()).holds(1e-4)
    assert solve(fine).certificate.gap <= 1e-6


def test_a_scale_that_is_not_positive_is_refused():
    with pytest.raises(ValueError, match="scale must be positive, got 0"):
        Constrained(Quadratic(np.eye(2), np.zeros(2)), Simplex(2), scale=0)
