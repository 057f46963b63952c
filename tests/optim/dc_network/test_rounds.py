"""Activations, layers and rounds: formulas, proofs, and the cone program."""

import numpy as np
import pytest

from counterpoise.optim import solve
from counterpoise.optim.dc_network.network import (
    ACTIVATIONS,
    Network,
    NetworkObjective,
    Sigmoid,
    Softplus,
)
from counterpoise.optim.dc_network.published import relaxed_round
from counterpoise.optim.dc_network.training import (
    DirectRounds,
    NetworkTraining,
    Penalties,
    ProximalRound,
)

EVERY = {**ACTIVATIONS, "steep softplus": Softplus(tau=10.0)}


def case(seed=0, sizes=(3, 4, 3, 1), m=15, alpha=1e-2, activation=None):
    """Return an objective on random rows and a random start."""
    rng = np.random.default_rng(seed)
    network = Network(sizes, activation or Sigmoid())
    share = rng.random(m) + 0.2
    f = NetworkObjective(
        network,
        rng.standard_normal((m, sizes[0])),
        rng.standard_normal((m, sizes[-1])),
        share / share.sum(),
        alpha,
    )
    return f, 0.7 * rng.standard_normal(network.size), rng


# -- activations -----------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_an_activation_is_the_difference_of_two_convex_functions(name):
    one, z = EVERY[name], np.linspace(-9.0, 9.0, 2001)
    p, q = one.parts(z)
    np.testing.assert_allclose(p - q, one.value(z), atol=1e-14)
    for part in (p, q):
        assert np.diff(part, 2).min() >= -1e-14


@pytest.mark.parametrize("name", EVERY)
def test_slopes_and_curvature_are_those_of_differences(name):
    one, z, e = EVERY[name], np.linspace(-9.0, 9.0, 2001), 1e-6
    up, down = one.parts(z + e), one.parts(z - e)
    for k, slope in enumerate(one.part_slopes(z)):
        # The second derivative jumps at zero, by a part of the step.
        np.testing.assert_allclose((up[k] - down[k]) / (2 * e), slope, atol=1e-6)
        steps = np.abs(np.diff(slope)) / np.diff(z)
        assert steps.max() <= one.curve * (1 + 1e-9)
    whole = (one.value(z + e) - one.value(z - e)) / (2 * e)
    np.testing.assert_allclose(whole, one.slope(z), atol=1e-8)
    largest = max((np.abs(np.diff(s)) / np.diff(z)).max() for s in one.part_slopes(z))
    assert largest >= 0.99 * one.curve


@pytest.mark.parametrize("name", EVERY)
def test_all_in_one_go_is_the_same(name):
    one, z = EVERY[name], np.linspace(-40.0, 40.0, 401)
    p, q = one.parts(z)
    dp, dq = one.part_slopes(z)
    expected = one.value(z), one.slope(z), p + q, dp + dq
    for found, wanted in zip(one.together(z), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-14)


# -- layers ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_gradients_and_the_jacobian_equal_differences(name):
    f, x, rng = case(1, (3, 4, 3, 2), activation=EVERY[name])
    v, e = rng.standard_normal(x.size), 1e-6
    penalties = Penalties((0.5, 0.7, 0.9), (0.3, 0.2, 0.1), (1.0, 0.4), (0.8, 0.2))
    around = ProximalRound(f, x + 0.3 * v, penalties)
    for value, gradient in (
        (f.value, f.gradient(x)),
        (lambda at: around.evaluate(at)[0], around.evaluate(x)[1]),
    ):
        slope = (value(x + e * v) - value(x - e * v)) / (2 * e)
        assert gradient @ v == pytest.approx(slope, rel=1e-7)
    J, z = f.network.jacobian(x, f.X)
    up, down = f.network.outputs(x + e * v, f.X), f.network.outputs(x - e * v, f.X)
    np.testing.assert_allclose(J @ v, (up - down) / (2 * e), atol=1e-8)
    np.testing.assert_array_equal(z, f.network.outputs(x, f.X))


def test_the_regularizer_is_zero_at_the_old_point_and_nowhere_negative():
    f, x, rng = case(2)
    around = ProximalRound(f, x, Penalties.equal(3, 0.3))
    assert around.evaluate(x)[0] == pytest.approx(f.value(x), rel=1e-14)
    for _ in range(50):
        there = x + rng.standard_normal(x.size)
        assert around.evaluate(there)[0] >= f.value(there)


# -- the exactness test ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "softplus"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_round_is_exact_where_the_cone_program_says_so(name, seed):
    f, x, _ = case(seed, (2, 3, 2, 1), m=8, activation=ACTIVATIONS[name])
    seen = set()
    for eta in (0.1, 1.0, 3.0, 10.0):
        around = ProximalRound(f, x, Penalties.equal(3, eta))
        proof = around.prove(around.minimized(x))
        relaxed = relaxed_round(around)
        assert relaxed.value <= proof.value + 1e-6
        if proof.exactness <= 1.0:
            seen.add("exact")
            assert relaxed.value == pytest.approx(proof.value, abs=1e-6)
            assert relaxed.gap <= 1e-5
            assert proof.gap <= 1e-8
        elif proof.exactness > 2.0:
            seen.add("not")
            assert relaxed.value < proof.value - 1e-5
            assert proof.gap == np.inf
    assert seen == {"exact", "not"}


def test_no_point_goes_below_the_proved_bound():
    f, x, rng = case(3)
    around = ProximalRound(f, x, Penalties.equal(3, 30.0))
    found = around.minimized(x)
    for size in (0.0, 1e-3, 1e-2):
        # A point that is not stationary has a bound too, and a wider gap.
        near = found + size * rng.standard_normal(x.size)
        proof = around.prove(near)
        assert proof.exactness <= 1.0
        assert proof.value - proof.gap <= around.evaluate(found)[0] + 1e-12
        assert proof.gap >= proof.value - around.evaluate(found)[0] - 1e-12
        for _ in range(20):
            there = near + 0.3 * rng.standard_normal(x.size)
            assert around.evaluate(there)[0] >= proof.value - proof.gap - 1e-12


def test_the_bound_is_as_tight_as_a_quadratic_allows():
    # Of one layer F is quadratic and the gap is the excess itself, weights and biases
    # apart.
    f, x, _ = case(4, (3, 1), alpha=0.3)
    around = ProximalRound(f, x, Penalties((0.7,), (1e-3,), (), ()))
    assert around.prove(around.minimized(x)).gap <= 1e-10


# -- rounds ----------------------------------------------------------------------------


@pytest.mark.parametrize("proved", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_objective_never_rises_and_every_round_is_proved(seed, proved):
    f, x, _ = case(seed, m=30, alpha=[0.0, 1e-2, 0.1][seed])
    rounds = []
    solver = DirectRounds(proved, rounds.append)
    found = solve(NetworkTraining(f, x, proved), solver, tol=1e-7, max_iter=15)
    history = [line.objective for line in found.history]
    assert history[0] == f.value(x)
    assert np.diff(history).max() <= 0.0
    assert len(rounds) == found.n_iter >= 1
    if proved:
        assert all(one.exactness <= 1.0 and one.gap <= 1e-7 for one in rounds)
        assert found.certificate.kind == "global minimum of the proximal round"
    else:
        assert found.certificate.kind == "stationarity"


def test_a_gap_bounds_what_the_proved_round_around_a_point_does():
    f, x, _ = case(5, m=30)
    training = NetworkTraining(f, x)
    short = solve(training, DirectRounds(), tol=1e-9, max_iter=5)
    proof = training.certify(short.x)
    assert not proof.holds(1e-7)
    # Penalties at least those that the certificate speaks of.
    for eta in (0.5, 2.0, 8.0):
        around = ProximalRound(f, short.x, Penalties.equal(3, eta))
        if around.prove(short.x).exactness <= 0.5:
            found = around.evaluate(around.minimized(short.x))[0]
            assert found >= proof.bound - 1e-12


@pytest.mark.slow
def test_rounds_converge_to_a_stationary_point():
    f, x, _ = case(5, m=30)
    found = solve(NetworkTraining(f, x), DirectRounds(), tol=1e-7, max_iter=2000)
    assert found.converged
    assert np.abs(f.gradient(found.x)).max() <= 1e-3


def test_permuting_rows_or_hidden_units_changes_nothing_but_the_order():
    f, x, rng = case(6)
    around = ProximalRound(f, x, Penalties.equal(3, 3.0))
    value = around.evaluate(around.minimized(x))[0]
    order = rng.permutation(len(f.X))
    moved = NetworkObjective(f.network, f.X[order], f.Y[order], f.share[order], f.alpha)
    other = ProximalRound(moved, x, Penalties.equal(3, 3.0))
    assert other.evaluate(other.minimized(x))[0] == pytest.approx(value, abs=1e-8)
    (w1, b1), (w2, b2), last = f.network.unpack(x)
    units = rng.permutation(4)
    turned = f.network.pack([(w1[:, units], b1[units]), (w2[units], b2), last])
    other = ProximalRound(f, turned, Penalties.equal(3, 3.0))
    assert other.evaluate(other.minimized(turned))[0] == pytest.approx(value, abs=1e-8)
