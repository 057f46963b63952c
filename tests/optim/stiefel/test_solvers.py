"""Ways to search over frames: what each promises."""

from itertools import pairwise, product

import numpy as np
import pytest
from optim.stiefel.random_frames import constrained, everything, frame, symmetric

from counterpoise.linalg.stiefel import orthonormality, polar
from counterpoise.optim import (
    Eigenvectors,
    MajorizeMinimize,
    NonnegativeRounds,
    OrthogonalProblem,
    SequentialRelaxation,
    SoftminPolar,
    SolverMismatchError,
    SpectralRounds,
    solve,
)
from counterpoise.optim.stiefel.local_search import (
    descend,
    labels_of,
    on_supports,
    polished,
    restored,
)
from counterpoise.optim.stiefel.problem import RankOneForms


def followed(problem, solver, start, **how):
    """Return the solution, and infeasibility and value of every round."""
    seen = []

    def look(progress):
        assert orthonormality(progress.x) <= 1e-9
        seen.append((problem.infeasibility(progress.x), problem.value(progress.x)))

    return solve(problem, solver, start, callback=look, **how), seen


def check_monotone(seen):
    first = next(k for k, (outside, _) in enumerate(seen) if outside <= 1e-6)
    values = [value for _, value in seen[first:]]
    assert all(b <= a + 1e-9 for a, b in pairwise(values))
    return first


@pytest.mark.parametrize("relaxation", ["sdp", "parabolic"])
@pytest.mark.parametrize("seed", range(3))
def test_constrained_problems_become_feasible_and_never_worse(seed, relaxation):
    problem, start = constrained(seed)
    found, seen = followed(problem, SequentialRelaxation(relaxation), start)
    assert check_monotone(seen) <= 20
    assert found.converged
    assert found.certificate.infeasibility <= 1e-6
    assert found.certificate.objective >= problem.bound() - 1e-9


def test_without_polish_rounds_are_monotone_and_near():
    problem, start = constrained(2)
    found, seen = followed(
        problem, SequentialRelaxation(polish=False), start, max_iter=30
    )
    check_monotone(seen)
    best, _ = followed(problem, SequentialRelaxation(), start)
    assert found.certificate.objective <= best.certificate.objective + 0.05


def test_every_term_at_once_is_searched():
    for seed, nonnegative in product(range(2), (False, True)):
        problem, _ = everything(seed, nonnegative=nonnegative)
        start = frame(np.random.default_rng(seed), *problem.shape)
        found, seen = followed(problem, SequentialRelaxation(), start, tol=1e-5)
        if found.certificate.infeasibility <= 1e-6:
            check_monotone(seen)
            assert found.certificate.objective >= problem.bound() - 1e-9
        if not nonnegative:
            assert found.converged, (seed, str(found))


def test_an_infeasible_problem_ends_with_the_least_violation_it_saw():
    eye = np.eye(4)
    problem = OrthogonalProblem(
        np.diag(np.arange(4.0)), n_columns=2, constraints=[(eye, None, -1.5)]
    )
    found = solve(problem, SequentialRelaxation(), tol=1e-6, max_iter=40)
    assert not found.converged
    assert found.certificate.infeasibility == pytest.approx(0.5, abs=1e-9)


def test_a_rotation_of_the_columns_changes_nothing_where_only_the_span_counts():
    rng = np.random.default_rng(1)
    M, A = symmetric(rng, 7), np.stack([symmetric(rng, 7) for _ in range(3)])
    problem = OrthogonalProblem(M, n_columns=3, maximum=A)
    P, R = frame(rng, 7, 3), frame(rng, 3, 3)
    one, other = problem.certify(P), problem.certify(P @ R)
    assert one.objective == pytest.approx(other.objective, abs=1e-12)
    assert one.residual == pytest.approx(other.residual, rel=1e-5)


@pytest.mark.parametrize("solver", [Eigenvectors(), SpectralRounds()])
def test_one_quadratic_is_solved_by_eigenvectors(solver):
    M = symmetric(np.random.default_rng(2), 9)
    found = solve(OrthogonalProblem(M, n_columns=3), solver)
    least = np.linalg.eigvalsh(M)[:3].sum()
    assert found.certificate.objective == pytest.approx(least, abs=1e-8)
    assert found.converged
    assert found.certificate.gap <= 1e-7


@pytest.mark.parametrize("solver", [Eigenvectors(), SpectralRounds()])
@pytest.mark.parametrize("multiple", [None, 0.0, -2.0])
def test_a_linear_term_alone_is_solved_by_the_polar_factor(solver, multiple):
    N = np.random.default_rng(3).standard_normal((8, 2))
    M = None if multiple is None else multiple * np.eye(8)
    found = solve(OrthogonalProblem(M, N), solver)
    np.testing.assert_allclose(found.x, polar(-N), atol=1e-6)
    assert found.converged


def test_a_problem_in_which_nothing_varies_is_solved_at_once():
    found = solve(OrthogonalProblem(2.0 * np.eye(4), n_columns=2), Eigenvectors())
    assert found.converged
    assert found.certificate.objective == pytest.approx(4.0)


@pytest.mark.parametrize("seed", range(3))
def test_spectral_rounds_are_as_good_as_the_best_of_many_descents(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(5, 20)), int(rng.integers(1, 4))
    problem = OrthogonalProblem(symmetric(rng, n), rng.standard_normal((n, m)))
    found, seen = followed(problem, SpectralRounds(), frame(rng, n, m))
    check_monotone(seen)
    assert found.converged
    others = [descend(problem, frame(rng, n, m), 1e-8) for _ in range(10)]
    least = min(problem.value(P) for P in others)
    assert found.certificate.objective <= least + 1e-8


@pytest.mark.parametrize("seed", range(3))
def test_a_descent_ends_at_a_stationary_frame_and_never_rises(seed):
    rng = np.random.default_rng(seed)
    problem = OrthogonalProblem(symmetric(rng, 70), rng.standard_normal((70, 4)))
    start = frame(rng, 70, 4)
    P = descend(problem, start, 1e-9)
    assert problem.certify(P).residual <= 1e-9
    assert problem.value(P) < problem.value(start)


@pytest.mark.parametrize("solver", [SoftminPolar(), MajorizeMinimize()])
@pytest.mark.parametrize("m", [2, 3])
def test_a_maximum_is_lowered_to_a_stationary_frame(solver, m):
    V = np.random.default_rng(5).standard_normal((10, 6))
    problem = OrthogonalProblem(maximum=RankOneForms(V, -1.0), n_columns=m)
    start = frame(np.random.default_rng(6), 6, m)
    found, seen = followed(problem, solver, start, tol=1e-5)
    check_monotone(seen)
    assert found.converged
    assert problem.bound() - 1e-9 <= found.certificate.objective < seen[0][1]


@pytest.mark.parametrize(("m", "seed"), [(2, 2), (2, 10), (2, 11), (3, 10)])
def test_forms_far_below_the_maximum_do_not_hold_newton_steps_back(m, seed):
    # Their multipliers at the softmin's end are small but not zero.
    V = np.random.default_rng(5 + seed).standard_normal((10, 6))
    problem = OrthogonalProblem(maximum=RankOneForms(V, -1.0), n_columns=m)
    start = frame(np.random.default_rng(6 + seed), 6, m)
    found = solve(problem, SoftminPolar(), start, tol=1e-9)
    assert found.converged


@pytest.mark.parametrize("solver", [SoftminPolar(), MajorizeMinimize()])
def test_where_all_directions_fit_the_nearest_pair_is_the_optimum(solver):
    V = np.random.default_rng(7).standard_normal((3, 6))
    problem = OrthogonalProblem(maximum=RankOneForms(V, -1.0), n_columns=3)
    found = solve(problem, solver, tol=1e-6)
    nearest = (V**2).sum(axis=1).min()
    assert -found.certificate.objective == pytest.approx(nearest, rel=1e-4)


def test_a_maximum_beside_smooth_terms_is_searched():
    rng = np.random.default_rng(8)
    A = np.stack([symmetric(rng, 6) for _ in range(4)])
    problem = OrthogonalProblem(
        symmetric(rng, 6), rng.standard_normal((6, 2)), maximum=A
    )
    start = frame(rng, 6, 2)
    soft = solve(problem, SoftminPolar(), start, tol=1e-5)
    rounds = solve(problem, SequentialRelaxation(), start, tol=1e-5)
    assert soft.converged
    assert rounds.converged
    apart = soft.certificate.objective - rounds.certificate.objective
    assert abs(apart) <= 0.05 * problem.slope


@pytest.mark.parametrize("relaxation", ["sdp", "parabolic"])
def test_two_blocks_of_a_graph_are_found_from_wrong_labels(relaxation):
    rng = np.random.default_rng(9)
    W = 0.02 * np.abs(symmetric(rng, 12))
    W[:6, :6] += 1.0
    W[6:, 6:] += 1.0
    np.fill_diagonal(W, 0.0)
    L = np.diag(W.sum(axis=1)) - W
    problem = OrthogonalProblem(L, n_columns=2, nonnegative=True)
    wrong = np.eye(2)[np.arange(12) // 3 % 2] / np.sqrt(6.0)
    found, seen = followed(problem, NonnegativeRounds(relaxation), wrong)
    check_monotone(seen)
    assert len(set(labels_of(found.x)[:6])) == len(set(labels_of(found.x)[6:])) == 1
    assert found.certificate.infeasibility <= 1e-14
    assert found.converged
    # A proximal step of length 1/1000 against curvatures of 10 moves no label.
    kept, _ = followed(problem, NonnegativeRounds(relaxation, 1000.0), wrong)
    np.testing.assert_array_equal(labels_of(kept.x), labels_of(wrong))


def test_on_given_supports_no_other_columns_are_better():
    rng = np.random.default_rng(10)
    labels = np.array([0, 0, 0, 1, 1, 1])
    for linear in (None, rng.standard_normal((6, 2))):
        problem = OrthogonalProblem(
            symmetric(rng, 6), linear, n_columns=2, nonnegative=True
        )
        P = on_supports(problem, labels)
        assert problem.infeasibility(P) <= 1e-12
        for _ in range(200):
            Q = np.abs(rng.standard_normal((6, 2))) * np.eye(2)[labels]
            Q /= np.linalg.norm(Q, axis=0)
            assert problem.value(Q) >= problem.value(P) - 0.05 * problem.slope


def test_no_column_is_left_without_a_row():
    P = np.full((5, 3), 0.1)
    P[:, 0] = [0.9, 0.8, 0.7, 0.6, 0.5]
    labels = labels_of(P)
    assert np.bincount(labels, minlength=3).min() >= 1
    # The rows that belong least move.
    assert labels[:3].tolist() == [0, 0, 0]


def test_newton_steps_lead_from_near_to_stationary():
    problem, start = constrained(3)
    found = solve(problem, SequentialRelaxation(), start)
    rng = np.random.default_rng(0)
    near = restored(problem, polar(found.x + 1e-3 * rng.standard_normal(found.x.shape)))
    assert problem.infeasibility(near) <= 1e-9
    P = polished(problem, near)
    assert problem.certify(P).holds(1e-6)
    assert problem.value(P) <= problem.value(near)


def test_large_frames_are_not_polished():
    rng = np.random.default_rng(11)
    problem = OrthogonalProblem(symmetric(rng, 210), rng.standard_normal((210, 2)))
    P = frame(rng, 210, 2)
    assert polished(problem, P) is P


@pytest.mark.parametrize(
    ("solver", "words"),
    [
        (Eigenvectors(), "a quadratic or a linear term, not both"),
        (SoftminPolar(), "needs a maximum"),
        (MajorizeMinimize(), "no problem with a linear term"),
        (NonnegativeRounds(), "needs P >= 0"),
    ],
)
def test_a_solver_refuses_what_it_does_not_fit(solver, words):
    rng = np.random.default_rng(12)
    problem = OrthogonalProblem(symmetric(rng, 4), rng.standard_normal((4, 1)))
    with pytest.raises(SolverMismatchError, match=words):
        solve(problem, solver)


def test_spectral_rounds_refuse_constraints_and_every_solver_other_problems():
    problem, _ = constrained(0)
    with pytest.raises(SolverMismatchError, match="no problem with constraints"):
        solve(problem, SpectralRounds())
    from counterpoise.optim import Constrained, Quadratic, Simplex

    other = Constrained(Quadratic(np.eye(2), np.zeros(2)), Simplex(2))
    with pytest.raises(SolverMismatchError, match="not a problem with orthogonality"):
        solve(other, SequentialRelaxation())
