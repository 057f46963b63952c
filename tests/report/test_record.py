"""The record: what is in it, what is not, and that it can be read for ever."""

import json
import sys
import types
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from report.make_record import complete
from report.records_at_hand import RECORDS, full
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from counterpoise import KLIEP, Adapted, AutoWeights, diagnose
from counterpoise.data.two_samples import effective_sample_size
from counterpoise.datasets import make_gaussian_shift, make_sinc_shift
from counterpoise.report import Report, log_to_mlflow, render
from counterpoise.report.report import SCHEMA_VERSION
from counterpoise.report.sections import SeenRows, balance_section
from counterpoise.shift.support import overlap

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "record.md"


def mixed_table(n, mean, seed):
    random = np.random.default_rng(seed)
    age = random.normal(40 + 8 * mean, 10, n)
    income = random.lognormal(10 + 0.3 * mean, 0.5, n)
    income[random.random(n) < 0.05 * (1 + mean)] = np.nan
    city = random.choice(["Berlin", "Paris", "Rome"], n, p=[0.5, 0.3, 0.2])
    return pd.DataFrame({"age": age, "income": income, "city": city})


@pytest.fixture(scope="module")
def adapted():
    shift = make_gaussian_shift(3, n=300, m=250, random_state=0)
    model = Adapted(LogisticRegression(), random_state=0)
    label = (shift.y > np.median(shift.y)).astype(int)
    return model.fit(shift.X, label, X_target=shift.X_target)


@pytest.fixture(scope="module")
def record(adapted):
    return Report.from_estimator(adapted)


@pytest.fixture(scope="module")
def kliep():
    shift = make_sinc_shift(random_state=0)
    return KLIEP(random_state=0).fit(shift.X, X_target=shift.X_target)


def test_every_step_has_its_section(record):
    assert {
        "data",
        "shift",
        "weights",
        "balance",
        "overlap",
        "solver",
        "guard",
        "model",
        "guarantees",
        "reproduce",
    } <= set(record.sections)


def test_a_record_comes_back_as_it_was(record, tmp_path):
    record.save(tmp_path / "record.json")
    again = Report.load(tmp_path / "record.json")
    assert again == record
    assert again.to_json() == record.to_json()


def test_one_seed_gives_one_record(adapted, record):
    shift = make_gaussian_shift(3, n=300, m=250, random_state=0)
    label = (shift.y > np.median(shift.y)).astype(int)
    again = Adapted(LogisticRegression(), random_state=0)
    again.fit(shift.X, label, X_target=shift.X_target)
    assert Report.from_estimator(again).to_json() == record.to_json()


# Of every committed record: how many figures it has, and a number that is in it.
COMMITTED = {"adapted": (10, 0.752), "complete": (12, 0.851)}


@pytest.mark.parametrize("path", sorted(RECORDS.glob("*.json")), ids=lambda p: p.stem)
def test_a_committed_record_loads_and_renders(path):
    record = Report.load(path)
    page = render(record)
    figures, auc = COMMITTED[path.stem]
    assert page.html.count("<figure") == figures
    assert record.metrics()["shift.auc"] == pytest.approx(auc, abs=1e-3)


def test_the_keys_of_a_record_are_documented():
    documented = DOCUMENTATION.read_text(encoding="utf-8")
    for name, section in made_record().to_dict().items():
        assert f"`{name}`" in documented, name
        # These two are what other classes document.
        if isinstance(section, dict) and name not in ("guard", "undefined"):
            for key in section:
                assert f"`{key}`" in documented, f"{name}.{key}"


def test_no_key_disappears_within_a_version():
    committed = json.loads((RECORDS / "complete.json").read_text(encoding="utf-8"))
    assert committed["schema_version"] == SCHEMA_VERSION
    assert _keys(committed) <= _keys(json.loads(made_record().to_json()))


@pytest.mark.parametrize("text", ["", "[]", "{}", "no json", '{"shift": {}}'])
def test_what_is_no_record_is_refused(text):
    with pytest.raises(ValueError, match="this is no record"):
        Report.from_json(text)


@pytest.mark.parametrize("version", [0, 1, 99, "2", None, True, 1.5])
def test_another_version_is_refused(version):
    with pytest.raises(ValueError, match="reads 2: run the command again"):
        Report.from_dict({"schema_version": version})


def test_numbers_that_json_has_not_are_null_with_a_reason():
    record = Report.from_dict({"a": {"b": np.nan, "c": [np.inf, 1.0]}})
    assert record.to_dict()["a"] == {"b": None, "c": [None, 1.0]}
    assert record["undefined"] == {"a.b": "not a number", "a.c.0": "infinite"}
    assert Report.from_json(record.to_json()) == record


def test_an_object_does_not_slip_into_a_record():
    with pytest.raises(TypeError, match=r"a\.b is a object"):
        Report.from_dict({"a": {"b": object()}})
    with pytest.raises(TypeError, match="a record is of an Adapted"):
        Report.from_estimator(LogisticRegression())


def test_metrics_are_flat_finite_floats(record):
    found = record.metrics()
    assert found["shift.auc"] == record["shift"]["auc"]
    assert found["model.adapted"] in (0.0, 1.0)
    assert all(type(value) is float for value in found.values())
    assert np.isfinite(list(found.values())).all()


def test_a_tracker_gets_numbers_under_names_that_it_takes(monkeypatch):
    logged, texts = {}, {}
    fake = types.SimpleNamespace(
        log_metrics=logged.update,
        log_text=lambda text, name: texts.update({name: text}),
    )
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    record = Report.from_dict({"shift": {"auc": 0.5, "<b>": 1}, "n": 2})
    log_to_mlflow(record, prefix="week 7/")
    assert logged == {"week 7/shift.auc": 0.5, "week 7/shift._b_": 1.0, "week 7/n": 2.0}
    assert Report.from_json(texts["counterpoise/report.json"]) == record


def test_a_missing_tracker_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(ImportError, match="pip install mlflow"):
        log_to_mlflow(Report.from_dict({}))


def test_no_row_and_no_time_is_in_a_record():
    X, target = mixed_table(400, 0.0, 0), mixed_table(300, 0.6, 1)
    X["secret"] = [f"citizen {k}" for k in range(len(X))]
    target["secret"] = [f"citizen {k + 900}" for k in range(len(target))]
    record = Report.from_estimator(
        diagnose(X, target, n_permutations=0, random_state=0)
    )
    text = record.to_json()
    assert "citizen" not in text
    assert "second" not in text
    values = {repr(value) for value in X["income"].dropna()}
    assert not values & {repr(v) for v in _leaves(record.to_dict())}


def test_the_size_does_not_grow_with_the_rows():
    sizes = []
    for n in (300, 6_000):
        shift = make_gaussian_shift(4, n=n, m=n, random_state=0)
        kliep = KLIEP(gamma=0.3, random_state=0).fit(shift.X, X_target=shift.X_target)
        sizes.append(len(Report.from_estimator(kliep).to_json()))
    assert sizes[1] < 1.2 * sizes[0]


def test_balance_is_that_of_the_columns_themselves(kliep):
    shift = make_sinc_shift(random_state=0)
    x, t, w = shift.X[:, 0], shift.X_target[:, 0], kliep.weights_
    spread = np.sqrt((x.var() + t.var()) / 2)
    (feature,) = Report.from_estimator(kliep)["balance"]["features"]
    assert feature["before"] == pytest.approx(abs(t.mean() - x.mean()) / spread)
    after = abs(t.mean() - np.average(x, weights=w)) / spread
    assert feature["after"] == pytest.approx(after, abs=1e-12)


def test_a_column_is_as_far_apart_as_the_worst_of_its_codes():
    X, target = mixed_table(300, 0.0, 0), mixed_table(300, 0.8, 1)
    model = Adapted(
        weight_estimator=AutoWeights(random_state=0), guard=False, random_state=0
    )
    label = (X["age"] > 40).astype(int)
    model.set_params(estimator=_AnyClassifier())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, label, X_target=(target,))
    rows = SeenRows.of(model.weight_estimator_, model.encoder_)
    found = {one["name"]: one for one in balance_section(rows)["features"]}
    assert set(found) == {"age", "income", "city"}
    a, b = X["age"], target["age"]
    expected = abs(b.mean() - a.mean()) / np.sqrt((a.var(ddof=0) + b.var(ddof=0)) / 2)
    assert found["age"]["before"] == pytest.approx(expected)


def test_the_curve_of_the_classifier_has_the_area_that_is_told(kliep):
    shift = make_sinc_shift(random_state=0)
    section = Report.from_estimator(kliep)["overlap"]
    area = np.trapezoid(section["roc"]["target"], section["roc"]["source"])
    assert area == pytest.approx(section["auc"], abs=2e-3)
    seen = overlap(shift.X, shift.X_target, random_state=0)
    scores = np.concatenate([seen.scores, seen.scores_target])
    label = np.repeat([0, 1], [seen.scores.size, seen.scores_target.size])
    assert section["auc"] == pytest.approx(roc_auc_score(label, scores))


def test_the_curve_is_that_of_the_diagnosis(adapted, record):
    assert record["overlap"]["auc"] == pytest.approx(adapted.diagnosis_.auc)
    shift = make_sinc_shift(random_state=0)
    own = Adapted(LogisticRegression(), KLIEP(gamma=1.0), random_state=3)
    own.fit(shift.X, (shift.y > 0).astype(int), X_target=shift.X_target)
    assert Report.from_estimator(own)["overlap"]["auc"] == pytest.approx(
        own.diagnosis_.auc
    )


def test_densities_are_shares_before_and_after_weighting(kliep):
    shift = make_sinc_shift(random_state=0)
    found = Report.from_estimator(kliep)["overlap"]["densities"]
    for key in ("source", "weighted", "target"):
        assert sum(found[key]) == pytest.approx(1.0)
    seen = overlap(shift.X, shift.X_target, random_state=0)
    counts, _ = np.histogram(seen.scores, found["edges"], weights=kliep.weights_)
    np.testing.assert_allclose(found["weighted"], counts / counts.sum(), atol=1e-9)


def test_the_weights_are_told_in_aggregates_that_agree(kliep):
    section = Report.from_estimator(kliep)["weights"]
    w = kliep.weights_
    assert section["effective_size"] == pytest.approx(effective_sample_size(w))
    assert sum(section["histogram"]["rows"]) == w.size
    # The mean absolute difference over twice the mean, by definition.
    gini = np.abs(w[:, None] - w).mean() / (2 * w.mean())
    assert section["lorenz"]["gini"] == pytest.approx(gini)
    last = section["clipping"][-1]
    assert last["effective_share"] == pytest.approx(section["effective_share"])
    assert section["clipping"][0]["effective_share"] == pytest.approx(1.0)
    assert [one["moved"] for one in section["clipping"]][-1] == pytest.approx(0.0)


def test_what_a_caller_knows_is_put_over_what_the_fit_knows(kliep):
    record = Report.from_estimator(
        kliep,
        data={"classes": [{"class": "a", "rows": 9}, {"class": "b", "rows": 1}]},
        reproduce={"command": "run"},
        notices=["one"],
    )
    assert record["data"]["classes"] == [{"class": "a", "rows": 9}]
    assert record["data"]["rare_classes"] == 1
    assert record["data"]["source"]["rows"] == 500
    assert record["reproduce"]["command"] == "run"
    assert record["notices"] == ["one"]


def test_a_fit_without_a_target_has_a_record():
    model = Adapted(LogisticRegression(), missing_target="ignore")
    model.fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    page = render(Report.from_estimator(model))
    assert "there is no new data" in page.html


def test_the_estimates_lead_with_the_doubly_robust_one():
    found = full()
    best = found["performance"]["metrics"]["neg_log_loss"]["doubly_robust"]
    assert found["headline"]["value"] == best["value"]
    assert found["headline"]["estimate"] == "doubly_robust"


@cache
def made_record():
    return complete()


def _keys(value, path=""):
    """Return the paths of all keys, those of list items by their first."""
    if isinstance(value, list):
        return _keys(value[0], f"{path}.0") if value else set()
    if not isinstance(value, dict):
        return set()
    # What there is to say of numbers that JSON lacks depends on the numbers.
    known = {key: item for key, item in value.items() if key != "undefined"}
    inner = (_keys(item, f"{path}.{key}") for key, item in known.items())
    return {f"{path}.{key}" for key in known}.union(*inner)


class _AnyClassifier(LogisticRegression):
    """Takes any table: it looks at nothing."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(np.zeros((len(y), 1)), y, sample_weight)


def _leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value
