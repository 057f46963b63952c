"""Sparse assignments: their certificate, whoever offers the dual point."""

import numpy as np
import pytest
from optim.assignment.random_assignments import (
    graph,
    laplacian,
    random_assignment,
    random_costs,
)

from counterpoise.optim import AssignmentConic, ProximalADMM, solve
from counterpoise.optim.assignment.local_search import raised_prices
from counterpoise.optim.assignment.problem import (
    AssignmentDual,
    SparseAssignment,
    one_word_penalty,
)
from counterpoise.optim.sets import project_rows
from counterpoise.testing import check_problem

CASES = [
    {"norm": norm, "smoothness": smoothness, "equal": equal}
    for norm in ("max", "euclidean")
    for smoothness in (0.0, 0.02)
    for equal in (True, False)
]


def by_clarabel(problem):
    return solve(problem, AssignmentConic(accuracy=1e-10), tol=1e-7).certificate


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_certificate_claims_more_than_is_true(case):
    problem = random_assignment(seed=1, **case)
    optimum = by_clarabel(problem).objective
    rng = np.random.default_rng(0)
    points = [project_rows(rng.normal(size=problem.shape)).ravel() for _ in range(10)]
    check_problem(problem, optimum, points)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_dual_point_bounds_more_than_the_optimum(case):
    problem = random_assignment(seed=2, **case)
    optimum = by_clarabel(problem).objective
    rng = np.random.default_rng(0)
    x = problem.start()
    for scale in np.logspace(-4, 0, 40):
        G = scale * rng.normal(size=problem.shape)
        Y = rng.normal(size=problem.shape)
        proof = problem.certify(x, AssignmentDual(G, Y))
        assert proof.bound <= optimum + 1e-9
        assert proof.gap >= 0.0


@pytest.mark.parametrize("norm", ["max", "euclidean"])
def test_prices_from_the_gradient_nearly_prove_an_optimum_without_its_solver(norm):
    problem = random_assignment(seed=3, norm=norm)
    x = solve(problem, AssignmentConic(accuracy=1e-11), tol=1e-8).x
    assert problem.certify(x).gap <= 0.1 * problem.certify(x).scale


@pytest.mark.parametrize("is_max", [True, False])
def test_raised_prices_stay_within_their_penalties(is_max):
    C, penalties = random_costs(30, 7, 0), np.linspace(0.0, 0.1, 7)
    G = raised_prices(C, penalties, is_max)
    sizes = G.sum(axis=0) if is_max else np.linalg.norm(G, axis=0)
    assert G.min() >= 0.0
    assert (sizes <= penalties + 1e-12).all()
    assert (C + G).min(axis=1).sum() > C.min(axis=1).sum()


def test_the_scale_is_the_objective_above_the_least_costs():
    problem = random_assignment()
    proof = problem.certify(problem.start())
    least = problem.costs.min(axis=1).sum()
    assert proof.scale == pytest.approx(proof.objective - least, rel=1e-12)
    U = problem.matrix(problem.start())
    by_hand = (
        (problem.costs * U).sum()
        + problem.smoothness * np.trace(U.T @ (problem.laplacian @ U))
        + problem.penalties @ U.max(axis=0)
    )
    assert proof.objective == pytest.approx(by_hand, rel=1e-12)


def solved(C, penalty, L, smoothness):
    problem = SparseAssignment(C, penalty, L, smoothness)
    found = solve(problem, ProximalADMM(), tol=1e-9)
    assert found.converged
    return problem.matrix(found.x), found.certificate.objective


def test_constants_order_and_scale_do_not_change_the_solution():
    C, L = random_costs(18, 6, 4), laplacian(graph(18, 4))
    penalty = 0.2 * one_word_penalty(C).low
    U, value = solved(C, penalty, L, 0.01)
    rng = np.random.default_rng(0)
    added = rng.normal(size=18)
    moved, higher = solved(C + added[:, None], penalty, L, 0.01)
    np.testing.assert_allclose(moved, U, atol=1e-6)
    assert higher == pytest.approx(value + added.sum(), abs=1e-9)
    words = rng.permutation(6)
    np.testing.assert_allclose(
        solved(C[:, words], penalty, L, 0.01)[0], U[:, words], atol=1e-6
    )
    items = rng.permutation(18)
    permuted = solved(C[items], penalty, L[items][:, items], 0.01)[0]
    np.testing.assert_allclose(permuted, U[items], atol=1e-6)
    np.testing.assert_allclose(solved(7.0 * C, 7.0 * penalty, L, 0.07)[0], U, atol=1e-6)


def test_without_a_graph_two_halves_of_an_item_cost_what_it_costs():
    C = random_costs(15, 5, 5)
    penalty = 0.15 * one_word_penalty(C).low
    value = solved(C, penalty, None, 0.0)[1]
    halves = np.vstack([C[:-1], 0.5 * C[-1:], 0.5 * C[-1:]])
    assert solved(halves, penalty, None, 0.0)[1] == pytest.approx(value, rel=1e-8)


def test_without_a_graph_a_vanishing_penalty_gives_the_nearest_words():
    C = random_costs(20, 6, 6)
    U, _ = solved(C, 1e-7, None, 0.0)
    np.testing.assert_array_equal(U.argmax(axis=1), C.argmin(axis=1))


def test_rows_of_the_solution_are_shares():
    for norm in ("max", "euclidean"):
        problem = random_assignment(40, 9, 7, norm=norm)
        U = problem.matrix(solve(problem, tol=1e-5).x)
        assert U.min() >= 0.0
        np.testing.assert_allclose(U.sum(axis=1), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"costs": np.array([[np.nan]])}, "costs must be finite"),
        ({"penalties": -1.0}, "penalties must be at least 0"),
        ({"smoothness": -1.0}, "smoothness must be at least 0"),
        ({"norm": "l1"}, "norm must be 'max' or 'euclidean'"),
        ({"laplacian": np.eye(3)}, r"laplacian must have shape \(2, 2\)"),
    ],
)
def test_what_makes_no_sense_is_refused(given, words):
    sound = {"costs": np.eye(2), "penalties": 0.1}
    with pytest.raises(ValueError, match=words):
        SparseAssignment(**{**sound, **given})
