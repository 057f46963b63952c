import numpy as np
import pytest
from scipy import stats

from counterpoise.datasets import make_class_subset


def means_of(n_classes, d, separation, seed):
    """The means are the generator's first draws."""
    draws = np.random.default_rng(seed).standard_normal((n_classes, d))
    return draws * separation / np.sqrt(2 * d)


@pytest.mark.parametrize(("n_classes", "n_target_classes"), [(6, 3), (4, 1), (3, 3)])
def test_the_ratio_is_that_of_the_two_densities(n_classes, n_target_classes):
    shift = make_class_subset(n_classes, n_target_classes, d=3, random_state=4)
    means = means_of(n_classes, 3, 4.0, 4)
    for X, ratio in ((shift.X, shift.ratio), (shift.X_target, shift.ratio_target)):
        classes = np.array([stats.norm.pdf(X - mean).prod(axis=1) for mean in means])
        expected = classes[:n_target_classes].mean(axis=0) / classes.mean(axis=0)
        np.testing.assert_allclose(ratio, expected, rtol=1e-10)


def test_the_ratio_turns_source_means_into_target_means(assert_reweights):
    shift = make_class_subset(n=20_000, m=20_000, d=3, random_state=4)
    assert_reweights(shift.X, shift.ratio, shift.X_target)


def test_the_ratio_of_labels_turns_means_over_pairs_and_that_of_x_does_not(
    assert_reweights,
):
    shift = make_class_subset(n=20_000, m=20_000, d=3, separation=1.0, random_state=4)
    pairs = shift.X * (1 + shift.y[:, None])
    pairs_target = shift.X_target * (1 + shift.y_target[:, None])
    assert_reweights(pairs, np.where(shift.y < 3, 2.0, 0.0), pairs_target)
    with pytest.raises(AssertionError):
        assert_reweights(pairs, shift.ratio, pairs_target)


def test_all_classes_are_in_the_source_and_the_first_in_the_target():
    shift = make_class_subset(5, 2, random_state=4)
    assert np.issubdtype(shift.y.dtype, np.integer)
    assert np.unique(shift.y).tolist() == [0, 1, 2, 3, 4]
    assert np.unique(shift.y_target).tolist() == [0, 1]


def test_classes_are_equally_frequent():
    shift = make_class_subset(n=6000, m=6000, random_state=4)
    assert stats.chisquare(np.bincount(shift.y)).pvalue > 1e-4
    assert stats.chisquare(np.bincount(shift.y_target)).pvalue > 1e-4


def test_rows_are_standard_gaussians_around_the_mean_of_their_class():
    shift = make_class_subset(n=5000, m=5000, d=3, random_state=4)
    means = means_of(6, 3, 4.0, 4)
    for X, y in ((shift.X, shift.y), (shift.X_target, shift.y_target)):
        assert stats.kstest((X - means[y]).ravel(), "norm").pvalue > 1e-4


def test_separation_is_the_typical_distance_of_two_means():
    shift = make_class_subset(100, 1, n=10_000, d=10, separation=30.0, random_state=4)
    means = np.array([shift.X[shift.y == k].mean(axis=0) for k in range(100)])
    squares = 2 * means.var(axis=0, ddof=1).sum()
    # The mean of 1000 squares, known to a few hundredths.
    assert abs(np.sqrt(squares) / 30 - 1) < 0.1


def test_with_all_classes_in_the_target_nothing_shifts():
    shift = make_class_subset(4, 4, random_state=4)
    np.testing.assert_allclose(shift.ratio, 1, rtol=1e-12)


def test_classes_far_apart_have_the_ratio_of_their_labels():
    shift = make_class_subset(separation=1e4, random_state=4)
    expected = np.where(shift.y < 3, 2.0, 0.0)
    np.testing.assert_allclose(shift.ratio, expected, rtol=1e-12)
    np.testing.assert_allclose(shift.ratio_target, 2.0, rtol=1e-12)
