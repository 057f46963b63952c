"""Which estimate leads, how wide its interval is, when rows contradict it."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier

from counterpoise.bounds import any_hypothesis, model_distance
from counterpoise.data.columns import Part, Parts
from counterpoise.messages import Finding
from counterpoise.performance.conformal import (
    Calibration,
    adaptive_scores,
    class_scores,
    interval_sizes,
    set_sizes,
    sets_of,
)
from counterpoise.performance.estimators import (
    Errors,
    Estimate,
    Evidence,
    MovedColumn,
    errors_of,
    labeled_error,
    labeled_estimate,
    leading_estimate,
    loss_by_slice,
    mean_intervals,
    rows_outside_support,
)
from counterpoise.performance.functionals import as_functional, linearize
from counterpoise.performance.intervals import (
    Interval,
    combined,
    dependent_row_groups,
    effective_rows,
    folds_of,
    folds_within,
    least_error,
    neighbors_alike,
    rows_worth,
    skewness_of_mean,
    student_quantile,
    weighted_mean_error,
    wilson_interval,
)
from counterpoise.performance.loss_model import LossCurve, _factors, fit_loss_model
from counterpoise.performance.metrics import (
    ClassifierPredictions,
    RegressorPredictions,
    as_metric,
    is_classifier,
    reliability,
)
from counterpoise.performance.result import (
    MetricPerformance,
    Rows,
    label_check,
    leading_of,
)
from counterpoise.performance.result import _together as together
from counterpoise.twin_gp import consensus

ERROR_RATE = as_metric("error_rate", RidgeClassifier(), [0, 1])
SQUARED = as_metric(None, Ridge(), [0.5, 1.5])


def estimate(value=0.0):
    return Estimate(value, value - 1.0, value + 1.0, Finding("assumes_source"))


# -- which estimate leads --------------------------------------------------------------


def test_labeled_rows_lead_then_both_robust_then_the_weights():
    labeled, robust, weighted = estimate(1.0), estimate(2.0), estimate(3.0)
    every = {"labeled": labeled, "doubly_robust": robust, "weighted": weighted}
    for name in list(every):
        found = MetricPerformance("m", False, estimate(), **every)
        assert found.best is every[name]
        del every[name]
    assert MetricPerformance("m", False, estimate()).best is None


def evidence(losses, ratio=None, counts=None, modeled=None, groups=None):
    losses = np.asarray(losses, dtype=float)
    one = np.ones(losses.size)
    return Evidence(
        losses,
        one if ratio is None else np.asarray(ratio, dtype=float),
        one if counts is None else np.asarray(counts, dtype=float),
        np.zeros(losses.size) if modeled is None else np.asarray(modeled, float),
        np.zeros(4),
        groups,
    )


def test_the_weights_of_the_correction_are_cut_at_their_99_per_cent_quantile():
    ratio = np.ones(200)
    ratio[:2], ratio[2] = 50.0, 10.0
    share = evidence(np.zeros(200), ratio).cut_share
    # 198 of 200 rows are 99 %: the largest two are cut to the third.
    assert share[0] == share[2] == pytest.approx(10 * share[3])
    # Rows that count nothing have no part in the quantile.
    counts = np.r_[0.0, 0.0, np.ones(198)]
    assert evidence(np.zeros(200), ratio, counts).cut_share[2] == pytest.approx(1 / 198)


def test_labeled_rows_contradict_below_a_p_value_of_one_in_twenty():
    rng = np.random.default_rng(0)
    source = evidence(rng.normal(size=400))
    losses = rng.normal(size=50)
    base = label_check(source, losses - losses.mean(), np.zeros(50))
    error, middle = base.error, source.cut_share @ source.losses
    of_source = weighted_mean_error(source.losses, np.full(400, 1 / 400))
    assert error == pytest.approx(np.hypot(losses.std(ddof=1) / 50**0.5, of_source))
    quantile = stats.t.isf(0.025, 49)
    for times, said in (
        (0.999, "no change of p(y | x) is seen"),
        (1.001, "has changed"),
    ):
        moved = losses - losses.mean() + middle + times * quantile * error
        check = label_check(source, moved, np.zeros(50))
        assert said in str(check.finding)
        assert (check.p_value < 0.05) == (times > 1)


def test_equal_losses_that_differ_are_no_less_surprising_for_lack_of_spread():
    alike = evidence(np.zeros(10))
    assert label_check(alike, np.zeros(5), np.zeros(5)).p_value > 0.98
    assert label_check(alike, np.ones(5), np.zeros(5)).p_value < 1e-6


@pytest.mark.parametrize("metric", [None, SQUARED])
def test_two_equal_labeled_rows_do_not_show_a_change(metric):
    # 10,000 source rows of mean zero and standard deviation one.
    source = evidence(np.tile([-1.0, 1.0], 5_000))
    quantile = stats.t.isf(0.025, 1)
    for errors in (0.99, 1.01):
        two = np.full(2, errors * quantile * np.hypot(np.sqrt(1 / 2), 0.01))
        found = label_check(source, two, np.zeros(2), metric)
        assert found.error == pytest.approx(np.hypot(np.sqrt(1 / 2), 0.01))
        assert found.contradicts == (errors > 1.0)


def test_labeled_rows_are_blended_with_the_robust_estimate_unless_contradicted():
    losses, modeled = np.array([0.9, 1.1, 1.0, 1.0]), np.zeros(4)
    alone = labeled_estimate(SQUARED, losses, modeled, np.zeros(9), 0.95)
    assert alone.value == pytest.approx(1.0)
    assert "do not contradict" not in str(alone.assumption)
    robust = Interval(1.05, 1.0, 1.1)
    both = labeled_estimate(SQUARED, losses, modeled, np.zeros(9), 0.95, robust, 1.0)
    assert 1.0 < both.value < 1.05
    assert "do not contradict" in str(both.assumption)
    # Four rows are close by chance: their spread is taken to be the source's.
    assert both.value > 1.049


def test_a_metric_that_is_no_mean_is_blended_where_the_intervals_can_meet():
    weighted = Estimate(0.0, -3.0, 3.0, "")
    near, far = (Estimate(v, v - 4.0, v + 4.0, "own") for v in (5.0, 5.001))
    assert together(weighted, far, 1.0, 0.95) is far
    assert together(weighted, near, 1.0, 0.95).value < 5.0
    assert together(None, near, 1.0, 0.95) is near


def test_a_bias_that_is_seen_takes_its_share_from_the_sharper_estimate():
    sharp, honest = Interval(0.0, -0.1, 0.1), Interval(1.0, 0.0, 2.0)
    z = stats.norm.ppf(0.975)
    s, h = 0.1 / z, 1.0 / z
    bias = 1.0 - s**2 - h**2
    share = h**2 / (h**2 + s**2 + bias)
    assert combined(sharp, honest, 0.95).value == pytest.approx(1.0 - share)
    # What chance explains is no bias.
    close = Interval(0.1, -0.9, 1.1)
    share = h**2 / (h**2 + s**2)
    assert combined(sharp, close, 0.95).value == pytest.approx(0.1 * (1 - share))


def test_no_error_among_few_rows_is_no_proof_of_none():
    found = mean_intervals(ERROR_RATE, evidence(np.zeros(20)), 0.95)
    assert all(one.high > 0.1 for one in found.values())
    assert labeled_error(ERROR_RATE, np.zeros(6)) == pytest.approx(np.sqrt(2) / 8)
    assert labeled_error(SQUARED, np.zeros(6)) == 0.0
    assert least_error(6, 0.0, np.inf) == 0.0
    wilson = wilson_interval(0.0, 60, 1.96, 0.0, 1.0)
    assert wilson.high == pytest.approx(1.96**2 / (60 + 1.96**2))


def alternating(n=100, off=0.0):
    """Return evidence of losses without skewness, modeled as zero and off."""
    losses = 5.0 + np.tile([-1.0, 1.0], n // 2)
    return Evidence(
        losses, np.ones(n), np.ones(n), np.full(n, 5.0), np.full(n, 5.0 + off)
    )


def test_the_interval_reaches_beyond_the_error_and_a_quarter_more_where_rows_are_lost():
    found = mean_intervals(SQUARED, alternating(), 0.95)["doubly_robust"]
    error = np.sqrt(1 / 99)
    quantile = student_quantile(100.0, 0.95)
    assert found.high - found.value == pytest.approx(1.1 * quantile * error)
    # Half of the rows lost; cut weights and whole ones are the same.
    half = alternating()
    half.ratio[:50] = 1e-300
    lost = mean_intervals(SQUARED, half, 0.95)["doubly_robust"]
    reach = (1.1 + 0.25 * 0.5) * student_quantile(50.0, 0.95) * np.sqrt(1 / 49)
    assert lost.high - lost.value == pytest.approx(reach)


def test_the_interval_of_an_area_does_not_heed_the_direct_one_and_counts_few_rows():
    rng = np.random.default_rng(0)
    labels, scores = np.repeat([0, 1], [150, 50]), rng.normal(size=200)
    scores[150:] += 1.0
    answers = ClassifierPredictions(
        {"predict": (scores > 0).astype(int), "decision_function": scores}, np.arange(2)
    )
    metric = as_metric("roc_auc", answers, labels)
    one, chance = np.ones(200), np.full(200, 0.25)
    told = linearize(
        as_functional(metric, answers),
        answers,
        labels,
        one,
        one,
        chance,
        answers,
        chance,
    )
    found = mean_intervals(metric, told, 0.95)["doubly_robust"]
    assert told.worth == pytest.approx(50.0)
    values, errors = told.values(), errors_of(told)
    apart = abs(values["weighted"] - values["doubly_robust"])
    assert abs(values["doubly_robust"] - values["direct"]) > 0.1
    error = np.hypot(1.1 * errors.doubly_robust, 0.5 * apart)
    assert error > told.least
    place = (found.value * 50 + 1) / 52
    rows = place * (1 - place) / error**2
    quantile = student_quantile(50.0, 0.95)
    wanted = wilson_interval(found.value, rows, quantile, 0.0, 1.0)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))


def test_a_skewed_interval_reaches_further_on_its_side_and_less_far_on_the_other():
    losses = np.r_[np.full(90, 4.0), np.full(10, 14.0)]
    one, flat = np.ones(100), np.full(100, 5.0)
    for sign in (1, -1):
        told = Evidence(sign * losses, one, one, sign * flat, sign * flat)
        found = mean_intervals(SQUARED, told, 0.95)["doubly_robust"]
        error = 1.1 * errors_of(told).doubly_robust
        quantile = student_quantile(errors_of(told).freedom, 0.95)
        further = skewness_of_mean(losses, one / 100) * (2 * quantile**2 + 1) / 6
        near, far = quantile - further / 2, quantile + further
        ends = found.value - found.low, found.high - found.value
        assert ends[::sign] == pytest.approx((error * near, error * far))
    ruled = np.r_[np.zeros(99), 30.0]
    told = Evidence(ruled, one, one, 0 * one + 0.3, 0 * one + 0.3)
    found = mean_intervals(SQUARED, told, 0.95)["doubly_robust"]
    quantile = student_quantile(errors_of(told).freedom, 0.95)
    # However skewed, three quarters of the reach are left below.
    reach = 1.1 * errors_of(told).doubly_robust * 0.75 * quantile
    assert found.value - found.low == pytest.approx(reach)


def test_target_rows_beyond_the_source_may_lose_as_the_worst_hundredth():
    losses = np.r_[np.full(90, 4.0), np.arange(10.0, 19.0), 24.0, 99.0]
    counts = np.r_[np.ones(100), 0.0]
    ones, flat = np.ones(101), np.full(101, 5.1)
    beyond, added = np.r_[np.ones(30), np.zeros(70)] - 0.1, 0.2 * (21.0 - 5.1)
    for sign in (1, -1):
        told = Evidence(sign * losses, ones, counts, sign * flat, sign * flat[:100])
        plain = mean_intervals(SQUARED, told, 0.95)
        told = replace(told, beyond=beyond)
        # The two at or above the quantile; the row that counts nothing is none.
        assert told.worst_beyond(sign) == pytest.approx(added)
        found = mean_intervals(SQUARED, told, 0.95)
        for name in ("weighted", "direct", "doubly_robust"):
            ends, before = (
                np.array([one.value - one.low, one.high - one.value])[::sign]
                for one in (found[name], plain[name])
            )
            assert ends[0] == before[0]
            assert ends[1] == pytest.approx(before[1] + added)
        few = replace(told, beyond=beyond - 0.2)
        assert mean_intervals(SQUARED, few, 0.95) == plain
        taken = told.take(np.arange(101), np.arange(50, 100))
        assert taken.worst_beyond(sign) == 0.0


def test_rows_beyond_are_those_of_any_column_less_chance():
    source = np.array([[0.0, 0.0], [1.0, 5.0], [2.0, 9.0], [99.0, 3.0]])
    target = np.array([[2.0, 9.0], [0.5, 10.0], [-0.1, 3.0], [50.0, 3.0]])
    # From the median to the end, or half of the range; ten times as far at most.
    assert rows_outside_support(source[:3], target) == pytest.approx(
        np.array([0.0, (5 / 4.5) ** 2, 1.1**2, 100.0]) - 1.0
    )
    many = np.repeat(source, 5, axis=0)
    # The median of the first is near its low end; that of the second is 4.
    assert rows_outside_support(many, target) == pytest.approx(
        np.array([0.0, (6 / 5) ** 2, 1.0, 0.0]) - 4 / 21
    )
    # A row beyond two columns is as far as the farther of them; a constant has no way.
    two = np.array([[-0.2, 27.5, 7.0], [1.0, 5.0, 9.0]])
    known = np.column_stack([source[:3], np.full(3, 7.0)])
    assert rows_outside_support(known, two) == pytest.approx(
        np.array([25.0, 1.0]) - 1.0
    )
    ends = np.array([[-1e308], [1e308]])
    assert rows_outside_support(ends, 1.5 * ends) == pytest.approx(1.5**2 - 2 / 3)
    assert rows_outside_support(sparse.csr_array(source), target) is None
    answers = RegressorPredictions({"predict": np.zeros(4)})
    rows = Rows(
        answers, np.zeros(4), np.r_[np.ones(3), 0.0], answers, None, source, target,
        None,
    )  # fmt: skip
    # A row that counts nothing reaches nowhere.
    assert rows.beyond == pytest.approx(rows_outside_support(source[:3], target))


def test_no_interval_is_narrower_than_the_doubly_robust_one_s():
    sure = replace(alternating(), by_fold=np.full((4, 100), 5.0))
    assert errors_of(sure).direct == 0.0
    found = mean_intervals(SQUARED, sure, 0.95)
    widths = {name: one.high - one.low for name, one in found.items()}
    assert widths["direct"] == pytest.approx(widths["doubly_robust"])


def test_half_of_the_estimates_difference_is_an_error_of_each():
    # The direct estimate is off by 2, and the doubly robust one with it.
    found = mean_intervals(SQUARED, alternating(off=2.0), 0.95)["doubly_robust"]
    whole = np.sqrt(1.1**2 / 99 + 0.25 * 2.0**2)
    reach = student_quantile(100.0, 0.95) * whole
    assert found.high - found.value == pytest.approx(reach)
    # The correction is 1, and as far from the direct estimate as from the weighted one.
    missed = alternating()
    missed.modeled[:] = 4.0
    found = mean_intervals(SQUARED, missed, 0.95)["doubly_robust"]
    whole = np.sqrt(1.1**2 / 99 + 0.25 * (1.0 + 1.0))
    reach = student_quantile(100.0, 0.95) * whole
    assert found.high - found.value == pytest.approx(reach)


def test_the_weighted_estimate_leads_where_its_error_is_less_than_half():
    def errors(weighted, direct, robust, freedom=4.5):
        return Errors(weighted, direct, robust, freedom, 1.0)

    # Half of the error is needed, and less.
    assert errors(1.0, 0.9, 2.0).least == "doubly_robust"
    assert errors(1.0, 0.9, 2.01).least == "weighted"
    assert errors(1.0, 0.9, 2.01, 4.0).least == "weighted"
    # The direct one's must be less where the other's hangs on one square.
    assert errors(1.0, 1.1, 1.1, 4.4).least == "doubly_robust"
    assert errors(1.0, 1.0, 1.1, 4.4).least == "direct"
    assert errors(1.0, 1.0, 1.1, 4.5).least == "doubly_robust"
    found = MetricPerformance(
        "m",
        False,
        estimate(),
        weighted=estimate(1.0),
        direct=estimate(2.0),
        doubly_robust=estimate(3.0),
        leading="direct",
    )
    assert found.best is found.direct
    assert leading_of(found.to_dict()) == "direct"


def test_the_direct_estimate_leads_of_means_alone():
    # Four fits that agree, and one row that puts them right.
    ruled, one, flat = np.r_[np.full(99, 5.0), 35.0], np.ones(100), np.full(100, 5.0)
    sure = Evidence(ruled, one, one, flat, flat, by_fold=np.full((4, 100), 5.0))
    assert errors_of(sure).freedom < 4.5
    assert leading_estimate(sure) == "direct"
    assert leading_estimate(replace(alternating(), by_fold=sure.by_fold)) != "direct"
    values = dict.fromkeys(("source", "weighted", "direct", "doubly_robust"), 5.0)
    assert leading_estimate(replace(sure, exact=values)) == "doubly_robust"


def test_what_chance_does_not_explain_is_the_bias_of_the_simpler_estimate():
    none = errors_of(alternating())
    assert none.weighted == pytest.approx(0.1)
    assert none.doubly_robust == pytest.approx(np.sqrt(1 / 99))
    biased = errors_of(alternating(off=2.0))
    # Off from the doubly robust by 2, of which the model's spread explains nothing.
    assert biased.weighted == pytest.approx(np.sqrt(0.01 + 4.0))
    missed = alternating()
    missed.modeled[:] = 4.0
    # By chance the rest of the losses has a variance of 0.01 in the mean.
    assert errors_of(missed).direct == pytest.approx(np.sqrt(0.01 + 1.0 - 0.01))
    fits = np.array([1.0, 2.0, 3.0, 4.0])[:, None] * np.ones((4, 100))
    by_fits = errors_of(replace(alternating(), by_fold=fits))
    assert by_fits.direct == pytest.approx(np.sqrt(0.75 * 5.0))


def test_of_given_target_rows_the_chance_in_their_labels_counts():
    where_from = alternating()
    rows = replace(where_from, of_these_rows=True)
    assert errors_of(where_from).doubly_robust == pytest.approx(np.sqrt(1 / 99))
    # As many target rows, and as noisy.
    assert errors_of(rows).doubly_robust == pytest.approx(np.sqrt(1 / 99 + 0.01))
    spread = np.tile([0.0, 10.0], 50)
    wide = replace(rows, modeled_target=spread)
    assert errors_of(wide).doubly_robust == pytest.approx(np.sqrt(1 / 99 + 0.25))


def test_an_error_that_hangs_on_few_squares_has_few_degrees_of_freedom():
    assert errors_of(alternating()).freedom == pytest.approx(300.0)
    ruled = np.zeros(100)
    ruled[:2] = 30.0, -30.0
    one, none = np.ones(100), np.zeros(100)
    told = Evidence(ruled, one, one, none, none)
    assert errors_of(told).freedom == pytest.approx(6.0)
    found = mean_intervals(SQUARED, told, 0.95)["doubly_robust"]
    reach = 1.1 * student_quantile(6.0, 0.95) * errors_of(told).doubly_robust
    assert found.high - found.value == pytest.approx(reach)


def test_a_model_of_the_loss_makes_at_most_four_rows_of_one():
    losses = np.tile([0.0, 1.0], 50)
    for left, gain in ((1.0, 1.0), (1 / np.sqrt(2), 2.0), (0.1, 4.0), (0.0, 1.0)):
        modeled = 0.5 + (losses - 0.5) * (1 - left)
        told = evidence(losses, modeled=modeled)
        assert errors_of(told).gain == pytest.approx(gain)
        # The losses' own mean has an error of a twentieth.
        error = max(left * 0.05 * np.sqrt(100 / 99), 0.025)
        assert errors_of(told).doubly_robust == pytest.approx(error)


def test_the_rarer_class_tells_of_an_area_and_what_is_counted_of_a_ratio():
    labels = np.r_[np.ones(3), np.zeros(7)]
    # Two are found, one is missed, and one is found that is none.
    points = np.r_[1.0, 1.0, 0.0, 1.0, np.zeros(6)]
    share = np.full(10, 0.1)
    answers = ClassifierPredictions(
        {"predict": points.astype(int), "decision_function": points}, np.arange(2)
    )
    area, f1, recall = (
        as_functional(as_metric(name, answers, labels), answers)
        for name in ("roc_auc", "f1", "recall")
    )
    assert area.told_by(points, labels, share).sum() == pytest.approx(0.3)
    assert area.told_by(points, 1 - labels, share).sum() == pytest.approx(0.3)
    assert f1.told_by(points, labels, share).sum() == pytest.approx(0.4)
    assert recall.told_by(1 - points, labels, share).sum() == pytest.approx(0.3)
    # Of eight rows, none found: 1 in 10, and in F1 one row counts twice.
    assert recall.least_error(0.0, 8.0) == pytest.approx(np.sqrt(0.09 / 8))
    assert f1.least_error(0.0, 8.0) == pytest.approx(np.sqrt(0.09 * 1.9**2 / 16))
    assert area.least_error(1.0, 8.0) == pytest.approx(np.sqrt(0.9 * 0.01 / 8.8))


def test_a_curve_has_products_squares_and_itself_up_to_so_many_columns():
    rows = np.random.default_rng(0).normal(size=(60, 301))
    losses, ones = rows[:, 0] ** 2, np.ones(60)

    def terms(d):
        curve = LossCurve(rows[:, :d]).fit(rows[:, :d], losses, ones)
        return curve._terms(rows[:, :d]).shape[1]

    assert terms(12) == 12 + 12 + 66
    assert terms(13) == 26
    assert terms(100) == 200
    assert terms(101) == 101
    for d, parts in ((300, 2), (301, 1)):
        model = fit_loss_model(rows[:, :d], losses, ones, rows[:5, :d], 0)
        assert len(model.models[0].parts) == parts


def test_a_curve_ends_at_twice_the_range_beyond_the_largest_loss():
    x = np.linspace(-1, 1, 200)[:, None]
    curve = LossCurve(10 * x).fit(x, 1 + x[:, 0] ** 2, np.ones(200))
    far = np.array([[1.6], [10.0], [100.0]])
    # Losses from 1 to 2 are not taken for more than 4.
    assert curve.predict(far).round(1).tolist() == [3.6, 4.0, 4.0]


def test_parts_of_the_loss_model_are_added_by_what_they_are_worth_held_out():
    rng = np.random.default_rng(0)
    truth, noise = rng.normal(size=500), rng.normal(size=500)
    factors, offset = _factors(
        np.column_stack([3 + truth, -truth, noise]), 3 + 0.5 * truth, np.ones(500)
    )
    assert factors == pytest.approx([0.5, 0.0, 0.0], abs=1e-9)
    assert offset == pytest.approx(1.5)
    # However large a loss was that was held out, and however small all of them are.
    few = np.r_[1.0, np.zeros(499)]
    factors, _ = _factors(few[:, None], 8 * few, np.ones(500))
    assert factors == pytest.approx([1.0])
    both = np.column_stack([truth, truth + 0.5 * noise])
    for scale in (1.0, 1e-9):
        factors, _ = _factors(scale * both, scale * both @ [2.0, -0.5], np.ones(500))
        # With the first at one, the best of the second: no ends of the free solution.
        centered = both - both.mean(axis=0)
        second = (
            centered[:, 1] @ centered[:, 0] / (centered[:, 1] @ centered[:, 1]) - 0.5
        )
        assert factors == pytest.approx([1.0, second], abs=1e-6)
        assert second > 0.2
    assert _factors(few[:, None], np.ones(500), np.ones(500))[1] == 1.0


def test_student_s_quantile_counts_no_fewer_than_three_rows():
    assert student_quantile(1.0, 0.95) == student_quantile(3.0, 0.95)
    assert student_quantile(3.5, 0.95) < student_quantile(3.0, 0.95)
    assert student_quantile(11.0, 0.95) == pytest.approx(stats.t.ppf(0.975, 10))


def test_rows_of_a_group_err_together():
    values, share = np.array([1.0, 1.0, -1.0, -1.0]), np.full(4, 0.25)
    groups = np.array([0, 0, 1, 1])
    assert weighted_mean_error(values, share) == pytest.approx(0.5)
    assert weighted_mean_error(values, share, groups) == pytest.approx(1.0)
    assert effective_rows(share, groups) == 2.0
    # Four rows with a variance four times as large are worth one; two groups at least.
    assert rows_worth(values, share, groups) == 2.0
    assert rows_worth(np.ones(4), share, groups) == 2.0
    assert rows_worth(np.array([1.0, -1.0, 1.0, -1.0]), share, groups) == 4.0


# -- conformal -------------------------------------------------------------------------


def test_a_radius_is_the_smallest_score_that_reaches_the_level():
    calibration = Calibration.of([0.3, 0.1, 0.2, 0.4], [1.0, 1.0, 1.0, 1.0])
    # Of weight five in all, four fifths are four rows.
    assert calibration.radius(1.0, 0.8)[0] == 0.4
    assert calibration.radius(1.0, 0.8 + 1e-9)[0] == np.inf
    assert calibration.radius(1.0, 0.6)[0] == 0.3
    assert calibration.radius(0.0, 0.5)[0] == 0.2


def test_classes_of_one_probability_have_the_score_of_the_first():
    scores = class_scores([[0.4, 0.4, 0.2], [0.2, 0.3, 0.5]])
    assert scores[0] == pytest.approx([0.0, 0.0, 0.8])
    assert scores[1] == pytest.approx([0.8, 0.5, 0.0])


def test_a_class_that_the_model_does_not_know_scores_beyond_all():
    assert adaptive_scores([[0.7, 0.3]], [-1]).tolist() == [2.0]


def test_a_set_holds_the_classes_up_to_the_radius_and_always_the_likeliest():
    held = sets_of([[0.5, 0.25, 0.25]] * 3, np.array([0.0, 0.5, np.inf]))
    assert held.tolist() == [[True, False, False], [True] * 3, [True] * 3]


def test_infinite_intervals_are_counted_and_not_averaged():
    sizes = interval_sizes([[0.0, 1.0], [0.0, 3.0], [-np.inf, np.inf]], [0.0, 1.0], 0.5)
    assert sizes["infinite"] == pytest.approx(1 / 3)
    assert sizes["mean_width"] == 2.0
    assert set_sizes([[True, True], [True, False]], 0.9)["infinite"] == 0.5


# -- calibration and slices ------------------------------------------------------------


def test_a_bin_of_fewer_than_five_rows_is_not_told():
    def bins(n):
        p = np.linspace(0.0, 1.0, n)
        found = reliability(p, p > 0.5, np.ones(n))
        return 0 if found is None else len(found["bins"])

    assert (bins(4), bins(50), bins(49)) == (0, 10, 9)


def slices_of(n_source, n_target, ratio=1.0):
    n, m = n_source + 30, n_target + 30
    parts = Parts(
        (Part("value", value=0.0), Part("value", value=1.0)),
        np.r_[np.zeros(30, int), np.ones(n_source, int)],
        np.r_[np.zeros(30, int), np.ones(n_target, int)],
    )
    rng = np.random.default_rng(0)
    weights = np.r_[np.ones(30), np.broadcast_to(ratio, n_source)]
    known = Evidence(
        rng.random(n), weights, np.ones(n), np.full(n, 0.5), np.full(m, 0.5)
    )
    column = MovedColumn("x", "numbers", 1.0, parts)
    found = loss_by_slice(SQUARED, known, [column], 0.95)
    return found["columns"][0]["parts"][1]["estimate"] is not None


def test_a_slice_needs_five_rows_of_each_sample_and_ten_effective_ones():
    assert slices_of(10, 5)
    assert not slices_of(10, 4)
    assert not slices_of(9, 9)
    assert not slices_of(12, 9, np.r_[5.0, 5.0, np.ones(10)])


# -- folds -----------------------------------------------------------------------------


def test_folds_are_stratified_while_every_class_has_a_row_for_each():
    y = np.r_[np.zeros(45), np.ones(5)]
    for _, out in folds_of(None, y, y, is_classifier=True):
        assert y[out].sum() == 1.0
    rare = np.r_[np.zeros(46), np.ones(4)]
    sizes = [rare[out].sum() for _, out in folds_of(5, rare, rare, is_classifier=True)]
    assert sum(sizes) == 4.0
    assert len(sizes) == 5


def test_rows_of_a_group_are_held_out_together():
    groups = np.repeat(np.arange(10), 3)
    y = np.arange(30.0)
    for kept, out in folds_of(None, y, y, groups, is_classifier=False):
        assert not set(groups[kept]) & set(groups[out])


def test_blocks_are_runs_of_neighboring_rows():
    y = np.arange(10.0)
    outs = [out.tolist() for _, out in folds_of("blocks", y, y, is_classifier=False)]
    assert outs == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    with pytest.raises(ValueError, match="cuts through groups"):
        folds_of("blocks", y, y, y, is_classifier=False)


def test_blocks_err_together_in_thirty_runs_and_groups_by_themselves():
    assert np.unique(dependent_row_groups("blocks", None, np.arange(90))).size == 30
    assert np.unique(dependent_row_groups("blocks", None, np.arange(20))).size == 20
    assert dependent_row_groups(5, None, np.arange(9)) is None
    assert dependent_row_groups("blocks", list("aab"), np.array([0, 2])).tolist() == [
        0,
        1,
    ]


def test_a_fold_without_rows_on_both_sides_is_left_out():
    both = (np.array([0, 1]), np.array([2, 3]))
    one = (np.array([2, 3]), np.array([0, 1]))
    assert len(folds_within([both, one], np.array([1, 2, 3]))) == 2
    assert (
        len(folds_within([both, (np.array([0]), np.array([3]))], np.array([1, 3]))) == 1
    )
    with pytest.raises(ValueError, match="leaves no fold"):
        folds_within([both], np.array([0, 1]))


def test_neighbors_are_alike_below_a_tenth_of_the_usual_distance():
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(400, 3))

    def series(rho):
        x = np.zeros_like(steps)
        for k in range(1, len(x)):
            x[k] = rho * x[k - 1] + np.sqrt(1 - rho**2) * steps[k]
        return x

    assert neighbors_alike(series(0.95))
    assert not neighbors_alike(series(0.8))
    assert not neighbors_alike(series(0.95)[:49])
    assert neighbors_alike(series(0.99)[:50])
    # A table may be sorted.
    assert not neighbors_alike(np.arange(100.0)[:, None])


# -- metrics ---------------------------------------------------------------------------


def test_the_usual_metric_goes_by_what_the_model_can_say():
    labels = [0, 1]
    assert as_metric(None, LogisticRegression(), labels).name == "neg_log_loss"
    assert as_metric(None, RidgeClassifier(), labels).name == "error_rate"
    assert as_metric(None, Ridge(), [0.5]).name == "neg_mean_squared_error"
    assert is_classifier(object(), ["a", "b"])


def test_a_name_without_neg_is_the_same_loss():
    found = as_metric("mean_absolute_error", Ridge(), [0.5])
    assert (found.name, found.higher_is_better) == ("neg_mean_absolute_error", False)
    assert as_metric("accuracy", Ridge(), [0]).higher_is_better


class Sure:
    classes_ = np.array(["a", "b"])

    def __init__(self, p):
        self.p = p

    def predict_proba(self, X):
        return np.tile(self.p, (len(X), 1))


def test_no_probability_is_taken_for_smaller_than_a_millionth():
    loss = as_metric("neg_log_loss", LogisticRegression(), ["a"])
    rows = loss.rows(Sure([1.0, 0.0]), [[0], [0], [0]], np.array(["a", "b", "c"]))
    assert rows == pytest.approx([0.0, -np.log(1e-6), -np.log(1e-6)])
    unseen = loss.rows(Sure([0.0, 1.0]), [[0]], np.array(["c"]))
    assert unseen == pytest.approx(-np.log(1e-6))
    brier = as_metric("neg_brier_score", LogisticRegression(), ["a"])
    # Of two classes the second alone counts.
    assert brier.rows(Sure([0.25, 0.75]), [[0]], np.array(["a"])) == pytest.approx(
        0.5625
    )


def test_a_scorer_that_takes_no_weights_is_refused():
    with pytest.raises(TypeError, match="takes no sample_weight"):
        as_metric(lambda model, X, y: 0.0, Ridge(), [0.5])


def test_fewer_than_forty_rows_tell_only_their_mean_loss():
    rng = np.random.default_rng(0)
    x = np.linspace(0, 1, 40)[:, None]
    losses = (x[:, 0] > 0.5).astype(float)
    flat = fit_loss_model(x[1:], losses[1:], np.ones(39), x, 0)
    assert np.ptp(flat.target) == 0.0
    assert flat.target[0] == pytest.approx(losses[1:].mean())
    assert len(fit_loss_model(x, losses, rng.random(40), x, 0).models) == 4


# -- guarantees ------------------------------------------------------------------------


def test_the_smaller_of_two_bounds_is_given_by_its_name():
    # The linear one is smaller below a norm of about four times alpha.
    assert model_distance(0.1, norm_bound=1, alpha=0.5).form.startswith("linear")
    assert model_distance(9.0, norm_bound=1, alpha=0.5).form.startswith("root")
    assert model_distance(2.0, norm_bound=1, alpha=0.5).form.startswith("linear")
    assert model_distance(2.0, norm_bound=1, alpha=0.5).value == pytest.approx(4.0)
    # Where delta is not zero the reference may be as far as the ball is wide.
    assert model_distance(
        0.1, norm_bound=1, alpha=1.0, delta=1.0
    ).value == pytest.approx(1.2)


def test_the_squared_loss_has_no_triangle_inequality_but_of_roots():
    assert any_hypothesis(1.0, 0.0, 1.0, 0.0).value == pytest.approx(4.0)
    assert any_hypothesis(1.0, 0.0, 1.0, 0.0, loss="absolute").value == 2.0


# -- consensus -------------------------------------------------------------------------


def rated(n_second, n=12):
    rng = np.random.default_rng(0)
    table = np.full((n, 2), np.nan)
    table[:, 0] = rng.normal(size=n)
    table[:n_second, 1] = table[:n_second, 0] + 0.1 * rng.normal(size=n_second)
    return table


def test_without_a_second_rating_labels_are_the_ratings_and_noise_unknown():
    table = rated(0)
    with pytest.warns(UserWarning, match="none of the 12 rated items has two"):
        found = consensus(table)
    assert (found.labels == table[:, 0]).all()
    assert np.isinf(found.noise).all()


def test_with_fewer_than_ten_second_ratings_labels_are_not_drawn_to_the_mean():
    with pytest.warns(UserWarning, match="only 9 ratings beyond their first"):
        assert np.isinf(consensus(rated(9)).spread)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isfinite(consensus(rated(10)).spread)


def test_an_annotator_who_never_varies_is_left_out_where_chance_does_not_explain_it():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=30)
    others = truth[:, None] + 0.1 * rng.normal(size=(30, 2))
    stuck = np.column_stack([others, np.full(30, 3.0)])
    with pytest.warns(UserWarning, match="never vary"):
        assert np.isinf(consensus(stuck).noise[2])
    # Two ratings alike have the chance of one rating alike: 1 / 61 is not rare.
    twice = stuck.copy()
    twice[2:, 2] = np.nan
    assert np.isfinite(consensus(twice).noise[2])


def test_unanimous_ratings_are_certain():
    found = consensus(np.full((3, 2), 4.0))
    assert found.labels.tolist() == [4.0] * 3
    assert found.deviations.tolist() == [0.0] * 3
