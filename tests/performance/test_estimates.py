import numpy as np
import pytest
from scipy.stats import t
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from counterpoise.performance.estimators import (
    Evidence,
    confidence_estimate,
    errors_of,
    labeled_estimate,
    mean_estimate,
    mean_estimates,
    scored_estimate,
)
from counterpoise.performance.intervals import resampled
from counterpoise.performance.loss_model import expected_value, fit_line, fit_loss_model
from counterpoise.performance.metrics import (
    ClassifierPredictions,
    Predictions,
    as_metric,
    joined_predictions,
)
from counterpoise.performance.result import label_check

METRIC = as_metric("mean_squared_error", None, [1.0])


def drawn(seed, n=2000, m=2000):
    """Draw losses that grow with x, x being moved from mean 0 to mean 1."""
    rng = np.random.default_rng(seed)
    x, x_target = rng.normal(size=n), rng.normal(1.0, size=m)
    losses = (x + 2) ** 2 + rng.exponential(size=n)
    return x, x_target, losses


def evidence(losses, ratio, modeled, modeled_target):
    return Evidence(losses, ratio, np.ones(losses.size), modeled, modeled_target)


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
    cut = np.minimum(ratio, np.quantile(ratio, 0.99, method="inverted_cdf"))
    wanted = g_target.mean() + np.average(losses - g, weights=cut)
    assert found["source"].value == pytest.approx(losses.mean())
    assert found["weighted"].value == pytest.approx(np.average(losses, weights=ratio))
    assert found["direct"].value == pytest.approx(g_target.mean())
    assert found["doubly_robust"].value == pytest.approx(wanted)


def test_estimates_that_differ_make_one_another_s_intervals_wider():
    x, x_target, losses = drawn(2, 300, 200)
    ratio, g, g_target = np.exp(x - 0.5), (x + 2) ** 2, (x_target + 2) ** 2
    close, far = (
        mean_estimates(METRIC, evidence(losses, ratio, g, g_target + off), 0.95)
        for off in (0.0, 3.0)
    )
    for name in ("weighted", "doubly_robust", "direct"):
        widths = [one[name].high - one[name].low for one in (close, far)]
        assert widths[1] > widths[0] + 1.0, name


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
    one = evidence(losses, np.exp(x), (x + 2) ** 2, (x_target + 2) ** 2)
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


def test_labeled_rows_are_right_whatever_the_model_and_narrow_if_it_is_good():
    rng = np.random.default_rng(6)
    x = rng.normal(1.0, size=5000)
    lab = rng.normal(1.0, size=100)
    losses = (lab + 2) ** 2 + rng.exponential(size=100)
    good, bad = (
        labeled_estimate(METRIC, losses, g(lab), g(x), 0.95)
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
    answers, told = (Predictions.of(model, [Z], True) for Z in (X, X_target))
    place = (y == "b").astype(int)
    weights = np.exp(X[:, 0])
    found = confidence_estimate(metric, answers, place, weights, told, 0.95, 0)
    truth = metric.value(model, X_target, y_target)
    assert found.low < truth < found.high
    assert found.value == pytest.approx(truth, abs=0.04)


def test_sure_probabilities_give_the_metric_itself():
    model, X, y, _, _ = classifier()
    answers = Predictions.of(model, [X], True)
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
    answers, ratio = Predictions.of(model, [X], True), np.exp(X[:, 0])
    ones = np.ones(len(y))
    found = scored_estimate(metric, "weighted", answers, y, ones, ratio, 0.95, 0)
    assert found.value == pytest.approx(metric.value(model, X, y, ratio))
    assert found.low < found.value < found.high


def test_the_auc_of_one_class_is_none():
    model, X, y, _, _ = classifier()
    metric = as_metric("roc_auc", model, y)
    rows = y == "a"
    answers, ones = Predictions.of(model, [X[rows]], True), np.ones(rows.sum())
    assert (
        scored_estimate(metric, "source", answers, y[rows], ones, None, 0.9, 0) is None
    )


def test_resamples_have_the_standard_error_of_a_mean():
    values = np.random.default_rng(9).normal(size=400)
    found = resampled(lambda w: np.average(values, weights=w), np.ones(400), 500, 0)
    assert found.std() == pytest.approx(values.std() / 20, rel=0.15)


def test_answers_stand_for_the_model():
    model, X, _, X_target, _ = classifier()
    answers = Predictions.of(model, [X, X_target], True)
    both = np.vstack([X, X_target])
    assert (answers.predict(answers.rows) == model.predict(both)).all()
    assert answers.predict_proba([3, 5]) == pytest.approx(
        model.predict_proba(X[[3, 5]])
    )
    assert not hasattr(Predictions.of(model, [X], False), "predict_proba")


def test_a_fold_without_a_class_gives_it_no_probability():
    model, X, _, _, _ = classifier()
    few = LogisticRegression().fit(X, np.where(X[:, 1] > 0, "b", "c"))
    parts = [
        Predictions.of(model, [X[:10]], True),
        Predictions.of(few, [X[10:30]], True),
    ]
    joined = joined_predictions(parts, [np.arange(20, 30), np.arange(20)])
    assert joined.classes_.tolist() == ["a", "b", "c"]
    p = joined.said["predict_proba"]
    assert p[:20, 0] == pytest.approx(np.zeros(20))
    assert p[20:, 2] == pytest.approx(np.zeros(10))
    assert p.sum(axis=1) == pytest.approx(np.ones(30))


def test_few_rows_are_modeled_by_their_weighted_mean():
    losses, weights = np.arange(10.0), np.arange(10.0)
    model = fit_loss_model(losses[:, None], losses, weights, np.ones((3, 1)), 0)
    assert model.target == pytest.approx(
        np.full(3, np.average(losses, weights=weights))
    )
    assert model.at(np.ones((2, 1))).shape == (2,)


ERRORS = as_metric("error_rate", None, [0, 1])


def test_intervals_reach_as_far_as_their_formula():
    x, x_target, losses = drawn(11, 250, 200)
    ratio, g, g_target = np.exp(x - 0.5), (x + 1) ** 2 + 3, (x_target + 1) ** 2 + 3
    found = mean_estimates(METRIC, evidence(losses, ratio, g, g_target), 0.9)
    p = ratio / ratio.sum()
    mean, effective = p @ losses, 1 / (p**2).sum()
    cut = np.minimum(ratio, np.quantile(ratio, 0.99, method="inverted_cdf"))
    cut /= cut.sum()
    rest, of_target = losses - g, (g_target - g_target.mean()) / 200
    c, direct = cut @ rest, g_target.mean()
    robust = direct + c
    target = of_target @ of_target
    by_rows = (cut**2 * (rest - c) ** 2).sum()
    far, missed = mean - robust, robust - direct
    chance = (p**2 * (g - p @ g) ** 2).sum() + target
    e_w = (p**2 * (losses - mean) ** 2).sum() + target + max(far**2 - chance, 0)
    e_g = by_rows + target + max(missed**2 - by_rows, 0)
    cut_rows = 1 / (cut**2).sum()
    e_d = by_rows * cut_rows / (cut_rows - 1) + target
    e_d = max(e_d, (p**2 * (losses - mean) ** 2).sum() / 4)
    parts = np.concatenate([cut * (rest - c), of_target])
    freedom = 3 * (parts**2).sum() ** 2 / (parts**4).sum()
    q = t.ppf(0.95, min(effective, freedom) - 1)
    centered = p * (losses - mean)
    kappa = (centered**3).sum() / (centered**2).sum() ** 1.5
    further = kappa * (2 * q**2 + 1) / 6
    assert 0 < further < q / 2
    for name, value, error in (
        ("weighted", mean, e_w),
        ("direct", direct, e_g),
        ("doubly_robust", robust, e_d),
    ):
        factor = 1.1 + 0.25 * (1 - effective / 250)
        whole = np.sqrt(factor**2 * max(error, e_d) + 0.25 * (far**2 + missed**2))
        assert found[name].low == pytest.approx(value - whole * (q - further / 2))
        assert found[name].high == pytest.approx(value + whole * (q + further))


def test_an_error_of_a_few_large_losses_is_known_as_well_as_one_of_few_rows():
    losses = np.random.default_rng(0).normal(1.0, 0.1, size=400)
    flat, ones = np.ones(400), np.ones(400)
    alike = errors_of(evidence(losses, ones, flat, flat))
    losses[:4] += 5.0
    ruled = errors_of(evidence(losses, ones, flat, flat))
    assert 250 < alike.freedom < 550
    assert ruled.freedom < 20


def test_intervals_are_not_much_wider_than_they_need_to_be():
    values, widths = [], []
    for seed in range(150):
        x, x_target, losses = drawn(seed, 300, 300)
        one = evidence(losses, np.exp(x - 0.5), (x + 2) ** 2, (x_target + 2) ** 2)
        found = mean_estimates(METRIC, one, 0.95)["weighted"]
        values.append(found.value)
        widths.append(found.high - found.low)
    needed = 2 * 1.96 * np.std(values)
    assert 1.0 < np.mean(widths) / needed < 3.0


def test_rare_errors_have_intervals_that_hold_the_truth():
    held = {"source": [], "doubly_robust": []}
    widths = []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        losses = (rng.random(60) < 0.02).astype(float)
        flat = np.full(60, losses.mean())
        one = evidence(losses, np.exp(0.3 * rng.normal(size=60)), flat, flat)
        found = mean_estimates(ERRORS, one, 0.95)
        for name, values in held.items():
            values.append(found[name].low <= 0.02 <= found[name].high)
        widths.append(found["source"].high - found["source"].low)
    assert min(np.mean(values) for values in held.values()) >= 0.93
    assert 0.05 < np.mean(widths) < 0.15


def test_no_error_among_few_rows_is_no_proof_of_none():
    none = np.zeros(60)
    found = mean_estimates(ERRORS, evidence(none, none + 1, none, none), 0.95)
    for one in found.values():
        assert one.value == one.low == 0.0
        assert 0.04 < one.high < 0.1
    labeled = labeled_estimate(ERRORS, none, none, none, 0.95)
    assert 0.03 < labeled.high < 0.1


def test_groups_that_are_alike_make_intervals_wider_and_right():
    held, alone, widths = [], [], ([], [])
    for seed in range(200):
        rng = np.random.default_rng(seed)
        groups = np.repeat(np.arange(40), 15)
        losses = 3 + rng.normal(size=40)[groups] + 0.3 * rng.normal(size=600)
        flat, ones = np.full(600, 3.0), np.ones(600)
        for given, found in ((groups, held), (None, alone)):
            one = Evidence(losses, ones, ones, flat, flat, given)
            robust = mean_estimates(METRIC, one, 0.95)["doubly_robust"]
            source = mean_estimate(METRIC, "source", losses, ones, 0.95, given)
            found.append([e.low <= 3.0 <= e.high for e in (source, robust)])
            widths[given is None].append(robust.high - robust.low)
    assert np.mean(held, axis=0)[0] == pytest.approx(0.95, abs=0.04)
    assert np.mean(held, axis=0)[1] > 0.92
    assert np.mean(alone, axis=0)[0] < 0.6
    assert np.mean(widths[0]) > 1.3 * np.mean(widths[1])


def test_the_auc_of_groups_is_as_uncertain_as_its_groups():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 20)
    X = rng.normal(size=30)[groups][:, None]
    y = (rng.random(30) < 1 / (1 + np.exp(-X[::20, 0])))[groups].astype(int)
    model = LogisticRegression().fit(X, y)
    metric, answers = as_metric("roc_auc", model, y), Predictions.of(model, [X], True)
    ones = np.ones(600)
    by_row, by_group = (
        scored_estimate(metric, "source", answers, y, ones, None, 0.95, 0, given)
        for given in (None, groups)
    )
    widths = [e.high - e.low for e in (by_row, by_group)]
    assert widths[1] > 2.5 * widths[0]


def test_a_perfect_score_is_no_certainty():
    X = np.linspace(-1, 1, 40)[:, None]
    y = (X[:, 0] > 0).astype(int)
    model = LogisticRegression(C=1e3).fit(X, y)
    answers = Predictions.of(model, [X], True)
    for name in ("f1", "roc_auc"):
        metric = as_metric(name, model, y)
        found = scored_estimate(
            metric, "source", answers, y, np.ones(40), None, 0.95, 0
        )
        assert found.value == found.high == 1.0
        assert 0.8 < found.low < 0.95


def test_rows_that_count_nothing_do_not_matter():
    x, x_target, losses = drawn(12, 300, 200)
    g, g_target, ratio = x**2, x_target**2, np.exp(x)
    counts = (np.arange(300) % 3 > 0).astype(float)
    # The rows left out have the largest weights of all.
    ratio[counts == 0] += 50
    whole = Evidence(losses, ratio, counts, g, g_target)
    rest = whole.take(counts > 0, np.arange(200))
    for name, one in mean_estimates(METRIC, whole, 0.95).items():
        other = mean_estimates(METRIC, rest, 0.95)[name]
        assert one.value == pytest.approx(other.value), name
        assert one.high == pytest.approx(other.high), name
    lab = np.arange(20.0)
    assert label_check(whole, lab, lab / 2).p_value == pytest.approx(
        label_check(rest, lab, lab / 2).p_value
    )


@pytest.mark.parametrize("name", ["error_rate", "neg_log_loss", "accuracy"])
def test_labels_that_are_all_flipped_are_seen(name):
    y = np.repeat([0, 1], 100)
    model = DecisionTreeClassifier().fit(y[:, None], y)
    metric = as_metric(name, model, y)
    losses = metric.rows(model, y[:, None], y)
    flipped = metric.rows(model, y[:40, None], 1 - y[:40])
    ones = np.ones(200)
    one = Evidence(losses, ones, ones, losses, losses)
    check = label_check(one, flipped, losses[:40], metric)
    assert check.p_value < 1e-10
    assert "changed" in str(check.finding)
    assert np.isfinite(list(check.to_dict().values())[:4]).all()
    same = label_check(one, losses[:40], losses[:40], metric)
    assert same.p_value > 0.98


def constant_classifier(n, share, seed=0):
    """Draw answers of one half, and labels of which `share` are 1 where weights are."""
    rng = np.random.default_rng(seed)
    weights = np.where(np.arange(n) % 2 == 0, 1.0, 0.1)
    chance = np.where(weights == 1.0, share, 1 - share)
    labels = (rng.random(n) < chance).astype(int)
    said = {"predict": np.ones(n, dtype=int), "predict_proba": np.full((n, 2), 0.5)}
    return ClassifierPredictions(said, np.arange(2)), labels, weights


@pytest.mark.parametrize("n", [400, 1600, 30_000])
def test_confidence_is_of_weighted_rows_and_as_uncertain_as_they_are(n):
    answers, labels, weights = constant_classifier(n, 0.8)
    metric = as_metric("accuracy", None, labels)
    found = confidence_estimate(metric, answers, labels, weights, answers, 0.95, 0)
    # With one and the same probability the line finds the weighted share of labels.
    share = np.average(labels, weights=weights)
    assert found.value == pytest.approx(share, abs=2e-3)
    centered = weights * (labels - share) / weights.sum()
    reach = 1.96 * np.sqrt((centered**2).sum())
    assert (found.high - found.low) / 2 == pytest.approx(reach, rel=0.2)


def test_confidence_of_groups_is_as_uncertain_as_groups():
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(50), 20)
    labels = (rng.random(50) < 0.7).astype(int)[groups]
    said = {"predict": labels * 0 + 1, "predict_proba": np.full((1000, 2), 0.5)}
    answers = ClassifierPredictions(said, np.arange(2))
    metric = as_metric("accuracy", None, labels)
    found = confidence_estimate(
        metric, answers, labels, np.ones(1000), answers, 0.95, 0, groups
    )
    reach = t.ppf(0.975, 49) * labels.std() / np.sqrt(50)
    assert (found.high - found.low) / 2 == pytest.approx(reach, rel=0.2)


def test_the_model_of_the_loss_has_not_seen_the_rows_that_it_is_asked_about():
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=(800, 3)), rng.normal(size=800)
    model = fit_loss_model(x, noise, np.ones(800), x[:10], 0)
    assert abs(np.corrcoef(model.rows, noise)[0, 1]) < 0.1
    assert np.mean((noise - model.rows) ** 2) > 0.98 * noise.var()


def test_the_model_of_the_loss_has_not_seen_the_groups_that_it_is_asked_about():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(50), 16)
    # The row tells its group, and the group its loss: new groups are another matter.
    x, losses = rng.normal(size=50)[groups][:, None], rng.normal(size=50)[groups]
    by_row, by_group = (
        fit_loss_model(x, losses, np.ones(800), x[:10], 0, given).rows
        for given in (None, groups)
    )
    assert np.corrcoef(by_row, losses)[0, 1] > 0.7
    assert np.corrcoef(by_group, losses)[0, 1] < 0.3
    one = fit_loss_model(x, losses, np.ones(800), x[:10], 0, np.zeros(800, dtype=int))
    assert one.rows == pytest.approx(np.full(800, losses.mean()))


def test_the_model_of_the_loss_looks_to_the_target_by_the_root_of_the_weights():
    losses, weights = np.tile([0.0, 1.0], 200), np.tile([1.0, 9.0], 200)
    model = fit_loss_model(np.zeros((400, 1)), losses, weights, np.zeros((5, 1)), 0)
    assert model.target == pytest.approx(np.full(5, 0.75), abs=0.02)


def test_many_rows_are_modeled_alike_in_the_mean():
    rng = np.random.default_rng(0)
    x, many = rng.normal(size=(1000, 1)), rng.normal(size=(24_000, 1))
    model = fit_loss_model(x, x[:, 0] ** 2, np.ones(1000), many, 0)
    few = np.concatenate([model.at(many[:12_000]), model.at(many[12_000:])])
    assert model.target.mean() == pytest.approx(few.mean(), rel=0.01)
    assert np.corrcoef(model.target, few)[0, 1] > 0.98


def test_folds_that_know_other_classes_have_no_common_decision_function():
    said = {
        "predict": np.array(["a", "b"]),
        "predict_proba": np.array([[0.9, 0.1], [0.2, 0.8]]),
        "decision_function": np.array([-1.0, 1.0]),
    }
    parts = [
        ClassifierPredictions(said, np.array(list(names))) for names in ("ab", "bc")
    ]
    joined = joined_predictions(parts, [np.arange(2), np.arange(2, 4)])
    assert not hasattr(joined, "decision_function")
    assert joined.said["predict_proba"][:, 1].tolist() == [0.1, 0.8, 0.9, 0.2]
    alike = joined_predictions([parts[0]] * 2, [np.arange(2), np.arange(2, 4)])
    assert alike.said["decision_function"].tolist() == [-1, 1, -1, 1]
