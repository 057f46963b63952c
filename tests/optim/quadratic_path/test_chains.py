"""Every breakpoint of every path is optimal, however degenerate the problem."""

import numpy as np
import pytest
from optim.quadratic_path.degenerate import chain, on_demand, rbf, worst_residual

from counterpoise.optim import PathError
from counterpoise.optim.quadratic_path.follower import (
    Follower,
    crossover,
    from_prices,
    from_zero,
)
from counterpoise.optim.quadratic_path.problem import DenseRows


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_all_breakpoints_of_degenerate_chains_are_optimal(first):
    for seed in range(first, first + 10):
        assert worst_residual(seed) <= 1.0, f"seed {seed}"


@pytest.mark.parametrize(
    "seed",
    [
        998,  # rows enter a margin on which they depend
        1388,  # the margin drifts from its equations unless it is corrected
        25812,  # slacks of the event search add up along nearly flat directions
        31638,
    ],
)
def test_chains_that_need_every_safeguard_are_optimal_too(seed):
    assert worst_residual(seed) <= 1.0


@pytest.mark.parametrize("first", range(200, 220, 10))
def test_rows_on_demand_pass_the_same_chains(first):
    for seed in range(first, first + 10):
        assert worst_residual(seed, n_random=3, few_rows=True) <= 1.0, f"seed {seed}"


def classes(n, seed, overlap=1.0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = rng.standard_normal((n, 3)) * overlap
    X[:, 0] += y
    return X, y, rng


@pytest.mark.parametrize("C", [0.05, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("kind", ["overlapping", "separable", "hopeless", "one row"])
def test_a_path_to_other_weights_is_optimal_everywhere(kind, C):
    X, y, rng = classes(90, 3, overlap=0.2 if kind == "separable" else 1.0)
    if kind == "hopeless":
        y = np.where(rng.random(90) < 0.5, 1.0, -1.0)
    K = np.ones((90, 90)) if kind == "one row" else rbf(X, 3.0)
    one = np.ones(90)
    follower = Follower(DenseRows(K), y)
    from_zero(follower, one, 0 * one, C * one)
    w = rng.exponential(1.0, 90) * (rng.random(90) > 0.2)
    path = follower.move(upper=C * w)
    limit = max(1e-9, 1e-15 * np.abs(follower.a).sum())
    for theta in np.r_[path.thetas, rng.random(20)]:
        proof = path.certify(theta)
        assert proof.residual <= limit
        # The bound multiplies a slack of rounding size by the width of the box.
        assert proof.holds(1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_corrections_leave_rows_in_their_boxes_at_very_large_weights(seed):
    X, y, rng = classes(300, seed)
    K = rbf((X - X.min(0)) / np.ptp(X, axis=0))
    one, C = np.ones(300), 1e6
    follower = Follower(DenseRows(K), y)
    from_zero(follower, one, 0 * one, C * one)
    path = follower.move(upper=C * rng.exponential(1.0, 300))
    limit = 2e-15 * np.abs(follower.a).sum()
    assert max(path.certify(t).residual for t in path.thetas) <= limit


def test_a_class_may_lose_its_weight_and_get_it_back():
    X, y, _ = classes(60, 4)
    one = np.ones(60)
    follower = Follower(DenseRows(rbf(X)), y)
    from_zero(follower, one, 0 * one, one)
    before = follower.f
    for c in (np.where(y > 0, 1.0, 0.0), one, np.where(y < 0, 5.0, 0.0), one):
        path = follower.move(upper=c)
        assert max(path.certify(t).residual for t in path.thetas) <= 1e-9
    np.testing.assert_allclose(follower.f, before, atol=1e-9)


def test_two_moves_end_where_one_ends():
    X, y, rng = classes(80, 5)
    one = np.ones(80)
    K = rbf(X, 2.0)
    middle, end = 10 * rng.random(80), 10 * rng.random(80)
    ends = []
    for stops in ([middle, end], [end]):
        follower = Follower(DenseRows(K), y)
        from_zero(follower, one, 0 * one, 10 * one)
        for c in stops:
            follower.move(upper=c)
        ends.append(follower.f)
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)


def test_the_way_back_meets_the_same_breakpoints():
    X, y, rng = classes(80, 6)
    one = np.ones(80)
    follower = Follower(DenseRows(rbf(X, 2.0)), y)
    from_zero(follower, one, 0 * one, 10 * one)
    forth = follower.move(upper=10 * rng.exponential(1.0, 80))
    back = follower.move(upper=10 * one)
    assert forth.n_events > 20
    np.testing.assert_allclose(forth.thetas, 1.0 - back.thetas[::-1], atol=1e-10)


def test_three_starts_find_one_function():
    X, y, rng = classes(70, 7)
    one, c = np.ones(70), 5.0 * rng.random(70)
    found = []
    for start in ("zero", "prices", "crossover"):
        follower = Follower(DenseRows(rbf(X)), y)
        if start == "zero":
            from_zero(follower, one, 0 * one, c)
        elif start == "prices":
            from_prices(follower, one, 0 * one, c)
        else:
            coarse = np.clip(found[0][0] + 0.05 * rng.standard_normal(70), 0.0, c)
            crossover(follower, coarse, 0.3, one, 0 * one, c)
        found.append((follower.a.copy(), follower.f))
    for _, f in found[1:]:
        np.testing.assert_allclose(f, found[0][1], atol=1e-10)


def test_kernel_and_weights_scale_against_each_other():
    X, y, rng = classes(50, 8)
    one, c = np.ones(50), 3.0 * rng.random(50)
    functions = []
    for t in (1.0, 100.0):
        follower = Follower(DenseRows(t * rbf(X)), y)
        from_zero(follower, one, 0 * one, c / t)
        functions.append(follower.f)
    np.testing.assert_allclose(functions[0], functions[1], atol=1e-9)


def test_rows_that_left_the_margin_are_computed_again_when_they_are_gone():
    X, y, rng = classes(60, 9)
    one = np.ones(60)
    rows = on_demand(rbf(X), 8)
    follower = Follower(rows, y)
    from_zero(follower, one, 0 * one, 10 * one)
    path = follower.move(upper=10 * rng.random(60))
    assert rows.n_computed > 8
    assert rows.stored.rows.shape[0] < 60
    assert max(path.certify(t).residual for t in path.thetas) <= 1e-9


def test_a_kernel_that_is_not_positive_is_refused():
    rng = np.random.default_rng(0)
    K = rng.standard_normal((20, 20))
    K = K + K.T
    y = np.where(np.arange(20) % 2, 1.0, -1.0)
    one = np.ones(20)
    np.fill_diagonal(K, 1.0)
    with pytest.raises(PathError, match=r"not positive semidefinite.*theta"):
        from_zero(Follower(DenseRows(K), y), one, 0 * one, 10 * one)


def test_an_equality_that_cannot_be_met_is_an_error_with_its_theta():
    follower = Follower(DenseRows(np.eye(4)), np.ones(4))
    one = np.ones(4)
    from_prices(follower, 0 * one, 0 * one, one, 1.0)
    with pytest.raises(PathError, match="cannot be met") as caught:
        follower.move(d=9.0)
    assert caught.value.theta == pytest.approx(3.0 / 8.0)


def test_too_many_events_are_an_error_and_no_short_path():
    one = chain(3)
    n = one.follower.a.size
    with pytest.raises(PathError, match="more events than allowed"):
        one.follower.move(
            upper=np.full(n, 1e3) * np.random.default_rng(0).random(n), max_events=2
        )


def test_theta_outside_the_path_is_refused():
    one = chain(5)
    path = one.follower.move(upper=one.weights[0])
    with pytest.raises(ValueError, match="between 0 and 1"):
        path.at(1.5)
