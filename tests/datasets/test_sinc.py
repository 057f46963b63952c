import numpy as np
import pytest
from scipy import stats

from counterpoise.datasets import make_sinc_shift


def test_the_defaults_are_the_published_sizes():
    shift = make_sinc_shift(random_state=0)
    assert (len(shift.X), len(shift.X_target)) == (500, 300)


@pytest.mark.parametrize("mean", [0.0, 0.5])
def test_the_ratio_is_that_of_the_two_densities(mean):
    shift = make_sinc_shift(mean=mean, random_state=0)
    for X, ratio in ((shift.X, shift.ratio), (shift.X_target, shift.ratio_target)):
        x = X[:, 0]
        expected = stats.norm.pdf(x, 0, 0.3) / stats.norm.pdf(x, mean, 0.5)
        np.testing.assert_allclose(ratio, expected, rtol=1e-10)


@pytest.mark.parametrize("mean", [0.0, 0.5])
def test_the_ratio_turns_source_means_into_target_means(mean, assert_reweights):
    shift = make_sinc_shift(20_000, 20_000, mean=mean, random_state=1)
    # Squares tell the widths apart where the means are equal.
    assert_reweights(shift.X**2, shift.ratio, shift.X_target**2)
    assert_reweights(shift.y[:, None], shift.ratio, shift.y_target[:, None])


@pytest.mark.parametrize("mean", [0.0, 0.5])
def test_the_samples_follow_the_stated_gaussians(mean):
    shift = make_sinc_shift(20_000, 20_000, mean=mean, random_state=1)
    assert stats.kstest(shift.X[:, 0], stats.norm(mean, 0.5).cdf).pvalue > 1e-4
    assert stats.kstest(shift.X_target[:, 0], stats.norm(0, 0.3).cdf).pvalue > 1e-4


def test_labels_are_the_curve_plus_noise_of_a_tenth_in_both():
    shift = make_sinc_shift(20_000, 20_000, mean=0.5, random_state=1)
    for X, y in ((shift.X, shift.y), (shift.X_target, shift.y_target)):
        x = X[:, 0]
        curve = -2 * x**3 + 3 * np.sin(np.pi * x) / (np.pi * x) + 1
        assert stats.kstest(y - curve, stats.norm(0, 0.1).cdf).pvalue > 1e-4


def test_a_far_source_leaves_the_ratio_finite():
    shift = make_sinc_shift(mean=100.0, random_state=0)
    assert np.all(shift.ratio == 0)
    assert np.all(np.isfinite(shift.ratio_target))
    assert np.all(shift.ratio_target > 1e300)
