"""What a model file would take, looked at before anything in it is unpacked."""

import io
import json
from collections.abc import Iterator
from math import prod
from typing import Any
from zipfile import ZipFile

import numpy as np

from counterpoise.engine.memory import current_budget
from counterpoise.validation import InvalidInput

SCHEMA = "schema.json"
# No model of ours comes near so many arrays.
MOST_MEMBERS = 100_000
# Deflate makes nothing more than 1032 times smaller: a larger ratio is a lie.
LARGEST_RATIO = 1100
# What one byte of the schema takes, read.
BYTES_OF_SCHEMA = 20
# Outputs of a tree: far more than a model of ours has.
MOST_OUTPUTS = 1_000_000


def check_package(file: ZipFile) -> None:
    """Refuse a model file that is larger than it may be, or other than it says.

    Members, their ratio, their sizes unpacked and the shapes of arrays, which numpy
    would make room for before it reads: all that is refused above the memory budget
    (`counterpoise.engine.memory_budget`, `--max-memory`), before it is unpacked.
    """
    _check_sizes(file)
    for name in file.namelist():
        if name.endswith(".npy"):
            _check_array(file.read(name), name)
        elif name.endswith(".npz"):
            with ZipFile(io.BytesIO(file.read(name))) as inner:
                _check_sizes(inner, f"{name}: ")
                for part in inner.namelist():
                    _check_array(inner.read(part), f"{name}: {part}")


def check_trees(file: ZipFile, schema: Any) -> None:
    """Refuse trees whose compiled constructor would read beyond what it is given."""
    for state in _states(schema):
        if state.get("__loader__") != "TreeNode":
            continue
        n_features, n_classes, n_outputs = state["__reduce__"]["args"]["content"]
        outputs = json.loads(n_outputs["content"])
        counts = np.load(io.BytesIO(file.read(n_classes["file"])), allow_pickle=False)
        if (
            type(outputs) is not int
            or type(json.loads(n_features["content"])) is not int
            or not 0 < outputs <= MOST_OUTPUTS
            or counts.ndim != 1
            or counts.dtype.kind != "i"
            or counts.size != outputs
            or (counts < 1).any()
        ):
            raise InvalidInput("a tree's outputs and classes do not agree")


def _check_sizes(file: ZipFile, inside: str = "") -> None:
    budget = current_budget()
    members = file.infolist()
    if len(members) > MOST_MEMBERS:
        raise InvalidInput(
            f"{inside}{len(members)} members, at most {MOST_MEMBERS} are read"
        )
    total = 0
    for one in members:
        if one.file_size > LARGEST_RATIO * max(one.compress_size, 1):
            raise InvalidInput(
                f"{inside}{one.filename!r} says that {one.compress_size} bytes are "
                f"{one.file_size} unpacked, which no compression gives"
            )
        weight = BYTES_OF_SCHEMA if one.filename == SCHEMA else 1
        total += weight * one.file_size
    if total > budget:
        raise InvalidInput(
            f"{inside}it takes {total:,} bytes unpacked, and the memory budget is "
            f"{budget:,}: raise it (--max-memory, counterpoise.engine.memory_budget) "
            "if you trust the file"
        )


def _check_array(packed: bytes, name: str) -> None:
    """Refuse an array whose header speaks of more than there is, or of objects."""
    stream = io.BytesIO(packed)
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        header = np.lib.format.read_array_header_1_0(stream)
    elif version == (2, 0):
        header = np.lib.format.read_array_header_2_0(stream)
    else:
        raise InvalidInput(f"{name!r} is an array of an unknown format {version}")
    shape, _, dtype = header
    if dtype.hasobject:
        raise InvalidInput(f"{name!r} is an array of objects")
    said, there = prod(shape) * dtype.itemsize, len(packed) - stream.tell()
    if said != there or any(length < 0 for length in shape):
        raise InvalidInput(
            f"{name!r} says that it is {shape} of {dtype}, {said} bytes, and has "
            f"{there}"
        )


def _states(part: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a schema."""
    waiting = [part]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
