"""Tables are read as they are meant, and faults are named by file, line and column."""

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from counterpoise.cli.files import kind_of, read_file, typed
from counterpoise.cli.inputs import table_of
from counterpoise.cli.terminal import DataError
from counterpoise.data.table import frame_of


def series_of(file, name, kind):
    """A column of a file as the estimator sees it."""
    return frame_of(table_of(file, {name: kind}), {name: kind})[name]


def written(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


FAULTS = {
    "ragged, too few": (b"a,b\n1,2\n3\n", r"line 3: 1 columns, the header has 2"),
    "ragged, too many": (b"a,b\n1,2\n3,4,5\n", r"line 3: 3 columns, the header has 2"),
    "ragged after a cell of two lines": (
        b'a,b\n"1\n2",2\n3\n',
        r"line 4: 1 columns, the header has 2",
    ),
    "open quote": (b'a,b\n"1,2\n3,4\n', r"line 2: .* never closed"),
    "duplicate header": (b"a,b,a\n1,2,3\n", r"line 1: columns 1 and 3 .* 'a'"),
    "latin-1": (
        "a,b,c\n1,2,3\n1,é,3\n".encode("latin-1"),
        r"line 3, column 2 \('b'\): byte 0xe9 is not UTF-8",
    ),
    "latin-1 header": (
        "a,é\n1,2\n".encode("latin-1"),
        r"line 1, column 2.*: byte 0xe9 is not UTF-8",
    ),
    "latin-1 after quotes": (
        'a,b\n"x,y",é\n'.encode("latin-1"),
        r"line 2, column 2 \('b'\)",
    ),
    "utf-16": ("a,b\n1,2\n".encode("utf-16"), r"UTF-16, line 1"),
    "empty": (b"", "is empty"),
    "header only": (b"a,b\n", "has no rows"),
    "no workbook": (b"PK\x03\x04rest", "cannot be read as a workbook"),
    "no old workbook": (b"\xd0\xcf\x11\xe0rest", "cannot be read as a workbook"),
    "no Feather": (b"ARROW1rest", "cannot be read as Feather"),
    "no JSON lines": (b'{"a": 1}\n{"a": \n', "cannot be read as JSON lines"),
    "no names": (b",\n1,2\n", "line 1: no column has a name"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_bad_data_and_is_named(tmp_path, fault):
    content, message = FAULTS[fault]
    path = written(tmp_path, content)
    with pytest.raises(DataError, match=message) as caught:
        read_file(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("column", ["b", "a"])
def test_a_wrong_byte_is_found_in_columns_that_are_read_as_text_too(tmp_path, column):
    path = written(tmp_path, "a,b\n1,é\n".encode("latin-1"))
    with pytest.raises(DataError, match="line 2, column 2"):
        read_file(path, as_text=[column])


def test_a_wrong_byte_far_down_is_found(tmp_path):
    lines = b"a,b\n" + b"1,text\n" * 300_000 + "1,\xe9\n".encode("latin-1")
    with pytest.raises(DataError, match="line 300002, column 2"):
        read_file(written(tmp_path, lines))


def test_a_missing_file_a_folder_and_a_false_parquet_are_named(tmp_path):
    with pytest.raises(DataError, match=r"none.csv cannot be read: no such file"):
        read_file(tmp_path / "none.csv")
    with pytest.raises(DataError, match="is a folder"):
        read_file(tmp_path)
    with pytest.raises(DataError, match="is no Parquet file"):
        read_file(written(tmp_path, "a\n1\n", "t.parquet"))
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        read_file(written(tmp_path, b"PAR1nonsensePAR1", "u.parquet"))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_separator_is_found_and_values_are_those_of_pandas(
    tmp_path, delimiter, end
):
    lines = ["n,i,s,d", "1.5,1,x,2020-01-31", ",,NA,", "-2e3,7,y,2021-02-28"]
    content = end.join(line.replace(",", delimiter) for line in lines) + end
    path = written(tmp_path, content)
    table = read_file(path)
    theirs = pd.read_csv(path, sep=delimiter, parse_dates=["d"])
    kinds = {name: kind_of(table, name) for name in table.names}
    assert kinds == {"n": "numbers", "i": "numbers", "s": "categories", "d": "dates"}
    for name, kind in kinds.items():
        ours = series_of(table, name, kind)
        assert (ours.isna() == theirs[name].isna()).all()
        there = ours.notna()
        assert (ours[there] == theirs[name][there]).all()


def test_a_mark_at_the_beginning_and_packed_files_are_read(tmp_path):
    marked = written(tmp_path, "\ufeffa,b\n1,2\n".encode())
    assert read_file(marked).names == ["a", "b"]
    packed = written(tmp_path, gzip.compress(b"a,b\n1,2\n3,4\n"), "t.csv.gz")
    assert read_file(packed).n_rows == 2


def test_an_index_without_a_name_is_left_out_and_said(tmp_path):
    path = tmp_path / "t.csv"
    pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}).to_csv(path)
    table = read_file(path)
    assert table.names == ["a", "b"]
    assert "column 1 has no name" in table.notices[0].told


def test_codes_that_are_read_as_categories_keep_their_zeros(tmp_path):
    path = written(tmp_path, "zip\n01234\n00001\n")
    texts = series_of(read_file(path, as_text=["zip"]), "zip", "categories")
    assert texts.tolist() == ["01234", "00001"]


def test_a_code_is_the_same_category_from_whole_numbers_and_from_text(tmp_path):
    pq.write_table(
        pa.table({"i": [7, 8], "f": [7.0, None], "s": ["7", "8"]}), tmp_path / "t.pq"
    )
    table = read_file(tmp_path / "t.pq")
    found = [
        series_of(table, name, "categories").tolist()[0] for name in ("i", "f", "s")
    ]
    assert found == ["7", "7", "7"]
    assert series_of(table, "f", "categories").isna().tolist() == [False, True]


def test_every_parquet_type_of_numbers_dates_and_strings_is_read(tmp_path):
    moments = pd.to_datetime(["2020-01-01 12:00", "2020-06-01 00:00"])
    columns = {
        "small": pa.array([1, None], pa.int8()),
        "half": pa.array([1.5, None], pa.float32()),
        "flag": pa.array([True, None]),
        "exact": pa.array([1, None], pa.decimal128(5, 2)),
        "took": pa.array([1500, None], pa.duration("ms")),
        "at": pa.array([3600, None], pa.time32("s")),
        "zoned": pa.array(moments.tz_localize("Europe/Rome")),
        "day": pa.array(moments.date),
        "word": pa.array(["a", None]).dictionary_encode(),
        "long": pa.array(["a", None], pa.large_string()),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    table = read_file(tmp_path / "t.parquet")
    firsts = {"small": 1, "half": 1.5, "flag": 1, "exact": 1, "took": 1.5, "at": 3600}
    for name, first in firsts.items():
        values = series_of(table, name, "numbers").to_numpy()
        assert values.dtype == np.float64
        assert values[0] == first
        assert np.isnan(values[1])
    for name, hour in {"zoned": 12, "day": 0}.items():
        assert kind_of(table, name) == "dates"
        assert series_of(table, name, "dates").dt.hour[0] == hour
    for name in ("word", "long"):
        assert kind_of(table, name) == "categories"
        assert series_of(table, name, "categories").tolist()[0] == "a"


def test_parquet_is_read_by_one_thread(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1.0]}), path)
    asked, plain_read = [], pq.read_table
    monkeypatch.setattr(
        pq, "read_table", lambda *a, **k: asked.append(k) or plain_read(*a, **k)
    )
    assert read_file(path).n_rows == 1
    assert [options["use_threads"] for options in asked] == [False]


def test_lists_and_bytes_are_refused_by_name(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [[1], [2]], "b": [b"x", b"y"]}), path)
    table = read_file(path)
    for name in ("a", "b"):
        with pytest.raises(DataError, match=f"column '{name}' holds"):
            kind_of(table, name)


def test_an_infinite_number_is_named_by_its_line(tmp_path):
    table = read_file(written(tmp_path, 'a,b\n"x\ny",1\nx,inf\n'))
    with pytest.raises(DataError, match="line 4, column 'b' is infinite"):
        typed(table, "b", "numbers")
