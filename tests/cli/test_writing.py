"""Files are there whole or not at all, and nothing is overwritten unasked."""

import errno
import os
import signal

import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest

from counterpoise.cli import outputs
from counterpoise.cli.outputs import (
    check_file,
    check_folder,
    write_columns,
    write_file,
    write_folder,
)
from counterpoise.cli.terminal import UsageError


def writer(text):
    return lambda path: path.write_text(text)


def interrupted(path):
    path.write_text("half")
    raise KeyboardInterrupt


def test_an_interruption_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        write_folder(
            tmp_path / "out", {"a": writer("a"), "b": interrupted}, overwrite=True
        )
    with pytest.raises(KeyboardInterrupt):
        write_file(tmp_path / "c.txt", interrupted, overwrite=True)
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_leaves_what_was_there(tmp_path):
    out = tmp_path / "out"
    write_folder(out, {"a": writer("old")}, overwrite=False)
    with pytest.raises(KeyboardInterrupt):
        write_folder(
            out, {"a": writer("new"), "b": interrupted}, ("a",), overwrite=True
        )
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (out / "a").read_text() == "old"


def test_a_second_run_leaves_no_file_of_the_first_and_no_file_of_others_is_lost(
    tmp_path,
):
    out = tmp_path / "out"
    write_folder(out, {"a": writer("1"), "b": writer("1")}, overwrite=False)
    (out / "mine").write_text("mine")
    write_folder(out, {"a": writer("2")}, ("a", "b"), overwrite=True)
    assert {p.name: p.read_text() for p in out.iterdir()} == {"a": "2", "mine": "mine"}


def test_what_is_there_is_refused_without_force(tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(UsageError, match="already has 'a': --overwrite overwrites"):
        check_folder(tmp_path, ("a", "b"), overwrite=False)
    check_folder(tmp_path, ("a", "b"), overwrite=True)
    check_folder(tmp_path, ("b",), overwrite=False)
    with pytest.raises(UsageError, match="already there"):
        check_file(tmp_path / "a", overwrite=False)
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    with pytest.raises(UsageError, match="already there"):
        check_file(tmp_path / "link", overwrite=False)
    with pytest.raises(UsageError, match="is a file"):
        check_folder(tmp_path / "a", ("b",), overwrite=True)
    with pytest.raises(UsageError, match="is a folder"):
        check_file(tmp_path, overwrite=True)


def test_a_folder_where_a_file_goes_is_refused_before_and_after(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "a").write_text("old")
    with pytest.raises(UsageError, match="has 'b': a folder, where a file goes"):
        check_folder(tmp_path, ("a", "b"), overwrite=True)
    with pytest.raises(UsageError, match="has 'b': a folder, where a file goes"):
        write_folder(tmp_path, {"a": writer("new"), "b": writer("new")}, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    assert (tmp_path / "a").read_text() == "old"


def test_the_old_folder_comes_back_when_the_new_one_cannot_take_its_place(
    tmp_path, monkeypatch
):
    out = tmp_path / "out"
    write_folder(out, {name: writer("old") for name in "abc"}, overwrite=False)
    rename = type(out).rename

    def fail_once(old, new):
        if old.name.startswith("out.partial"):
            raise OSError(errno.ENOSPC, "disk full")
        return rename(old, new)

    monkeypatch.setattr(type(out), "rename", fail_once)
    files = {name: writer("new") for name in "da"}
    with pytest.raises(OSError, match="disk full"):
        write_folder(out, files, ("a", "b", "c"), overwrite=True)
    found = {path.name: path.read_text() for path in out.iterdir()}
    assert found == dict.fromkeys("abc", "old")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_folders_of_the_user_in_the_output_folder_stay(tmp_path):
    out = tmp_path / "out"
    write_folder(out, {"a": writer("1")}, overwrite=False)
    write_folder(out / "tables", {"t": writer("mine")}, overwrite=False)
    write_folder(out, {"a": writer("2")}, overwrite=True)
    assert (out / "tables" / "t").read_text() == "mine"
    assert (out / "a").read_text() == "2"


def test_a_folder_of_the_user_named_previous_is_left_alone(tmp_path):
    out, previous = tmp_path / "out", tmp_path / "out.previous"
    write_folder(out, {"a": writer("1")}, overwrite=False)
    write_folder(previous, {"mine": writer("mine")}, overwrite=False)
    write_folder(out, {"a": writer("2")}, overwrite=True)
    assert (out / "a").read_text() == "2"
    assert (previous / "mine").read_text() == "mine"


def test_a_file_made_meanwhile_is_not_overwritten_without_force(tmp_path):
    def made_by_another(path):
        path.write_text("ours")
        (out / "a").write_text("theirs")

    out = tmp_path / "out"
    out.mkdir()
    for files, stale in (
        ({"b": writer("ours"), "a": made_by_another}, ()),
        ({"b": made_by_another}, ("a", "b")),
    ):
        with pytest.raises(UsageError, match="has 'a' now"):
            write_folder(out, files, stale, overwrite=False)
        found = {path.name: path.read_text() for path in out.iterdir()}
        assert found == {"a": "theirs"}
        (out / "a").unlink()
    with pytest.raises(UsageError, match="has 'a' now"):
        write_file(out / "a", made_by_another, overwrite=False)
    assert {p.name: p.read_text() for p in out.iterdir()} == {"a": "theirs"}
    write_file(out / "a", made_by_another, overwrite=True)
    assert (out / "a").read_text() == "ours"


def test_a_folder_that_cannot_be_renamed_is_written_from_inside(tmp_path, monkeypatch):
    monkeypatch.setattr(outputs, "_can_rename", lambda folder: False)
    # What lies in its parent, or in that of a link to it, may be another disk.
    out, seen = tmp_path / "out", []
    out.mkdir()
    (tmp_path / "link").symlink_to(out)
    write = lambda path: seen.append(path) or path.write_text("x")  # noqa: E731
    write_folder(tmp_path / "link", {"a": write}, overwrite=False)
    assert seen[0].parent.parent == out.resolve()
    assert [path.name for path in out.iterdir()] == ["a"]


@pytest.mark.parametrize("option", ["source", "target"])
def test_an_input_is_never_written_over(run, tables, tmp_path, option):
    place = {"source": tables[0], "target": tables[1]}[option]
    before = place.read_bytes()
    other = tmp_path / "elsewhere" / ".." / place.name
    (tmp_path / "elsewhere").mkdir()
    for out in (place, other):
        code, _, said = run(
            *("weights", "--source", tables[0], "--target", tables[1]),
            *("--drop", "bought", "--out", out, "--overwrite"),
        )
        assert code == 1
        assert "is read by this command: it is not written over" in said
    code, _, said = run(
        *("diagnose", "--source", tables[0], "--target", tables[1]),
        *("--drop", "bought", "--json", place, "--overwrite"),
    )
    assert code == 1
    assert "not written over" in said
    assert place.read_bytes() == before


def test_a_record_is_not_written_over_by_its_page(run, tmp_path):
    record = tmp_path / "report.json"
    record.write_text("{}")
    for words in (("report", record), ("compare", record, record)):
        code, _, said = run(*words, "--out", record, "--overwrite")
        assert code in (1, 2)
        assert record.read_text() == "{}"
    assert "not written over" in said


FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "\r=1"]
HARMLESS = ["a=b", "-5", "+1.5e3", "", "0-1", None]


def test_texts_that_a_spreadsheet_would_run_are_quoted(tmp_path):
    cells = [*FORMULAS, *HARMLESS]
    columns = {"=key": cells, "plain": list(range(len(cells)))}
    write_file(tmp_path / "t.csv", write_columns(columns), overwrite=False)
    read = pyarrow.csv.read_csv(
        tmp_path / "t.csv",
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types={"'=key": pyarrow.string()},
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        ),
    )
    assert read.column_names == ["'=key", "plain"]
    found = read["'=key"].to_pylist()
    assert found == [*(f"'{text}" for text in FORMULAS), *HARMLESS]


def test_parquet_keeps_texts_as_they_are(tmp_path):
    write_file(tmp_path / "t.parquet", write_columns({"k": FORMULAS}), overwrite=False)
    table = pyarrow.parquet.read_table(tmp_path / "t.parquet")
    assert table["k"].to_pylist() == FORMULAS


def test_the_wish_to_terminate_ends_a_command_as_ctrl_c_does(
    run, tables, tmp_path, monkeypatch
):
    def ask(*_, **__):
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("went on")

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("counterpoise.cli.fit.read_pair", ask)
    out = tmp_path / "w.csv"
    code, _, said = run(
        *("weights", "--source", tables[0], "--target", tables[1], "--out", out)
    )
    assert code == 130
    assert "no file is half written" in said
    assert not out.exists()
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_working_folder_stays_the_same_folder(tmp_path, monkeypatch):
    write_folder(tmp_path, {"a": writer("1")}, overwrite=False)
    monkeypatch.chdir(tmp_path)
    write_folder(tmp_path, {"a": writer("2")}, overwrite=True)
    assert os.path.samefile(".", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
