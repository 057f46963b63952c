"""Files that are there whole or not at all."""

import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from counterpoise.cli.exits import WrongUse, listed
from counterpoise.cli.writing.exchange import (
    can_exchange,
    exchange_folder,
    mend,
    move_files,
    place_file,
    workplace,
)

# What `--json` calls the standard output.
STDOUT = "-"
# Endings of tables that can be written.
TABLE_ENDINGS = (".csv", ".parquet")

# What a spreadsheet takes for a formula, unless it is a number.
_RUNS, _NUMBER = r"^[=+\-@\t\r]", r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"

# Writes one file at the path that it is given.
Write = Callable[[Path], object]


def check_folder(
    folder: Path,
    names: Collection[str],
    *,
    force: bool,
    remedy: str = "--force overwrites",
) -> None:
    """Refuse a folder that cannot take the files, before anything is computed.

    Parameters
    ----------
    folder : Path
        Where the files will be.
    names : strings
        Every file that may be written.
    force : bool
        Whether those that are there may be overwritten.
    remedy : str
        What the user can do about those that may not be.
    """
    if folder.exists() and not folder.is_dir():
        raise WrongUse(f"--out {folder} is a file, not a folder")
    _mend(folder.resolve())
    there = _there(folder, names)
    if there and not force:
        raise WrongUse(f"--out {folder} already has {listed(there)}: {remedy}")
    _check_writable(folder)


def check_file(path: Path, *, force: bool, option: str = "--out") -> None:
    """Refuse a file that cannot be written, before anything is computed."""
    if path.is_dir():
        raise WrongUse(f"{option} {path} is a folder, not a file")
    if os.path.lexists(path) and not force:
        raise WrongUse(f"{option} {path} is already there: --force overwrites")
    _check_writable(path.parent)


def check_table(path: Path, *, force: bool) -> None:
    """Refuse a table that cannot be written, or that has an ending of no table."""
    if path.suffix.lower() not in TABLE_ENDINGS:
        raise WrongUse(f"--out {path} must end in {' or '.join(TABLE_ENDINGS)}")
    check_file(path, force=force)


def refuse_inputs(outputs: Collection[Path], inputs: Collection[Path]) -> None:
    """Refuse to write over a file that is read, by whatever name, even by `--force`."""
    read = {path.resolve() for path in inputs}
    for path in outputs:
        if path.resolve() in read:
            raise WrongUse(f"{path} is read by this command: it is not written over")


def write_folder(
    folder: Path,
    files: Mapping[str, Write],
    stale: Collection[str] = (),
    *,
    force: bool,
) -> None:
    """Write all the files of a folder, or none.

    They are written apart. A folder that was not there appears in one step; one that
    was is exchanged for a new one in one step, with the user's own files in it, where
    the system and the disk can. Where they cannot, files are moved one by one by a plan
    that the next command finishes if this one is killed; old files come back if a move
    fails.

    Parameters
    ----------
    folder : Path
        It is made if it is not there.
    files : mapping
        Name of each file, and what writes it.
    stale : strings
        Files of an earlier run, which are removed unless they are written again, so
        that a folder never shows two runs.
    force : bool
        Whether files that are there may be overwritten or removed, also those that
        were made since the folder was checked.
    """
    folder = folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    _mend(folder)
    # Else inside: the parent may be another disk, or not writable.
    inside = folder.is_dir() and not can_exchange(folder)
    old = {*files, *stale}

    def refuse(there: Path) -> None:
        found = _there(there, old)
        if found and not force:
            raise _made_meanwhile(folder, found)

    with workplace(folder, inside=inside) as partial:
        for name, write in files.items():
            write(partial / name)
        with _uninterrupted():
            if not folder.is_dir() and _appeared(partial, folder):
                return
            if not inside and exchange_folder(folder, partial, old, refuse):
                return
            refuse(folder)
            if inside:
                _move(folder, partial, files, old)
                return
            with workplace(folder, inside=True) as within:
                for name in files:
                    os.replace(partial / name, within / name)
                _move(folder, within, files, old)


def write_file(path: Path, write: Write, *, force: bool) -> None:
    """Write a file whole or not at all.

    Parameters
    ----------
    path : Path
    write : what writes it
    force : bool
        Whether one that is there may be overwritten, also one that was made since the
        path was checked.
    """
    path = path.absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    mend(path)
    with workplace(path, inside=False) as partial:
        # The ending stays, for writers that go by it.
        write(partial / path.name)
        with _uninterrupted():
            try:
                place_file(partial / path.name, path, over=force)
            except FileExistsError as error:
                raise _made_meanwhile(path.parent, [path.name]) from error


def write_text(text: str) -> Write:
    """Return what writes a text to a file."""
    return lambda path: path.write_text(text, encoding="utf-8", newline="\n")


def check_json(path: str | None, *, force: bool) -> None:
    """Refuse a file of `--json` that cannot be written."""
    if path not in (None, STDOUT):
        check_file(Path(str(path)), force=force, option="--json")


def write_record(path: str, text: str, *, force: bool) -> None:
    """Write a record's JSON where `--json` wants it, to stdout or to a file."""
    if path == STDOUT:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_file(Path(path), write_text(text), force=force)


def write_columns(columns: Mapping[str, Any]) -> Write:
    """Return what writes columns to a Parquet or, by its ending, a CSV file."""

    def write(path: Path) -> None:
        import pyarrow
        import pyarrow.csv
        import pyarrow.parquet

        table = pyarrow.table(dict(columns))
        if path.suffix.lower() == ".csv":
            pyarrow.csv.write_csv(without_formulas(table), path)
        else:
            pyarrow.parquet.write_table(table, path)

    return write


def without_formulas(table: Any) -> Any:
    """Return a table with an apostrophe before texts that a spreadsheet would run.

    Those begin with =, +, -, @, a tab or a carriage return and are no numbers; names of
    columns too.
    """
    import pyarrow
    import pyarrow.compute as compute

    for k, name in enumerate(table.column_names):
        column = table[name]
        if not (
            pyarrow.types.is_string(column.type)
            or pyarrow.types.is_large_string(column.type)
        ):
            continue
        runs = compute.and_(
            compute.match_substring_regex(column, _RUNS),
            compute.invert(compute.match_substring_regex(column, _NUMBER)),
        )
        empty = pyarrow.scalar("", column.type)
        quoted = compute.binary_join_element_wise(
            pyarrow.scalar("'", column.type), column, empty
        )
        table = table.set_column(k, name, compute.if_else(runs, quoted, column))
    return table.rename_columns(
        [f"'{name}" if re.match(_RUNS, name) else name for name in table.column_names]
    )


def _there(folder: Path, names: Collection[str]) -> list[str]:
    """Return the files that a folder has; refuse what is there and is no file."""
    there = [name for name in names if os.path.lexists(folder / name)]
    folders = [name for name in there if (folder / name).is_dir()]
    if folders:
        raise WrongUse(f"{folder} has {listed(folders)}: a folder, where a file goes")
    return there


def _appeared(partial: Path, folder: Path) -> bool:
    """Let a folder appear where none is; False if one is there meanwhile."""
    try:
        partial.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
        return False
    return True


def _move(
    folder: Path, new: Path, names: Collection[str], old: Collection[str]
) -> None:
    try:
        move_files(folder, new, names, _there(folder, old))
    except FileExistsError as error:
        raise _made_meanwhile(folder, [Path(str(error)).name]) from error


def _mend(folder: Path) -> None:
    """Finish what a killed command left in a folder, and say so."""
    for told in mend(folder):
        print(f"counterpoise: {told}", file=sys.stderr)


def _made_meanwhile(folder: Path, names: Collection[str]) -> WrongUse:
    return WrongUse(
        f"{folder} has {listed(names)} now, made by another meanwhile: --force "
        "overwrites"
    )


def _check_writable(folder: Path) -> None:
    """Refuse a folder in which, or in whose nearest parent, nothing can be made."""
    folder = folder.absolute()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise WrongUse(f"{folder} cannot be written to")


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C and the wish to terminate wait while files are moved."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(one, signal.SIG_IGN) for one in waiting]
    try:
        yield
    finally:
        for one, handler in zip(waiting, before, strict=True):
            signal.signal(one, handler)
