"""Output folders and files, written completely or not at all."""

import ctypes
import json
import os
import re
import secrets
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from counterpoise.cli.terminal import BadData, WrongUse, listed
from counterpoise.errors import refusals_of_estimators
from counterpoise.messages.numbers import percentage
from counterpoise.shift.support import UNCOVERED_ABOVE

# -----------------------------------------------------------------------------
# Folders and files that take their place in one step, and what a kill left behind.
# -----------------------------------------------------------------------------


# What the system calls renames that exchange two names, or never take one's place.
_EXCHANGE, _NOT_OVER = 2, 1
_HERE = -100
# The plan of a move file by file, in the folder that holds the new ones.
_PLAN = "plan.json"
_MARK = "partial-"


@contextmanager
def workplace(beside: Path, *, inside: bool) -> Iterator[Path]:
    """Give a hidden folder to write in, beside a place or inside it, for a while.

    While it is in use it is locked, so that nobody takes it for what a kill has left.
    """
    place, handle = _locked_folder(beside, inside=inside)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def can_exchange(folder: Path) -> bool:
    """Return whether another folder can take a folder's place with the files in it.

    They are linked into it, so all must be files; its parent must be the same disk and
    writable, and the system must have such a step.
    """
    if _renameat2 is None or folder.is_mount() or not os.access(folder.parent, os.W_OK):
        return False
    if folder.stat().st_dev != folder.parent.stat().st_dev:
        return False
    with os.scandir(folder) as entries:
        return all(entry.is_file(follow_symlinks=False) for entry in entries)


def exchange_folder(
    folder: Path,
    new: Path,
    outputs: Collection[str],
    refuse: Callable[[Path], None],
) -> bool:
    """Let a complete new folder take the place of one that is there, in one step.

    The user's own files are linked into the new one before. `new` is the old folder
    afterwards. Whoever looks sees one or the other, whenever this is killed.

    Parameters
    ----------
    folder, new : Path
    outputs : strings
        Names that do not stay: old files of these names go.
    refuse : callable
        Raises if the old folder has what must not go; asked before and after the step,
        which is then taken back.

    Returns
    -------
    bool
        Whether it was done; False: the system or the disk cannot, nothing has changed.
    """
    refuse(folder)
    kept = [name for name in os.listdir(folder) if name not in outputs]
    try:
        for name in kept:
            os.link(folder / name, new / name, follow_symlinks=False)
        shutil.copymode(folder, new)
    except OSError:
        _unlink(new, kept)
        return False
    with _locked(folder):
        if not _renamed(new, folder, _EXCHANGE):
            _unlink(new, kept)
            return False
        try:
            refuse(new)
        except BaseException:
            _renamed(new, folder, _EXCHANGE)
            raise
        with suppress(FileNotFoundError):
            for name in os.listdir(new):
                # Made by others since the links were.
                if name not in outputs and not _same_file(new / name, folder / name):
                    os.replace(new / name, folder / name)
    return True


def move_files(
    folder: Path, new: Path, names: Collection[str], old: Collection[str]
) -> None:
    """Move old files out of a folder and new ones in, one by one, or none of them.

    For where no folder can be exchanged. A plan is written first, by which `mend`
    finishes what a kill interrupts.

    Parameters
    ----------
    folder : Path
    new, names : Path and strings
        Where the new files are, inside the folder, and their names.
    old : strings
        Files that go.
    """
    plan = {"names": list(names), "old": list(old)}
    partial = new / f"{_PLAN}.partial"
    partial.write_text(json.dumps(plan), encoding="utf-8")
    os.replace(partial, new / _PLAN)
    aside = new / "old"
    with ExitStack() as undo:
        aside.mkdir()
        for name in old:
            os.replace(folder / name, aside / name)
            undo.callback(os.replace, aside / name, folder / name)
        for name in names:
            place_file(new / name, folder / name, over=False)
            undo.callback(os.replace, folder / name, new / name)
        undo.pop_all()


def place_file(new: Path, path: Path, *, over: bool) -> None:
    """Move a file to its place in one step; `FileExistsError` if one is there.

    `over`: it takes the place of another.
    """
    if over:
        os.replace(new, path)
        return
    if _renamed(new, path, _NOT_OVER):
        return
    if os.path.lexists(path):
        raise FileExistsError(str(path))
    try:
        os.link(new, path)
    except FileExistsError:
        raise
    except OSError:
        # Not every file system has links: here two steps must do.
        path.open("xb").close()
        os.replace(new, path)
    else:
        new.unlink()


def mend(place: Path) -> list[str]:
    """Finish or remove what a killed command left at a place; return what was done.

    New files that were complete, with their plan, are moved in to the last; others are
    removed. What another command is writing now is locked, and left alone.
    """
    told = []
    beside = place.parent.glob(f".{_quoted(place.name)}.{_MARK}*")
    inside = place.glob(f".{_MARK}*") if place.is_dir() else iter(())
    for left in [*beside, *inside]:
        if not left.is_dir() or left.is_symlink():
            continue
        with _free(left) as is_free:
            if not is_free:
                continue
            if left.parent == place and _finish(place, left):
                told.append(
                    f"{place} had files of two runs, because one was killed while it "
                    "moved them: those of the later one are all there now"
                )
            shutil.rmtree(left, ignore_errors=True)
    return told


def _finish(folder: Path, left: Path) -> bool:
    """Move in what a plan says; False if there is none, or none of ours."""
    try:
        plan = json.loads((left / _PLAN).read_text(encoding="utf-8"))
        names, old = plan["names"], plan["old"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    if any(Path(str(name)).name != name for name in (*names, *old)):
        return False
    for name in names:
        if (left / name).is_file():
            os.replace(left / name, folder / name)
    for name in old:
        if name not in names:
            (folder / name).unlink(missing_ok=True)
    return True


def _unlink(folder: Path, names: Collection[str]) -> None:
    for name in names:
        (folder / name).unlink(missing_ok=True)


def _same_file(first: Path, second: Path) -> bool:
    try:
        return os.path.samestat(os.lstat(first), os.lstat(second))
    except FileNotFoundError:
        return False


def _quoted(name: str) -> str:
    """Return a name as a pattern that means it alone."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)


def _locked_folder(beside: Path, *, inside: bool) -> tuple[Path, int | None]:
    """Make a hidden folder and lock it; one that was taken for a leftover, again."""
    while True:
        name = f"{_MARK}{secrets.token_hex(4)}"
        place = (
            beside / f".{name}" if inside else beside.parent / f".{beside.name}.{name}"
        )
        place.mkdir()
        handle = _lock(place)
        if handle is None or place.is_dir():
            return place, handle
        os.close(handle)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    handle = _lock(folder)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _lock(folder: Path) -> int | None:
    """Return what holds a folder, shared; None where there are no locks."""
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        # Gone already: the caller looks.
        return os.open(os.devnull, os.O_RDONLY)
    except (ImportError, OSError):
        return None
    # A file system without locks goes without.
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_SH)
    return handle


@contextmanager
def _free(folder: Path) -> Iterator[bool]:
    """Say whether no other command holds a folder, and hold it meanwhile."""
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        yield False
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


def _found_renameat2() -> Any:
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return None
    path = ctypes.c_char_p
    function.argtypes = (ctypes.c_int, path, ctypes.c_int, path, ctypes.c_uint)
    return function


_renameat2 = _found_renameat2()


def _renamed(old: Path, new: Path, how: int) -> bool:
    """Rename by the system's own call; False: it cannot, and nothing has changed."""
    if _renameat2 is None:
        return False
    words = os.fsencode(old), os.fsencode(new)
    return bool(_renameat2(_HERE, words[0], _HERE, words[1], how) == 0)


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
        raise WrongUse(f"--out {folder} is a file, not a folder")
    _mend(folder.resolve())
    there = _there(folder, names)
    if there and not overwrite:
        raise WrongUse(f"--out {folder} already has {listed(there)}: {remedy}")
    _check_writable(folder)


def check_file(path: Path, *, overwrite: bool, option: str = "--out") -> None:
    """Refuse a file that cannot be written, before anything is computed."""
    if path.is_dir():
        raise WrongUse(f"{option} {path} is a folder, not a file")
    if os.path.lexists(path) and not overwrite:
        raise WrongUse(f"{option} {path} is already there: --overwrite overwrites")
    _check_writable(path.parent)


def check_table(path: Path, *, overwrite: bool) -> None:
    """Refuse a table that cannot be written, or that has an ending of no table."""
    if path.suffix.lower() not in TABLE_ENDINGS:
        raise WrongUse(f"--out {path} must end in {' or '.join(TABLE_ENDINGS)}")
    check_file(path, overwrite=overwrite)


def refuse_inputs(outputs: Collection[Path], inputs: Collection[Path]) -> None:
    """Refuse to write over a file that is read, by whatever name, even by "
    "`--overwrite`."""
    read = {path.resolve() for path in inputs}
    for path in outputs:
        if path.resolve() in read:
            raise WrongUse(f"{path} is read by this command: it is not written over")


def write_folder(
    folder: Path,
    files: Mapping[str, Write],
    stale: Collection[str] = (),
    *,
    overwrite: bool,
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
    overwrite : bool
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
        if found and not overwrite:
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
    mend(path)
    with workplace(path, inside=False) as partial:
        # The ending stays, for writers that go by it.
        write(partial / path.name)
        with _uninterrupted():
            try:
                place_file(partial / path.name, path, over=overwrite)
            except FileExistsError as error:
                raise _made_meanwhile(path.parent, [path.name]) from error


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
        f"{folder} has {listed(names)} now, made by another meanwhile: --overwrite "
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


# -----------------------------------------------------------------------------
# What a saved model knows of each row that it predicts: coverage, weight, interval.
# -----------------------------------------------------------------------------


def interval_columns(model: Any, X: Any, level: float, path: Path) -> dict[str, Any]:
    """Return the columns of the intervals, or of the sets, that hold the label.

    An interval is infinite, and a set has all classes, where the source says too little
    about a row.
    """
    if getattr(model, "calibration_", None) is None:
        raise BadData(
            f"{path} holds a model without rows held out for --intervals: fit it with "
            "run --calibration-fraction 0.2"
        )
    with refusals_of_estimators():
        if not is_classifier(model.estimator_):
            ends = model.predict_interval(X, level)
            return {"lower": ends[:, 0], "upper": ends[:, 1]}
        held = model.predict_set(X, level)
    names = model.classes_
    columns = {f"set has {name}": held[:, k] for k, name in enumerate(names)}
    return {**columns, "set size": held.sum(axis=1)}


def coverage_columns(
    model: Any,
    X: Any,
    path: Path,
    *,
    asked: bool,
    notice: Callable[[str], None],
) -> dict[str, Any]:
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
            raise BadData(
                f"{path} holds a model that weighs no rows by their columns: "
                "--overlap is not known"
            )
        return {}
    with refusals_of_estimators():
        covered = ~model.is_extrapolation(X)
    lost = int(np.count_nonzero(~covered))
    if lost:
        notice(
            f"{lost:,} of {covered.size:,} rows ({percentage(lost / covered.size)}) "
            "lie where the source has no rows at all: do not rely on their predictions"
            + ("" if asked else " (--overlap says which)")
        )
    with refusals_of_estimators():
        uncovered = model.is_uncovered(X)
    few = int(np.count_nonzero(uncovered))
    if few > UNCOVERED_ABOVE * uncovered.size:
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
