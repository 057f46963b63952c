"""A model beside the best prediction that does not look at the row."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

from counterpoise.adaptation.performance_estimation import estimate_performance
from counterpoise.datasets import make_gaussian_shift
from counterpoise.performance.advice import Constant
from counterpoise.performance.loss_model import fit_loss_model as fit
from counterpoise.performance.metrics import (
    ClassifierPredictions,
    RegressorPredictions,
    as_metric,
)

NUMBERS = RegressorPredictions({"predict": np.zeros(3)})


@pytest.fixture(scope="module")
def drawn():
    return [make_gaussian_shift(2, n=250, m=250, random_state=k) for k in (0, 1)]


def judged(model, y, drawn, **more):
    a, b = drawn
    model.fit(a.X, y(a))
    return estimate_performance(model, b.X, y(b), b.X_target, random_state=0, **more), b


def test_a_good_model_saves_most_of_what_guessing_loses(drawn):
    found, b = judged(LinearRegression(), lambda s: s.X @ [2.0, 1.0], drawn)
    baseline = found.baseline
    assert baseline.verdict == "better than guessing"
    assert baseline.skill > 0.99
    # What the mean would lose on the target is its labels' variance, about.
    variance = (b.X_target @ [2.0, 1.0]).var()
    assert baseline.value == pytest.approx(variance, rel=0.35)
    assert baseline.root == pytest.approx(np.sqrt(found.best.value))
    assert baseline.root_low <= baseline.root <= baseline.root_high
    assert found["mean_squared_error"].to_dict()["baseline"]["verdict"].startswith("b")
    assert "guessing" in str(found)


def test_a_constant_neither_saves_nor_loses(drawn):
    found, _ = judged(DummyRegressor(), lambda s: s.X @ [2.0, 1.0], drawn)
    assert found.baseline.verdict != "better than guessing"
    noise = np.random.default_rng(0)
    found, _ = judged(DummyClassifier(), lambda s: noise.integers(0, 3, 250), drawn)
    assert found.baseline.verdict == "not shown to be better than guessing"
    assert abs(found.baseline.skill) < 0.05


def test_a_model_that_is_sure_of_noise_is_worse_than_guessing(drawn):
    rng = np.random.default_rng(1)

    def noise(shift):
        return rng.integers(0, 2, len(shift.X))

    class Sure(LogisticRegression):
        def predict_proba(self, X):
            p = super().predict_proba(X)
            return np.where(p > 0.5, 0.99, 0.01)

    found, _ = judged(Sure(), noise, drawn)
    assert found.baseline.verdict == "worse than guessing"
    assert found.baseline.skill < 0
    assert found.baseline.value == pytest.approx(np.log(2), abs=0.05)


def test_labeled_target_rows_take_part(drawn):
    found, _ = judged(
        LinearRegression(),
        lambda s: s.X @ [2.0, 1.0],
        drawn,
        X_target_labeled=drawn[1].X_target[:20],
        y_target_labeled=drawn[1].X_target[:20] @ [2.0, 1.0],
    )
    assert found.labeled is not None
    assert found.baseline.verdict == "better than guessing"


@pytest.mark.parametrize(
    ("metric", "value"), [("r2", 0.0), ("roc_auc", 0.5), ("balanced_accuracy", 0.5)]
)
def test_scores_that_are_no_means_stand_beside_a_constants(drawn, metric, value):
    classes = metric != "r2"
    model = LogisticRegression() if classes else LinearRegression()

    def y(shift):
        line = shift.X @ [2.0, 1.0]
        return (line > 0).astype(int) if classes else line

    found, _ = judged(model, y, drawn, scoring=metric)
    assert found.baseline.value == pytest.approx(value)
    assert found.baseline.verdict == "better than guessing"
    assert found.baseline.skill > 0.5


def test_of_f1_no_constant_is_a_guess(drawn):
    found, _ = judged(
        LogisticRegression(), lambda s: (s.X[:, 0] > 0).astype(int), drawn, scoring="f1"
    )
    assert found.baseline is None


def best(metric, y, weights):
    wanted = as_metric(metric, None, None)
    y = np.asarray(y, dtype=float)
    return Constant.of(wanted, NUMBERS, y, np.asarray(weights, dtype=float)), wanted


@pytest.mark.parametrize(
    "metric",
    [
        "neg_mean_squared_error",
        "neg_root_mean_squared_error",
        "neg_mean_absolute_error",
        "neg_mean_absolute_percentage_error",
        "neg_mean_squared_log_error",
        "neg_mean_poisson_deviance",
        "neg_mean_gamma_deviance",
    ],
)
def test_no_other_number_does_better_than_the_constant(metric):
    rng = np.random.default_rng(0)
    y, weights = rng.gamma(2.0, size=51), rng.random(51)
    constant, wanted = best(metric, y, weights)

    def loss(number):
        guess = Constant("", number).answers(51)
        return wanted.value(guess, guess.rows, y, weights)

    least = loss(constant.prediction)
    for other in np.linspace(y.min(), y.max(), 400):
        assert loss(other) >= least - 1e-12


def test_of_classes_it_is_their_weighted_shares():
    answers = ClassifierPredictions({"predict": np.zeros(4)}, np.array([0, 1]))
    y, weights = np.array([0, 0, 1, 1]), np.array([1.0, 1.0, 1.0, 5.0])
    found = Constant.of(as_metric("neg_log_loss", None, None), answers, y, weights)
    assert found.shares == pytest.approx([0.25, 0.75])
    assert found.prediction == 1
    assert found.answers(2).predict_proba([1]) == pytest.approx(
        np.array([[0.25, 0.75]])
    )


def test_several_outputs_have_a_constant_each(drawn):
    found, _ = judged(
        LinearRegression(), lambda s: np.column_stack([s.X[:, 0], s.X[:, 1]]), drawn
    )
    assert found.baseline.verdict == "better than guessing"


def test_of_many_rows_some_say_as_much(drawn, monkeypatch):
    def line(shift):
        return shift.X @ [2.0, 1.0] + np.sin(9 * shift.X[:, 0])

    whole, _ = judged(LinearRegression(), line, drawn)
    asked = []
    monkeypatch.setattr(
        "counterpoise.performance.result.fit_loss_model",
        lambda *given, **more: asked.append(len(given[3])) or fit(*given, **more),
    )
    monkeypatch.setattr("counterpoise.performance.advice.ROWS_PAIRED", 120)
    # Of the 250 source rows 100 teach the model of the difference.
    monkeypatch.setattr(
        "counterpoise.adaptation.performance_estimation.ROWS_WEIGHED", 100
    )
    part, _ = judged(LinearRegression(), line, drawn)
    assert asked == [250, 120]
    assert part.baseline.verdict == whole.baseline.verdict == "better than guessing"
    assert part.baseline.skill == pytest.approx(whole.baseline.skill, abs=0.1)
