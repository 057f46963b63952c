"""Rows to be labeled: written, filled in, taken in again."""

import json

import numpy as np
import pandas as pd
import pytest
from cli.mixed_tables import mixed_columns, write_csv

from counterpoise.cli.main import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with tables, the target's true labels, and a model."""
    folder = tmp_path_factory.mktemp("label")
    rng = np.random.default_rng(0)
    write_csv(folder / "train.csv", mixed_columns(rng, 200, 0.0, label=True))
    live = mixed_columns(rng, 150, 0.5, label=True)
    write_csv(folder / "truth.csv", live)
    live.pop("bought")
    write_csv(folder / "live.csv", live)
    words = ("--label", "bought", "--estimator", "linear", "--out", folder / "out")
    assert main([str(w) for w in (*job(folder), *words, "--quiet")]) == 0
    return folder


def job(folder, command="run"):
    return (command, "--source", folder / "train.csv", "--target", folder / "live.csv")


def label(folder, out, *more):
    words = (
        "label",
        "--target",
        folder / "live.csv",
        "--label",
        "bought",
        "--out",
        out,
    )
    return main([str(word) for word in (*words, "--quiet", *more)])


def filled(folder, path):
    """Fill in the labels, as a person would."""
    rows = pd.read_csv(path)
    truth = pd.read_csv(folder / "truth.csv")["bought"].to_numpy()
    rows["bought"] = truth[rows["row"] - 1]
    rows.to_csv(path, index=False)
    return path


def test_rows_drawn_by_chance_come_back_as_labels(folder, tmp_path):
    assert label(folder, tmp_path / "rows.csv", "--k", "40") == 0
    rows = pd.read_csv(tmp_path / "rows.csv")
    assert len(rows) == rows["row"].nunique() == 40
    assert rows["bought"].isna().all()
    live = pd.read_csv(folder / "live.csv")
    assert set(live.columns) <= set(rows.columns)
    path = filled(folder, tmp_path / "rows.csv")
    words = (*job(folder, "evaluate"), "--label", "bought", "--quiet")
    words += ("--model", folder / "out" / "model.skops", "--target-labels", path)
    words += ("--json", tmp_path / "found.json", "--precision", "30%")
    assert main([str(word) for word in words]) == 0
    found = json.loads((tmp_path / "found.json").read_text())
    (metric,) = found["performance"]["metrics"].values()
    assert metric["check"]["n_labeled"] == 40
    assert found["performance"]["labels"]["precision"] == pytest.approx(0.3)
    assert found["reproduce"]["options"]["target_labels"] == "rows.csv"


def test_the_same_seed_draws_the_same_rows(folder, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert label(folder, tmp_path / f"{name}.csv", "--seed", seed) == 0
    a, b, c = ((tmp_path / f"{name}.csv").read_bytes() for name in "abc")
    assert a == b != c


def test_rows_chosen_by_gain_are_no_labels_of_a_sample(folder, tmp_path, capsys):
    out = tmp_path / "rows.csv"
    assert label(folder, out, "--by", "gain", "--k", "5") == 1
    assert "needs --model and --source" in capsys.readouterr().err
    more = ("--model", folder / "out" / "model.skops", "--source", folder / "train.csv")
    assert label(folder, out, "--by", "gain", "--k", "5", *more) == 0
    assert len(pd.read_csv(out)) == 5
    words = (*job(folder), "--label", "bought", "--out", tmp_path / "o")
    words += ("--target-labels", out, "--quiet", "--estimator", "linear")
    assert main([str(word) for word in words]) == 2
    assert "chosen by gain" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([0, 5], "must lie from 1 to 150"),
        ([5, 151], "must lie from 1 to 150"),
        ([5, 5], "twice"),
        ([1.5, 5], "whole numbers"),
    ],
)
def test_rows_that_the_target_has_not_are_refused(folder, tmp_path, capsys, rows, said):
    path = tmp_path / "rows.csv"
    pd.DataFrame({"row": rows, "bought": ["yes", "no"]}).to_csv(path, index=False)
    words = (*job(folder), "--label", "bought", "--out", tmp_path / "o", "--quiet")
    assert main([str(word) for word in (*words, "--target-labels", path)]) == 2
    assert said in capsys.readouterr().err


def test_more_rows_than_there_are_cannot_be_labeled(folder, tmp_path, capsys):
    assert label(folder, tmp_path / "rows.csv", "--k", "151") == 2
    assert "--k must be from 1 to 150" in capsys.readouterr().err
    assert label(folder, tmp_path / "rows.csv", "--k", "0") == 2


@pytest.mark.parametrize("value", ["0", "-10%", "ten", "inf"])
def test_a_precision_is_a_share_above_zero(folder, tmp_path, capsys, value):
    words = (*job(folder), "--label", "bought", "--out", tmp_path / "o")
    assert main([str(word) for word in (*words, f"--precision={value}")]) == 1
    assert "--precision must be a share" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("by", "said"), [("chance", "with --target-labels"), ("gain", "among the training")]
)
def test_what_to_do_with_the_rows_is_told(folder, tmp_path, capsys, by, said):
    words = ["label", "--target", folder / "live.csv", "--label", "bought"]
    words += ["--k", 5, "--by", by, "--out", tmp_path / "rows.csv"]
    if by == "gain":
        words += ["--source", folder / "train.csv"]
        words += ["--model", folder / "out" / "model.skops"]
    assert main([str(word) for word in words]) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "Fill in the column 'bought'" in told
    assert said in told


def test_labels_without_the_numbers_of_their_rows_are_refused_with_the_way(
    folder, tmp_path, capsys
):
    some = pd.read_csv(folder / "truth.csv").head(30)
    some.to_csv(tmp_path / "some.csv", index=False)
    words = (*job(folder), "--label", "bought", "--out", tmp_path / "out")
    words += ("--target-labels", tmp_path / "some.csv")
    assert main([str(word) for word in words]) == 2
    told = capsys.readouterr().err
    assert "has no column 'row'" in told
    assert "counterpoise label writes it" in told
    assert "give --target-labels without a file" in told
