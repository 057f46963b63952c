"""The file that sets everything up: quick tests that are there, floors as asked for."""

import importlib.util
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def dev(monkeypatch):
    """Return `dev.py` as a module."""
    found = importlib.util.spec_from_file_location("dev", ROOT / "dev.py")
    module = importlib.util.module_from_spec(found)
    # A dataclass looks its module up.
    monkeypatch.setitem(sys.modules, "dev", module)
    found.loader.exec_module(module)
    return module


def test_every_quick_test_is_there(dev):
    assert [path for path in dev.QUICK if not (ROOT / "tests" / path).exists()] == []


def test_every_package_has_one_floor(dev):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = set(project["dependencies"]).union(
        *project["optional-dependencies"].values()
    )
    pairs = [one.split("==") for one in dev.floors()]
    assert [one for one in pairs if len(one) != 2] == []
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names)
    assert {f"{name}>={version}" for name, version in pairs} | {
        f"{name}=={version}" for name, version in pairs
    } >= asked


def test_the_oldest_versions_have_an_environment_of_their_own(dev):
    assert dev.OLDEST.home != dev.NEWEST.home
    ignored = (ROOT / ".gitignore").read_text().split()
    for environment in (dev.OLDEST, dev.NEWEST):
        assert f"{environment.home.name}/" in ignored
