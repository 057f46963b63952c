"""Output folders and files, written completely or not at all."""

import json
import os
import re
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from counterpoise.cli.terminal import DataError, UsageError, listed
from counterpoise.errors import estimator_errors
from counterpoise.linalg.arrays import Array
from counterpoise.messages.numbers import percentage
from counterpoise.shift.support import UNCOVERED_ABOVE

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow

# -----------------------------------------------------------------------------
# Folders that are replaced as a whole, and what a killed command left behind.
#
# New files are written to `<out>.partial-<pid>`. A folder that is there is renamed to
# `<out>.previous`, the new one takes its name, the user's own files are moved over, and
# the previous one is removed. Where the folder cannot be renamed (a mount, the working
# folder, a parent that is not writable) the new files are collected inside it and moved
# one by one.
# -----------------------------------------------------------------------------


# In a folder that is being replaced: its outputs, which do not stay. Among files that
# are moved in: the old outputs that go.
_MARK = ".counterpoise-replaced.json"
_COMPLETE = ".complete"


@contextmanager
def _partial_folder(beside: Path | str) -> Iterator[Path]:
    """Make a folder named by this process for a while."""
    partial = Path(f"{beside}.partial-{os.getpid()}")
    partial.mkdir()
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _can_rename(folder: Path) -> bool:
    """Return whether the folder can be renamed to `<folder>.previous`."""
    # The folder that a shell is in must stay the same one.
    if folder.is_mount() or folder == Path.cwd():
        return False
    return os.access(folder.parent, os.W_OK) and not _previous(folder).exists()


def _previous(folder: Path) -> Path:
    return Path(f"{folder}.previous")


def _replace_folder(folder: Path, new: Path, outputs: Collection[str]) -> None:
    """Let a complete new folder take the place of another; `outputs` do not stay."""
    if not folder.exists():
        new.rename(folder)
        return
    previous = _previous(folder)
    shutil.copymode(folder, new)
    (folder / _MARK).write_text(json.dumps(sorted(outputs)), encoding="utf-8")
    folder.rename(previous)
    try:
        new.rename(folder)
    except OSError:
        _restore(folder)
        raise
    _remove_previous(folder)


def _restore(folder: Path) -> None:
    _previous(folder).rename(folder)
    (folder / _MARK).unlink()


def _remove_previous(folder: Path) -> None:
    """Move the user's own files out of the previous folder and remove it."""
    previous = _previous(folder)
    outputs = json.loads((previous / _MARK).read_text(encoding="utf-8"))
    for path in previous.iterdir():
        if path.name not in outputs and path.name != _MARK:
            path.rename(folder / path.name)
    # The mark goes last: it tells the next command that the rest may go.
    for name in (*outputs, _MARK):
        (previous / name).unlink(missing_ok=True)
    previous.rmdir()


def _move_files(folder: Path) -> None:
    """Move the complete files inside a folder to their places, old outputs away."""
    complete = folder / _COMPLETE
    for name in json.loads((complete / _MARK).read_text(encoding="utf-8")):
        (folder / name).unlink(missing_ok=True)
    for path in complete.iterdir():
        if path.name != _MARK:
            path.replace(folder / path.name)
    (complete / _MARK).unlink()
    complete.rmdir()


def recover(folder: Path) -> None:
    """Restore or finish what a killed command left, and say so."""
    with _locked(folder.parent):
        if (_previous(folder) / _MARK).is_file():
            if folder.exists():
                _remove_previous(folder)
            else:
                _restore(folder)
                print(
                    f"counterpoise: {folder} has been restored: a command was killed "
                    "while it replaced it",
                    file=sys.stderr,
                )
        if (folder / _COMPLETE / _MARK).is_file():
            _move_files(folder)
            print(
                f"counterpoise: {folder} had files of two runs, because one was killed "
                "while it moved them: those of the later one are all there now",
                file=sys.stderr,
            )
        with suppress(OSError):
            (folder / _MARK).unlink()
        _remove_partials(folder.parent, folder.name)
        _remove_partials(folder, "")
        for empty in (folder / _COMPLETE, _previous(folder)):
            with suppress(OSError):
                empty.rmdir()


def _remove_partials(parent: Path, name: str) -> None:
    """Remove the partial folders of processes that have ended."""
    with suppress(OSError):
        for path in parent.iterdir():
            match = re.fullmatch(rf"{re.escape(name)}\.partial-(\d+)", path.name)
            if match and not _is_running(int(match[1])):
                shutil.rmtree(path, ignore_errors=True)


def _is_running(pid: int) -> bool:
    if pid == os.getpid():
        # In a container every process may have the same number.
        return False
    if os.name == "nt":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other commands from replacing outputs in the same folder meanwhile."""
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        yield
        return
    try:
        # A file system without locks goes without.
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _sync(folder: Path) -> None:
    """Have the files of a folder on the disk."""
    for path in (*folder.iterdir(), folder):
        with suppress(OSError):
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


# -----------------------------------------------------------------------------
# Files that are there whole or not at all.
# -----------------------------------------------------------------------------


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
    overwrite: bool,
    remedy: str = "--overwrite overwrites",
) -> None:
    """Refuse a folder that cannot take the files, before anything is computed.

    Parameters
    ----------
    folder : Path
        Where the files will be.
    names : strings
        Every file that may be written.
    overwrite : bool
        Whether those that are there may be overwritten.
    remedy : str
        What the user can do about those that may not be.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--out {folder} is a file, not a folder")
    recover(folder.resolve())
    there = _there(folder, names)
    if there and not overwrite:
        raise UsageError(f"--out {folder} already has {listed(there)}: {remedy}")
    _check_writable(folder)


def check_file(path: Path, *, overwrite: bool, option: str = "--out") -> None:
    """Refuse a file that cannot be written, before anything is computed."""
    if path.is_dir():
        raise UsageError(f"{option} {path} is a folder, not a file")
    if os.path.lexists(path) and not overwrite:
        raise UsageError(f"{option} {path} is already there: --overwrite overwrites")
    _check_writable(path.parent)


def check_table(path: Path, *, overwrite: bool) -> None:
    """Refuse a table that cannot be written, or that has an ending of no table."""
    if path.suffix.lower() not in TABLE_ENDINGS:
        raise UsageError(f"--out {path} must end in {' or '.join(TABLE_ENDINGS)}")
    check_file(path, overwrite=overwrite)


def refuse_inputs(outputs: Collection[Path], inputs: Collection[Path]) -> None:
    """Refuse to write over a file that is read, even by `--overwrite`."""
    read = {path.resolve() for path in inputs}
    for path in outputs:
        if path.resolve() in read:
            raise UsageError(f"{path} is read by this command: it is not written over")


def write_folder(
    folder: Path,
    files: Mapping[str, Write],
    stale: Collection[str] = (),
    *,
    overwrite: bool,
) -> None:
    """Write all the files of a folder, or none.

    They are written apart, and the new folder takes the place of the old one. If this
    is killed in between, the next command restores the old folder (`recover`).

    Parameters
    ----------
    folder : Path
        It is made if it is not there.
    files : mapping
        Name of each file, and what writes it.
    stale : strings
        Files of an earlier run, which are removed unless they are written again, so
        that a folder never shows two runs.
    overwrite : bool
        Whether files that are there may be overwritten or removed, also those that
        were made since the folder was checked.
    """
    folder = folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    recover(folder)
    outputs = {*files, *stale}
    inside = folder.is_dir() and not _can_rename(folder)
    with _partial_folder(f"{folder}/" if inside else folder) as partial:
        for name, write in files.items():
            write(partial / name)
        _sync(partial)
        with _uninterrupted(), _locked(folder.parent):
            found = _there(folder, outputs)
            if found and not overwrite:
                raise _made_meanwhile(folder, found)
            if inside:
                old = [name for name in outputs if name not in files]
                (partial / _MARK).write_text(json.dumps(old), encoding="utf-8")
                partial.rename(folder / _COMPLETE)
                _move_files(folder)
            else:
                _replace_folder(folder, partial, outputs)


def write_file(path: Path, write: Write, *, overwrite: bool) -> None:
    """Write a file whole or not at all.

    Parameters
    ----------
    path : Path
    write : what writes it
    overwrite : bool
        Whether one that is there may be overwritten, also one that was made since the
        path was checked.
    """
    path = path.absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_partials(path.parent, path.name)
    with _partial_folder(path) as partial:
        # The ending stays, for writers that go by it.
        new = partial / path.name
        write(new)
        _sync(partial)
        with _uninterrupted():
            try:
                if not overwrite:
                    _claim(new, path)
                os.replace(new, path)
            except FileExistsError as error:
                raise _made_meanwhile(path.parent, [path.name]) from error


def _claim(new: Path, path: Path) -> None:
    """Link a file to a name that nobody has; `FileExistsError` if somebody has it."""
    try:
        os.link(new, path)
    except FileExistsError:
        raise
    except OSError:
        # Not every file system has links.
        path.open("xb").close()


def write_text(text: str) -> Write:
    """Return what writes a text to a file."""
    return lambda path: path.write_text(text, encoding="utf-8", newline="\n")


def check_json(path: str | None, *, overwrite: bool) -> None:
    """Refuse a file of `--json` that cannot be written."""
    if path not in (None, STDOUT):
        check_file(Path(str(path)), overwrite=overwrite, option="--json")


def write_record(path: str, text: str, *, overwrite: bool) -> None:
    """Write a record's JSON where `--json` wants it, to stdout or to a file."""
    if path == STDOUT:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_file(Path(path), write_text(text), overwrite=overwrite)


def write_columns(columns: Mapping[str, object]) -> Write:
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


def without_formulas(table: "pyarrow.Table") -> "pyarrow.Table":
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
        raise UsageError(f"{folder} has {listed(folders)}: a folder, where a file goes")
    return there


def _made_meanwhile(folder: Path, names: Collection[str]) -> UsageError:
    return UsageError(
        f"{folder} has {listed(names)} now, made by another meanwhile: --overwrite "
        "overwrites"
    )


def _check_writable(folder: Path) -> None:
    """Refuse a folder in which, or in whose nearest parent, nothing can be made."""
    folder = folder.absolute()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(f"{folder} cannot be written to")


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


# -----------------------------------------------------------------------------
# What a saved model knows of each row that it predicts: coverage, weight, interval.
# -----------------------------------------------------------------------------


def interval_columns(
    model: Any, X: "pd.DataFrame", level: float, path: Path
) -> dict[str, Array]:
    """Return the columns of the intervals, or of the sets, that hold the label.

    An interval is infinite, and a set has all classes, where the source says too little
    about a row.
    """
    if getattr(model, "calibration_", None) is None:
        raise DataError(
            f"{path} holds a model without rows held out for --intervals: fit it with "
            "run --calibration-fraction 0.2"
        )
    with estimator_errors():
        if not is_classifier(model.estimator_):
            ends = model.predict_interval(X, level)
            return {"lower": ends[:, 0], "upper": ends[:, 1]}
        in_set = model.predict_set(X, level)
    names = model.classes_
    columns = {f"set has {name}": in_set[:, k] for k, name in enumerate(names)}
    return {**columns, "set size": in_set.sum(axis=1)}


def coverage_columns(
    model: Any,
    X: "pd.DataFrame",
    path: Path,
    *,
    asked: bool,
    notice: Callable[[str], object] | None = None,
) -> dict[str, Array]:
    """Return weight and coverage of the rows if asked for; say how many have none.

    Uncovered is a row about whose density ratio the fit knows nothing: in a hole among
    the source rows, outside the range of both samples, of a larger ratio than any
    target row of the fit, or with a category that neither sample had. Thin is one whose
    weight exceeds that of 99.5 % of the source rows of the fit: few are like it, which
    is said where more than `UNCOVERED_ABOVE` of the rows are.
    """
    weight_estimator = getattr(model, "weight_estimator_", None)
    by_rows = weight_estimator is not None and not getattr(
        weight_estimator, "needs_labels", False
    )
    if not by_rows or not hasattr(weight_estimator, "is_extrapolation"):
        if asked:
            raise DataError(
                f"{path} holds a model that weighs no rows by their columns: "
                "--overlap is not known"
            )
        return {}
    with estimator_errors():
        covered = ~model.is_extrapolation(X)
    n_uncovered = int(np.count_nonzero(~covered))
    if n_uncovered and notice is not None:
        notice(
            f"{n_uncovered:,} of {covered.size:,} rows "
            f"({percentage(n_uncovered / covered.size)}) lie where the source has no "
            "rows at all: do not rely on their predictions"
            + ("" if asked else " (--overlap says which)")
        )
    with estimator_errors():
        uncovered = model.is_uncovered(X)
    few = int(np.count_nonzero(uncovered))
    if few > UNCOVERED_ABOVE * uncovered.size and notice is not None:
        notice(
            f"{few:,} of {uncovered.size:,} rows "
            f"({percentage(few / uncovered.size)}) are thinly "
            "covered, for the source has few rows like them: do not trust their "
            "predictions without labels" + ("" if asked else " (--overlap says which)")
        )
    if not asked:
        return {}
    return {
        "weight": model.predict_weights(X),
        "uncovered": uncovered,
        "extrapolation": ~covered,
    }
