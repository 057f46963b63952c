"""`--config run.toml`: options by their long names."""

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from counterpoise.cli.exits import BadData, WrongUse
from counterpoise.cli.terminal import one_line

# Of each kind of option, the types that TOML may give it, and how that is said.
_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "flag": ((bool,), "true or false"),
    "names": ((str, list), "a string or a list of strings"),
    "texts": ((str, list), "a string or a list of strings"),
    "whole": ((int,), "a whole number"),
    "share": ((float,), "a number between 0 and 1"),
    "size": ((int, str), "a size such as '2G'"),
    "flag or path": ((bool, str), "true, false or the name of a file"),
    "percentage": ((float, str), "a share such as '10%' or 0.1"),
}


def read_config(path: Path, kinds: Mapping[str, str]) -> dict[str, Any]:
    """Return the options that a TOML file gives.

    Parameters
    ----------
    path : Path
        A table of options, "max-memory" or "max_memory"; lists for what takes several.
        Paths in it are relative to the folder in which the command runs.
    kinds : mapping
        The options that the command knows, and what each takes; any other key is an
        error.
    """
    try:
        if path.exists() and not path.is_file():
            # A pipe would be waited for, and a device has no end.
            raise BadData(f"--config {path} is a folder, a pipe or a device")
        text = path.read_text(encoding="utf-8")
    except ValueError as error:
        if isinstance(error, UnicodeDecodeError):
            raise BadData(f"--config {path} is not in UTF-8: {error.reason}") from error
        raise BadData(f"--config {str(path)!r} is no path: {error}") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise WrongUse(f"--config {path} cannot be read: {reason}") from error
    try:
        given = tomllib.loads(text)
    except RecursionError as error:
        raise WrongUse(f"--config {path} is nested too deep") from error
    except tomllib.TOMLDecodeError as error:
        raise WrongUse(f"--config {path}: {one_line(error)}") from error
    known = set(kinds) - {"config"}
    found = {}
    for key, value in given.items():
        name = key.replace("_", "-")
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise WrongUse(
                f"--config {path} has the key {key!r}, which is no option here{hint}"
            )
        types, wanted = _TYPES.get(kinds[name], ((str,), "a string"))
        if not _fits(value, types):
            raise WrongUse(f"--config {path}: {key} must be {wanted}, got {value!r}")
        found[name] = value
    return found


def _fits(value: Any, types: tuple[type, ...]) -> bool:
    if isinstance(value, list):
        return list in types and all(isinstance(item, str) for item in value)
    # In Python true is a whole number.
    return type(value) in types
