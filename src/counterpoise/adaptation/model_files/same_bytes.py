"""Model files that are the same bytes for the same model."""

import io
import json
from pathlib import PurePosixPath
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from counterpoise.adaptation.model_files.unpacking import SCHEMA

# The earliest moment that a zip file can hold.
NO_TIME = (1980, 1, 1, 0, 0, 0)
# What our own records call the time that a search took: no two are alike.
SECONDS = "seconds"


def with_same_bytes(packed: bytes) -> bytes:
    """Return a model file without addresses of memory, moments and durations.

    Objects are numbered in the order in which the schema names them, plain values each
    by itself; members stand in the order of their numbers; the seconds of our searches
    are zero. One model gives one file, whichever process writes it.
    """
    with ZipFile(io.BytesIO(packed)) as file:
        schema = json.loads(file.read(SCHEMA))
        numbers: dict[Any, int] = {}
        files: dict[str, str] = {}
        _renumber(schema, numbers, files)
        out = io.BytesIO()
        with ZipFile(out, "w", ZIP_DEFLATED) as written:
            for name, new in files.items():
                written.writestr(_entry(new), file.read(name))
            written.writestr(_entry(SCHEMA), json.dumps(schema))
    return out.getvalue()


def _entry(name: str) -> ZipInfo:
    entry = ZipInfo(name, NO_TIME)
    entry.compress_type = ZIP_DEFLATED
    entry.external_attr = 0o600 << 16
    # Whichever system writes it.
    entry.create_system = 3
    return entry


def _renumber(part: Any, numbers: dict[Any, int], files: dict[str, str]) -> None:
    if isinstance(part, list):
        for one in part:
            _renumber(one, numbers, files)
        return
    if not isinstance(part, dict):
        return
    if "__id__" in part:
        # Whether two equal plain values are one object is chance.
        plain = part.get("__loader__") == "JsonNode"
        key = ("plain", len(numbers)) if plain else part["__id__"]
        part["__id__"] = numbers.setdefault(key, len(numbers) + 1)
    if part.get("__loader__") == "SetNode" and isinstance(part.get("content"), list):
        part["content"].sort(key=_without_numbers)
    if str(part.get("__module__")).startswith("counterpoise."):
        _forget_seconds(part)
    name = part.get("file")
    if isinstance(name, str):
        ending = PurePosixPath(name).suffix
        part["file"] = files.setdefault(name, f"{len(files) + 1}{ending}")
    for key, one in part.items():
        if key not in ("__id__", "file"):
            _renumber(one, numbers, files)


def _forget_seconds(part: dict[str, Any]) -> None:
    held = part.get("content")
    held = held.get("content") if isinstance(held, dict) else None
    found = held.get(SECONDS) if isinstance(held, dict) else None
    if isinstance(found, dict) and found.get("__loader__") == "JsonNode":
        found["content"] = "0.0"


def _without_numbers(state: Any) -> str:
    if isinstance(state, dict):
        state = {k: v for k, v in state.items() if k not in ("__id__", "file")}
    return json.dumps(state, sort_keys=True)
