"""Files that are there whole or not at all."""

import os
import secrets
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from counterpoise.cli.exits import WrongUse, listed

# What `--json` calls the standard output.
STDOUT = "-"

# Writes one file at the path that it is given.
Write = Callable[[Path], object]


def check_folder(folder: Path, names: Collection[str], *, force: bool) -> None:
    """Refuse a folder that cannot take the files, before anything is computed.

    Parameters
    ----------
    folder : Path
        Where the files will be.
    names : strings
        Every file that may be written.
    force : bool
        Whether those that are there may be overwritten.
    """
    if folder.exists() and not folder.is_dir():
        raise WrongUse(f"--out {folder} is a file, not a folder")
    there = [name for name in names if (folder / name).exists()]
    if there and not force:
        raise WrongUse(
            f"--out {folder} already has {listed(there)}: --force overwrites"
        )
    _check_writable(folder)


def check_file(path: Path, *, force: bool, option: str = "--out") -> None:
    """Refuse a file that cannot be written, before anything is computed."""
    if path.is_dir():
        raise WrongUse(f"{option} {path} is a folder, not a file")
    if path.exists() and not force:
        raise WrongUse(f"{option} {path} is already there: --force overwrites")
    _check_writable(path.parent)


def write_folder(
    folder: Path, files: Mapping[str, Write], stale: Collection[str] = ()
) -> None:
    """Write all the files of a folder, or none.

    They are written beside the folder and moved when all are complete. A folder that
    was not there appears in one step.

    Parameters
    ----------
    folder : Path
        It is made if it is not there.
    files : mapping
        Name of each file, and what writes it.
    stale : strings
        Files of an earlier run, which are removed unless they are written again, so
        that a folder never shows two runs.
    """
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = folder.parent / f".{folder.name}.partial-{secrets.token_hex(4)}"
    try:
        partial.mkdir()
        for name, write in files.items():
            write(partial / name)
        with _uninterrupted():
            if not folder.exists():
                partial.rename(folder)
                return
            for name in files:
                os.replace(partial / name, folder / name)
            for name in set(stale) - set(files):
                (folder / name).unlink(missing_ok=True)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def write_file(path: Path, write: Write) -> None:
    """Write a file whole or not at all."""
    path = path.absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    # The ending stays, for writers that go by it.
    partial = path.with_name(
        f".{path.stem}.partial-{secrets.token_hex(4)}{path.suffix}"
    )
    try:
        write(partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def write_text(text: str) -> Write:
    """Return what writes a text to a file."""
    return lambda path: path.write_text(text, encoding="utf-8", newline="\n")


def check_json(path: str | None, *, force: bool) -> None:
    """Refuse a file of `--json` that cannot be written."""
    if path not in (None, STDOUT):
        check_file(Path(str(path)), force=force, option="--json")


def write_record(path: str, text: str) -> None:
    """Write a record's JSON where `--json` wants it, to stdout or to a file."""
    if path == STDOUT:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_file(Path(path), write_text(text))


def write_columns(columns: Mapping[str, Any]) -> Write:
    """Return what writes columns to a Parquet or, by its ending, a CSV file."""

    def write(path: Path) -> None:
        import pyarrow
        import pyarrow.csv
        import pyarrow.parquet

        table = pyarrow.table(dict(columns))
        if path.suffix.lower() == ".csv":
            pyarrow.csv.write_csv(table, path)
        else:
            pyarrow.parquet.write_table(table, path)

    return write


def _check_writable(folder: Path) -> None:
    """Refuse a folder in which, or in whose nearest parent, nothing can be made."""
    folder = folder.absolute()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise WrongUse(f"{folder} cannot be written to")


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait while files are moved."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
