"""The demo does the main job and tells the truth that it knows."""

import json
import re

import pandas as pd
import pytest

from counterpoise.adaptation.model_io import load_model
from counterpoise.cli.tools import write_tables
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
    error = (
        load_model(out / "model.skops").predict(clinic) - load_diabetes_shift().y_target
    )
    assert loss == round((error**2).mean())


@pytest.fixture
def jobs(monkeypatch):
    """The options of the jobs that are asked for, none of which is done."""
    import counterpoise.cli.tools as tools

    seen = []
    monkeypatch.setattr(tools, "run_command", lambda options: seen.append(options) or 3)
    return seen


def test_the_demo_can_be_repeated_into_its_own_folder(run, tmp_path, jobs):
    out = tmp_path / "demo"
    assert run("demo", "--out", out, "--quiet")[0] == 3
    (out / "report.json").write_text("of the demo")
    assert run("demo", "--out", out, "--quiet")[0] == 3
    assert [options.overwrite for options in jobs] == [False, True]
    assert jobs[0].source == out / "tables" / "trial.csv"


@pytest.mark.parametrize("name", ["report.json", "model.skops", "tables/clinic.csv"])
def test_the_demo_overwrites_no_file_that_another_made(run, tmp_path, jobs, name):
    mine = tmp_path / "out" / name
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    code, _, err = run("demo", "--out", tmp_path / "out", "--quiet")
    assert (code, jobs) == (1, [])
    assert f"already has '{mine.name}': no demo made it" in err
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert files == [mine]
    assert mine.read_text() == "mine"


def test_a_table_of_the_demo_that_was_edited_is_kept(run, tmp_path, jobs):
    assert run("demo", "--out", tmp_path / "demo", "--quiet")[0] == 3
    table = tmp_path / "demo" / "tables" / "trial.csv"
    table.write_text(table.read_text() + "\n")
    before = table.read_bytes()
    assert run("demo", "--out", tmp_path / "demo", "--quiet")[0] == 1
    assert table.read_bytes() == before


def test_the_tables_hold_the_rows_of_the_bundled_shift_with_gaps(tmp_path):
    n, m = write_tables(tmp_path, overwrite=False)
    shift = load_diabetes_shift()
    assert (n, m) == (len(shift.X), len(shift.X_target))
    trial = pd.read_csv(tmp_path / "trial.csv")
    assert (trial["progress"] == shift.y).all()
    assert (trial["bmi"] == shift.X[:, 2]).all()
    assert set(trial["sex"]) == {"sex 1", "sex 2"}
    assert 0 < trial["glucose"].isna().mean() < 0.2
