"""Every public name has a page; every estimator and function says what it does."""

import inspect
import sys
from pathlib import Path

import counterpoise

EXTENSIONS = Path(__file__).resolve().parents[2] / "docs" / "extensions"
sys.path.insert(0, str(EXTENSIONS))

import public_names  # noqa: E402
import reference_pages  # noqa: E402

sys.path.remove(str(EXTENSIONS))

PAGES = dict(reference_pages._pages())
NAMES = [(room, name) for room, names in public_names.rooms().items() for name in names]
OBLIGED = [
    (room, name)
    for room, name in NAMES
    if public_names.kind(public_names.thing(room, name)) in ("function", "estimator")
]


def documented(room, name):
    return inspect.getdoc(public_names.thing(room, name)) or ""


def test_what_the_package_offers_at_the_top_has_a_page():
    rooms = {*counterpoise._SUBMODULES, "__version__"}
    offered = {name for name in counterpoise.__all__ if name not in rooms}
    assert {f"counterpoise.{name}.rst" for name in offered} <= set(PAGES)


def test_every_public_name_has_a_page_in_the_list():
    assert len(NAMES) > 150
    for room, name in NAMES:
        where = public_names.address(room, name)
        assert f"{where}.rst" in PAGES
        assert f"   {where}\n" in PAGES["index.rst"]


def test_every_estimator_and_function_has_a_doctest():
    assert [pair for pair in OBLIGED if ">>>" not in documented(*pair)] == []


def test_every_estimator_states_its_objective_or_definition():
    signs = (":math:", ".. math::", "::\n", "=====")
    for room, name in OBLIGED:
        if public_names.kind(public_names.thing(room, name)) == "estimator":
            text = documented(room, name)
            assert any(sign in text for sign in signs), f"{room}.{name}"
