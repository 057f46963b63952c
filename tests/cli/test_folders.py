"""Folders and patterns of Parquet files: the same commands, block by block."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from counterpoise.adaptation.model_io import load_model
from counterpoise.cli import out_of_core as large_pair
from counterpoise.data import parallel as schedule


def columns_of(n, shift, seed, *, label):
    rng = np.random.default_rng(seed)
    age = rng.normal(40 + 5 * shift, 10, n)
    color = rng.choice(["red", "blue"], n, p=[0.6, 0.4])
    odds = (age - 40) / 10 + (color == "red") + rng.logistic(size=n)
    age = np.where(rng.random(n) < 0.05, np.nan, age)
    out = {
        "name": np.arange(10**16, 10**16 + n),
        "age": pa.array(age, from_pandas=True),
        "income": rng.normal(shift * 0.3, 1.0, n),
        "color": pa.array(color).dictionary_encode(),
    }
    if label:
        out["bought"] = np.where(odds > 0, "yes", "no")
    return pa.table(out)


def write_folder(folder, columns, per_file=700, per_group=250):
    folder.mkdir()
    for k, first in enumerate(range(0, columns.num_rows, per_file)):
        part = columns.slice(first, per_file)
        pq.write_table(part, folder / f"part-{k}.parquet", row_group_size=per_group)
    return folder


@pytest.fixture
def folders(tmp_path):
    source = columns_of(1500, 0, 1, label=True)
    target = columns_of(1300, 1, 2, label=False)
    pq.write_table(source, tmp_path / "train.parquet")
    pq.write_table(target, tmp_path / "live.parquet")
    return write_folder(tmp_path / "train", source), write_folder(
        tmp_path / "live", target
    )


def asked(folders, *more):
    source, target = folders
    return ["--source", source, "--target", f"{target}/part-*.parquet", *more]


def weights_in(path):
    return pq.read_table(path)


def test_run_weighs_and_fits_every_row_and_says_what_rests_on_how_many(
    run, folders, tmp_path
):
    out = tmp_path / "out"
    code, _, err = run(
        "run", *asked(folders), "--label", "bought", "--id", "name", "--out", out,
        "--estimator", "linear", "--max-memory", "2GB",
        "--weight-estimator", "log-linear",
    )  # fmt: skip
    assert code == 0, err
    written = weights_in(out / "weights.parquet")
    assert written["name"].to_pylist() == list(range(10**16, 10**16 + 1500))
    assert written["ratio"].to_numpy().mean() == pytest.approx(1.0)
    assert written["weight"].to_numpy().mean() == pytest.approx(1.0)
    record = json.loads((out / "report.json").read_text())
    assert record["data"]["source"]["rows"] == 1500
    assert record["data"]["source"]["drawn"] == 1500
    assert record["data"]["source"]["files"] == 3
    assert record["all_rows"]["estimator_fit"] == "passes"
    assert record["all_rows"]["weight_estimator_fit"] == "every row"
    assert any("rest on 1,500 of 1,500" in one for one in record["notices"])
    page = (out / "report.html").read_text()
    assert "rest on 1,500 of 1,500" in page
    # Nothing of the passes is left.
    assert not list(tmp_path.glob(".*passes"))


def test_weights_of_a_folder_are_those_of_one_file(run, folders, tmp_path):
    names = "--id", "name", "--drop", "bought", "--weight-estimator", "log-linear"
    code, _, err = run(
        "weights", *asked(folders), *names, "--out", tmp_path / "many.parquet"
    )
    assert code == 0, err
    one = "--source", tmp_path / "train.parquet", "--target", tmp_path / "live.parquet"
    code, _, err = run("weights", *one, *names, "--out", tmp_path / "one.parquet")
    assert code == 0, err
    many, whole = (weights_in(tmp_path / f"{k}.parquet") for k in ("many", "one"))
    assert many["name"] == whole["name"]
    np.testing.assert_allclose(
        many["weight"].to_numpy(), whole["weight"].to_numpy(), rtol=1e-6
    )


def test_predictions_of_a_folder_are_those_of_one_file(run, folders, tmp_path):
    out = tmp_path / "out"
    code, _, err = run(
        "fit", *asked(folders), "--label", "bought", "--id", "name", "--out", out,
        "--estimator", "logistic", "--weight-estimator", "log-linear",
    )  # fmt: skip
    assert code == 0, err
    more = "--probabilities", "--overlap", "--id", "name"
    for table, name in ((folders[1], "many"), (tmp_path / "live.parquet", "one")):
        code, _, err = run(
            "predict", "--model", out / "model.skops", "--table", table,
            "--out", tmp_path / f"{name}.parquet", *more,
        )  # fmt: skip
        assert code == 0, err
    many, whole = (weights_in(tmp_path / f"{k}.parquet") for k in ("many", "one"))
    assert many.column_names == whole.column_names
    assert many["prediction"].to_pylist() == whole["prediction"].to_pylist()
    np.testing.assert_allclose(
        many["probability of yes"].to_numpy(), whole["probability of yes"].to_numpy()
    )
    np.testing.assert_allclose(many["weight"].to_numpy(), whole["weight"].to_numpy())


def test_rows_without_a_label_are_left_out_and_keep_the_numbers_of_others(
    run, folders, tmp_path
):
    source = columns_of(1500, 0, 1, label=True)
    labels = source["bought"].to_pylist()
    labels[3] = labels[700] = None
    folder = write_folder(
        tmp_path / "gaps", source.set_column(4, "bought", pa.array(labels))
    )
    out = tmp_path / "out"
    code, _, err = run(
        "fit", "--source", folder, "--target", folders[1], "--label", "bought",
        "--drop", "name", "--out", out, "--estimator", "linear",
        "--weight-estimator", "log-linear",
    )  # fmt: skip
    assert code == 0, err
    rows = weights_in(out / "weights.parquet")["row"].to_pylist()
    assert rows == [k for k in range(1, 1501) if k not in (4, 701)]


def test_other_models_are_fitted_to_rows_drawn(run, folders, tmp_path, monkeypatch):
    from counterpoise.cli import out_of_core as fitting

    monkeypatch.setattr(fitting, "MOST_ROWS_OF_A_MODEL", 600)
    out = tmp_path / "out"
    code, _, err = run(
        "fit", *asked(folders), "--label", "bought", "--drop", "name", "--out", out,
        "--estimator", "tree", "--weight-estimator", "log-linear",
    )  # fmt: skip
    assert code == 0, err
    record = json.loads((out / "report.json").read_text())
    assert record["all_rows"]["estimator_fit"] == "drawn rows"
    assert record["all_rows"]["max_samples"] == 600
    assert "600 rows drawn by their weights" in err


def test_decisions_rest_on_a_sample(run, folders, tmp_path, monkeypatch):
    monkeypatch.setattr(large_pair, "DECISION_SAMPLE_SIZE", 900)
    code, out, err = run(
        "diagnose", *asked(folders), "--drop", "bought,name", "--json", "-", "--quiet"
    )
    assert code == 0, err
    record = json.loads(out)
    assert record["data"]["target"]["rows"] == 1300
    assert record["data"]["target"]["drawn"] == 900
    assert record["shift"]["n_source"] == 900


def test_a_run_that_was_ended_goes_on_where_it_was(run, folders, tmp_path, monkeypatch):
    def command(out, *more):
        return [
            "fit", *asked(folders), "--label", "bought", "--drop", "name",
            "--out", tmp_path / out, "--estimator", "linear",
            "--weight-estimator", "log-linear", *more,
        ]  # fmt: skip

    assert run(*command("clean"))[0] == 0
    made, before = [], schedule.reduce

    def ended(combine, parts):
        made.append(combine)
        if len(made) == 6:
            raise KeyboardInterrupt
        return before(combine, parts)

    monkeypatch.setattr(schedule, "reduce", ended)
    assert run(*command("cut"))[0] == 130
    assert not (tmp_path / "cut").exists()
    kept = sorted(path.name for path in (tmp_path / ".cut.passes").glob("pass-*"))
    assert len(kept) >= 5
    first = made.copy()
    code, _, err = run(*command("cut", "--resume"))
    assert code == 0, err
    # What was made before the end is not made again.
    assert made[6:][0] == first[5]
    clean, cut = (
        weights_in(tmp_path / k / "weights.parquet") for k in ("clean", "cut")
    )
    assert clean.equals(cut)
    models = [load_model(tmp_path / k / "model.skops") for k in ("clean", "cut")]
    assert np.array_equal(*(model.estimator_[-1].coef_ for model in models))
    assert not (tmp_path / ".cut.passes").exists()


def test_passes_over_other_files_are_not_gone_on_with(run, folders, tmp_path):
    out = tmp_path / "w.parquet"
    beside = tmp_path / ".w.parquet.passes"
    beside.mkdir()
    (beside / "inputs.json").write_text("{}")
    command = ["weights", *asked(folders), "--drop", "bought,name", "--out", out]
    code, _, err = run(*command, "--resume")
    assert code == 2
    assert "passes of another run" in err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--weights", "age"], "--weights is not taken with folders"),
        (
            ["--calibration-fraction", "0.2"],
            "--calibration-fraction is not taken with folders",
        ),
        (["--target-labels", "labels.csv"], "names rows of one file"),
        (["--workers", "2", "--scheduler", "tcp://127.0.0.1:1"], "give one"),
    ],
)
def test_what_folders_cannot_have_is_refused_by_name(
    run, folders, tmp_path, more, words
):
    code, _, err = run(
        "run", *asked(folders), "--label", "bought", "--out", tmp_path / "out", *more
    )
    assert code == 1
    assert words in err


def test_a_cluster_without_workers_ends_a_command_after_the_wait(
    run, folders, tmp_path
):
    from distributed import LocalCluster

    command = ["weights", *asked(folders), "--drop", "bought,name"]
    with LocalCluster(
        n_workers=0, protocol="tcp", host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster:
        address = cluster.scheduler_address
        code, _, err = run(
            *(*command, "--out", tmp_path / "w.parquet"),
            *("--scheduler", address, "--wait", "1"),
        )
    assert code == 1
    assert f"no Dask worker has been available for 1 s (scheduler {address})" in err
    assert "start workers, or raise --wait; --resume continues with this pass" in err
    code, _, err = run(*command, "--out", tmp_path / "w.parquet", "--resume", "--quiet")
    assert code == 0, err


def test_nothing_is_written_where_it_is_read(run, folders):
    source, _ = folders
    command = ["weights", *asked(folders), "--drop", "bought,name"]
    code, _, err = run(*command, "--out", source / "weights.parquet")
    assert code == 1
    assert "a folder that is read" in err
    code, _, err = run(*command, "--out", source.parent / "weights.csv")
    assert code == 1
    assert "must end in .parquet" in err


def test_resume_needs_blocks(run, tables, tmp_path):
    source, target = tables
    code, _, err = run(
        "weights", "--source", source, "--target", target, "--label", "bought",
        "--out", tmp_path / "w.parquet", "--resume",
    )  # fmt: skip
    assert code == 1
    assert "--resume is for folders" in err


def test_an_empty_folder_and_other_columns_are_bad_data(run, folders, tmp_path):
    (tmp_path / "empty").mkdir()
    source, target = folders
    code, _, err = run("diagnose", "--source", tmp_path / "empty", "--target", target)
    assert code == 2
    assert "no Parquet file is there" in err
    pq.write_table(pa.table({"age": ["x"]}), target / "part-9.parquet")
    code, _, err = run("diagnose", "--source", source, "--target", target)
    assert code == 2
    assert "part-9.parquet" in err


def test_a_corrupt_page_in_a_folder_is_bad_data_and_is_named(run, folders, tmp_path):
    path = sorted(folders[1].glob("*.parquet"))[1]
    content = bytearray(path.read_bytes())
    at = pq.read_metadata(path).row_group(1).column(0).data_page_offset
    content[at : at + 64] = b"\xff" * 64
    path.write_bytes(content)
    code, _, said = run("weights", *asked(folders, "--out", tmp_path / "w.parquet"))
    assert code == 2, said
    assert path.name in said
    assert "row group 1" in said


def test_two_processes_write_the_weights_of_one(run, folders, tmp_path):
    names = "--drop", "bought,name", "--weight-estimator", "log-linear"
    for out, more in (("one", ()), ("two", ("--workers", "2"))):
        code, _, err = run(
            "weights", *asked(folders), *names, "--out", tmp_path / f"{out}.parquet",
            *more,
        )  # fmt: skip
        assert code == 0, err
    one, two = (weights_in(tmp_path / f"{k}.parquet") for k in ("one", "two"))
    assert one.equals(two)


def test_one_file_that_is_too_large_is_read_in_blocks(run, folders, tmp_path):
    one = "--source", tmp_path / "train.parquet", "--target", tmp_path / "live.parquet"
    command = ["diagnose", *one, "--drop", "bought,name", "--json", "-", "--quiet"]
    _, out, _ = run(*command, "--max-memory", "400K")
    assert json.loads(out)["data"]["source"]["drawn"] == 1500
    _, out, _ = run(*command, "--max-memory", "1G")
    assert "drawn" not in json.loads(out)["data"]["source"]
