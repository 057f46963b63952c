"""Distances of one column: against numpy, scipy and hand computations."""

import numpy as np
import pytest
from scipy import stats

from counterpoise.shift.columns import (
    holm,
    ks_distance,
    ks_p_value,
    shares_p_value,
    standardized_difference,
)
from counterpoise.shift.two_sample_tests import (
    means_p_value,
)


def equal(n):
    return np.full(n, 1 / n)


def shares(rng, n):
    weight = rng.random(n) + 0.1
    return weight / weight.sum()


@pytest.mark.parametrize("values", ["continuous", "with ties"])
@pytest.mark.parametrize(("n", "m"), [(400, 300), (7, 90), (2, 3)])
def test_the_distance_and_its_p_value_are_scipys(values, n, m):
    rng = np.random.default_rng(n)
    x, t = rng.normal(size=n), rng.normal(0.3, 1.2, size=m)
    if values == "with ties":
        x, t = x.round(), t.round()
    expected = stats.ks_2samp(x, t, method="asymp")
    found = ks_distance(x, t, equal(n), equal(m))
    assert found == pytest.approx(expected.statistic, rel=1e-12)
    assert ks_p_value(found, n, m) == pytest.approx(expected.pvalue, rel=1e-9)


def test_the_p_value_is_near_the_exact_one():
    rng = np.random.default_rng(3)
    x, t = rng.normal(size=80), rng.normal(0.4, 1, size=60)
    found = ks_p_value(ks_distance(x, t, equal(80), equal(60)), 80, 60)
    assert found == pytest.approx(stats.ks_2samp(x, t, method="exact").pvalue, rel=0.2)


def test_the_difference_of_means_is_numpys():
    rng = np.random.default_rng(0)
    x, t = rng.normal(5, 2, size=300), rng.normal(6, 3, size=200)
    expected = (t.mean() - x.mean()) / np.sqrt((x.var() + t.var()) / 2)
    found = standardized_difference(x, t, equal(300), equal(200))
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("distance", [standardized_difference, ks_distance])
def test_a_row_of_weight_two_is_the_row_twice(distance):
    rng = np.random.default_rng(1)
    x, t = rng.normal(size=50), rng.normal(0.5, 1, size=40)
    weight = np.ones(50)
    weight[:20] = 2
    twice = distance(np.append(x, x[:20]), t, equal(70), equal(40))
    assert distance(x, t, weight / 70, equal(40)) == pytest.approx(twice, rel=1e-12)


def test_large_numbers_do_not_overflow():
    x, t = np.array([1e300, 2e300]), np.array([2e300, 3e300])
    assert standardized_difference(x, t, equal(2), equal(2)) == pytest.approx(2.0)


def test_constants_have_no_scale():
    tenth = np.full(7, 0.1)
    assert standardized_difference(tenth, tenth[:3], equal(7), equal(3)) == 0.0
    assert standardized_difference(tenth, 2 * tenth, equal(7), equal(7)) is None
    zero = np.zeros(3)
    assert standardized_difference(zero, zero, equal(3), equal(3)) == 0.0


def test_shares_are_tested_by_chi_squared():
    counts = np.array([[40, 35, 25], [60, 90, 50]])
    p, q = counts[0] / 100, counts[1] / 200
    expected = stats.chi2_contingency(counts, correction=False).pvalue
    assert shares_p_value(p, q, 100, 200) == pytest.approx(expected)


def test_few_rows_are_tested_by_fisher():
    expected = stats.fisher_exact([[0, 1000], [4, 6]]).pvalue
    found = shares_p_value(np.array([0.0, 1]), np.array([0.4, 0.6]), 1000, 10)
    assert found == pytest.approx(expected)


def test_rare_categories_are_pooled():
    counts = np.array([[400, 300, 1, 0, 1, 0, 1, 1], [350, 340, 0, 1, 0, 1, 1, 1]])
    n, m = counts.sum(axis=1)
    pooled = np.column_stack([counts[:, :2], counts[:, 2:].sum(axis=1)])
    expected = stats.chi2_contingency(pooled, correction=False).pvalue
    found = shares_p_value(counts[0] / n, counts[1] / m, n, m)
    assert found == pytest.approx(expected)


def test_one_category_tells_nothing():
    assert shares_p_value(np.array([1.0, 0]), np.array([1.0, 0]), 50, 50) == 1.0


@pytest.mark.parametrize("n_categories", [2, 10, 300])
def test_false_alarms_about_shares_are_as_rare_as_they_say(n_categories):
    rng = np.random.default_rng(n_categories)
    truth = rng.dirichlet(np.full(n_categories, 0.5))
    p_values = []
    for _ in range(400):
        p, q = rng.multinomial(200, truth) / 200, rng.multinomial(300, truth) / 300
        p_values.append(shares_p_value(p, q, 200, 300))
    # Four standard errors above the level.
    assert np.mean(np.array(p_values) < 0.05) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 400)


def test_means_are_tested_as_proportions_are():
    # The squared statistic of two proportions is chi-squared.
    p, q, n, m = 0.3, 0.45, 120, 80
    counts = np.array([[p * n, (1 - p) * n], [q * m, (1 - q) * m]])
    expected = stats.chi2_contingency(counts, correction=False).pvalue
    apart, spreads = np.array([q - p]), (np.array([p * (1 - p)]), np.array([q - q**2]))
    assert means_p_value(apart, *spreads, n, m)[0] == pytest.approx(expected)


def test_holms_correction_is_that_of_the_hand():
    # In order: .001 x 5, .01 x 4, .02 x 3, .03 x 2 -> .06, .6.
    p = np.array([0.02, 0.6, 0.001, 0.03, 0.01])
    np.testing.assert_allclose(holm(p), [0.06, 0.6, 0.005, 0.06, 0.04])
    np.testing.assert_array_equal(holm(np.array([0.5, 0.9])), [1.0, 1.0])
    assert holm(np.array([])).size == 0


def test_weighted_functions_of_distribution_are_compared_where_they_jump():
    rng = np.random.default_rng(2)
    x, t = rng.normal(size=30).round(1), rng.normal(size=40).round(1)
    p, q = shares(rng, 30), shares(rng, 40)
    places = np.concatenate([x, t])
    brute = max(abs(p[x <= z].sum() - q[t <= z].sum()) for z in places)
    assert ks_distance(x, t, p, q) == pytest.approx(brute, rel=1e-12)
