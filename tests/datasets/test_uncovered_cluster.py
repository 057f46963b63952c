import numpy as np
import pytest
from scipy import stats

from counterpoise.datasets import make_uncovered_cluster


@pytest.mark.parametrize("q", [0.0, 0.15, 1.0])
@pytest.mark.parametrize("distance", [2.0, 8.0])
def test_the_ratio_is_that_of_the_two_densities(q, distance):
    shift = make_uncovered_cluster(q, d=3, distance=distance, random_state=0)
    covered = stats.multivariate_normal(np.ones(3) * 0.5 / np.sqrt(3), np.eye(3))
    cluster = stats.multivariate_normal([distance, 0, 0], 0.25 * np.eye(3))
    source = stats.multivariate_normal(np.zeros(3), np.eye(3))
    for X, ratio in ((shift.X, shift.ratio), (shift.X_target, shift.ratio_target)):
        target = (1 - q) * covered.pdf(X) + q * cluster.pdf(X)
        np.testing.assert_allclose(ratio, target / source.pdf(X), rtol=1e-10)


def test_a_near_cluster_is_reached_by_the_ratio(assert_reweights):
    shift = make_uncovered_cluster(0.3, 20_000, 20_000, 2, distance=2.0, random_state=1)
    assert_reweights(shift.X, shift.ratio, shift.X_target)
    assert_reweights(shift.y[:, None], shift.ratio, shift.y_target[:, None])


def test_far_from_the_cluster_the_ratio_has_the_mean_of_the_covered_part():
    shift = make_uncovered_cluster(n=20_000, random_state=1)
    error = shift.ratio.std() / np.sqrt(len(shift.ratio))
    assert abs(shift.ratio.mean() - 0.85) < 4.5 * error
    assert error < 0.01


def test_the_ratio_moves_source_means_to_those_of_the_covered_part(assert_reweights):
    shift = make_uncovered_cluster(0.15, 20_000, 20_000, random_state=1)
    assert_reweights(shift.X, shift.ratio / 0.85, shift.X_target[shift.covered])


def test_without_shift_the_covered_part_is_the_source():
    shift = make_uncovered_cluster(0.15, 5000, 5000, shift=0.0, random_state=1)
    np.testing.assert_allclose(shift.ratio, 0.85, rtol=1e-10)
    covered = shift.X_target[shift.covered]
    assert stats.kstest(covered.ravel(), "norm").pvalue > 1e-4


def test_a_share_q_of_the_target_is_in_the_cluster():
    shift = make_uncovered_cluster(0.15, 10, 20_000, random_state=1)
    assert abs((~shift.covered).mean() - 0.15) < 4.5 * np.sqrt(0.15 * 0.85 / 20_000)
    cluster = (shift.X_target[~shift.covered] - [8, 0, 0, 0, 0]) / 0.5
    assert stats.kstest(cluster.ravel(), "norm").pvalue > 1e-4
    assert shift.X_target[shift.covered, 0].max() < 6


@pytest.mark.parametrize(("q", "covered"), [(0.0, True), (1.0, False)])
def test_the_extremes_are_all_or_nothing(q, covered):
    shift = make_uncovered_cluster(q, random_state=1)
    assert np.all(shift.covered == covered)
    assert np.all(shift.ratio > 0)


def test_a_very_far_cluster_leaves_the_ratio_finite():
    shift = make_uncovered_cluster(distance=60.0, random_state=1)
    assert np.all(np.isfinite(shift.ratio_target))
    assert np.all(shift.ratio_target[~shift.covered] > 1e300)
    assert shift.ratio_target[shift.covered].max() < 100


def test_labels_are_the_same_curve_in_and_out_of_the_cluster():
    shift = make_uncovered_cluster(0.5, 5000, 5000, random_state=1)
    for X, y in ((shift.X, shift.y), (shift.X_target, shift.y_target)):
        u = X.sum(axis=1) / np.sqrt(5)
        noise = y - u - u**2 / 2
        assert stats.kstest(noise, stats.norm(0, 0.1).cdf).pvalue > 1e-4
