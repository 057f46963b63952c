"""One quantity has one number, whichever command says it."""

import json
import re

import pytest
from cli.mixed_tables import mixed_columns, write_csv
from numpy.random import default_rng

from counterpoise.cli.main import main
from counterpoise.report import Report
from counterpoise.report.page import record_text


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with tables and the records of every command about them."""
    folder = tmp_path_factory.mktemp("numbers")
    rng = default_rng(0)
    write_csv(folder / "train.csv", mixed_columns(rng, 260, 0.0, label=True))
    write_csv(folder / "live.csv", mixed_columns(rng, 160, 1.2, label=False))
    both = ("--source", "train.csv", "--target", "live.csv", "--label", "bought")
    model = ("--model", "out/model.skops")
    commands = {
        "run": (*both, "--out", "out", "--estimator", "linear"),
        "diagnose": both,
        "weights": (*both, "--out", "weights.csv"),
        "evaluate": (*both, *model),
    }
    for name, words in commands.items():
        told = [str(folder / w) if "." in w or w == "out" else w for w in words]
        file = str(folder / f"{name}.json")
        assert main([name, *told, "--json", file, "--quiet"]) == 0
    return folder


def record(folder, name):
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


KEYS = (
    "uncovered_fraction",
    "uncovered_fraction_low",
    "uncovered_fraction_high",
    "covered",
    "auc",
    "auc_low",
    "auc_high",
)


@pytest.mark.parametrize("name", ["run", "weights", "evaluate"])
def test_every_command_says_the_diagnosis_s_numbers(folder, name):
    truth = record(folder, "diagnose")
    found = record(folder, name)
    assert truth["shift"]["uncovered_fraction"] > 0.02
    for key in (*KEYS, "verdict", "mmd", "discrepancy", "n_source", "n_target"):
        assert found["shift"][key] == truth["shift"][key], key
    for key in ("uncovered_fraction", "auc", "auc_low", "auc_high", "threshold"):
        assert found["overlap"][key] == truth["overlap"][key], key
    for key in ("uncovered_fraction", "verdict"):
        if "performance" in found:
            assert found["performance"][key] == truth["shift"][key]


def test_every_share_that_is_said_of_coverage_is_the_record_s(folder):
    truth = record(folder, "diagnose")["shift"]
    said = {f"{100 * truth[key]:.1f}" for key in ("uncovered_fraction", "covered")}
    for name in ("run", "diagnose", "weights", "evaluate"):
        text = record_text(Report.from_dict(record(folder, name)))
        (line,) = re.findall(r"Are the new data covered\?.*?How sure", text, re.DOTALL)
        shares = re.findall(r"([\d.]+)\s%", line)
        assert {f"{float(one):.1f}" for one in shares} == said


def test_notes_say_the_same_share(folder):
    uncovered_fraction = record(folder, "diagnose")["shift"]["uncovered_fraction"]
    for name in ("run", "weights"):
        for note in record(folder, name).get("notices", []):
            found = re.match(r"([\d.]+)% of the target rows have hardly", note)
            assert found is None or found[1] == f"{100 * uncovered_fraction:.1f}"


def test_a_comparison_has_the_numbers_of_both_records(folder, capsys):
    run, evaluate = (str(folder / f"{name}.json") for name in ("run", "evaluate"))
    assert main(["compare", run, evaluate]) == 0
    out = capsys.readouterr().out
    (line,) = [line for line in out.splitlines() if "covered" in line.lower()][:1]
    numbers = re.findall(r"[\d.]+(?=\s*%)|\b0\.\d+", line)
    assert len(set(numbers[:2])) == 1
