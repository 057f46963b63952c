"""The loop: budgets, progress, interruption, and who has the last word."""

import ast
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import counterpoise
from counterpoise.optim import (
    ADMM,
    L1,
    Constrained,
    Corrective,
    FrankWolfe,
    LeastSquares,
    LogLinearRatio,
    MixtureLikelihood,
    NegativeMeanLog,
    Objective,
    PartialPricing,
    Penalized,
    ProjectedGradient,
    ProximalGradient,
    Quadratic,
    Requirements,
    Simplex,
    SolverMismatchError,
    State,
    default_solver,
    solve,
)


def hard_problem():
    """A mixture on which plain Frank-Wolfe needs long."""
    x = np.linspace(-1, 1, 60)
    kernel = np.exp(-50.0 * np.subtract.outer(x, x) ** 2)
    return MixtureLikelihood(kernel / (0.1 + x**2))


@dataclass(frozen=True)
class Slow:
    """Frank-Wolfe that takes its time."""

    seconds: float
    inner = FrankWolfe("plain")

    @property
    def accepts(self):
        return self.inner.accepts

    def begin(self, problem, x):
        return self.inner.begin(problem, x)

    def step(self, problem, state):
        time.sleep(self.seconds)
        return self.inner.step(problem, state)


def test_a_time_budget_ends_within_one_step_of_it():
    solution = solve(hard_problem(), Slow(0.05), tol=1e-12, max_time=0.22)
    assert not solution.converged
    assert solution.seconds >= 0.22
    last_begun = solution.history[-2].seconds
    assert "max_time" in solution.ended
    assert last_begun < 0.22


def test_max_iter_counts_steps():
    solution = solve(hard_problem(), FrankWolfe("plain"), tol=1e-12, max_iter=7)
    assert solution.n_iter == 7
    assert [line.n_iter for line in solution.history] == list(range(8))


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, RuntimeError("stop")])
def test_an_interruption_carries_the_best_certified_solution(interruption):
    problem = hard_problem()
    seen = []

    def interrupt(progress):
        seen.append(progress)
        if progress.n_iter == 5:
            raise interruption

    with pytest.raises((KeyboardInterrupt, RuntimeError)) as caught:
        solve(problem, ProjectedGradient(), tol=1e-12, callback=interrupt)
    solution = caught.value.solution
    assert solution.n_iter == 5
    assert solution.certificate == problem.certify(solution.x)
    # The solver's running sums and the proof add in different orders.
    least = min(line.objective for line in seen)
    assert solution.certificate.objective == pytest.approx(least, rel=1e-12)


def test_an_interruption_inside_a_step_carries_the_last_complete_point():
    problem = hard_problem()

    @dataclass(frozen=True)
    class Interrupted(Slow):
        def step(self, problem, state):
            after = self.inner.step(problem, state)
            if after.counts["towards"] == 4:
                raise KeyboardInterrupt
            return after

    with pytest.raises(KeyboardInterrupt) as caught:
        solve(problem, Interrupted(0.0), tol=1e-12)
    assert caught.value.solution.n_iter == 3
    assert caught.value.solution.certificate.infeasibility == 0.0


def test_a_callback_that_says_true_ends_the_search():
    solution = solve(
        hard_problem(),
        FrankWolfe("plain"),
        tol=1e-12,
        callback=lambda progress: progress.n_iter == 3,
    )
    assert solution.n_iter == 3
    assert not solution.converged


def test_a_callback_sees_the_point_and_the_history_does_not_keep_it():
    points = []
    solution = solve(
        hard_problem(),
        FrankWolfe("away"),
        tol=1e-3,
        callback=lambda progress: points.append(progress.x),
    )
    assert all(point.shape == (60,) for point in points)
    assert all(line.x is None for line in solution.history)


def test_an_unconverged_solution_returns_its_best_point():
    problem = hard_problem()
    solution = solve(problem, ProjectedGradient(), tol=1e-14, max_iter=12)
    assert solution.certificate.objective == pytest.approx(
        min(line.objective for line in solution.history), abs=1e-14
    )


@dataclass(frozen=True)
class Boastful:
    """A solver whose running sums say that it is done when it is not."""

    lies: int = 10**9

    @property
    def accepts(self):
        return Requirements(domain=("vertex",))

    def begin(self, problem, x):
        x = problem.start() if x is None else x
        honest = FrankWolfe("pairwise").begin(problem, x)
        wrong = problem.judge(x, honest.claim.objective, np.full(x.size, -1.0))
        return State(x, wrong, memory=honest)

    def step(self, problem, state):
        raise AssertionError("not reached: the claim holds at once")


def test_the_problem_has_the_last_word_over_a_solver_that_boasts():
    problem = hard_problem()
    solution = solve(problem, Boastful())
    assert not solution.converged
    assert solution.certificate == problem.certify(solution.x)
    assert "NOT converged" in str(solution)


def test_a_mismatch_says_what_is_missing():
    penalized = Penalized(LeastSquares(np.eye(2), np.ones(2)), L1(2))
    with pytest.raises(SolverMismatchError, match="takes no problem with a penalty"):
        solve(penalized, FrankWolfe())
    logs = Constrained(NegativeMeanLog(np.ones((2, 2))), Simplex(2))
    with pytest.raises(SolverMismatchError, match="NegativeMeanLog has no `prox`"):
        solve(logs, ADMM())
    with pytest.raises(SolverMismatchError, match="neither objective, domain nor"):
        solve(object(), FrankWolfe())


def test_a_problem_that_cannot_leave_columns_out_is_refused_by_partial_pricing():
    problem = Constrained(NegativeMeanLog(np.ones((2, 3))), Simplex(3))
    with pytest.raises(SolverMismatchError, match="Constrained has no `restricted`"):
        solve(problem, PartialPricing())


def test_the_default_solver_is_the_fastest_that_accepts():
    simplex = Constrained(Quadratic(np.eye(2), np.zeros(2)), Simplex(2))
    assert isinstance(default_solver(simplex), Corrective)
    penalized = Penalized(LeastSquares(np.eye(2), np.ones(2)), L1(2))
    assert solve(penalized, tol=1e-9).converged
    with pytest.raises(SolverMismatchError, match="a problem is needed, such as"):
        default_solver(object())


def test_a_tolerance_that_is_not_positive_is_refused():
    with pytest.raises(ValueError, match="tol must be positive, got 0"):
        solve(hard_problem(), tol=0)


def test_a_start_that_makes_no_sense_is_refused_with_words():
    problem = hard_problem()
    for x, words in (
        (np.ones(3) / 3, r"x must have shape \(60,\), got \(3,\)"),
        (np.full(60, np.nan), "x must be finite, got nan at entry 0"),
        (np.ones(60), "x is outside the domain by 59"),
        ([[1.0]], "x must be a non-empty vector"),
    ):
        with pytest.raises(ValueError, match=words):
            solve(problem, ProjectedGradient(), x)
    corner = np.eye(4)[0]
    with pytest.raises(ValueError, match="no finite value at x"):
        solve(MixtureLikelihood(np.eye(4)), Corrective(), corner)


def test_a_start_is_copied():
    start = np.full(60, 1 / 60)
    solution = solve(hard_problem(), FrankWolfe("plain"), start, max_iter=0)
    assert solution.x is not start


def test_a_solver_must_be_an_instance():
    for wrong in (ProjectedGradient, "away"):
        with pytest.raises(TypeError, match="solver must be an instance such as"):
            solve(hard_problem(), wrong)


def test_budgets_must_not_be_negative():
    with pytest.raises(ValueError, match="must not be negative"):
        solve(hard_problem(), max_iter=-1)


def test_a_solution_says_what_ended_the_search():
    problem = hard_problem()
    plain = FrankWolfe("plain")
    assert solve(problem).ended == "proved"
    assert "max_iter = 2" in str(solve(problem, plain, max_iter=2))
    assert "max_time = 0 s" in str(solve(problem, plain, max_time=0.0))
    ended = solve(problem, plain, callback=lambda progress: np.bool_(True))
    assert ended.n_iter == 0
    assert "ended by the callback" in str(ended)


def test_a_callback_is_called_at_the_start_and_after_every_step():
    calls = []
    solution = solve(
        hard_problem(),
        FrankWolfe("away"),
        tol=1e-3,
        callback=lambda progress: calls.append(progress.n_iter),
    )
    assert calls == list(range(solution.n_iter + 1))


def test_a_failure_in_the_user_s_own_code_is_raised_as_it_is():
    class Breaking(Objective):
        calls = 0

        def value(self, x):
            return float(x @ x)

        def gradient(self, x):
            Breaking.calls += 1
            if Breaking.calls > 4:
                raise ZeroDivisionError("mine")
            return 2.0 * x

    problem = Constrained(Breaking(), Simplex(5))
    with pytest.raises(ZeroDivisionError, match="mine"):
        solve(problem, FrankWolfe("plain", "armijo"), np.eye(5)[0], tol=1e-12)


def test_a_gradient_that_is_not_finite_is_named():
    class Entropy(Objective):
        def value(self, x):
            positive = x[x > 0]
            return float(positive @ np.log(positive))

        def gradient(self, x):
            with np.errstate(divide="ignore"):
                return np.log(x) + 1.0

    problem = Constrained(Entropy(), Simplex(3))
    with pytest.raises(ValueError, match="gradient is -inf at entry 1"):
        solve(problem, ProjectedGradient(), np.eye(3)[0])


def test_a_mismatch_names_the_way_out():
    class Plain(Objective):
        def value(self, x):
            return 0.0

        def gradient(self, x):
            return 0.0 * x

    with pytest.raises(SolverMismatchError, match="armijo' needs no `along`"):
        solve(Constrained(Plain(), Simplex(2)), FrankWolfe())


def test_the_same_call_gives_the_same_bytes():
    for solver in (Corrective(), FrankWolfe("pairwise"), ProjectedGradient()):
        first = solve(hard_problem(), solver, tol=1e-4)
        second = solve(hard_problem(), solver, tol=1e-4)
        assert first.x.tobytes() == second.x.tobytes()


def test_a_user_s_own_objective_with_value_and_gradient_alone_is_enough():
    class Exponentials(Objective):
        def value(self, x):
            return float(np.exp(x).sum())

        def gradient(self, x):
            return np.exp(x)

    problem = Constrained(Exponentials(), Simplex(5))
    for solver in (FrankWolfe("pairwise", "armijo"), ProjectedGradient()):
        solution = solve(problem, solver, tol=1e-8)
        assert solution.converged
        np.testing.assert_allclose(solution.x, 0.2, atol=1e-4)


def test_solutions_are_made_by_three_functions_of_one_module_alone():
    root = Path(counterpoise.__file__).parent
    makers = []
    for file in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                makers += [
                    (file.relative_to(root).as_posix(), node.name)
                    for call in ast.walk(node)
                    if isinstance(call, ast.Call)
                    and isinstance(call.func, ast.Name)
                    and call.func.id == "Solution"
                ]
    # `_solution` is what `solve` returns.
    names = ["certified", "attested", "_solution"]
    assert makers == [("optim/loop.py", name) for name in names]


def test_a_problem_without_a_set_is_refused_by_solvers_that_need_one():
    ratio = LogLinearRatio(np.eye(2), np.ones(2), np.full(2, 0.5), 0.1)
    with pytest.raises(SolverMismatchError, match="has no domain"):
        solve(ratio, ProjectedGradient())
    with pytest.raises(SolverMismatchError, match="has no domain and no penalty"):
        solve(ratio, ProximalGradient())
