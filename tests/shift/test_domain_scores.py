"""The domain score: how well target rows are told from source rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.stats import norm, spearmanr
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from counterpoise.datasets import make_gaussian_shift
from counterpoise.shift.domain_classifier import ROWS_OF_DOMAIN_SCORE, domain_score


def normals(n, m, shift, d=2, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    X, X_target = rng.normal(size=(n, d)), spread * rng.normal(size=(m, d))
    X_target[:, 0] += shift
    return X, X_target


@pytest.fixture(scope="module")
def shifted():
    return normals(300, 250, 1.0)


@pytest.fixture(scope="module")
def score(shifted):
    return domain_score(*shifted, random_state=0)


def labeled(score):
    return (
        np.repeat([0, 1], [score.scores.size, score.scores_target.size]),
        np.concatenate([score.scores, score.scores_target]),
        np.concatenate([score.share, score.share_target]),
    )


def test_the_auc_is_that_of_the_scores(score):
    label, scores, _ = labeled(score)
    assert score.auc == pytest.approx(roc_auc_score(label, scores), abs=1e-12)


def test_the_weighted_auc_is_that_of_the_weighted_scores(shifted):
    weight = np.random.default_rng(1).uniform(0.2, 3.0, size=300)
    found = domain_score(*shifted, sample_weight=weight, random_state=0)
    label, scores, share = labeled(found)
    expected = roc_auc_score(label, scores, sample_weight=share)
    assert found.auc == pytest.approx(expected, abs=1e-12)


def test_the_interval_is_delongs(score):
    pairs = score.scores_target[:, None] - score.scores
    right = np.heaviside(pairs, 0.5)
    variance = right.mean(axis=1).var(ddof=1) / len(right)
    variance += right.mean(axis=0).var(ddof=1) / right.shape[1]
    reach = 1.959963984540054 * np.sqrt(variance)
    assert score.auc_low == pytest.approx(score.auc - reach, rel=1e-9)
    assert score.auc_high == pytest.approx(score.auc + reach, rel=1e-9)


@pytest.mark.parametrize("seed", [70, 118])
def test_the_interval_reaches_one_half_where_folds_that_share_rows_explain_it(seed):
    two = np.random.default_rng(seed)
    found = domain_score(
        two.normal(size=(80, 3)), two.normal(size=(80, 3)), random_state=0
    )
    assert found.auc - (found.auc_high - found.auc) > 0.5
    assert found.auc_low == 0.5


def test_the_interval_holds_the_auc_of_two_normals_nine_times_in_ten():
    truth = norm.cdf(1 / np.sqrt(2))
    found = [
        domain_score(*normals(200, 200, 1.0, d=1, seed=s), random_state=s)
        for s in range(10)
    ]
    assert sum(f.auc_low <= truth <= f.auc_high for f in found) >= 9


def test_scores_without_the_prior_are_the_density_ratio():
    shift = make_gaussian_shift(n=1500, m=700, d=2, random_state=0)
    found = domain_score(shift.X, shift.X_target, random_state=0)
    odds = found.scores / (1 - found.scores)
    ratio = odds * (1 - found.prior) / found.prior
    assert found.prior == pytest.approx(700 / 2200)
    assert np.corrcoef(np.log(ratio), np.log(shift.ratio))[0, 1] > 0.9
    assert ratio.mean() == pytest.approx(1.0, abs=0.1)


def test_scores_are_calibrated_although_the_trees_are_not():
    X, X_target = normals(1500, 1500, 0.0, spread=2.0)
    found = domain_score(X, X_target, random_state=0)
    label, scores, _ = labeled(found)
    assert found.model == "boosted"
    for low, high in ((0.2, 0.4), (0.4, 0.6), (0.6, 0.8)):
        inside = (scores > low) & (scores < high)
        assert label[inside].mean() == pytest.approx(scores[inside].mean(), abs=0.06)


@pytest.mark.parametrize("spread", [1.0, 2.0])
def test_a_logistic_fit_to_the_scores_finds_nothing_to_mend(spread):
    found = domain_score(*normals(800, 500, 0.5, spread=spread), random_state=0)
    label, scores, _ = labeled(found)
    log_odds = np.log(scores / (1 - scores))[:, None]
    again = LogisticRegression(C=np.inf, tol=1e-10).fit(log_odds, label)
    assert again.coef_[0, 0] == pytest.approx(1.0, abs=0.02)
    assert again.intercept_[0] == pytest.approx(0.0, abs=0.02)


def test_a_linear_shift_takes_the_linear_model(score):
    assert score.model == "logistic"


def test_the_order_of_the_rows_changes_nothing(shifted, score):
    X, X_target = shifted
    rng = np.random.default_rng(3)
    p, q = rng.permutation(len(X)), rng.permutation(len(X_target))
    mixed = domain_score(X[p], X_target[q], random_state=0)
    assert mixed.auc == pytest.approx(score.auc, abs=1e-12)
    np.testing.assert_array_equal(mixed.scores, score.scores[p])
    np.testing.assert_array_equal(mixed.scores_target, score.scores_target[q])


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_a_factor_of_a_column_changes_nothing(shifted, score, factor):
    X, X_target = (rows * [factor, 1.0] for rows in shifted)
    found = domain_score(X, X_target, random_state=0)
    np.testing.assert_allclose(found.scores, score.scores, atol=1e-9)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(shifted, score):
    again = domain_score(*shifted, random_state=0)
    other = domain_score(*shifted, random_state=1)
    assert again.scores.tobytes() == score.scores.tobytes()
    assert other.scores.tobytes() != score.scores.tobytes()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_what_arrays_give(shifted, score, frame):
    X, X_target = (frame({"a": rows[:, 0], "b": rows[:, 1]}) for rows in shifted)
    np.testing.assert_array_equal(
        domain_score(X, X_target, random_state=0).scores, score.scores
    )


def test_a_sample_against_itself_is_not_told_apart():
    X = np.random.default_rng(0).normal(size=(400, 3))
    assert domain_score(X, X, random_state=0).auc == pytest.approx(0.5, abs=0.03)


def test_the_true_ratio_as_weights_makes_the_samples_alike():
    X, X_target = normals(2000, 2000, 0.8)
    weight = np.exp(0.8 * X[:, 0] - 0.32)
    plain = domain_score(X, X_target, random_state=0)
    weighed = domain_score(X, X_target, sample_weight=weight, random_state=0)
    back = domain_score(
        X_target, X, target_weight=weight * np.full(2000, 5.0), random_state=0
    )
    assert plain.auc > 0.68
    assert weighed.auc_low < 0.53
    assert back.auc_low < 0.53


def test_rows_that_hardly_count_do_not_teach_the_classifiers():
    X, X_target = normals(400, 400, 1.5, d=1)
    # Where these are, the target would seem to end.
    ghosts = 3 + 0.5 * np.random.default_rng(1).normal(size=(1500, 1))
    weight = np.repeat([1.0, 1e-6], [400, 1500])
    found = domain_score(
        np.vstack([X, ghosts]), X_target, sample_weight=weight, random_state=0
    )
    assert spearmanr(found.scores_target, X_target[:, 0]).statistic > 0.95


def test_only_the_ratios_of_weights_matter(shifted, score):
    found = domain_score(*shifted, sample_weight=np.full(300, 7.0), random_state=0)
    np.testing.assert_allclose(found.scores, score.scores, atol=1e-12)


def test_a_row_of_weight_zero_is_a_row_left_out(shifted):
    X, X_target = shifted
    weight = np.ones(300)
    weight[::3] = 0
    found = domain_score(X, X_target, sample_weight=weight, random_state=0)
    without = domain_score(X[weight > 0], X_target, random_state=0)
    np.testing.assert_array_equal(found.rows, np.flatnonzero(weight))
    np.testing.assert_array_equal(found.scores, without.scores)


def test_at_most_five_thousand_rows_of_a_sample_are_scored():
    X, X_target = normals(ROWS_OF_DOMAIN_SCORE + 500, 100, 1.0, d=1)
    found = domain_score(X, X_target, random_state=0)
    assert found.scores.size == ROWS_OF_DOMAIN_SCORE
    assert found.rows.size == np.unique(found.rows).size == ROWS_OF_DOMAIN_SCORE
    assert found.rows_target.tolist() == list(range(100))
    # The scores belong to the rows that are named: here they rise with the column.
    assert spearmanr(found.scores, X[found.rows, 0]).statistic > 0.95


def test_sparse_rows_are_scored_by_the_linear_model():
    X, X_target = normals(400, 400, 1.5, d=3)
    dense = domain_score(X, X_target, random_state=0)
    uncovered_fraction = domain_score(
        sparse.csr_array(X), sparse.csr_array(X_target), random_state=0
    )
    assert uncovered_fraction.model == "logistic"
    assert uncovered_fraction.auc == pytest.approx(dense.auc, abs=0.02)


def test_samples_that_never_meet_have_the_auc_one_and_finite_scores():
    X, X_target = normals(60, 40, 100.0)
    found = domain_score(X, X_target, random_state=0)
    assert found.auc == found.auc_high == 1.0
    assert found.scores.max() < found.scores_target.min()


def test_mixed_tables_are_read_by_the_encoder():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"c": rng.choice(["a", "b"], 300), "x": rng.normal(size=300)})
    X_target = pd.DataFrame(
        {"c": rng.choice(["a", "b", "new"], 300), "x": rng.normal(size=300)}
    )
    found = domain_score(X, X_target, random_state=0)
    assert found.scores_target[X_target["c"] == "new"].min() > found.scores.max()


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (([[1.0], [2.0]], [[1.0]]), "X_target has 1 row"),
        (([[1.0]], [[1.0], [2.0]]), "X has 1 row"),
        (([[1.0], [2.0]], None), "X_target is None"),
        (([[1.0], [2.0]], [[1.0, 2.0]]), "X_target has 2 columns, X has 1"),
    ],
)
def test_too_little_is_refused(tables, message):
    with pytest.raises(ValueError, match=message):
        domain_score(*tables)


def test_two_rows_of_each_sample_are_enough():
    found = domain_score([[0.0], [1.0]], [[0.5], [2.0]], random_state=0)
    assert np.isfinite([found.auc, found.auc_low, found.auc_high]).all()


def test_the_record_prints_its_auc_and_no_arrays(score):
    assert str(score).startswith(f"AUC of source against target {score.auc:.3f} (")
    assert "array" not in repr(score)
