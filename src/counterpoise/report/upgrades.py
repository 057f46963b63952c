"""Records of earlier versions as records of this one."""

from collections.abc import Callable, Mapping
from typing import Any

# What makes a record of the next version of one of this version.
_STEPS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}


def upgraded(sections: Mapping[str, Any], version: int) -> dict[str, Any]:
    """Return the sections of a record as the newest version has them."""
    found = dict(sections)
    while version in _STEPS:
        found = _STEPS[version](found)
        version += 1
    return found
