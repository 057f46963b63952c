"""An earlier run again: the same bytes, or what differs."""

import json
import shutil

import numpy as np
import pytest
from cli.mixed_tables import mixed_columns, write_csv

from counterpoise.cli.main import main


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """Return a folder with two tables, and with a quick run in `out`."""
    folder = tmp_path_factory.mktemp("first")
    rng = np.random.default_rng(0)
    source = write_csv(folder / "train.csv", mixed_columns(rng, 200, 0.0, label=True))
    target = write_csv(folder / "live.csv", mixed_columns(rng, 150, 0.5, label=False))
    words = (
        *("fit", "--source", source, "--target", target, "--label", "bought"),
        *("--estimator", "logistic", "--weight-estimator", "uniform"),
        *("--out", folder / "out", "--quiet"),
    )
    assert main([str(word) for word in words]) == 0
    return folder


@pytest.fixture
def done(first, tmp_path):
    """Return the folder of a run, its tables above it."""
    shutil.copytree(first, tmp_path / "job")
    return tmp_path / "job" / "out"


@pytest.fixture
def tables(done):
    return done.parent / "train.csv", done.parent / "live.csv"


def test_the_same_tables_give_the_same_bytes_or_what_differs_is_told(run, done, tables):
    code, told, said = run("rerun", done / "report.json")
    assert (code, told) == (0, "the same bytes\n"), said
    record = json.loads((done / "report.json").read_text())
    record["shift"]["auc"] = 0.123
    (done / "report.json").write_text(json.dumps(record))
    (done / "model.skops").write_bytes(b"other")
    code, told, _ = run("rerun", done / "report.json", "--tables", tables[0].parent)
    assert code == 3
    assert "differs: model.skops" in told
    assert "shift.auc: 0.123, now 0." in told


def test_a_table_that_changed_or_is_gone_is_told_of(run, done, tables):
    source, target = tables
    source.write_text(source.read_text() + "\n")
    code, _, said = run("rerun", done / "report.json")
    assert code == 2
    assert "is not the table that the record was made from" in said
    target.unlink()
    source.unlink()
    code, _, said = run("rerun", done / "report.json")
    assert code == 2
    assert "is not there: --tables says where" in said


@pytest.mark.parametrize(
    "words",
    [
        None,
        "counterpoise run",
        ["counterpoise", "predict"],
        ["counterpoise", "fit", "--source", "/etc/passwd"],
        ["counterpoise", "fit", "--source=../x.csv"],
        ["counterpoise", "fit", "rm"],
        ["counterpoise", "fit", "--shell", "x"],
    ],
)
def test_a_record_of_somebodys_own_making_leads_nowhere(run, done, words):
    path = done / "report.json"
    record = json.loads(path.read_text())
    record["reproduce"]["command_line"] = words
    path.write_text(json.dumps(record))
    code, told, _ = run("rerun", path)
    assert (code, told) == (2, "")
