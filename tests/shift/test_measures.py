"""The maximum mean discrepancy and the domain AUC."""

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import rbf_kernel

from counterpoise.shift import two_sample_tests as measures
from counterpoise.shift.domain_classifier import domain_auc, domain_score
from counterpoise.shift.two_sample_tests import mmd


@pytest.fixture
def two():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)), rng.normal(size=(25, 3)) + 0.5


def square(X, X_target, p, q, gamma):
    return (
        p @ rbf_kernel(X, gamma=gamma) @ p
        + q @ rbf_kernel(X_target, gamma=gamma) @ q
        - 2 * p @ rbf_kernel(X, X_target, gamma=gamma) @ q
    )


def test_the_distance_is_that_of_the_kernel_means(two):
    X, X_target = two
    p, q = np.random.default_rng(1).uniform(0.1, 2, size=(2, 40))
    q = q[:25]
    found = mmd(X, X_target, gamma=0.3, sample_weight=p, target_weight=q)
    expected = square(X, X_target, p / p.sum(), q / q.sum(), 0.3)
    assert found.value == pytest.approx(np.sqrt(expected), rel=1e-10)
    assert float(found) == found.value
    assert found.p_value is None


def test_the_unbiased_square_leaves_out_pairs_of_a_row_with_itself(two):
    X, X_target = two
    K, L = rbf_kernel(X, gamma=0.3), rbf_kernel(X_target, gamma=0.3)
    expected = (K.sum() - 40) / (40 * 39) + (L.sum() - 25) / (25 * 24)
    expected -= 2 * rbf_kernel(X, X_target, gamma=0.3).mean()
    found = mmd(X, X_target, gamma=0.3)
    assert found.unbiased_square == pytest.approx(expected, rel=1e-10)


def test_the_unbiased_square_is_right_in_the_mean_for_two_normals():
    gamma, shift = 0.5, 0.7
    # E k(x, y) with x - y normal of mean a and variance 2 is known.
    wide = 1 + 4 * gamma
    truth = 2 * wide**-0.5 * (1 - np.exp(-gamma * shift**2 / wide))
    rng = np.random.default_rng(0)
    squares = [
        mmd(
            rng.normal(size=(60, 1)), rng.normal(size=(50, 1)) + shift, gamma=gamma
        ).unbiased_square
        for _ in range(300)
    ]
    error = np.std(squares) / np.sqrt(300)
    assert np.mean(squares) == pytest.approx(truth, abs=3 * error)
    assert error < 0.1 * truth


def test_blocks_change_nothing(two, monkeypatch):
    whole = mmd(*two, n_permutations=30, random_state=0)
    monkeypatch.setattr(measures, "ENTRIES_AT_ONCE", 7 * 65)
    parts = mmd(*two, n_permutations=30, random_state=0)
    assert parts.value == pytest.approx(whole.value, rel=1e-12)
    assert parts.p_value == whole.p_value


def test_the_p_value_is_the_share_of_all_divisions_as_large():
    rng = np.random.default_rng(3)
    X, X_target = rng.normal(size=(4, 1)), rng.normal(size=(5, 1)) + 1.2
    pooled = np.vstack([X, X_target])
    all_squares = []
    for chosen in combinations(range(9), 4):
        inside = np.isin(np.arange(9), chosen)
        a = np.where(inside, 1 / 4, -1 / 5)
        all_squares.append(a @ rbf_kernel(pooled, gamma=0.5) @ a)
    expected = np.mean(np.array(all_squares) >= all_squares[0] - 1e-12)
    found = mmd(X, X_target, gamma=0.5, n_permutations=4000, random_state=0).p_value
    assert 0.02 < expected < 0.5
    assert found == pytest.approx(expected, abs=4 * np.sqrt(expected / 4000))


def test_p_values_are_small_with_a_shift_and_level_without():
    rng = np.random.default_rng(0)
    null = [
        mmd(*rng.normal(size=(2, 40, 2)), n_permutations=99, random_state=s).p_value
        for s in range(100)
    ]
    assert 1 <= np.sum(np.array(null) <= 0.1) <= 20
    moved = mmd(
        rng.normal(size=(100, 2)),
        rng.normal(size=(100, 2)) + 1,
        n_permutations=99,
        random_state=0,
    )
    assert moved.p_value == 0.01


def test_the_median_rule_uses_distances_of_both_samples_together(two):
    X, X_target = two[0][:25], two[1]
    median = np.median(pdist(np.vstack([X, X_target])))
    found = mmd(X, X_target).gamma
    assert found == pytest.approx(0.5 / median**2, rel=0.01)


def test_the_median_rule_on_many_rows_hardly_differs():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(1500, 2)), rng.normal(size=(1500, 2))
    median = np.median(pdist(np.vstack([X, X_target])))
    assert mmd(X, X_target).gamma == pytest.approx(0.5 / median**2, rel=0.05)


def test_rows_that_are_all_equal_have_the_distance_zero():
    found = mmd(np.ones((4, 2)), np.ones((3, 2)), n_permutations=9, random_state=0)
    assert found.value == pytest.approx(0.0, abs=1e-7)
    assert found.p_value == 1.0


def test_the_order_of_the_rows_changes_nothing(two):
    X, X_target = two
    mixed = X[::-1], X_target[::-1]
    first = mmd(X, X_target, n_permutations=50, random_state=0)
    assert mmd(*mixed, n_permutations=50, random_state=0) == first


@pytest.mark.parametrize("which", ["sample_weight", "target_weight"])
def test_a_row_of_weight_two_is_the_row_twice(two, which):
    X, X_target = two
    weight = np.ones(len(X) if which == "sample_weight" else len(X_target))
    weight[5] = 2
    if which == "sample_weight":
        twice = np.vstack([X, X[5]]), X_target
    else:
        twice = X, np.vstack([X_target, X_target[5]])
    found, expected = mmd(X, X_target, **{which: weight}), mmd(*twice)
    assert found.gamma == pytest.approx(expected.gamma, rel=1e-9)
    assert found.value == pytest.approx(expected.value, rel=1e-9)


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_standardized_columns_have_no_units(two, factor):
    X, X_target = two
    scaled = [rows * [factor, 1.0, 1.0] for rows in two]
    plain = mmd(X, X_target, standardize=True)
    assert mmd(*scaled, standardize=True).value == pytest.approx(plain.value, rel=1e-9)
    assert mmd(*scaled).value != pytest.approx(mmd(X, X_target).value, rel=1e-3)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_and_tuples_give_what_arrays_give(two, frame):
    X, X_target = two
    frames = [frame(dict(zip("abc", rows.T, strict=True))) for rows in two]
    expected = mmd(X, X_target)
    assert mmd(*frames) == expected
    assert mmd(X, (X_target[:10], X_target[10:])) == expected


def test_one_target_row_has_no_unbiased_square(two):
    found = mmd(two[0], two[1][:1])
    assert found.unbiased_square is None
    assert np.isfinite(found.value)


def test_the_record_prints_its_numbers(two):
    assert str(mmd(*two, gamma=0.5)).endswith("(gamma 0.5)")
    tested = mmd(*two, gamma=0.5, n_permutations=9, random_state=0)
    assert str(tested).endswith(f"p = {tested.p_value:.3g})")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"gamma": 0.0}, "gamma must be positive or 'median', got 0.0"),
        ({"n_permutations": -1}, "n_permutations must be at least 0, got -1"),
    ],
)
def test_wrong_parameters_are_refused(two, parameters, message):
    with pytest.raises(ValueError, match=message):
        mmd(*two, **parameters)


def test_sparse_rows_are_refused_by_name(two):
    with pytest.raises(TypeError, match="mmd takes no sparse matrices"):
        mmd(*map(sparse.csr_array, two))


def test_the_domain_auc_is_that_of_the_domain_score(two):
    expected = domain_score(*two, random_state=0).auc
    assert domain_auc(*two, random_state=0) == expected


def test_numbers_too_large_to_square_are_refused(two):
    with pytest.raises(ValueError, match=r"X contains numbers beyond 1e\+140"):
        mmd(two[0] * 1e300, two[1])
