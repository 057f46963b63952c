"""Folders and files that take their place in one step, and what a kill left behind."""

import ctypes
import json
import os
import secrets
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

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
