"""Estimates without labels, a chunk at a time."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from counterpoise.monitor.estimates import LabelFree, Rise, shares_of, spent


def test_shares_stand_for_the_rows_of_the_chunk():
    rng = np.random.default_rng(0)
    before, now = rng.standard_normal((4_000, 2)), rng.standard_normal((1_000, 2))
    now[:, 0] += 0.5
    shares = shares_of(before, now)
    assert shares.sum() == pytest.approx(1.0)
    assert shares @ before[:, 0] == pytest.approx(0.5, abs=0.08)


def test_shares_are_the_odds_of_a_logistic_regression():
    rng = np.random.default_rng(0)
    before, now = rng.standard_normal((500, 2)), rng.standard_normal((300, 2)) + 0.3
    fitted = LogisticRegression(C=1 / 5.0, tol=1e-10).fit(
        np.vstack([before, now]), np.arange(800) >= 500
    )
    odds = np.exp(fitted.decision_function(before))
    odds = np.minimum(odds, np.quantile(odds, 0.99))
    np.testing.assert_allclose(shares_of(before, now), odds / odds.sum(), rtol=1e-4)


def _of(losses, modeled):
    return LabelFree("mae", 1.0, losses, modeled, None, float(losses.mean()))


def test_the_estimate_is_doubly_robust():
    rng = np.random.default_rng(0)
    n, m = 4_000, 1_000
    x, t = rng.standard_normal(n), rng.standard_normal(m) + 0.5
    losses = x**2
    shares = shares_of(x[:, None], t[:, None])
    right = _of(losses, x**2).estimate(t**2, np.full(n, 1 / n))
    weighted = _of(losses, np.zeros(n)).estimate(np.zeros(m), shares)
    for found in (right, weighted):
        assert found.value == pytest.approx((t**2).mean(), abs=0.15)
        low, high = found.ends(0.01)
        assert low < 1.25 < high


def test_without_a_shift_the_reference_cancels_from_the_rise():
    rng = np.random.default_rng(0)
    losses = rng.random(1_000)
    found = _of(losses, np.full(1_000, 0.5)).estimate(
        np.full(200, 0.5), np.full(1_000, 1e-3)
    )
    assert found.rise == pytest.approx(0.0)
    assert found.rise_error == pytest.approx(0.0)
    assert found.error > 0


def test_a_loss_of_which_higher_is_better_rises_when_it_falls():
    one = LabelFree("accuracy", -1.0, np.ones(100), np.ones(100), None, 1.0)
    found = one.estimate(np.full(50, 0.5), np.full(100, 0.01))
    assert found.rise == pytest.approx(0.5)


def test_the_levels_of_all_chunks_sum_to_the_level():
    assert sum(spent(0.01, t) for t in range(1, 201)) < 0.01
    assert spent(0.01, 1) == pytest.approx(0.01 / 51)


def test_intervals_are_students():
    from scipy.stats import t

    rise = Rise(1.0, 0.1, 0.2, 0.05, 19.0)
    assert rise.ends(0.05)[1] == pytest.approx(1.0 + 0.1 * t.ppf(0.975, 19))
    assert rise.low_rise(0.05) == pytest.approx(0.2 - 0.05 * t.ppf(0.95, 19))


def test_probabilities_that_are_right_take_half_of_the_model_of_the_loss():
    from counterpoise.performance.metrics import Predictions, as_metric

    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_000, 1))
    y = (rng.random(2_000) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
    model = LogisticRegression(C=1e6).fit(X, y)
    answers = Predictions.of(model, [X], True)
    metric = as_metric("error_rate", model, y)
    one = LabelFree.of(metric, answers, y, X, seed=0)
    chance = model.predict_proba(X).min(axis=1)
    found = one.at(metric, X, answers)
    by_trees = one.model.at(X)
    np.testing.assert_allclose(found, 0.5 * (by_trees + chance), atol=0.01)


def test_beyond_the_reference_no_loss_is_expected_that_it_has_not_seen():
    from counterpoise.performance.metrics import Predictions, as_metric

    rng = np.random.default_rng(0)
    X = np.repeat(rng.uniform(-2, 2, (1_000, 1)), 2, axis=1)
    X += 0.3 * rng.standard_normal(X.shape)
    y = X[:, 0] - X[:, 1]
    model = LinearRegression().fit(X, np.zeros(1_000))
    metric = as_metric("neg_mean_squared_error", model, y)
    one = LabelFree.of(metric, Predictions.of(model, [X], False), y, X, seed=0)
    # A quadratic in the columns would say sixteen.
    apart = np.array([[2.0, -2.0], [-2.0, 2.0]])
    found = one.at(metric, apart, Predictions.of(model, [apart], False))
    assert one.losses.mean() < found.min()
    assert found.max() < one.losses.max()
