"""What a browser makes of the page."""

import json
import math
import re

import pytest
from report.records_at_hand import (
    HOSTILE,
    complete,
    complete_page,
    full,
    full_page,
    hostile,
    hostile_complete_page,
    hostile_page,
    wide,
)
from report.watched_at_hand import watched

from counterpoise.report import Report, compare, render

FIGURES = 10


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    first = Report.from_dict(full())
    nasty = Report.from_dict(hostile())
    made = {
        "full": full_page(),
        "hostile": hostile_page(),
        "complete": complete_page(),
        "hostile complete": hostile_complete_page(),
        "wide": render(wide(120)),
        "shift alone": render({"shift": full()["shift"]}),
        "monitor": render(watched()),
        "comparison": compare(first, nasty, names=(HOSTILE[0], HOSTILE[12])),
    }
    paths = {}
    for name, page in made.items():
        paths[name] = folder / f"{name.replace(' ', '-')}.html"
        page.save(paths[name])
    return paths


PAGES = (
    "full",
    "hostile",
    "complete",
    "hostile complete",
    "wide",
    "shift alone",
    "monitor",
    "comparison",
)


@pytest.mark.parametrize(
    ("name", "scheme", "unfolded"),
    [
        ("full", "light", True),
        ("full", "dark", False),
        ("hostile", "light", False),
        ("complete", "light", True),
        ("complete", "dark", True),
        ("comparison", "dark", True),
        ("monitor", "light", True),
    ],
)
def test_an_audit_of_accessibility_finds_nothing(window, pages, name, scheme, unfolded):
    seen = window.look(pages[name], scheme=scheme, open=unfolded, audit=True)
    assert seen["violations"] == []


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_loaded_and_nothing_runs(window, pages, name):
    seen = window.look(pages[name], open=True)
    assert seen["requests"] == []
    assert seen["scripts"] == 0
    assert seen["handlers"] == 0
    assert seen["foreign"] == 0
    assert not seen["executed"]
    assert seen["faults"] == []
    assert all(link.startswith(("#", "./")) for link in seen["links"])
    beside = [link for link in seen["links"] if link.startswith("./")]
    expected = {
        "complete": ["./report.json"],
        "hostile complete": ["./javascript%3Awindow.executed%3D1"],
    }
    assert beside == expected.get(name, [])


@pytest.mark.parametrize("name", PAGES)
def test_a_telephone_needs_no_scrolling_sideways(window, pages, name):
    for unfolded in (False, True):
        seen = window.look(pages[name], width=360, open=unfolded)
        assert seen["scrollWidth"] <= seen["clientWidth"] == 360


def test_every_figure_says_what_it_is(window, pages):
    seen = window.look(pages["full"])
    assert len(seen["figures"]) == FIGURES
    assert all(len(name) > 40 for name in seen["figures"])
    assert len(set(seen["figures"])) == FIGURES
    assert seen["svgs"] >= FIGURES
    assert window.look(pages["hostile"])["svgs"] == seen["svgs"]
    newer = window.look(pages["complete"])["figures"]
    assert len(set(newer)) == len(newer) == 12
    assert all(len(name) > 40 for name in newer)
    alone = window.look(pages["shift alone"])
    assert len(alone["figures"]) == 1


@pytest.mark.parametrize(("name", "made"), [("full", full), ("complete", complete)])
def test_the_numbers_on_the_page_are_those_of_the_record(window, pages, name, made):
    record = Report.from_dict(made())
    every = set(_numbers(json.loads(record.to_json())))
    shown = window.look(pages[name], open=True)["numbers"]
    with_paths = [one for one in shown if one["path"]]
    assert len(with_paths) > 60
    for one in shown:
        value = float(one["value"])
        assert value in every, one
        if one["path"]:
            assert record.at(one["path"]) == value
        assert _agrees(one["text"], value), one


def test_the_verdict_is_on_the_first_screen(window, pages):
    text = window.look(pages["full"])["text"]
    verdict = text.index("Use the adapted model")
    assert verdict < text.index("Have the data shifted?") < text.index("99")
    assert text.index("What to do next") < text.index("What has shifted")


def _numbers(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, int | float):
        yield float(value)


def _agrees(text, value):
    """Whether a text is the value, as far as its digits go."""
    plain = text.replace("\N{NO-BREAK SPACE}", " ").replace(",", "")
    found = re.fullmatch(r"([<>]?) ?(-?[\d.]+(?:e[+-]?\d+)?)( %)?", plain)
    assert found, text
    limit, digits, percent = found.groups()
    told = float(digits) * (0.01 if percent else 1.0)
    if limit == "<":
        return 0 < value < told
    if limit == ">":
        return told < value < 1
    mantissa, _, power = digits.partition("e")
    places = len(mantissa.partition(".")[2])
    unit = 10.0 ** (int(power or 0) - places) * (0.01 if percent else 1.0)
    return math.isclose(told, value, rel_tol=1e-9, abs_tol=0.51 * unit)
