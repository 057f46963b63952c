"""What a user is told to do with a model: beside guessing, beside others."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor

from counterpoise import UniformWeights, estimate_performance
from counterpoise.cli.fit import choice_among
from counterpoise.performance.advice import (
    Baseline,
    cross_fitted_constants,
    required_labels,
    skill_of,
    smallest,
    verdict_of,
    width_within,
)
from counterpoise.performance.estimators import Estimate
from counterpoise.performance.intervals import student_quantile
from counterpoise.performance.metrics import (
    ClassifierPredictions,
    RegressorPredictions,
    as_metric,
)
from counterpoise.performance.result import (
    LossFit,
    MetricEvaluator,
    MetricPerformance,
    Rows,
)
from counterpoise.report import Report
from counterpoise.report.formatting import to_text
from counterpoise.report.verdict import verdict_of as screen_of

HAIR = 1e-9
BETTER, WORSE = "better than guessing", "worse than guessing"
NOT_SHOWN = "not shown to be better than guessing"
COVERED, TOO_FEW, NO_OVERLAP = "shift, full overlap", "too few rows", "no overlap"


# -- guessing --------------------------------------------------------------------------


def test_a_model_is_better_or_worse_than_guessing_where_the_whole_interval_says_so():
    assert verdict_of(HAIR, 1.0) == BETTER
    assert verdict_of(0.0, 1.0) == NOT_SHOWN
    assert verdict_of(-1.0, 0.0) == NOT_SHOWN
    assert verdict_of(-1.0, -HAIR) == WORSE
    assert verdict_of(0.0, 0.0) == NOT_SHOWN


def test_skill_is_the_share_of_the_baselines_loss_that_is_saved():
    loss, score, r2 = (
        as_metric(name, None, None) for name in ("neg_log_loss", "accuracy", "r2")
    )
    assert skill_of(loss, 0.3, 0.6) == pytest.approx(0.5)
    assert skill_of(loss, 0.9, 0.6) == pytest.approx(-0.5)
    assert skill_of(score, 0.9, 0.6) == pytest.approx(0.75)
    assert skill_of(score, 0.5, 0.6) == pytest.approx(-0.25)
    assert skill_of(r2, 0.4, 0.0) == pytest.approx(0.4)
    # Where guessing loses nothing there is nothing to save.
    assert skill_of(loss, 0.1, 0.0) is None
    assert skill_of(score, 1.0, 1.0) is None


# -- how many labels -------------------------------------------------------------------


def test_the_smallest_number_of_labels_that_is_enough_is_advised():
    for wanted in (2, 3, 4, 37, 64, 65, 9_999):
        assert smallest(lambda k, wanted=wanted: k >= wanted) == wanted
    assert smallest(lambda k: k >= 9_000_000) is None
    assert smallest(lambda k: k >= 8_000_000) == 8_000_000


def test_the_width_asked_for_is_a_share_of_the_score_itself():
    assert width_within(-2.0, 0.1) == pytest.approx(0.1)
    # Of a root: between the roots of the ends of the mean.
    width = width_within(3.0, 1.0, root=True)
    assert width == pytest.approx((np.sqrt(10.0) - np.sqrt(8.0)) / 3)
    assert width_within(1.0, 4.0, root=True) == pytest.approx(np.sqrt(5.0))


def with_errors(rng, n):
    """Return a judge of losses that a model of them knows nothing about."""
    losses = rng.gamma(2.0, size=n)
    answers = RegressorPredictions({"predict": np.zeros(n)})
    target = RegressorPredictions({"predict": np.zeros(500)})
    X = np.zeros((n, 1))
    rows = Rows(answers, losses, np.ones(n), target, None, X, np.zeros((500, 1)), None)
    metric = as_metric("neg_mean_absolute_error", None, losses)
    judge = MetricEvaluator(rows, metric, np.ones(n), 0.95, 0)
    flat = np.full(n, losses.mean()), np.full(500, losses.mean())
    return judge, LossFit(losses, *flat, None)


def test_the_advised_number_is_enough_in_four_draws_of_five():
    rng = np.random.default_rng(0)
    judge, model = with_errors(rng, 2_000)
    mean = Estimate(2.0, 1.0, 3.0, "")
    found = MetricPerformance("m", False, mean, doubly_robust=mean)
    advised = required_labels(judge, model, found, 0.4)
    k = advised.n_labels
    widths = []
    for _ in range(400):
        drawn = rng.gamma(2.0, size=k)
        reach = student_quantile(k, 0.95) * drawn.std(ddof=1) / np.sqrt(k)
        widths.append(2 * reach / 2.0)
    assert 0.7 < np.mean(np.array(widths) <= 0.4) < 0.92
    assert required_labels(judge, model, found, 1.0).n_labels == 0
    assert required_labels(judge, model, found, 1.0 - HAIR).n_labels > 0


def test_labels_are_advised_where_the_interval_is_wider_than_asked_for():
    labels = {"precision": 0.1, "width": 0.69, "n_labels": 140, "n_target": 500}

    def steps(**more):
        found = {"labels": labels | more, "metrics": {}}
        files = {"target": {"file": "live.csv"}}
        by = {"command": "run", "options": {"label": "the label"}}
        seen = screen(COVERED, BETTER, performance=found, data=files, reproduce=by)
        return [to_text(s) for s in seen.steps]

    assert any("label about 140 new rows" in step for step in steps())
    command = "counterpoise label --k 140 --target live.csv --label 'the label'"
    assert any(f"{command} --out to_label.csv" in step for step in steps())
    assert not any("label about" in step for step in steps(n_labels=0))
    assert any("takes more new rows first" in step for step in steps(n_labels=None))
    many = " ".join(steps(n_labels=501))
    assert "more than there are" in many
    assert "counterpoise label" not in many


# -- other estimators ------------------------------------------------------------------


def tried(value, saved=1.0, higher=False):
    best = Estimate(value, value - 1, value + 1, "")
    guess = Baseline("mean", value + saved, saved, saved - 1, saved + 1, 0.1, BETTER)
    return MetricPerformance("m", higher, best, doubly_robust=best, baseline=guess)


def test_the_estimator_with_the_best_estimate_is_taken_and_at_equality_the_simpler():
    both = {"linear": tried(1.0), "boosting": tried(1.0)}
    assert choice_among(both) == "linear"
    assert choice_among(both | {"boosting": tried(1.0 - HAIR)}) == "boosting"
    assert choice_among(both | {"boosting": tried(1.0 + HAIR)}) == "linear"
    scores = {"linear": tried(1.0, higher=True), "boosting": tried(0.9, higher=True)}
    assert choice_among(scores) == "linear"


def test_a_constant_is_taken_where_the_better_one_saves_nothing():
    others = {"boosting": tried(2.0, saved=5.0)}
    assert choice_among({"linear": tried(1.0, saved=0.0)} | others) == "constant"
    assert choice_among({"linear": tried(1.0, saved=HAIR)} | others) == "linear"


# -- the first screen ------------------------------------------------------------------


def screen(word, guessing, **more):
    shift = {"auc": 0.7, "auc_low": 0.65, "auc_high": 0.75, "uncovered_fraction": 0.1}
    shift |= {"verdict": word, "covered": 0.9, "n_source": 9, "n_target": 9}
    baseline = {"prediction": "class shares", "value": 1.51, "skill": -0.26}
    baseline |= {"verdict": guessing, "root": None}
    headline = {"metric": "neg_log_loss", "higher_is_better": False, "value": 1.9}
    headline |= {"estimate": "doubly_robust", "low": 1.7, "high": 2.1, "source": 1.2}
    headline |= {"level": 0.95, "baseline": baseline}
    model = {"adapted": False, "type": "Ridge", "exponent": 0.0}
    reproduce = {"command": "run", "options": {"estimator": "boosting"}}
    found = {"shift": shift, "headline": headline, "model": model}
    return screen_of(Report.from_dict(found | {"reproduce": reproduce} | more))


def test_a_model_that_does_not_beat_guessing_leads_the_screen():
    found = screen(COVERED, WORSE)
    assert (found.tone, found.title) == (
        "stop",
        "Do not use this model there: guessing would do better.",
    )
    assert "--estimator auto" in to_text(found.steps[0])
    assert not any("Use the model" in to_text(step) for step in found.steps)
    assert found.answers[-1].short == "Worse than guessing"
    assert "Guessing (the class shares for every row) would get 1.51" in to_text(
        found.answers[-1].told
    )
    found = screen(COVERED, NOT_SHOWN)
    assert (found.tone, found.answers[-1].short) == (
        "care",
        "Not shown to be better than guessing",
    )
    assert "not shown to be better than guessing" in found.title
    assert "Use your model" in screen(COVERED, BETTER).title


def test_too_few_rows_and_no_overlap_lead_before_guessing():
    assert "too few rows" in screen(TOO_FEW, WORSE).title
    assert "Do not deploy" in screen(NO_OVERLAP, WORSE).title


def test_other_estimators_are_not_advised_where_they_were_tried():
    auto = {"command": "run", "options": {"estimator": "auto"}}
    steps = screen(COVERED, NOT_SHOWN, reproduce=auto).steps
    assert not any("--estimator auto" in to_text(step) for step in steps)
    tried_there = [
        {"estimator": "linear", "value": 1.9, "chosen": False},
        {"estimator": "constant", "value": 1.5, "chosen": True},
    ]
    answer = screen(COVERED, NOT_SHOWN, tried=tried_there).answers[-1]
    assert "(linear 1.90, constant 1.50) the best was taken: constant" in to_text(
        answer.told
    )


def test_a_constant_fitted_to_other_rows_is_not_worse_than_guessing():
    # Twenty rows: a mean that has seen each label would win nearly every time.
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, X_target = rng.normal(size=(2, 20, 1))
        y = rng.normal(size=20)
        model = DummyRegressor().fit(X, y)
        found.append(
            estimate_performance(
                model,
                X,
                y,
                X_target,
                cv=5,
                weight_estimator=UniformWeights(),
                random_state=0,
            ).baseline.verdict
        )
    assert found.count("not shown to be better than guessing") >= 5


def test_rows_are_guessed_by_the_rows_of_other_folds_and_groups():
    y = 2.0 ** np.repeat(np.arange(10), 3)
    groups = np.repeat(np.arange(10), 3)
    metric = as_metric("neg_mean_squared_error", None, None)
    answers = RegressorPredictions({"predict": np.zeros(30)})
    guessed = cross_fitted_constants(metric, answers, y, np.ones(30), groups, seed=0)
    means = guessed.predict(guessed.rows)
    # Two groups a fold, and the mean of the other eight.
    assert len(np.unique(means)) == 5
    for mean in np.unique(means):
        own = means == mean
        assert mean == pytest.approx(y[~own].mean())
        assert len(np.unique(groups[own])) == 2


def test_a_class_that_the_other_folds_lack_is_not_impossible():
    answers = ClassifierPredictions({"predict": np.zeros(10)}, np.array(["a", "b"]))
    y = np.array(["a"] * 9 + ["b"])
    metric = as_metric("neg_log_loss", None, None)
    guessed = cross_fitted_constants(metric, answers, y, np.ones(10), None, seed=0)
    # Eight rows of "a" and none of "b", each half a row more.
    assert guessed.predict_proba([9])[0] == pytest.approx([8.5 / 9, 0.5 / 9])


def wanted_with(n_labeled):
    labeled, weighted = Estimate(0.5, 0.4, 0.6, ""), Estimate(0.5, 0.451, 0.549, "")
    found = SimpleNamespace(best=labeled, labeled=labeled, weighted=weighted)
    rows = SimpleNamespace(
        labeled=(None, np.zeros(n_labeled)),
        answers_target=SimpleNamespace(rows=np.arange(500)),
        counts=np.ones(100),
        groups=None,
    )
    metric = as_metric("roc_auc", None, None)
    judge = SimpleNamespace(rows=rows, metric=metric, ratio=np.ones(100))
    return required_labels(judge, None, found, 0.2)


def test_more_labels_than_there_are_rows_are_said_to_be_so():
    # 500 target rows; four times as many labels as there are would do.
    for n_labeled, n_labels, is_more in ((125, 500, False), (126, 504, True)):
        wanted = wanted_with(n_labeled)
        assert wanted.n_labels == n_labels
        assert ("more than the 500 that there are" in str(wanted.finding)) is is_more
        assert (wanted.width_of_all is not None) is is_more
        assert (
            "labels of all of them would leave it" in str(wanted.finding)
        ) is is_more
    # As many labels as rows have been given: the others would not help.
    assert "labels of all of them" not in str(wanted_with(500).finding)
    # Of a score of zero, or none, no share can be asked for.
    for best in (None, Estimate(0.0, -0.1, 0.1, "")):
        found = SimpleNamespace(best=best, labeled=best)
        assert required_labels(None, None, found, 0.2) is None


def test_the_width_of_few_labeled_rows_is_not_extrapolated():
    # From 30 rows: half as wide with four times as many.
    assert wanted_with(30).n_labels == 120
    # From fewer: by the weighted estimate, 0.98 times as wide as asked for of 100 rows.
    assert [wanted_with(k).n_labels for k in (2, 29)] == [97, 97]


def test_labels_that_are_there_count_among_those_wanted():
    # Half as wide with four times as many.
    wanted = wanted_with(150)
    assert (wanted.width, wanted.n_labels) == (pytest.approx(0.4), 600)
    assert wanted.width_of_all == pytest.approx(0.4 * np.sqrt(150 / 500))


def test_where_labels_contradict_no_other_models_of_the_old_relation_are_advised():
    check = {"contradicts": True, "p_value": 0.0, "n_labeled": 150, "finding": ""}
    metrics = {"neg_log_loss": {"check": check, "labeled": {"value": 1.9}}}
    steps = screen(COVERED, NOT_SHOWN, performance={"metrics": metrics}).steps
    said = " ".join(to_text(step) for step in steps)
    assert "fit a model to them" in said
    assert "best constant prediction" not in said
