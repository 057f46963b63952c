"""What is told of a feature, of thin rows, and in which words."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from counterpoise.data.table import Table, TableColumn
from counterpoise.data.two_samples import TwoSamples
from counterpoise.shift.columns import (
    CorrelationShift,
    FeatureShift,
    column_shifts,
    correlation_shifts,
    holm,
    ks_distance,
    ks_p_value,
    shares_p_value,
    standardized_difference,
    varies_within,
)
from counterpoise.shift.diagnosis import Reweighting, diagnose, reweighting_of
from counterpoise.shift.diagnosis_text import correlation_finding, diagnosis_explanation
from counterpoise.shift.separation import UncoveredRows, describe_uncovered_rows
from counterpoise.shift.support import CoverageGaps, overlap
from counterpoise.shift.two_sample_tests import (
    RankScores,
    chance_of_cells,
    moment_test,
)
from counterpoise.shift.verdict_tests import (
    ShiftTest,
    detectable,
    shift_tests,
    smallest_hole,
    verdict_by,
)


def even(n):
    return np.full(n, 1.0 / n)


def numbers(values):
    return TableColumn("x", "numbers", np.array(values, dtype=float))


def categories(values):
    names = tuple(sorted({one for one in values if one is not None}))
    places = [-1 if one is None else names.index(one) for one in values]
    return TableColumn("x", "categories", np.array(places), names)


def shift_of(source, target, make=numbers):
    source, target = (Table((make(one),), True) for one in (source, target))
    (found,) = column_shifts(source, target, even(len(source)), even(len(target)))
    return found


# -- distances and p-values ------------------------------------------------------------


def test_p_values_are_multiplied_in_order_and_none_falls_below_one_before_it():
    assert holm(np.array([0.01, 0.04, 0.03])).tolist() == pytest.approx(
        [0.03, 0.06, 0.06]
    )
    assert holm(np.array([0.5, 0.9])).tolist() == [1.0, 1.0]


def test_equal_values_are_no_place_to_look_between():
    tied = ks_distance(np.array([1.0, 1.0]), np.array([1.0, 2.0]), even(2), even(2))
    assert tied == 0.5
    uneven = np.array([0.9, 0.1])
    assert ks_distance(
        np.array([1.0, 2.0]), np.array([1.0, 2.0]), uneven, even(2)
    ) == pytest.approx(0.4)


def test_the_chance_of_a_distance_is_that_of_the_harmonic_number_of_rows():
    expected = stats.kstwo.sf(0.3, 20)
    assert ks_p_value(0.3, 40.0, 40.0) == pytest.approx(expected)


def test_two_categories_are_tested_exactly_below_five_expected_rows():
    def p(first, second, n=20):
        shares = np.array([first, n - first]) / n, np.array([second, n - second]) / n
        return shares_p_value(*shares, n, n)

    exact = stats.fisher_exact([[8, 12], [1, 19]]).pvalue
    assert p(8, 1) == pytest.approx(exact)
    pearson = stats.chi2_contingency([[9, 11], [1, 19]], correction=False).pvalue
    assert p(9, 1) == pytest.approx(pearson)


def test_categories_of_less_than_one_expected_row_are_pooled():
    n = 100.0
    shares = np.array([0.5, 0.49, 0.01, 0.0]), np.array([0.5, 0.49, 0.0, 0.01])
    # One row is expected of the last two together.
    together = np.array([0.5, 0.49, 0.01]), np.array([0.5, 0.49, 0.01])
    assert shares_p_value(*shares, n, n) == pytest.approx(
        shares_p_value(*together, n, n)
    )
    assert shares_p_value(np.array([1.0]), np.array([1.0]), n, n) == 1.0


def test_two_constants_that_differ_have_no_standardized_difference():
    values = np.array([2.0, 2.0])
    assert standardized_difference(values, values, even(2), even(2)) == 0.0
    assert standardized_difference(values, values + 1, even(2), even(2)) is None


# -- one feature -----------------------------------------------------------------------


def test_a_mean_of_fewer_than_five_values_is_not_told():
    found = shift_of([1.0] * 4 + [np.nan], [1.0] * 5)
    assert (found.source_mean, found.target_mean) == (None, 1.0)


def test_a_category_is_named_if_five_rows_have_it():
    four = shift_of(["a"] * 6 + ["b"] * 2, ["a"] * 6 + ["c"] * 2, categories)
    assert four.category is None
    five = shift_of(["a"] * 6 + ["b"] * 5, ["a"] * 11, categories)
    assert five.category == "a"


def test_new_categories_are_counted_and_named_from_five_rows_on():
    target = ["a"] * 5 + ["b"] * 5 + ["c"] * 4
    found = shift_of(["a"] * 10, target, categories)
    assert found.n_new == 2
    assert found.new_share == pytest.approx(9 / 14)
    assert [name for name, _ in found.new_categories] == ["b"]


def test_where_values_are_missing_the_smaller_p_value_counts_twice():
    gaps = [np.nan] * 4
    one = [float(k) for k in range(16)]
    moved = shift_of([*one, *gaps], [k + 8.0 for k in one] + gaps)
    values = shift_of(one, [k + 8.0 for k in one]).p_value
    assert moved.p_value == pytest.approx(2 * values)
    missing = shares_p_value(np.array([0.2, 0.8]), np.array([0.6, 0.4]), 20.0, 20.0)
    absent = shift_of([*one, *gaps], one[::2] + [np.nan] * 12)
    assert absent.p_value == pytest.approx(2 * missing)


def test_the_effect_is_the_largest_of_mean_distance_and_missing_values():
    root = np.sqrt(2 * np.pi)
    spread = shift_of([-1.0, 1.0] * 10, [-9.0, 9.0] * 10)
    assert spread.smd == pytest.approx(0.0)
    assert spread.effect == pytest.approx(root * spread.ks)
    absent = shift_of([1.0, 2.0, 3.0, 4.0], [1.0, 4.0, np.nan, np.nan])
    assert absent.effect >= root * 0.5


# -- thinly covered rows ---------------------------------------------------------------


def thin_of(target, source=None, by_chance=False):
    source = [[0.0]] * 20 if source is None else source
    table, uncovered_fraction = Table.of(source), Table.of(target)
    return describe_uncovered_rows(
        table,
        uncovered_fraction,
        even(len(table)),
        even(len(uncovered_fraction)),
        50,
        by_chance,
    )


def test_of_fewer_than_five_thin_rows_nothing_is_told():
    assert thin_of([[9.0]] * 4).columns == ()
    assert "nobody is recognized" in thin_of([[9.0]] * 4).note
    assert [one.name for one in thin_of([[9.0]] * 5).columns] == ["x0"]


def test_thin_rows_that_chance_explains_are_not_described():
    assert "chance explains" in thin_of([[9.0]] * 9, by_chance=True).note


def test_a_column_sets_rows_apart_from_an_effect_of_one_half_on():
    rng = np.random.default_rng(0)
    source = rng.normal(size=(400, 1))
    target = rng.permutation(source)

    def columns(away):
        return thin_of((target + away).tolist(), source.tolist()).columns

    assert len(columns(0.55)) == 1
    assert columns(0.45) == ()
    assert "combination" in thin_of((target + 0.45).tolist(), source.tolist()).note


def test_at_most_five_columns_are_described_those_with_the_largest_effect():
    source = np.random.default_rng(0).normal(size=(50, 7))
    target = source + np.arange(7.0) + 1.0
    found = thin_of(target.tolist(), source.tolist())
    assert [one.name for one in found.columns] == ["x6", "x5", "x4", "x3", "x2"]


# -- tests on which the verdict rests --------------------------------------------------


def seen(p_of_holes=1.0, auc_low=0.4):
    rng = np.random.default_rng(0)
    found = overlap(*rng.normal(size=(2, 80, 2)), random_state=0)
    holes = CoverageGaps(p_of_holes, most_unlike=(1,))
    return replace(found, holes=holes, auc=0.55, auc_low=auc_low, auc_high=0.6)


def feature(p, name="age"):
    return FeatureShift(name, "numbers", 0.1, adjusted_p_value=p)


def test_a_test_tells_from_a_corrected_p_value_of_one_in_a_hundred():
    for p, tells in ((0.01, True), (0.0101, False)):
        tests = shift_tests(seen(p), [feature(p)], ("a", "b"), p)
        assert [t.name for t in tests[1:]] == [
            "cells and neighbors",
            "columns",
            "kernel means",
        ]
        assert [t.tells for t in tests] == [False, tells, tells, tells]


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({}, "no shift detected"),
        ({"features": [feature(0.5), feature(0.01)]}, "small shift"),
        ({"mmd_p_value": 0.005}, "small shift"),
        ({"covered": seen(0.004)}, "small shift"),
        ({"covered": seen(auc_low=0.5)}, "no shift detected"),
        ({"covered": seen(auc_low=0.51)}, "small shift"),
    ],
)
def test_the_verdict_contradicts_none_of_its_tests(changed, word):
    given = {"covered": seen(), "features": [feature(0.5)], "mmd_p_value": 0.5}
    given |= changed
    tests = shift_tests(names=("a", "b"), **given)
    even = np.full(80, 1 / 80)
    assert verdict_by(tests, given["covered"], even, even) == word
    assert any(test.tells for test in tests) == (word != "no shift detected")


def test_the_most_telling_column_is_named():
    features = [feature(0.5), feature(0.001, "height")]
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(2, 400, 2))
    ranked = TwoSamples.of(X, T * [1.0, 1.5])
    tests = shift_tests(seen(), features, ("a", "b"), None, moment_test(ranked))
    assert [t.about for t in tests] == [(), ("b",), ("height",), ("b",)]
    by_columns, moments = tests[2:]
    assert (by_columns.p_value, moments.tells) == (0.001, True)
    assert moments.p_value == moment_test(ranked).p_value


def two_columns(n=400, m=300, *, seed=1):
    rng = np.random.default_rng(seed)
    return rng.standard_t(3, size=(n, 2)), rng.standard_t(3, size=(m, 2))


def test_the_smallest_p_value_of_a_kind_pays_for_its_number_and_for_the_kinds():
    X, T = two_columns()
    mean = stats.mannwhitneyu(X[:, 0], T[:, 0] + 0.4).pvalue
    found = moment_test(TwoSamples.of(X, T + np.array([0.4, 0.0])))
    # Two columns of four kinds; ranks count either sample one half.
    assert found.columns == (0,)
    assert np.log(found.p_value) == pytest.approx(np.log(8 * mean), rel=0.05)
    spread = stats.mood(X[:, 1], 1.6 * T[:, 1]).pvalue
    found = moment_test(TwoSamples.of(X, T * [1.0, 1.6]))
    assert found.columns == (1,)
    assert np.log(found.p_value) == pytest.approx(np.log(8 * spread), rel=0.1)
    # One pair, four kinds.
    together = T @ np.array([[1.0, 0.4], [0.0, 1.0]])
    apart = np.arctanh(stats.spearmanr(together).statistic)
    apart -= np.arctanh(stats.spearmanr(X).statistic)
    z = apart / np.sqrt(1.06 / 397 + 1.06 / 297)
    found = moment_test(TwoSamples.of(X, together))
    assert found.columns == (0, 1)
    assert np.log(found.p_value) == pytest.approx(
        np.log(8 * stats.norm.sf(z)), rel=0.25
    )


def test_many_spreads_that_moved_a_little_are_found_together():
    rng = np.random.default_rng(2)
    X, T = rng.normal(size=(2, 1000, 15))
    found = moment_test(TwoSamples.of(X, 1.07 * T))
    assert (found.columns, found.p_value < 1e-4) == ((), True)


def test_of_one_column_there_are_two_kinds_and_of_two_values_none():
    X, T = two_columns()
    one = TwoSamples.of(X[:, :1], T[:, :1] + 0.4)
    two = TwoSamples.of(X * [1, 0], (T + 0.4) * [1, 0])
    assert moment_test(one).p_value == pytest.approx(moment_test(two).p_value)
    each = stats.mannwhitneyu(X[:, 0], T[:, 0] + 0.4).pvalue
    assert np.log(moment_test(one).p_value) == pytest.approx(np.log(2 * each), rel=0.05)
    levels = TwoSamples.of((X > 1) * 1.0, (T > 0) * 1.0)
    assert moment_test(levels).p_value == 1.0


def test_a_column_needs_twenty_rows_of_either_sample_that_vary():
    def scores(off, m):
        """Return which columns count, `off` of the 200 source rows beside zero."""
        X, T = np.zeros((200, 1)), np.zeros((m, 1))
        X[:off, 0], T[: off * m // 200, 0] = np.arange(off) + 1, 0.5
        return RankScores.of(TwoSamples.of(X, T))

    assert [scores(k, 200).columns.size for k in (19, 20)] == [0, 1]
    # Half of the rows, half of the part that varies: 20 of 100.
    assert [scores(k, 100).columns.size for k in (38, 40)] == [0, 1]
    # A pair needs 20 rows in which both vary: sqrt(20 / 200) of each.
    assert [scores(k, 200).in_pairs.size for k in (63, 64)] == [0, 1]


def test_no_column_that_varies_is_no_difference():
    nothing = TwoSamples.of(np.zeros((50, 2)), np.zeros((40, 2)))
    assert (moment_test(nothing).p_value, moment_test(nothing).columns) == (1.0, ())


def test_columns_recorded_to_different_digits_are_told():
    rng = np.random.default_rng(3)
    X, T = rng.normal(size=(2, 300, 2))
    T[:, 1] = T[:, 1].round(1)
    found = diagnose(X, T, random_state=0)
    assert (found.digits, found.to_dict()["digits"]) == (("x1",), ["x1"])
    assert "record 'x1' to different digits" in found.explanation
    assert diagnose(X, X[::-1], random_state=0).digits == ()


# -- words -----------------------------------------------------------------------------


def told(
    verdict="shift, full overlap",
    features=(),
    reweighting=None,
    uncovered_fraction=0.0,
    tests=(),
    missed=None,
    correlations=(),
):
    return diagnosis_explanation(
        SimpleNamespace(
            verdict=verdict,
            uncovered_fraction=uncovered_fraction,
            auc=0.7,
            features=features,
            reweighting=reweighting,
            tests=tests,
            detectable=missed,
            digits=(),
            correlations=correlations,
            spellings=(),
            uncovered_rows=UncoveredRows(0, 0),
            dependence=None,
            dependence_hint=None,
            watched=False,
        )
    )


FEATURE = FeatureShift("age", "numbers", 0.1, smd=0.1, adjusted_p_value=0.01)


def test_a_feature_is_worth_a_word_from_an_effect_of_a_tenth_and_p_up_to_one_percent():
    assert "What differs most by itself: 'age'" in told(features=(FEATURE,))
    small = told(features=(replace(FEATURE, effect=0.099),))
    assert "'age' differs by more than chance, but hardly" in small
    chance = told(features=(replace(FEATURE, adjusted_p_value=0.0101),))
    assert "it is how they go together" in chance


def test_tests_that_tell_are_named_where_the_classifier_does_not():
    holes = ShiftTest("cells and neighbors", 0.001, True, ("a", "b"))
    others = ShiftTest("columns", 0.5, False, ("c",))
    quiet = ShiftTest("classifier", 0.2, False)
    said = told(tests=(quiet, holes, others))
    assert "differ by more: cells and neighbors ('a' with 'b')." in said
    assert "another test" not in told(tests=(replace(quiet, tells=True), holes))
    assert "another test" not in told(tests=(quiet, others))


def test_pairs_that_go_together_otherwise_are_named_and_counted_beyond_three():
    pairs = tuple(CorrelationShift((one, "z"), 0.01, 0.5, 0.001) for one in "abcde")
    said = told(correlations=pairs)
    assert (
        "otherwise: 'a' with 'z' (rank correlation +0.01 in the source, +0.50" in said
    )
    assert "'c' with 'z'" in said
    assert "'d'" not in said
    assert "and 2 more." in said
    assert "together otherwise" not in told()


def test_a_pair_is_named_where_its_rank_correlation_within_the_samples_has_moved():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(400, 3)), rng.normal(size=(150, 3))
    # Both columns lie elsewhere and spread more, but go together as they did.
    moved = 3.0 * T + 2.0
    assert correlation_shifts(TwoSamples.of(X, moved), list("abc")) == ()
    moved[:, 2] += 2.0 * moved[:, 0]
    (found,) = correlation_shifts(TwoSamples.of(X, moved), list("abc"))
    assert found.columns == ("a", "c")
    assert found.source == pytest.approx(stats.spearmanr(X[:, 0], X[:, 2])[0])
    after = stats.spearmanr(moved[:, 0], moved[:, 2])[0]
    assert found.target == pytest.approx(after)
    assert found.to_dict()["columns"] == ["a", "c"]


def test_the_chance_of_a_pair_is_corrected_for_their_number():
    rng = np.random.default_rng(1)
    X, T = rng.normal(size=(2, 300, 2))
    T[:, 1] += 0.25 * T[:, 0]
    few = correlation_shifts(TwoSamples.of(X, T), list("ab"))
    assert 0.001 < few[0].p_value <= 0.01
    more = rng.normal(size=(2, 300, 4))
    wide = TwoSamples.of(np.hstack([X, more[0]]), np.hstack([T, more[1]]))
    assert correlation_shifts(wide, list("abcdef")) == ()


def test_of_rows_that_belong_together_the_pair_of_their_test_alone_is_named():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(2, 300, 3))
    T[:, 1] += T[:, 0]
    T[:, 2] -= T[:, 0]
    assert len(correlation_shifts(TwoSamples.of(X, T), list("abc"))) == 3
    (found,) = correlation_shifts(TwoSamples.of(X, T), list("abc"), ("c", "a"))
    assert found.columns == ("a", "c")
    # Nor is it named where its own correlation has not moved by more than chance.
    still = TwoSamples.of(X, rng.normal(size=(300, 3)))
    assert correlation_shifts(still, list("abc"), ("c", "a")) == ()


def test_a_column_that_is_constant_in_one_sample_goes_together_with_none():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(2, 400, 2))
    X[:, 1] += 3 * X[:, 0]
    T[:, 1] = 0.0
    for before, after in ((X, T), (T, X)):
        assert correlation_shifts(TwoSamples.of(before, after), list("ab")) == ()
    # Five rows that go together have a correlation, four are no rows to rest on.
    for n, named in ((4, 0), (5, 1)):
        T[:n, 1] = 1.0
        found = correlation_shifts(TwoSamples.of(X, T), list("ab"))
        assert len(found) == named


def test_five_rows_that_differ_make_a_column_that_varies():
    def varies(n, weight=1.0):
        column, share = np.zeros(100), np.ones(100)
        column[:n], share[:n] = np.arange(1, n + 1), weight
        return varies_within(column, share / share.sum())

    assert not varies(0)
    assert not varies(4)
    assert varies(5)
    # One heavy row is no five, nor are five that hardly count.
    assert not varies(1, 10.0)
    assert not varies(5, 1e-3)


def test_a_correlation_of_zero_has_no_sign():
    pairs = [CorrelationShift(("a", "b"), -0.001, 0.004, 0.001)]
    text = str(correlation_finding(pairs))
    assert "(rank correlation 0.00 in the source, 0.00 in the target)" in text


def test_pairs_are_looked_for_only_where_there_is_a_shift_to_explain():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(2, 400, 3))
    assert diagnose(X, T, random_state=0).correlations == ()
    T[:, 2] += T[:, 1]
    found = diagnose(X, T, random_state=0)
    assert [pair.columns for pair in found.correlations] == [("x1", "x2")]
    assert "together otherwise: 'x1' with 'x2'" in found.explanation
    # Nor is it told of samples that lie apart.
    assert diagnose(X, T + 50.0, random_state=0).correlations == ()


def test_what_could_have_been_missed_is_told_where_little_is_seen():
    missed = detectable(500, 500, d=3)
    for word in ("no shift detected", "small shift"):
        assert str(missed) in told(word, missed=missed)
    assert "could have been missed" not in told("shift, full overlap", missed=missed)


def test_what_could_have_been_missed_follows_its_formulas():
    n, m, d, k = 800, 400, 6, 5
    found = detectable(n, m, d, n_levels=k, n_categories=2)
    e, often = np.sqrt(1 / n + 1 / m), stats.norm.ppf(0.8)
    # Four of the columns are numbers, looked at in four ways.
    z = stats.norm.isf(0.005 / 16) + often
    assert found.mean == pytest.approx(z * e / np.sqrt(0.955))
    assert found.scale == pytest.approx(np.exp(z * e / np.sqrt(1.52)))
    z = stats.norm.isf(0.005 / 24) + often
    assert found.correlation == pytest.approx(np.tanh(z * e / np.sqrt(0.912)))
    z = stats.norm.isf(0.005 / 2) + often
    assert detectable(n, m, 1).mean == pytest.approx(z * e / np.sqrt(0.955))
    # Two categories beside numbers: two of two kinds.
    z = stats.norm.isf(0.01 / (24 * k * 4)) + often
    more = found.level - 1
    assert 0.1 * more == pytest.approx(z * e * np.sqrt(0.1 * (2 + more) / 2))
    # Six pairs of numbers, of three kinds.
    assert found.hole == smallest_hole(n, m, 18)
    # Categories alone are of one kind; without any, one among numbers is meant.
    assert detectable(n, m, 4, k, 4).level == pytest.approx(found.level)
    assert detectable(n, m, d, k).level == detectable(n, m, d, k, 1).level


def test_the_smallest_hole_is_a_quarter_more_than_the_one_whose_cells_tell():
    n, m, among = 1000, 1000, 45
    share = smallest_hole(n, m, among) / 1.25

    def least_chance(share):
        found = []
        for cut in (5, 8):
            middle, half = (cut // 2 + 0.25) / cut, np.sqrt(share) / 2
            ends = np.arange(cut + 1) / cut
            along = np.diff(np.clip(ends, middle - half, middle + half)) * cut
            covered = np.outer(along, along).ravel()
            each = n / cut**2
            fewer = stats.norm.ppf(0.8) * covered * each / np.sqrt(share * m)
            s, t = (1 - covered) * each / (1 - share), each - fewer
            found.append(chance_of_cells(s, t, 0.5))
        return min(found)

    assert 24 * among * least_chance(share) <= 0.01
    assert 24 * among * least_chance(share * 0.998) > 0.01
    assert smallest_hole(12, 12, 1) == pytest.approx(1.25)


def test_new_categories_are_told_from_one_in_a_hundred_on():
    many = replace(FEATURE, new_share=0.01)
    few = replace(FEATURE, new_share=0.0099)
    assert "categories that the source has not" in told(features=(many,))
    assert "categories that the source has not" not in told(features=(few,))


def removing(after, share=0.2):
    direction = (("a", 0.8), ("b", share))
    return Reweighting(1.0, after, 0.0, direction, True, (), (), 9, 9)


def test_the_direction_that_cannot_be_matched_is_named_below_95_per_cent():
    assert "direction" not in told(reweighting=removing(0.05))
    assert "mostly 'a', 'b'" in told(reweighting=removing(0.051))
    assert "mostly 'a', along" in told(reweighting=removing(0.051, share=0.19))
    assert "Reweighting" not in told("no shift detected", reweighting=removing(0.5))


def test_the_best_weights_are_looked_for_up_to_a_hundred_columns():
    rng = np.random.default_rng(0)

    def found(d):
        X, T = rng.normal(size=(12, d)), rng.normal(size=(12, d)) + 0.1
        names = [f"x{j}" for j in range(d)]
        return reweighting_of(TwoSamples.of(X, T).ordered(), names)

    assert found(100).after is not None
    assert found(101).after is None
    assert found(1000) is not None
    assert found(1001) is None


def test_rows_of_weight_zero_are_not_counted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 1))
    weight = np.r_[np.zeros(5), np.ones(25)]
    found = diagnose(X, X + 0.1, sample_weight=weight, n_permutations=0, random_state=0)
    assert (found.n_source, found.n_target) == (25, 30)
    assert found.mmd_p_value is None
