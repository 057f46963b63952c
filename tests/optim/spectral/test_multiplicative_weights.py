"""MMW-DA: its oracles, its proofs of both kinds, its errata."""

import math
from dataclasses import replace

import numpy as np
import pytest
from optim.spectral.random_moments import (
    optimum,
    random_problem,
    thesis_samples,
)

from counterpoise.optim import Discrepancy, MultiplicativeWeights, solve
from counterpoise.optim.spectral.published import (
    hyperbolic_ratio,
    vertex_norms,
)


@pytest.fixture(scope="module")
def small():
    X, T = thesis_samples(12, 20, 6)
    problem = Discrepancy.of(X, 1.5 * T)
    return problem, optimum(problem)


@pytest.mark.parametrize("seed", range(4))
def test_norms_of_single_rows_equal_eigenvalues(seed):
    problem = random_problem(seed)
    wanted = [
        np.linalg.norm(problem.target_moment - np.outer(x, x), 2) for x in problem.rows
    ]
    found = vertex_norms(problem.rows, problem.target_moment)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_norms_of_rows_that_the_target_does_not_see():
    rows, moment = np.diag([3.0, 1.0, 0.0]), np.diag([0.0, 2.0, 2.0])
    found = vertex_norms(rows, moment)
    wanted = [np.linalg.norm(moment - np.outer(x, x), 2) for x in rows]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def most_rounds(rho, delta, alpha, N):
    """Return T, after which the answers' average is within (1 + delta) alpha."""
    return math.ceil(8.0 * rho**2 * math.log(2 * N) / (delta * alpha) ** 2)


def played(problem, alpha, oracle="best", delta=0.1):
    """The game for one alpha: its outcome, its rounds, its width and the state."""
    solver = MultiplicativeWeights(oracle, delta=delta)
    first = solver.begin(problem, np.eye(problem.size)[0])
    oracle_, _, best = first.memory
    trial = solver._trial(problem, best, oracle_, alpha)
    state = replace(first, memory=(oracle_, trial, best))
    while state.counts["successes"] + state.counts["failures"] == 0:
        trial = state.memory[1]
        state = solver.step(problem, state)
    outcome = "success" if state.counts["successes"] else "failure"
    return outcome, trial, state


@pytest.mark.parametrize("oracle", ["best", "list"])
def test_success_and_failure_are_both_certified(small, oracle):
    problem, best = small
    alpha = 1.01 * best
    outcome, trial, state = played(problem, alpha, oracle)
    assert outcome == "success"
    assert problem.norm(state.x) <= (1.0 + trial.delta) * alpha
    most = most_rounds(trial.rho, trial.delta, alpha, 6)
    assert 20 <= state.counts["rounds"] <= most
    alpha = 0.9 * best
    outcome, trial, state = played(problem, alpha, oracle)
    assert outcome == "failure"
    assert alpha <= problem.dual_value(state.hint) <= best * (1 + 1e-7)


@pytest.mark.parametrize("oracle", ["best", "list"])
def test_powering_plays_the_same_game_as_the_eigen_update(small, oracle):
    problem, _ = small
    states = []
    for update in ("eigen", "powering"):
        solver = MultiplicativeWeights(oracle, update, every=10)
        state = solver.begin(problem, None)
        for _ in range(10):
            state = solver.step(problem, state)
        states.append(state)
    np.testing.assert_allclose(states[0].x, states[1].x, atol=1e-12)
    assert states[0].claim.bound == pytest.approx(states[1].claim.bound, rel=1e-9)
    assert states[0].counts == states[1].counts


@pytest.mark.parametrize("oracle", ["best", "list"])
def test_the_bracket_never_loses_the_optimum(small, oracle):
    problem, best = small
    seen = []

    def within(progress):
        seen.append((progress.objective - progress.gap, progress.objective))

    solver = MultiplicativeWeights(oracle, every=25)
    solution = solve(problem, solver, tol=0.1, max_iter=2000, callback=within)
    assert solution.converged
    assert solution.history[-1].counts["failures"] > 0
    for low, high in seen:
        assert low <= best * (1 + 1e-7)
        assert high >= best * (1 - 1e-7)


def test_the_printed_bracket_loses_the_optimum(small):
    """A success at alpha proves (1 + delta) alpha; printed: the upper end is alpha."""
    problem, best = small
    alpha = 0.999 * best
    outcome, _, state = played(problem, alpha)
    assert outcome == "success"
    assert problem.norm(state.x) >= best * (1 - 1e-7) > alpha


def test_the_printed_rate_has_the_wrong_sign(small):
    """eps' = ln(1 - eps) is negative: the game then seeks what it should avoid."""
    problem, _ = small
    S = 5.0 * problem.operator(problem.start()) / problem.uniform_value
    right, printed = hyperbolic_ratio(S), hyperbolic_ratio(-S)
    M = problem.operator(problem.start())
    assert np.sum(M * right) > 0 > np.sum(M * printed)


def test_the_number_of_rounds_does_not_depend_on_the_unit(small):
    """Printed without alpha squared, it does."""
    problem, best = small
    rho = best + vertex_norms(problem.rows, problem.target_moment).max()
    scaled = Discrepancy(3.0 * problem.rows, 9.0 * problem.target_moment)
    wider = 9.0 * best + vertex_norms(scaled.rows, scaled.target_moment).max()
    rounds = most_rounds(rho, 0.1, best, 6)
    assert abs(rounds - most_rounds(wider, 0.1, 9.0 * best, 6)) <= 1
    assert 8 * wider**2 * np.log(12) / 0.01 > 80 * 8 * rho**2 * np.log(12) / 0.01


def test_the_width_is_far_above_twice_the_value():
    """Printed: rho <= 2 alpha."""
    problem = Discrepancy.of(*thesis_samples(12, 38, 200))
    norms = vertex_norms(problem.rows, problem.target_moment)
    assert (58.376 + norms.min()) / 58.376 > 4.0


def test_the_list_widens_its_reach_when_it_must():
    problem = Discrepancy.of(*thesis_samples(30, 30, 8))
    solver = MultiplicativeWeights("list")
    state = solver.begin(problem, None)
    first, _, _ = state.memory
    assert first.norms[first.reach] == pytest.approx(first.norms.min())
    for _ in range(40):
        state = solver.step(problem, state)
    last, trial, _ = state.memory
    assert last.reach > first.reach
    used = np.flatnonzero(trial.answers)
    places = np.argsort(last.order, kind="stable")[used]
    assert places.max(initial=0) <= last.reach


def test_it_takes_a_cap_with_the_best_oracle_only():
    problem = random_problem(3, cap=0.2)
    solution = solve(problem, MultiplicativeWeights(), tol=0.1, max_iter=400)
    assert solution.x.max() <= 0.2 + 1e-9
    assert solution.certificate.bound <= optimum(problem) * (1 + 1e-7)
    with pytest.raises(ValueError, match=r"cap = 0\.2"):
        solve(problem, MultiplicativeWeights("list"))
    with pytest.raises(ValueError, match=r"spread = 0\.5"):
        solve(random_problem(3, spread=0.5), MultiplicativeWeights())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"oracle": "worst"}, "'best' or 'list', got 'worst'"),
        ({"update": "series"}, "'eigen' or 'powering', got 'series'"),
        ({"delta": 1.0}, r"between 0 and 1, got 1\.0"),
        ({"every": 0}, "every must be at least 1, got 0"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        MultiplicativeWeights(**options)
