"""The demo does the main job and tells the truth that it knows."""

import json
import re

import pandas as pd

from counterpoise.adaptation import load
from counterpoise.cli.demo import write_tables
from counterpoise.datasets import load_diabetes_shift


def test_the_demo_estimates_a_score_that_the_truth_does_not_contradict(run, tmp_path):
    out = tmp_path / "demo"
    code, said, err = run("demo", "--out", out)
    assert code == 0
    assert "counterpoise run --source" in said
    assert "Verdict: shift" in err
    loss, low, high = (
        float(number)
        for number in re.search(
            r"there is\s+(\d+), inside the interval \((\d+) to (\d+)\)", said
        ).groups()
    )
    record = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert low == round(record["headline"]["low"])
    assert low < loss < high
    clinic = pd.read_csv(out / "tables" / "clinic.csv").drop(columns="patient")
    error = load(out / "model.skops").predict(clinic) - load_diabetes_shift().y_target
    assert loss == round((error**2).mean())


def test_the_demo_can_be_repeated_into_the_same_folder(run, tmp_path, monkeypatch):
    import counterpoise.cli.job as job

    seen = []
    monkeypatch.setattr(job, "do", lambda options, estimates: seen.append(options) or 1)
    for _ in range(2):
        code, _, _ = run("demo", "--out", tmp_path / "demo", "--quiet")
        assert code == 1
    assert seen[0].force
    assert seen[0].source == tmp_path / "demo" / "tables" / "trial.csv"


def test_the_tables_hold_the_rows_of_the_bundled_shift_with_gaps(tmp_path):
    n, m = write_tables(tmp_path)
    shift = load_diabetes_shift()
    assert (n, m) == (len(shift.X), len(shift.X_target))
    trial = pd.read_csv(tmp_path / "trial.csv")
    assert (trial["progress"] == shift.y).all()
    assert (trial["bmi"] == shift.X[:, 2]).all()
    assert set(trial["sex"]) == {"sex 1", "sex 2"}
    assert 0 < trial["glucose"].isna().mean() < 0.2
