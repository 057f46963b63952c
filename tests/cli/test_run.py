"""The main job from two files to a verdict, a model and its uses."""

import json
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from cli.mixed_tables import mixed_columns, write_csv

from counterpoise.adaptation.model_io import load_model
from counterpoise.cli.main import main

FILES = {"report.html", "report.json", "weights.parquet", "model.skops", "timings.json"}


def main_job(folder, out, *more):
    return [
        *("run", "--source", folder / "train.csv", "--target", folder / "live.csv"),
        *("--label", "bought", "--out", out, "--estimator", "linear", *more),
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with tables, and what the main job writes for them."""
    folder = tmp_path_factory.mktemp("job")
    rng = np.random.default_rng(0)
    train = mixed_columns(rng, 300, 0.0, label=True)
    # A row without a label, which is told.
    train["bought"][7] = ""
    write_csv(folder / "train.csv", train)
    write_csv(folder / "live.csv", mixed_columns(rng, 200, 0.7, label=False))
    write_csv(folder / "far.csv", mixed_columns(rng, 200, 9.0, label=False))
    write_csv(folder / "new.csv", mixed_columns(rng, 50, 0.7, label=True))
    assert main([str(word) for word in main_job(folder, folder / "out")]) == 0
    return folder


def read_json(path):
    return json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)


def test_the_files_are_those_that_were_promised_and_no_other(folder):
    assert {path.name for path in (folder / "out").iterdir()} == FILES
    assert not [path for path in folder.iterdir() if "partial" in path.name]


def test_the_record_tells_what_the_model_did(folder):
    record = read_json(folder / "out" / "report.json")
    model = load_model(folder / "out" / "model.skops")
    weights = pd.read_parquet(folder / "out" / "weights.parquet")
    assert record["model"]["exponent"] == model.exponent_
    assert record["shift"]["verdict"] == model.diagnosis_.verdict
    np.testing.assert_array_equal(weights["weight"], model.weights_)
    np.testing.assert_array_equal(weights["ratio"], model.weight_estimator_.weights_)
    effective = weights["ratio"].sum() ** 2 / (weights["ratio"] ** 2).sum()
    assert record["weights"]["effective_size"] == pytest.approx(effective)
    assert record["weights"]["certificate"]["holds"] is True
    head = record["headline"]
    assert head["low"] <= head["value"] <= head["high"]
    assert head["metric"] == "neg_log_loss"
    assert set(read_json(folder / "out" / "timings.json")) == {
        "seconds",
        "cpu_seconds",
    }
    assert "seconds" not in json.dumps(record)


def test_the_same_seed_gives_the_same_bytes_wherever_the_files_are(folder, run):
    moved = folder / "moved"
    moved.mkdir()
    for name in ("train.csv", "live.csv"):
        shutil.copy(folder / name, moved)
    code, out, err = run(*main_job(moved, folder / "again", "--json", "-"))
    assert code == 0
    for name in ("report.html", "report.json", "weights.parquet"):
        first, second = (folder / o / name for o in ("out", "again"))
        assert first.read_bytes() == second.read_bytes()
    assert out == (folder / "again" / "report.json").read_text(encoding="utf-8")
    for part in (
        "Verdict",
        "Expected log-loss",
        "Effective sample size",
        "Covered by",
    ):
        assert part in err
    assert str(folder / "again" / "model.skops") in err


def test_nothing_is_overwritten_without_force(folder, run):
    before = {p.name: p.stat().st_mtime_ns for p in (folder / "out").iterdir()}
    code, _, err = run(*main_job(folder, folder / "out"))
    assert code == 1
    assert "--overwrite overwrites" in err
    assert before == {p.name: p.stat().st_mtime_ns for p in (folder / "out").iterdir()}


def test_no_overlap_still_writes_the_diagnosis(folder, run):
    command = main_job(folder, folder / "far")
    command[4] = folder / "far.csv"
    code, _, err = run(*command)
    assert code == 4
    written = {path.name for path in (folder / "far").iterdir()}
    assert written == {"report.html", "report.json", "timings.json"}
    record = read_json(folder / "far" / "report.json")
    assert record["shift"]["verdict"] == "no overlap"
    assert "model" not in record
    assert "Do not deploy" in err
    assert "Label some of the new rows" in err


def test_predict_finds_its_columns_by_name(folder, run):
    model = load_model(folder / "out" / "model.skops")
    new = pd.read_csv(folder / "new.csv")
    new[new.columns[::-1]].to_csv(folder / "turned.csv", index=False)
    out = folder / "predictions.csv"
    code, _, _ = run(
        *("predict", "--model", folder / "out" / "model.skops", "--table"),
        *(folder / "turned.csv", "--out", out, "--probabilities"),
    )
    told = pd.read_csv(out)
    X = pd.read_csv(folder / "new.csv", parse_dates=["day"]).drop(columns="bought")
    assert code == 0
    assert told["prediction"].tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(told["probability of yes"], model.predict_proba(X)[:, 1])
    assert np.mean(told["prediction"] == new["bought"]) > 0.6


def test_predict_names_the_columns_that_are_missing(folder, run):
    new = pd.read_csv(folder / "new.csv").drop(columns=["age", "day"])
    new.to_csv(folder / "short.csv", index=False)
    model = ("predict", "--model", folder / "out" / "model.skops", "--table")
    code, _, err = run(*model, folder / "short.csv", "--out", folder / "p.csv")
    assert code == 2
    assert "short.csv lacks the columns 'age', 'day' of the model" in err
    code, _, err = run(
        *("predict", "--model", folder / "new.csv", "--table", folder / "new.csv"),
        *("--out", folder / "p.csv"),
    )
    assert code == 2
    assert "new.csv is no model file" in err


def test_evaluate_estimates_a_saved_model(folder, run):
    rng = np.random.default_rng(5)
    write_csv(folder / "held.csv", mixed_columns(rng, 400, 0.0, label=True))
    code, out, err = run(
        *("evaluate", "--model", folder / "out" / "model.skops"),
        *("--metric", "accuracy"),
        *("--source", folder / "held.csv", "--target", folder / "live.csv"),
        *("--label", "bought", "--json", "-", "--fail-if", "score<0.99"),
    )
    record = json.loads(out)
    model = load_model(folder / "out" / "model.skops")
    held = pd.read_csv(folder / "held.csv", parse_dates=["day"])
    right = np.mean(model.predict(held.drop(columns="bought")) == held["bought"])
    assert code == 3
    assert record["headline"]["source"] == pytest.approx(right)
    assert "Accuracy on the new data" in err


def test_a_change_of_what_labels_mean_fails_a_check_and_withdraws_estimates(
    folder, run
):
    rng = np.random.default_rng(6)
    write_csv(folder / "held.csv", mixed_columns(rng, 400, 0.0, label=True))
    other = mixed_columns(rng, 200, 0.3, label=True)
    other["bought"] = ["no" if one == "yes" else "yes" for one in other["bought"]]
    write_csv(folder / "other.csv", other)
    code, out, err = run(
        *("evaluate", "--model", folder / "out" / "model.skops", "--target-labels"),
        *("--source", folder / "held.csv", "--target", folder / "other.csv"),
        *("--label", "bought", "--json", "-", "--fail-if", "label_change_p<0.01"),
    )
    record = json.loads(out)
    assert code == 3
    assert record["headline"]["label_change_p"] < 0.01
    check = record["performance"]["metrics"]["neg_log_loss"]["check"]
    assert check["contradicts"]
    kinds = {one["kind"] for one in check["directions"]}
    assert kinds == {"loss", "mean", "slope", "column"}
    assert {one["column"] for one in check["directions"]} >= {"age"}
    assert "label_change_p<0.01 holds" in err
    assert "doubly robust" not in err


def test_shift_says_what_rows_are_weighed_by(folder, run):
    job = ["fit", *main_job(folder, folder / "by labels")[1:]]
    code, _, err = run(*job, "--shift", "labels", "--weight-estimator", "kliep")
    assert code == 1
    assert "--shift labels has weights of its own" in err
    code, _, _ = run(*job, "--shift", "labels")
    assert code == 0
    record = read_json(folder / "by labels" / "report.json")
    assert record["weights"]["weight_estimator"] == "ClassShareWeights"
    assert record["label_shift"]["classes"] == ["no", "yes"]
    weights = pd.read_parquet(folder / "by labels" / "weights.parquet")
    assert weights["ratio"].nunique() == 2


def test_an_interruption_leaves_nothing_and_has_its_code(folder):
    command = main_job(folder, folder / "stopped")
    process = subprocess.Popen(
        [sys.executable, "-m", "counterpoise", *map(str, command)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # A shell lets what runs in its background ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    # It has begun to compute when the first step is over.
    said = process.stderr.readline()
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert said
    assert process.returncode == 130
    assert "Traceback" not in err
    assert not [path for path in folder.iterdir() if "stopped" in path.name]


def test_a_weighter_that_refuses_says_why(run, tables, tmp_path, monkeypatch):
    # The diagnosis lets the tables pass, and the kernel method does not.
    monkeypatch.setattr("counterpoise.weights.base.NO_OVERLAP_ABOVE", -1.0)
    monkeypatch.setattr(
        "counterpoise.weights.base.WARN_ABOVE", {"unsupported_fraction": -1.0}
    )
    source, target = tables
    out = tmp_path / "out"
    code, _, said = run(
        *("run", "--source", source, "--label", "bought", "--target", target),
        *("--weight-estimator", "kliep", "--out", out),
    )
    said = " ".join(said.split())
    assert code == 4
    assert "No model was fitted: the weight estimator found too little overlap." in said
    assert "The weight estimator refused: " in said
    assert "--allow-no-overlap goes on all the same" in said
    assert "Leave the choice of weights to --weight-estimator auto." in said
    assert "Fit your model by `counterpoise run`" not in said
    page = (out / "report.html").read_text()
    assert "The weight estimator refused" in page
