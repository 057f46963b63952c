"""The commands do what the library does, and write it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli.mixed_tables import mixed_columns, write_csv

from counterpoise import AutoWeights
from counterpoise.cli.options import SHIFT_NUMBERS
from counterpoise.cli.record import flat_numbers
from counterpoise.data.encoder import as_numbers
from counterpoise.report import Report
from counterpoise.shift.diagnosis import diagnose
from counterpoise.weights.registry import WEIGHT_ESTIMATORS_BY_COMMAND


@pytest.fixture
def disjoint(tmp_path):
    rng = np.random.default_rng(1)
    return (
        write_csv(tmp_path / "train.csv", mixed_columns(rng, 200, 0.0, label=True)),
        write_csv(tmp_path / "live.csv", mixed_columns(rng, 200, 9.0, label=False)),
    )


def pair_of(tables, label=True):
    more = ("--label", "bought") if label else ()
    return ("--source", tables[0], "--target", tables[1], *more)


def frames(tables):
    source, target = (pd.read_csv(path, parse_dates=["day"]) for path in tables)
    return source.drop(columns="bought"), target


def test_diagnose_says_what_the_library_says(run, tables):
    code, out, err = run("diagnose", *pair_of(tables), "--json", "-")
    record = json.loads(out)
    theirs = diagnose(*frames(tables), random_state=0)
    assert code == 0
    assert record["shift"]["auc"] == pytest.approx(theirs.auc)
    assert record["shift"]["verdict"] == theirs.verdict
    assert f"Verdict: {theirs.verdict}" in err
    numbers = flat_numbers(Report.from_dict(record), SHIFT_NUMBERS)
    assert None not in numbers.values()
    assert numbers["covered"] == pytest.approx(1 - theirs.uncovered_fraction)


def test_the_record_has_no_cell_and_is_the_same_wherever_the_tables_lie(
    run, tables, tmp_path
):
    train, live = (pd.read_csv(path).assign(room="1") for path in tables)
    train.loc[17, "room"] = live.loc[4, "room"] = "Jane Doe 1970-01-01"
    train.loc[3, "bought"] = None
    # Their indices become columns without a name.
    train.to_csv(tables[0])
    live.assign(bought="no", version=2).to_csv(tables[1])
    moved = tmp_path / "Jane" / "elsewhere"
    moved.mkdir(parents=True)
    others = [Path(shutil.copy(path, moved)) for path in tables]
    (_, first, said), (_, second, _) = (
        run("diagnose", *pair_of(both), "--json", "-") for both in (tables, others)
    )
    assert "because 'Jane Doe 1970-01-01' in line 19 is no number" in said
    assert str(tables[1]) in said
    assert first == second
    assert "Jane" not in first
    assert str(tmp_path) not in first
    notices = json.loads(first)["notices"]
    assert any("because a value in line 19 is no number" in told for told in notices)
    assert len(notices) == 6


def test_the_record_of_json_is_no_file_of_out(run, tables, tmp_path):
    out = tmp_path / "w.csv"
    code, _, err = run("weights", *pair_of(tables), "--out", out, "--json", out)
    assert (code, out.exists()) == (1, False)
    assert "is a file that --out writes" in err


def test_text_goes_to_stdout_and_quiet_says_nothing(run, tables):
    code, out, err = run("diagnose", *pair_of(tables), "--text", "--quiet")
    assert code == 0
    assert "The new data differ from the training data" in out
    assert err == ""


def test_a_condition_that_holds_has_code_three_and_is_told(run, tables):
    limits = ("--fail-if", "auc>0.6", "--fail-if", "uncovered_fraction>0.9")
    code, _, err = run("diagnose", *pair_of(tables), *limits)
    assert code == 3
    assert "--fail-if auc>0.6 holds: it is 0." in err
    assert "uncovered_fraction" not in err


def test_no_overlap_has_code_four(run, disjoint):
    code, out, _ = run("diagnose", *pair_of(disjoint), "--json", "-")
    assert code == 4
    assert json.loads(out)["shift"]["verdict"] == "no overlap"
    code, _, err = run(
        "weights", *pair_of(disjoint), "--out", disjoint[0].parent / "w.csv"
    )
    assert code == 4
    assert "--allow-no-overlap" in err
    assert not (disjoint[0].parent / "w.csv").exists()


def test_weigh_writes_the_weights_of_the_library(run, tables, tmp_path):
    out = tmp_path / "w.parquet"
    code, _, _ = run("weights", *pair_of(tables), "--out", out, "--seed", "3")
    written = pd.read_parquet(out)
    X, X_target = as_numbers(*frames(tables))
    theirs = AutoWeights(random_state=3).fit(X, X_target=X_target)
    assert code == 0
    assert written["row"].tolist() == list(range(1, 301))
    np.testing.assert_allclose(written["weight"], theirs.weights_, rtol=1e-9)


@pytest.mark.parametrize(
    "weight_estimator", [w for w in WEIGHT_ESTIMATORS_BY_COMMAND if w != "auto"]
)
def test_every_weighter_has_a_plain_name(run, tables, tmp_path, weight_estimator):
    out = tmp_path / "w.csv"
    code, text, _ = run(
        "weights",
        *pair_of(tables),
        "--out",
        out,
        "--weight-estimator",
        weight_estimator,
        "--json",
        "-",
    )
    weights = pd.read_csv(out)["weight"]
    assert code == 0
    assert weights.mean() == pytest.approx(1.0, abs=0.05)
    section = json.loads(text)["weights"]
    squares = weights.sum() ** 2 / (weights**2).sum()
    assert section["effective_size"] == pytest.approx(squares)
    if weight_estimator != "uniform":
        age = pd.read_csv(tables[0])["age"]
        assert np.average(age, weights=weights) > age.mean() + 0.05


def test_uniform_weights_are_not_called_an_adapted_model(run, tables, tmp_path):
    out = tmp_path / "out"
    code, text, _ = run(
        *("run", *pair_of(tables), "--out", out),
        *("--weight-estimator", "uniform", "--estimator", "logistic", "--seed", "0"),
    )
    assert code == 0
    said = text + (out / "report.html").read_text(encoding="utf-8")
    assert "dapted model" not in said
    assert "resemble the new ones count more" not in said
    assert "All training rows count alike in its fit." in said


def test_rows_are_called_by_their_names(run, tables, tmp_path):
    train = pd.read_csv(tables[0])
    names = [f"c{k:04}" for k in range(len(train))][::-1]
    train.assign(customer=names).to_csv(tables[0], index=False)
    out = tmp_path / "w.csv"
    code, _, _ = run("weights", *pair_of(tables), "--out", out, "--id", "customer")
    assert code == 0
    assert pd.read_csv(out)["customer"].tolist() == names


def test_groups_are_said_and_held_out_together(run, tmp_path):
    rng = np.random.default_rng(0)
    paths = []
    for k, name in enumerate(("train", "live")):
        site = np.repeat(np.arange(20), 15)
        x = rng.normal(size=(20, 2))[site] + rng.normal(size=(300, 2))
        columns = {"site": site + 100 * k, "x0": x[:, 0], "x1": x[:, 1]}
        frame = pd.DataFrame(columns)
        if k == 0:
            frame["y"] = x[:, 0] + rng.normal(size=300)
        paths.append(tmp_path / f"{name}.csv")
        frame.to_csv(paths[-1], index=False)
    both = ("--source", paths[0], "--target", paths[1], "--label", "y")
    code, out, err = run("diagnose", *both, "--groups", "site", "--json", "-")
    record = json.loads(out)
    assert code == 0
    assert record["shift"]["verdict"] == "no shift detected"
    assert record["shift"]["dependence"]["n_source"] == 20
    assert "20 source and 20 target groups" in err
    code, out, err = run("diagnose", *both, "--drop", "site", "--json", "-")
    assert "Rows look dependent: neighbors in the training data" in err
    assert json.loads(out)["shift"]["dependence_hint"]["code"] == "dependent_neighbors"
    folder = tmp_path / "out"
    more = ("--estimator", "linear", "--groups", "site", "--out", folder)
    code, _, err = run("run", *both, *more)
    assert code == 0
    assert "20 source and 20 target groups" in err
    record = json.loads((folder / "report.json").read_text())
    assert record["shift"]["dependence"]["kind"] == "groups"
