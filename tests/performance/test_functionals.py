import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    f1_score,
    jaccard_score,
    precision_score,
    recall_score,
    roc_auc_score,
)

from counterpoise.performance.estimators import mean_estimates
from counterpoise.performance.functionals import Law, as_functional, linearize
from counterpoise.performance.intervals import wilson_interval
from counterpoise.performance.metrics import (
    ClassifierPredictions,
    Predictions,
    as_metric,
)

NAMES = ("roc_auc", "f1", "jaccard", "precision", "recall")
SCORES = {
    "f1": f1_score,
    "jaccard": jaccard_score,
    "precision": precision_score,
    "recall": recall_score,
}


def labels_of(rng, x):
    return (rng.random(x.size) < expit(1.5 * x - 1 + np.sin(3 * x))).astype(int)


def drawn(seed=0, n=400):
    """Draw a model and rows; scores are rounded, so that there are ties."""
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=n), 1)
    y = labels_of(rng, x)
    model = LogisticRegression().fit(x[:, None], y)
    return model, x, y, rng.exponential(size=n)


@pytest.mark.parametrize("name", NAMES)
def test_of_weighted_rows_it_is_scikit_learn_s_metric(name):
    model, x, y, weights = drawn()
    answers = Predictions.of(model, [x[:, None]], True)
    functional = as_functional(as_metric(name, model, y), answers)
    share = weights / weights.sum()
    found = functional.influence(
        Law(functional.points(answers), share * y, share * (1 - y))
    )
    if name == "roc_auc":
        scores = model.predict_proba(x[:, None])[:, 1]
        wanted = roc_auc_score(y, scores, sample_weight=weights)
    else:
        wanted = SCORES[name](y, model.predict(x[:, None]), sample_weight=weights)
    assert found.value == pytest.approx(wanted)


@pytest.mark.parametrize("name", NAMES)
def test_the_influence_is_the_derivative_by_the_mass_of_a_row(name):
    model, x, y, weights = drawn(1)
    answers = Predictions.of(model, [x[:, None]], True)
    functional = as_functional(as_metric(name, model, y), answers)
    points, share = functional.points(answers), weights / weights.sum()
    law = Law(points, share * y, share * (1 - y))
    found = functional.influence(law)
    k = np.where(y == 1, found.positive(points), found.negative(points))
    assert share @ k == pytest.approx(0.0, abs=1e-12)
    step = 1e-6
    for row in range(0, 400, 40):
        more = (1 - step) * share
        more[row] += step
        moved = functional.influence(Law(points, more * y, more * (1 - y)))
        assert (moved.value - found.value) / step == pytest.approx(k[row], abs=1e-4)


@pytest.mark.parametrize("name", ["roc_auc", "f1"])
def test_the_doubly_robust_one_needs_only_one_of_weights_and_chances(name):
    rng = np.random.default_rng(2)
    model, *_ = drawn(n=4000)
    x, x_target = rng.normal(size=6000), rng.normal(0.8, size=6000)
    y, y_target = labels_of(rng, x), labels_of(rng, x_target)
    answers, there = (Predictions.of(model, [z[:, None]], True) for z in (x, x_target))
    metric = as_metric(name, model, y)
    truth = metric.value(model, x_target[:, None], y_target)
    functional = as_functional(metric, answers)
    ones = np.ones(6000)
    right = [expit(1.5 * z - 1 + np.sin(3 * z)) for z in (x, x_target)]
    flat = [0.3 * ones, 0.3 * ones]
    found = {}
    for case, ratio, chances in (
        ("weights", np.exp(0.8 * x), flat),
        ("chances", ones, right),
        ("neither", ones, flat),
    ):
        p, p_there = chances
        one = linearize(functional, answers, y, ones, ratio, p, there, p_there)
        found[case] = abs(one.values()["doubly_robust"] - truth)
    assert found["weights"] < 0.04
    assert found["chances"] < 0.02
    assert found["neither"] > 2 * max(found["weights"], found["chances"])


def rare(seed):
    """Draw few positives, of which a model finds some by a noisy score."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=600)
    y = (rng.random(600) < expit(x - 3.6)).astype(int)
    scores = expit(x + rng.normal(size=600) - 1)
    said = {
        "predict": (scores > 0.5).astype(int),
        "predict_proba": np.column_stack([1 - scores, scores]),
    }
    return ClassifierPredictions(said, np.arange(2)), x, y


@pytest.mark.parametrize("name", ["roc_auc", "f1"])
def test_few_positives_have_intervals_that_hold_the_truth(name):
    many = [rare(1000 + seed) for seed in range(100)]
    metric = as_metric(name, None, [0, 1])
    said = {
        key: np.concatenate([a.said[key] for a, _, _ in many])
        for key in many[0][0].said
    }
    every = ClassifierPredictions(said, np.arange(2))
    truth = metric.value(every, every.rows, np.concatenate([y for _, _, y in many]))
    held = []
    for seed in range(150):
        answers, _, y = rare(seed)
        ones, flat = np.ones(600), np.full(600, y.mean())
        one = linearize(
            as_functional(metric, answers),
            answers,
            y,
            ones,
            np.exp(0.2 * np.random.default_rng(seed).normal(size=600)),
            flat,
            answers,
            flat,
        )
        found = mean_estimates(metric, one, 0.95)["weighted"]
        held.append(found.low <= truth <= found.high)
    assert np.mean(held) >= 0.93


def test_nothing_found_among_few_is_no_proof_of_nothing():
    said = {"predict": np.r_[np.ones(10), np.zeros(190)].astype(int)}
    answers = ClassifierPredictions(said, np.arange(2))
    y, ones = np.r_[np.zeros(190), np.ones(10)].astype(int), np.ones(200)
    metric = as_metric("f1", None, y)
    one = linearize(
        as_functional(metric, answers), answers, y, ones, ones, 0 * ones, answers,
        0 * ones,
    )  # fmt: skip
    assert one.worth == pytest.approx(20.0)
    found = mean_estimates(metric, one, 0.95)["weighted"]
    assert found.value == 0.0
    # None found of twenty: Wilson's end for Jaccard's index, as F1.
    share = wilson_interval(0.0, 20, 2.09, 0.0, 1.0).high
    assert found.high == pytest.approx(2 * share / (1 + share), rel=0.15)


@pytest.mark.parametrize(
    ("name", "classes"), [("roc_auc", 3), ("r2", 2), ("f1_macro", 2)]
)
def test_what_is_no_metric_of_two_classes_is_not_known(name, classes):
    said = {"predict": np.zeros(4, int), "predict_proba": np.full((4, classes), 0.5)}
    answers = ClassifierPredictions(said, np.arange(classes))
    assert as_functional(as_metric(name, answers, [0, 1]), answers) is None
    words = ClassifierPredictions(said, np.array(["a", "b", "c"][:classes]))
    assert as_functional(as_metric("f1", words, ["a", "b"]), words) is None
