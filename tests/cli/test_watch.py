"""`counterpoise monitor`: begun once, gone on with, alerts as exit codes."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from counterpoise import adapt


def _rows(seed, n, shift=0.0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 2)), columns=["a", "b"])
    X["b"] += shift
    y = ((X["a"] > 0) ^ (rng.random(n) < 0.1)).astype(int)
    return X, y


def _live(path, seed, start, n=160, days=14, shift=0.0, labels=True):
    X, y = _rows(seed, n, shift)
    when = pd.to_datetime(start) + pd.to_timedelta(np.arange(n) * days / n, unit="D")
    table = X.assign(sent_at=when)
    if labels:
        table["y"] = y.astype(float).where(np.arange(n) % 2 == 0)
    table.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    folder = tmp_path_factory.mktemp("monitor")
    X, y = _rows(0, 300)
    adapt(LogisticRegression(), X, y, _rows(1, 200)[0]).save(folder / "model.skops")
    X, y = _rows(2, 600)
    X.assign(y=y).to_csv(folder / "labeled.csv", index=False)
    return folder


def _first(begun, live, out):
    return (
        "monitor", "--model", begun / "model.skops",
        "--reference", begun / "labeled.csv", "--label", "y", "--table", live,
        "--time", "sent_at", "--every", "week",
        "--metric", "accuracy", "--out", out,
    )  # fmt: skip


def test_a_watch_is_begun_gone_on_with_and_raises_alarms(begun, run, tmp_path):
    out = tmp_path / "out"
    first = _live(tmp_path / "one.csv", 3, "2024-01-01")
    code, _, said = run(*_first(begun, first, out))
    assert (code, sorted(path.name for path in out.iterdir())) == (
        0,
        [
            "chunk-0001.html",
            "chunk-0002.html",
            "history.csv",
            "watch.html",
            "watch.json",
            "watch.skops",
        ],
    ), said
    assert "new chunks: 2, 2 in all" in said
    record = json.loads((out / "watch.json").read_text())["monitor"]
    assert [row["time"] for row in record["history"]] == ["2024-01-01", "2024-01-08"]
    assert record["history"][0]["n_labeled"] == 40
    assert record["history"][0]["report"] == "chunk-0001.html"
    # The same table again: nothing is counted twice.
    code, _, said = run(*_first(begun, first, out))
    assert code == 0
    assert "160 rows have been before and are not counted again" in said
    assert "new chunks: 0, 2 in all" in said
    # Later runs need the rows alone.
    later = _live(tmp_path / "two.csv", 4, "2024-01-15", shift=1.5)
    again = ("monitor", "--table", later, "--time", "sent_at", "--out", out)
    code, _, said = run(*again, "--fail-if", "inputs>0")
    assert code == 3
    assert "--fail-if inputs>0 holds" in said
    record = json.loads((out / "watch.json").read_text())["monitor"]
    assert record["n_looks"] == 4
    [alert] = [one for one in record["alerts"] if one["kind"] == "inputs"]
    assert alert["columns"][0] == "b"
    page = (out / "watch.html").read_text()
    assert "Alert: the inputs have changed" in page
    assert 'href="./chunk-0004.html"' in page
    assert len(pd.read_csv(out / "history.csv")) == 4


def test_a_table_that_grows_gives_its_new_rows(begun, run, tmp_path):
    out, live = tmp_path / "out", tmp_path / "live.csv"
    whole = pd.read_csv(_live(live, 5, "2024-01-01", days=7))
    whole[:100].to_csv(live, index=False)
    assert run(*_first(begun, live, out))[0] == 0
    whole.to_csv(live, index=False)
    code, _, said = run(*_first(begun, live, out))
    assert code == 0
    assert "late: more rows of a time that has been" in said
    history = pd.read_csv(out / "history.csv")
    assert list(history["n_rows"]) == [100, 60]


def test_rows_that_have_been_are_not_counted_again(begun, run, tmp_path):
    out, live = tmp_path / "out", tmp_path / "live.csv"
    whole = pd.read_csv(_live(live, 5, "2024-01-01"))
    whole["order"] = np.arange(len(whole))
    early = whole[np.arange(len(whole)) % 3 != 0].drop(columns="y")
    early[:90].to_csv(live, index=False)
    assert run(*_first(begun, live, out))[0] == 0
    n = sum(pd.read_csv(out / "history.csv")["n_rows"])
    # Late rows between those that were there, labels, and a window that moved on.
    whole[20:].to_csv(live, index=False)
    code, _, said = run(*_first(begun, live, out))
    assert code == 0
    history = pd.read_csv(out / "history.csv")
    known = set(early["order"][:90])
    assert sum(history["n_rows"]) == n + len(set(whole["order"][20:]) - known)
    assert "rows have been before and are not counted again" in said
    assert "labels of them are new and were counted" in said
    # Ids of another kind would know none of them.
    code, _, said = run(*_first(begun, live, out), "--id", "order")
    assert code == 2
    assert "tells rows apart by 'their time and all columns'" in said


def test_an_id_tells_rows_apart_whatever_else_they_hold(begun, run, tmp_path):
    out, live = tmp_path / "out", tmp_path / "live.csv"
    table = pd.read_csv(_live(live, 5, "2024-01-01", days=7))
    table["order"] = [f"{k:05d}" for k in range(len(table))]
    table.to_csv(live, index=False)
    assert run(*_first(begun, live, out), "--id", "order")[0] == 0
    table.assign(a=table["a"] + 1).to_csv(live, index=False)
    code, _, said = run(*_first(begun, live, out), "--id", "order")
    assert code == 0
    assert "new chunks: 0, 1 in all" in said
    table.loc[3, "order"] = None
    table.to_csv(live, index=False)
    code, _, said = run(*_first(begun, live, out), "--id", "order")
    assert code == 2
    assert "line 5, column 'order': a row without an id" in said


def test_the_label_is_remembered_and_late_labels_are_shown(begun, run, tmp_path):
    out, live = tmp_path / "out", tmp_path / "live.csv"
    whole = pd.read_csv(_live(live, 5, "2024-01-01", days=7))
    whole.drop(columns="y").to_csv(live, index=False)
    code, _, said = run(*_first(begun, live, out))
    assert code == 0, said
    assert list(pd.read_csv(out / "history.csv")["n_labeled"]) == [0]
    whole.to_csv(live, index=False)
    code, shown, said = run(
        "monitor", "--table", live, "--time", "sent_at", "--out", out
    )
    assert code == 0, said
    assert "80 labels of them are new and were counted" in said
    told = shown + said
    assert "new chunks: 0, 1 in all" in told
    assert "chunks with new labels: 1" in told
    (row,) = [line for line in told.splitlines() if "2024-01-01" in line]
    assert len(row.split()) >= 6
    assert list(pd.read_csv(out / "history.csv")["n_labeled"]) == [80]
    # And once more: nothing is new, so no table.
    code, shown, said = run(
        "monitor", "--table", live, "--time", "sent_at", "--out", out
    )
    assert "chunks with new labels" not in shown + said
    assert "2024-01-01" not in shown + said


def test_a_mistyped_label_is_refused_and_the_remembered_one_still_read(
    begun, run, tmp_path
):
    out = tmp_path / "out"
    first = _live(tmp_path / "one.csv", 3, "2024-01-01", days=7, labels=False)
    assert run(*_first(begun, first, out))[0] == 0
    # Rows without labels go on under the same name.
    assert run(*_first(begun, first, out))[0] == 0
    kept = {path.name: path.read_bytes() for path in out.iterdir()}
    second = _live(tmp_path / "two.csv", 4, "2024-01-08", days=7)
    again = ("monitor", "--table", second, "--time", "sent_at", "--out", out)
    code, _, said = run(*again, "--label", "yy")
    assert code == 2
    assert (
        "has no column 'yy' (--label), and this monitor reads labels from 'y'" in said
    )
    assert {path.name: path.read_bytes() for path in out.iterdir()} == kept
    assert run(*again)[0] == 0
    assert list(pd.read_csv(out / "history.csv")["n_labeled"]) == [0, 80]
    # Another column that is there may take its place, and it is said.
    third = _live(tmp_path / "three.csv", 5, "2024-01-15", days=7)
    pd.read_csv(third).rename(columns={"y": "answer"}).to_csv(third, index=False)
    later = ("monitor", "--table", third, "--time", "sent_at", "--out", out)
    code, _, said = run(*later, "--label", "answer")
    assert code == 0
    assert "labels are read from 'answer' from now on, not from 'y'" in said
    assert list(pd.read_csv(out / "history.csv")["n_labeled"]) == [0, 80, 80]


def test_a_label_at_the_copy_of_a_row_is_read(begun, run, tmp_path):
    out, live = tmp_path / "out", tmp_path / "live.csv"
    table = pd.read_csv(_live(live, 5, "2024-01-01", days=7))
    table["order"] = np.arange(len(table))
    early = table.assign(y=None)
    again = table[:50].assign(y=np.arange(50) % 2)
    other = again[:1].assign(y=1)
    pd.concat([early, again, other]).to_csv(live, index=False)
    code, _, said = run(*_first(begun, live, out), "--id", "order")
    assert code == 0, said
    assert "51 rows have the id of another row of the table" in said
    assert "1 rows have another label than a row before them with the same id" in said
    assert list(pd.read_csv(out / "history.csv")["n_labeled"]) == [50]


def test_a_reference_of_training_rows_is_warned_of(begun, run, tmp_path):
    live = _live(tmp_path / "live.csv", 6, "2024-01-01", n=60)
    train, out = tmp_path / "train.csv", tmp_path / "run"
    X, y = _rows(0, 300)
    X.assign(y=y).to_csv(train, index=False)
    code, _, said = run(
        "fit", "--source", train, "--label", "y", "--target", begun / "labeled.csv",
        "--drop", "y", "--out", out,
    )  # fmt: skip
    assert code == 0, said
    options = _first(out, live, tmp_path / "out")
    given = [train if one == out / "labeled.csv" else one for one in options]
    code, _, said = run(*given)
    assert code == 0, said
    assert f"{train} is the table that the model was fitted to" in " ".join(
        said.split()
    )
    # Without the record, as many rows may be the same.
    (out / "report.json").unlink()
    code, _, said = run(*given[:-1], tmp_path / "again")
    assert "fitted to as many rows as" in said
    # Other rows are fine.
    code, _, said = run(*_first(begun, live, tmp_path / "fine"))
    assert "fitted to" not in said


def test_what_is_no_date_is_told_with_its_place(begun, run, tmp_path):
    live = _live(tmp_path / "live.csv", 5, "2024-01-01")
    table = pd.read_csv(live)
    table.loc[2, "sent_at"] = "31.01.2024"
    table.to_csv(live, index=False)
    code, _, said = run(*_first(begun, live, tmp_path / "out"))
    assert code == 2
    assert "live.csv, line 4, column 'sent_at': '31.01.2024' is no date" in said
    table["sent_at"] = table["sent_at"].where(table.index != 5)
    table.loc[2, "sent_at"] = None
    table.to_csv(live, index=False)
    code, _, said = run(*_first(begun, live, tmp_path / "out"), "--every", "50")
    assert code in (0, 2), said


def test_chunks_by_count_and_by_column(begun, run, tmp_path):
    live = _live(tmp_path / "live.csv", 6, "2024-01-01", n=120, labels=False)
    table = pd.read_csv(live)
    table["batch"] = np.repeat(["x", "y"], 60)
    table.to_csv(live, index=False)
    for every, sizes in (("50", [50, 50, 20]), ("batch", [60, 60])):
        out = tmp_path / every
        code, _, said = run(
            *_first(begun, live, out)[:-2], "--every", every, "--out", out
        )
        assert code == 0, said
        assert list(pd.read_csv(out / "history.csv")["n_rows"]) == sizes


def test_wrong_use_is_said(begun, run, tmp_path):
    live = _live(tmp_path / "live.csv", 7, "2024-01-01", n=60)
    out = tmp_path / "out"
    code, _, said = run("monitor", "--table", live, "--time", "sent_at", "--out", out)
    assert code == 1
    assert "the first run of monitor needs --model and --reference and --label" in said
    first = _first(begun, live, out)
    assert run(*first, "--every", "fortnight")[0] == 1
    assert run(*first, "--tolerance", "-1")[0] == 1
    assert run(*first, "--false-alarm-rate", "2")[0] == 1
    assert run(*first, "--time", "when")[0] == 2
    assert not out.exists()
