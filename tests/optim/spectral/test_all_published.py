"""Every published solver against cvxpy and Clarabel, closed forms and the laws."""

import numpy as np
import pytest
from optim.spectral.random_moments import (
    optimum,
    random_problem,
    thesis_samples,
)
from scipy.optimize import linprog

from counterpoise.optim import (
    Constrained,
    Discrepancy,
    DiscrepancySDP,
    Frobenius,
    MultiplicativeWeights,
    Smoothing,
    SolverMismatchError,
    SpectralSubgradient,
    solve,
)

# A solver, its budget, and the tolerance that it reaches on small problems within it.
SOLVERS = {
    "sdp": (DiscrepancySDP(), 1, 1e-6),
    "smoothing": (Smoothing(accuracy=0.02), 40, 0.6),
    "smoothing 16": (Smoothing(power=16), 20, None),
    "best": (MultiplicativeWeights(), 30, None),
    "list": (MultiplicativeWeights("list"), 30, None),
    "powering": (MultiplicativeWeights(update="powering"), 5, None),
    "entropic": (SpectralSubgradient(), 40, None),
    "polyak": (SpectralSubgradient("polyak"), 40, None),
    "frobenius": (Frobenius(), 1, None),
}
EXACT = ["sdp", "smoothing", "entropic", "polyak"]


def agrees(name, problem, best):
    """Whether a certificate is in order with the optimum, and how wide it is."""
    solver, budget, _ = SOLVERS[name]
    solution = solve(problem, solver, tol=1e-5, max_iter=budget)
    proof = solution.certificate
    # What cvxpy leaves: 1e-8 of its unit, the value at equal weights.
    rounding = 1e-6 * best + 1e-7 * problem.uniform_value
    assert proof.bound <= best + rounding, (name, proof)
    assert proof.objective >= best - rounding, (name, proof)
    assert proof.objective - best <= proof.gap + rounding
    again = problem.certify(solution.x)
    assert again.objective == pytest.approx(proof.objective, abs=rounding)
    assert problem.domain.infeasibility(solution.x) <= 1e-9
    return proof.gap / proof.scale


def widest(names, seeds):
    out = dict.fromkeys(names, 0.0)
    for seed in seeds:
        problem = random_problem(seed)
        best = optimum(problem)
        for name in names:
            out[name] = max(out[name], agrees(name, problem, best))
    return out


def test_certificates_are_in_order_with_clarabel():
    gaps = widest(SOLVERS, (0, 3, 7, 10, 14))
    for name, (_, _, reached) in SOLVERS.items():
        assert reached is None or gaps[name] <= reached, (name, gaps)


@pytest.mark.slow
def test_certificates_are_in_order_with_clarabel_on_a_hundred_problems():
    gaps = widest(SOLVERS, range(100))
    assert gaps["sdp"] <= 1e-5


def reaches(name, problem, wanted, tol=2e-2):
    solver, _, _ = SOLVERS[name]
    solution = solve(problem, solver, tol=tol, max_iter=3000)
    assert solution.converged, (name, solution)
    within = tol * solution.certificate.scale
    assert wanted - 1e-6 <= solution.certificate.objective <= wanted + within + 1e-9
    return solution


@pytest.mark.parametrize("name", EXACT)
def test_one_column_is_an_interval(name):
    rows = np.array([[1.0], [2.0], [-3.0]])
    for moment, wanted in ((5.0, 0.0), (0.25, 0.75), (11.0, 2.0)):
        solution = reaches(name, Discrepancy(rows, np.array([[moment]])), wanted)
        assert abs(moment - solution.x @ rows[:, 0] ** 2) <= wanted + 0.1


@pytest.mark.parametrize("name", [*EXACT, "best", "list", "frobenius"])
def test_one_row_has_all_the_weight(name):
    problem = Discrepancy(np.array([[1.0, 2.0]]), np.diag([3.0, 1.0]))
    solution = solve(problem, SOLVERS[name][0], tol=1e-6, max_iter=3)
    np.testing.assert_allclose(solution.x, [1.0])
    wanted = np.linalg.norm(np.array([[2.0, -2.0], [-2.0, -3.0]]), 2)
    assert solution.certificate.objective == pytest.approx(wanted)
    assert solution.certificate.gap <= 1e-6 * wanted


@pytest.mark.parametrize("name", EXACT)
def test_orthogonal_features_are_a_linear_program(name):
    rng = np.random.default_rng(0)
    rows = np.vstack([np.diag(rng.uniform(0.5, 2, 4)), np.diag(rng.uniform(0.5, 2, 4))])
    moment = np.diag(rng.uniform(0.1, 2, 4))
    squares = (rows**2).T
    ones = -np.ones((4, 1))
    best = linprog(
        np.append(np.zeros(8), 1.0),
        A_ub=np.vstack([np.hstack([-squares, ones]), np.hstack([squares, ones])]),
        b_ub=np.concatenate([-np.diag(moment), np.diag(moment)]),
        A_eq=[[1.0] * 8 + [0.0]],
        b_eq=[1.0],
    ).fun
    assert reaches(name, Discrepancy(rows, moment), best).converged


@pytest.mark.parametrize("name", EXACT)
def test_a_target_among_the_source_rows_leaves_nothing(name):
    X, _ = thesis_samples(14, 1, 4)
    problem = Discrepancy.of(X, X[[1, 4, 4, 9]])
    found = reaches(name, problem, 0.0, tol=0.3)
    assert problem.norm(found.x) <= 0.3 * found.certificate.scale


@pytest.mark.parametrize("name", EXACT)
def test_rotating_scaling_and_repeating_rows_change_the_value_as_they_must(name):
    X, T = thesis_samples(12, 15, 4)
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    best = optimum(Discrepancy.of(X, T))
    for A, B, factor in (
        (X @ rotation, T @ rotation, 1.0),
        (3.0 * X, 3.0 * T, 9.0),
        (np.vstack([X, X[:5]]), T, 1.0),
    ):
        found = reaches(name, Discrepancy.of(A, B), factor * best, tol=3e-2)
        assert found.certificate.bound <= factor * best * (1 + 1e-6)


@pytest.mark.parametrize("name", SOLVERS)
def test_another_problem_is_named_as_unfit(name):
    from counterpoise.optim import Quadratic, Simplex

    other = Constrained(Quadratic(np.eye(2), np.zeros(2)), Simplex(2))
    with pytest.raises(SolverMismatchError, match="a Discrepancy"):
        solve(other, SOLVERS[name][0])
