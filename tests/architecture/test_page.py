"""docs/architecture.md is true: its files are there, its folders complete."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "counterpoise"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TREE = PAGE.split("## The rooms, from the ground floor up")[1].split("Imports go down")[
    0
]
KNOWN = [
    f"/{path.relative_to(ROOT).as_posix()}"
    for room in ("src", "tests", "benchmarks")
    for path in (ROOT / room).rglob("*")
    if path.suffix == ".py" or path.is_dir()
] + [
    "/dev.py",
    "/src",
    "/tests",
    "/benchmarks",
    "/examples",
    "/changes",
    "/docs",
    "/docs/extensions",
    "/docs/results",
]
FOLDERS = sorted(
    path.relative_to(PACKAGE)
    for path in PACKAGE.rglob("*")
    if path.is_dir() and path.name != "__pycache__"
)


def files_named() -> set[str]:
    return set(re.findall(r"[\w/]+\.py\b", PAGE))


def quotations() -> list[tuple[str, str]]:
    return re.findall(
        r"<!-- from (\S+) -->\n```python\n(.*?)```", PAGE, flags=re.DOTALL
    )


def folders_named() -> set[str]:
    return {name.rstrip("/") for name in re.findall(r"[\w/]+/(?![\w<*])", TREE)}


@pytest.mark.parametrize("name", sorted(files_named() | folders_named()))
def test_what_the_page_names_is_there(name):
    assert any(path.endswith(f"/{name}") for path in KNOWN), name


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_every_folder_of_the_package_is_on_the_page(folder):
    assert f"{folder.name}/" in TREE


def test_the_page_quotes_the_source():
    assert len(quotations()) == 3
    for path, quoted in quotations():
        assert quoted in (ROOT / path).read_text(encoding="utf-8"), path


def test_imports_go_down_as_the_contract_says():
    said = re.search(r"Imports go down:\n\n(.*?)\n\n", PAGE, flags=re.DOTALL)
    rooms = re.findall(r"[a-z]+", said[1])
    assert sorted(rooms) == sorted(
        path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()
    )
