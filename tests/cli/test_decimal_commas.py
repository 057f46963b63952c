"""Decimal commas are numbers where they can be nothing else."""

import numpy as np
import pandas as pd
import pytest

from counterpoise.cli.files import read_file
from counterpoise.cli.terminal import DataError


def read(tmp_path, text, **more):
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    return read_file(path, **more)


def test_decimal_commas_are_read_and_said(tmp_path):
    table = read(tmp_path, "a;b;c\n1,5;x;-2\n;y;1.234,75\n-0,25e2; ;+3,\n")
    assert table.columns["a"].to_pylist() == [1.5, None, -25.0]
    assert table.columns["b"].to_pylist() == ["x", "y", " "]
    assert table.columns["c"].to_pylist() == [-2.0, 1234.75, 3.0]
    (notice,) = table.notices
    assert notice.told.endswith(
        "decimal commas are read as such in the columns 'a', 'c'"
    )


def test_they_are_what_pandas_reads(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 3)) * 1e4)
    frame.columns = list("abc")
    path = tmp_path / "t.csv"
    frame.to_csv(path, sep=";", decimal=",", index=False)
    found = read_file(path).columns.to_pandas()
    theirs = pd.read_csv(path, sep=";", decimal=",")
    pd.testing.assert_frame_equal(found, theirs)


@pytest.mark.parametrize(
    "cells", [["1,5", "x"], ["1,5,2", "2,5"], [",", "1,5"], ["1,5 km", "2,5 km"]]
)
def test_what_is_no_number_keeps_the_column_text(tmp_path, cells):
    text = "a;b\n" + "".join(f"{cell};1\n" for cell in cells)
    assert read(tmp_path, text).columns["a"].to_pylist() == cells


def test_a_column_that_is_wanted_as_text_stays_text(tmp_path):
    table = read(tmp_path, "a;b\n1,5;2,5\n", as_text=["a"])
    assert table.columns["a"].to_pylist() == ["1,5"]
    assert table.columns["b"].to_pylist() == [2.5]


def test_thousands_or_decimals_is_refused_unless_another_cell_tells(tmp_path):
    with pytest.raises(DataError, match=r"column 'a': '1,234' may be a decimal comma"):
        read(tmp_path, "a;b\n1,234;1\n5,678;2\n")
    for other in ("0,125", "1,5", "12,3456"):
        table = read(tmp_path, f"a;b\n1,234;1\n{other};2\n")
        assert table.columns["a"].to_pylist()[0] == 1.234
    told_by_another = read(tmp_path, "a;b\n1,234;1,5\n5,678;2\n")
    assert told_by_another.columns["a"].to_pylist() == [1.234, 5.678]


def test_commas_between_columns_are_no_decimal_commas(tmp_path):
    table = read(tmp_path, 'a,b\n"1,5",1\n"2,5",2\n')
    assert table.columns["a"].to_pylist() == ["1,5", "2,5"]


def spreadsheet(tmp_path, name, frame, **options):
    path = tmp_path / name
    frame.to_csv(path, index=False, **options)
    return path


def test_the_verdict_is_that_of_decimal_points(run, tmp_path):
    rng = np.random.default_rng(1)
    train = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("xyz"))
    live = pd.DataFrame(rng.normal(1.0, 1, size=(200, 3)), columns=list("xyz"))
    said = []
    for k, options in enumerate([{}, {"sep": ";", "decimal": ","}]):
        tables = [
            spreadsheet(tmp_path, f"{name}{k}.csv", frame, **options)
            for name, frame in (("train", train), ("live", live))
        ]
        code, out, _ = run(
            *("diagnose", "--source", tables[0], "--target", tables[1]),
            *("--text", "--quiet"),
        )
        assert code == 0
        said.append([line for line in out.splitlines() if "decimal commas" not in line])
    assert [line for line in said[0] if "thin" in line]
    assert said[0][:8] == said[1][:8]


@pytest.mark.parametrize("text", ["1'234.5", "$ 12.50", "12,345", "45 %"])
def test_numbers_that_would_be_left_out_as_names_are_an_error(run, tmp_path, text):
    frame = pd.DataFrame({"a": np.arange(60.0), "b": [f"{text}{k}" for k in range(60)]})
    frame["b"] = [text[:-1] + f"{k:02d}" + text[-1] for k in range(60)]
    paths = [spreadsheet(tmp_path, name, frame) for name in ("s.csv", "t.csv")]
    code, _, said = run(
        *("diagnose", "--source", paths[0], "--target", paths[1]),
    )
    assert code == 2
    assert "column 'b'" in said
    assert "line 2" in said
    assert "looks like a number that cannot be read" in said


def test_names_of_rows_are_still_left_out(run, tmp_path):
    half = ["name" if k % 2 else "" for k in range(60)]
    frame = pd.DataFrame(
        {"a": np.arange(60.0), "b": [f"{w}{k},5" for k, w in enumerate(half)]}
    )
    paths = [spreadsheet(tmp_path, name, frame) for name in ("s.csv", "t.csv")]
    code, _, said = run(
        *("diagnose", "--source", paths[0], "--target", paths[1]),
    )
    assert code == 0
    assert "differs in nearly every row" in said
