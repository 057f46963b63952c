"""Holes inside the source: cells, pairs, neighborhoods, and the rows in them."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import binom, chi2_contingency

from counterpoise import AutoWeights, estimate_performance
from counterpoise.data.two_samples import TwoSamples
from counterpoise.errors import PartialOverlapWarning
from counterpoise.shift.diagnosis import diagnose
from counterpoise.shift.support import (
    find_coverage_gaps,
    is_hole,
    is_surrounded,
    overlap,
)
from counterpoise.shift.two_sample_tests import (
    CutColumn,
    blocks_of,
    cell_tests,
)

EMPTY = np.array([[2, 5], [6, 1], [0, 3], [4, 7]])


def inside(X):
    return (np.abs(X[:, :2]) < 0.4).all(axis=1)


def square(n, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, d))
    return X[~inside(X)][:n], rng.normal(size=(n, d))


def cells(n, seed):
    rng = np.random.default_rng(seed)
    S, T = rng.integers(0, 8, (2 * n, 2)), rng.integers(0, 8, (n, 2))
    S = S[~empty(S)][:n]
    names = [f"level {k}" for k in range(8)]
    frames = [
        pd.DataFrame({"a": np.take(names, c[:, 0]), "b": np.take(names, c[:, 1])})
        for c in (S, T)
    ]
    return *frames, empty(T)


def empty(codes):
    return (codes[:, None] == EMPTY).all(axis=2).any(axis=1)


@pytest.mark.parametrize("d", [2, 10])
def test_a_square_hole_is_found_with_its_rows_and_named_by_its_columns(d):
    for seed in range(3):
        X, T = square(1000, d, seed)
        found = find_coverage_gaps(TwoSamples.of(X, T), seed)
        assert found.tells
        assert found.balls[0].columns == (0, 1)
        rows = found.hold(T)
        assert rows[inside(T)].mean() > 0.8
        assert rows[~inside(T)].mean() < 0.03
        assert not found.hold(X).any()


def test_empty_joint_cells_of_two_categories_are_found_and_told():
    S, T, truth = cells(1000, 0)
    found = diagnose(S, T, random_state=0)
    assert found.verdict == "shift, partial overlap"
    assert found.uncovered_fraction == pytest.approx(truth.mean(), abs=0.02)
    assert "in 'a' with 'b'" in found.uncovered_rows.note
    assert {column.name for column in found.uncovered_rows.columns} >= {"a", "b"}
    tests = {test.name: test for test in found.tests}
    assert tests["cells and neighbors"].about == ("a", "b")
    assert "cells and neighbors ('a' with 'b')" in found.explanation


def test_where_nothing_shifts_no_hole_is_found():
    tells = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, T = rng.normal(size=(2, 300, 4))
        X[:, 3], T[:, 3] = rng.integers(0, 5, (2, 300))
        tells.append(find_coverage_gaps(TwoSamples.of(X, T), seed).tells)
    assert np.mean(tells) <= 0.05


def test_a_source_that_thins_out_by_and_by_has_no_holes():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(1500, 1)), 1.5 + rng.normal(size=(1500, 1))
    found = overlap(X, T, random_state=0)
    assert found.holes.tells
    assert found.in_hole.mean() < 0.02


def test_a_hole_counts_in_thin_in_the_weights_and_in_what_estimates_speak_for():
    X, T = square(1000, 2, 5)
    y = X[:, 0] + 0.1 * np.random.default_rng(0).normal(size=1000)
    seen = overlap(X, T, random_state=0)
    assert seen.verdict == "shift, partial overlap"
    assert seen.uncovered_fraction == pytest.approx(inside(T).mean(), abs=0.03)
    assert seen.near_hole[seen.in_hole].all()
    assert "in holes" in str(seen)
    with pytest.warns(PartialOverlapWarning):
        auto = AutoWeights(random_state=0).fit(X, X_target=T)
    assert auto.unsupported_fraction_ == pytest.approx(inside(T).mean(), abs=0.03)
    assert auto.is_extrapolation(np.array([[0.0, 0.0], [1.0, 1.0]])).tolist() == [
        True,
        False,
    ]

    class Line:
        _estimator_type = "regressor"

        def predict(self, X):
            return np.asarray(X)[:, 0]

    told = estimate_performance(Line(), X, y, T, random_state=0)
    left = ~(seen.is_outside_support | seen.near_hole)
    assert told.covered.share == pytest.approx(left.mean(), abs=0.02)
    assert told.covered.share < 1 - told.uncovered_fraction
    assert told.verdict == "shift, partial overlap"
    truth = inside(T)[seen.rows_target[left]].mean()
    assert truth < 0.005


def test_the_order_of_rows_does_not_matter_and_sparse_rows_have_none():
    X, T = square(400, 3, 1)
    rng = np.random.default_rng(0)
    one = overlap(X, T, random_state=0)
    other = overlap(rng.permutation(X), T[::-1], random_state=0)
    assert one.holes.p_value == other.holes.p_value
    np.testing.assert_array_equal(one.in_hole, other.in_hole[::-1])
    rows = sparse.csr_array(X), sparse.csr_array(T)
    assert find_coverage_gaps(TwoSamples.of(*rows), 0).p_value == 1.0


def test_levels_of_a_category_are_one_block_whatever_their_scale():
    codes = np.random.default_rng(0).integers(0, 3, 90)
    hot = np.eye(3)[codes]
    number = np.random.default_rng(1).normal(size=(90, 1))
    blocks = blocks_of(np.hstack([0.7 * hot, number, hot[:, :1]]))
    assert [one.columns.tolist() for one in blocks] == [[0, 1, 2], [3], [4]]
    assert [one.is_number for one in blocks] == [False, True, False]
    np.testing.assert_array_equal(blocks[0].place, codes)


def test_new_rows_are_placed_as_those_of_the_fit():
    X = np.array([[0.0, 1], [1, 0], [0, 0], [0, 1]])
    block = blocks_of(X)[0]
    np.testing.assert_array_equal(block.at(X), block.place)
    few = blocks_of(np.array([[1.0], [2], [4]]))[0]
    np.testing.assert_array_equal(few.at(np.array([[4.0], [3.0]])), [2.0, -1.0])
    many = blocks_of(np.arange(20.0)[:, None])[0]
    assert many.at(np.array([[9.5]])) == pytest.approx(0.5)


def test_the_chance_of_one_empty_level_is_the_binomial_one_for_all_levels():
    n = 40
    levels = np.r_[np.repeat([0, 1], 20), np.repeat([0, 1, 2], [14, 14, 12])]
    block = CutColumn(np.array([0]), np.arange(3.0), None, None, levels.astype(float))
    even = np.full(n, 1 / n)
    (found,), pairs = cell_tests([block], n, even, even)
    assert pairs == []
    # One cell of three is chosen (r = 1): 1 * 2 * 3 times the chance of none of 12.
    assert found.p_depleted == pytest.approx(6 * binom.cdf(0, 12, 0.5))
    # Pearson's of all levels is smaller than twice that; and one of two was chosen.
    counts = [[20, 20, 0], [14, 14, 12]]
    pearson = chi2_contingency(counts).pvalue
    assert pearson < 2 * found.p_depleted
    assert found.p_value == pytest.approx(2 * pearson)
    # Weights that are not equal are not counts: it is not asked.
    uneven = even * np.where(np.arange(n) < 20, 1 + 1e-6, 1 - 1e-6)
    (found,), _ = cell_tests([block], n, uneven, even)
    assert found.p_value == pytest.approx(4 * found.p_depleted)


def test_p_values_of_cells_hold_their_level_with_unequal_sizes():
    least = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        rows = np.round(rng.normal(size=(420, 2)), 1)
        even = np.full(400, 1 / 400), np.full(20, 1 / 20)
        _, (pair,) = cell_tests(blocks_of(rows), 400, *even)
        least.append(pair.p_value)
    assert np.mean(np.array(least) <= 0.05) <= 0.05


def test_weights_make_rows_count_in_cells():
    rng = np.random.default_rng(0)
    X, T = rng.integers(0, 4, (2, 600, 2)).astype(float)
    weight = np.where((X == 1).all(axis=1), 1e-9, 1.0)
    found = find_coverage_gaps(TwoSamples.of(X, T, weight), 0)
    assert found.tells
    assert not find_coverage_gaps(TwoSamples.of(X, T), 0).tells


@pytest.mark.parametrize("shift", [0.5, 1.0, 2.0])
def test_a_smooth_shift_has_no_holes(shift):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, T = rng.normal(size=(2, 600, 4))
        T[:, :2] += shift
        holes = find_coverage_gaps(TwoSamples.of(X, T), seed)
        assert holes.tells
        assert holes.hold(T).mean() < 0.03


def test_what_lies_around_a_ball_and_on_which_sides_decides():
    none = np.zeros(1)
    least = np.log(1000 / 0.05) / np.log(2)
    for rows, told in ((np.ceil(least), True), (np.floor(least), False)):
        found = is_hole(np.array([rows]), none, none, part=0.5, n_places=1000)
        assert found.item() is told
    around = np.array([60.0]), np.array([20.0])
    assert not is_hole(np.array([40.0]), *around, 0.5, 1000).item()
    assert is_hole(np.array([400.0]), *around, 0.5, 1000).item()
    assert is_surrounded(np.empty((0, 2)), np.zeros(2), 1.0)
