"""Errors are judged by how sure a classifier was of them."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC

from counterpoise.adaptation.guard import choose_exponent
from counterpoise.adaptation.routing import fit_rows
from counterpoise.evaluation.labels.smooth_loss import (
    SmoothLosses,
    calibrated_losses,
    sureness,
)
from counterpoise.evaluation.metrics import as_metric
from counterpoise.evaluation.splits import folds_of


def rows(n, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    z = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.5 * rng.standard_normal(n)
    return X, np.digitize(z, [0.4] if n_classes == 2 else [0.0, 1.0])


@pytest.mark.parametrize("model", [LinearSVC(), SVC(), RidgeClassifier(), Perceptron()])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_decision_values_are_worth_what_their_probabilities_are(model, n_classes):
    X, y = rows(600, n_classes=n_classes)
    values = sureness(model.fit(X[:300], y[:300]), X[300:])
    assert values.shape == (300, n_classes)
    folds = np.array_split(np.arange(300), 5)
    losses = calibrated_losses(values, y[300:], np.ones(300), folds)
    # No scale of the values changes what they are worth.
    again = calibrated_losses(1e4 * values, y[300:], np.ones(300), folds)
    assert again == pytest.approx(losses, rel=1e-4, abs=1e-4)
    shares = np.bincount(y[300:]) / 300
    assert losses.mean() < -(shares @ np.log(shares))


def test_probabilities_that_are_right_stay_what_they_are():
    rng = np.random.default_rng(1)
    p = rng.uniform(0.05, 0.95, 4000)
    y = (rng.random(4000) < p).astype(int)
    values = np.log(np.column_stack([1 - p, p]))
    folds = np.array_split(np.arange(4000), 5)
    losses = calibrated_losses(values, y, np.ones(4000), folds)
    own = -np.log(np.where(y == 1, p, 1 - p))
    assert losses.mean() == pytest.approx(own.mean(), abs=0.005)


def test_what_does_not_tell_how_sure_it_is_is_judged_by_its_errors():
    X, y = rows(120, n_classes=3)
    errors = as_metric("error_rate", SVC(), y)
    folds = [(np.arange(60, 120), np.arange(60)), (np.arange(60), np.arange(60, 120))]
    room = SmoothLosses.of(errors, y, folds, 5)
    one_by_one = SVC(decision_function_shape="ovo").fit(X[:60], y[:60] % 2)
    assert room.told_by(one_by_one, X, np.arange(120), 0) is None
    assert SmoothLosses.of(as_metric("neg_log_loss", SVC(), y), y, folds, 5) is None
    assert SmoothLosses.of(errors, y, folds, 1) is None
    assert SmoothLosses.of(errors, y, folds[:1], 5) is None
    assert SmoothLosses.of(errors, y, [*folds, folds[0]], 5) is None
    assert sureness(KNeighborsClassifier().fit(X, y), X).shape == (120, 3)


def chosen_by(model, scoring, X, y, ratio):
    def fit(X, y, weights, fold):
        return fit_rows(model, X, y, weights, fold)

    folds = folds_of(None, X, y, is_classifier=True, seed=0)
    metric = as_metric(scoring, model, y)
    return choose_exponent(fit, metric, X, y, ratio, np.ones(len(y)), folds)


def test_the_choice_is_by_the_smooth_loss_and_the_values_are_errors():
    X, y = rows(500)
    ratio = np.exp(0.9 * X[:, 0] - 0.4)
    guard = chosen_by(LogisticRegression(), "accuracy", X, y, ratio)
    assert "calibrated out of fold" in guard.reason
    assert guard.metric == "accuracy"
    hits = np.empty(len(y))
    for kept, out in folds_of(None, X, y, is_classifier=True, seed=0):
        hits[out] = LogisticRegression().fit(X[kept], y[kept]).predict(X[out]) == y[out]
    assert guard.values[0] == pytest.approx(hits @ ratio / ratio.sum())
    by_log_loss = chosen_by(LogisticRegression(), None, X, y, ratio)
    assert "calibrated" not in by_log_loss.reason
