"""Weights from a classifier of target against source."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from counterpoise.data.two_samples import TwoSamples
from counterpoise.datasets import make_gaussian_shift
from counterpoise.errors import NoOverlapError, NoTargetWarning
from counterpoise.shift.domain_classifier import Pool
from counterpoise.weights.discriminator import (
    DiscriminatorWeights,
    calibration_error,
    calibration_line,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore::counterpoise.errors.PartialOverlapWarning"
)
LINEAR = make_pipeline(StandardScaler(), LogisticRegression(solver="newton-cholesky"))


@pytest.fixture(scope="module")
def data():
    return make_gaussian_shift(3, 300, 250, shift=0.8, random_state=0)


@pytest.fixture(scope="module")
def fitted(data):
    return DiscriminatorWeights(random_state=0).fit(data.X, X_target=data.X_target)


class Oracle(ClassifierMixin, BaseEstimator):
    """Knows the ratio of N(1, 1) to N(0, 1) and learns the prior alone."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.array([0, 1])
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        self.prior_ = weight[y == 1].sum() / weight[y == 0].sum()
        return self

    def predict_proba(self, X):
        odds = self.prior_ * np.exp(X[:, 0] - 0.5)
        return np.column_stack([1 / (1 + odds), odds / (1 + odds)])


@pytest.mark.parametrize(("n", "m"), [(400, 1600), (1600, 400)])
def test_the_odds_are_those_of_the_target_with_the_prior_removed(n, m):
    shift = make_gaussian_shift(1, n, m, shift=1, scale=1, random_state=0)
    weight_estimator = DiscriminatorWeights(estimator=Oracle(), calibrate=False)
    weight_estimator.fit(shift.X, X_target=shift.X_target)
    expected = shift.ratio / shift.ratio.mean()
    # The folds' priors differ from the whole by a row or two.
    np.testing.assert_allclose(weight_estimator.weights_, expected, rtol=0.02)
    assert weight_estimator.mean_ratio_ == pytest.approx(shift.ratio.mean(), rel=0.02)


@pytest.mark.parametrize("seed", range(2))
def test_weights_close_most_of_the_gap_between_the_means(seed):
    shift = make_gaussian_shift(1, 1000, 1000, shift=1, scale=1, random_state=seed)
    w = DiscriminatorWeights(random_state=0).fit(shift.X, X_target=shift.X_target)
    before = shift.X_target.mean() - shift.X.mean()
    after = (w.weights_[:, None] * shift.X).mean() - shift.X.mean()
    assert 0.7 * before <= after <= 1.3 * before


def test_nothing_shifted_leaves_the_weights_near_one():
    null = make_gaussian_shift(1, 2000, 2000, shift=0, scale=1, random_state=0)
    weight_estimator = DiscriminatorWeights(random_state=0)
    weight_estimator.fit(null.X, X_target=null.X_target)
    assert weight_estimator.effective_sample_size_ >= 0.9 * 2000
    assert weight_estimator.weights_.max() <= 5
    assert weight_estimator.unsupported_fraction_ <= 0.02
    assert weight_estimator.auc_ == pytest.approx(0.5, abs=0.05)
    assert weight_estimator.log_loss_ == pytest.approx(np.log(2), abs=0.01)


def test_swapped_samples_give_the_reciprocal_direction():
    shift = make_gaussian_shift(2, 1000, 800, shift=1, scale=1, random_state=0)
    weight_estimator = DiscriminatorWeights(estimator=LINEAR, random_state=0)
    there = clone(weight_estimator).fit(shift.X, X_target=shift.X_target)
    back = clone(weight_estimator).fit(shift.X_target, X_target=shift.X)
    product = there.predict_weights(shift.X) * back.predict_weights(shift.X)
    # Two ratios, each of mean one over its own source, are reciprocal up to that.
    np.testing.assert_allclose(product, product.mean(), rtol=0.1)
    assert np.corrcoef(there.weights_, shift.X.sum(axis=1))[0, 1] > 0.7
    assert np.corrcoef(back.weights_, shift.X_target.sum(axis=1))[0, 1] < -0.7


def test_the_known_ratio_is_approached_by_a_classifier_of_its_family():
    squares = make_pipeline(PolynomialFeatures(2), *[s for _, s in LINEAR.steps])
    errors = []
    for n in (300, 5000):
        shift = make_gaussian_shift(2, n, n, random_state=0)
        weight_estimator = DiscriminatorWeights(estimator=squares, random_state=0)
        w = weight_estimator.fit(shift.X, X_target=shift.X_target).weights_
        errors.append(np.mean((w - shift.ratio / shift.ratio.mean()) ** 2))
    assert errors[1] <= 0.01
    assert errors[1] < 0.5 * errors[0]


def test_the_better_of_two_classifiers_is_taken():
    straight = make_gaussian_shift(2, 400, 400, shift=1, scale=1, random_state=0)
    rng = np.random.default_rng(0)
    ring = rng.standard_normal((800, 2))
    ring *= (2 + 0.3 * rng.standard_normal((800, 1))) / np.linalg.norm(
        ring, axis=1, keepdims=True
    )
    X = rng.standard_normal((800, 2))
    linear = DiscriminatorWeights(random_state=0)
    linear.fit(straight.X, X_target=straight.X_target)
    assert isinstance(linear.estimator_[-1], LogisticRegression)
    bent = DiscriminatorWeights(random_state=0).fit(X, X_target=ring)
    assert isinstance(bent.estimator_[-1], HistGradientBoostingClassifier)
    assert bent.auc_ > 0.7


def test_source_rows_are_weighed_by_classifiers_that_have_not_seen_them():
    rng = np.random.default_rng(0)
    X, X_target = rng.standard_normal((300, 5)), rng.standard_normal((300, 5))
    forest = RandomForestClassifier(n_estimators=30, random_state=0)
    weight_estimator = DiscriminatorWeights(estimator=forest, random_state=0)
    weight_estimator.fit(X, X_target=X_target)
    labels = np.repeat([0, 1], 300)
    p = weight_estimator.estimator_.predict_proba(np.vstack([X, X_target]))[:, 1]
    # The forest knows its own rows by heart; the weights do not.
    assert roc_auc_score(labels, p) > 0.999
    assert weight_estimator.auc_ == pytest.approx(0.5, abs=0.07)
    assert weight_estimator.effective_sample_size_ > 0.9 * 300


def test_an_overconfident_classifier_is_recalibrated():
    shift = make_gaussian_shift(30, 120, 120, shift=1, scale=1, random_state=0)
    plain, lined = (
        DiscriminatorWeights(
            estimator=LogisticRegression(C=1e3, max_iter=1000),
            calibrate=flag,
            random_state=0,
        ).fit(shift.X, X_target=shift.X_target)
        for flag in (False, True)
    )
    assert lined.log_loss_ < plain.log_loss_ - 0.05
    assert lined.calibration_error_ < plain.calibration_error_
    assert list(plain.line_) == [1.0, 0.0]
    assert 0.0 < lined.line_[0] < 0.7
    assert plain.auc_ == lined.auc_


def test_new_rows_get_the_odds_of_the_refit_through_the_line(fitted, data):
    p = fitted.estimator_.predict_proba(data.X_target)[:, 1]
    slope, intercept = fitted.line_
    odds = np.exp(slope * np.log(p / (1 - p)) + intercept)
    expected = odds * (300 / 250) / fitted.mean_ratio_
    np.testing.assert_allclose(
        fitted.predict_weights(data.X_target), expected, rtol=1e-9
    )


def test_the_line_is_the_logistic_regression_of_scikit_learn():
    rng = np.random.default_rng(0)
    scores, weights = 3.0 * rng.standard_normal(500) + 2.0, rng.random(500)
    labels = (rng.random(500) < 1 / (1 + np.exp(1.0 - 0.4 * scores))).astype(int)
    ours = calibration_line(scores, labels, weights)
    theirs = LogisticRegression(C=1e12, solver="newton-cholesky", tol=1e-12)
    theirs.fit(scores[:, None], labels, sample_weight=weights)
    np.testing.assert_allclose(
        ours, [theirs.coef_[0, 0], theirs.intercept_[0]], rtol=1e-6
    )


def test_a_line_never_turns_the_scores_round_and_takes_any():
    labels, weights = np.repeat([0, 1], [60, 40]), np.ones(100)
    flat = [0.0, np.log(40 / 60)]
    np.testing.assert_allclose(calibration_line(-1.0 * labels, labels, weights), flat)
    np.testing.assert_allclose(calibration_line(np.zeros(100), labels, weights), flat)
    apart = calibration_line(2.0 * labels - 1.0, labels, weights)
    assert np.isfinite(apart).all()
    assert apart[0] > 5


def test_the_calibration_error_is_zero_for_observed_shares():
    labels = np.tile([0, 0, 1, 1, 1, 0, 1, 1, 1, 1], 10)
    p = np.tile(np.repeat([0.6, 0.8], 5), 10)
    weights = np.ones(100)
    assert calibration_error(p, labels, weights, 2) == pytest.approx(0.0, abs=1e-12)
    off = calibration_error(p + 0.1, labels, weights, 2)
    assert off == pytest.approx(0.1)
    tied = calibration_error(np.full(100, 0.7), labels, weights)
    assert tied == pytest.approx(0.0, abs=1e-12)


def test_the_certificate_promises_nothing_and_what_was_measured_is_kept(fitted):
    proof = fitted.solution_.certificate
    assert proof.kind == "none"
    assert proof.gap == np.inf
    assert fitted.solution_.converged
    assert proof.objective == fitted.log_loss_ < np.log(2)
    assert 0.55 < fitted.auc_ < 0.9
    assert 0.0 <= fitted.calibration_error_ < 0.15


def test_the_log_loss_is_that_of_scikit_learn(data):
    oracle = DiscriminatorWeights(estimator=Oracle(), calibrate=False, random_state=0)
    oracle.fit(data.X, X_target=data.X_target)
    pooled = np.vstack([data.X, data.X_target])
    p = oracle.estimator_.predict_proba(pooled)
    expected = log_loss(np.repeat([0, 1], [300, 250]), p)
    assert oracle.log_loss_ == pytest.approx(expected, rel=1e-3)


# Folds.


def test_folds_hold_out_a_part_of_either_sample_and_equal_rows_together():
    rng = np.random.default_rng(0)
    X, X_target = rng.standard_normal((53, 2)), rng.standard_normal((31, 2))
    X_target[:7] = X[:7]
    X[10:14] = X[9]
    pool = Pool.of(TwoSamples.of(X, X_target), 0)
    assert pool.n_folds == 5
    assert pool.weights.sum() == 84
    for label, rows in ((0, 49), (1, 31)):
        counts = np.bincount(pool.fold[pool.labels == label], minlength=5)
        assert counts.sum() == rows
        assert np.ptp(counts) <= 2
    for a, b in ((9, 13), (0, 53), (6, 59)):
        assert pool.fold[pool.place[a]] == pool.fold[pool.place[b]]
    np.testing.assert_array_equal(pool.X[pool.place], np.vstack([X, X_target]))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_folds_depend_on_what_rows_hold_and_not_on_their_order_or_unit(form):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3)) * (rng.random((50, 3)) < 0.7)
    X_target = rng.standard_normal((40, 3))
    rows, aims = rng.permutation(50), rng.permutation(40)
    unit = np.array([1e8, 1.0, 1e-8])
    pool = Pool.of(TwoSamples.of(form(X), form(X_target)), 0)
    other = Pool.of(TwoSamples.of(form(unit * X[rows]), form(unit * X_target[aims])), 0)
    both = np.concatenate([rows, 50 + aims])
    np.testing.assert_array_equal(other.fold, pool.fold)
    np.testing.assert_array_equal(other.fold[other.place], pool.fold[pool.place][both])
    np.testing.assert_array_equal(other.labels, pool.labels)


def test_rows_that_mostly_repeat_are_dealt_out_and_still_get_one_weight():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (500, 1)).astype(float)
    X_target = (rng.random((400, 1)) < 0.8).astype(float)
    weight_estimator = DiscriminatorWeights(random_state=0).fit(X, X_target=X_target)
    for value in (0.0, 1.0):
        w = weight_estimator.weights_[X[:, 0] == value]
        np.testing.assert_allclose(w, w[0], rtol=1e-12)
        ratio = (X_target == value).mean() / np.mean(value == X)
        assert w[0] == pytest.approx(ratio, rel=0.03)


def test_the_smallest_samples_are_fitted_and_smaller_ones_refused():
    X, X_target = np.array([[0.0], [1.0]]), np.array([[0.5], [2.0]])
    weight_estimator = DiscriminatorWeights(
        estimator=LINEAR, random_state=0, allow_no_overlap=True
    )
    assert np.isfinite(weight_estimator.fit(X, X_target=X_target).weights_).all()
    with pytest.raises(ValueError, match=r"at least 2 rows of each .*, got 2 and 1"):
        weight_estimator.fit(X, X_target=X_target[:1])


# Overlap.


def test_disjoint_samples_are_refused_and_forced_ones_have_finite_weights():
    rng = np.random.default_rng(0)
    X, X_target = rng.standard_normal((200, 2)), rng.standard_normal((200, 2)) + 30
    with pytest.raises(NoOverlapError) as caught:
        DiscriminatorWeights(random_state=0).fit(X, X_target=X_target)
    assert caught.value.measure == "uncovered_fraction"
    assert caught.value.share == pytest.approx(1.0)
    weight_estimator = DiscriminatorWeights(allow_no_overlap=True, random_state=0)
    weight_estimator.fit(X, X_target=X_target)
    assert np.isfinite(weight_estimator.weights_).all()
    assert weight_estimator.auc_ == 1.0
    own = weight_estimator.weights_ * weight_estimator.mean_ratio_
    assert own.min() >= 0.99e-6
    new = weight_estimator.predict_weights(X_target) * weight_estimator.mean_ratio_
    assert np.isfinite(new).all()
    assert new.max() <= 1e6


# What every weight estimator keeps.


@pytest.mark.parametrize("estimator", [None, LINEAR])
def test_permuting_rows_permutes_weights(estimator, data):
    rng = np.random.default_rng(1)
    rows, aims = rng.permutation(300), rng.permutation(250)
    weight_estimator = DiscriminatorWeights(estimator=estimator, random_state=0)
    w = clone(weight_estimator).fit(data.X, X_target=data.X_target).weights_
    again = (
        clone(weight_estimator).fit(data.X[rows], X_target=data.X_target[aims]).weights_
    )
    np.testing.assert_allclose(again, w[rows], rtol=1e-9)


@pytest.mark.parametrize("estimator", [None, LINEAR])
@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_the_unit_of_a_column_does_not_matter(estimator, factor, data):
    unit = np.array([1.0, factor, 1.0])
    weight_estimator = DiscriminatorWeights(estimator=estimator, random_state=0)
    w = clone(weight_estimator).fit(data.X, X_target=data.X_target).weights_
    other = clone(weight_estimator).fit(data.X * unit, X_target=data.X_target * unit)
    np.testing.assert_allclose(other.weights_, w, rtol=1e-9)


@pytest.mark.parametrize(
    "estimator", [None, HistGradientBoostingClassifier(max_iter=5)]
)
def test_a_row_twice_is_a_row_of_weight_two(estimator, data):
    weight_estimator = DiscriminatorWeights(estimator=estimator, random_state=0)
    weight, aim_weight = np.ones(300), np.ones(250)
    weight[:40], aim_weight[:30] = 2.0, 2.0
    weighted = clone(weight_estimator).fit(
        data.X,
        X_target=data.X_target,
        sample_weight=weight,
        target_weight=aim_weight,
    )
    repeated = clone(weight_estimator).fit(
        np.vstack([data.X, data.X[:40]]),
        X_target=(data.X_target, data.X_target[:30]),
    )
    np.testing.assert_allclose(repeated.weights_[:300], weighted.weights_, rtol=1e-9)
    np.testing.assert_allclose(repeated.weights_[300:], weighted.weights_[:40])
    assert repeated.auc_ == pytest.approx(weighted.auc_)
    assert repeated.unsupported_fraction_ == pytest.approx(
        weighted.unsupported_fraction_
    )
    plain = clone(weight_estimator).fit(data.X, X_target=data.X_target)
    assert np.abs(plain.weights_ - weighted.weights_).max() > 1e-3


def test_frames_and_arrays_give_the_same_weights(data, fitted):
    names = ["a", "b", "c"]
    for frame in (pd.DataFrame, lambda X, columns: pl.DataFrame(X, schema=columns)):
        other = DiscriminatorWeights(random_state=0).fit(
            frame(data.X, columns=names), X_target=frame(data.X_target, columns=names)
        )
        np.testing.assert_array_equal(other.weights_, fitted.weights_)


def test_sparse_rows_give_the_weights_of_dense_ones():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, (300, 20)).astype(float)
    X_target = rng.poisson(np.linspace(0.3, 0.7, 20), (300, 20)).astype(float)
    # The same classifier: standardized without centering, which moves no odds.
    uncentered = make_pipeline(
        StandardScaler(with_mean=False),
        LogisticRegression(solver="newton-cholesky", tol=1e-9),
    )
    weight_estimator = DiscriminatorWeights(estimator=uncentered, random_state=0)
    uncovered_fraction = clone(weight_estimator).fit(
        sparse.csr_array(X), X_target=sparse.csr_array(X_target)
    )
    dense = clone(weight_estimator).fit(X, X_target=X_target)
    # The folds are others, for the rows are sorted by other bytes.
    assert (
        np.corrcoef(np.log(uncovered_fraction.weights_), np.log(dense.weights_))[0, 1]
        > 0.85
    )
    np.testing.assert_allclose(
        uncovered_fraction.estimator_[-1].coef_, dense.estimator_[-1].coef_, rtol=1e-6
    )


def test_sparse_rows_of_many_columns_are_weighed():
    rng = np.random.default_rng(0)
    p = 3000
    common = 1.0 / (np.arange(p) + 5.0)
    tilted = common * np.exp(0.6 * np.sin(np.arange(p)))
    both = []
    for often in (common, tilted):
        words = rng.choice(p, size=(400, 40), p=often / often.sum())
        at = (np.repeat(np.arange(400), 40), words.ravel())
        both.append(sparse.csr_array((np.ones(16_000), at), shape=(400, p)))
    weight_estimator = DiscriminatorWeights(random_state=0)
    weight_estimator.fit(both[0], X_target=both[1])
    assert np.isfinite(weight_estimator.weights_).all()
    assert 0.6 < weight_estimator.auc_ < 1.0
    assert (
        weight_estimator.predict_weights(both[1]).mean()
        > weight_estimator.predict_weights(both[0]).mean()
    )


@pytest.mark.parametrize("estimator", [None, LinearSVC(), RidgeClassifier()])
def test_scikit_learns_common_checks_pass(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(DiscriminatorWeights(estimator=estimator))


def test_margins_become_odds_by_the_line(data):
    weight_estimator = DiscriminatorWeights(estimator=RidgeClassifier(), random_state=0)
    margins = weight_estimator.fit(data.X, X_target=data.X_target).weights_
    odds = clone(weight_estimator).set_params(estimator=LINEAR)
    odds = odds.fit(data.X, X_target=data.X_target).weights_
    np.testing.assert_allclose(margins, odds, rtol=0.25)
    with pytest.raises(TypeError, match="must have predict_proba with calibrate=False"):
        weight_estimator.set_params(calibrate=False).fit(data.X, X_target=data.X_target)


def test_a_classifier_without_weights_is_refused(data):
    for estimator in (KNeighborsClassifier(), make_pipeline(KNeighborsClassifier())):
        with pytest.raises(TypeError, match="must take sample_weight in fit"):
            DiscriminatorWeights(estimator=estimator).fit(
                data.X, X_target=data.X_target
            )
    with pytest.raises(TypeError, match="must be a classifier, got 3"):
        DiscriminatorWeights(estimator=3).fit(data.X, X_target=data.X_target)
    with pytest.raises(TypeError, match="calibrate must be True or False"):
        DiscriminatorWeights(calibrate="yes").fit(data.X, X_target=data.X_target)


def test_no_target_means_weights_of_one_and_a_warning(data):
    with pytest.warns(NoTargetWarning):
        uniform = DiscriminatorWeights().fit(data.X)
    np.testing.assert_array_equal(uniform.weights_, np.ones(300))


def test_grid_search_and_pipelines_take_it(data):
    weight_estimator = DiscriminatorWeights(
        estimator=LogisticRegression(), random_state=0
    )
    grid = {"estimator__C": [1e-6, 1.0], "calibrate": [False]}
    search = GridSearchCV(weight_estimator, grid, cv=3)
    search.fit(data.X, X_target=(data.X_target,))
    assert search.best_params_["estimator__C"] == 1.0
    assert search.best_score_ > 0.1
    pipe = make_pipeline(StandardScaler(), clone(weight_estimator))
    aim = StandardScaler().fit(data.X).transform(data.X_target)
    pipe.fit(data.X, discriminatorweights__X_target=aim)
    assert pipe[-1].weights_.mean() == pytest.approx(1.0)


def test_the_score_repeats_the_classifier_that_was_taken(fitted, data):
    assert fitted.score(data.X) > 0.1
    assert set(fitted._chosen()) == {"estimator"}
    again = clone(fitted).set_params(**fitted._chosen())
    again.fit(data.X, X_target=data.X_target)
    np.testing.assert_allclose(again.weights_, fitted.weights_, rtol=1e-9)
