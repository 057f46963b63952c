"""What passes over blocks have found, kept on disk, so that none is made twice.

Work on blocks is the same at every run: the same passes, one after the other. Inside
`kept_passes` the result of each is written to a folder when it is complete; a later run
over the same inputs reads it there in place of making the pass. A file appears by a
renaming, whole or not at all. Nothing in a file is run: it may hold arrays, numbers,
texts and the records of this library, and anything else is refused.
"""

import hashlib
import io
import json
import os
import pickle
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from counterpoise.engine.progress import announce
from counterpoise.validation import InvalidInput

Found = TypeVar("Found")

_INPUTS = "inputs.json"
# What arrays and Arrow's tables are made of when they are read back.
_HARMLESS = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy._core.numeric", "_frombuffer"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "scalar"),
    ("numpy.core.numeric", "_frombuffer"),
    ("_codecs", "encode"),
    ("builtins", "bytearray"),
}

_HARMLESS_OF_ARROW = frozenset(
    [
        "_reconstruct_table",
        "_restore_array",
        "chunked_array",
        "py_buffer",
        "schema",
        "field",
        "type_for_alias",
        "timestamp",
        "date32",
        "date64",
        "time32",
        "time64",
        "duration",
        "decimal128",
        "decimal256",
        "dictionary",
    ]
)

_KEPT: ContextVar["_Passes | None"] = ContextVar("kept_passes", default=None)


@dataclass(eq=False)
class _Passes:
    """The passes of one run, counted as they come."""

    folder: Path
    made: int = 0
    found_again: list[int] = field(default_factory=list)

    def once(self, name: str, compute: Callable[[], Found]) -> Found:
        """Return what a pass finds, read back if it was made before."""
        number = self.made
        self.made += 1
        path = self.folder / f"pass-{number:04d}-{name}.bin"
        if path.is_file():
            self.found_again.append(number)
            return _read(path)
        found = compute()
        _write(path, found)
        return found


@contextmanager
def kept_passes(folder: Any, inputs: Any, *, resume: bool) -> Iterator[_Passes]:
    """Keep what passes inside find, in a folder that goes when all is done.

    Parameters
    ----------
    folder : str or Path
        It is made if it is not there, for its owner alone.
    inputs : JSON
        What the passes depend on: fingerprints of files, options. Passes over other
        inputs are an error.
    resume : bool
        Whether passes of an earlier run are read; else they are removed first.

    Yields
    ------
    An object with `made`, the number of passes so far, and `found_again`, those read.
    """
    folder = Path(folder)
    told = json.dumps(inputs, indent=1, sort_keys=True)
    if not resume:
        shutil.rmtree(folder, ignore_errors=True)
    if (folder / _INPUTS).is_file():
        before = (folder / _INPUTS).read_text(encoding="utf-8")
        if before != told:
            raise InvalidInput(
                f"{folder} has passes of another run: {_difference(before, told)}; "
                "without resuming they are made anew"
            )
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _replaced(folder / _INPUTS, told.encode())
    passes = _Passes(folder)
    token = _KEPT.set(passes)
    try:
        yield passes
    finally:
        _KEPT.reset(token)
    shutil.rmtree(folder, ignore_errors=True)


def once(name: str, compute: Callable[[], Found]) -> Found:
    """Return what a pass finds; inside `kept_passes` it is made once for all runs."""
    passes = _KEPT.get()
    return compute() if passes is None else passes.once(name, compute)


def passes_are_kept() -> bool:
    """Return whether this runs inside `kept_passes`."""
    return _KEPT.get() is not None


def fingerprint(path: Any) -> dict[str, Any]:
    """Return name, size and a digest of the footer of a Parquet file."""
    path = Path(path)
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(size - 8, 0))
        length = int.from_bytes(file.read(4), "little")
        file.seek(max(size - 8 - length, 0))
        digest = hashlib.sha256(file.read()).hexdigest()
    return {"file": path.name, "size": size, "footer": digest}


def _write(path: Path, found: Any) -> None:
    _replaced(path, pickle.dumps(found, protocol=5))


def _replaced(path: Path, content: bytes) -> None:
    """Write a file that appears when it is complete."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _read(path: Path) -> Any:
    announce(f"read back: {path.stem}")
    try:
        return _Harmless(io.BytesIO(path.read_bytes())).load()
    except InvalidInput:
        raise
    except Exception as error:
        raise InvalidInput(f"{path} cannot be read back: {error}") from error


class _Harmless(pickle.Unpickler):
    """Makes arrays, and the records of this library, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _HARMLESS or (
            module == "pyarrow.lib" and name in _HARMLESS_OF_ARROW
        ):
            return super().find_class(module, name)
        if module.partition(".")[0] == "counterpoise" and "." not in name:
            found = super().find_class(module, name)
            # What can be called would be, with whatever a file says.
            is_record = isinstance(found, type) and is_dataclass(found)
            if is_record and not any("__call__" in vars(k) for k in found.__mro__):
                return found
        raise InvalidInput(
            f"a kept pass holds {module}.{name}, which no pass of this library finds"
        )


def _difference(before: str, now: str) -> str:
    """Return the first part in which two descriptions differ."""
    pairs = zip(before.splitlines(), now.splitlines(), strict=False)
    for one, other in pairs:
        if one != other:
            return f"{one.strip()} then, {other.strip()} now"
    return "they have other parts"
