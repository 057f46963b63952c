import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.stats import chi2, multivariate_normal
from sklearn.exceptions import ConvergenceWarning

import counterpoise
from counterpoise.twin_gp import consensus
from counterpoise.twin_gp.annotators import Ratings


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


def complete(seed, n, noise, spread=2.0):
    """Everybody rates every item."""
    rng = np.random.default_rng(seed)
    y = 5.0 + spread * rng.normal(size=n)
    return y[:, None] + np.asarray(noise) * rng.normal(size=(n, len(noise))), y


def few_pairs(seed, n, noise, n_pairs):
    """Every item is rated once, and the first `n_pairs` by two annotators."""
    table, y = complete(seed, n, noise)
    who = np.random.default_rng(seed + 1).integers(len(noise), size=n)
    kept = np.arange(len(noise)) == who[:, None]
    kept[np.arange(n_pairs), (who[:n_pairs] + 1) % len(noise)] = True
    return np.where(kept, table, np.nan), y


def oracle(table, noise, mean, spread):
    """What somebody who knows all variances says."""
    precision = (~np.isnan(table) / noise**2).sum(axis=1) + spread**-2
    return (np.nansum(table / noise**2, axis=1) + mean / spread**2) / precision


def log_likelihood(table, mean, log_variance, log_noise):
    """The marginal likelihood, one dense Gaussian an item."""
    total = 0.0
    for row in table:
        seen = ~np.isnan(row)
        if seen.any():
            k = np.count_nonzero(seen)
            cov = np.exp(log_variance) * np.ones((k, k)) + np.diag(
                np.exp(log_noise[seen])
            )
            total += multivariate_normal.logpdf(row[seen], np.full(k, mean), cov)
    return total


def e_step(table, found):
    seen = ~np.isnan(table)
    precision = (seen / found.noise**2).sum(axis=1) + found.spread**-2
    total = np.nansum(table / found.noise**2, axis=1)
    y = (total + found.mean / found.spread**2) / precision
    squares = np.nansum((table - y[:, None]) ** 2, axis=0)
    return y, 1 / precision, squares, (seen / precision[:, None]).sum(axis=0)


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_the_noise_is_the_upper_end_on_the_degrees_of_freedom_left(confidence):
    table, _, _, counts = crowd()
    found = consensus(table, confidence=confidence, tol=1e-10)
    y, v, squares, variances = e_step(table, found)
    np.testing.assert_allclose(found.labels, y, atol=1e-7)
    np.testing.assert_allclose(found.deviations**2, v, rtol=1e-7)
    s2 = found.noise**2
    freedom = counts + 2 - variances / s2
    # Two ratings of one pooled noise for everybody: solve for it, and it is one.
    pooled = (s2 * chi2.ppf((1 - confidence) / 2, freedom) - squares) / 2
    assert np.ptp(pooled) <= 1e-5 * s2.max()
    middle = np.nanmedian(table, axis=1)[:, None]
    times = (~np.isnan(table)).sum(axis=1)[:, None]
    away = (table - middle) ** 2 * times / np.maximum(times - 1, 1)
    within = np.median(away[~np.isnan(table) & (times > 1)]) / chi2.median(1)
    assert np.median(pooled) == pytest.approx(within, rel=1e-4)
    assert found.slope < 1e-8


def test_the_labels_distribution_is_that_without_a_bound():
    table, _ = complete(2, 25, [0.5, 1.0, 2.0])
    table[np.random.default_rng(0).random(table.shape) < 0.2] = np.nan
    table = table[~np.isnan(table).all(axis=1)]
    seen = ~np.isnan(table)
    times = seen.sum(axis=1)[:, None]
    away = (table - np.nanmedian(table, axis=1)[:, None]) ** 2
    away = (away * times / np.maximum(times - 1, 1))[seen & (times > 1)]
    whole = (table[seen] - np.median(table[seen])) ** 2
    pooled = min(np.median(away), np.median(whole)) / chi2.median(1)
    s2, mean, variance = np.full(3, pooled), 5.0, 4.0
    for _ in range(3000):
        precision = (seen / s2).sum(axis=1) + 1 / variance
        y = (np.nansum(table / s2, axis=1) + mean / variance) / precision
        squares = np.nansum((table - y[:, None]) ** 2, axis=0) + 2 * pooled
        s2 = squares + (seen / precision[:, None]).sum(axis=0)
        s2 /= seen.sum(axis=0) + 2
        mean, variance = y.mean(), y.var() + (1 / precision).mean()
    found = consensus(table, tol=1e-11)
    assert found.mean == pytest.approx(mean, rel=1e-6)
    assert found.spread == pytest.approx(np.sqrt(variance), rel=1e-6)


def test_the_labels_distribution_is_free_of_the_confidence():
    table, _, _, _ = crowd()
    half, much = (consensus(table, confidence=c) for c in (0.5, 0.99))
    assert half.mean == much.mean
    assert half.spread == much.spread
    assert (much.noise > half.noise).all()


def test_plain_em_ends_where_the_likelihood_is_flat_and_no_start_does_better():
    table, _ = complete(1, 40, [0.5, 1.0, 2.0])
    table[np.random.default_rng(0).random(table.shape) < 0.3] = np.nan
    found = consensus(table, confidence=None, tol=1e-9)
    at = np.concatenate(
        [[found.mean, 2 * np.log(found.spread)], 2 * np.log(found.noise)]
    )

    def loss(x):
        return -log_likelihood(table, x[0], x[1], x[2:])

    step = 1e-4 * np.eye(5)
    slopes = np.array([(loss(at + h) - loss(at - h)) / 2e-4 for h in step])
    assert np.abs(slopes).max() < 1e-3
    rng = np.random.default_rng(3)
    for _ in range(4):
        best = minimize(loss, at + rng.normal(size=5), method="L-BFGS-B")
        assert loss(at) <= best.fun + 1e-6
    np.testing.assert_allclose(found.labels, e_step(table, found)[0], atol=1e-7)


@pytest.mark.parametrize(("spread", "largest"), [(2.0, "noise"), (0.3, "variance")])
def test_the_slope_is_the_derivative_of_the_likelihood(spread, largest):
    table, _ = complete(1, 40, [0.5, 1.0, 2.0], spread)
    with pytest.warns(ConvergenceWarning):
        found = consensus(table, confidence=None, max_iter=2)
    at = np.r_[found.mean, 2 * np.log(found.spread), 2 * np.log(found.noise)]

    def value(x):
        return log_likelihood(table, x[0], x[1], x[2:])

    step = 1e-5 * np.eye(5)
    slopes = np.array([(value(at + h) - value(at - h)) / 2e-5 for h in step])
    slopes *= np.array([found.spread / 40, 2 / 40, 2 / 40, 2 / 40, 2 / 40])
    assert found.slope == pytest.approx(np.abs(slopes).max(), rel=1e-4)
    assert found.slope > 1e-3
    place = int(np.abs(slopes).argmax())
    assert place == 1 if largest == "variance" else place > 1


@pytest.mark.parametrize(
    ("n", "noise", "share"),
    [
        (10, [0.3, 0.3], 1.3),
        (20, [0.5, 1.0], 1.3),
        (300, [0.3, 1.0], 1.3),
        (100, [0.3, 0.5, 2.0], 1.3),
        (30, [2.0] * 5, 1.2),
    ],
)
def test_labels_are_near_the_oracles_and_deviations_cover(n, noise, share):
    ours, theirs, covered = [], [], []
    for seed in range(8):
        table, y = complete(seed, n, noise)
        found = consensus(table)
        ours.append(rmse(found.labels, y))
        theirs.append(rmse(oracle(table, np.asarray(noise), 5.0, 2.0), y))
        covered.append(np.mean(np.abs(found.labels - y) <= 1.96 * found.deviations))
    assert np.mean(ours) <= share * np.mean(theirs)
    assert np.mean(covered) >= 0.88


def test_deviations_of_plain_em_are_too_small_and_the_bounds_are_not():
    plain, bounded = [], []
    for seed in range(8):
        table, y = complete(seed, 20, [0.3, 0.5, 2.0])
        for confidence, covered in ((None, plain), (0.5, bounded)):
            found = consensus(table, confidence=confidence)
            away = np.abs(found.labels - y)
            covered.append(np.mean(away <= 1.96 * found.deviations))
    assert np.mean(plain) < 0.8 < 0.9 < np.mean(bounded)


@pytest.mark.parametrize("n_annotators", [1, 5])
@pytest.mark.parametrize("confidence", [None, 0.5])
@pytest.mark.parametrize("shrink", [True, False])
def test_ratings_that_nobody_else_checks_are_the_labels(
    n_annotators, confidence, shrink
):
    table, _ = few_pairs(0, 300, [0.3] * n_annotators, 0)
    table[11] = np.nan
    with pytest.warns(UserWarning, match=r"none of the 299 rated items .* \(299 rat"):
        found = consensus(table, confidence=confidence, shrink=shrink)
    rated = np.arange(300) != 11
    expected = np.nanmean(table[rated], axis=1)
    np.testing.assert_allclose(found.labels[rated], expected, rtol=1e-12)
    assert found.labels[11] == pytest.approx(expected.mean())
    assert np.isinf(found.deviations).all()
    assert np.isinf(found.noise).all()


@pytest.mark.parametrize("n_pairs", [1, 3, 9])
def test_few_second_ratings_are_said_and_draw_nothing_to_the_mean(n_pairs):
    errors, raw, covered = [], [], []
    for seed in range(6):
        table, y = few_pairs(seed, 200, [0.5] * 3, n_pairs)
        with pytest.warns(UserWarning, match=f"only {n_pairs} ratings beyond"):
            found = consensus(table)
        errors.append(rmse(found.labels, y))
        raw.append(rmse(np.nanmean(table, axis=1), y))
        covered.append(np.mean(np.abs(found.labels - y) <= 1.96 * found.deviations))
    assert np.mean(errors) < 1.05 * np.mean(raw)
    assert np.mean(covered) > 0.8


def test_ten_second_ratings_draw_to_the_mean():
    errors, raw = [], []
    for seed in range(8):
        table, y = few_pairs(seed, 200, [1.0] * 2, 10)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = consensus(table)
        assert np.isfinite(found.spread)
        errors.append(rmse(found.labels, y))
        raw.append(rmse(np.nanmean(table, axis=1), y))
    assert np.mean(errors) < np.mean(raw)


def test_an_annotator_who_never_varies_is_named_and_left_out():
    table, _ = complete(0, 100, [0.3, 0.5])
    frame = pd.DataFrame({"ann": table[:, 0], "bob": 5.0, "cid": table[:, 1]})
    with pytest.warns(UserWarning, match="the 100 ratings of column 'bob' never vary"):
        found = consensus(frame, tol=1e-9)
    alone = consensus(table, tol=1e-9)
    np.testing.assert_allclose(found.labels, alone.labels, atol=1e-5)
    np.testing.assert_allclose(found.noise[[0, 2]], alone.noise, rtol=1e-4)
    assert np.isinf(found.noise[1])


def test_one_of_two_who_never_varies_leaves_the_others_ratings():
    table, _ = complete(0, 100, [0.3])
    with (
        pytest.warns(UserWarning, match="ratings of column 0 never vary"),
        pytest.warns(UserWarning, match="none of the 100 rated items"),
    ):
        found = consensus(np.hstack([np.full((100, 1), 5.0), table]))
    np.testing.assert_allclose(found.labels, table[:, 0], rtol=1e-12)


def test_equal_ratings_that_chance_makes_are_kept():
    rng = np.random.default_rng(0)
    y = rng.normal(3.0, 1.0, 60)
    table = np.clip(np.round(y[:, None] + 0.5 * rng.normal(size=(60, 3))), 1, 5)
    few = np.full((60, 1), np.nan)
    # Three ratings of the commonest value.
    few[np.flatnonzero(table[:, 0] == 3.0)[:3], 0] = 3.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = consensus(np.hstack([table, few]))
    assert np.isfinite(found.noise).all()


def test_two_who_never_vary_and_nobody_else_are_kept():
    found = consensus(np.tile([4.0, 5.0], (50, 1)), shrink=False)
    np.testing.assert_allclose(found.labels, 4.5)


@pytest.mark.parametrize(
    ("nearly", "named"),
    [
        (np.r_[5.5, np.full(99, 5.0)], r"vary the 100 ratings of column 1 \(.*0\.0497"),
        (1e3 * np.sin(np.arange(100)), r"most the 100 ratings of column 1 \("),
    ],
)
def test_labels_that_collapse_are_said_with_the_columns_to_look_at(nearly, named):
    table, _ = complete(0, 100, [0.3])
    with pytest.warns(UserWarning, match=named):
        consensus(np.column_stack([table, nearly]))


def correlated(n, correlation):
    """Two columns of variance one and of exactly this correlation."""
    rows = np.random.default_rng(0).normal(size=(n, 2))
    a, b = np.linalg.qr(rows - rows.mean(axis=0))[0].T * np.sqrt(n)
    return np.column_stack([a, correlation * a + np.sqrt(1 - correlation**2) * b])


def test_annotators_who_hardly_agree_are_said_and_many_noisy_ones_are_not():
    with pytest.warns(UserWarning, match="labels are nearly their mean"):
        consensus(correlated(2000, 0.035))
    table, y = complete(0, 100, [10.0] * 30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = consensus(table)
    assert rmse(found.labels, y) < 0.9 * y.std()


def test_the_unit_and_the_pooled_noise_are_robust():
    table, _ = complete(0, 2000, [0.3, 0.5, 1000.0])
    ratings = Ratings.of(table)
    middle = np.median(
        np.abs(table - np.mean(table) - np.median(table - np.mean(table)))
    )
    assert ratings.unit == pytest.approx(middle / np.sqrt(chi2.median(1)))
    assert ratings.unit < 10.0
    two = Ratings.of(table[:, 1:])
    assert np.sqrt(two.noise_within_items()) == pytest.approx(1.0)
    half = Ratings.of([[1, 1, 1], [4, 4, 4], [2, 2, 2], [3, 3, 5]])
    within = half.noise_within_items() * half.unit**2
    # Squares from the median 0 and once 4, times 3/2, of twelve ratings.
    assert within == pytest.approx(4 * 1.5 / 12)


def test_an_annotator_of_a_wild_unit_does_no_harm():
    table, y = complete(0, 200, [0.3, 0.5, 1000.0])
    found = consensus(table)
    assert rmse(found.labels, y) < 1.25 * rmse(consensus(table[:, :2]).labels, y)


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


def test_two_annotators_without_shrinkage_share_their_noise():
    table, _ = complete(0, 50, [0.3, 2.0])
    found = consensus(table, shrink=False, confidence=None, tol=1e-9)
    np.testing.assert_allclose(found.labels, table.mean(axis=1))
    # The flat prior takes no mean off: differences have mean zero.
    each = np.mean((table[:, 0] - table[:, 1]) ** 2) / 2
    np.testing.assert_allclose(found.noise**2, each, rtol=1e-6)
    assert np.isinf(found.spread)


def test_items_that_nobody_rated_get_the_mean_and_say_so():
    table, _, _, _ = crowd(n=50)
    table[7] = np.nan
    table[:, 3] = np.nan
    found = consensus(table)
    assert found.labels[7] == pytest.approx(found.mean)
    assert found.deviations[7] == pytest.approx(found.spread)
    assert np.isinf(found.noise[3])
    alone = consensus(table, shrink=False)
    assert np.isinf(alone.deviations[7])
    assert np.isfinite(alone.labels).all()


def test_everybody_of_one_mind_is_believed():
    table = np.full((4, 4), 2.5)
    table[2], table[:, 1] = np.nan, np.nan
    found = consensus(table)
    assert np.array_equal(found.labels, np.full(4, 2.5))
    assert np.array_equal(found.deviations, [0.0, 0.0, np.inf, 0.0])
    assert np.array_equal(found.noise, [0.0, np.inf, 0.0, 0.0])
    with pytest.warns(UserWarning, match="none of the 3 rated items"):
        assert np.isinf(consensus(table[:, :1]).noise).all()


@pytest.mark.filterwarnings("ignore:consensus. items have only")
@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": [1, 2, None, 4], "b": [1, None, 3, 5]}, dtype="Int64"),
        pl.DataFrame({"a": [1, 2, None, 4], "b": [1, None, 3, 5]}),
        [[1, 1], [2, None], [None, 3], [4, 5]],
        np.ma.array(
            [[1, 1], [2, 9], [9, 3], [4, 5]], mask=[[0, 0], [0, 1], [1, 0], [0, 0]]
        ),
    ],
)
def test_what_is_missing_in_any_table_is_no_rating(table):
    plain = np.array([[1, 1], [2, np.nan], [np.nan, 3], [4, 5]])
    assert np.array_equal(consensus(table).labels, consensus(plain).labels)
    assert np.array_equal(consensus(table).noise, consensus(plain).noise)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([1.0, 2.0], r"annotations must be a matrix .* got shape \(2,\)"),
        (3.0, r"got shape \(\)"),
        (np.ones((0, 3)), r"got shape \(0, 3\)"),
        ([[1.0, np.inf]], "got inf in row 0, column 1"),
        (pd.DataFrame({"a": [1.0], "b": [1e200]}), "1e\\+200 in row 0, column 'b'"),
        ([[np.nan, np.nan]], "every entry is missing"),
        (
            [[1, 2], [3, "x"]],
            "column 1 of annotations .* holds str in row 1 .* numbers",
        ),
        (np.array([["1", "2"]]), "column 0 of annotations .* holds str in row 0"),
        (
            pd.DataFrame({"a": [1], "b": ["good"]}),
            "column 'b' of annotations has dtype",
        ),
        (pl.DataFrame({"a": ["good"]}), "column 'a' of annotations has dtype String"),
        ([[1j, 2.0]], "column 0 of annotations .* holds complex"),
        ([[1.0, 2.0], [3.0]], "annotations cannot be read as an array"),
        (csr_array(np.eye(2)), "annotations is a sparse matrix"),
    ],
)
def test_wrong_annotations_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        consensus(wrong)


def test_too_few_rounds_are_said():
    table, _, _, _ = crowd()
    with pytest.warns(ConvergenceWarning, match="labels still change by"):
        consensus(table, max_iter=2)
    # The labels' distribution takes longer than the bound.
    table, _ = complete(0, 300, [0.3, 1.0])
    n_iter = consensus(table).n_iter
    with pytest.warns(ConvergenceWarning, match="labels still change by"):
        found = consensus(table, max_iter=n_iter // 2 + 1)
    assert found.residual > 1e-6


def test_it_is_a_public_name():
    assert counterpoise.twin_gp.consensus is consensus
