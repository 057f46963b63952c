import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.exceptions import ConvergenceWarning

import counterpoise
from counterpoise.evaluation import consensus


def crowd(seed=0, n=300, n_annotators=120):
    """Annotators of noise 0.3, 1 or 2.5, most of whom rate few items."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    noise = rng.choice([0.3, 1.0, 2.5], n_annotators)
    counts = np.clip((10 * rng.pareto(1.0, n_annotators)).astype(int), 1, min(250, n))
    table = np.full((n, n_annotators), np.nan)
    for j, count in enumerate(counts):
        items = rng.choice(n, count, replace=False)
        table[items, j] = y[items] + noise[j] * rng.normal(size=count)
    return table, y, noise, counts


def rmse(a, b):
    return np.sqrt(np.mean((a - b) ** 2))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("confidence", [None, 0.95])
@pytest.mark.parametrize("shrink", [True, False])
def test_reliable_annotators_count_more_than_the_mean_lets_them(
    seed, confidence, shrink
):
    table, y, _, _ = crowd(seed)
    rated = ~np.isnan(table).all(axis=1)
    found = consensus(table, confidence=confidence, shrink=shrink)
    plain = rmse(np.nanmean(table[rated], axis=1), y[rated])
    assert rmse(found.labels[rated], y[rated]) < 0.6 * plain


def test_the_fixed_point_holds():
    table, _, _, counts = crowd()
    found = consensus(table, tol=1e-10)
    seen = ~np.isnan(table)
    precision = (seen / found.noise**2).sum(axis=1)
    v = found.deviations**2
    y, m = found.labels, found.labels.mean()
    prior = 1 / v - precision
    # One prior for all items.
    assert np.ptp(prior) <= 1e-6 * prior.mean()
    t2 = y.var() + v.mean()
    assert 1 / prior.mean() == pytest.approx(t2, rel=1e-5)
    expected = v * (np.nansum(table / found.noise**2, axis=1) + m / t2)
    np.testing.assert_allclose(y, expected, atol=1e-5)
    away = np.where(seen, (table - y[:, None]) ** 2 + v[:, None], 0.0).sum(axis=0)
    bound = away / chi2.ppf(0.025, counts)
    np.testing.assert_allclose(found.noise**2, bound, rtol=1e-4)


def test_annotators_are_ranked_by_their_noise():
    table, _, noise, counts = crowd()
    found = consensus(table)
    busy = counts >= 30
    assert found.noise[busy & (noise == 0.3)].max() < found.noise[noise == 2.5].min()


def test_the_bound_distrusts_an_annotator_with_two_ratings_that_agree():
    table, _, _, _ = crowd()
    few = np.full((len(table), 1), np.nan)
    few[:2, 0] = consensus(table).labels[:2]
    plain = consensus(np.hstack([table, few]), confidence=None).noise[-1]
    bounded = consensus(np.hstack([table, few])).noise[-1]
    assert bounded > 3 * plain


def test_ratings_of_another_unit_give_labels_of_that_unit():
    table, _, _, _ = crowd()
    plain, other = consensus(table), consensus(5.0 + 100.0 * table)
    np.testing.assert_allclose(other.labels, 5.0 + 100.0 * plain.labels, atol=1e-5)
    np.testing.assert_allclose(other.noise, 100.0 * plain.noise, rtol=1e-6)


def test_one_annotator_without_shrinkage_is_believed():
    ratings = np.array([[1.0], [4.0], [2.0]])
    found = consensus(ratings, shrink=False, confidence=None)
    np.testing.assert_allclose(found.labels, ratings[:, 0])


def test_items_that_nobody_rated_get_the_mean_and_say_so():
    table, _, _, _ = crowd(n=50)
    table[7] = np.nan
    table[:, 3] = np.nan
    found = consensus(table)
    assert found.labels[7] == pytest.approx(np.delete(found.labels, 7).mean(), abs=1e-6)
    assert found.deviations[7] == found.deviations.max()
    assert np.isinf(found.noise[3])
    alone = consensus(table, shrink=False)
    assert np.isinf(alone.deviations[7])
    assert np.isfinite(alone.labels).all()


def test_everybody_of_one_mind_is_believed():
    found = consensus(np.full((4, 3), 2.5))
    assert np.array_equal(found.labels, np.full(4, 2.5))
    assert not found.deviations.any()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([1.0, 2.0], r"annotations must be a matrix .* got shape \(2,\)"),
        ([[1.0, np.inf]], "got inf in row 0, column 1"),
        ([[np.nan, np.nan]], "every entry is NaN"),
    ],
)
def test_wrong_annotations_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        consensus(wrong)


def test_too_few_rounds_are_said():
    table, _, _, _ = crowd()
    with pytest.warns(ConvergenceWarning, match="labels still change by"):
        consensus(table, max_iter=2)


def test_it_is_a_public_name():
    assert counterpoise.consensus is consensus
