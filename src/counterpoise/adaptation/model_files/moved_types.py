"""Model files of earlier versions, whose types have moved to other rooms since."""

import io
import json
import sys
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from sklearn.base import BaseEstimator

from counterpoise.adaptation.model_files.unpacking import (
    SCHEMA,
    check_package,
    check_trees,
)
from counterpoise.engine.memory import current_budget
from counterpoise.validation import InvalidInput

# Types that have another name today, and which of their fields have.
RENAMED: dict[str, str] = {"Hypotheses": "Kernel"}
RENAMED_FIELDS: dict[str, dict[str, str]] = {"Hypotheses": {"kernel": "kind"}}


def read_model_file(path: Path) -> bytes:
    """Return a model file with every type of this library named where it is today.

    A type that is no longer where the file says is looked for by its name, which no
    two types of this library share, among those that are loaded. What the file would
    take is looked at first (`check_package`).
    """
    size = path.stat().st_size
    if size > current_budget():
        raise InvalidInput(
            f"it has {size:,} bytes, and the memory budget is {current_budget():,}"
        )
    packed = path.read_bytes()
    with ZipFile(io.BytesIO(packed)) as file:
        check_package(file)
        schema = json.loads(file.read(SCHEMA))
        check_trees(file, schema)
        if not _bring_up_to_date(schema, {}):
            return packed
        out = io.BytesIO()
        with ZipFile(out, "w", ZIP_DEFLATED) as updated:
            for name in file.namelist():
                if name != SCHEMA:
                    updated.writestr(name, file.read(name))
            updated.writestr(SCHEMA, json.dumps(schema))
    return out.getvalue()


def is_own_type(found: Any) -> bool:
    """Return whether something is an estimator or a record, which hold data alone."""
    return isinstance(found, type) and (
        is_dataclass(found) or issubclass(found, BaseEstimator)
    )


def _bring_up_to_date(part: Any, rooms: dict[str, str]) -> bool:
    """Name types where they are today, in place, and tell whether any had moved."""
    if isinstance(part, list):
        return sum(_bring_up_to_date(one, rooms) for one in part) > 0
    if not isinstance(part, dict):
        return False
    changed = sum(_bring_up_to_date(one, rooms) for one in part.values()) > 0
    room, name = part.get("__module__"), part.get("__class__")
    if not (isinstance(room, str) and room.startswith("counterpoise.")):
        return changed
    if hasattr(sys.modules.get(room), str(name)):
        return changed
    if not rooms:
        rooms.update(_rooms_of_types())
    today = RENAMED.get(str(name), str(name))
    if today not in rooms:
        return changed
    part["__module__"], part["__class__"] = rooms[today], today
    fields = RENAMED_FIELDS.get(str(name))
    if fields is not None:
        held = part["content"]["content"]
        part["content"]["content"] = {fields.get(k, k): held[k] for k in held}
    return True


def _rooms_of_types() -> dict[str, str]:
    """Return in which loaded module every type of this library is."""
    return {
        name: room
        for room, module in list(sys.modules.items())
        if room.startswith("counterpoise.")
        for name, found in vars(module).items()
        if is_own_type(found) and found.__module__ == room
    }
