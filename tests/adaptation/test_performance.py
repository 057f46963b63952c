import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_array

from counterpoise.adaptation.adapted import Adapted, TrainingRowsWarning, row_marks
from counterpoise.adaptation.performance_estimation import estimate_performance
from counterpoise.data.samples import Samples
from counterpoise.performance.estimators import Evidence
from counterpoise.performance.result import ESTIMATES, label_check
from counterpoise.weights.base import UniformWeights
from counterpoise.weights.log_linear import LogLinearKLIEP

# Enough for all that is no matter of the weights, and fast.
FAST = LogLinearKLIEP(statistics="linear", random_state=0)


def numbers(seed, n=600, moved=1.0, twist=0.0):
    """Draw a kinked law; `twist` changes p(y | x)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) + np.array([moved, 0])
    return X, np.abs(X[:, 0]) + X[:, 1] + twist * X[:, 0] + 0.3 * rng.normal(size=n)


def classes(seed, n=400, moved=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) + np.array([moved, 0])
    chance = 1 / (1 + np.exp(-2 * np.sin(2 * X[:, 0]) - X[:, 1]))
    return X, np.where(rng.random(n) < chance, "yes", "no")


def squared(model, X, y):
    return np.mean((model.predict(X) - y) ** 2)


def test_the_target_s_loss_is_found_where_the_source_s_is_far_off():
    model = LinearRegression().fit(*numbers(0, moved=0))
    X, y = numbers(1, 1500, moved=0)
    X_target, _ = numbers(2, 1500)
    truth = squared(model, *numbers(3, 20_000))
    found = estimate_performance(model, X, y, X_target, random_state=0)
    assert found.source.high < 0.8 * truth
    for name in ("weighted", "direct", "doubly_robust"):
        estimate = getattr(found, name)
        assert estimate.value == pytest.approx(truth, rel=0.2)
        assert estimate.low < truth < estimate.high
    assert found.confidence is None
    assert "probabilities" in found["mean_squared_error"].reasons["confidence"]
    assert 0 < found.effective_rows < 1500
    assert found.best is getattr(found, found["mean_squared_error"].leading)


def test_classifiers_have_every_estimate_and_aucs_those_that_are_defined():
    model = LogisticRegression().fit(*classes(0, moved=0))
    X, y = classes(1, moved=0)
    X_target, _ = classes(2)
    X_test, y_test = classes(3, 20_000)
    found = estimate_performance(
        model,
        X,
        y,
        X_target,
        scoring=["neg_log_loss", "accuracy", "roc_auc", "balanced_accuracy"],
        weight_estimator=FAST,
        random_state=0,
    )
    truth = np.mean(model.predict(X_test) == y_test)
    accuracy = found["accuracy"]
    assert accuracy.doubly_robust.low < truth < accuracy.doubly_robust.high
    assert accuracy.confidence is not None
    auc = found["roc_auc"]
    area = roc_auc_score(y_test, model.predict_proba(X_test)[:, 1])
    for name in ("weighted", "direct", "doubly_robust"):
        one = getattr(auc, name)
        assert one.low < area < one.high <= 1
        assert one.value == pytest.approx(area, abs=0.08)
    assert auc.best is getattr(auc, auc.leading)
    assert auc.confidence is not None
    balanced = found["balanced_accuracy"]
    assert balanced.doubly_robust is None
    assert "no mean" in balanced.reasons["doubly_robust"]
    assert balanced.best is balanced.weighted


def test_without_overlap_nothing_is_invented():
    model = LinearRegression().fit(*numbers(0, moved=0))
    X, y = numbers(1, moved=0)
    found = estimate_performance(model, X, y, X + 50, random_state=0)
    one = found["neg_mean_squared_error"]
    assert found.verdict == "no overlap"
    assert found.uncovered_fraction > 0.9
    assert found.covered is None
    assert found.effective_rows is None
    assert found.best is None
    assert one.source.value == pytest.approx(squared(model, X, y))
    for name in ("weighted", "direct", "doubly_robust", "confidence"):
        assert getattr(one, name) is None
        assert name in one.reasons
    assert "cannot be told" in str(found)


def test_labeled_rows_see_a_change_that_inputs_do_not_show():
    model = LinearRegression().fit(*numbers(0, moved=0))
    X, y = numbers(1, moved=0)
    X_target, _ = numbers(2)
    p_values = {}
    for twist in (0.0, 3.0):
        X_lab, y_lab = numbers(4, 60, twist=twist)
        found = estimate_performance(
            model,
            X,
            y,
            X_target,
            X_target_labeled=X_lab,
            y_target_labeled=y_lab,
            weight_estimator=FAST,
        )
        truth = squared(model, *numbers(5, 20_000, twist=twist))
        assert found.labeled.low < truth < found.labeled.high
        assert found.best is found.labeled
        assert found.check.n_labeled == 60
        p_values[twist] = found.check.p_value
        if twist:
            assert not found.doubly_robust.low < truth < found.doubly_robust.high
            assert "changed" in str(found.check.finding)
    assert p_values[3.0] < 1e-3 < 0.05 < p_values[0.0]


def test_the_check_of_labels_is_as_often_wrong_as_it_says():
    p_values = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        x, lab = rng.normal(size=200), rng.normal(0.5, size=40)
        losses, lab_losses = (v + rng.exponential(size=v.size) for v in (x, lab))
        evidence = Evidence(losses, np.exp(0.5 * x), np.ones(200), 0.5 * x, 0.5 * lab)
        p_values.append(label_check(evidence, lab_losses, 0.5 * lab).p_value)
    assert 0.01 < np.mean(np.array(p_values) < 0.05) < 0.1


def test_the_covered_part_leaves_thin_rows_out():
    model = LinearRegression().fit(*numbers(0, moved=0))
    X, y = numbers(1, moved=0)
    near, far = numbers(2, 450, moved=0.5)[0], numbers(3, 150, moved=9.0)[0]
    found = estimate_performance(
        model,
        X,
        y,
        np.vstack([near, far]),
        weight_estimator=clone(FAST).set_params(allow_no_overlap=True),
    )
    assert found.covered.share == pytest.approx(0.75, abs=0.05)
    truth = squared(model, *numbers(4, 20_000, moved=0.5))
    robust = found.covered.doubly_robust
    assert robust.low < truth < robust.high
    assert "thinly covered" in found.statement


def test_out_of_fold_answers_are_those_of_refitted_clones():
    X, y = numbers(0, 200, moved=0)
    X_target, _ = numbers(1, 200)
    model = Ridge().fit(X, y)
    folds = KFold(4)
    losses = np.empty(200)
    for kept, out in folds.split(X):
        losses[out] = (Ridge().fit(X[kept], y[kept]).predict(X[out]) - y[out]) ** 2
    found = estimate_performance(model, X, y, X_target, cv=folds, weight_estimator=FAST)
    assert found.source.value == pytest.approx(losses.mean())


def test_a_fitted_adapted_model_is_refitted_with_the_weights_that_it_had():
    X, y = numbers(0, 300, moved=0)
    X_target, _ = numbers(1, 300, moved=0.4)
    model = Adapted(Ridge(), FAST, guard=False).fit(X, y, X_target=(X_target,))
    folds = KFold(3)
    losses = np.empty(300)
    for kept, out in folds.split(X):
        fresh = Ridge().fit(X[kept], y[kept], sample_weight=model.weights_[kept])
        losses[out] = (fresh.predict(X[out]) - y[out]) ** 2
    found = estimate_performance(model, X, y, X_target, cv=folds, weight_estimator=FAST)
    assert found.source.value == pytest.approx(losses.mean())
    with pytest.raises(ValueError, match="same rows"):
        estimate_performance(
            model, X[:90], y[:90], X_target, cv=3, weight_estimator=FAST
        )


def test_out_of_fold_needs_every_row_once():
    X, y = numbers(0, 100, moved=0)
    pairs = [(np.arange(50), np.arange(50, 100))]
    with pytest.raises(ValueError, match="every row"):
        estimate_performance(
            Ridge().fit(X, y), X, y, X, cv=pairs, weight_estimator=FAST
        )


def test_weights_of_the_user_enter_every_mean():
    model = LinearRegression().fit(*numbers(0, moved=0))
    X, y = numbers(1, 300, moved=0)
    X_target, _ = numbers(2, 300)
    counts = np.random.default_rng(0).integers(0, 3, 300)
    common = {"weight_estimator": UniformWeights(), "random_state": 0}
    weighted = estimate_performance(
        model, X, y, X_target, sample_weight=counts, **common
    )
    repeated = estimate_performance(
        model, np.repeat(X, counts, axis=0), np.repeat(y, counts), X_target, **common
    )
    assert weighted.source.value == pytest.approx(repeated.source.value)
    assert weighted.weighted.value == pytest.approx(repeated.weighted.value)


def test_records_are_json_deterministic_and_survive_pickling():
    model = LogisticRegression().fit(*classes(0, moved=0))
    X, y = classes(1, 200, moved=0)
    X_target, _ = classes(2, 200)

    def ask():
        return estimate_performance(
            model, X, y, X_target, scoring=[None, "f1_macro"], weight_estimator=FAST,
            random_state=3,
        )  # fmt: skip

    found = ask()
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert text == json.dumps(ask().to_dict(), allow_nan=False)
    assert json.loads(text)["metrics"]["f1_macro"]["doubly_robust"] is None
    assert pickle.loads(pickle.dumps(found)).to_dict() == found.to_dict()
    for name in ESTIMATES:
        assert getattr(found, name) == getattr(found["log_loss"], name)


def test_mixed_tables_tuples_and_pipelines_are_taken():
    rng = np.random.default_rng(0)

    def frame(n, moved):
        x = rng.normal(size=n) + moved
        x[0] = np.nan
        return pd.DataFrame({"x": x, "c": rng.choice(["a", "b"], n)})

    class OnX:
        """Predicts from one column, and is no estimator of scikit-learn."""

        def predict(self, X):
            return X["x"].fillna(0).to_numpy()

    X, first, second = frame(150, 0), frame(60, 0.5), frame(80, 0.5)
    y = X["x"].fillna(0).to_numpy() + rng.normal(size=150)
    found = estimate_performance(OnX(), X, y, (first, second), weight_estimator=FAST)
    assert found.n_target == 140
    assert found.doubly_robust.value == pytest.approx(1.0, abs=0.5)
    pipe = make_pipeline(StandardScaler(), Ridge()).fit(*numbers(0, 100))
    rows = numbers(1, 100)
    assert (
        estimate_performance(pipe, *rows, rows[0], weight_estimator=FAST).source.value
        > 0
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"confidence_level": 1.0}, "confidence_level"),
        ({"scoring": []}, "scoring is empty"),
        ({"scoring": ["acuracy"]}, "scoring"),
        ({"X_target_labeled": np.ones((3, 2))}, "y_target_labeled"),
        (
            {"X_target_labeled": np.ones((1, 2)), "y_target_labeled": [1.0]},
            "X_target_labeled has 1 row",
        ),
        ({"weight_estimator": "kliep"}, "weight_estimator"),
        ({"sample_weight": [1.0]}, "sample_weight"),
        ({"y": [1.0]}, "y has 1 rows"),
    ],
)
def test_bad_input_is_named(given, message):
    X, y = numbers(0, 60, moved=0)
    arguments = {"y": y, **given}
    with pytest.raises((ValueError, TypeError), match=message):
        estimate_performance(
            Ridge().fit(X, y), X, arguments.pop("y"), X + 0.1, **arguments
        )


def test_labels_that_are_all_flipped_do_not_pass_for_unchanged():
    rng = np.random.default_rng(0)
    X, X_target, X_lab = (rng.normal(size=(n, 2)) for n in (300, 300, 40))
    model = DecisionTreeClassifier().fit(X, X[:, 0] > 0)
    found = estimate_performance(
        model, X, X[:, 0] > 0, X_target,
        X_target_labeled=X_lab, y_target_labeled=X_lab[:, 0] <= 0,
        scoring="error_rate", weight_estimator=FAST,
    )  # fmt: skip
    assert found.check.p_value < 1e-6
    assert found.best.value > 0.9
    assert found.doubly_robust.high > 0


def test_groups_make_every_interval_wider():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(25), 12)
    X = rng.normal(size=(300, 2))
    # The noise has the same size throughout a group.
    y = X[:, 0] + np.exp(rng.normal(size=25))[groups] * rng.choice([-1, 1], 300)
    model = LinearRegression().fit(X, X[:, 0])
    widths = {}
    for given in (None, groups):
        found = estimate_performance(
            model, X, y, X + 0.3, groups=given, weight_estimator=FAST, random_state=0,
            scoring=["neg_mean_squared_error", "r2"],
        )["neg_mean_squared_error"]  # fmt: skip
        for name in ("source", "weighted", "direct", "doubly_robust"):
            one = getattr(found, name)
            widths.setdefault(name, []).append(one.high - one.low)
    for alone, together in widths.values():
        assert together > 1.3 * alone
    with pytest.raises(ValueError, match="groups must have an entry"):
        estimate_performance(model, X, y, X, groups=groups[:-1], weight_estimator=FAST)


def test_two_labeled_rows_sharpen_a_good_estimate_and_do_not_displace_it():
    model = LinearRegression().fit(*numbers(0, moved=0))
    X, y = numbers(1, 1000, moved=0)
    X_target, _ = numbers(2, 1000)
    truth = squared(model, *numbers(5, 20_000))
    for metric in (None, "r2"):
        for seed in range(3):
            X_lab, y_lab = numbers(6 + seed, 2)
            found = estimate_performance(
                model, X, y, X_target,
                X_target_labeled=X_lab, y_target_labeled=y_lab, weight_estimator=FAST,
                scoring=metric, random_state=0,
            )  # fmt: skip
            without = found.doubly_robust or found.weighted
            assert found.best is found.labeled
            width = found.best.high - found.best.low
            assert width < 1.5 * (without.high - without.low)
            if metric is None:
                assert found.best.low < truth < found.best.high
                assert "p(y | x)" in str(found.best.assumption)


class DrawsRows(Ridge):
    """Takes no weights, and remembers how many rows it was fitted to."""

    def fit(self, X, y):
        self.n_rows_ = len(X)
        return super().fit(X, y)

    def predict(self, X):
        return np.full(len(X), float(self.n_rows_))


@pytest.mark.parametrize(
    ("given", "n_rows"), [({"max_samples": 51}, 34), ({"resample": True}, 200)]
)
def test_a_model_that_draws_rows_is_refitted_by_drawing_its_share(given, n_rows):
    X, _ = numbers(0, 300, moved=0)
    X_target, _ = numbers(1, 300, moved=0.3)
    y = np.zeros(300)
    model = Adapted(DrawsRows(), FAST, guard=False, random_state=0, **given)
    model.fit(X, y, X_target=(X_target,))
    found = estimate_performance(model, X, y, X_target, cv=3, weight_estimator=FAST)
    assert found.source.value == pytest.approx(n_rows**2)


def test_searches_and_pipelines_around_an_adapted_model_keep_its_weights():
    X, y = numbers(0, 300, moved=0)
    X_target, _ = numbers(1, 300, moved=0.4)
    inner = Adapted(Ridge(), FAST, guard=False)
    common = {"cv": KFold(3), "weight_estimator": "model", "random_state": 0}
    wanted = estimate_performance(
        clone(inner).fit(X, y, X_target=(X_target,)), X, y, X_target, **common
    )
    search = GridSearchCV(inner, {"estimator__alpha": [1.0]}, cv=3)
    pipe = make_pipeline(clone(inner))
    both = make_pipeline(StandardScaler(), GridSearchCV(inner, {}, cv=3))
    search.fit(X, y, X_target=(X_target,))
    pipe.fit(X, y, adapted__X_target=(X_target,))
    for model in (search, pipe):
        found = estimate_performance(model, X, y, X_target, **common)
        assert found.to_dict() == wanted.to_dict()
    scaled = StandardScaler().fit(X)
    both.fit(X, y, gridsearchcv__X_target=(scaled.transform(X_target),))
    found = estimate_performance(both, X, y, X_target, **common)
    assert found.source.value == pytest.approx(wanted.source.value, rel=0.02)


def test_other_models_around_an_adapted_one_are_refused_by_name():
    X, y = numbers(0, 100, moved=0)
    inner = Adapted(Ridge(), missing_target="ignore")
    model = BaggingRegressor(inner, n_estimators=2).fit(X, y)
    with pytest.raises(TypeError, match="BaggingRegressor around an Adapted"):
        estimate_performance(model, X, y, X, cv=3, weight_estimator=FAST)
    assert estimate_performance(model, X, y, X, weight_estimator=FAST).source.value > 0


def test_classes_that_the_model_does_not_know_leave_no_confidence():
    X, y = classes(0, moved=0)
    model = LogisticRegression().fit(X, y)
    strange = np.where(np.arange(400) % 2, y, "maybe")
    found = estimate_performance(
        model, X, strange, classes(1)[0], scoring="accuracy", weight_estimator=FAST
    )
    assert found.confidence is None
    assert "200 of 400 source rows" in found["accuracy"].reasons["confidence"]
    assert found.source.value < 0.5


def test_the_covered_part_is_another_part_than_the_whole():
    model = LinearRegression().fit(*numbers(0, moved=0))
    X, y = numbers(1, moved=0)
    near, far = numbers(2, 450, moved=0.5)[0], numbers(3, 150, moved=4.0)[0]
    both = np.vstack([near, far])
    found = estimate_performance(
        model,
        X,
        y,
        both,
        weight_estimator=clone(FAST).set_params(allow_no_overlap=True),
        random_state=0,
    )
    assert found.covered.share < 0.9
    assert found.covered.direct.value < 0.8 * found.direct.value


def test_the_covered_part_of_many_rows_is_worth_what_all_of_them_are():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(12_000, 1)), rng.normal(0.1, size=(12_000, 1))
    y = X[:, 0] + rng.normal(size=12_000)
    model = LinearRegression().fit(X, y)
    found = estimate_performance(
        model, X, y, X_target, weight_estimator=FAST, random_state=0
    )
    assert found.covered.effective_rows == pytest.approx(found.effective_rows, rel=0.1)


def test_a_model_is_asked_for_no_more_than_its_metrics_need():
    asked = []

    class Listening(LogisticRegression):
        def predict(self, X):
            asked.append("predict")
            return super().predict(X)

        def decision_function(self, X):
            asked.append("decision_function")
            return super().decision_function(X)

    X, y = classes(0, 200, moved=0)
    model = Listening().fit(X, y)
    estimate_performance(
        model, X, y, X, scoring="neg_brier_score", weight_estimator=FAST
    )
    assert "predict" not in asked
    found = estimate_performance(
        model, X, y, X, scoring="accuracy", weight_estimator=FAST
    )
    assert found.source.value == pytest.approx(model.score(X, y))


def test_rows_of_the_fit_are_noticed():
    X, y = numbers(0, n=300, moved=0)
    ask = {
        "X_target": numbers(1, n=200, moved=0.3)[0],
        "weight_estimator": FAST,
        "random_state": 0,
    }
    model = Adapted(LinearRegression(), FAST, random_state=0)
    model.fit(X, y, X_target=(ask["X_target"],))
    with pytest.warns(TrainingRowsWarning, match="100% of the rows of X"):
        estimate_performance(model, X[::2], y[::2], **ask)
    with warnings.catch_warnings():
        warnings.simplefilter("error", TrainingRowsWarning)
        estimate_performance(model, X, y, cv=3, **ask)
        estimate_performance(model, *numbers(2, n=300, moved=0), **ask)


def test_twins_by_chance_are_no_rows_of_the_fit():
    rng = np.random.default_rng(0)
    X, X_new, X_target = (rng.integers(0, 3, (300, 2)).astype(float) for _ in range(3))
    model = Adapted(LinearRegression(), FAST, random_state=0)
    model.fit(X, X[:, 0], X_target=(X_target,))
    # Every new row has a twin among those of the fit: marks alone would accuse them.
    assert np.isin(row_marks(X_new), row_marks(X)).all()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        estimate_performance(
            model, X_new, X_new[:, 0], X_target, weight_estimator=FAST, random_state=0
        )
    assert TrainingRowsWarning not in [one.category for one in said]


@pytest.mark.parametrize("seed", [0, 7])
def test_samples_as_read_give_what_their_rows_give_even_after_a_forced_fit(seed):
    """At the second seed the weight estimator sees no overlap where the overlap's own "
    "does."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    far = rng.normal(3.2 + 0.05 * (seed % 8), 0.4, size=(30, 2))
    target = np.r_[rng.normal(size=(26, 2)), far]
    samples = Samples.read(X, (target,))
    model = Adapted(Ridge(), allow_no_overlap=True, guard=False, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, X[:, 0], X_target=samples)
        found, plain = (
            estimate_performance(model, X, X[:, 0], T, cv=3, random_state=seed)
            for T in (samples, (target,))
        )
    assert found.to_dict() == plain.to_dict()


@pytest.mark.parametrize(
    "wrong_call", [lambda: len(3), lambda: check_array(sparse.eye_array(2))]
)
@pytest.mark.parametrize("on_draws_alone", [False, True])
def test_a_bug_in_somebody_s_metric_is_no_fact_about_the_rows(
    wrong_call, on_draws_alone
):
    X, y = classes(0)
    model = LogisticRegression().fit(X, y)

    def hits(model, rows, labels, sample_weight=None):
        if not on_draws_alone or len(labels) < len(X):
            wrong_call()
        return np.average(model.predict(rows) == labels, weights=sample_weight)

    with pytest.raises(TypeError):
        estimate_performance(
            model,
            X,
            y,
            classes(1)[0],
            scoring=hits,
            weight_estimator=FAST,
            random_state=0,
        )


def test_a_performance_is_a_table_in_a_notebook():
    X, y = numbers(0, n=120)
    found = estimate_performance(
        Ridge().fit(X, y), X, y, numbers(1, n=90)[0], cv=3, random_state=0
    )
    html = found._repr_html_()
    assert f"{found.doubly_robust.value:.4g}" in html
    assert html.count("<tr>") >= 5
    assert "<script" not in html
