import numpy as np
import pytest
from scipy import stats

from counterpoise.datasets import make_gaussian_shift

CASES = [
    {"d": 1, "shift": 1.0, "scale": 1.0},
    {"d": 1, "shift": -1.0, "scale": 0.7},
    {"d": 3},
    {"d": 10},
]


@pytest.mark.parametrize("arguments", CASES)
def test_the_ratio_is_that_of_the_two_densities(arguments):
    shift = make_gaussian_shift(random_state=0, **arguments)
    d = arguments["d"]
    mean = np.ones(d) * arguments.get("shift", 0.5) / np.sqrt(d)
    scale = arguments.get("scale", 0.9)
    for X, ratio in ((shift.X, shift.ratio), (shift.X_target, shift.ratio_target)):
        target = stats.multivariate_normal(mean, scale**2 * np.eye(d)).logpdf(X)
        source = stats.multivariate_normal(np.zeros(d), np.eye(d)).logpdf(X)
        np.testing.assert_allclose(ratio, np.exp(target - source), rtol=1e-10)


@pytest.mark.parametrize("arguments", CASES)
def test_the_ratio_turns_source_means_into_target_means(arguments, assert_reweights):
    shift = make_gaussian_shift(n=20_000, m=20_000, random_state=1, **arguments)
    assert_reweights(shift.X, shift.ratio, shift.X_target)
    assert_reweights(shift.y[:, None], shift.ratio, shift.y_target[:, None])


def test_the_inverse_ratio_turns_target_means_into_source_means(assert_reweights):
    shift = make_gaussian_shift(
        n=20_000, m=20_000, shift=1.0, scale=1.0, random_state=1
    )
    assert_reweights(shift.X_target, 1 / shift.ratio_target, shift.X)


def test_the_inverse_ratio_does_not_turn_source_means_into_target_means(
    assert_reweights,
):
    shift = make_gaussian_shift(
        n=20_000, m=20_000, shift=1.0, scale=1.0, random_state=1
    )
    with pytest.raises(AssertionError):
        assert_reweights(shift.X, 1 / shift.ratio, shift.X_target)


@pytest.mark.parametrize("d", [1, 10, 50])
def test_the_default_target_is_half_a_unit_away_and_narrower(d):
    shift = make_gaussian_shift(d, m=20_000, random_state=1)
    columns = (shift.X_target - 0.5 / np.sqrt(d)) / 0.9
    assert stats.kstest(columns.ravel(), "norm").pvalue > 1e-4
    assert stats.kstest(shift.X.ravel(), "norm").pvalue > 1e-4


@pytest.mark.parametrize("arguments", CASES)
def test_labels_have_the_stated_means_and_noise(arguments):
    shift = make_gaussian_shift(n=20_000, m=20_000, random_state=1, **arguments)
    length, scale = arguments.get("shift", 0.5), arguments.get("scale", 0.9)
    expected = 0.5, length + (length**2 + scale**2) / 2
    samples = (shift.X, shift.y), (shift.X_target, shift.y_target)
    for (X, y), mean in zip(samples, expected, strict=True):
        assert abs(y.mean() - mean) < 4.5 * y.std() / np.sqrt(len(y))
        u = X.sum(axis=1) / np.sqrt(X.shape[1])
        noise = y - u - u**2 / 2
        assert stats.kstest(noise, stats.norm(0, 0.1).cdf).pvalue > 1e-4


@pytest.mark.parametrize("scale", [1e-200, 40.0, 1e100])
def test_extreme_widths_leave_the_ratio_finite(scale):
    shift = make_gaussian_shift(scale=scale, random_state=0)
    assert np.all(np.isfinite(shift.ratio))
    assert np.all(np.isfinite(shift.ratio_target))
    assert shift.ratio_target.max() > 1e100
