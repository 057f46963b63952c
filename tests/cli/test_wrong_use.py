"""What makes no sense is refused before the work, in one line."""

import pandas as pd
import pytest
from sklearn.metrics import get_scorer_names

from counterpoise.cli.fit import check_metric_of
from counterpoise.cli.options import FIT_NUMBERS, SHIFT_NUMBERS
from counterpoise.cli.terminal import UsageError
from counterpoise.report import Report


def pair_of(tables, label="bought"):
    return ("--source", tables[0], "--target", tables[1], "--label", label)


@pytest.mark.parametrize(
    ("label", "metric", "told"),
    [
        ("bought", "r2", "--metric r2 is a score of numbers, but the label 'bought'"),
        ("age", "accuracy", "is a score of classes, but the label 'age' holds numbers"),
        ("age", "neg_log_loss", "holds numbers"),
        ("age", "roc_auc", "holds numbers"),
    ],
)
def test_a_score_of_the_other_kind_of_label_is_refused(
    run, tables, tmp_path, label, metric, told
):
    pd.read_csv(tables[1]).assign(bought="no").to_csv(tables[1], index=False)
    code, _, err = run(
        *("run", *pair_of(tables, label), "--metric", metric, "--quiet"),
        *("--out", tmp_path / "out"),
    )
    assert code == 1
    assert told in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_every_scorer_of_a_prediction_is_known_by_its_kind():
    def taken(metric, task):
        try:
            check_metric_of(metric, task, "y")
        except UsageError:
            return False
        return True

    both = {
        metric
        for metric in get_scorer_names()
        if taken(metric, "classification") == taken(metric, "regression")
    }
    # What is left compares clusterings.
    assert all(metric.endswith("_score") for metric in both)
    assert not both & {"r2", "accuracy", "roc_auc", "neg_log_loss", "d2_brier_score"}


@pytest.mark.parametrize("command", ["weights", "predict"])
@pytest.mark.parametrize("name", ["x.xlsx", "x", "x.json"])
def test_a_table_of_another_ending_is_refused(run, tables, tmp_path, command, name):
    inputs = pair_of(tables)
    if command == "predict":
        inputs = ("--model", tmp_path / "model.skops", "--table", tables[1])
    code, _, err = run(command, *inputs, "--out", tmp_path / name)
    assert code == 1
    assert "must end in .csv or .parquet" in err
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize(
    ("command", "names"), [("diagnose", SHIFT_NUMBERS), ("fit", FIT_NUMBERS)]
)
def test_help_lists_the_names_of_conditions(run, command, names):
    _, out, _ = run(command, "--help")
    words = " ".join(out.split())
    assert f"names: {', '.join(names)}" in words
    assert ("'ess<0.2'" in words) == ("ess" in names)


def test_help_lists_the_code_of_a_fault(run):
    _, out, _ = run("--help")
    assert "70  a fault of counterpoise itself" in out


@pytest.mark.parametrize("command", ["report", "compare"])
def test_a_record_that_is_not_there_is_bad_data(run, tmp_path, command):
    good = tmp_path / "good.json"
    Report.from_dict({"shift": {"auc": 0.5}}).save(good)
    for path, told in (
        (tmp_path / "none.json", "cannot be read: no such file or directory"),
        (tmp_path, "is a folder, not a file"),
        (".", "is a folder, not a file"),
    ):
        others = () if command == "report" else (good,)
        code, out, err = run(command, path, *others)
        assert (code, out) == (2, "")
        assert err == f"counterpoise: {path} {told}\n"
