"""A change of p(y | x) is seen from labels, and calibration is none."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from counterpoise.performance.label_change import LabeledSample, residual_directions
from counterpoise.performance.metrics import Predictions
from counterpoise.performance.result import combined_p_value


def chance(z):
    return 1 / (1 + np.exp(-z))


def labeled(model, X, y, classifier=True):
    return LabeledSample(Predictions.of(model, [X], classifier), y, X)


def p_value(source, target, ratio=None):
    n = len(source.labels)
    ratio = np.ones(n) if ratio is None else ratio
    found = residual_directions(source, ratio, np.ones(n), target, None, 0)
    return combined_p_value([one.p_value for one in found])


def two_classes(rng, n, share):
    y = (rng.random(n) < share).astype(int)
    X = rng.standard_normal((n, 3))
    X[:, 0] += 1.5 * y
    return X, y


def ratio_of_shares(X, share):
    """Return the ratio of inputs where the second class goes from .5 to a share."""
    likelihood = np.exp(1.5 * X[:, 0] - 1.5**2 / 2)
    return (1 - share + share * likelihood) / (0.5 + 0.5 * likelihood)


def test_a_label_shift_is_seen_from_eighty_labels():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        model = LogisticRegression().fit(*two_classes(rng, 400, 0.5))
        X, y = two_classes(rng, 600, 0.5)
        target = labeled(model, *two_classes(rng, 80, 0.08))
        assert p_value(labeled(model, X, y), target, ratio_of_shares(X, 0.08)) < 0.01


@pytest.mark.parametrize("squeezed", [0.2, 4.0])
def test_a_badly_calibrated_model_is_not_called_a_change(squeezed):
    alerts = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        model = LogisticRegression().fit(*two_classes(rng, 400, 0.5))
        model.coef_ *= squeezed
        model.intercept_ += 3.0
        source = labeled(model, *two_classes(rng, 600, 0.5))
        target = labeled(model, *two_classes(rng, 80, 0.5))
        residuals = target.labels - target.answers.said["predict_proba"][:, 1]
        assert abs(residuals.sum()) > 5
        alerts += p_value(source, target) < 0.05
    assert alerts <= 1


def test_a_model_that_is_wrong_where_the_target_is_is_not_called_a_change():
    alerts = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)

        def rows(n, move, rng=rng):
            X = rng.standard_normal((n, 2))
            X[:, 0] += move
            return X, X[:, 0] ** 2 + 0.5 * rng.standard_normal(n)

        model = Ridge().fit(*rows(400, 0.0))
        X, y = rows(800, 0.0)
        source, target = (
            labeled(model, *one, classifier=False) for one in ((X, y), rows(60, 0.8))
        )
        ratio = np.exp(0.8 * X[:, 0] - 0.32)
        alerts += p_value(source, target, ratio) < 0.05
    assert alerts <= 1


@pytest.mark.parametrize("model", [LinearSVC(), LogisticRegression()])
def test_another_boundary_of_three_classes_is_seen(model):
    rng = np.random.default_rng(0)

    def rows(n, turn):
        X = rng.standard_normal((n, 2))
        angle = np.arctan2(X[:, 1], X[:, 0]) + turn
        return X, np.array(["a", "b", "c"])[np.digitize(angle, [-1.0, 1.0])]

    model.fit(*rows(300, 0.0))
    source, target = (labeled(model, *rows(n, 0.0)) for n in (600, 60))
    assert p_value(source, target) > 0.05
    assert p_value(source, labeled(model, *rows(200, 0.8))) < 0.001


def test_several_outputs_are_looked_at_one_by_one():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 2))
    Y = X + 0.5 * rng.standard_normal((400, 2))
    model = Ridge().fit(X, Y)
    T = rng.standard_normal((50, 2))
    TY = T * [1.0, 2.0] + 0.5 * rng.standard_normal((50, 2))
    found = residual_directions(
        labeled(model, X, Y, False),
        np.ones(400),
        np.ones(400),
        labeled(model, T, TY, False),
        None,
        0,
    )
    least = min(found, key=lambda one: one.p_value)
    assert least.of == "output 1"
    assert "of 'output 1' along" in str(least)
    assert combined_p_value([one.p_value for one in found]) < 0.01


def test_one_class_among_the_source_rows_tells_nothing():
    rng = np.random.default_rng(2)
    model = LogisticRegression().fit(*two_classes(rng, 100, 0.5))
    X, y = two_classes(rng, 50, 0.5)
    source, target = (labeled(model, X, z) for z in (np.zeros_like(y), y))
    assert residual_directions(source, *np.ones((2, 50)), target, None, 0) == ()
