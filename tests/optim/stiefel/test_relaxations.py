"""One round: lifted, with X eliminated, by FISTA and by ADMM, against cvxpy."""

import cvxpy as cp
import numpy as np
import pytest
from optim.stiefel.random_frames import everything, frame, symmetric

from counterpoise.linalg.stiefel import orthonormality, polar
from counterpoise.optim import OrthogonalProblem
from counterpoise.optim.stiefel.relaxations import (
    ConicRound,
    LiftedTerms,
    NonnegativeRound,
)
from counterpoise.optim.stiefel.solvers import fista_round

RELAXATIONS = ("sdp", "parabolic")


def by_cvxpy(parts, shape, Pc, mu, relaxation):
    """Return the value of a round, its cones written down as defined."""
    n, m = shape
    X, P, t = cp.Variable((n, n), symmetric=True), cp.Variable((n, m)), cp.Variable()
    value = cp.trace(parts["quadratic"] @ X)
    value += cp.sum(cp.multiply(parts["linear"] - mu * Pc, P))
    asked = [cp.trace(X) == m]
    if relaxation == "sdp":
        asked += [cp.bmat([[np.eye(n), P], [P.T, np.eye(m)]]) >> 0]
        asked += [cp.bmat([[X, P], [P.T, np.eye(m)]]) >> 0]
    else:
        for i in range(m):
            asked.append(cp.sum_squares(P[:, i]) <= 1)
            for j in range(i):
                asked += [cp.sum_squares(P[:, i] + s * P[:, j]) <= 2 for s in (1, -1)]
        for i in range(n):
            asked.append(cp.sum_squares(P[i]) <= X[i, i])
            for j in range(i):
                asked += [
                    cp.sum_squares(P[i] + s * P[j])
                    <= X[i, i] + X[j, j] + 2 * s * X[i, j]
                    for s in (1, -1)
                ]
    if parts.get("maximum") is not None:
        asked += [cp.trace(A @ X) <= t for A in parts["maximum"]]
        value += t
    if parts.get("l1") is not None:
        for B, b in zip(*parts["l1"], strict=True):
            value += cp.abs(cp.sum(cp.multiply(B, P)) + b)
    for M, N, c in parts.get("constraints", ()):
        asked.append(cp.trace(M @ X) + cp.sum(cp.multiply(N, P)) + c <= 0)
    if parts.get("nonnegative"):
        asked.append(P >= 0)
    return cp.Problem(cp.Minimize(value), asked).solve(solver="CLARABEL")


@pytest.mark.parametrize("relaxation", RELAXATIONS)
@pytest.mark.parametrize("nonnegative", [False, True])
def test_a_lifted_round_with_every_term_is_cvxpys(relaxation, nonnegative):
    problem, parts = everything(3, nonnegative=nonnegative)
    Pc = frame(np.random.default_rng(3), *problem.shape)
    lifted = ConicRound(problem, relaxation)
    # The second one has only another objective.
    for mu in (2.0, 40.0):
        wanted = by_cvxpy(parts, problem.shape, Pc, mu, relaxation)
        assert lifted.solve(Pc, mu)[1] == pytest.approx(wanted, abs=2e-6 * mu)


@pytest.mark.parametrize("relaxation", RELAXATIONS)
@pytest.mark.parametrize("kind", ["free", "signs", "l1", "linear constraint"])
def test_without_x_the_round_is_the_same(relaxation, kind):
    rng = np.random.default_rng(4)
    n, m = 7, 2
    more = {
        "free": {},
        "signs": {"nonnegative": True},
        "l1": {"l1": (rng.standard_normal((2, n, m)), np.ones(2))},
        "linear constraint": {
            "constraints": [(None, rng.standard_normal((n, m)), 0.1)]
        },
    }[kind]
    problem = OrthogonalProblem(symmetric(rng, n), rng.standard_normal((n, m)), **more)
    Pc = frame(rng, n, m)
    for mu in (0.5, 5.0, 50.0):
        _, whole = ConicRound(problem, relaxation).solve(Pc, mu)
        _, less = ConicRound(problem, relaxation, eliminate=True).solve(Pc, mu)
        assert less == pytest.approx(whole, abs=1e-6 * max(mu, 1.0))


def test_x_is_not_eliminated_where_a_constraint_sees_it():
    problem, _ = everything(0)
    with pytest.raises(ValueError, match="X cannot be eliminated"):
        ConicRound(problem, "sdp", eliminate=True)


def test_pairs_that_no_term_sees_are_left_out_and_change_nothing():
    rng = np.random.default_rng(5)
    n, m = 6, 2
    M = np.diag(rng.standard_normal(n))
    M[0, 1] = M[1, 0] = 1.0
    problem = OrthogonalProblem(
        M, rng.standard_normal((n, m)), constraints=[(np.eye(n), None, -9.0)]
    )
    few = ConicRound(problem, "parabolic")
    assert len(few.terms.rows) == n + 1
    assert len(LiftedTerms(problem).rows) == n * (n + 1) // 2
    Pc = frame(rng, n, m)
    parts = {"quadratic": M, "linear": problem.linear}
    wanted = by_cvxpy(parts, (n, m), Pc, 3.0, "parabolic")
    assert few.solve(Pc, 3.0)[1] == pytest.approx(wanted, abs=1e-5)


def test_the_parabolic_relaxation_contains_the_semidefinite_one():
    problem, _ = everything(6)
    Pc = frame(np.random.default_rng(6), *problem.shape)
    small, large = (ConicRound(problem, r).solve(Pc, 1.0)[1] for r in RELAXATIONS)
    assert large <= small + 1e-6


@pytest.mark.parametrize("multiple", [None, 0.0, 3.0, "random"])
def test_fista_finds_what_the_conic_solver_finds(multiple):
    rng = np.random.default_rng(7)
    n, m = 8, 3
    M = symmetric(rng, n) if multiple == "random" else multiple
    M = M * np.eye(n) if isinstance(M, float) else M
    problem = OrthogonalProblem(M, rng.standard_normal((n, m)))
    Pc = frame(rng, n, m)
    for mu in (0.3, 3.0, 30.0):
        P = fista_round(problem, Pc, mu, tol=1e-11)
        _, wanted = ConicRound(problem, "sdp", eliminate=True).solve(Pc, mu)
        d = problem.quadratic_range[0]
        value = problem.value(P) - mu * np.sum(Pc * P) + d * (m - np.sum(P * P))
        assert value == pytest.approx(wanted, abs=1e-6 * max(mu, 1.0))
        if multiple != "random":
            np.testing.assert_allclose(P, polar(mu * Pc - problem.linear), atol=1e-8)


def test_above_the_slope_rounds_are_exact_and_fall_as_much_as_they_must():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, m = int(rng.integers(4, 12)), int(rng.integers(1, 4))
        problem = OrthogonalProblem(symmetric(rng, n), rng.standard_normal((n, m)))
        Pc, mu = frame(rng, n, m), 1.01 * problem.slope
        P = fista_round(problem, Pc, mu, tol=1e-12, steps=20_000)
        assert orthonormality(P) < 1e-7
        fall = problem.value(Pc) - problem.value(P)
        assert fall >= mu / 2.0 * np.sum((P - Pc) ** 2) - 1e-7


@pytest.mark.parametrize("relaxation", RELAXATIONS)
def test_an_admm_round_ends_where_the_conic_solver_does(relaxation):
    rng = np.random.default_rng(8)
    W = np.abs(symmetric(rng, 9))
    L = np.diag(W.sum(axis=1)) - W
    for problem in (
        OrthogonalProblem(L, n_columns=3, nonnegative=True),
        OrthogonalProblem(symmetric(rng, 9), 0.3 * W[:, :3], nonnegative=True),
    ):
        Pc = np.abs(frame(rng, 9, 3))
        split = NonnegativeRound(problem, relaxation)
        found = split.solve(Pc, 2.0, split.begin(Pc, 2.0), 1e-8, 20_000)
        _, wanted = ConicRound(problem, relaxation, eliminate=True).solve(Pc, 2.0)
        P, d = found.positive, split.shift
        value = problem.value(P) - 2.0 * np.sum(Pc * P) + d * (3 - np.sum(P * P))
        assert value == pytest.approx(wanted, abs=1e-5)


def test_signs_leave_no_room_for_the_constraint_qualification():
    # At every feasible P >= 0 no direction along the frames enters all constraints.
    rng = np.random.default_rng(9)
    labels = rng.permutation(np.arange(12) % 2)
    P = np.eye(2)[labels] / np.sqrt(6.0)
    D, t = cp.Variable((12, 2)), cp.Variable()
    asked = [P.T @ D == 0, cp.norm(D, "fro") <= 1, t <= cp.min(D)]
    assert cp.Problem(cp.Maximize(t), asked).solve(solver="CLARABEL") <= 1e-7
