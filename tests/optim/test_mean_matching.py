"""Means brought together: what is proved, and the interior point that does it."""

import cvxpy as cp
import numpy as np
import pytest

from counterpoise.linalg.cholesky import pivoted_cholesky
from counterpoise.linalg.kernels import Kernel
from counterpoise.optim import (
    CappedSimplex,
    Constrained,
    FrankWolfe,
    InteriorPoint,
    MeanMatching,
    ProjectedGradient,
    ProximalGradient,
    Quadratic,
    Simplex,
    SolverMismatchError,
    solve,
)
from counterpoise.optim.objectives import FactoredDistance, KernelDistance
from counterpoise.testing import check_objective, check_problem, check_solver

CASES = [
    # n, m, d, largest weight, slack, ridge
    (30, 20, 1, 1000.0, 0.0, 1.0),
    (30, 20, 1, 1000.0, 0.0, 0.0),
    (30, 20, 2, 2.0, 0.0, 0.1),
    (30, 20, 2, 1.1, 0.05, 0.01),
    (30, 20, 3, 3.0, 0.5, 1.0),
    (30, 20, 3, 1.5, 1.0, 0.0),
]


def samples(n, m, d, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), 0.7 + 0.8 * rng.normal(size=(m, d))


def both(case, seed=0, max_rank=500):
    """The problem with the whole kernel, and on a factor of it."""
    n, m, d, bound, slack, rho = case
    X, T = samples(n, m, d, seed)
    share = np.random.default_rng(seed).dirichlet(np.full(n, 5.0))
    ridge = rho / (n * share)
    domain = CappedSimplex(n, bound * share, 1.0, slack)
    kernel = Kernel("rbf", 0.5)
    whole = KernelDistance(
        kernel.matrix(X, X),
        kernel.matrix(X, T).mean(axis=1),
        kernel.matrix(T, T).mean(),
        ridge,
    )
    factor, _, residual = pivoted_cholesky(np.concatenate([X, T]), 0.5, 1e-12, max_rank)
    within = FactoredDistance(factor[:, :n], factor[:, n:].mean(axis=1), ridge)
    outside = float(np.sqrt(residual[n:]).mean())
    scale = whole.value(share)
    return (
        MeanMatching(whole, domain, scale),
        MeanMatching(within, domain, scale, residual[:n], outside),
    )


def optimum(problem):
    """The least value by Clarabel, with the whole kernel."""
    f, domain = problem.objective, problem.domain
    x = cp.Variable(domain.size)
    K = f.K + 1e-14 * np.eye(domain.size)
    value = cp.quad_form(x, cp.psd_wrap(K)) - 2.0 * f.kappa @ x + f.constant
    value += cp.sum_squares(cp.multiply(np.sqrt(f.ridge), x))
    sums = [cp.sum(x) <= 1.0 + domain.slack, cp.sum(x) >= 1.0 - domain.slack]
    program = cp.Problem(cp.Minimize(value), [x >= 0.0, x <= domain.caps, *sums])
    accuracy = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
    program.solve(cp.CLARABEL, **accuracy)
    return program.value


def points(problem, count=5, seed=0):
    rng = np.random.default_rng(seed)
    n = problem.domain.size
    return np.array(
        [problem.domain.project(rng.dirichlet(np.ones(n))) for _ in range(count)]
    )


@pytest.mark.parametrize("case", CASES)
def test_both_forms_of_the_distance_are_objectives_and_agree(case):
    whole, within = both(case)
    for problem in (whole, within):
        check_objective(problem.objective, points(problem, 4))
    for x in points(whole):
        apart = abs(whole.objective.value(x) - within.objective.value(x))
        assert apart <= within.error(x) + 1e-13


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("max_rank", [500, 6, 2])
def test_no_certificate_claims_more_than_is_true_even_with_the_rank_capped(
    case, max_rank
):
    whole, within = both(case, max_rank=max_rank)
    best = optimum(whole)
    check_problem(whole, best, points(whole))
    check_problem(within, best, points(within))


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_on_a_capped_factor_holds_against_the_whole_kernel(seed):
    case = CASES[seed % len(CASES)]
    for max_rank in (1, 3, 8, 15):
        whole, within = both(case, seed, max_rank)
        x = solve(
            MeanMatching(within.objective, within.domain, within.scale),
            InteriorPoint(),
            tol=1e-9,
            max_iter=100,
        ).x
        proof, truth = within.certify(x), whole.objective.value(x)
        assert truth <= proof.objective + 1e-12
        assert within.objective.value(x) <= truth + 1e-12
        assert proof.bound <= optimum(whole) + 1e-9
        assert proof.gap >= whole.certify(x).objective - optimum(whole) - 1e-9


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("form", [0, 1])
def test_the_interior_point_finds_the_optimum_of_clarabel(case, form):
    problem = both(case)[form]
    best = optimum(both(case)[0])
    solution = check_solver(
        InteriorPoint(),
        problem,
        best,
        tol=1e-8,
        max_iter=60,
        must_converge=True,
        other_start=points(problem, 1, seed=3)[0],
    )
    assert solution is not None
    assert solution.n_iter <= 30
    assert problem.domain.infeasibility(solution.x) <= 1e-12
    assert abs(solution.certificate.objective - best) <= 1e-7 * problem.scale


@pytest.mark.parametrize(
    "solver", [ProximalGradient(), ProjectedGradient(), FrankWolfe("pairwise")]
)
def test_other_solvers_accept_the_problem_and_agree(solver):
    for form in both(CASES[2]):
        check_solver(
            solver, form, optimum(both(CASES[2])[0]), tol=1e-4, must_converge=True
        )


def test_the_interior_point_leaves_true_zeros_and_full_caps():
    problem = both((60, 40, 1, 2.0, 0.0, 0.001))[1]
    x = solve(problem, InteriorPoint(), tol=1e-10).x
    assert (x == 0.0).sum() > 5
    assert (x == problem.domain.caps).sum() > 5


def test_the_optimality_conditions_hold_to_rounding():
    problem = both((200, 150, 2, 5.0, 0.0, 1.0))[1]
    x = solve(problem, InteriorPoint(), tol=1e-9).x
    gradient = problem.objective.gradient(x)
    free = (x > 0.0) & (x < problem.domain.caps)
    level = gradient[free].mean()
    assert np.ptp(gradient[free]) <= 1e-12
    assert (gradient[x == 0.0] >= level - 1e-12).all()
    assert (gradient[x == problem.domain.caps] <= level + 1e-12).all()


@pytest.mark.parametrize(("size", "total"), [(0.9, 0.98), (1.03, None), (1.2, 1.02)])
def test_a_sum_with_slack_ends_on_its_bound_or_with_no_multiplier(size, total):
    problem = both((60, 40, 2, 4.0, 0.02, 0.5))[1]
    f = problem.objective
    problem = MeanMatching(FactoredDistance(f.A, size * f.b, f.ridge), problem.domain)
    x = solve(problem, InteriorPoint(), tol=1e-12).x
    gradient = problem.objective.gradient(x)
    free = (x > 0.0) & (x < problem.domain.caps)
    assert np.ptp(gradient[free]) <= 1e-12
    if total is None:
        assert 0.981 < x.sum() < 1.019
        assert abs(gradient[free].mean()) <= 1e-12
    else:
        assert x.sum() == pytest.approx(total, abs=1e-14)
        assert np.sign(gradient[free].mean()) == np.sign(1.0 - total)


def test_a_start_at_the_optimum_of_a_neighbor_saves_steps():
    problem = both((400, 300, 2, 1000.0, 0.0, 0.1))[1]
    near = both((400, 300, 2, 1000.0, 0.0, 0.12))[1]
    x = solve(near, InteriorPoint(), tol=1e-9).x
    warm = solve(problem, InteriorPoint(), x, tol=1e-9)
    assert warm.converged
    assert warm.n_iter < solve(problem, InteriorPoint(), tol=1e-9).n_iter


@pytest.mark.parametrize(("bound", "slack"), [(1.0, 0.4), (1.01, 0.01), (2.0, 0.5)])
def test_a_start_on_caps_and_on_the_sum_is_brought_inside(bound, slack):
    problem = both((60, 40, 1, bound, slack, 0.1))[1]
    x = solve(problem, InteriorPoint(), tol=1e-9).x
    again = solve(both((60, 40, 1, bound, slack, 0.01))[1], InteriorPoint(), x)
    assert again.converged
    assert 0 < again.n_iter < 20


def test_caps_that_leave_a_single_point_are_an_answer():
    problem = both((30, 20, 1, 1.0, 0.0, 1.0))[1]
    solution = solve(problem, InteriorPoint(), tol=1e-9)
    assert solution.converged
    np.testing.assert_allclose(solution.x, problem.domain.caps, rtol=1e-12)


def test_a_gap_out_of_reach_ends_the_search_and_is_said():
    problem = both(CASES[0], max_rank=2)[1]
    solution = solve(problem, InteriorPoint(), tol=1e-12, max_iter=200)
    assert not solution.converged
    assert solution.n_iter < 200
    assert solution.certificate.gap > 1e-6


def test_the_interior_point_refuses_what_it_cannot_solve():
    domain = CappedSimplex(2, 1.0)
    with pytest.raises(SolverMismatchError, match="no `newton`"):
        solve(Constrained(Quadratic(np.eye(2), np.zeros(2)), domain), InteriorPoint())
    distance = FactoredDistance(np.eye(2), np.ones(2), np.ones(2))
    with pytest.raises(SolverMismatchError, match="no `caps`"):
        solve(MeanMatching(distance, Simplex(2)), InteriorPoint())


def test_wrong_parts_are_refused():
    with pytest.raises(ValueError, match="b must have 2"):
        FactoredDistance(np.eye(2), np.ones(3), np.ones(2))
    with pytest.raises(ValueError, match=r"K must have shape \(2, 2\)"):
        KernelDistance(np.eye(3), np.ones(2), 0.0, np.ones(2))
    with pytest.raises(ValueError, match="ridge must be non-negative"):
        KernelDistance(np.eye(2), np.ones(2), 0.0, np.array([1.0, -1.0]))
    distance = FactoredDistance(np.eye(2), np.ones(2), np.ones(2))
    with pytest.raises(ValueError, match="scale must be positive"):
        MeanMatching(distance, Simplex(2), scale=0.0)
