"""When a proof holds, what ends a search, which point is returned."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from counterpoise.optim import (
    L1,
    Box,
    Breakpoint,
    Certificate,
    Constrained,
    Corrective,
    LeastSquares,
    PathError,
    Penalized,
    ProjectedGradient,
    ProximalGradient,
    Quadratic,
    Requirements,
    Simplex,
    Solution,
    SolutionPath,
    SolverMismatchError,
    State,
    default_solver,
    follow,
    solve,
)
from counterpoise.optim.dc_network.constrained_training import ProxLinear, _Memory
from counterpoise.optim.dc_network.constraints import MeanWithin
from counterpoise.optim.dc_network.network import Network, NetworkObjective, Softplus
from counterpoise.optim.dc_network.training import (
    DirectRounds,
    Penalties,
    ProximalRound,
    RoundProof,
    _State,
    rescaled,
)
from counterpoise.optim.spectral.choice import best_solver


def proof(gap=0.0, *, objective=0.0, kind="gap", **more):
    return Certificate(kind, objective, objective - gap, gap, **more)


# -- when a certificate holds ----------------------------------------------------------


def test_a_gap_of_exactly_tol_times_the_scale_holds():
    assert proof(2e-3, scale=2.0).holds(1e-3)
    assert not proof(2e-3 * (1 + 1e-9), scale=2.0).holds(1e-3)


def test_a_certificate_of_kind_none_always_holds_and_a_value_of_nan_never():
    assert Certificate("none", float("nan")).holds(1e-9)
    assert not proof(0.0, objective=float("nan")).holds(1.0)


def test_a_point_outside_its_set_is_no_answer_however_small_its_gap():
    assert proof(0.0, infeasibility=1e-6).holds(1e-3)
    assert not proof(0.0, infeasibility=1.01e-6).holds(1e-3)
    assert proof(0.0, infeasibility=1e-8).holds(1e-8)
    assert not proof(0.0, infeasibility=1.01e-8).holds(1e-8)
    assert proof(0.0, infeasibility=1e-12).holds(1e-15)


def test_where_nothing_is_bounded_the_residual_decides():
    assert Certificate("stationarity", 0.0, residual=1e-3).holds(1e-3)
    assert not Certificate("stationarity", 0.0, residual=1.01e-3).holds(1e-3)
    assert not Certificate("stationarity", 0.0).holds(1e9)


def test_a_bound_that_is_not_attained_leaves_the_decision_to_the_residual():
    assert proof(5.0, kind="divergence", residual=1e-4).holds(1e-3)
    assert not proof(0.0, kind="divergence", residual=1e-2).holds(1e-3)


def test_a_global_bound_leaves_the_decision_on_stationarity_to_the_residual():
    assert proof(5.0, kind="stationarity", residual=1e-3).holds(1e-3)
    assert not proof(0.0, kind="stationarity", residual=1.01e-3).holds(1e-3)
    assert "global bound -5" in str(proof(5.0, kind="stationarity", residual=0.0))


def test_a_certificate_says_that_an_infeasible_point_proves_nothing():
    assert "INFEASIBLE" not in str(proof(0.1, infeasibility=1e-6))
    assert "INFEASIBLE" in str(proof(0.1, infeasibility=1.1e-6))


def test_a_solution_has_converged_if_its_certificate_holds_at_its_own_tol():
    x = np.zeros(1)
    assert Solution(x, proof(1e-3), 1e-3).converged
    assert not Solution(x, proof(1e-3), 1e-4).converged
    assert "NOT converged" in str(Solution(x, proof(1e-3), 1e-4))


# -- the loop --------------------------------------------------------------------------


@dataclass
class Known:
    """A problem that proves of a point what it was told to prove."""

    proofs: dict = field(default_factory=dict)
    objective = None

    def start(self):
        return np.zeros(1)

    def certify(self, x, hint=None):
        gap = abs(float(x[0]))
        return self.proofs.get(float(x[0]), proof(gap, objective=gap))


@dataclass
class Told:
    """A solver that goes where it was told to go."""

    states: list
    begun: list = field(default_factory=list)
    accepts = Requirements()

    def begin(self, problem, x):
        self.begun.append(x)
        if len(self.begun) > 1:
            return State(x, problem.certify(x))
        return self.states[0]

    def step(self, problem, state):
        return self.states[[s is state for s in self.states].index(True) + 1]


def at(x, claim=None, **more):
    gap = abs(x)
    return State(np.array([x]), claim or proof(gap, objective=gap), **more)


def test_a_claim_that_the_problem_does_not_prove_begins_the_search_anew_there():
    solver = Told([at(5.0), at(1.0, proof(0.0, objective=1.0))])
    found = solve(Known(), solver, tol=0.5, max_iter=1)
    assert [None if x is None else float(x[0]) for x in solver.begun] == [None, 1.0]
    assert not found.converged
    assert found.ended == "max_iter = 1 reached"


def test_a_claim_that_fails_twice_at_one_step_ends_the_search_without_a_proof():
    false = proof(0.0, objective=1.0)

    class Stubborn(Told):
        def begin(self, problem, x):
            self.begun.append(x)
            return at(1.0, false)

    found = solve(Known(), Stubborn([]), tol=0.5)
    assert not found.converged
    assert found.certificate.gap == 1.0


def test_a_stall_is_told_before_the_budget_of_steps():
    found = solve(Known(), Told([at(1.0, stalled=True)]), tol=0.5, max_iter=0)
    assert found.ended == "stalled: no step improves the point"


def test_no_step_begins_once_max_iter_is_reached():
    states = [at(3.0), at(2.0), at(1.0), at(0.0)]
    found = solve(Known(), Told(states), tol=0.5, max_iter=2)
    assert (found.n_iter, float(found.x[0])) == (2, 1.0)


def test_no_step_begins_after_max_time():
    found = solve(Known(), Told([at(3.0), at(2.0)]), tol=0.5, max_time=0.0)
    assert (found.n_iter, found.ended) == (0, "max_time = 0 s reached")


def test_a_proof_counts_before_any_budget():
    found = solve(Known(), Told([at(0.0)]), tol=0.5, max_iter=0, max_time=0.0)
    assert found.converged
    assert found.ended == "proved"


def test_a_callback_ends_the_search_by_true_alone():
    states = [at(3.0), at(2.0), at(0.0)]
    found = solve(Known(), Told(states), tol=0.5, callback=lambda _: 1)
    assert found.converged
    found = solve(Known(), Told(states), tol=0.5, callback=lambda _: True)
    assert (found.n_iter, found.ended) == (0, "ended by the callback")


def test_the_best_point_is_inside_then_lower_then_of_the_smaller_gap():
    low_outside = State(np.array([2.0]), proof(0.7, objective=-9.0, infeasibility=1e-5))
    inside = State(np.array([3.0]), proof(0.9, objective=1.0))
    same_but_closer = State(np.array([4.0]), proof(0.8, objective=1.0))
    higher = State(np.array([5.0]), proof(0.6, objective=1.1))
    states = [low_outside, inside, same_but_closer, higher]
    told = {float(s.x[0]): s.claim for s in states}
    for n_steps, best in ((0, 2.0), (1, 3.0), (2, 4.0), (3, 4.0)):
        found = solve(Known(told), Told(states), tol=1e-9, max_iter=n_steps)
        assert float(found.x[0]) == best


def test_tol_must_be_positive_and_budgets_not_negative():
    for wrong in ({"tol": 0.0}, {"max_iter": -1}, {"max_time": -0.1}):
        with pytest.raises(ValueError, match="must"):
            solve(Known(), Told([at(0.0)]), **wrong)


def test_a_start_a_hair_outside_is_projected_and_one_further_out_refused():
    problem = Constrained(Quadratic(np.eye(2), np.zeros(2)), Simplex(2))
    solver = ProjectedGradient()
    near = np.array([0.5, 0.5 + 9e-7])
    begun = solve(problem, solver, near, max_iter=0)
    assert begun.certificate.infeasibility <= 1e-12
    with pytest.raises(ValueError, match="outside the domain"):
        solve(problem, solver, np.array([0.5, 0.5 + 1.1e-6]))


# -- which solver ----------------------------------------------------------------------


def test_the_default_solver_is_the_first_of_three_that_accepts_the_problem():
    quadratic = Quadratic(np.eye(2), np.zeros(2))
    box = Box(np.zeros(2), np.ones(2))
    assert isinstance(default_solver(Constrained(quadratic, Simplex(2))), Corrective)
    assert isinstance(default_solver(Constrained(quadratic, box)), ProjectedGradient)
    penalized = Penalized(LeastSquares(np.eye(2), np.zeros(2)), L1(2, 0.1))
    assert isinstance(default_solver(penalized), ProximalGradient)


def test_a_solver_is_refused_by_the_name_of_what_is_missing():
    wanting = Requirements(objective=("value", "columns"), domain=None, hint="try this")
    problem = SimpleNamespace(objective=SimpleNamespace(value=1), domain=object())
    lacking = wanting.lacking(problem)
    assert lacking[0] == "the objective SimpleNamespace has no `columns`"
    assert lacking[1:] == ["it takes no problem with a domain", "try this"]
    accepted = SimpleNamespace(objective=SimpleNamespace(value=1, columns=1))
    assert wanting.lacking(accepted) == []
    with pytest.raises(SolverMismatchError, match="neither objective, domain"):
        default_solver(object())


@pytest.mark.parametrize(
    ("m", "N", "name"),
    [
        (20, 1000, "RankOneInteriorPoint"),
        (21, 1000, "FeatureSubspace"),
        (500, 30, "RankOneInteriorPoint"),
        (501, 30, "ColumnGeneration"),
        (500, 31, "FeatureSubspace"),
        (6000, 100, "FeatureSubspace"),
        (6001, 100, "ColumnGeneration"),
        (10_100, 100, "ColumnGeneration"),
        (10_101, 100, "FeatureSubspace"),
    ],
)
def test_the_way_to_least_discrepancy_goes_by_rows_and_columns(m, N, name):
    problem = SimpleNamespace(rows=SimpleNamespace(shape=(m, N)), spread=0.0)
    assert type(best_solver(problem)).__name__ == name


@pytest.mark.parametrize(
    ("spread", "m", "N", "name"),
    [
        (1e-3, 3000, 45, "Fallback"),
        (0.9e-3, 3000, 45, "FeatureSubspace"),
        (1e-3, 2999, 20, "ColumnGeneration"),
        (1e-3, 3000, 46, "FeatureSubspace"),
        (1e-3, 400, 5, "RankOneInteriorPoint"),
    ],
)
def test_many_rows_of_few_columns_with_a_spread_go_by_the_dual(spread, m, N, name):
    problem = SimpleNamespace(rows=SimpleNamespace(shape=(m, N)), spread=spread)
    found = best_solver(problem)
    assert type(found).__name__ == name
    if name == "Fallback":
        assert (type(found.first).__name__, found.most) == ("DualNewton", 15)
        assert type(found.then).__name__ == "ColumnGeneration"


@pytest.mark.parametrize(
    ("q", "tol", "name"),
    [
        (600, 1e-2, "KernelFactor"),
        (601, 1e-2, "KernelSubspace"),
        (601, 5e-3, "KernelSubspace"),
        (601, 4.9e-3, "KernelFactor"),
    ],
)
def test_a_kernel_of_few_rows_or_for_a_fine_gap_is_solved_by_its_factor(q, tol, name):
    class Identity:
        size = q

        def diagonal(self):
            return np.ones(q)

        def block(self, rows, columns):
            return np.eye(q)[rows, columns]

    problem = SimpleNamespace(kernel=Identity(), size=q // 2, spread=0.0)
    assert type(best_solver(problem, tol)).__name__ == name


# -- paths -----------------------------------------------------------------------------


class Steps:
    """A program whose breakpoints are given."""

    def __init__(self, *thetas):
        self.thetas, self.start, self.stop = thetas, thetas[0], thetas[-1]

    def begin(self):
        return Breakpoint(self.thetas[0], np.array([self.thetas[0]]), 0)

    def advance(self, here):
        k = here.memory + 1
        return Breakpoint(self.thetas[k], np.array([self.thetas[k]]), k)

    def certify(self, theta, x):
        return proof(abs(theta - float(x[0])))


def test_a_path_that_goes_backwards_is_an_error_and_one_that_stands_still_is_not():
    assert follow(Steps(0.0, 0.5, 0.5, 1.0)).n_events == 3
    assert follow(Steps(1.0, 0.5, 0.5, 0.0)).n_events == 3
    with pytest.raises(PathError, match="backwards"):
        follow(Steps(0.0, 0.5, 0.4, 1.0))


def test_a_path_of_more_pieces_than_allowed_is_an_error():
    assert follow(Steps(0.0, 0.5, 1.0), max_events=2).n_events == 2
    with pytest.raises(PathError, match=r"more than 1 events .reached theta = 0.5"):
        follow(Steps(0.0, 0.5, 1.0), max_events=1)


def test_a_truncated_path_is_never_returned():
    seen = []
    follow(Steps(0.0, 0.5, 1.0), callback=seen.append)
    assert [point.theta for point in seen] == [0.0, 0.5]
    with pytest.raises(PathError, match="ended by the callback"):
        follow(Steps(0.0, 0.5, 1.0), callback=lambda point: point.theta > 0.0)


def test_a_path_answers_between_its_ends_alone():
    path = follow(Steps(1.0, 0.25, 0.0))
    assert isinstance(path, SolutionPath)
    assert [float(path.at(t)[0]) for t in (1.0, 0.25, 0.125, 0.0)] == [
        1.0,
        0.25,
        0.125,
        0.0,
    ]
    for outside in (-1e-9, 1.0 + 1e-9):
        with pytest.raises(ValueError, match="theta must be between 0 and 1"):
            path.at(outside)


def test_of_two_points_outside_the_nearer_one_is_returned():
    class Wandering:
        accepts = Requirements(domain=())

        def begin(self, problem, x):
            claim = proof(1.0, objective=5.0, infeasibility=0.1)
            return State(np.array([1.0]), claim)

        def step(self, problem, state):
            claim = proof(1.0, objective=1.0, infeasibility=0.2)
            return State(np.array([2.0]), claim, stalled=True)

    problem = Constrained(Quadratic(np.eye(1), np.zeros(1)), Box([-9.0], [9.0]))
    assert solve(problem, Wandering()).x[0] == 1.0


# -- networks --------------------------------------------------------------------------


def one_round(**penalties):
    """Return a round of two layers and one row, with signals that are known."""
    f = NetworkObjective(
        Network((1, 1, 1), Softplus()),
        np.array([[0.0]]),
        np.array([[-1.0]]),
        np.ones(1),
        0.0,
    )
    # The output is zero and the residual one: delta is 2, the pull 2 times the weight.
    x = np.array([1.0, 0.0, 0.5, -0.5 * np.log(2.0)])
    numbers = {"weights": 1.0, "hidden": 1.0, "bregman": 1.0, **penalties}
    pen = Penalties(
        (1.0, numbers["weights"]),
        (1.0, 1.0),
        (numbers["hidden"],),
        (numbers["bregman"],),
    )
    return ProximalRound(f, x, pen), x


def test_a_round_is_proved_up_to_a_ratio_of_exactly_one():
    for name in ("weights", "hidden", "bregman"):
        # The last layer's own penalties must not make S singular.
        others = dict.fromkeys(("weights", "hidden", "bregman"), 4.0)
        around, x = one_round(**{**others, name: 1.0})
        proof = around.prove(x)
        assert proof.exactness == 1.0
        assert proof.gap < np.inf
        around, x = one_round(**{**others, name: 1.0 - 1e-9})
        proof = around.prove(x)
        assert proof.exactness == pytest.approx(1.0, abs=1e-8)
        assert proof.exactness > 1.0
        assert proof.gap == np.inf


def test_penalties_double_above_one_and_shrink_below_six_tenths():
    penalties = Penalties((7.0, 1.0, 1.0), (7.0,) * 3, (1.0, 1.0), (1.0, 1.2e-6))
    proof = RoundProof(0.0, (1.0, 1.0 + 1e-12), (2.0, 0.5), (1.0, 9.0), 0.0, 0.0)
    more = rescaled(penalties, proof, grow=True)
    assert more.weights == (7.0, 1.0, 2.0)
    assert more.hidden == (2.0, 1.0)
    assert more.bregman == (1.0, 2.4e-6)
    proof = RoundProof(0.0, (0.6, 0.6 - 1e-12), (0.9, 0.1), (0.7, 0.1), 0.0, 0.0)
    less = rescaled(penalties, proof, grow=False)
    assert less.weights == (7.0, 1.0, 1.0 / 1.5)
    assert less.hidden == (1.0, 1.0 / 1.5)
    assert less.bregman == (1.0, 1e-6)
    assert less.biases == more.biases == (7.0,) * 3


@pytest.mark.parametrize(("value", "ahead"), [(1.0, True), (1.0 + 1e-12, False)])
def test_a_round_is_centered_ahead_unless_the_objective_is_higher_there(value, ahead):
    problem = SimpleNamespace(objective=SimpleNamespace(value=lambda x: value))
    state = SimpleNamespace(x=np.array([2.0]), claim=proof(objective=1.0))
    memory = _State(None, np.array([1.0]), 4)
    center, count = DirectRounds._center(problem, state, memory)
    assert center == pytest.approx([2.5] if ahead else [2.0])
    assert count == (4 if ahead else 1)


@dataclass
class Promising:
    """A problem on a line: its model promises one, and keeps a share of it.

    From an eta of one on it keeps half. `keepable` is whether a last layer keeps the
    limits, `holds` whether they hold.
    """

    share: float
    holds: bool = True
    keepable: bool = True
    etas: list = field(default_factory=list)
    price = 1.0

    def model(self, x, eta):
        self.etas.append(eta)
        step = self.share if eta < 1.0 else 0.5
        return SimpleNamespace(d=np.array([step]), promised=1.0)

    def kept(self, x):
        return x

    def merit(self, x):
        return 10.0 - float(x[0])

    def violation(self, x):
        return 0.0 if self.holds else 1.0

    def refitted(self, x, price=None):
        return x if self.keepable or price is not None else None

    def judged(self, x, model):
        return proof(objective=self.merit(x))


def stepped(problem, eta):
    x = np.zeros(1)
    memory = _Memory(eta, problem.model(x, eta))
    state = State(x, proof(objective=10.0), memory, counts={"tries": 0})
    return ProxLinear().step(problem, state)


@pytest.mark.parametrize(("share", "taken"), [(0.1, True), (0.1 - 1e-9, False)])
def test_a_step_is_taken_if_a_tenth_of_the_promise_is_kept(share, taken):
    problem = Promising(share)
    state = stepped(problem, 0.3)
    assert state.x[0] == (share if taken else 0.5)
    assert problem.etas == ([0.3, 0.15] if taken else [0.3, 1.2, 0.6])
    assert state.memory.eta == problem.etas[-1]


def test_a_step_that_would_give_up_what_holds_is_not_taken():
    assert stepped(Promising(0.5, keepable=False), 0.1).stalled
    assert not stepped(Promising(0.5, holds=False, keepable=False), 0.1).stalled


def test_an_interval_keeps_half_of_its_width():
    limit = MeanWithin("m", np.zeros(1, dtype=int), np.ones(1), 1.0, 2.0)
    assert (limit.tightened(0.1).low, limit.tightened(0.1).high) == (1.1, 1.9)
    assert (limit.tightened(9.0).low, limit.tightened(9.0).high) == (1.25, 1.75)
    point = MeanWithin("m", np.zeros(1, dtype=int), np.ones(1), 1.0, 1.0)
    assert (point.tightened(0.1).low, point.tightened(0.1).high) == (1.0, 1.0)
