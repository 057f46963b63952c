"""The public names of counterpoise, by the room that offers them.

The package's own lists are read, so that a new name has its page by itself.
"""

import inspect
from importlib import import_module

import counterpoise


def rooms() -> dict[str, list[str]]:
    """Return every room with the names that it offers, in the order of the package.

    A room whose extra is not installed is left out: the extra `docs` brings them all.
    """
    found: dict[str, list[str]] = {}
    for name, module in counterpoise._HOME.items():
        found.setdefault(module.split(".")[0], []).append(name)
    for room in (*counterpoise._SUBMODULES, *counterpoise._OPTIONAL):
        if room == "bounds":  # one page for the whole module
            continue
        try:
            offered = getattr(_room(room), "__all__", [])
        except ImportError:
            if room in counterpoise._OPTIONAL:
                continue
            raise
        names = [
            name
            for name in offered
            if not inspect.ismodule(thing := getattr(_room(room), name))
            and (inspect.isclass(thing) or callable(thing))
        ]
        if names:
            there = found.setdefault(room, [])
            there += [name for name in names if name not in there]
    return found


def address(room: str, name: str) -> str:
    """Return where a name is documented: at the top, if it is offered there."""
    top = name in counterpoise._HOME
    return f"counterpoise.{name}" if top else f"counterpoise.{room}.{name}"


def thing(room: str, name: str) -> object:
    """Return what a name stands for."""
    if name in counterpoise._HOME:
        return getattr(counterpoise, name)
    return getattr(_room(room), name)


def kind(value: object) -> str:
    """Return what a public thing is, of those that pages and tests tell apart.

    "function", "estimator" (it can be fitted), "exception" (warnings too), or "class".
    """
    if not inspect.isclass(value):
        return "function"
    if issubclass(value, BaseException):
        return "exception"
    return "estimator" if callable(getattr(value, "fit", None)) else "class"


def _room(room: str):
    return import_module(f"counterpoise.{room}")
