"""No module has the name of something that its package or the top level exports."""

import ast
from pathlib import Path

import counterpoise

SRC = Path(__file__).resolve().parents[2] / "src"
PACKAGE = SRC / "counterpoise"


def modules_in(folder):
    """Return the names of the modules and packages directly in a folder."""
    names = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    return names | {path.parent.name for path in folder.glob("*/__init__.py")}


def exported(path):
    """Return the names that an `__init__` imports."""
    return {
        alias.asname or alias.name
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_no_module_is_hidden_by_a_name_that_its_package_exports():
    hidden = [
        f"{path.parent.relative_to(SRC)}: {name}"
        for path in sorted(PACKAGE.rglob("__init__.py"))
        for name in modules_in(path.parent) & exported(path)
    ]
    assert hidden == []


def test_no_public_function_or_class_has_the_name_of_a_module():
    assert modules_in(PACKAGE) & set(counterpoise._HOME) == set()
