"""Limits on outputs: programs against cvxpy, rounds that keep what holds."""

import cvxpy as cp
import numpy as np
import pytest

from counterpoise.optim import solve
from counterpoise.optim.dc_network import constraints as programs
from counterpoise.optim.dc_network.constrained_training import (
    ConstrainedTraining,
    ExactLayer,
    LayerObjective,
    OutputLayer,
    ProxLinear,
)
from counterpoise.optim.dc_network.constraints import (
    ErrorBound,
    MeanWithin,
    RisingRows,
    SignedWeights,
    best_of_all,
)
from counterpoise.optim.dc_network.network import Network, NetworkObjective, Sigmoid


def rows_of(seed, m=40, d=3, n_outputs=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, d))
    codes = np.arange(m) % 3 == 0
    Y = np.column_stack([codes, ~codes]).astype(float)[:, :n_outputs]
    share = rng.random(m) + 0.2
    return X, Y, share / share.sum(), codes, rng


def bound_of(name, rows, share, Y, bound):
    return ErrorBound(name, rows, share[rows] / share[rows].sum(), Y[rows], bound)


def layer_of(seed, limits_of, alpha=0.05, n_outputs=1, signs=None):
    X, Y, share, codes, _ = rows_of(seed, n_outputs=n_outputs)
    A = np.column_stack([X, np.ones(len(X))])
    extra = np.column_stack([X + 0.5, np.ones(len(X))])
    inputs = np.vstack([A, extra])
    limits = limits_of(Y, share, codes)
    objective = LayerObjective(A, Y, share, alpha)
    return OutputLayer(objective, inputs, limits, signs), Y, share


def by_cvxpy(layer):
    """Return the optimum and the layer that cvxpy finds, written out anew."""
    f = layer.objective
    theta = cp.Variable((f.A.shape[1], f.Y.shape[1]))
    z = layer.inputs @ theta
    loss = cp.sum(
        cp.multiply(f.share[:, None] * np.ones(f.Y.shape), cp.square(f.A @ theta - f.Y))
    )
    rules = []
    for limit in layer.limits:
        if isinstance(limit, ErrorBound):
            off = cp.abs(z[limit.rows] - limit.truth)
            rules.append(limit.share @ cp.sum(off, axis=1) <= limit.bound)
        elif isinstance(limit, MeanWithin):
            mean = limit.share @ z[limit.rows, 0]
            rules += [mean <= limit.high, mean >= limit.low]
        else:
            rules.append(z[limit.upper, 0] >= z[limit.lower, 0])
    if layer.signs is not None:
        flat = cp.reshape(theta, (theta.size,), order="C")
        rules.append(cp.multiply(layer.signs.signs, flat[layer.signs.places]) >= 0)
    value = loss + 0.5 * f.alpha * cp.sum_squares(theta[:-1])
    problem = cp.Problem(cp.Minimize(value), rules)
    problem.solve(solver="CLARABEL")
    return problem, theta.value


LIMITS = {
    "none": lambda Y, share, codes: [],
    "class bounds": lambda Y, share, codes: [
        bound_of("a", np.flatnonzero(codes), share, Y, 0.5),
        bound_of("b", np.flatnonzero(~codes), share, Y, 0.55),
    ],
    "a mean": lambda Y, share, codes: [
        MeanWithin("m", np.arange(40, 80), share, 0.2, 0.21)
    ],
    "a mean from above": lambda Y, share, codes: [
        MeanWithin("m", np.arange(40, 80), share, -np.inf, 0.21)
    ],
    "rising": lambda Y, share, codes: [
        RisingRows("r", np.arange(40), np.arange(40, 80))
    ],
}


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("name", LIMITS)
def test_one_layer_is_the_constrained_least_squares_of_cvxpy(name, n_outputs):
    loose = 1.0 if n_outputs == 1 else 2.0

    def limits(Y, share, codes):
        some = LIMITS[name](Y, share, codes)
        return [
            one.tightened(one.bound * (1.0 - loose)) if name == "class bounds" else one
            for one in some
        ]

    layer, _, _ = layer_of(0, limits, n_outputs=n_outputs)
    problem, theta = by_cvxpy(layer)
    found = solve(layer, ExactLayer(), tol=1e-6, max_iter=1)
    assert found.converged
    assert found.certificate.kind == "duality gap"
    assert layer.violation(found.x) == 0.0
    assert found.certificate.objective == pytest.approx(problem.value, abs=1e-6)
    assert found.certificate.bound <= problem.value + 1e-9
    np.testing.assert_allclose(found.x.reshape(theta.shape), theta, atol=1e-3)
    # Multipliers are those of cvxpy.
    if name == "class bounds":
        ours = layer.solved()[1].above
        theirs = [float(np.squeeze(one.dual_value)) for one in problem.constraints]
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_signs_of_a_layer_are_kept_as_by_cvxpy():
    signs = SignedWeights("s", np.array([0, 1]), np.array([1.0, -1.0]))
    layer, _, _ = layer_of(1, LIMITS["class bounds"], signs=signs)
    problem, theta = by_cvxpy(layer)
    found = solve(layer, ExactLayer(), tol=1e-6, max_iter=1)
    assert found.converged
    assert found.certificate.objective == pytest.approx(problem.value, abs=1e-6)
    np.testing.assert_allclose(found.x, theta.ravel(), atol=1e-3)


def test_rows_that_join_give_the_same_answer_as_all_rows_at_once(monkeypatch):
    def solved():
        layer, _, _ = layer_of(0, LIMITS["class bounds"])
        return layer.solved()

    x, answer = solved()
    monkeypatch.setattr(programs, "SMALL_PROGRAM", 0)
    monkeypatch.setattr(programs, "LIKELY_TO_TURN", 0.01)
    joined, other = solved()
    np.testing.assert_allclose(joined, x, atol=1e-6)
    np.testing.assert_allclose(other.above, answer.above, atol=1e-5)


def test_a_bound_that_no_layer_keeps_is_proved_infeasible():
    def limits(Y, share, codes):
        return [
            bound_of(str(k), np.flatnonzero(codes == k), share, Y, 0.01) for k in (0, 1)
        ]

    layer, _, _ = layer_of(0, limits)
    assert layer.solved() is None
    assert layer.impossible()
    assert not layer_of(0, LIMITS["class bounds"])[0].impossible()
    problem, _ = by_cvxpy(layer)
    assert problem.status == "infeasible"
    x, answer = layer.solved(price=100.0)
    assert layer.violation(x) > 0.01
    assert answer.slacks.max() == pytest.approx(layer.violation(x), abs=1e-6)


# -- rounds ----------------------------------------------------------------------------


def training_of(seed, bound, *, sizes=(3, 4, 3, 1), m=40, signs=False, on_rows=False):
    X, Y, share, codes, rng = rows_of(seed, m)
    network = Network(sizes, Sigmoid())
    f = NetworkObjective(network, X, Y, share, 1e-2)
    limits = [
        bound_of("a", np.flatnonzero(codes), share, Y, bound),
        bound_of("b", np.flatnonzero(~codes), share, Y, bound),
    ]
    rows = X
    if on_rows:
        rows = np.vstack([X, X + np.array([1.0, 0.0, 0.0])])
        limits = [RisingRows("r", np.arange(m), np.arange(m, 2 * m))]
    own = None
    if signs:
        places = np.arange(4)
        own = SignedWeights("s", places, np.ones(4))
    x = 0.7 * rng.standard_normal(network.size)
    return ConstrainedTraining(f, rows, limits, own, x)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("bound", [0.3, 0.45])
def test_the_merit_never_rises_and_what_holds_once_always_holds(seed, bound):
    training = training_of(seed, bound)
    rounds = []
    found = solve(training, ProxLinear(rounds.append), tol=1e-7, max_iter=12)
    history = [line.objective for line in found.history]
    assert np.diff(history).max() <= 0.0
    kept = [one.violation == 0.0 for one in rounds]
    assert kept == sorted(kept)
    assert kept[-1]
    assert training.violation(found.x) == 0.0
    assert found.certificate.kind == "stationarity"


@pytest.mark.parametrize("how", [{"signs": True}, {"on_rows": True}])
def test_signs_and_rising_rows_are_kept_in_every_round(how):
    training = training_of(1, 0.45, **how)
    rounds = []
    found = solve(training, ProxLinear(rounds.append), tol=1e-7, max_iter=8)
    assert rounds[-1].violation == 0.0
    assert training.violation(found.x) == 0.0
    assert np.diff([line.objective for line in found.history]).max() <= 0.0


def test_the_residual_is_what_the_model_promises_and_vanishes_where_rounds_end():
    training = training_of(0, 0.4, sizes=(3, 2, 1))
    found = solve(training, ProxLinear(), tol=1e-6, max_iter=300)
    assert found.converged
    assert training.certify(found.x).residual <= 1e-6 * training.objective.scale
    assert training.certify(training.start()).residual > 1e-3


def test_prices_are_minus_the_slope_of_the_objective_by_the_bound():
    def optimum(bound, start=None):
        training = training_of(0, bound, sizes=(3, 2, 1))
        found = solve(training, ProxLinear(), start, tol=1e-9, max_iter=400)
        return training, found

    training, middle = optimum(0.4)
    _, above, _ = training.prices(middle.x)
    step = 2e-3
    up, down = (optimum(0.4 + s, middle.x)[1] for s in (step, -step))
    slope = (down.certificate.objective - up.certificate.objective) / (2 * step)
    assert above.sum() == pytest.approx(slope, rel=0.05)
    assert slope > 1e-3


def test_no_function_keeps_bounds_of_equal_rows_of_two_classes():
    rows = np.array([[0.0], [0.0], [1.0]])
    Y = np.array([[0.0], [1.0], [1.0]])
    limits = [
        bound_of("a", np.array([0]), np.ones(3), Y, 0.3),
        bound_of("b", np.array([1, 2]), np.ones(3), Y, 0.3),
    ]
    # With value v at zero: v <= 0.3 + s and (1 - v) / 2 <= 0.3 + t, so s + 2t >= 0.1.
    assert best_of_all(rows, 1, limits).excess.sum() == pytest.approx(0.05)
    apart = np.array([[0.0], [2.0], [1.0]])
    assert best_of_all(apart, 1, limits).excess.sum() <= 1e-12
    means = [
        MeanWithin("m", np.array([0]), np.ones(1), 1.0, 2.0),
        MeanWithin("n", np.array([1]), np.ones(1), -2.0, 0.0),
        RisingRows("r", np.array([2]), np.array([0])),
    ]
    assert best_of_all(rows, 1, means).excess.sum() == pytest.approx(1.0)


def test_a_poor_answer_of_the_solver_does_not_pass_for_a_stationary_point(monkeypatch):
    X, Y, share, codes, rng = rows_of(0)
    network = Network((3, 2, 1), Sigmoid())
    f = NetworkObjective(network, X, Y, share, 0.01)
    limits = [bound_of("a", np.flatnonzero(codes), share, Y, 5.0)]
    x = rng.standard_normal(network.size)
    training = ConstrainedTraining(f, X, limits, None, x)
    honest = training.certify(x)
    assert not honest.holds(1e-3)
    solve_well = programs._Rows.solve

    def lazy(rows, price):
        d, z, status = solve_well(rows, price)
        return 0.0 * d, z, status

    with monkeypatch.context() as patch:
        patch.setattr(programs._Rows, "solve", lazy)
        assert training.certify(x).residual >= 0.999 * honest.residual
    with monkeypatch.context() as patch:
        patch.setattr(programs.LimitedProgram, "solved", lambda *given: None)
        assert training.certify(x).residual == np.inf
