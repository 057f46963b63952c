import numpy as np
import pytest
from scipy.stats import t
from sklearn.linear_model import LogisticRegression

from counterpoise.evaluation.answers import Answers, joined_answers
from counterpoise.evaluation.confidence import expected_value, fit_line
from counterpoise.evaluation.estimates import (
    Evidence,
    confidence_estimate,
    labelled_estimate,
    mean_estimate,
    mean_estimates,
    scored_estimate,
)
from counterpoise.evaluation.intervals import resampled
from counterpoise.evaluation.loss_model import fit_loss_model
from counterpoise.evaluation.metrics import as_metric

METRIC = as_metric("mean_squared_error", None, [1.0])


def drawn(seed, n=2000, m=2000):
    """Draw losses that grow with x, x being moved from mean 0 to mean 1."""
    rng = np.random.default_rng(seed)
    x, x_target = rng.normal(size=n), rng.normal(1.0, size=m)
    losses = (x + 2) ** 2 + rng.exponential(size=n)
    return x, x_target, losses


def evidence(losses, ratio, modelled, modelled_target):
    return Evidence(losses, ratio, np.ones(losses.size), modelled, modelled_target)


TRUTH = 3**2 + 1 + 1


def test_the_doubly_robust_estimate_needs_only_one_of_weights_and_model():
    x, x_target, losses = drawn(0)
    right_ratio, right = np.exp(x - 0.5), lambda v: (v + 2) ** 2 + 1
    wrong_ratio, wrong = np.ones(x.size), lambda v: np.zeros(v.size)
    found = {}
    for name, ratio, g in (
        ("weights", right_ratio, wrong),
        ("model", wrong_ratio, right),
        ("neither", wrong_ratio, wrong),
    ):
        one = evidence(losses, ratio, g(x), g(x_target))
        found[name] = mean_estimates(METRIC, one, 0.95)
    assert found["model"]["doubly_robust"].value == pytest.approx(TRUTH, rel=0.05)
    # Cutting the largest weights costs a little.
    assert found["weights"]["doubly_robust"].value == pytest.approx(TRUTH, rel=0.1)
    assert found["weights"]["weighted"].value == pytest.approx(TRUTH, rel=0.1)
    assert found["neither"]["doubly_robust"].value < 0.7 * TRUTH


def test_estimates_are_the_formulas():
    x, x_target, losses = drawn(1, 300, 200)
    ratio, g, g_target = np.exp(x - 0.5), x**2, x_target**2
    found = mean_estimates(METRIC, evidence(losses, ratio, g, g_target), 0.95)
    cut = np.minimum(ratio, np.quantile(ratio, 0.99))
    wanted = g_target.mean() + np.average(losses - g, weights=cut)
    assert found["source"].value == pytest.approx(losses.mean())
    assert found["weighted"].value == pytest.approx(np.average(losses, weights=ratio))
    assert found["direct"].value == pytest.approx(g_target.mean())
    assert found["doubly_robust"].value == pytest.approx(wanted)


def test_the_interval_spans_the_weighted_estimate_and_a_sharper_one():
    x, _, losses = drawn(2, 300, 200)
    ratio = np.exp(x - 0.5)
    found = mean_estimates(
        METRIC, evidence(losses, ratio, np.zeros(300), np.zeros(200)), 0.95
    )["doubly_robust"]
    for values in (ratio, ratio**1.25):
        assert found.low < np.average(losses, weights=values) < found.high


def test_intervals_hold_the_truth_with_a_known_ratio():
    held = []
    for seed in range(150):
        x, x_target, losses = drawn(seed, 300, 300)
        one = evidence(losses, np.exp(x - 0.5), (x + 2) ** 2, (x_target + 2) ** 2)
        found = mean_estimates(METRIC, one, 0.95)["doubly_robust"]
        held.append(found.low <= TRUTH <= found.high)
    assert np.mean(held) >= 0.95


def test_a_higher_level_is_a_wider_interval():
    x, x_target, losses = drawn(3)
    one = evidence(losses, np.exp(x), x + 5, x_target + 5)
    narrow, wide = (mean_estimates(METRIC, one, level) for level in (0.8, 0.99))
    for name, estimate in narrow.items():
        assert wide[name].low < estimate.low < estimate.high < wide[name].high


def test_the_source_s_interval_is_student_s():
    losses = np.random.default_rng(4).exponential(size=50)
    found = mean_estimate(METRIC, "source", losses, np.ones(50), 0.95)
    reach = t.ppf(0.975, 49) * losses.std() / np.sqrt(50)
    assert found.high - found.value == pytest.approx(reach)


def test_losses_are_not_estimated_below_zero():
    losses = np.append(np.zeros(20), 100.0)
    assert mean_estimate(METRIC, "source", losses, np.ones(21), 0.99).low == 0.0


def test_roots_are_taken_of_estimates_and_ends():
    root = as_metric("neg_root_mean_squared_error", None, [1.0])
    x, x_target, losses = drawn(5)
    one = evidence(losses, np.exp(x), x, x_target)
    squares, roots = (mean_estimates(m, one, 0.9) for m in (METRIC, root))
    for name, found in roots.items():
        assert found.value**2 == pytest.approx(squares[name].value)
        assert found.high**2 == pytest.approx(squares[name].high)


def test_labelled_rows_are_right_whatever_the_model_and_narrow_if_it_is_good():
    rng = np.random.default_rng(6)
    x = rng.normal(1.0, size=5000)
    lab = rng.normal(1.0, size=100)
    losses = (lab + 2) ** 2 + rng.exponential(size=100)
    good, bad = (
        labelled_estimate(METRIC, losses, g(lab), g(x), 0.95)
        for g in (lambda v: (v + 2) ** 2, lambda v: -v)
    )
    for found in (good, bad):
        assert found.low < TRUTH < found.high
    assert good.high - good.low < 0.5 * (bad.high - bad.low)


def classifier(seed=0, n=1500):
    rng = np.random.default_rng(seed)
    X, X_target = rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    X_target[:, 0] += 1

    def labels(Z):
        z = 2 * Z[:, 0] + Z[:, 1]
        return np.where(rng.random(n) < 1 / (1 + np.exp(-z)), "b", "a")

    y, y_target = labels(X), labels(X_target)
    model = LogisticRegression(C=0.01).fit(X, y)
    return model, X, y, X_target, y_target


@pytest.mark.parametrize("name", ["neg_log_loss", "accuracy", "roc_auc", "f1_macro"])
def test_confidence_finds_the_target_s_score(name):
    model, X, y, X_target, y_target = classifier()
    metric = as_metric(name, model, y)
    answers, told = (Answers.of(model, [Z], True) for Z in (X, X_target))
    place = (y == "b").astype(int)
    weights = np.exp(X[:, 0])
    found = confidence_estimate(metric, answers, place, weights, told, 0.95, 0)
    truth = metric.value(model, X_target, y_target)
    assert found.low < truth < found.high
    assert found.value == pytest.approx(truth, abs=0.04)


def test_sure_probabilities_give_the_metric_itself():
    model, X, y, _, _ = classifier()
    answers = Answers.of(model, [X], True)
    certain = np.column_stack([y == "a", y == "b"]).astype(float)
    for name in ("roc_auc", "f1_macro", "matthews_corrcoef"):
        metric = as_metric(name, model, y)
        wanted = metric.value(model, X, y)
        assert expected_value(metric, answers, certain) == pytest.approx(wanted)


def test_the_line_is_platt_s():
    rng = np.random.default_rng(7)
    z = 3 * rng.normal(size=4000)
    y = (rng.random(4000) < 1 / (1 + np.exp(-0.5 * z - 0.3))).astype(int)
    weights, p = rng.random(4000), 1 / (1 + np.exp(-z))
    line = fit_line(np.column_stack([1 - p, p]), y, weights)
    platt = LogisticRegression(C=1e6).fit(z[:, None], y, sample_weight=weights)
    assert line.slope == pytest.approx(platt.coef_[0, 0], rel=1e-2)
    assert line.offsets[1] == pytest.approx(platt.intercept_[0], rel=1e-2)


def test_three_classes_are_recalibrated_to_the_shares_of_the_labels():
    rng = np.random.default_rng(8)
    p = rng.dirichlet([1, 1, 1], size=3000)
    y = rng.choice(3, size=3000, p=[0.6, 0.3, 0.1])
    line = fit_line(p, y, np.ones(3000))
    shares = np.bincount(y) / 3000
    assert line.of(p).mean(axis=0) == pytest.approx(shares, abs=2e-3)


def test_separable_labels_have_a_finite_line():
    p = np.repeat([[0.9, 0.1], [0.1, 0.9]], 50, axis=0)
    line = fit_line(p, np.repeat([0, 1], 50), np.ones(100))
    assert np.isfinite(line.of(p)).all()


def test_a_weighted_auc_is_scikit_learn_s_with_weights():
    model, X, y, _, _ = classifier()
    metric = as_metric("roc_auc", model, y)
    answers, ratio = Answers.of(model, [X], True), np.exp(X[:, 0])
    ones = np.ones(len(y))
    found = scored_estimate(metric, "weighted", answers, y, ones, ratio, 0.95, 0)
    assert found.value == pytest.approx(metric.value(model, X, y, ratio))
    assert found.low < found.value < found.high


def test_the_auc_of_one_class_is_none():
    model, X, y, _, _ = classifier()
    metric = as_metric("roc_auc", model, y)
    rows = y == "a"
    answers, ones = Answers.of(model, [X[rows]], True), np.ones(rows.sum())
    assert (
        scored_estimate(metric, "source", answers, y[rows], ones, None, 0.9, 0) is None
    )


def test_resamples_have_the_standard_error_of_a_mean():
    values = np.random.default_rng(9).normal(size=400)
    found = resampled(lambda w: np.average(values, weights=w), np.ones(400), 500, 0)
    assert found.std() == pytest.approx(values.std() / 20, rel=0.15)


def test_answers_stand_for_the_model():
    model, X, _, X_target, _ = classifier()
    answers = Answers.of(model, [X, X_target], True)
    both = np.vstack([X, X_target])
    assert (answers.predict(answers.rows) == model.predict(both)).all()
    assert answers.predict_proba([3, 5]) == pytest.approx(
        model.predict_proba(X[[3, 5]])
    )
    assert not hasattr(Answers.of(model, [X], False), "predict_proba")


def test_a_fold_without_a_class_gives_it_no_probability():
    model, X, _, _, _ = classifier()
    few = LogisticRegression().fit(X, np.where(X[:, 1] > 0, "b", "c"))
    parts = [Answers.of(model, [X[:10]], True), Answers.of(few, [X[10:30]], True)]
    joined = joined_answers(parts, [np.arange(20, 30), np.arange(20)])
    assert joined.classes_.tolist() == ["a", "b", "c"]
    p = joined.said["predict_proba"]
    assert p[:20, 0] == pytest.approx(np.zeros(20))
    assert p[20:, 2] == pytest.approx(np.zeros(10))
    assert p.sum(axis=1) == pytest.approx(np.ones(30))


def test_few_rows_are_modelled_by_their_weighted_mean():
    losses, weights = np.arange(10.0), np.arange(10.0)
    model = fit_loss_model(losses[:, None], losses, weights, np.ones((3, 1)), 0)
    assert model.target == pytest.approx(
        np.full(3, np.average(losses, weights=weights))
    )
    assert model.at(np.ones((2, 1))).shape == (2,)
