"""Killed at any moment: one run or the other is there, and the next command mends."""

import io
import os
import signal
import sys
from pathlib import Path

import pytest

from counterpoise.cli import outputs
from counterpoise.cli.outputs import check_folder, write_file, write_folder

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes")
OLD = {"report.html": "old", "report.json": "old", "model.skops": "old"}
NEW = {"report.html": "new", "report.json": "new", "weights.parquet": "new"}
STALE = (*OLD, *NEW)
# What a program does to files, as the interpreter tells it.
TOLD = ("open", "os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "os.chmod")


def files_of(texts):
    return {
        name: lambda path, text=text: path.write_text(text)
        for name, text in texts.items()
    }


def killed_at(moment, how, work):
    """Do some work in another process, killed before its so-manieth file operation.

    Returns whether it came to that operation.
    """
    child = os.fork()
    if child == 0:
        count = 0

        def strike(*_):
            nonlocal count
            count += 1
            if count == moment:
                os.kill(os.getpid(), how)

        try:
            sys.stderr = io.StringIO()
            sys.addaudithook(lambda name, _: strike() if name in TOLD else None)
            work()
        finally:
            os._exit(0 if count >= moment else 3)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0


def shown(folder: Path):
    return {
        path.name: path.read_text()
        for path in folder.iterdir()
        if not path.name.startswith(".")
    }


def interruptible():
    # In the background of a shell SIGINT may be ignored.
    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, signal.default_int_handler)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("renamed", [True, False])
def test_a_folder_never_stays_mixed(how, renamed, tmp_path, monkeypatch):
    if not renamed:
        monkeypatch.setattr(outputs, "_can_rename", lambda folder: False)
    old, new = {**OLD, "mine": "mine"}, {**NEW, "mine": "mine"}
    seen = set()
    for moment in range(1, 200):
        folder = tmp_path / str(moment) / "out"
        write_folder(folder, files_of(OLD), overwrite=False)
        (folder / "mine").write_text("mine")

        def work(folder=folder):
            interruptible()
            write_folder(folder, files_of(NEW), STALE, overwrite=True)

        struck = killed_at(moment, how, work)
        if renamed and folder.exists():
            # At once, without a next command.
            found = shown(folder)
            found.setdefault("mine", "mine")
            assert found in (old, new), moment
        check_folder(folder, STALE, overwrite=True)
        assert shown(folder) in (old, new), moment
        seen.add(shown(folder) == new)
        assert [path.name for path in folder.parent.iterdir()] == ["out"], moment
        assert not [path for path in folder.iterdir() if path.name.startswith(".")]
        if not struck:
            break
    assert moment > 10
    assert not struck
    assert seen == {True, False}


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_file_is_the_old_or_the_new_one_and_never_empty(overwrite, tmp_path):
    for moment in range(1, 100):
        path = tmp_path / str(moment) / "table.csv"
        path.parent.mkdir()
        if overwrite:
            path.write_text("old")
        work = files_of({"table.csv": "new"})["table.csv"]
        struck = killed_at(
            moment,
            signal.SIGKILL,
            lambda path=path, work=work: write_file(path, work, overwrite=overwrite),
        )
        assert not path.exists() or path.read_text() in ("old", "new")
        write_file(path, work, overwrite=True)
        assert [one.name for one in path.parent.iterdir()] == ["table.csv"]
        if not struck:
            break
    assert moment > 3
    assert not struck


def test_two_writers_at_once_leave_one_run(tmp_path):
    for _ in range(5):
        folder = tmp_path / "out"
        write_folder(folder, files_of(OLD), STALE, overwrite=True)
        (folder / "mine").write_text("mine")
        children = []
        for word in ("first", "second"):
            child = os.fork()
            if child == 0:
                try:
                    texts = dict.fromkeys(NEW, word)
                    for _ in range(20):
                        write_folder(folder, files_of(texts), STALE, overwrite=True)
                    os._exit(0)
                finally:
                    os._exit(1)
            children.append(child)
        assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
        found = shown(folder)
        assert found.pop("mine") == "mine"
        assert found in (dict.fromkeys(NEW, "first"), dict.fromkeys(NEW, "second"))
        assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_mixed_folder_is_said_to_be_mended(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(outputs, "_can_rename", lambda folder: False)
    folder = tmp_path / "out"
    write_folder(folder, files_of(OLD), overwrite=False)
    capsys.readouterr()
    moment, told = 0, ""
    while "files of two runs" not in told and moment < 60:
        moment += 1
        work = lambda: write_folder(folder, files_of(NEW), STALE, overwrite=True)  # noqa: E731
        killed_at(moment, signal.SIGKILL, work)
        check_folder(folder, STALE, overwrite=True)
        told = capsys.readouterr().err
    assert f"counterpoise: {folder} had files of two runs" in told
    assert shown(folder) == NEW


def test_a_folder_is_restored_from_the_previous_one(tmp_path, capsys):
    folder, told, moment = tmp_path / "out", "", 0
    while "has been restored" not in told and moment < 60:
        moment += 1
        write_folder(folder, files_of(OLD), STALE, overwrite=True)
        work = lambda: write_folder(folder, files_of(NEW), STALE, overwrite=True)  # noqa: E731
        killed_at(moment, signal.SIGKILL, work)
        check_folder(folder, STALE, overwrite=True)
        told = capsys.readouterr().err
    assert f"counterpoise: {folder} has been restored" in told
    assert shown(folder) == OLD
