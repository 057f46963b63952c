"""Files are there whole or not at all, and nothing is overwritten unasked."""

import pytest

from counterpoise.cli.exits import WrongUse
from counterpoise.cli.writing import (
    check_file,
    check_folder,
    write_file,
    write_folder,
)


def writer(text):
    return lambda path: path.write_text(text)


def interrupted(path):
    path.write_text("half")
    raise KeyboardInterrupt


def test_an_interruption_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path / "out", {"a": writer("a"), "b": interrupted})
    with pytest.raises(KeyboardInterrupt):
        write_file(tmp_path / "c.txt", interrupted)
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_leaves_what_was_there(tmp_path):
    out = tmp_path / "out"
    write_folder(out, {"a": writer("old")})
    with pytest.raises(KeyboardInterrupt):
        write_folder(out, {"a": writer("new"), "b": interrupted}, stale=("a",))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (out / "a").read_text() == "old"


def test_a_second_run_leaves_no_file_of_the_first_and_no_file_of_others_is_lost(
    tmp_path,
):
    out = tmp_path / "out"
    write_folder(out, {"a": writer("1"), "b": writer("1")})
    (out / "mine").write_text("mine")
    write_folder(out, {"a": writer("2")}, stale=("a", "b"))
    assert {p.name: p.read_text() for p in out.iterdir()} == {"a": "2", "mine": "mine"}


def test_what_is_there_is_refused_without_force(tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(WrongUse, match="already has 'a': --force overwrites"):
        check_folder(tmp_path, ("a", "b"), force=False)
    check_folder(tmp_path, ("a", "b"), force=True)
    check_folder(tmp_path, ("b",), force=False)
    with pytest.raises(WrongUse, match="already there"):
        check_file(tmp_path / "a", force=False)
    with pytest.raises(WrongUse, match="is a file"):
        check_folder(tmp_path / "a", ("b",), force=True)
    with pytest.raises(WrongUse, match="is a folder"):
        check_file(tmp_path, force=True)
