"""Log-linear density ratios: the proof, Newton's method, and EM."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from counterpoise.optim import (
    ExpectationMaximization,
    LogLinearMixture,
    LogLinearRatio,
    Newton,
    SolverMismatchError,
    solve,
)
from counterpoise.optim.likelihoods import TiltedLikelihood
from counterpoise.testing import check_objective, check_problem, check_solver


def ratio(seed=0, n=60, p=4, ridge=1e-2, shift=0.7):
    rng = np.random.default_rng(seed)
    S = rng.standard_normal((n, p))
    shares = rng.dirichlet(np.full(n, 2.0))
    mean = S.mean(axis=0) + shift * rng.standard_normal(p) / np.sqrt(p)
    return LogLinearRatio(S, mean, shares, ridge)


def mixture(seed=0, n=80, m=70, p=2, k=2, ridge=1e-2):
    rng = np.random.default_rng(seed)
    S = rng.standard_normal((n, p))
    T = 0.5 * rng.standard_normal((m, p)) + 1.5 * rng.choice([-1.0, 1.0], (m, 1))
    shares = rng.dirichlet(np.full(n, 2.0)), rng.dirichlet(np.full(m, 2.0))
    return LogLinearMixture(S, T, *shares, k, ridge)


def optimum_of(problem):
    x = cp.Variable(problem.mean.size)
    likelihood = cp.log_sum_exp(problem.statistics @ x + np.log(problem.shares))
    ridge = 0.5 * problem.ridge * cp.sum_squares(x)
    value = cp.Problem(cp.Minimize(likelihood - problem.mean @ x + ridge))
    return float(value.solve(solver="CLARABEL")), x.value


def test_the_objective_its_gradient_and_its_image_agree():
    problem = ratio()
    points = np.random.default_rng(1).standard_normal((5, 4))
    check_objective(problem.objective, points)


def test_the_hessian_is_that_of_differences_and_of_products():
    objective = ratio(n=30).objective
    x = np.random.default_rng(1).standard_normal(4)
    step = 1e-5 * np.eye(4)
    slopes = [
        (objective.gradient(x + e) - objective.gradient(x - e)) / 2e-5 for e in step
    ]
    H = objective.evaluate(x).hessian()
    np.testing.assert_allclose(H, np.array(slopes), atol=1e-8)
    product = objective.evaluate(x).hessian_product
    columns = np.column_stack([product(e) for e in np.eye(4)])
    np.testing.assert_allclose(columns, H, atol=1e-13)


def test_sparse_statistics_give_the_hessian_of_dense_ones():
    dense = ratio(n=40).objective
    S = np.where(np.abs(dense.statistics) > 0.5, dense.statistics, 0.0)
    x = np.random.default_rng(1).standard_normal(4)
    of = [
        TiltedLikelihood(form, dense.mean, dense.shares, 0.1)
        for form in (S, sparse.csr_array(S))
    ]
    dense_hessian, sparse_hessian = (one.evaluate(x).hessian() for one in of)
    np.testing.assert_allclose(sparse_hessian, dense_hessian, atol=1e-13)
    np.testing.assert_allclose(of[1].gradient(x), of[0].gradient(x), atol=1e-13)


@pytest.mark.parametrize("ridge", [1e-3, 1e-2, 1.0])
@pytest.mark.parametrize("seed", range(2))
def test_the_gap_bounds_the_excess_over_the_optimum_of_clarabel(seed, ridge):
    problem = ratio(seed, ridge=ridge)
    optimum, x = optimum_of(problem)
    rng = np.random.default_rng(seed)
    near = x + rng.standard_normal((10, 4)) * np.logspace(-6, 1, 10)[:, None]
    check_problem(problem, optimum, near)


def test_the_newton_decrement_is_the_excess_to_second_order():
    problem = ratio()
    optimum, x = optimum_of(problem)
    proof = problem.certify(x + 1e-2)
    assert proof.residual == pytest.approx(proof.objective - optimum, rel=0.05)
    assert proof.residual < proof.gap


@pytest.mark.parametrize("direct", [500, 0])
@pytest.mark.parametrize("shift", [0.3, 3.0])
def test_newton_reaches_the_optimum_written_out_or_by_products(direct, shift):
    for seed in range(5):
        problem = ratio(seed, shift=shift)
        optimum, _ = optimum_of(problem)
        check_solver(
            Newton(direct=direct),
            problem,
            optimum,
            tol=1e-9,
            max_iter=100,
            must_converge=True,
            other_start=np.random.default_rng(seed).standard_normal(4),
        )


def test_newton_needs_few_steps_and_never_goes_up():
    solution = solve(ratio(shift=2.0), Newton(), tol=1e-12)
    values = [line.objective for line in solution.history]
    assert solution.converged
    assert solution.n_iter <= 12
    assert np.all(np.diff(values) <= 1e-15)


def test_newton_at_the_optimum_stalls_and_does_not_wander():
    problem = ratio()
    solution = solve(problem, Newton(), tol=1e-40, max_iter=200)
    assert not solution.converged
    assert solution.n_iter < 30
    assert solution.certificate.gap < 1e-24


def test_newton_refuses_what_has_no_hessian():
    with pytest.raises(SolverMismatchError, match="has no `hessian`"):
        solve(mixture(), Newton())


def test_a_ridge_that_is_not_positive_is_refused():
    with pytest.raises(ValueError, match=r"ridge must be positive, got 0\.0"):
        ratio(ridge=0.0)
    with pytest.raises(ValueError, match="ridge must be positive"):
        mixture(ridge=-1.0)


def test_the_gradient_of_a_mixture_is_that_of_differences():
    problem = mixture(k=3)
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.dirichlet(np.ones(3)), rng.standard_normal(6)])
    gradient = problem.objective.gradient(x)
    step = 1e-6 * np.eye(x.size)
    slopes = [
        (problem.objective.value(x + e) - problem.objective.value(x - e)) / 2e-6
        for e in step
    ]
    np.testing.assert_allclose(gradient, slopes, atol=1e-7)


def test_the_slopes_of_the_proportions_average_to_one():
    problem = mixture(k=3)
    x = problem.start()
    assert -problem.objective.gradient(x)[:3] @ x[:3] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("k", [2, 3])
def test_em_never_goes_up_and_ends_where_nothing_small_helps(k):
    problem = mixture(k=k)
    solution = solve(problem, ExpectationMaximization(), tol=1e-9, max_iter=3000)
    values = np.array([line.objective for line in solution.history])
    assert solution.converged
    assert solution.certificate.kind == "stationarity"
    assert solution.certificate.gap == np.inf
    assert np.diff(values).max() <= 0.0
    assert values[0] - values[-1] > 0.1


def test_em_ends_in_a_minimum_of_scipy():
    problem = mixture()
    x = solve(problem, ExpectationMaximization(), tol=1e-10, max_iter=3000).x
    found = problem.objective.value(x)

    def free(z):
        shares = np.exp(z[:2] - z[:2].max())
        return problem.objective.value(np.concatenate([shares / shares.sum(), z[2:]]))

    start = np.concatenate([np.log(x[:2]), x[2:]])
    for seed in range(3):
        nudge = 0.05 * np.random.default_rng(seed).standard_normal(start.size)
        again = minimize(free, start + nudge, method="BFGS", options={"gtol": 1e-7})
        assert again.fun == pytest.approx(found, abs=1e-7)


def test_a_mixture_is_no_worse_than_one_component():
    two = mixture()
    one = LogLinearRatio(
        two.statistics, two.shares_target @ two.statistics_target, two.shares, two.ridge
    )
    single = solve(one, Newton()).certificate.objective
    both = solve(two, ExpectationMaximization()).certificate.objective
    assert both < single - 0.2


def test_shares_that_do_not_sum_to_one_are_no_answer():
    problem = mixture()
    x = problem.start()
    x[:2] *= 1.1
    assert problem.certify(x).infeasibility == pytest.approx(0.1)
    assert not problem.certify(x).holds(1e3)


def test_the_residual_of_a_mixture_sees_a_component_that_should_come():
    problem = mixture()
    best = solve(problem, ExpectationMaximization(), tol=1e-9, max_iter=3000).x
    assert problem.certify(best).residual < 1e-8
    single = LogLinearRatio(
        problem.statistics,
        problem.shares_target @ problem.statistics_target,
        problem.shares,
        problem.ridge,
    )
    # The best single component, beside one of share zero that would help.
    alone = solve(single, Newton(), tol=1e-12).x
    x = np.concatenate([[1.0, 0.0], alone, best[4:]])
    slopes = problem.objective.gradient(x)[2:]
    assert slopes @ slopes / (2 * problem.ridge) < 0.1
    assert problem.certify(x).residual > 0.3


def test_em_does_not_follow_an_extrapolation_uphill():
    taken = 0
    for seed in range(12):
        problem = mixture(seed, k=3, p=1)
        solution = solve(problem, ExpectationMaximization(), tol=1e-9, max_iter=300)
        values = np.array([line.objective for line in solution.history])
        assert np.diff(values).max() <= 1e-13
        counts = solution.history[-1].counts
        taken += solution.n_iter - counts["extrapolations"]
    # Some were no good and not taken.
    assert taken > 0


def test_em_stops_where_rounding_ends_its_gains():
    solution = solve(mixture(), ExpectationMaximization(), tol=1e-30, max_iter=1000)
    assert not solution.converged
    assert solution.n_iter < 300
    assert solution.certificate.residual < 1e-9
