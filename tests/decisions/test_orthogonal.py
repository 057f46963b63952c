"""Frames: when the penalty moves, what is taken back, which method, how far a bound."""

from dataclasses import replace

import numpy as np
import pytest

from counterpoise.optim import (
    NonnegativeRounds,
    OrthogonalProblem,
    SequentialRelaxation,
    SpectralRounds,
)
from counterpoise.optim.stiefel import certificates as bounds
from counterpoise.optim.stiefel import local_search as polish
from counterpoise.optim.stiefel import solvers as fista
from counterpoise.optim.stiefel import solvers as sequential
from counterpoise.optim.stiefel.certificates import near_the_largest
from counterpoise.optim.stiefel.local_search import labels_of, on_supports
from counterpoise.optim.stiefel.relaxations import Splitting
from counterpoise.optim.stiefel.solvers import orthogonal_solver

EYE = np.eye(4)
DIAGONAL = np.diag([4.0, 3.0, 2.0, 1.0])


class Always:
    """A round with one answer."""

    def __init__(self, P):
        self.P = P

    def solve(self, Pc, penalty):
        return self.P, 0.0


def begun(problem, solver, start, answer=None):
    state = solver.begin(problem, start)
    if answer is not None:
        state = replace(state, memory=replace(state.memory, round=Always(answer)))
    return state


def test_the_penalty_doubles_in_every_round_until_a_frame_is_feasible():
    # No frame keeps tr PP' <= 1.
    problem = OrthogonalProblem(DIAGONAL, n_columns=2, constraints=[(EYE, None, -1.0)])
    solver = SequentialRelaxation()
    state = begun(problem, solver, EYE[:, :2], EYE[:, :2])
    first = state.memory.penalty
    assert first == pytest.approx(1.01 * problem.slope)
    rounds = 0
    while not state.stalled:
        state = solver.step(problem, state)
        rounds += 1
        assert state.memory.penalty == pytest.approx(first * 2.0**rounds)
    assert rounds == 20


def test_the_penalty_halves_once_feasible_and_not_again_after_a_failure():
    problem = OrthogonalProblem(DIAGONAL, n_columns=2)
    solver = SequentialRelaxation(polish=False)
    state = begun(problem, solver, EYE[:, :2], EYE[:, 1:3])
    first = state.memory.penalty
    state = solver.step(problem, state)
    assert state.memory.penalty == pytest.approx(first / 2.0)
    worse = replace(state, memory=replace(state.memory, round=Always(EYE[:, :2])))
    failed = solver.step(problem, worse)
    assert failed.memory.penalty == pytest.approx(first)
    better = replace(failed, memory=replace(failed.memory, round=Always(EYE[:, 2:])))
    assert solver.step(problem, better).memory.penalty == pytest.approx(first)


def test_a_penalty_that_the_user_gave_is_kept():
    problem = OrthogonalProblem(DIAGONAL, n_columns=2, constraints=[(EYE, None, -1.0)])
    solver = SequentialRelaxation(penalty=7.0)
    state = solver.step(problem, begun(problem, solver, EYE[:, :2], EYE[:, :2]))
    assert state.memory.penalty == 7.0


def test_a_round_that_rises_or_leaves_the_constraints_is_taken_back(monkeypatch):
    # Without Gauss-Newton steps, which would bring the second frame back.
    monkeypatch.setattr(sequential, "restored", lambda problem, P: P)
    # P must stay away from the first direction, up to 1e-6.
    first = np.outer(EYE[0], EYE[0])
    problem = OrthogonalProblem(DIAGONAL, n_columns=1, constraints=[(first, None, 0.0)])
    solver = SequentialRelaxation(polish=False)
    at = EYE[:, 2:3]
    for wrong in (EYE[:, 1:2], (EYE[:, 3:4] + 1e-2 * EYE[:, :1]) / np.sqrt(1.0001)):
        state = solver.step(problem, begun(problem, solver, at, wrong))
        np.testing.assert_array_equal(state.x, at)
    state = solver.step(problem, begun(problem, solver, at, EYE[:, 3:4]))
    np.testing.assert_allclose(state.x, EYE[:, 3:4], atol=1e-12)


def test_with_signs_the_penalty_rises_to_its_end():
    problem = OrthogonalProblem(
        DIAGONAL, n_columns=2, nonnegative=True, constraints=[(EYE, None, -9.0)]
    )
    solver = SequentialRelaxation()
    state = begun(problem, solver, EYE[:, :2], np.abs(EYE[:, 2:]))
    penalties = []
    while not state.stalled:
        penalties.append(state.memory.penalty / problem.slope)
        assert not state.claim.holds(1e9)
        state = solver.step(problem, state)
    np.testing.assert_allclose(penalties, 3e-3 * 3.0 ** np.arange(8))
    assert state.claim.holds(1e-6)
    assert problem.value(state.x) == pytest.approx(3.0)


class Turning:
    """Rounds of labels that never settle."""

    shift = 0.0

    def begin(self, Pc, penalty):
        self.penalties.append(penalty)
        none = np.zeros_like(Pc)
        return Splitting(Pc, Pc, none, (none, none, none), 1.0)

    penalties: list

    def solve(self, Pc, penalty, at, tol, steps):
        self.count += 1
        return replace(at, positive=np.roll(np.maximum(Pc, 0.0), 1, axis=0))

    count = 0


def test_labels_are_searched_at_six_rising_penalties_of_up_to_four_rounds():
    L = 3.0 * (EYE - 0.25)
    problem = OrthogonalProblem(L, n_columns=2, nonnegative=True)
    start = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    solver = NonnegativeRounds()
    state = solver.begin(problem, start)
    assert not state.claim.holds(1e9)
    turning = Turning()
    turning.penalties = []
    state = replace(state, memory=replace(state.memory, round=turning))
    while not state.stalled:
        state = solver.step(problem, state)
    assert turning.count == 6 * 4
    expected = np.array([0.03, 0.1, 0.3, 1.0, 3.0, 10.0]) * 3.0 / 12.0
    np.testing.assert_allclose(turning.penalties, expected)


def test_an_empty_column_takes_the_row_that_is_missed_least():
    P = np.array([[0.9, 0.1, 0.0], [0.5, 0.1, 0.0], [0.8, 0.1, 0.0], [0.0, 0.2, 0.0]])
    assert labels_of(P).tolist() == [0, 2, 0, 1]


def test_rows_of_zeros_go_where_they_lower_the_value():
    # Column 0 has rows 0, 1 and, joined to row 2 alone, row 3; row 4 hangs on row 3.
    W = np.zeros((5, 5))
    for i, j, w in ((0, 1, 1.0), (2, 3, 0.5), (3, 4, 0.3)):
        W[i, j] = W[j, i] = w
    L = np.diag(W.sum(axis=1)) - W
    problem = OrthogonalProblem(L, n_columns=2, nonnegative=True)
    P = on_supports(problem, np.array([0, 0, 1, 0, 0]))
    assert labels_of(P).tolist() == [0, 0, 1, 1, 1]
    assert problem.value(P) == pytest.approx(0.0, abs=1e-12)


def test_the_fantope_bounds_up_to_sixty_and_the_terms_beyond(monkeypatch):
    asked = []

    def spy(problem):
        asked.append(sum(problem.shape))
        return -np.inf

    monkeypatch.setattr(bounds, "fantope_bound", spy)
    for n in (58, 59):
        N = np.zeros((n, 2))
        N[0, 0] = 1.0
        bound = OrthogonalProblem(linear=N).bound()
        # Rounding is taken off.
        assert -1.0 - 1e-9 < bound < -1.0
    assert asked == [60]


def test_multipliers_go_to_forms_near_the_largest():
    values = np.array([0.0, -1.0, -1.01, 0.0])
    assert sorted(near_the_largest(values, 10.0)) == [0, 1, 3]
    assert len(near_the_largest(np.zeros(500), 1.0)) == 300


def test_the_terms_of_a_problem_decide_its_method():
    def chosen(problem, **how):
        return type(orthogonal_solver(problem, **how)).__name__

    N = np.ones((4, 1))
    one = OrthogonalProblem(DIAGONAL, n_columns=1)
    assert chosen(one) == "Eigenvectors"
    assert chosen(one, penalty=1.0) == "SpectralRounds"
    assert chosen(one, relaxation="parabolic") == "SequentialRelaxation"
    assert chosen(OrthogonalProblem(2.0 * EYE, N)) == "Eigenvectors"
    assert chosen(OrthogonalProblem(DIAGONAL, N)) == "SpectralRounds"
    worst = OrthogonalProblem(maximum=[DIAGONAL], n_columns=1)
    assert chosen(worst) == "SoftminPolar"
    assert chosen(worst, penalty=1.0) == "SequentialRelaxation"
    signed = OrthogonalProblem(DIAGONAL, N, nonnegative=True)
    assert chosen(signed) == "NonnegativeRounds"
    more = OrthogonalProblem(DIAGONAL, N, nonnegative=True, constraints=[(EYE, N, -9)])
    assert chosen(more) == "SequentialRelaxation"


def test_frames_of_up_to_four_hundred_entries_are_polished(monkeypatch):
    asked = set()

    def nowhere(problem, *_):
        asked.add(problem.shape)
        return ()

    monkeypatch.setattr(polish, "_candidates", nowhere)
    for n in (400, 401):
        problem = OrthogonalProblem(np.diag(np.arange(float(n))), n_columns=1)
        P = np.full((n, 1), 1.0 / np.sqrt(n))
        assert polish.polished(problem, P) is P
    assert asked == {(400, 1)}


def test_a_fista_round_that_is_not_exact_is_taken_back(monkeypatch):
    problem = OrthogonalProblem(DIAGONAL, np.zeros((4, 2)))
    solver = SpectralRounds(polish=False)
    state = solver.begin(problem, EYE[:, :2])

    def within(problem, Pc, penalty):
        return (1.0 - 1e-4) * EYE[:, 2:]

    monkeypatch.setattr(fista, "fista_round", within)
    back = solver.step(problem, state)
    np.testing.assert_array_equal(back.x, state.x)
    assert back.memory.penalty == pytest.approx(2.0 * state.memory.penalty)
