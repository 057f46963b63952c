"""What counts as overlap, as a copy, as rare, as an identifier, as the same row."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import beta, betaln, comb, gammaincc
from scipy.stats import binom, norm

from counterpoise import diagnose
from counterpoise.data import TableEncoder
from counterpoise.data.columns import (
    column_limits,
    cut_column,
    duplicate_rows,
    pooled_middle_and_spread,
    weighted_quantile,
)
from counterpoise.data.samples import Samples
from counterpoise.data.table import (
    Table,
    TableColumn,
    read_table,
    two_tables,
)
from counterpoise.data.two_samples import (
    TwoSamples,
    canonical_order,
    clip_weights,
    content,
    dealt_by_sample,
    effective_sample_size,
    far_rows,
    flatten_weights,
    folds,
    pooled_scale,
    seed_of_rows,
)
from counterpoise.shift.discrepancy_distance import discrepancy_spectrum
from counterpoise.shift.domain_classifier import (
    BinnedColumns,
    Pool,
    _better_model,
    domain_auc,
    domain_score,
)
from counterpoise.shift.domain_classifier import _auc as auc_of
from counterpoise.shift.domain_classifier import _better_model as better_model
from counterpoise.shift.domain_classifier import _interval as auc_interval
from counterpoise.shift.separation import separating_columns, times_larger
from counterpoise.shift.support import (
    CoverageGaps,
    find_coverage_gaps,
    is_hole,
    is_surrounded,
    lowest_share,
    overlap,
    overlap_of,
    rows_that_tell,
    uncovered_by_chance,
    uncovered_interval,
    uncovered_share_of,
    verdict,
)
from counterpoise.shift.support import _reached_from as reached_from
from counterpoise.shift.two_sample_tests import (
    CutColumn,
    blocks_of,
    cell_tests,
    median_gamma,
    mmd,
)

HAIR = 1e-6


def even(n):
    return np.full(n, 1.0 / n)


# -- the verdict on overlap ------------------------------------------------------------


@pytest.mark.parametrize(
    ("auc", "auc_low", "uncovered_fraction", "said"),
    [
        (0.55, 0.5, 0.05, "no shift detected"),
        (0.55, 0.5 + HAIR, 0.05, "small shift"),
        (0.55, 0.5, 0.05 + HAIR, "shift, partial overlap"),
        (0.6 - HAIR, 0.55, 0.05, "small shift"),
        (0.6, 0.55, 0.05, "shift, full overlap"),
        (0.9, 0.8, 0.05 + HAIR, "shift, partial overlap"),
        (0.9, 0.8, 0.5, "shift, partial overlap"),
        (0.9, 0.8, 0.5 + HAIR, "no overlap"),
        (0.9, 0.5, 0.5 + HAIR, "no overlap"),
    ],
)
def test_the_verdict_follows_its_table_at_every_threshold(
    auc, auc_low, uncovered_fraction, said
):
    assert verdict(auc, auc_low, uncovered_fraction, chance=0.02) == said


def test_a_shift_that_one_test_tells_is_no_absence_of_shift():
    for uncovered_fraction, said in (
        (0.0, "small shift"),
        (0.06, "shift, partial overlap"),
    ):
        assert verdict(0.5, 0.45, uncovered_fraction, chance=0.1, told=True) == said
    assert verdict(0.5, 0.45, 0.06, chance=0.1, told=False) == "no shift detected"


def test_each_test_tells_at_a_level_of_one_in_a_hundred():
    for p, told in ((0.01, True), (0.01 + HAIR, False)):
        assert CoverageGaps(p).tells is told
        score = scored(p_of_holes=p)
        assert score.verdict == ("small shift" if told else "no shift detected")


def scored(p_of_holes):
    rng = np.random.default_rng(0)
    score = domain_score(*rng.normal(size=(2, 60, 1)), random_state=0)
    nowhere = np.zeros(60, dtype=bool)
    return overlap_of(score, CoverageGaps(p_of_holes), nowhere, nowhere)


def test_thin_rows_and_rows_in_holes_are_counted_once():
    rng = np.random.default_rng(0)
    score = domain_score(*rng.normal(size=(2, 60, 1)), random_state=0)
    top = score.scores_target >= np.sort(score.scores_target)[-6]
    beyond = score.scores_target > np.sort(score.scores)[-1]
    found = overlap_of(score, CoverageGaps(0.001), top, top)
    assert found.uncovered_fraction == pytest.approx((top | beyond).mean())
    np.testing.assert_array_equal(found.is_outside_support, top | beyond)


def test_estimates_leave_out_rows_up_to_so_far_from_the_middle_of_a_hole():
    rng = np.random.default_rng(0)
    X, T = rng.uniform(size=(2, 500, 1))
    X = X[np.abs(X[:, 0] - 0.5) > 0.1]
    found = overlap(X, T, random_state=0)
    rows = T[found.rows_target]
    np.testing.assert_array_equal(found.near_hole, found.holes.hold(rows, 1.6))
    others = [found.holes.hold(rows, wider).sum() for wider in (1.35, 1.6, 1.8)]
    assert len(set(others)) == 3


def test_holes_are_looked_for_where_their_own_test_tells():
    # A cell that the target leaves empty is no hole of the source.
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 4, (2, 800, 1)).astype(float)
    some = levels[1][levels[1][:, 0] != 2]
    assert find_coverage_gaps(TwoSamples.of(levels[0], some), 0).tells
    assert find_coverage_gaps(TwoSamples.of(levels[0], some), 0).balls == ()
    assert len(find_coverage_gaps(TwoSamples.of(some, levels[0]), 0).balls) == 1


def test_a_ball_is_a_hole_by_what_lies_around_it():
    inside, nobody = np.array([15.0]), np.zeros(1)
    assert is_hole(inside, nobody, nobody, 0.5, 1000).item()
    assert not is_hole(inside - 1, nobody, nobody, 0.5, 1000).item()
    # 25 target and 11 source rows around make c rows in a row as likely as this.
    around, source = np.array([25.0]), np.array([11.0])

    def chance(c):
        return beta(26 + c, 12) / beta(26, 12)

    least = next(c for c in range(999) if chance(c) <= 0.05 / 1000)
    assert is_hole(np.array([least]), around, source, 0.5, 1000).item()
    assert not is_hole(np.array([least - 1.0]), around, source, 0.5, 1000).item()
    # Less than the target's part is not expected anywhere.
    assert not is_hole(inside - 1, nobody, np.array([99.0]), 0.5, 1000).item()
    # A part of 0.3: two rows in these shares are added to those around.
    part, one = 0.3, np.array([1.0])
    for n_target, n_source in ((25.0, 11.0), (0.0, 1.0)):
        at = np.array([n_target]), np.array([n_source])
        a, b = n_target + 2 * part, n_source + 2 * (1 - part)
        log_chance = [
            max(betaln(a + c, b) - betaln(a, b), c * np.log(part)) for c in range(999)
        ]
        least = int(np.argmax(np.array(log_chance) <= np.log(0.05 / 1000)))
        assert is_hole(least * one, *at, part, 1000).item()
        assert not is_hole((least - 1) * one, *at, part, 1000).item()


def test_source_rows_lie_on_all_sides_if_their_mean_is_within_half_a_radius():
    for away, told in ((0.5, True), (0.5 + HAIR, False)):
        rows = np.array([[away - 1.0, 0.0], [away + 1.0, 0.0]])
        assert is_surrounded(rows, np.zeros(2), 1.0) is told
        assert is_surrounded(2.0 * rows, np.zeros(2), 2.0) is told


def test_balls_count_that_are_reached_from_one_on_all_sides_of_which_are_source_rows():
    at, reach = np.array([[0.0], [1.3], [2.6], [9.0]]), np.ones(4)
    for first, found in ((0, [1, 1, 1, 0]), (3, [0, 0, 0, 1])):
        chosen = np.arange(4) == first
        assert reached_from(chosen, at, reach).tolist() == [bool(k) for k in found]


def test_cells_are_chosen_alone_or_together_whichever_is_less_by_chance():
    even = np.full(400, 1 / 400)
    # Eight levels of the source, four of which it has hardly.
    counts = np.array(
        [[100, 100, 96, 95, 4, 3, 1, 1], [85, 85, 85, 85, 15, 15, 15, 15]]
    )
    levels = np.concatenate([np.repeat(np.arange(8.0), row) for row in counts])
    block = CutColumn(np.array([0]), np.arange(8.0), None, None, levels)
    (found,), _ = cell_tests([block], 400, even, even)
    x = -np.log(binom.cdf(counts[0, 4:], counts[:, 4:].sum(axis=0), 0.5))
    kinds = [(0.0, x.max(keepdims=True)), (3.0, x[x >= 3]), (6.0, x[x >= 6])]
    chances = [
        r * (r + 1) * comb(8, r) * np.exp(-a * r) * gammaincc(r, some.sum() - a * r)
        for a, some in kinds
        for r in [some.size]
    ]
    assert [some.size for _, some in kinds] == [1, 4, 2]
    assert found.p_depleted == pytest.approx(min(chances))
    assert np.argmin(chances) == 1


def test_a_test_of_cells_is_corrected_by_those_of_its_kind():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1000, 5))
    rows[:, :2] = rng.integers(0, 3, (1000, 2))
    rows[:60, :2] = 0
    even = np.full(500, 1 / 500)
    alone, pairs = cell_tests(blocks_of(rows), 500, even, even)
    assert [one.among for one in alone] == [4, 4, 6, 6, 6]
    among = {one.blocks: one.among for one in pairs}
    assert among == {
        (i, j): 3 if j < 2 else 9 if i > 1 else 18
        for i in range(5)
        for j in range(i + 1, 5)
    }
    # A pair of categories has the same cells by either cut, and pays for one.
    both, _ = cell_tests(_joined(rows[:, :2]), 500, even, even)
    assert pairs[0].p_value == pytest.approx(both[0].p_value)
    assert pairs[0].p_value < 1


def _joined(codes):
    """Two categories of three levels as one of nine."""
    joint = 3 * codes[:, 0] + codes[:, 1]
    return [CutColumn(np.array([0]), np.arange(9.0), None, None, joint)]


def test_thin_rows_that_chance_explains_are_no_shift():
    assert verdict(0.55, 0.5, 0.2, chance=0.2) == "no shift detected"
    assert verdict(0.55, 0.5, 0.2 + HAIR, chance=0.2) == "shift, partial overlap"


def test_with_fewer_than_thirty_rows_of_worth_only_samples_apart_are_told():
    assert verdict(0.7, 0.6, 0.1, 0.2, n_rows=30.0) == "shift, partial overlap"
    assert verdict(0.7, 0.6, 0.1, 0.2, n_rows=29.9) == "too few rows"
    for low, said in ((0.5, "too few rows"), (0.5 + HAIR, "no overlap")):
        assert (
            verdict(0.9, 0.6, 0.8, 0.2, n_rows=20.0, uncovered_fraction_low=low) == said
        )
    assert (
        verdict(0.5, 0.5, 0.8, 0.8, 5.0, uncovered_fraction_low=0.6) == "too few rows"
    )


def test_so_many_rows_tell_as_leave_chance_five_in_a_hundred():
    n = rows_that_tell()
    assert uncovered_by_chance(n, n) <= 0.05 < uncovered_by_chance(n - 1, n - 1)


def test_a_share_of_rows_is_never_above_one():
    shares = np.full(49, 1 / 49 + 1e-17)
    target = np.ones(49)
    assert uncovered_share_of(np.zeros(3), target, even(3), shares + 1e-12) == 1.0
    assert uncovered_interval(np.zeros(3), target, even(3), shares + 1e-12)[1] == 1.0


def test_a_refusal_needs_the_lower_end_of_the_thin_share_above_one_half():
    for low, said in ((0.5, "shift, partial overlap"), (0.5 + HAIR, "no overlap")):
        assert verdict(0.9, 0.8, 0.6, 0.02, uncovered_fraction_low=low) == said


def test_the_interval_of_the_thin_share_counts_both_samples():
    scores = np.arange(1000.0)
    target = np.r_[np.full(400, 2000.0), np.full(100, 988.5), np.zeros(500)]
    # Of 1,000 rows five lie above the threshold, by chance up to ten.
    assert binom.ppf(0.975, 1000, 0.005) == 10
    low, high = uncovered_interval(scores, target, even(1000), even(1000))
    assert (low, high) == pytest.approx((0.4 - 0.03036, 0.4 + 0.03036), abs=1e-4)
    target[400:500] = 989.5
    low, high = uncovered_interval(scores, target, even(1000), even(1000))
    reach = np.hypot(0.03036, 1.5 * 0.1)
    assert (low, high) == pytest.approx((0.4 - reach, 0.4 + reach), abs=1e-4)
    # Or no more than one: the lower end goes by what lies between it and the threshold.
    assert binom.ppf(0.025, 1000, 0.005) == 1
    for at, off in ((998.5, 0.0), (996.0, 0.1)):
        high_up = np.r_[np.full(400, 2000.0), np.full(100, at), np.zeros(500)]
        ends = uncovered_interval(scores, high_up, even(1000), even(1000))
        reach = np.hypot(0.03099, 1.5 * off)
        assert ends == pytest.approx((0.5 - reach, 0.5 + 0.03099), abs=1e-4)
    hole = np.arange(1000) >= 900
    with_hole = uncovered_interval(scores, target, even(1000), even(1000), hole)
    assert with_hole[0] > low + 0.05
    assert uncovered_interval(scores, scores - 1e9, even(1000), even(1000)) == (
        0.0,
        0.0,
    )


def test_the_lower_end_of_a_share_goes_by_the_effective_number_of_target_rows():
    weights = np.r_[np.full(50, 3.0), np.full(50, 1.0)]
    # (150 + 50)^2 / (50 * 9 + 50) rows of equal weight.
    reach = norm.isf(0.025) * np.sqrt(0.2 * 0.8 / 80)
    assert lowest_share(0.2, weights / 200) == pytest.approx(0.2 - reach)
    assert lowest_share(0.8, weights / 200) == pytest.approx(0.8 - reach)
    assert lowest_share(1.0 + 1e-15, weights / 200) == pytest.approx(1.0)


def test_a_target_row_at_the_threshold_is_covered():
    scores = np.arange(200.0)
    # 199 of 200 rows are 99.5 %: the threshold is the last but one.
    target = np.array([198.0, 198.0 + HAIR, 199.0, 0.0])
    assert uncovered_share_of(scores, target, even(200), even(4)) == 0.5


def test_thin_shares_count_target_rows_by_their_weight():
    scores, target = np.arange(3.0), np.array([0.0, 5.0])
    found = uncovered_share_of(scores, target, even(3), np.array([0.9, 0.1]))
    assert found == pytest.approx(0.1)


def test_chance_leaves_three_standard_errors_above_the_rows_that_lie_outermost():
    # Of 200 rows one lies above the threshold, of 199 none.
    outermost = {200: 2, 199: 1}
    for n, k in outermost.items():
        expected = k / (n + 1)
        error = np.sqrt(k / (n + 1) ** 2 + expected * (1 - expected) / 300)
        assert uncovered_by_chance(n, 300) == pytest.approx(expected + 3 * error)


def test_the_worth_of_the_smaller_sample_decides_whether_there_are_too_few_rows():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(60, 1)), rng.normal(size=(60, 1)) + 0.1
    heavy = np.r_[np.full(10, 1e6), np.ones(50)]
    assert overlap(X, T, random_state=0).verdict != "too few rows"
    for weights in ({"sample_weight": heavy}, {"target_weight": heavy}):
        found = overlap(X, T, random_state=0, **weights)
        assert found.verdict == "too few rows"


# -- the domain score ------------------------------------------------------------------


def test_the_classifier_with_the_smaller_held_out_loss_is_kept():
    class Asked:
        X, labels, weights = np.zeros((4, 1)), np.array([0, 0, 1, 1]), np.ones(4)

        def __init__(self, good):
            self.good = good

        def out_of_fold(self, model):
            trees = "histgradientboostingclassifier" in dict(model.steps)
            right = np.array([-3.0, -3.0, 3.0, 3.0])
            return right if trees == (self.good == "boosted") else -right

    for good in ("logistic", "boosted"):
        assert better_model(Asked(good))[0] == good


def test_ties_of_scores_count_half_in_the_auc():
    auc, _ = auc_of(np.array([0.2, 0.5]), np.array([0.5, 0.9]), even(2), even(2))
    assert auc == pytest.approx((1 + 0.5 + 1 + 1) / 4)


def test_the_interval_reaches_one_half_unless_root_two_times_its_reach_clears_it():
    share = even(10_000)
    # Mann and Whitney's error is far below this one.
    error, quantile = 0.05, 1.959963984540054
    # The test's part of the verdict's level is 0.01.
    edge = 0.5 + np.sqrt(2) * 2.3263478740408408 * error
    assert auc_interval(edge - HAIR, error, share, share)[0] == 0.5
    low, _, chance = auc_interval(edge + HAIR, error, share, share)
    assert low == pytest.approx(edge - quantile * error, abs=1e-5)
    assert chance == pytest.approx(0.01, abs=1e-5)
    # Few rows without a single error still have the error of equal distributions.
    few = even(4)
    assert auc_interval(1.0, 0.0, few, few)[0] == 0.5


def test_a_row_of_weight_zero_is_not_scored():
    X = np.arange(12.0)[:, None]
    weight = np.r_[0.0, np.ones(11)]
    found = domain_score(X, X + 3.0, sample_weight=weight, random_state=0)
    assert found.rows.tolist() == list(range(1, 12))
    assert found.share.sum() == pytest.approx(1.0)


# -- copies and folds ------------------------------------------------------------------


def test_copies_share_a_fold_from_fifty_different_rows_on():
    def spread(different):
        rows = np.repeat(np.arange(float(different)), 4)[:, None]
        dealt = folds(rows, 5, seed=0).reshape(-1, 4)
        return (np.ptp(dealt, axis=1) > 0).any()

    assert spread(49)
    assert not spread(50)


def test_copies_share_a_fold_in_sparse_rows_too():
    rows = np.repeat(np.arange(1.0, 51.0), 2)[:, None]
    dealt = folds(sparse.csr_array(rows), 5, seed=0).reshape(-1, 2)
    assert (dealt[:, 0] == dealt[:, 1]).all()


def test_every_fold_has_its_part_of_either_sample():
    labels = np.repeat([0, 1], [10, 5])
    fold, n_folds = dealt_by_sample(np.arange(15), labels, seed=3)
    assert n_folds == 5
    for side, each in ((0, 2), (1, 1)):
        assert np.bincount(fold[labels == side]).tolist() == [each] * 5


def test_there_are_no_more_folds_than_units_of_the_smaller_sample_and_at_least_two():
    labels = np.repeat([0, 1], [10, 3])
    assert dealt_by_sample(np.arange(13), labels, seed=0)[1] == 3
    with pytest.raises(ValueError, match="at least 2 rows of each sample"):
        dealt_by_sample(np.arange(11), np.repeat([0, 1], [10, 1]), seed=0)


def pool_of(source, target):
    return Pool.of(TwoSamples.of(source[:, None], target[:, None]), seed=0)


def test_equal_rows_are_one_row_unless_fifty_differ_or_a_sample_has_fewer_than_five():
    # 45 + 5 different rows, one of them twice.
    source = np.r_[np.arange(45.0), 0.0]
    assert pool_of(source, 100.0 + np.arange(5.0)).X.shape[0] == 50
    assert pool_of(source[1:], 100.0 + np.arange(5.0)).X.shape[0] == 50
    # 49 different rows: every copy stands alone.
    assert pool_of(np.r_[np.arange(44.0), 0.0], 100.0 + np.arange(5.0)).X.shape[0] == 50
    # The target has four different rows only.
    found = pool_of(np.r_[np.arange(60.0), 0.0], 100.0 + np.arange(4.0))
    assert found.X.shape[0] == 65


def test_a_row_of_weight_two_is_the_row_twice_in_the_pool():
    source, target = np.arange(60.0), 100.0 + np.arange(60.0)
    weight = np.r_[2.0, np.ones(59)]
    by_weight = Pool.of(TwoSamples.of(source[:, None], target[:, None], weight), seed=0)
    twice = pool_of(np.r_[0.0, source], target)
    assert (by_weight.weights == twice.weights).all()
    assert (by_weight.fold == twice.fold).all()


# -- one row key, one order ------------------------------------------------------------


def test_minus_zero_is_zero_and_missing_values_are_alike_in_counting_duplicates():
    assert duplicate_rows(np.array([[0.0, 1.0], [-0.0, 1.0]])) == 1
    assert duplicate_rows(np.array([[np.nan], [np.nan], [1.0]])) == 1
    assert duplicate_rows(np.array([[1.0, 2.0], [2.0, 1.0]])) == 0
    stored_zero = sparse.csr_array(([1.0, 0.0, 1.0], [0, 1, 0], [0, 2, 3]), (2, 2))
    assert duplicate_rows(stored_zero) == 1


def test_equal_rows_have_one_number_by_content_whatever_the_sign_of_zero():
    numbers = content(np.array([[0.0], [-0.0], [1.0]]))
    assert numbers[0] == numbers[1] != numbers[2]


def test_rows_are_ordered_by_what_they_hold_and_equal_ones_by_weight():
    X = np.array([[1.0, 2.0], [1.0, 1.0], [0.0, 9.0], [1.0, 1.0]])
    assert canonical_order(X, np.array([1.0, 5.0, 1.0, 2.0])).tolist() == [2, 3, 1, 0]


# -- weights of rows -------------------------------------------------------------------


def test_rows_of_weight_zero_are_not_among_two_samples():
    samples = TwoSamples.of(
        np.arange(3.0)[:, None], np.arange(2.0)[:, None], np.array([2.0, 0.0, 1.0])
    )
    assert samples.source.ravel().tolist() == [0.0, 2.0]
    assert samples.source_share.tolist() == [2 / 3, 1 / 3]
    assert (samples.source_mass, samples.target_mass) == (3.0, 2.0)


def test_effective_size_is_zero_of_no_weight_and_does_not_overflow():
    assert effective_sample_size([0.0, 0.0]) == 0.0
    assert effective_sample_size([1e300, 1e300]) == 2.0
    assert effective_sample_size([3.0, 1.0]) == pytest.approx(1.6)


def test_weights_up_to_the_bound_are_not_clipped_and_none_is_above_it():
    assert clip_weights([0.5, 1.5], 1.5).tolist() == [0.5, 1.5]
    assert clip_weights([0.5, 0.5, 2.0], 1.4).max() == pytest.approx(1.4)
    assert clip_weights([0.5, 1.0, 1.5], 1.4).max() == pytest.approx(1.4)
    # One positive weight cannot be below three: the others share what is left.
    assert clip_weights([3.0, 0.0, 0.0], 1.5).tolist() == [1.5, 0.75, 0.75]


def test_the_power_of_weights_is_taken_of_mean_one_and_scaled_to_it():
    assert flatten_weights([2.0, 2.0], 0.3).tolist() == [1.0, 1.0]
    assert flatten_weights([1.0, 3.0], 0.0).tolist() == [1.0, 1.0]
    assert flatten_weights([1.0, 9.0], 0.5).tolist() == [0.5, 1.5]
    assert flatten_weights([1.0, 3.0], 1.0).tolist() == [0.5, 1.5]


# -- scales ----------------------------------------------------------------------------


def test_a_quantile_is_the_smallest_value_up_to_which_the_level_lies():
    values, equal = np.array([3.0, 1.0, 2.0, 4.0]), even(4)
    assert weighted_quantile(values, equal, 0.5) == 2.0
    assert weighted_quantile(values, equal, 0.5 + HAIR) == 3.0
    uneven = np.array([0.2, 0.3, 0.2, 0.3])
    assert weighted_quantile(values, uneven, 0.5) == 2.0
    assert weighted_quantile(values, uneven, 0.5 + HAIR) == 3.0
    # Ten tenths miss one by rounding.
    tenths = np.r_[np.full(9, 0.1), 0.1 - 1e-17]
    assert weighted_quantile(np.arange(10.0), tenths + 0.0, 0.3) == 2.0


def test_where_the_quartiles_are_equal_the_values_that_differ_give_the_spread():
    assert pooled_middle_and_spread(np.array([1.0, 2, 3, 4]), even(4)) == (2.0, 2.0)
    mostly = np.array([0.0, 0, 0, 0, 0, 0, 0, 3.0])
    assert pooled_middle_and_spread(mostly, even(8)) == (0.0, 3.0)
    assert pooled_middle_and_spread(np.full(4, 7.0), even(4)) == (7.0, 1.0)


def test_a_row_is_far_out_beyond_five_times_where_nine_tenths_of_the_others_lie():
    rows = np.append(np.arange(10.0), 1e6)[:, None]
    low, high = column_limits([(rows, even(11))])
    # The median is 5, nine tenths of the others lie within 5 of it.
    assert (low[0], high[0]) == (-20.0, 30.0)
    ten = np.arange(10.0)[:, None]
    for away in (-100.0, 100.0):
        samples = TwoSamples.of(ten, np.vstack([ten, [[away]]]))
        assert far_rows(samples).tolist() == [False] * 10 + [True]


def test_two_constants_get_a_thousandth_of_their_distance_and_one_constant_zero():
    samples = TwoSamples.of(
        np.tile([[1.0, 5.0]], (3, 1)), np.tile([[3.0, 5.0]], (4, 1))
    )
    assert pooled_scale(samples) == pytest.approx([2e-3, 0.0])


def test_a_column_that_hardly_varies_in_the_source_alone_is_told_by_name():
    rng = np.random.default_rng(0)
    target = rng.uniform(-1, 1, size=(50, 1))
    spread = float(target.std())
    base = rng.uniform(-1, 1, size=(50, 1))
    base = base / base.std()
    with pytest.warns(UserWarning, match="hardly varies in the source.*age"):
        pooled_scale(TwoSamples.of(0.9e-3 * spread * base, target), ("age",))
    pooled_scale(TwoSamples.of(1.1e-3 * spread * base, target), ("age",))


def test_the_median_distance_is_of_different_rows_and_counts_them_by_weight():
    rows = np.array([[0.0], [0.0], [1.0], [3.0]])
    # Pairs that differ: 1, 3, 1, 3, 2.
    assert median_gamma(rows) == pytest.approx(1 / (2 * 2.0**2))
    once = np.array([[0.0], [1.0], [3.0]])
    assert median_gamma(once, np.array([2.0, 1.0, 1.0])) == median_gamma(rows)
    # Sixteen pairs of distance one are more than all others.
    assert median_gamma(once, np.array([4.0, 4.0, 1.0])) == pytest.approx(1 / 2)
    assert median_gamma(np.ones((3, 2))) == 1.0


# -- distances -------------------------------------------------------------------------


def test_a_permutation_as_far_as_the_samples_counts_and_so_do_the_samples_themselves():
    same = np.zeros((3, 1))
    assert mmd(same, same, gamma=1.0, n_permutations=9, random_state=0).p_value == 1.0
    apart = mmd(
        np.zeros((8, 1)),
        np.ones((8, 1)),
        gamma=1.0,
        n_permutations=9,
        random_state=0,
    )
    assert apart.p_value == 0.1
    assert mmd(same, same, gamma=1.0).p_value is None


def test_a_sample_of_one_row_has_no_unbiased_square():
    assert mmd([[0.0]], [[1.0], [2.0]], gamma=1.0).unbiased_square is None
    assert mmd([[0.0], [1.0]], [[1.0], [2.0]], gamma=1.0).unbiased_square is not None


# -- tables ----------------------------------------------------------------------------


def test_strings_are_categories_even_where_they_look_like_numbers():
    columns = read_table([["1", True, 2], ["2", False, None]]).columns
    assert [column.kind for column in columns] == ["categories", "numbers", "numbers"]
    assert read_table([[None], [None]]).columns[0].kind == "no value at all"


def test_dates_with_and_without_a_zone_are_not_mixed():
    import datetime

    with_zone = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    without = datetime.datetime(2024, 1, 1)
    assert read_table([[with_zone]]).columns[0].kind == "dates with a time zone"
    with pytest.raises(TypeError, match="with and without a time zone"):
        read_table([[with_zone], [without]])


def test_a_column_must_hold_the_same_in_both_samples_or_nothing():
    two_tables([["a"]], [[None]])
    with pytest.raises(TypeError, match="holds categories in X and numbers in"):
        two_tables([["a"]], [[1.0]])


def test_a_table_is_plain_if_all_its_columns_are_finite_numbers():
    assert Table.of([[1.0], [2.0]]).is_plain
    assert not Table.of([[1.0], [None]]).is_plain
    assert not Table.of([["a"], ["b"]]).is_plain


def test_array_columns_are_named_by_their_place():
    assert [c.name for c in read_table(np.zeros((2, 2))).columns] == ["x0", "x1"]


def encoder_of(source, target, **weights):
    rows = [[one] for one in source], [[one] for one in target]
    return TableEncoder().fit(*rows, **weights)


def test_a_category_is_rare_below_one_in_a_hundred_of_both_samples():
    # 11 rows of 1,000 and of 1,000; 10 and 10 are exactly one in a hundred.
    for count, name in ((10, "x0=b"), (9, "x0: rare")):
        rows = ["a"] * (1000 - count) + ["b"] * count
        assert encoder_of(rows, rows).names_ == ("x0=a", name)


def test_a_category_is_rare_with_fewer_than_ten_rows():
    # Five in a hundred of both samples are more than one in a hundred.
    for count, name in ((5, "x0=b"), (4, "x0: rare")):
        rows = ["a"] * (100 - count) + ["b"] * count
        assert encoder_of(rows, rows).names_ == ("x0=a", name)


def test_in_small_tables_a_category_is_rare_below_one_row_in_twenty():
    # Of 40 rows two are one in twenty.
    for count, name in ((1, "x0=b"), (0, "x0: rare")):
        source = ["a"] * 19 + ["b"]
        target = ["a"] * (20 - count) + ["b"] * count
        assert encoder_of(source, target).names_ == ("x0=a", name)


def test_new_categories_have_a_place_of_their_own_if_chance_does_not_explain_them():
    # Nobody is seen once in the source: chance explains 3 sqrt(1/n^2 + 1/(n m)).
    source = ["a"] * 400
    chance = 3 * np.sqrt(1 / 400**2 + 1 / 400**2)
    for count in (4, 5):
        target = ["a"] * (400 - count) + [f"new{k}" for k in range(count)]
        pooled = "unseen" if count / 400 > chance else "rare"
        assert encoder_of(source, target).names_ == ("x0=a", f"x0: {pooled}")


def test_the_share_of_unseen_categories_is_that_of_the_target():
    assert encoder_of(["a"] * 30, ["a"] * 20 + ["b"] * 10).unseen_ == {0: 1 / 3}


def labels(n, different, length=4):
    return [f"{k % different:0{length}d}" for k in range(n)]


def test_strings_of_which_more_than_nine_in_ten_differ_are_an_identifier():
    kept = [["a"] * 20, ["a"] * 20]
    # Of 20 rows 18 are nine in ten, 19 are more.
    for different, dropped in ((19, True), (18, False)):
        rows = labels(20, different)
        encoder = TableEncoder().fit(
            [*zip(rows, kept[0], strict=True)], [*zip(rows, kept[1], strict=True)]
        )
        assert (0 in encoder.dropped_) == dropped


def test_fewer_than_twenty_rows_do_not_tell_an_identifier():
    rows = labels(19, 19)
    plain = ["a"] * 19
    pair = [*zip(rows, plain, strict=True)]
    assert 0 not in TableEncoder().fit(pair, pair).dropped_ or (
        "identifier" not in TableEncoder().fit(pair, pair).dropped_[0]
    )
    rows = labels(20, 20)
    pair = [*zip(rows, ["a"] * 20, strict=True)]
    assert "identifier" in TableEncoder().fit(pair, pair).dropped_[0]


def test_an_identifier_is_one_in_both_samples():
    source = [*zip(labels(20, 20), ["a"] * 20, strict=True)]
    target = [*zip(labels(20, 2), ["a"] * 20, strict=True)]
    assert 0 not in TableEncoder().fit(source, target).dropped_


def test_strings_that_differ_and_are_thirty_characters_long_are_free_text():
    for length, refused in ((30, True), (29, False)):
        rows = [*zip(labels(20, 20, length), ["a"] * 20, strict=True)]
        if refused:
            with pytest.raises(ValueError, match="looks like free text"):
                TableEncoder().fit(rows, rows)
        else:
            assert "identifier" in TableEncoder().fit(rows, rows).dropped_[0]


def test_a_missing_value_has_a_column_of_its_own_only_where_one_was_missing():
    assert encoder_of([1.0, 2.0], [3.0, None]).names_ == ("x0", "x0: missing")
    assert encoder_of([1.0, 2.0], [3.0, 4.0, 5.0]).names_ == ("x0",)
    absent = encoder_of([1.0, 2.0], [3.0, None], target_weight=[1.0, 0.0])
    assert absent.names_ == ("x0",)


def test_what_nobody_had_at_fit_goes_to_unseen_then_rare_then_nowhere():
    pools = {
        "unseen": (
            ["a"] * 199 + ["b"],
            ["a"] * 100 + [f"n{k}" for k in range(100)],
        ),
        "rare": (["a"] * 190 + list("bcdefghijk"), ["a"] * 200),
        "nowhere": (["a"] * 20, ["a"] * 20),
    }
    for pool, pair in pools.items():
        encoder = encoder_of(*pair)
        encoded = encoder.transform([["never seen"]])[0]
        places = [
            name for name, one in zip(encoder.names_, encoded, strict=True) if one
        ]
        assert places == ([] if pool == "nowhere" else [f"x0: {pool}"])


# -- parts of a column -----------------------------------------------------------------


def column(values, kind="numbers"):
    if kind == "numbers":
        return TableColumn("x", kind, np.array(values, dtype=float))
    names = tuple(sorted(set(values)))
    places = np.array([names.index(one) for one in values])
    return TableColumn("x", "categories", places, names)


def parts_of(source, target, kind="numbers", most=4):
    pair = column(source, kind), column(target, kind)
    cut = cut_column(*pair, even(len(source)), even(len(target)), most=most)
    return [part.to_dict() for part in cut.parts]


def test_a_category_of_fewer_than_five_rows_is_among_the_others():
    named = parts_of(["a"] * 10 + ["b"] * 3, ["a"] * 10 + ["b"] * 2, "categories")
    assert [part.get("category") for part in named] == ["a", "b"]
    pooled = parts_of(["a"] * 10 + ["b"] * 2, ["a"] * 10 + ["b"] * 2, "categories")
    assert [part["part"] for part in pooled] == ["category", "others"]


def test_a_value_of_fewer_than_five_rows_is_among_the_others():
    found = parts_of([0.0] * 20 + [1.0] * 4, [0.0] * 20)
    assert [part["part"] for part in found] == ["value", "others"]
    found = parts_of([0.0] * 20 + [1.0] * 4, [0.0] * 20 + [1.0])
    assert [part["part"] for part in found] == ["value", "value"]


def test_numbers_are_cut_by_value_up_to_as_many_as_there_may_be_parts():
    three = [0.0, 1.0, 2.0] * 20
    assert {part["part"] for part in parts_of(three, three, most=3)} == {"value"}
    assert {part["part"] for part in parts_of(three, three, most=2)} == {"range"}


def test_a_range_needs_ten_rows_of_the_smaller_sample():
    many = list(np.arange(100.0))
    assert len(parts_of(many, list(np.arange(40.0)), most=4)) == 4
    assert len(parts_of(many, list(np.arange(39.0)), most=4)) == 3


def test_trees_look_at_the_columns_that_differ_most():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    for columns in (64, 65):
        X = rng.normal(size=(60, columns))
        found = BinnedColumns().fit(X, y)
        assert found.transform(X).shape == (60, 64)
    # Of equal distances the first.
    X = np.repeat(rng.normal(size=(60, 1)), 130, axis=1)
    assert BinnedColumns().fit(X, y).kept_.tolist() == list(range(64))
    X[:, 129] = y
    assert BinnedColumns().fit(X, y).kept_.tolist() == [*range(63), 129]


def test_a_bin_ends_in_the_middle_of_a_gap_between_the_classes():
    y = np.repeat([0, 1], 100)
    low, high = np.linspace(0.0, 1.0, 100), np.linspace(9.0, 10.0, 100)

    def is_split(wrong, few):
        x = np.concatenate([low, high])
        x[:wrong] = high[:wrong]
        if few:
            x = np.where(x < 5, np.floor(10 * x) / 10, 9 + np.floor(10 * (x - 9)) / 10)
        (ends,) = BinnedColumns().fit(x[:, None], y).ends_
        # What is a little beyond the rows of one side is nearer to them.
        sides = [np.searchsorted(ends, beyond) for beyond in (1.2, 8.8)]
        return 5.0 in ends and sides[0] < sides[1] and 1.0 not in ends

    for few in (False, True):
        assert is_split(0, few)
        assert is_split(10, few)
        assert not is_split(11, few)


def test_more_than_five_hundred_columns_are_prepared_once(monkeypatch):
    asked = []

    def out_of_fold(pool, estimator):
        asked.append((type(estimator).__name__, pool.X.std(axis=0).max()))
        return np.zeros(pool.labels.size)

    monkeypatch.setattr(Pool, "out_of_fold", out_of_fold)
    rng = np.random.default_rng(0)
    for columns, first in ((500, "Pipeline"), (501, "LogisticRegression")):
        asked.clear()
        X = 7.0 * rng.normal(size=(60, columns))
        pool = Pool.of(TwoSamples.of(X[:30], X[30:], np.ones(30), np.ones(30)), 0)
        _better_model(pool)
        assert [name for name, _ in asked] == [first, "Pipeline"]
        assert (asked[0][1] < 1.1) == (columns > 500)


# -- columns that make the samples disjoint -------------------------------------------

SEPARATING = "counterpoise.shift.separation"


def heart(missing=(0.99, 0.92), n=240, m=200, seed=0):
    rng = np.random.default_rng(seed)

    def part(k, shift, gone):
        table = pd.DataFrame(rng.normal(shift, 1.0, (k, 3)), columns=list("abc"))
        table["vessels"] = rng.integers(0, 4, k).astype(float)
        table["defect"] = rng.choice(["none", "fixed"], k)
        for name, share in zip(("vessels", "defect"), gone, strict=True):
            table[name] = table[name].mask(rng.random(k) < share)
        return table

    return part(n, 0.0, (0.01, 0.005)), part(m, 0.2, missing)


def test_columns_that_are_missing_in_the_target_are_named_and_no_others():
    found = separating_columns(Samples.read(*heart()), 0)
    assert [column.name for column in found.columns] == ["vessels", "defect"]
    assert {column.how for column in found.columns} == {"missing"}
    assert found.verdict != "no overlap"
    assert found.covered > 0.9
    assert found.drop == "vessels,defect"
    assert "--drop vessels,defect" in str(found)
    # Where the samples overlap no column is to blame.
    assert separating_columns(Samples.read(*heart((0.6, 0.0))), 0) is None


def test_a_column_is_put_back_where_the_others_suffice(monkeypatch):
    loss = 0.0625

    def seen(samples, seed):
        names = [column.name for column in samples.tables[0].columns]
        if "b" in names:
            return SimpleNamespace(verdict="no overlap", uncovered_fraction=1.0)
        return SimpleNamespace(verdict="", uncovered_fraction=loss * ("a" in names))

    monkeypatch.setattr(f"{SEPARATING}.overlap_between", seen)
    X = pd.DataFrame({"a": np.arange(20.0), "b": np.arange(20.0), "c": np.zeros(20)})
    # The first sets more apart, and none of it where the source has no row.
    T = pd.DataFrame({"a": np.full(20, 18.0), "b": np.r_[10:30.0], "c": np.zeros(20)})
    T.loc[:4, "b"] += 20

    def names():
        found = separating_columns(Samples.read(X, T), 0)
        return [column.name for column in found.columns]

    assert names() == ["a", "b"]
    loss = 0.03125
    assert names() == ["b"]
    monkeypatch.setattr(f"{SEPARATING}.UNCOVERED_ABOVE", loss)
    assert names() == ["b"]


def looked_at(monkeypatch, needed, n_columns=40):
    """Return which columns are named and how many looks that takes.

    All have values of the source's range but one; those `needed` must be left out.
    """
    looks = []

    def seen(samples, seed):
        kept = {column.label for column in samples.tables[0].columns}
        looks.append(kept)
        apart = bool(kept & needed)
        return SimpleNamespace(
            verdict="no overlap" * apart, uncovered_fraction=float(apart)
        )

    monkeypatch.setattr(f"{SEPARATING}.overlap_between", seen)
    X = np.tile(np.arange(100.0)[:, None], n_columns)
    T = np.tile(np.r_[60:99, 60:99].astype(float)[:, None], n_columns)
    # The last sets nothing apart, the first most.
    T[:, 0] = 98.0
    T[:, -1] = np.arange(78.0)
    found = separating_columns(Samples.read(X, T), 0)
    return {int(column.name[1:]) for column in found.columns}, len(looks)


def test_many_columns_are_put_back_by_few_looks(monkeypatch):
    # With all, without all, and all but the first put back.
    assert looked_at(monkeypatch, {0}) == ({0}, 3)
    # By halves of 38; where one half can go back, no look at all of the other.
    assert looked_at(monkeypatch, {17}) == ({17}, 2 + 10)
    # After twelve looks what was not put back stays out.
    every = set(range(0, 39, 2))
    named, looks = looked_at(monkeypatch, every)
    assert named > every
    assert looks == 2 + 12


def test_where_nothing_is_covered_the_first_column_is_named_without_a_look(monkeypatch):
    looks = []

    def seen(samples, seed):
        looks.append(samples)
        return SimpleNamespace(verdict="no overlap", uncovered_fraction=1 - covered)

    monkeypatch.setattr(f"{SEPARATING}.overlap_between", seen)
    X = pd.DataFrame({"a": np.arange(20.0), "b": np.arange(20.0), "c": np.zeros(20)})
    T = pd.DataFrame({"a": X["a"] + 50, "b": X["b"] + 12, "c": np.zeros(20)})
    for covered, n_looks in ((0.04, 2), (0.06, 3)):
        looks.clear()
        found = separating_columns(Samples.read(X, T), 0)
        assert [column.name for column in found.columns] == ["a"]
        assert found.covered == pytest.approx(covered)
        assert len(looks) == n_looks


def apart_in_part(how, share, rare=0.0):
    """Return a column of 1,000 rows that uncovers a share, as `how` says."""
    even, k = np.arange(1000.0), round(1000 * share)
    inside = np.full(1000 - k, 980.0)
    if how == "above":
        return even, np.r_[inside, np.full(k, 2000.0)]
    if how == "below":
        return even, np.r_[np.full(k, -9.0), 999 - inside]
    if how == "missing":
        gone = np.where(even < 1000 * rare, np.nan, even)
        return gone, np.r_[inside, np.full(k, np.nan)]
    known = np.repeat(["u", "v"], [900, 100])
    return known, np.repeat(["v", "w"], [1000 - k, k])


@pytest.mark.parametrize("how", ["above", "below", "missing", "new categories"])
def test_a_column_that_uncovers_too_much_stays_out_without_a_look(monkeypatch, how):
    looks = []

    def seen(samples, seed):
        looks.append(len(samples.tables[0].columns))
        verdict = "no overlap" if looks[-1] == 3 else ""
        return SimpleNamespace(verdict=verdict, uncovered_fraction=0.25)

    monkeypatch.setattr(f"{SEPARATING}.overlap_between", seen)
    even = np.arange(1000.0)

    def named(*column):
        looks.clear()
        x, t = apart_in_part(*column)
        X = pd.DataFrame({"a": x, "b": even, "c": even})
        T = pd.DataFrame({"a": t, "b": even + 5000, "c": even})
        found = separating_columns(Samples.read(X, T), 0)
        return "".join(sorted(one.name for one in found.columns)), len(looks)

    # What is covered without both is 0.75.
    assert named(how, 0.298) == ("b", 3)
    assert named(how, 0.302) == ("ab", 2)
    if how == "missing":
        # Some of the source's rows have no value either.
        assert named(how, 0.302, 0.005) == ("ab", 2)
        assert named(how, 0.302, 0.006) == ("b", 3)


def test_a_column_that_sets_half_of_the_target_apart_is_no_candidate(monkeypatch):
    def seen(samples, seed):
        return SimpleNamespace(verdict="no overlap", uncovered_fraction=0.9)

    monkeypatch.setattr(f"{SEPARATING}.overlap_between", seen)
    X = pd.DataFrame({"a": np.zeros(20), "b": np.zeros(20)})
    T = pd.DataFrame({"a": np.r_[np.zeros(10), np.ones(10)], "b": np.zeros(20)})
    assert separating_columns(Samples.read(X, T), 0) is None
    T.loc[0, "a"] = 1.0
    found = separating_columns(Samples.read(X, T), 0)
    assert [column.name for column in found.columns] == ["a"]
    assert "Even without this column" in str(found)


def test_values_so_many_times_larger_are_of_another_unit():
    metres = np.linspace(1.5, 2.0, 50)
    assert times_larger(metres, 100 * metres) == pytest.approx(100)
    assert times_larger(100 * metres, metres) == pytest.approx(0.01)
    assert times_larger(metres, 2.001 * metres) == pytest.approx(2.001)
    assert times_larger(metres, 1.999 * metres) is None
    middle = np.median(metres)
    for factor, unit in ((1.49, True), (1.51, False)):
        wider = 4 * (middle + factor * (metres - middle))
        assert (times_larger(metres, wider) is not None) is unit
        assert (times_larger(wider, metres) is not None) is unit
    metres[0] = 0.0
    assert times_larger(metres, 100 * metres) is None


# -- without a seed --------------------------------------------------------------------


def test_without_a_seed_the_same_two_tables_get_the_same_answer():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(120, 2)), rng.normal(0.3, 1.0, size=(90, 2))
    mixed = rng.permutation(120)
    asks = (
        lambda X: overlap(X, T).auc,
        lambda X: domain_auc(X, T),
        lambda X: mmd(X, T, n_permutations=50).p_value,
        lambda X: str(diagnose(X, T, n_permutations=50)),
        lambda X: discrepancy_spectrum(X, T, n_permutations=50).p_value,
        lambda X: spectrum_of_products(X, T).p_value,
    )
    for ask in asks:
        assert ask(X) == ask(X) == ask(X[mixed])
    # A seed of one's own still draws, and so does another row.
    seeds = [overlap(X, T, random_state=seed).auc for seed in range(3)]
    assert len({*seeds, overlap(X, T).auc, overlap(X[1:], T).auc}) > 3


def spectrum_of_products(X, T):
    # Whole numbers: their products are the same in whatever order they are added.
    both = np.round(10 * np.vstack([X, T]))
    gram = both @ both.T
    return discrepancy_spectrum(
        gram[: len(X)], gram[len(X) :], kernel="precomputed", n_permutations=50
    )


def test_rows_that_do_not_count_draw_no_other_permutations():
    rng = np.random.default_rng(1)
    X, T = rng.normal(size=(60, 2)), rng.normal(0.2, 1.0, size=(50, 2))
    more, mass = np.vstack([X, [[9.0, 9.0]]]), np.append(np.ones(60), 0.0)
    plain = discrepancy_spectrum(X, T, n_permutations=60)
    same = discrepancy_spectrum(more, T, n_permutations=60, sample_weight=mass)
    assert same.p_value == plain.p_value


def test_the_seed_of_rows_is_by_what_they_hold():
    X = np.array([[1.0, np.nan], [2.0, 0.0], [3.0, 1.0]])
    seed = seed_of_rows([X, X])
    assert 0 <= seed < 2**32
    # Zeros and gaps of either sign are one.
    same = np.array([[3.0, 1.0], [2.0, -0.0], [1.0, -np.nan]])
    assert seed_of_rows([same, X]) == seed
    assert seed_of_rows([X[:2], X]) != seed
    assert seed_of_rows([X, X], ["yes"]) != seed
    uncovered_fraction = sparse.csr_array(X[1:])
    assert seed_of_rows([uncovered_fraction, uncovered_fraction]) == seed_of_rows(
        [uncovered_fraction[::-1], uncovered_fraction]
    )


def test_rows_that_do_not_count_have_no_part_in_the_seed():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "c": ["a", "b", "a"]})
    kept = Samples.read(frame[:2], frame).own_seed
    assert Samples.read(frame, frame, [1, 1, 0]).own_seed == kept
    renamed = frame.assign(c=["a", "z", "a"])
    assert Samples.read(renamed[:2], renamed).own_seed != kept
