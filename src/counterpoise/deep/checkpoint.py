"""A training in a file: written whole, read without running anything in it."""

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from counterpoise.validation import InvalidInput, InvalidType

VERSION = 1
_KIND = "counterpoise.deep checkpoint"


def write_checkpoint(path: str | Path, content: dict[str, Any]) -> None:
    """Write tensors, numbers and words to a file, in the place of an older one."""
    path = Path(path)
    handle, name = tempfile.mkstemp(dir=path.parent or ".", suffix=".partial")
    os.close(handle)
    partial = Path(name)
    try:
        torch.save({"kind": _KIND, "version": VERSION, **content}, partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read_checkpoint(path: str | Path) -> dict[str, Any]:
    """Return what `write` wrote; nothing in the file is run (`weights_only`)."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
        if found["kind"] != _KIND:
            raise ValueError(f"its kind is {found['kind']!r}")
    except Exception as error:
        raise InvalidInput(f"{path} is no checkpoint: {error}") from error
    if found["version"] > VERSION:
        raise InvalidInput(
            f"{path} was written by a newer version of the library (format "
            f"{found['version']}, this one reads up to {VERSION})"
        )
    checked: dict[str, Any] = found
    return checked


def check_same_data(
    path: str | Path, kept: dict[str, str], now: dict[str, str]
) -> None:
    """Refuse to go on with a training of something else."""
    others = [name for name, digest in now.items() if kept.get(name) != digest]
    if others:
        raise InvalidInput(
            f"checkpoint {path} is of another training: {' and '.join(others)} differ; "
            "remove the file or name another"
        )


def data_digest(*parts: Any) -> str:
    """Return a digest of arrays, tensors and of what prints itself."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, torch.Tensor):
            part = part.numpy()
        if isinstance(part, np.ndarray):
            digest.update(str((part.shape, part.dtype)).encode())
            digest.update(np.ascontiguousarray(part).tobytes())
        else:
            digest.update(repr(part).encode())
    return digest.hexdigest()


def plain_labels(classes: Any) -> dict[str, Any]:
    """Return labels as a list and the name of their type."""
    values = classes.tolist()
    if not all(isinstance(one, str | int | float | bool) for one in values):
        raise InvalidType(
            "a checkpoint holds labels that are numbers or strings, got "
            f"{type(values[0]).__name__}"
        )
    return {"values": values, "type": classes.dtype.str}


def labels_from(plain: dict[str, Any]) -> Any:
    """Return what `plain_labels` wrote down."""
    return np.array(plain["values"], dtype=np.dtype(plain["type"]))
