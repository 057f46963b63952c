import numpy as np
import pytest
from scipy import stats

from counterpoise.datasets import make_mixture_shift


def means_of(d, seed):
    """The means are the generator's first draws, the target's before the others."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, d), rng.uniform(-1, 1, (d, d))


def density(X, mean):
    return stats.norm.pdf(X - mean).prod(axis=1)


@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("d", [1, 4])
def test_the_ratio_is_that_of_the_two_densities(d, share):
    shift = make_mixture_shift(d, 50, 40, share=share, random_state=3)
    mean, others = means_of(d, 3)
    for X, ratio in ((shift.X, shift.ratio), (shift.X_target, shift.ratio_target)):
        target = density(X, mean)
        rest = sum(density(X, other) for other in others) / d
        expected = target / (share * target + (1 - share) * rest)
        np.testing.assert_allclose(ratio, expected, rtol=1e-10)


def test_the_ratio_turns_source_means_into_target_means(assert_reweights):
    shift = make_mixture_shift(5, 20_000, 20_000, random_state=3)
    assert_reweights(shift.X, shift.ratio, shift.X_target)
    assert_reweights(shift.y[:, None], shift.ratio, shift.y_target[:, None])


def test_the_ratio_is_bounded_by_one_over_the_share():
    shift = make_mixture_shift(5, 2000, 2000, share=0.25, random_state=3)
    assert shift.ratio_target.max() <= 4 * (1 + 1e-12)
    assert shift.ratio_target.max() > 3


def test_in_high_dimension_a_share_of_the_rows_has_all_the_weight():
    shift = make_mixture_shift(200, 5000, 10, random_state=3)
    heavy = shift.ratio > 2.5
    np.testing.assert_allclose(shift.ratio[heavy], 5, rtol=1e-4)
    assert shift.ratio[~heavy].max() < 1e-4
    assert abs(heavy.mean() - 0.2) < 4.5 * np.sqrt(0.2 * 0.8 / 5000)


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_in_very_high_dimension_the_ratio_stays_finite(share):
    shift = make_mixture_shift(2600, 12, 5, share=share, random_state=3)
    assert shift.ratio.min() == 0
    assert np.all(np.isfinite(shift.ratio))
    assert np.all(np.isfinite(shift.ratio_target))
    assert np.all(shift.ratio_target > 4)


def test_labels_are_the_sums_of_absolute_values():
    shift = make_mixture_shift(3, 5, 4, random_state=3)
    for X, y in ((shift.X, shift.y), (shift.X_target, shift.y_target)):
        expected = [abs(row[0]) + abs(row[1]) + abs(row[2]) for row in X]
        np.testing.assert_allclose(y, expected, rtol=1e-14)
