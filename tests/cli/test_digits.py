"""Names of rows and classes keep their digits, and slips get a question."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from counterpoise.cli.files import read_file
from counterpoise.cli.inputs import read_labels
from counterpoise.cli.options import read_value
from counterpoise.cli.terminal import DataError

NAMES = ["00000001", "1234567890123456789012345", "1e3"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_names_of_rows_come_out_as_they_stood(run, tmp_path, ending):
    rng = np.random.default_rng(0)
    names = [f"{k:08d}" for k in range(57)] + NAMES
    frame = pd.DataFrame({"key": names, "a": rng.normal(size=60)})
    frame.to_csv(tmp_path / "s.csv", index=False)
    frame.to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / f"w.{ending}"
    code, _, _ = run(
        *("weights", "--source", tmp_path / "s.csv", "--target", tmp_path / "t.csv"),
        *("--id", "key", "--out", out, "--quiet"),
    )
    assert code == 0
    if ending == "csv":
        found = pd.read_csv(out, dtype=str)["key"]
    else:
        found = pd.read_parquet(out)["key"]
    assert found.tolist() == names


def test_whole_numbers_beyond_floats_stay_different_classes(tmp_path):
    labels = [2**53, 2**53 + 1] * 20
    pq.write_table(pa.table({"y": labels}), tmp_path / "t.parquet")
    found = read_labels(read_file(tmp_path / "t.parquet"), "y", "classification")
    assert found.values.tolist() == labels
    pd.DataFrame({"y": labels}).to_csv(tmp_path / "t.csv", index=False)
    found = read_labels(read_file(tmp_path / "t.csv"), "y", "classification")
    assert found.values.tolist() == labels


@pytest.mark.parametrize("beyond", [2**53 + 2, 10**25, 2**63])
def test_classes_that_floats_would_merge_are_refused(tmp_path, beyond):
    cells = ["1.0", str(float(2)), f"{beyond}"] * 10
    (tmp_path / "t.csv").write_text("\n".join(["y", *cells]))
    table = read_file(tmp_path / "t.csv")
    with pytest.raises(DataError, match=r"line 4, column 'y' .* --categorical y"):
        read_labels(table, "y", "classification")
    texts = read_file(tmp_path / "t.csv", as_text=["y"])
    found = read_labels(texts, "y", "classification", ["y"])
    assert str(beyond) in found.values


def test_the_last_whole_number_without_gaps_is_a_class(tmp_path):
    cells = ["1.0", str(2**53)] * 10
    (tmp_path / "t.csv").write_text("\n".join(["y", *cells]))
    found = read_labels(read_file(tmp_path / "t.csv"), "y", "classification")
    assert set(found.values.tolist()) == {1, 2**53}


@pytest.mark.parametrize(
    ("slip", "meant"), [("Bought", "bought"), ("bougt", "bought"), ("AGE", "age")]
)
def test_a_slip_in_a_name_gets_a_question(run, tables, tmp_path, slip, meant):
    code, _, said = run(
        *("run", "--source", tables[0], "--target", tables[1], "--label", slip),
        *("--out", tmp_path / "out", "--quiet"),
    )
    assert code == 2
    assert f"no column '{slip}' (--label) (did you mean '{meant}'?)" in said


@pytest.mark.parametrize(
    ("name", "scorer"),
    [
        ("rmse", "neg_root_mean_squared_error"),
        ("RMSE", "neg_root_mean_squared_error"),
        ("mse", "neg_mean_squared_error"),
        ("mae", "neg_mean_absolute_error"),
        ("auc", "roc_auc"),
        ("log_loss", "neg_log_loss"),
        ("brier", "neg_brier_score"),
        ("r2", "r2"),
        ("accuracy", "accuracy"),
    ],
)
def test_metrics_are_understood_by_the_names_people_use(name, scorer):
    assert read_value("metric", name) == scorer


def test_a_slip_in_a_metric_gets_a_question(run, tables, tmp_path):
    code, _, said = run(
        *("run", "--source", tables[0], "--target", tables[1], "--label", "bought"),
        *("--out", tmp_path / "out", "--quiet", "--metric", "acuracy"),
    )
    assert code == 1
    assert "did you mean 'accuracy'?" in said
