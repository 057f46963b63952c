"""A page for every public name, written before Sphinx reads the folder.

The names are the package's own lists (`public_names`); methods are those that a class
of counterpoise defines, for scikit-learn explains its own.
"""

import inspect
from functools import cached_property
from pathlib import Path
from types import FunctionType

from public_names import address, kind, rooms, thing

from counterpoise import bounds

FOLDER = "reference"
ABOUT = {
    "adaptation": "A model and its target: weigh, guard, fit, estimate, keep.",
    "weights": "Two samples in, a weight a source row out.",
    "shift": "What has shifted, and what is covered.",
    "bounds": "Guarantees.",
    "monitor": "A deployed model, chunk after chunk.",
    "report": "The record, the page, the pictures.",
    "models": "Models that take weights.",
    "svm": "Weighted support vector machines with exact solution paths.",
    "twin_gp": "Twin Gaussian processes for structured outputs.",
    "networks": "Convexified neural networks with hard constraints.",
    "selection": "A few that stand for many.",
    "subspaces": "Orthonormal frames.",
    "datasets": "Shifts whose truth is known.",
    "data": "Samples, tables and tables larger than memory.",
    "optim": "Problems, solvers and certificates.",
    "testing": "Checks for parts of your own.",
    "errors": "Errors and warnings.",
    "deep": "Networks for targets with some of the classes (extra `deep`).",
}


def write(app) -> None:
    """Write the pages that are not there, or not so, and remove those of old names."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(exist_ok=True)
    pages = dict(_pages())
    for old in folder.glob("*.rst"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def _pages():
    offered = rooms()
    # A room without a sentence of its own comes last.
    order = [*ABOUT, *(room for room in offered if room not in ABOUT)]
    lines = _title("Every public name")
    seen: set[str] = set()
    for room in (room for room in order if room in offered):
        lines += ["", f".. rubric:: {room}", "", ABOUT.get(room, "")]
        entries = []
        for name in offered[room]:
            where = address(room, name)
            if where in seen:
                continue
            seen.add(where)
            entries.append(where)
            yield f"{where}.rst", "\n".join(_page(room, name, where)) + "\n"
        if room == "adaptation":
            entries.append("counterpoise.bounds")
        lines += ["", ".. list-table::", "   :widths: 30 70", ""]
        for where in entries:
            lines += [f"   * - :py:obj:`~{where}`", f"     - {_first_line(where)}"]
    # Readers know a name, not its room.
    everything = sorted({*seen, "counterpoise.bounds"}, key=_by_name)
    lines += [
        "",
        ".. toctree::",
        "   :hidden:",
        "",
        *(f"   {one}" for one in everything),
    ]
    yield "counterpoise.bounds.rst", "\n".join(_bounds()) + "\n"
    yield "index.rst", "\n".join(lines) + "\n"


def _page(room: str, name: str, where: str) -> list[str]:
    value = thing(room, name)
    directive = {
        "function": "autofunction",
        "exception": "autoexception",
    }.get(kind(value), "autoclass")
    lines = [*_title(name), "", f".. {directive}:: {where}"]
    if inspect.isclass(value):
        lines += [
            "",
            *(f"   .. {one}:: {where}.{name}" for name, one in _methods(value)),
        ]
    return lines


def _methods(value: type) -> list[tuple[str, str]]:
    """Return what classes of ours define in public, and the directive of each."""
    own = [one for one in value.__mro__ if one.__module__.startswith("counterpoise")]
    found: dict[str, str] = {}
    for one in own:
        for name, member in vars(one).items():
            is_property = isinstance(member, property | cached_property)
            is_method = isinstance(member, FunctionType | classmethod | staticmethod)
            if name.startswith("_") or not (is_property or is_method):
                continue
            if (inspect.getdoc(getattr(value, name, None)) or "").strip():
                found.setdefault(name, "autoproperty" if is_property else "automethod")
    return sorted(found.items())


def _bounds() -> list[str]:
    """Return the page of the guarantees, a function each."""
    names = [
        name
        for name, one in vars(bounds).items()
        if inspect.isfunction(one)
        and not name.startswith("_")
        and one.__module__ == "counterpoise.bounds"
    ]
    lines = [
        *_title("bounds"),
        "",
        ".. automodule:: counterpoise.bounds",
        "",
    ]
    for name in names:
        lines += [f".. autofunction:: counterpoise.bounds.{name}", ""]
    return lines


def _by_name(where: str) -> tuple[str, str]:
    return where.rpartition(".")[2].casefold(), where


def _title(name: str) -> list[str]:
    return [name, "=" * len(name)]


def _first_line(where: str) -> str:
    if where == "counterpoise.bounds":
        return _sentence(bounds)
    for room, names in rooms().items():
        for name in names:
            if address(room, name) == where:
                return _sentence(thing(room, name))
    raise KeyError(where)


def _sentence(value: object) -> str:
    return (inspect.getdoc(value) or "").strip().split("\n\n")[0].replace("\n", " ")


def setup(app):
    """Write the pages before anything is read."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
