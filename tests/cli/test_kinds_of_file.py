"""Every kind of file gives the same columns, and hostile ones a sentence."""

import datetime
import gzip
import io
import os
import sys

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from counterpoise.cli.files import read_file
from counterpoise.cli.terminal import DataError, UsageError

COLUMNS = {"a": [1.5, None, -2.0], "b": ["x", "y", None], "c": [1, 2, 3]}
FRAME = pd.DataFrame(COLUMNS)


def write_workbook(path, sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for k, rows in enumerate(sheets, start=1):
        sheet = book.create_sheet(f"s{k}")
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def written(tmp_path, kind):
    path = tmp_path / f"t.{kind}"
    if kind == "csv":
        FRAME.to_csv(path, index=False)
    elif kind == "parquet":
        FRAME.to_parquet(path)
    elif kind == "feather":
        FRAME.to_feather(path)
    elif kind == "jsonl":
        FRAME.to_json(path, orient="records", lines=True)
    else:
        rows = [[None if v != v else v for v in row] for row in FRAME.to_numpy()]
        write_workbook(path, [[list(FRAME.columns), *rows]])
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather", "jsonl", "xlsx"])
def test_every_kind_of_file_gives_the_same_columns(tmp_path, kind):
    table = read_file(written(tmp_path, kind))
    assert table.columns.to_pydict() == COLUMNS
    assert table.notices == ()


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "xlsx"])
def test_the_standard_input_is_read_and_told_by_its_name(tmp_path, monkeypatch, kind):
    content = written(tmp_path, kind).read_bytes()
    stdin = io.TextIOWrapper(io.BytesIO(content))
    monkeypatch.setattr(sys, "stdin", stdin)
    table = read_file("-")
    assert table.columns.to_pydict() == COLUMNS
    assert str(table.path) == "standard input"
    assert table.place(0) in ("line 2", "row 1", "row 2")
    assert table.sha256 == read_file(tmp_path / f"t.{kind}").sha256


def test_a_fault_in_the_standard_input_is_told_by_its_name(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(b"a,b\n1\n"))
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(DataError, match=r"^standard input, line 2: 1 columns"):
        read_file("-")


def test_a_notice_about_the_standard_input_is_told_by_its_name(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(b",b\n0,1\n"))
    monkeypatch.setattr(sys, "stdin", stdin)
    (notice,) = read_file("-").notices
    assert notice.told.startswith("standard input: column 1 has no name")


def test_both_tables_cannot_come_from_the_standard_input(run):
    code, _, said = run("diagnose", "--source", "-", "--target", "-")
    assert code == 1
    assert "both be the standard input" in said


def test_a_workbook_has_dates_flags_mixed_cells_and_more_sheets(tmp_path):
    day = datetime.date(2024, 1, 31)
    rows = [["d", "f", "m", "n"], [day, True, 7, 1], [None, False, "x", None]]
    path = write_workbook(tmp_path / "t.xlsx", [rows, [["other"]]])
    table = read_file(path)
    found = table.columns.to_pydict()
    assert found["d"] == [datetime.datetime(2024, 1, 31), None]
    assert found["f"] == [True, False]
    assert found["m"] == ["7", "x"]
    assert found["n"] == [1.0, None]
    assert "the first of its 2 sheets is read, 's1'" in table.notices[0].told
    assert table.place(0) == "row 2"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["a", "a"], [1, 2]], "two columns are called 'a'"),
        ([["a", None], [1, 2]], "column 2 has no name"),
        ([[None], [None]], "is empty"),
        ([["a"]], "has no rows"),
    ],
)
def test_a_sheet_that_is_no_table_is_refused(tmp_path, rows, message):
    with pytest.raises(DataError, match=message):
        read_file(write_workbook(tmp_path / "t.xlsx", [rows]))


def test_a_workbook_without_its_package_names_the_extra(tmp_path, monkeypatch):
    path = written(tmp_path, "xlsx")
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(UsageError, match=r"counterpoise\[excel\]"):
        read_file(path)


def test_dictionaries_and_views_of_strings_are_strings(tmp_path):
    values = ["x", None, "y"]
    table = pa.table(
        {
            "coded": pa.array(values).dictionary_encode(),
            "viewed": pa.array(values, pa.string_view()),
            "numbers": pa.array([1.0, None, 2.0]).dictionary_encode(),
            "pandas": pa.array(pd.Categorical(values)),
        }
    )
    for kind, write in (
        ("parquet", pq.write_table),
        ("feather", feather.write_feather),
    ):
        try:
            write(table, tmp_path / f"t.{kind}")
        except pa.ArrowNotImplementedError:
            # pyarrow before 18 reads views of strings from Parquet and writes none.
            plain = table.set_column(1, "viewed", pa.array(values))
            write(plain, tmp_path / f"t.{kind}")
        found = read_file(tmp_path / f"t.{kind}").columns
        assert found.to_pydict() == table.to_pydict()
        kinds = [str(kind).removeprefix("large_") for kind in found.schema.types]
        assert kinds == ["string", "string", "double", "string"]


def test_strings_that_are_no_text_are_refused_by_file_and_column(tmp_path):
    bad = pa.array([b"x", b"\xff"]).view(pa.string())
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1, 2], "b": bad}), path)
    with pytest.raises(DataError, match=r"t\.parquet, column 'b' cannot be read"):
        read_file(path)


def test_a_time_zone_that_nobody_knows_is_refused_by_file_and_column(tmp_path):
    moments = pa.array([0, 1], pa.timestamp("us", tz="Middle/Earth"))
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"when": moments}), path)
    with pytest.raises(
        DataError, match=r"column 'when' has the time zone 'Middle/Earth'"
    ):
        read_file(path)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="is a pipe or a device"):
        read_file(tmp_path / "pipe")
    with pytest.raises(DataError, match="is a pipe or a device"):
        read_file("/dev/null")


def test_a_path_with_a_zero_byte_is_no_path():
    with pytest.raises(DataError, match="is no path"):
        read_file("a\0b.csv")


@pytest.mark.parametrize("kept", [12, 40, 2_000])
def test_a_packed_file_that_was_cut_is_refused(tmp_path, kept):
    rng = np.random.default_rng(0)
    text = "a,b\n" + "".join(f"{x},{x}\n" for x in rng.random(5_000))
    packed = gzip.compress(text.encode())
    path = tmp_path / "t.csv.gz"
    path.write_bytes(packed[:kept])
    with pytest.raises(DataError, match=r"cannot be (unpacked|read)"):
        read_file(path)
