"""Many columns at a time give what one after another gave, to the bit."""

import numpy as np
import pytest
from scipy import stats

from counterpoise import diagnose
from counterpoise.data.columns import column_limits, weighted_quantile
from counterpoise.data.two_samples import canonical_order
from counterpoise.shift.columns import ks_distance, ks_p_value
from counterpoise.shift.domain_classifier import BinnedColumns, distances_at_eighths


def rows_with_ties(seed, n=120):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 9))
    X[:, 1], X[:, 2], X[:, 3] = np.round(X[:, 1]), 0.0, rng.random(n) < 0.05
    return X


def limits_one_by_one(X, share):
    lows, highs = [], []
    for column in X.T:
        middle = weighted_quantile(column, share, 0.5)
        away = np.abs(column - middle)
        differs = away > 0
        reach = 0.0
        if differs.any():
            reach = 5.0 * weighted_quantile(away[differs], share[differs], 0.9)
        lows.append(middle - reach)
        highs.append(middle + reach)
    return np.array(lows), np.array(highs)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", ["alike", "whole", "any"])
def test_limits_of_all_columns_are_those_of_each(seed, kind):
    X, rng = rows_with_ties(seed), np.random.default_rng(seed)
    weight = {
        "alike": np.ones(120),
        "whole": rng.integers(1, 3, 120).astype(float),
        "any": rng.random(120),
    }[kind]
    found = column_limits([(X, weight / weight.sum())])
    for mine, theirs in zip(
        found, limits_one_by_one(X, weight / weight.sum()), strict=True
    ):
        assert np.array_equal(mine, theirs)


@pytest.mark.parametrize("rounded", [False, True])
def test_rows_are_ordered_as_by_all_their_columns(rounded):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 40))
    X = np.vstack([X, X[:15]])
    if rounded:
        X[:, :6] = np.round(X[:, :6])
    weights = rng.integers(0, 2, len(X)).astype(float)
    wanted = np.lexsort((weights, *X.T[::-1]))
    assert np.array_equal(canonical_order(X, weights), wanted)


@pytest.mark.parametrize("seed", range(5))
def test_the_distance_of_distribution_functions_is_that_of_scipy(seed):
    X, T = rows_with_ties(seed), rows_with_ties(seed + 50, 90)
    even = np.full(120, 1 / 120), np.full(90, 1 / 90)
    for x, t in zip(X.T, T.T, strict=True):
        distance = ks_distance(x, t, *even)
        wanted = stats.ks_2samp(x, t, method="asymp")
        assert distance == pytest.approx(wanted.statistic, abs=1e-12)
        assert ks_p_value(distance, 120, 90) == pytest.approx(wanted.pvalue)


def test_columns_are_kept_by_how_far_the_classes_are_apart():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 130)), np.arange(400) % 2
    X[y == 1, 7] += 1.0
    # A spread that has changed is seen as well.
    X[y == 1, 123] *= 3.0
    X[:, 50] = 1.0
    apart = distances_at_eighths(X, y == 1, np.ones(400))
    assert set(np.argsort(-apart)[:2]) == {7, 123}
    assert apart[50] == 0.0
    kept = BinnedColumns().fit(X, y).kept_
    assert {7, 123} <= set(kept)
    assert 50 not in kept


def test_a_wide_shift_is_found_and_a_wide_nothing_is_not():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(150, 520)), rng.normal(size=(150, 520))
    assert diagnose(X, T, n_permutations=0, random_state=0).verdict in (
        "no shift detected",
        "too few rows",
    )
    T[:, 3] += 3.0
    found = diagnose(X, T, n_permutations=0, random_state=0)
    assert found.auc > 0.9
