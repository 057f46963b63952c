"""Overlap: the share of the target that the source hardly covers, and the verdict."""

import numpy as np
import pytest
from scipy.stats import norm

from counterpoise.datasets import make_uncovered_cluster
from counterpoise.shift.domain_classifier import domain_auc
from counterpoise.shift.support import (
    overlap,
    uncovered_by_chance,
    uncovered_interval,
    uncovered_share_of,
    verdict,
)

VERDICTS = {
    0.0: "no shift detected",
    0.1: "shift, partial overlap",
    0.3: "shift, partial overlap",
    0.6: "no overlap",
    1.0: "no overlap",
}


def cluster(q, seed, n=1000):
    shift = make_uncovered_cluster(q, n=n, m=n, d=5, shift=0, random_state=seed)
    return shift, overlap(shift.X, shift.X_target, random_state=seed)


@pytest.mark.parametrize("q", VERDICTS)
def test_the_thin_share_is_the_share_of_a_disjoint_cluster(q):
    shift, found = cluster(q, seed=0)
    assert found.uncovered_fraction == pytest.approx(q, abs=0.05)
    assert found.verdict == VERDICTS[q]
    uncovered_fraction = np.isin(np.arange(1000), found.uncovered_rows)
    assert (uncovered_fraction != ~shift.covered).mean() < 0.03


def test_no_shift_is_found_where_there_is_none():
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        two = rng.normal(size=(200, 3)), rng.normal(size=(200, 3))
        found.append(overlap(*two, random_state=seed).verdict)
    assert found.count("no shift detected") >= 5


def test_the_thin_share_of_two_normals_is_beyond_the_tail_of_the_source():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(2000, 1)), 2 + rng.normal(size=(2000, 1))
    expected = norm.sf(np.quantile(X, 0.995) - 2)
    found = overlap(X, X_target, random_state=0)
    assert found.uncovered_fraction == pytest.approx(expected, abs=0.04)


def test_the_record_agrees_with_itself():
    shift, found = cluster(0.3, seed=1, n=300)
    above = found.scores_target > found.threshold
    assert found.uncovered_fraction == pytest.approx(above.mean())
    assert (found.scores > found.threshold).mean() <= 0.005
    assert found.auc == domain_auc(shift.X, shift.X_target, random_state=1)
    np.testing.assert_array_equal(found.uncovered_rows, found.rows_target[above])


def test_target_weights_enter_the_thin_share():
    shift = make_uncovered_cluster(0.3, n=400, m=400, shift=0, random_state=0)
    weight = np.where(shift.covered, 1.0, 4.0)
    found = overlap(shift.X, shift.X_target, target_weight=weight, random_state=0)
    expected = weight[~shift.covered].sum() / weight.sum()
    assert found.uncovered_fraction == pytest.approx(expected, abs=0.03)


def test_the_record_prints_the_verdict_and_the_numbers():
    _, found = cluster(0.3, seed=0, n=300)
    text = str(found)
    assert text.startswith("shift, partial overlap: weights and estimates speak for")
    assert f"{found.uncovered_fraction:.1%} of the target rows" in text
    assert f"{found.auc:.3f} ({found.auc_low:.3f} to {found.auc_high:.3f})" in text
    assert "array" not in repr(found)


@pytest.mark.parametrize(
    ("auc", "low", "uncovered_fraction", "words"),
    [
        (0.51, 0.48, 0.005, "no shift detected"),
        (0.40, 0.35, 0.0, "no shift detected"),
        (0.55, 0.53, 0.01, "small shift"),
        (0.55, 0.53, 0.05, "small shift"),
        (0.60, 0.57, 0.05, "shift, full overlap"),
        (0.55, 0.53, 0.051, "shift, partial overlap"),
        (0.90, 0.88, 0.5, "shift, partial overlap"),
        (0.90, 0.88, 0.501, "no overlap"),
        # Too few rows for the AUC, enough for the thin share.
        (0.54, 0.49, 0.09, "shift, partial overlap"),
    ],
)
def test_the_verdict_is_read_from_the_table(auc, low, uncovered_fraction, words):
    assert verdict(auc, low, uncovered_fraction, chance=0.02) == words


def test_a_thin_share_that_chance_explains_is_no_shift():
    assert verdict(0.55, 0.4, 0.2, uncovered_by_chance(20, 20)) == "no shift detected"


@pytest.mark.parametrize("n", [20, 100, 1000])
def test_chance_hardly_exceeds_what_it_may(n):
    rng = np.random.default_rng(0)
    share = np.full(n, 1 / n)
    uncovered_fraction = [
        uncovered_share_of(*rng.normal(size=(2, n)), share, share) for _ in range(1000)
    ]
    assert np.mean(np.array(uncovered_fraction) > uncovered_by_chance(n, n)) < 0.03


def test_a_score_that_the_outermost_source_row_has_is_not_beyond_it():
    share = np.full(4, 0.25)
    assert (
        uncovered_share_of(np.ones(4), np.array([0.0, 1, 1, 2]), share, share) == 0.25
    )


def test_only_the_order_of_scores_counts():
    rng = np.random.default_rng(0)
    s, t = rng.normal(size=400), rng.normal(size=300) + 1
    shares = np.full(400, 1 / 400), np.full(300, 1 / 300)
    assert uncovered_share_of(s, t, *shares) == uncovered_share_of(
        np.exp(s), np.exp(t), *shares
    )


def test_a_source_row_of_weight_two_is_the_row_twice_in_the_thin_share():
    rng = np.random.default_rng(1)
    s, t = rng.normal(size=250), rng.normal(size=300) + 1
    counts = rng.integers(1, 4, size=250)
    target = np.full(300, 1 / 300)
    repeated = np.repeat(s, counts)
    assert uncovered_share_of(
        s, t, counts / counts.sum(), target
    ) == uncovered_share_of(
        repeated, t, np.full(repeated.size, 1 / repeated.size), target
    )


@pytest.mark.parametrize(("n", "m", "far"), [(3, 3, 0), (15, 15, 0), (20, 20, 1)])
def test_a_handful_of_rows_is_too_few_to_tell(n, m, far):
    rng = np.random.default_rng(0)
    found = overlap(rng.normal(size=(n, 2)), rng.normal(size=(m, 2)) + far)
    assert found.verdict == "too few rows"
    assert str(found).startswith("too few rows: chance alone")


def test_a_handful_of_rows_far_from_one_another_does_tell():
    rng = np.random.default_rng(0)
    found = overlap(rng.normal(size=(5, 2)), rng.normal(size=(5, 2)) + 99)
    assert found.verdict == "no overlap"


def test_few_target_rows_far_from_many_source_rows_do_tell():
    rng = np.random.default_rng(0)
    found = overlap(rng.normal(size=(500, 2)), 50 + rng.normal(size=(5, 2)))
    assert found.verdict == "no overlap"


def test_weights_can_leave_too_few_rows_to_tell():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(2, 200, 2))
    weight = np.full(200, 1e-9)
    weight[:10] = 1.0
    found = overlap(X, X_target, sample_weight=weight, random_state=0)
    assert found.verdict == "too few rows"


@pytest.mark.parametrize("value", [1.0, 2.0])
def test_constant_tables_are_judged_without_a_warning_of_the_classifiers(value):
    # Warnings are errors here.
    found = overlap(np.ones((60, 2)), np.full((50, 2), value), random_state=0)
    assert found.verdict == ("no shift detected" if value == 1.0 else "no overlap")


def test_few_equal_rows_bring_no_warning_of_the_classifiers():
    found = overlap(np.ones((5, 1)), np.ones((4, 1)), random_state=0)
    assert found.verdict == "too few rows"
    assert found.auc == 0.5


@pytest.mark.parametrize(("n", "most"), [(300, 0.11), (1000, 0.045)])
def test_the_lower_end_of_the_thin_share_seldom_exceeds_the_truth(n, most):
    # A threshold that is too low by chance has rows near below it, and none near above.
    truth = norm.sf(norm.ppf(0.995) - 2.55)
    rng, even = np.random.default_rng(0), np.full(n, 1 / n)
    ends = np.array(
        [
            uncovered_interval(rng.normal(size=n), rng.normal(2.55, size=n), even, even)
            for _ in range(400)
        ]
    )
    assert np.mean(ends[:, 0] > truth) <= most
    assert np.mean(ends[:, 1] < truth) <= 0.045
