"""Probabilities against what came true, on weighted rows."""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression

from counterpoise.performance.metrics import Predictions, reliability, reliability_of


def drawn(n, seed=0):
    random = np.random.default_rng(seed)
    p = random.random(n)
    return p, random.random(n) < p


def test_bins_of_equal_weight_are_those_of_scikit_learn():
    p, y = drawn(1000)
    found = reliability(p, y, np.ones(1000))
    observed, predicted = calibration_curve(y, p, n_bins=10, strategy="quantile")
    np.testing.assert_allclose(
        [one["predicted"] for one in found["bins"]], predicted, rtol=1e-12
    )
    np.testing.assert_allclose(
        [one["observed"] for one in found["bins"]], observed, rtol=1e-12
    )
    assert sum(one["share"] for one in found["bins"]) == pytest.approx(1.0)
    away = np.abs(observed - predicted).mean()
    assert found["error"] == pytest.approx(away)


def test_intervals_are_wilsons():
    p, y = drawn(1000)
    found = reliability(p, y, np.ones(1000))
    for k, one in enumerate(found["bins"]):
        rows = np.sort(np.argsort(p, kind="stable")[100 * k : 100 * (k + 1)])
        expected = binomtest(int(y[rows].sum()), 100).proportion_ci(0.95, "wilson")
        assert one["low"] == pytest.approx(expected.low)
        assert one["high"] == pytest.approx(expected.high)


def test_weight_two_is_the_row_twice_in_means_and_bins():
    p, y = drawn(200)
    w = np.random.default_rng(1).integers(1, 4, 200)
    weighted = reliability(p, y, w.astype(float))
    repeated = reliability(np.repeat(p, w), np.repeat(y, w), np.ones(w.sum()))
    assert weighted["error"] == pytest.approx(repeated["error"], abs=0.02)
    for a, b in zip(weighted["bins"], repeated["bins"], strict=True):
        assert a["predicted"] == pytest.approx(b["predicted"], abs=0.02)
    # Only their proportions count.
    assert reliability(p, y, 7.0 * w)["error"] == pytest.approx(weighted["error"])


def test_uneven_weights_make_intervals_wider():
    p, y = drawn(1000)
    w = np.random.default_rng(2).exponential(size=1000) ** 2
    even, uneven = (reliability(p, y, one) for one in (np.ones(1000), w))

    def width(found):
        return np.mean([one["high"] - one["low"] for one in found["bins"]])

    assert width(uneven) > 1.3 * width(even)


def test_probabilities_that_are_too_sure_are_found_out():
    p, y = drawn(4000)
    sure = np.where(p > 0.5, 0.95, 0.05)
    assert reliability(sure, y, np.ones(4000))["error"] > 0.15
    assert reliability(p, y, np.ones(4000))["error"] < 0.04


def test_of_too_few_rows_nothing_is_told():
    assert reliability(np.full(4, 0.5), np.ones(4), np.ones(4)) is None
    assert reliability(np.full(9, 0.5), np.ones(9), np.zeros(9)) is None
    # Ten bins of two rows each.
    p = np.linspace(0.0, 1.0, 20)
    assert reliability(p, p > 0.5, np.ones(20)) is None


def test_of_two_classes_the_second_counts_and_of_more_the_likeliest():
    random = np.random.default_rng(3)
    X = random.normal(size=(600, 2))
    two = np.where(X[:, 0] + random.normal(size=600) > 0, "yes", "no")
    three = np.where(X[:, 1] > 1, "c", two)
    for labels in (two, three):
        model = LogisticRegression().fit(X, labels)
        answers = Predictions.of(model, [X], True)
        found = reliability_of(answers, labels, np.ones(600))
        p = model.predict_proba(X)
        if p.shape[1] == 2:
            expected = reliability(p[:, 1], labels == "yes", np.ones(600))
        else:
            right = model.predict(X) == labels
            expected = reliability(p.max(axis=1), right, np.ones(600))
        assert found == expected


def test_a_model_without_probabilities_has_no_reliability():
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    model = LogisticRegression().fit(X, y)
    answers = Predictions.of(model, [X], True, ("predict",))
    assert reliability_of(answers, y, np.ones(20)) is None
