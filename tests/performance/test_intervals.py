import numpy as np
import pytest
from scipy.stats import binomtest, norm

from counterpoise.errors import InvalidTypeError
from counterpoise.performance.intervals import (
    Interval,
    combined,
    effective_rows,
    least_error,
    resampled,
    rows_worth,
    skewness_of_mean,
    weighted_mean_error,
    wilson_interval,
)


@pytest.mark.parametrize(("k", "n"), [(0, 60), (1, 60), (30, 60), (60, 60)])
def test_wilson_s_interval_is_scipy_s(k, n):
    wanted = binomtest(k, n).proportion_ci(0.95, method="wilson")
    found = wilson_interval(k / n, n, norm.ppf(0.975), 0.0, 1.0)
    assert (found.low, found.high) == pytest.approx(tuple(wanted), abs=1e-9)
    moved = wilson_interval(2 * k / n - 1, n, norm.ppf(0.975), -1.0, 1.0)
    assert moved.high == pytest.approx(2 * wanted.high - 1, abs=1e-9)


def test_an_endless_range_has_no_least_error():
    assert least_error(10, 0.0, np.inf) == 0.0
    assert least_error(10, 0.0, 1.0) == pytest.approx(np.sqrt(2) / 12)


def drawn_groups(rng, n_groups=60, size=10):
    groups = np.repeat(np.arange(n_groups), size)
    values = rng.normal(size=n_groups)[groups] + rng.normal(size=groups.size)
    return values, groups


@pytest.mark.parametrize("grouped", [False, True])
def test_the_error_of_a_weighted_mean_is_that_of_means_drawn_anew(grouped):
    means, errors = [], []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        values, groups = drawn_groups(rng)
        if not grouped:
            values, groups = rng.normal(size=600), None
        share = rng.exponential(size=600)
        share /= share.sum()
        means.append(share @ values)
        errors.append(weighted_mean_error(values, share, groups))
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.12)


def test_groups_that_are_drawn_again_as_a_whole_have_the_error_of_groups():
    values, groups = drawn_groups(np.random.default_rng(0))
    ones = np.ones(600)

    def mean(weights):
        return np.average(values, weights=weights)

    wanted = weighted_mean_error(values, ones / 600, groups)
    found = resampled(mean, ones, 400, 0, groups).std()
    assert found == pytest.approx(wanted, rel=0.12)
    assert found > 2 * resampled(mean, ones, 400, 0).std()


def test_rows_of_groups_are_worth_what_their_likeness_leaves():
    rng = np.random.default_rng(1)
    values, groups = drawn_groups(rng)
    share = np.full(600, 1 / 600)
    # Variance 1 between and 1 within: a mean of 60 groups of 10 has (1 + 1/10) / 60.
    assert rows_worth(values, share, groups) == pytest.approx(2 * 60 / 1.1, rel=0.3)
    assert rows_worth(rng.normal(size=600), share, groups) > 350
    assert rows_worth(np.zeros(600), share, groups) == pytest.approx(60)
    assert rows_worth(values, share) == effective_rows(share) == pytest.approx(600)


def test_the_skewness_of_groups_is_that_of_their_sums():
    values = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0])
    groups = np.repeat(np.arange(4), 2)
    alone = skewness_of_mean(values[::2], np.full(4, 0.25))
    assert skewness_of_mean(values, np.full(8, 0.125), groups) == pytest.approx(alone)


def test_the_narrower_of_two_that_agree_rules_and_the_honest_one_where_they_differ():
    sharp = Interval(1.0, 0.9, 1.1)
    agreeing = combined(sharp, Interval(1.4, 0.4, 2.4), 0.95)
    assert agreeing.value == pytest.approx(1.0, abs=0.01)
    assert agreeing.high - agreeing.low < 0.2
    contradicting = combined(sharp, Interval(4.0, 3.0, 5.0), 0.95)
    assert contradicting.value > 3.8
    assert contradicting.low < 4.0 < contradicting.high


def test_two_that_agree_have_the_variance_of_the_best_mean_of_both():
    one, other = Interval(1.0, 0.7, 1.3), Interval(1.0, 0.6, 1.4)
    found = combined(one, other, 0.95)
    assert found.high - 1.0 == pytest.approx(1 / np.hypot(1 / 0.3, 1 / 0.4))
    assert found.low + found.high == pytest.approx(2.0)


@pytest.mark.parametrize(("bias", "least"), [(0.0, 0.94), (6.0, 0.92)])
def test_an_interval_of_both_holds_the_truth_without_bias_and_with_much(bias, least):
    rng = np.random.default_rng(0)
    held, widths = [], []
    for _ in range(2000):
        sharp, honest = bias + 0.3 * rng.normal(), rng.normal()
        found = combined(
            Interval(sharp, sharp - 0.588, sharp + 0.588),
            Interval(honest, honest - 1.96, honest + 1.96),
            0.95,
        )
        held.append(found.low <= 0 <= found.high)
        widths.append(found.high - found.low)
    assert least < np.mean(held) < 0.98
    if bias == 0.0:
        assert np.mean(widths) < 0.5 * 3.92


def test_a_wrong_call_in_a_resample_is_not_taken_for_a_class_not_drawn():
    def wrong(weights):
        raise InvalidTypeError("odd")

    with pytest.raises(InvalidTypeError, match="odd"):
        resampled(wrong, np.ones(10), 3, 0)
