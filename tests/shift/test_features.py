"""One feature at a time: numbers, categories, dates, missing values, sparse columns."""

import datetime
import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

from counterpoise.data.table import two_tables
from counterpoise.shift.columns import sparse_shifts, table_shifts


def shifts(X, X_target, weight=None, target_weight=None):
    tables = two_tables(X, X_target)
    shares = []
    for table, given in zip(tables, (weight, target_weight), strict=True):
        mass = np.ones(len(table)) if given is None else np.asarray(given, dtype=float)
        shares.append(mass / mass.sum())
    return table_shifts(*tables, *shares)


def shift(values, target, **weights):
    frames = pd.DataFrame({"a": values}), pd.DataFrame({"a": target})
    (found,) = shifts(*frames, **weights)
    return found


def test_numbers_are_compared_by_mean_and_distribution():
    rng = np.random.default_rng(0)
    x, t = rng.normal(3, 1, size=400), rng.normal(3.5, 2, size=300)
    found = shift(x, t)
    assert found.smd == pytest.approx(
        (t.mean() - x.mean()) / np.sqrt((x.var() + t.var()) / 2)
    )
    expected = stats.ks_2samp(x, t, method="asymp")
    assert found.ks == pytest.approx(expected.statistic)
    assert found.p_value == pytest.approx(expected.pvalue)
    assert (found.source_mean, found.target_mean) == pytest.approx((x.mean(), t.mean()))
    assert found.total_variation is None


def test_the_effect_of_a_change_of_spread_is_seen_without_one_of_the_mean():
    rng = np.random.default_rng(0)
    found = shift(rng.normal(size=2000), 3 * rng.normal(size=2000))
    assert abs(found.smd) < 0.1
    assert found.effect > 0.4


@pytest.mark.parametrize("apart", [0.1, 0.3, 0.5])
def test_of_normal_columns_the_effect_is_about_the_distance_of_the_means(apart):
    rng = np.random.default_rng(0)
    x = rng.normal(size=20_000)
    assert shift(x, x + apart).effect == pytest.approx(apart, rel=0.05)


def test_values_that_are_missing_are_counted_and_left_out():
    x, t = np.arange(100.0), np.arange(100.0)
    t[::2] = np.nan
    found = shift(x, t)
    assert (found.source_missing, found.target_missing) == (0.0, 0.5)
    assert found.missing_difference == 0.5
    present = t[1::2]
    assert found.ks == pytest.approx(stats.ks_2samp(x, present).statistic)
    missing = stats.chi2_contingency([[0, 100], [50, 50]], correction=False).pvalue
    assert found.p_value == pytest.approx(2 * missing)
    assert found.effect > 1


def test_a_column_without_a_value_in_one_sample_is_the_largest_shift():
    found = shift(np.arange(50.0), np.full(40, np.nan))
    assert (found.smd, found.ks) == (None, None)
    assert found.missing_difference == 1.0
    assert found.effect == pytest.approx(np.sqrt(2 * np.pi))
    assert found.p_value < 1e-10


def test_categories_are_compared_by_their_shares():
    found = shift(["a"] * 60 + ["b"] * 30 + ["c"] * 10, ["a"] * 30 + ["b"] * 70)
    assert found.total_variation == pytest.approx(0.4)
    smds = {
        name: (q - p) / np.sqrt((p * (1 - p) + q * (1 - q)) / 2)
        for name, p, q in (("a", 0.6, 0.3), ("b", 0.3, 0.7), ("c", 0.1, 0.0))
    }
    assert (found.category, found.smd) == ("b", pytest.approx(smds["b"]))
    table = [[60, 30, 10], [30, 70, 0]]
    assert found.p_value == pytest.approx(
        stats.chi2_contingency(table, correction=False).pvalue
    )
    assert found.ks is None


def test_new_categories_are_named_with_their_share_of_the_target():
    source = ["a"] * 50
    target = ["a"] * 80 + ["new"] * 15 + ["rare 1", "rare 2"] + [None] * 3
    found = shift(source, target)
    assert found.n_new == 3
    assert found.new_share == pytest.approx(0.17)
    assert found.new_categories == (("new", 0.15),)
    assert "rare" not in json.dumps(found.to_dict())


def test_disjoint_categories_have_no_finite_difference():
    found = shift(["a"] * 30, ["b"] * 20)
    assert (found.smd, found.category, found.total_variation) == (None, None, 1.0)
    assert found.effect == pytest.approx(np.sqrt(2 * np.pi))


def test_dates_and_durations_are_compared_as_numbers():
    start = datetime.datetime(2024, 1, 1)
    days = [datetime.timedelta(days=k) for k in range(40)]
    later = [day + datetime.timedelta(days=20) for day in days]
    expected = shift(np.arange(40.0), np.arange(40.0) + 20)
    for source, target in (
        (days, later),
        ([start + d for d in days], [start + d for d in later]),
    ):
        found = shift(source, target)
        assert found.smd == pytest.approx(expected.smd)
        assert found.ks == pytest.approx(expected.ks)


def test_a_row_of_weight_two_is_the_row_twice():
    rng = np.random.default_rng(0)
    frames = [
        pd.DataFrame(
            {
                "n": np.where(rng.random(80) < 0.2, np.nan, rng.normal(size=80)),
                "c": rng.choice(["a", "b", "c"], size=80),
            }
        )
        for _ in range(2)
    ]
    weight = np.ones(80)
    weight[:30] = 2
    twice = pd.concat([frames[1], frames[1][:30]])
    for a, b in zip(
        shifts(frames[0], frames[1], target_weight=weight),
        shifts(frames[0], twice),
        strict=True,
    ):
        distance = "ks" if a.ks is not None else "total_variation"
        for name in ("effect", "smd", distance, "target_missing", "source_missing"):
            assert getattr(a, name) == pytest.approx(getattr(b, name), rel=1e-12), name


def test_p_values_count_effective_rows():
    rng = np.random.default_rng(0)
    x, t = rng.normal(size=100), rng.normal(size=100)
    weight = np.where(np.arange(100) < 50, 1.0, 3.0)
    found = shift(x, t, weight=weight)
    effective = weight.sum() ** 2 / (weight**2).sum()
    expected = stats.kstwo.sf(found.ks, round(effective * 100 / (effective + 100)))
    assert found.p_value == pytest.approx(expected)


def test_p_values_are_corrected_over_the_features():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(200, 4)), rng.normal(size=(200, 4))
    X_target[:, 2] += 0.5
    found = shifts(X, X_target)
    least = min(found, key=lambda feature: feature.p_value)
    assert least.name == "x2"
    assert least.adjusted_p_value == pytest.approx(4 * least.p_value)
    assert all(f.adjusted_p_value >= f.p_value for f in found)


def test_few_rows_are_not_told_of():
    found = shift([1.5, 2.5, np.nan, np.nan, np.nan], [7.25, 8.0])
    assert (found.source_mean, found.target_mean) == (None, None)
    named = shift(["a", "b", "b"], ["secret", "b"])
    assert (named.category, named.new_categories) == (None, ())
    assert named.n_new == 1


def test_sparse_columns_are_compared_by_their_means():
    rng = np.random.default_rng(0)
    X = sparse.random_array((300, 20), density=0.2, rng=rng, format="csr")
    X_target = sparse.random_array((200, 20), density=0.3, rng=rng, format="csr")
    names = [f"w{j}" for j in range(20)]
    weight = rng.random(300) + 0.5
    share, equal = weight / weight.sum(), np.full(200, 1 / 200)
    found = sparse_shifts(X, X_target, names, share, equal)
    dense = shifts(X.toarray(), X_target.toarray(), weight=weight)
    for a, b in zip(found, dense, strict=True):
        assert a.smd == pytest.approx(b.smd, rel=1e-9)
        assert a.source_mean == pytest.approx(b.source_mean)
        assert a.ks is None
    assert [feature.name for feature in found] == names


def test_false_alarms_are_as_rare_as_they_say():
    rng = np.random.default_rng(5)
    alerts = 0
    for _ in range(200):
        X, X_target = rng.normal(size=(60, 5)), rng.normal(size=(80, 5))
        alerts += min(f.adjusted_p_value for f in shifts(X, X_target)) < 0.05
    # Four standard errors above the level.
    assert alerts / 200 < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 200)
