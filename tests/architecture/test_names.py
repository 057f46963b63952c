"""One name, one thing: classes, modules, folders and constants of the house."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
PACKAGE = SRC / "counterpoise"
# Files that may stand side by side in one folder.
MOST_FILES = 20
# Constants that several modules have: one word of one meaning in all of them.
SHARED = frozenset(
    {"BLOCK_ROWS", "CATEGORIES", "DATES", "NO_OVERLAP", "NOTHING", "NUMBERS"}
)

TREES = {
    path: ast.parse(path.read_text(encoding="utf-8"))
    for path in sorted(PACKAGE.rglob("*.py"))
}


def told(path: Path) -> str:
    """Return a path as it is told."""
    return path.relative_to(SRC).as_posix()


def repeated(found: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return what stands in more than one place."""
    return {name: places for name, places in found.items() if len(places) > 1}


def test_no_class_name_stands_twice():
    found = defaultdict(list)
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(told(path))
    assert repeated(found) == {}


def exported(tree: ast.Module) -> set[str]:
    """Return the names that a package gives away: imported, assigned or listed."""
    names = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
    return names


def test_no_module_is_hidden_by_a_name_that_its_package_exports():
    hidden = []
    for path, tree in TREES.items():
        if path.name != "__init__.py":
            continue
        own = {one.stem for one in path.parent.glob("*.py")} - {"__init__"}
        own |= {one.parent.name for one in path.parent.glob("*/__init__.py")}
        # A package that imports its own modules by name gives them away, no other.
        given = {
            alias.asname or alias.name
            for node in tree.body
            if isinstance(node, ast.ImportFrom)
            and node.module == ".".join(path.parent.relative_to(SRC).parts)
            for alias in node.names
        }
        names = own & exported(tree) - given
        hidden += [f"{told(path)}: {name}" for name in sorted(names)]
    assert hidden == []


def test_no_folder_has_more_than_twenty_files_side_by_side():
    folders = [PACKAGE, *(path for path in PACKAGE.rglob("*") if path.is_dir())]
    crowded = {
        told(folder): count
        for folder in folders
        if (count := sum(one.suffix == ".py" for one in folder.iterdir())) > MOST_FILES
    }
    assert crowded == {}


def constants(tree: ast.Module) -> set[str]:
    """Return the public constants that a module assigns."""
    names = set()
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            names |= {part.id for part in parts if isinstance(part, ast.Name)}
    return {name for name in names if name.isupper() and not name.startswith("_")}


def test_no_public_constant_stands_in_two_modules():
    found = defaultdict(list)
    for path, tree in TREES.items():
        for name in constants(tree) - SHARED:
            found[name].append(told(path))
    assert repeated(found) == {}
