"""Two files become two samples with the same columns of the same kinds."""

from argparse import Namespace

import numpy as np
import pandas as pd
import pytest

from counterpoise.cli.inputs import read_pair
from counterpoise.cli.terminal import DataError
from counterpoise.data.table import NOTHING, Table


def read(tables, **more):
    given = {"label": "bought", "task": "auto", "target_labels": False, **more}
    return read_pair(Namespace(source=tables[0], target=tables[1], **given))


def test_columns_have_their_kinds_and_the_order_of_the_source(tables):
    live = pd.read_csv(tables[1])
    live[live.columns[::-1]].to_csv(tables[1], index=False)
    pair = read(tables)
    assert pair.kinds == {
        "age": "numbers",
        "income": "numbers",
        "region": "categories",
        "day": "dates",
    }
    assert list(pair.X.columns) == list(pair.X_target.columns) == list(pair.kinds)
    train = pd.read_csv(tables[0])
    np.testing.assert_array_equal(pair.X["age"], train["age"])
    np.testing.assert_array_equal(pair.X_target["income"], live["income"])
    assert pair.y.tolist() == train["bought"].tolist()
    assert pair.task == "classification"


def test_csv_and_parquet_give_the_same_pair(tables, tmp_path):
    other = []
    for path in tables:
        frame = pd.read_csv(path, parse_dates=["day"])
        frame.to_parquet(tmp_path / f"{path.stem}.parquet")
        other.append(tmp_path / f"{path.stem}.parquet")
    ours, theirs = read(tables), read(other)
    assert ours.kinds == theirs.kinds
    pd.testing.assert_frame_equal(ours.X, theirs.X)
    pd.testing.assert_frame_equal(ours.X_target, theirs.X_target)
    np.testing.assert_array_equal(ours.y, theirs.y)


def test_a_label_in_the_target_is_left_out_and_said(tables):
    live = pd.read_csv(tables[1])
    live.assign(bought="no").to_csv(tables[1], index=False)
    pair = read(tables)
    assert "bought" not in pair.X_target
    assert pair.y_target is None
    assert any(
        "label 'bought', which is not used; --target-labels" in n.told
        for n in pair.notices
    )


def test_labels_of_some_target_rows_are_used_when_asked_for(tables):
    live = pd.read_csv(tables[1])
    labels = np.where(np.arange(len(live)) % 10 == 3, "yes", "")
    live.assign(bought=labels).to_csv(tables[1], index=False)
    pair = read(tables, target_labels=True)
    assert pair.labeled.tolist() == list(range(3, len(live), 10))
    assert set(pair.y_target) == {"yes"}
    live.assign(bought=np.where(labels == "", "", "maybe")).to_csv(
        tables[1], index=False
    )
    with pytest.raises(DataError, match=r"line 5, column 'bought': .* no class maybe"):
        read(tables, target_labels=True)


def test_rows_without_a_label_are_left_out_and_keep_their_numbers(tables):
    train = pd.read_csv(tables[0])
    train.loc[[0, 7], "bought"] = ""
    train.to_csv(tables[0], index=False)
    pair = read(tables)
    assert len(pair.X) == len(pair.y) == 298
    assert any("2 rows of" in notice.told for notice in pair.notices)
    assert pair.by_row(None, {"w": np.arange(298)})["row"][:7].tolist() == [
        2,
        3,
        4,
        5,
        6,
        7,
        9,
    ]


def test_rows_are_in_the_order_of_time_and_weights_in_that_of_the_file(tables):
    train = pd.read_csv(tables[0], parse_dates=["day"])
    pair = read(tables, time="day")
    order = train["day"].argsort(kind="stable")
    assert "day" not in pair.kinds
    np.testing.assert_array_equal(pair.X["age"], train["age"][order])
    np.testing.assert_array_equal(pair.y, train["bought"][order])
    columns = pair.by_row("day", {"age": pair.X["age"]})
    np.testing.assert_array_equal(columns["age"], train["age"])
    assert columns["day"].to_pylist() == train["day"].dt.date.tolist()


def test_columns_that_only_the_target_has_are_said_and_not_used(tables):
    live = pd.read_csv(tables[1])
    live.assign(version=2).to_csv(tables[1], index=False)
    pair = read(tables)
    assert "version" not in pair.kinds
    assert any("not used: 'version'" in notice.told for notice in pair.notices)


def test_strings_that_differ_in_every_row_are_left_out_unless_asked_for(tables):
    for path in tables:
        frame = pd.read_csv(path)
        frame["name"] = [f"n{k:05}" for k in range(len(frame))]
        frame.to_csv(path, index=False)
    assert "name" not in read(tables).kinds
    assert any(
        "column 'name' differs" in notice.told for notice in read(tables).notices
    )
    assert read(tables, categorical=("name",)).kinds["name"] == "categories"


def test_numbers_with_a_word_in_both_files_are_categories_and_the_word_is_named(tables):
    for path, row in zip(tables, (4, 9), strict=True):
        frame = pd.read_csv(path).assign(room=1)
        frame["room"] = frame["room"].astype(object)
        frame.loc[row, "room"] = "none?"
        frame.to_csv(path, index=False)
    pair = read(tables)
    assert pair.kinds["room"] == "categories"
    assert any(
        "'none?' in line 6 is no number" in notice.told for notice in pair.notices
    )


@pytest.mark.parametrize(
    ("values", "task", "told"),
    [
        ([0, 1], "classification", False),
        ([1, 2, 3], "classification", True),
        (range(150), "regression", True),
        (np.linspace(0, 1, 300), "regression", False),
        (["1", "x"], "classification", False),
    ],
)
def test_the_task_goes_by_the_label_and_is_said_where_it_could_be_otherwise(
    tables, values, task, told
):
    train = pd.read_csv(tables[0])
    train["bought"] = np.resize(np.array(values), len(train))
    train.to_csv(tables[0], index=False)
    pair = read(tables)
    assert pair.task == task
    assert any("--task" in notice.told for notice in pair.notices) == told


def test_the_table_of_a_file_is_that_of_the_frame_made_of_it(tables, tmp_path):
    source = pd.read_csv(tables[0])
    source.loc[3:40, "bought"] = None
    source["gone"] = np.where(source["bought"].isna(), 1.0, np.nan)
    source["left"] = np.where(source["bought"].isna(), "x", None)
    path = tmp_path / "more.csv"
    source.to_csv(path, index=False)
    pair = read((path, path))
    for table, frame in (
        (pair.table, pair.X),
        (pair.table_target, pair.X_target),
    ):
        theirs = Table.of(frame)
        assert [c.kind for c in table.columns] == [c.kind for c in theirs.columns]
        for ours, other in zip(table.columns, theirs.columns, strict=True):
            assert ours.label == other.label
            assert ours.categories == other.categories
            np.testing.assert_array_equal(ours.values, other.values)
            assert (ours.local is None) == (other.local is None)
    kinds = {c.name: c.kind for c in pair.table.columns}
    assert kinds["gone"] == kinds["left"] == NOTHING
    assert pair.X["left"].dtype == object
    assert pair.samples.names == tuple(pair.kinds)


def test_groups_are_names_of_rows_and_no_column(tables):
    train, live = (pd.read_csv(path) for path in tables)
    train.assign(site=np.arange(300) // 10).to_csv(tables[0], index=False)
    live.assign(site=np.arange(200) // 10 + 90).to_csv(tables[1], index=False)
    pair = read(tables, groups="site")
    assert "site" not in pair.kinds
    assert pair.groups.tolist() == [str(k // 10) for k in range(300)]
    assert pair.samples.units.sizes == (30, 20)
    live.to_csv(tables[1], index=False)
    pair = read(tables, groups="site")
    assert any("its rows count one by one" in n.told for n in pair.notices)
    assert pair.samples.units.sizes == (30, 200)
    train.assign(site=["", *["a"] * 299]).to_csv(tables[0], index=False)
    with pytest.raises(DataError, match=r"line 2: no 'site' \(--groups\)"):
        read(tables, groups="site")


def test_times_of_both_tables_make_blocks(tables):
    pair = read(tables, time="day")
    assert pair.samples.units.kind == "blocks of time"
    live = pd.read_csv(tables[1]).drop(columns="day")
    live.to_csv(tables[1], index=False)
    pair = read(tables, time="day")
    assert pair.samples.units is None
    assert any("has no 'day'" in n.told for n in pair.notices)
