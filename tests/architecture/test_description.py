"""The README as a package index shows it."""

import importlib.util
import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = "![A page](docs/a.png) and [more](docs/b.md), [there](https://x.org), [up](#up)"


@pytest.fixture
def of_an_index(monkeypatch):
    """The function of `hatch_build.py`, without the builder that it is for."""
    interface = types.ModuleType("hatchling.metadata.plugin.interface")
    interface.MetadataHookInterface = object
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.of_an_index


def test_without_an_address_pictures_become_words(of_an_index):
    assert of_an_index(TEXT) == (
        "*A page: `docs/a.png` of the source distribution.* and more, "
        "[there](https://x.org), [up](#up)"
    )


def test_with_an_address_all_that_is_relative_leads_there(of_an_index):
    assert of_an_index(TEXT, "https://h.org/c/") == (
        "![A page](https://h.org/c/docs/a.png) and [more](https://h.org/c/docs/b.md), "
        "[there](https://x.org), [up](#up)"
    )
