"""The monitor as a user meets it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from counterpoise import InvalidInputError, InvalidTypeError, ModelMonitor, adapt
from counterpoise.monitor.results import advice
from counterpoise.monitor.state import _BYTES_WAITING


def _draw(n, seed, shift=0.0, flip=0.15):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    X[:, 1] += shift
    y = ((X[:, 0] > 0) ^ (rng.random(n) < flip)).astype(int)
    return pd.DataFrame(X, columns=list("abcd")), y


@pytest.fixture(scope="module")
def model():
    return LogisticRegression().fit(*_draw(1_000, 1))


@pytest.fixture
def monitor(model):
    X, y = _draw(1_500, 2)
    return ModelMonitor(model, X=X, y=y, scoring="error_rate", random_state=0)


def test_a_look_tells_drift_coverage_estimate_and_what_labels_say(monitor):
    X, y = _draw(300, 3)
    look = monitor.update(X, y=y, time="2024-01-01")
    assert (look.number, look.time, look.n_rows) == (1, "2024-01-01", 300)
    assert look.drift["auc_low"] <= 0.5
    assert look.drift["mmd"] >= 0
    assert look.covered > 0.95
    one = look.performance["error_rate"]
    assert one["low_all"] <= one["low"] < one["value"] < one["high"] <= one["high_all"]
    truth = (monitor.model.predict(X) != y).mean()
    assert look.realized["error_rate"]["value"] == pytest.approx(truth)
    assert look.realized["error_rate"]["n"] == 300
    assert look.alerts == ()
    assert "estimated" in str(look)


def test_inputs_that_move_raise_an_alarm_that_names_the_column(monitor):
    for k in range(3):
        assert not monitor.update(_draw(300, 10 + k)[0], time=k).alerts
    look = monitor.update(_draw(300, 20, shift=1.0)[0], time=3)
    [alert] = look.alerts
    assert alert.kind == "inputs"
    assert alert.columns[0] == "b"
    assert abs(alert.since - 3) <= 1
    assert alert.evidence["e_value"] >= alert.evidence["needed"]
    assert alert.evidence["needed"] == pytest.approx(1 / 0.02)
    assert [one["column"] for one in look.drift["columns"]] == ["b"]
    # Once is enough.
    assert not monitor.update(_draw(300, 21, shift=1.0)[0], time=4).alerts
    assert monitor.alerts_ == [alert]


def test_a_risk_that_rises_without_the_inputs_is_told_as_such(monitor):
    for k in range(7):
        X, y = _draw(300, 100 + k, flip=0.15 if k < 3 else 0.4)
        monitor.update(X, y=y, time=k)
    [alert] = monitor.alerts_
    assert alert.kind == "risk"
    assert abs(alert.since - 3) <= 1
    assert alert.advice.startswith("label rows")


def test_an_estimate_that_rises_raises_an_alarm_without_labels():
    rng = np.random.default_rng(0)

    def draw(n, shift):
        X = rng.standard_normal((n, 2)) + np.array([shift, 0.0])
        # The noise grows to the right.
        return X, X[:, 1] + np.exp(0.8 * X[:, 0]) * rng.standard_normal(n)

    model = LinearRegression().fit(*draw(500, 0))
    X, y = draw(3_000, 0)
    monitor = ModelMonitor(
        model, X=X, y=y, scoring="mean_absolute_error", random_state=0
    )
    for k in range(3):
        monitor.update(draw(500, 0)[0], time=k)
    assert not monitor.alerts_
    monitor.update(draw(500, 1.0)[0], time=3)
    assert {alert.kind for alert in monitor.alerts_} == {"inputs", "estimate"}
    told = {alert.kind: alert for alert in monitor.alerts_}
    assert told["estimate"].evidence["low"] > 0
    assert told["inputs"].advice.startswith(("adapt again", "label rows"))


def test_labels_may_be_some_and_may_come_later(monitor):
    X, y = _draw(300, 3)
    some = y.astype(object)
    some[30:] = None
    look = monitor.update(X, y=some, time="w1")
    assert look.realized["error_rate"]["n"] == 30
    monitor.add_labels("w1", np.arange(30, 60), y[30:60])
    monitor.add_labels("w1", X.iloc[60:90], y[60:90])
    row = monitor.history_[0]
    assert row["n_labeled"] == 90
    truth = (monitor.model.predict(X[:90]) != y[:90]).mean()
    assert row["realized"] == pytest.approx(truth)


def test_late_labels_raise_the_alarm_that_labels_at_once_raise(model):
    X, y = _draw(1_500, 2)
    one, other = (
        ModelMonitor(model, X=X, y=y, scoring="error_rate", random_state=0)
        for _ in range(2)
    )
    for k in range(3):
        X, y = _draw(200, 50 + k, flip=0.45)
        one.update(X, y=y, time=k)
        other.update(X, time=k)
        other.add_labels(k, np.arange(200), y)
    assert one.alerts_ == other.alerts_
    assert one.alerts_[0].kind == "risk"


def test_labels_may_come_with_the_same_rows_again(monitor):
    X, y = _draw(100, 3)
    monitor.update(X, time=1)
    look = monitor.update(X, y=y, time=1)
    assert look.number == 0
    assert look.notes[1] == "100 labels of them are new and were counted"
    assert monitor.history_[0]["n_labeled"] == 100
    assert len(monitor.update(X, y=y, time=1).notes) == 1


def test_a_table_that_grows_tells_which_of_its_rows_were_seen(monitor):
    X, _ = _draw(100, 3)
    monitor.update(X[:40], time=1)
    assert monitor.n_seen(X, 1) == 40
    monitor.update(X[40:70], time=1)
    assert monitor.n_seen(X, 1) == 70
    assert monitor.n_seen(X, 2) == 0


def test_a_label_counts_once(monitor):
    X, y = _draw(100, 3)
    monitor.update(X, y=y, time=1)
    with pytest.raises(InvalidInputError, match="have a label already"):
        monitor.add_labels(1, np.arange(3), y[:3])
    with pytest.raises(InvalidInputError, match="no chunk of the time 7"):
        monitor.add_labels(7, np.arange(3), y[:3])
    with pytest.raises(InvalidInputError, match="from 0 to 99"):
        monitor.add_labels(1, [100], [1])
    with pytest.raises(InvalidInputError, match="y has 2 entries"):
        monitor.add_labels(1, [1], [1, 0])


def test_empty_duplicate_late_small_and_out_of_order_chunks_are_said(monitor):
    X, _ = _draw(100, 3)
    assert "empty" in monitor.update(X[:0], time=1).notes[0]
    assert monitor.n_chunks_ == 0
    monitor.update(X, time=2)
    again = monitor.update(X, time=3)
    assert "duplicate: the rows of chunk 1 (2)" in again.notes[0]
    assert monitor.n_chunks_ == 1
    assert "late" in monitor.update(_draw(100, 4)[0], time=2).notes[0]
    assert "out of order" in monitor.update(_draw(100, 5)[0], time=0).notes[0]
    small = monitor.update(_draw(29, 6)[0], time=9)
    assert small.drift is None
    assert "too small: 29 rows" in small.notes[0]
    assert monitor.update(_draw(30, 7)[0], time=10).drift is not None
    assert len(monitor.history_) == monitor.n_chunks_ == 5


def test_new_categories_columns_without_values_and_units_are_named():
    rng = np.random.default_rng(0)

    def draw(n, words=("red", "blue")):
        return pd.DataFrame(
            {"size": rng.normal(180, 10, n), "color": rng.choice(words, n)}
        )

    X = draw(600)
    y = X["size"] + rng.standard_normal(600)
    pipe = make_pipeline(
        OneHotEncoder(handle_unknown="ignore", min_frequency=10), LinearRegression()
    )
    monitor = ModelMonitor(pipe.fit(X, y), X=X, y=y, random_state=0)
    notes = " ".join(monitor.update(draw(60, ("red", "green")), time=1).notes)
    assert "'color' has categories that are new" in notes
    assert "'green'" in notes
    changed = draw(60)
    changed["size"] /= 100
    assert "its unit may have changed" in monitor.update(changed, time=2).notes[0]
    gone = draw(60).assign(color=None)
    assert "'color' has no value at all" in " ".join(monitor.update(gone, time=3).notes)
    with pytest.raises(InvalidInputError, match="gone: 'color'"):
        monitor.update(draw(60).drop(columns="color"), time=4)


def test_an_alarm_names_no_column_that_has_not_moved():
    rng = np.random.default_rng(3)

    def draw(n, words=("red", "blue", "grey")):
        columns = {name: rng.standard_normal(n) for name in "abc"}
        return pd.DataFrame({**columns, "color": rng.choice(words, n)})

    X = draw(1_200)
    y = X["a"] + rng.standard_normal(1_200)
    pipe = make_pipeline(
        OneHotEncoder(handle_unknown="ignore", min_frequency=10), LinearRegression()
    )
    monitor = ModelMonitor(pipe.fit(X, y), X=X, y=y, random_state=0)
    for k in range(3):
        monitor.update(draw(300), time=k)
    monitor.update(draw(300, ("red", "blue", "grey", "green")), time=3)
    monitor.update(draw(300, ("red", "blue", "grey", "green")), time=4)
    alerts = [one for one in monitor.alerts_ if one.kind == "inputs"]
    assert [one.columns for one in alerts] == [("color",)]


def test_an_estimate_where_the_reference_has_no_rows_is_called_a_guess(monitor):
    look = monitor.update(_draw(100, 3, shift=30.0)[0], time=1)
    assert look.covered < 0.5
    assert "no more than a guess" in " ".join(look.notes)
    assert "guess" not in " ".join(monitor.update(_draw(100, 4)[0], time=2).notes)


def test_saved_and_loaded_it_goes_on_to_the_bit(monitor, tmp_path):
    X, y = _draw(200, 3)
    monitor.update(X, y=y, time="a")
    path = tmp_path / "watch.skops"
    monitor.save(path)
    assert path.stat().st_size < 5_000_000
    with pytest.raises(FileExistsError):
        monitor.save(path)
    other = ModelMonitor.load(path)
    assert other.history_ == monitor.history_
    X, y = _draw(200, 4, shift=1.0)
    assert monitor.update(X, y=y, time="b") == other.update(X, y=y, time="b")
    assert monitor.history_ == other.history_
    assert monitor.alerts_ == other.alerts_


def test_a_file_that_is_no_watch_is_refused(tmp_path):
    X, y = _draw(200, 3)
    path = tmp_path / "model.skops"
    adapt(LogisticRegression(), X, y, _draw(150, 4)[0]).save(path)
    with pytest.raises(InvalidTypeError, match="no watch"):
        ModelMonitor.load(path)


def test_answers_are_given_up_beyond_two_megabytes(model):
    X, y = _draw(1_000, 2)
    monitor = ModelMonitor(model, X=X, y=y, random_state=0)
    for k in range(3):
        rows, _ = _draw(30_000, 70 + k)
        monitor.update(rows, time=k)
    kept = [chunk.said is not None for chunk in monitor._state.chunks]
    assert kept == [False, True, True] or kept == [False, False, True]
    size = sum(
        one.nbytes
        for chunk in monitor._state.chunks
        for one in (chunk.said or {}).values()
    )
    assert size <= _BYTES_WAITING
    with pytest.raises(InvalidInputError, match="no longer kept"):
        monitor.add_labels(0, [0], [1])


def test_metrics_that_are_no_means_are_estimated_by_weighted_rows(model):
    X, y = _draw(1_500, 2)
    monitor = ModelMonitor(
        model, X=X, y=y, scoring=["roc_auc", "error_rate"], random_state=0
    )
    rows, labels = _draw(300, 3)
    look = monitor.update(rows, y=labels, time=1)
    one = look.performance["roc_auc"]
    assert one["low"] < one["reference"] < one["high"]
    assert look.realized["roc_auc"]["low"] < look.realized["roc_auc"]["value"]
    assert monitor.to_dict()["risk_metric"] == "error_rate"


def test_what_cannot_be_watched_is_refused_by_name(model):
    X, y = _draw(100, 2)
    for wrong, told in (
        ({"confidence_level": 1.0}, "confidence_level"),
        ({"false_alarm_rate": 0.0}, "false_alarm_rate"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"scoring": []}, "scoring is empty"),
        ({"scoring": ["error_rate", "error_rate"]}, "twice"),
    ):
        with pytest.raises(ValueError, match=told):
            ModelMonitor(model, X=X, y=y, **wrong)
    with pytest.raises(InvalidInputError, match="at least 50"):
        ModelMonitor(model, X=X[:49], y=y[:49])
    monitor = ModelMonitor(model, X=X, y=y, random_state=0)
    with pytest.raises(InvalidInputError, match="y has 3 entries"):
        monitor.update(X, y=[0, 1, 0])
    # Nothing was counted.
    assert monitor.n_chunks_ == 0
    assert monitor.history_ == []
    assert monitor._state.inputs.n_chunks == 0


@pytest.mark.parametrize(
    ("case", "first"),
    [
        ({"kind": "inputs", "covered": 0.49}, "stop"),
        ({"kind": "inputs", "covered": 0.94}, "label rows"),
        ({"kind": "inputs", "covered": 0.95}, "nothing"),
        ({"kind": "inputs", "estimate_rose": True}, "adapt again"),
        ({"kind": "risk"}, "label rows"),
        ({"kind": "risk", "inputs_changed": True}, "adapt again"),
        ({"kind": "estimate"}, "adapt again"),
    ],
)
def test_what_to_do_follows_from_what_has_changed(case, first):
    known = {"inputs_changed": False, "estimate_rose": False, "covered": None} | case
    assert str(advice(known.pop("kind"), **known)).startswith(first)


@pytest.mark.parametrize("scale", [1.0, 0.1, 1e7])
@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("before_type", ["f4", "f8"])
@pytest.mark.parametrize("after_type", ["f4", "f8"])
def test_columns_of_few_values_have_not_moved_where_nothing_has(
    scale, saved, before_type, after_type, tmp_path
):
    """The reference is kept as it is compared: rounding must not tell it apart."""
    X, y = load_digits(return_X_y=True)
    X = X * scale + 0.1
    fit, before, after = np.array_split(np.random.default_rng(0).permutation(len(X)), 3)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))
    model.fit(X[fit], y[fit])
    reference = X[before].astype(before_type)
    monitor = ModelMonitor(model, X=reference, y=y[before], random_state=0)
    if saved:
        monitor.save(tmp_path / "digits.skops")
        monitor = ModelMonitor.load(tmp_path / "digits.skops")
    look = monitor.update(X[after].astype(after_type))
    assert look.drift["auc"] == pytest.approx(0.5, abs=0.05)
    assert look.covered > 0.95
    assert look.drift["columns"] == []
    assert monitor.alerts_ == []


def test_labels_that_come_by_place_meet_predictions_in_full_precision():
    """Residuals of one at responses of 1e9 are lost to single precision."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = 1e9 + 1e3 * X[:, 0] + rng.normal(size=600)
    model = LinearRegression().fit(X[:200], y[:200])
    monitor = ModelMonitor(model, X=X[200:400], y=y[200:400])
    monitor.update(X[400:], time="t")
    monitor.add_labels("t", np.arange(200), y[400:])
    realized = monitor.history_[-1]["realized"]
    error = np.mean((y[400:] - model.predict(X[400:])) ** 2)
    assert realized == pytest.approx(error, rel=1e-6)
