"""Two Gaussians as a classifier, and columns made normal by their ranks."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm, rankdata
from sklearn.covariance import LedoitWolf

from counterpoise.shift.domain_classifier import (
    NormalScores,
    TwoGaussians,
    product_logistic,
    two_gaussians,
)


def two_classes(d=4, n=60):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(2 * n, d)) @ rng.normal(size=(d, d))
    return X, np.repeat([0, 1], n)


def test_the_log_odds_are_those_of_two_gaussians_with_ledoit_and_wolfs_covariances():
    X, y = two_classes()
    found = TwoGaussians().fit(X, y).decision_function(X)
    logs = []
    for label in (0, 1):
        fitted = LedoitWolf().fit(X[y == label])
        covariance = fitted.covariance_ + 1e-6 * np.eye(4)
        logs.append(multivariate_normal(fitted.location_, covariance).logpdf(X))
    assert found == pytest.approx(logs[1] - logs[0], rel=1e-9, abs=1e-9)


def test_the_prior_is_that_of_the_weights():
    X, y = two_classes()
    weighted = TwoGaussians().fit(X, y, np.where(y == 1, 3.0, 1.0))
    assert weighted.prior_ == pytest.approx(np.log(3.0))


def test_a_row_of_weight_two_is_the_row_twice():
    X, y = two_classes(n=30)
    weight = np.where(np.arange(60) % 3 == 0, 2, 1)
    twice = np.repeat(np.arange(60), weight)
    models = two_gaussians(by_ranks=True), two_gaussians(by_ranks=False), NormalScores()
    for model in models:
        if hasattr(model, "steps"):
            given = {
                f"{name}__sample_weight": weight.astype(float)
                for name, _ in model.steps
            }
            one = model.fit(X, y, **given).decision_function(X)
            other = model.fit(X[twice], y[twice]).decision_function(X)
        else:
            one = model.fit(X, y, weight.astype(float)).transform(X)
            other = model.fit(X[twice], y[twice]).transform(X)
        assert one == pytest.approx(other, abs=1e-9)


def test_normal_scores_are_those_of_the_ranks_and_end_where_the_rows_end():
    column = np.array([3.0, 1.0, 1.0, 100.0, 7.0])
    fitted = NormalScores().fit(column[:, None])
    expected = norm.ppf((rankdata(column) - 0.5) / 5)
    assert fitted.transform(column[:, None])[:, 0] == pytest.approx(expected)
    outside = fitted.transform(np.array([[-9.0], [1e6], [5.0]]))[:, 0]
    known = fitted.transform(np.array([[1.0], [100.0], [3.0], [7.0]]))[:, 0]
    assert outside == pytest.approx([*known[:2], known[2:].mean()])


def test_units_however_bent_do_not_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[100:, 1] += 0.7 * X[100:, 0]
    y = np.repeat([0, 1], 100)
    for model in (two_gaussians(by_ranks=True), product_logistic(3, 0.1)):
        plain = model.fit(X, y).decision_function(X)
        bent = model.fit(np.exp(X), y).decision_function(np.exp(X))
        assert bent == pytest.approx(plain)


def test_a_constant_column_does_no_harm():
    X, y = two_classes()
    X = np.column_stack([X, np.where(y == 1, 5.0, 2.0), np.ones(len(y))])
    for by_ranks in (True, False):
        fitted = two_gaussians(by_ranks).fit(X, y)
        assert np.isfinite(fitted.decision_function(X)).all()


def test_of_normal_columns_ranks_lose_what_the_outermost_rows_tell():
    rng = np.random.default_rng(0)
    Q = 0.5 ** np.abs(np.subtract.outer(np.arange(3), np.arange(3)))
    errors = []
    for _ in range(4):
        X = rng.standard_normal((1600, 3))
        X[800:] = rng.multivariate_normal(np.zeros(3), Q, 800)
        y = np.repeat([0, 1], 800)
        logs = [
            multivariate_normal(np.zeros(3), C).logpdf(X[:800]) for C in (Q, np.eye(3))
        ]
        truth = np.exp(logs[0] - logs[1])
        found = [
            np.exp(two_gaussians(by_ranks).fit(X, y).decision_function(X[:800]))
            for by_ranks in (True, False)
        ]
        errors.append([((one - truth) ** 2).mean() for one in found])
    by_ranks, unweighted_estimate = np.mean(errors, axis=0)
    assert unweighted_estimate < 0.9 * by_ranks
