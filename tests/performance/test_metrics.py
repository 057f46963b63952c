import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.metrics import get_scorer, log_loss, make_scorer, mean_squared_error
from sklearn.svm import LinearSVC

from counterpoise.performance.metrics import as_metric, is_classifier

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
classes = np.where(X[:, 0] + rng.normal(size=200) > 0, "yes", "no")
numbers = (classes == "yes").astype(int)
three = np.digitize(X[:, 0] + rng.normal(size=200), [-0.5, 0.5])
positive = np.exp(X[:, 0] + 0.3 * rng.normal(size=200))
weights = rng.random(200)

CLASS_SCORES = [
    "accuracy",
    "neg_log_loss",
    "neg_brier_score",
    "roc_auc",
    "average_precision",
    "balanced_accuracy",
    "f1",
    "matthews_corrcoef",
]
NUMBER_SCORES = [
    "neg_mean_squared_error",
    "neg_root_mean_squared_error",
    "neg_mean_absolute_error",
    "neg_mean_absolute_percentage_error",
    "neg_mean_squared_log_error",
    "neg_mean_poisson_deviance",
    "neg_mean_gamma_deviance",
    "neg_median_absolute_error",
    "r2",
]


@pytest.mark.parametrize("name", CLASS_SCORES + NUMBER_SCORES)
def test_values_are_those_of_scikit_learn_up_to_the_sign_of_losses(name):
    y = numbers if name in CLASS_SCORES else positive
    kind = LogisticRegression if name in CLASS_SCORES else PoissonRegressor
    model = kind().fit(X, y)
    metric = as_metric(name, model, y)
    sign = -1 if name.startswith("neg_") else 1
    for sample_weight in (None, weights):
        wanted = get_scorer(name)(model, X, y, sample_weight=sample_weight)
        assert metric.value(model, X, y, sample_weight) == pytest.approx(sign * wanted)
    assert metric.higher_is_better == (sign == 1)
    assert metric.lowest <= metric.value(model, X, y) <= metric.highest


@pytest.mark.parametrize("name", CLASS_SCORES + NUMBER_SCORES)
def test_a_rowwise_metric_is_the_mean_of_its_rows(name):
    y = numbers if name in CLASS_SCORES else positive
    kind = LogisticRegression if name in CLASS_SCORES else PoissonRegressor
    model = kind().fit(X, y)
    metric = as_metric(name, model, y)
    if metric.by_row is None:
        with pytest.raises(ValueError, match=name):
            metric.rows(model, X, y)
        return
    rows = metric.rows(model, X, y)
    assert rows.shape == (200,)
    mean = np.average(rows, weights=weights)
    assert metric.of_mean(mean) == pytest.approx(metric.value(model, X, y, weights))


def test_brier_of_three_classes_is_the_sum_of_squares_over_them():
    # As in scikit-learn from 1.7 on; before, it knows two classes alone.
    model = LogisticRegression().fit(X, three)
    metric = as_metric("neg_brier_score", model, three)
    squares = (model.predict_proba(X) - (three[:, None] == model.classes_)) ** 2
    wanted = squares.sum(axis=1).mean()
    assert metric.value(model, X, three) == pytest.approx(wanted)


def test_log_loss_finds_the_column_of_string_labels():
    model = LogisticRegression().fit(X, classes)
    metric = as_metric("log_loss", model, classes)
    wanted = log_loss(classes, model.predict_proba(X), labels=model.classes_)
    assert metric.name == "neg_log_loss"
    assert metric.value(model, X, classes) == pytest.approx(wanted)


def test_a_class_that_the_model_has_not_seen_costs_the_smallest_probability():
    model = LogisticRegression().fit(X[three < 2], three[three < 2])
    rows = as_metric(None, model, three).rows(model, X, three)
    assert rows[three == 2] == pytest.approx(np.full((three == 2).sum(), np.log(1e6)))
    assert (rows[three < 2] < 10).all()


def test_the_usual_metric_depends_on_the_model():
    assert as_metric(None, LogisticRegression(), classes).name == "neg_log_loss"
    assert as_metric(None, LinearSVC(), classes).name == "error_rate"
    assert as_metric(None, Ridge(), positive).name == "neg_mean_squared_error"


def test_error_rate_is_one_minus_accuracy():
    model = LinearSVC().fit(X, classes)
    metric = as_metric(None, model, classes)
    assert metric.value(model, X, classes) == pytest.approx(1 - model.score(X, classes))


def test_several_outputs_are_averaged():
    Y = np.column_stack([positive, numbers])
    model = Ridge().fit(X, Y)
    metric = as_metric(None, model, Y)
    wanted = mean_squared_error(Y, model.predict(X), sample_weight=weights)
    assert metric.value(model, X, Y, weights) == pytest.approx(wanted)


def test_a_scorer_without_weights_is_refused_by_name():
    with pytest.raises(TypeError, match="neg_max_error"):
        as_metric("neg_max_error", Ridge(), positive)

    def mine(model, X, y):
        return 0.0

    with pytest.raises(TypeError, match="mine"):
        as_metric(mine, Ridge(), positive)


def test_a_scorer_of_ones_own_is_taken_as_it_is():
    scorer = make_scorer(mean_squared_error, greater_is_better=False)
    model = Ridge().fit(X, positive)
    metric = as_metric(scorer, model, positive)
    wanted = scorer(model, X, positive, sample_weight=weights)
    assert metric.value(model, X, positive, weights) == pytest.approx(wanted)
    assert metric.higher_is_better
    assert not metric.rowwise


@pytest.mark.parametrize(
    ("scoring", "error"), [("acuracy", ValueError), (3, TypeError)]
)
def test_nonsense_is_refused(scoring, error):
    with pytest.raises(error, match="scoring"):
        as_metric(scoring, Ridge(), positive)


def test_deviances_name_the_row_that_they_cannot_take():
    y = positive.copy()
    y[7] = -1.0
    model = PoissonRegressor().fit(X, positive)
    with pytest.raises(ValueError, match="row 7"):
        as_metric("neg_mean_gamma_deviance", model, y).rows(model, X, y)


def test_a_model_without_tags_is_judged_by_its_labels():
    assert is_classifier(object(), ["a", "b"])
    assert not is_classifier(object(), [0.5, 1.5])


@pytest.mark.parametrize("name", ["accuracy", "mean_squared_error", "r2"])
def test_metrics_survive_pickling(name):
    model = Ridge().fit(X, positive)
    metric = as_metric(name, model, positive)
    again = pickle.loads(pickle.dumps(metric))
    assert again.value(model, X, positive) == metric.value(model, X, positive)
