"""Interior point, column generation and subspace against cvxpy and Clarabel."""

import numpy as np
import pytest
from optim.spectral.random_moments import (
    optimum,
    random_problem,
    thesis_samples,
)

from counterpoise.optim import (
    ColumnGeneration,
    Discrepancy,
    FeatureSubspace,
    KernelSubspace,
    RankOneInteriorPoint,
    solve,
)
from counterpoise.optim.spectral import interior_point as schur_matrix
from counterpoise.optim.spectral.choice import best_solver
from counterpoise.optim.spectral.working_set import spread_sample

SOLVERS = {
    "interior point": RankOneInteriorPoint(),
    "column generation": ColumnGeneration(first=10),
    "subspace": FeatureSubspace(joining=2),
}
every_solver = pytest.mark.parametrize("solver", SOLVERS.values(), ids=list(SOLVERS))


def few_rows_first(monkeypatch):
    """Let a dozen rows count as many, so that rows are exchanged."""
    from counterpoise.optim.spectral import working_set as first_rows

    monkeypatch.setattr(first_rows, "ALL", 10)
    monkeypatch.setattr(first_rows, "LEAST_FIRST_ROWS", 10)


def check(problem, solver, tol=1e-6):
    best = optimum(problem)
    solution = solve(problem, solver, tol=tol, max_iter=300)
    proof = solution.certificate
    rounding = 1e-6 * best + 1e-7 * problem.uniform_value
    assert proof.bound <= best + rounding
    assert proof.objective >= best - rounding
    assert proof.objective - best <= tol * proof.scale + rounding
    assert solution.converged, (solution, best)
    assert problem.domain.infeasibility(solution.x) <= 1e-9


@pytest.mark.parametrize("seed", range(10))
@every_solver
def test_the_optimum_is_that_of_clarabel(solver, seed, monkeypatch):
    few_rows_first(monkeypatch)
    check(random_problem(seed), solver)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 50))
@every_solver
def test_the_optimum_is_that_of_clarabel_on_more_problems(solver, seed, monkeypatch):
    few_rows_first(monkeypatch)
    check(random_problem(seed), solver)


@pytest.mark.parametrize("seed", range(4))
@every_solver
def test_cap_and_spread_are_those_of_clarabel(solver, seed, monkeypatch):
    few_rows_first(monkeypatch)
    m = random_problem(seed).size
    check(random_problem(seed, cap=2.0 / m), solver, tol=1e-5)
    check(random_problem(seed, spread=0.2), solver, tol=1e-5)
    check(random_problem(seed, cap=2.0 / m, spread=0.05), solver, tol=1e-5)


@every_solver
def test_one_row_needs_no_search(solver):
    problem = Discrepancy.of(np.array([[1.0, 2.0]]), np.eye(2))
    solution = solve(problem, solver)
    assert solution.converged
    assert solution.n_iter == 0
    assert solution.x == pytest.approx([1.0])


@every_solver
def test_equal_samples_need_no_search(solver):
    X = np.random.default_rng(0).normal(size=(9, 3))
    solution = solve(Discrepancy.of(X, X), solver)
    assert solution.converged
    assert solution.certificate.objective <= 1e-14
    zero = solve(Discrepancy(np.zeros((3, 2)), np.zeros((2, 2))), solver)
    assert zero.converged


@every_solver
def test_a_cap_of_equal_weights_leaves_one_point(solver):
    X, T = thesis_samples(8, 9, 4)
    solution = solve(Discrepancy.of(X, T, cap=1 / 8), solver)
    assert solution.x == pytest.approx(np.full(8, 1 / 8))
    assert solution.converged


@every_solver
def test_equal_rows_are_one_row(solver):
    X, T = np.tile([[1.0, 0.5]], (6, 1)), np.array([[0.0, 1.0]])
    solution = solve(Discrepancy.of(X, T), solver, tol=1e-9)
    M = np.outer(T[0], T[0]) - np.outer(X[0], X[0])
    assert solution.converged
    assert solution.certificate.objective == pytest.approx(np.linalg.norm(M, 2))


@every_solver
def test_a_target_among_the_source_rows_is_matched(solver):
    X, _ = thesis_samples(60, 5, 5)
    problem = Discrepancy.of(X, X[10:25])
    solution = solve(problem, solver, tol=1e-4)
    assert solution.converged
    assert solution.certificate.objective <= 1e-6 * problem.uniform_value


@every_solver
def test_one_column_has_a_closed_form(solver):
    problem = Discrepancy(np.array([[1.0], [2.0]]), np.array([[2.5]]))
    solution = solve(problem, solver, tol=1e-6)
    assert solution.x @ [1.0, 4.0] == pytest.approx(2.5, abs=1e-5)
    beyond = Discrepancy(np.array([[1.0], [2.0]]), np.array([[7.0]]))
    assert solve(beyond, solver, tol=1e-8).certificate.objective == pytest.approx(3.0)


@pytest.mark.parametrize("m", [700, 1500])
def test_rows_left_out_are_found_again(m):
    X, T = thesis_samples(m, 300, 12, seed=3)
    problem = Discrepancy.of(X, T, cap=20.0 / m, spread=1e-3)
    whole = solve(problem, RankOneInteriorPoint(), tol=1e-5)
    for solver in (ColumnGeneration(), FeatureSubspace()):
        found = solve(problem, solver, tol=1e-5)
        assert found.converged
        assert found.certificate.objective == pytest.approx(
            whole.certificate.objective, abs=2e-5 * found.certificate.scale
        )


def test_single_precision_takes_the_same_way(monkeypatch):
    X, T = thesis_samples(150, 200, 30)
    problem = Discrepancy.of(X, T)
    double = solve(problem, RankOneInteriorPoint(), tol=1e-6)
    monkeypatch.setattr(schur_matrix, "SINGLE_ROWS", 10)
    single = solve(problem, RankOneInteriorPoint(), tol=1e-6)
    assert single.converged
    assert single.n_iter <= double.n_iter + 3
    assert single.certificate.objective == pytest.approx(
        double.certificate.objective, rel=1e-6
    )


@every_solver
def test_a_budget_leaves_a_valid_proof(solver):
    X, T = thesis_samples(80, 80, 20)
    problem = Discrepancy.of(X, T)
    best = solve(problem, tol=1e-7, solver=RankOneInteriorPoint()).certificate
    short = solve(problem, solver, tol=1e-9, max_iter=3)
    assert not short.converged
    assert short.certificate.bound <= best.objective * (1 + 1e-9)
    assert short.certificate.objective >= best.bound * (1 - 1e-9)


def test_the_same_problem_gives_the_same_bytes():
    X, T = thesis_samples(700, 100, 12)
    one = solve(Discrepancy.of(X, T), FeatureSubspace(), tol=1e-3)
    two = solve(Discrepancy.of(X, T), FeatureSubspace(), tol=1e-3)
    assert one.x.tobytes() == two.x.tobytes()


def test_a_search_may_begin_elsewhere():
    X, T = thesis_samples(40, 50, 6)
    problem = Discrepancy.of(X, T)
    begin = np.eye(40)[3]
    for solver in (*SOLVERS.values(), best_solver(problem)):
        assert solve(problem, solver, begin, tol=1e-5).converged


def test_the_choice_goes_by_size():
    def chosen(m, N):
        return best_solver(Discrepancy(np.ones((m, N)), np.eye(N)))

    assert isinstance(chosen(100, 10), RankOneInteriorPoint)
    assert isinstance(chosen(100, 200), FeatureSubspace)
    assert isinstance(chosen(7000, 90), ColumnGeneration)
    assert isinstance(chosen(9000, 40), FeatureSubspace)


def test_the_spread_sample_stands_for_all():
    z = np.random.default_rng(0).exponential(size=2000) ** 2
    z /= z.sum()
    rows, stand_in = spread_sample(z, 300)
    assert abs(rows.size - 300) <= 2
    values = np.sort(np.random.default_rng(1).normal(size=2000))
    assert stand_in @ values[rows] == pytest.approx(z @ values, abs=0.02)
    assert np.isin(np.argsort(-z)[:10], rows).all()


def test_a_kernel_solver_says_what_it_needs():
    X, T = thesis_samples(10, 10, 3)
    with pytest.raises(TypeError, match="a KernelDiscrepancy is needed"):
        solve(Discrepancy.of(X, T), KernelSubspace())
