"""Values recorded to different digits are no other place."""

import numpy as np
import pytest

from counterpoise import AutoWeights, DiscriminatorWeights, diagnose
from counterpoise.samples.coverage.digits import off_grids, recorded_apart
from counterpoise.samples.two_samples import TwoSamples

ROUNDED = {
    "target to a tenth": (lambda x: x, lambda x: x.round(1)),
    "source to a tenth": (lambda x: x.round(1), lambda x: x),
    "target to a half": (lambda x: x, lambda x: (2 * x).round() / 2),
    "years and decimals": (
        lambda x: (40 + 15 * x).round(),
        lambda x: (40 + 15 * x).round(2),
    ),
    "centimetres and inches": (
        lambda x: (170 + 10 * x).round(),
        lambda x: 2.54 * ((170 + 10 * x) / 2.54).round(),
    ),
}


def drawn(how, n=600, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(2, n, d))
    X[:, 0], T[:, 0] = ROUNDED[how][0](X[:, 0]), ROUNDED[how][1](T[:, 0])
    return X, T


@pytest.mark.parametrize("how", ROUNDED)
def test_rounding_is_no_hole_and_tells_no_classifier(how):
    X, T = drawn(how)
    found = diagnose(X, T, random_state=0)
    assert found.digits == ("x0",)
    assert found.thin < 0.05
    assert found.auc_low <= 0.5
    assert found.tests[1].p_value > 0.01


@pytest.mark.parametrize("weighter", [AutoWeights, DiscriminatorWeights])
def test_weights_go_by_what_moved_and_not_by_digits(weighter):
    X, T = drawn("target to a half", n=800, seed=1)
    T[:, 1] += 0.7
    found = weighter(random_state=0).fit(X, X_target=T)
    ratio = np.exp(0.7 * X[:, 1] - 0.245)
    assert np.corrcoef(found.weights_, ratio)[0, 1] > 0.95


def test_a_shift_of_rounded_numbers_is_still_found():
    X, T = drawn("target to a tenth")
    assert diagnose(X, T + np.array([1.5, 0, 0]), random_state=0).auc_low > 0.7
    far = diagnose(X, T + np.array([20, 0, 0]), random_state=0)
    assert far.verdict == "no overlap"


def grid(step, n=120, low=0.0):
    """Return n values on a grid, each four times."""
    return np.repeat(low + step * np.arange(n // 4), 4)


def test_gaps_twice_as_wide_and_half_of_the_rows_of_own_values_are_needed():
    def apart(x, t):
        return bool(recorded_apart(TwoSamples.of(x[:, None], t[:, None]))[0])

    assert not apart(grid(1.0), grid(1.0))
    # Grids beside each other of one width: levels of their own, as numbers of shops.
    assert not apart(grid(2.0), grid(2.0, low=1.0))
    # Twice as wide, half a step away.
    assert apart(grid(2.0), grid(1.0, low=0.5))
    assert not apart(grid(1.99), grid(1.0, low=0.005))
    # Half of the rows of the target have values of their own, and less than half.
    shared, own = grid(2.0)[:60], grid(1.0, low=0.5)
    assert apart(shared, np.r_[shared, own[:60]])
    assert not apart(shared, np.r_[shared, own[:56]])


def test_no_value_repeats_nothing_is_spread_and_few_values_are_levels():
    rng = np.random.default_rng(0)
    exact = TwoSamples.of(rng.normal(size=(300, 1)), rng.normal(size=(40, 1)))
    assert not recorded_apart(exact).any()
    levels = TwoSamples.of(grid(2.0, n=16)[:, None], grid(1.0, n=16, low=0.5)[:, None])
    assert not recorded_apart(levels).any()
    more = TwoSamples.of(grid(2.0, n=20)[:, None], grid(1.0, n=16, low=0.5)[:, None])
    assert recorded_apart(more).all()


def test_values_stay_nearest_to_where_they_were_and_equal_rows_stay_equal():
    X, T = drawn("target to a tenth")
    X, T = np.vstack([X, X[:50]]), np.vstack([T, T[:50]])
    samples = TwoSamples.of(X, T).ordered()
    found = off_grids(samples)
    assert np.array_equal(found.source, samples.source)
    assert np.array_equal(found.target[:, 1:], samples.target[:, 1:])
    spread, values = found.target[:, 0], np.unique(samples.target[:, 0])
    nearest = values[np.abs(spread[:, None] - values).argmin(axis=1)]
    assert np.array_equal(nearest, samples.target[:, 0])
    assert len(np.unique(found.target, axis=0)) == len(np.unique(T, axis=0))
    assert off_grids(TwoSamples.of(X, X)).target is X


def test_sparse_rows_are_left_as_they_are():
    from scipy import sparse

    rows = sparse.csr_array(np.eye(12))
    assert not recorded_apart(TwoSamples.of(rows, rows)).any()
