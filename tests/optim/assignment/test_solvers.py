"""Every solver of sparse assignments, against cvxpy and against one another."""

import numpy as np
import pytest
from optim.assignment.random_assignments import (
    graph,
    laplacian,
    optimum,
    random_assignment,
)
from reference.solver_settings import solver_settings

from counterpoise.optim import (
    ProximalADMM,
    SlackADMM,
    SolverMismatchError,
    default_solver,
    solve,
)
from counterpoise.optim.assignment.problem import Smoother, SparseAssignment
from counterpoise.optim.assignment.published import _closed_step, _kkt_step
from counterpoise.optim.assignment.solvers import Trail

SETTINGS = solver_settings("assignment")


CASES = [
    {"norm": "max", "smoothness": 0.02},
    {"norm": "max", "smoothness": 0.0},
    {"norm": "max", "smoothness": 0.02, "equal": False},
    {"norm": "euclidean", "smoothness": 0.02},
    {"norm": "euclidean", "smoothness": 0.0, "equal": False},
]


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_solver_agrees_with_cvxpy(name, case):
    setting = SETTINGS[name]
    problem = random_assignment(seed=11, **case)
    if problem.norm == "euclidean" and "slack" in name:
        with pytest.raises(ValueError, match="that of the max norm"):
            solve(problem, setting.make(problem))
        return
    best = optimum(problem)

    def look(progress):
        assert problem.infeasibility(progress.x) <= 1e-12
        assert progress.objective >= best - 1e-8

    found = solve(
        problem, setting.make(problem), tol=1e-6, max_iter=setting.steps, callback=look
    )
    proof = found.certificate
    assert found.converged
    assert proof.bound <= best + 1e-8
    assert proof.objective - best <= 1e-6 * proof.scale + 1e-8
    from_x = solve(
        problem,
        setting.make(problem),
        np.eye(problem.shape[1])[np.zeros(problem.shape[0], dtype=int)].ravel(),
        tol=1e-5,
        max_iter=setting.steps,
    )
    assert abs(from_x.certificate.objective - best) <= 1e-5 * proof.scale + 1e-8


@pytest.mark.parametrize("update", ["closed", "kkt"])
def test_the_published_splitting_agrees_with_ours(update):
    problem = random_assignment(20, 6, 12)
    ours = solve(problem, ProximalADMM(), tol=1e-10)
    theirs = solve(problem, SlackADMM(update), tol=1e-9)
    assert ours.converged
    assert theirs.converged
    np.testing.assert_allclose(theirs.x, ours.x, atol=1e-6)


def test_both_forms_of_the_published_step_are_one():
    n, words, gamma, mu = 15, 4, 0.3, 0.37
    rng = np.random.default_rng(0)
    L = laplacian(graph(n, 0))
    a, b = rng.normal(size=(2, n, words))
    levels = rng.random(words)
    closed = _closed_step(Smoother(L, n), gamma / mu, levels)(a, b)
    kkt = _kkt_step(L, n, gamma / mu, levels)(a, b)
    for one, other in zip(closed, kkt, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_with_the_printed_sign_the_published_method_finds_another_point():
    problem = random_assignment(20, 6, 13)
    flipped = SparseAssignment(
        -problem.costs, problem.penalties, problem.laplacian, problem.smoothness
    )
    right = solve(problem, SlackADMM(), tol=1e-6)
    wrong = solve(flipped, SlackADMM(), tol=1e-6)
    worse = problem.certify(wrong.x).objective
    assert worse > 1.3 * right.certificate.objective


@pytest.mark.parametrize("how", ["sparse", "inverse", "auto"])
def test_smoothing_solves_its_equations(how):
    n = 30
    L = laplacian(graph(n, 1, 0.1))
    smoother = Smoother(L, n, how)
    X = np.random.default_rng(0).normal(size=(n, 5))
    for t in (0.1, 10.0):
        out = np.empty_like(X)
        ordered = np.ascontiguousarray(X[smoother.order])
        out[smoother.order] = smoother.apply(ordered, t)
        np.testing.assert_allclose(out + t * (L @ out), X, atol=1e-10)


def test_a_trail_saves_iterations():
    trail = Trail()
    first = random_assignment(60, 10, 14, share=0.2)
    second = SparseAssignment(
        first.costs, 1.05 * first.penalties, first.laplacian, first.smoothness
    )
    solve(first, ProximalADMM(trail=trail), tol=1e-6)
    warm = solve(second, ProximalADMM(trail=trail), tol=1e-6)
    cold = solve(second, ProximalADMM(), tol=1e-6)
    assert warm.converged
    assert warm.n_iter < cold.n_iter
    assert warm.certificate.objective == pytest.approx(
        cold.certificate.objective, rel=1e-6
    )


def test_other_solvers_refuse_an_assignment_and_these_refuse_others():
    from counterpoise.optim import ADMM, Constrained, Newton, Quadratic, Simplex

    problem = random_assignment()
    for other in (ADMM(), Newton()):
        with pytest.raises(SolverMismatchError):
            solve(problem, other)
    plain = Constrained(Quadratic(np.eye(2), np.zeros(2)), Simplex(2))
    with pytest.raises(SolverMismatchError, match="a SparseAssignment is needed"):
        solve(plain, ProximalADMM())
    assert isinstance(default_solver(problem), ProximalADMM)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ProximalADMM(relaxation=2.0), "relaxation must be in"),
        (lambda: ProximalADMM(every=0), "every must be at least 1"),
        (lambda: SlackADMM("open"), "update must be 'closed' or 'kkt'"),
        (lambda: SlackADMM(every=0), "every must be at least 1"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
