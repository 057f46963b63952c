"""A method looks the same in every panel of every picture, and the legend has all."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = json.loads((ROOT / "docs" / "results" / "growth.json").read_text())
# The first method has no points on the right, the third none on the left, the last
# none at all.
MADE = [
    ["ours", 100, 10, 1.0, 10.0],
    ["ours", 200, 10, 2.0, 20.0],
    ["theirs", 100, 10, 3.0, None],
    ["theirs", 1_000, 5, 4.0, 40.0],
    ["others", 1_000, 20, 5.0, 50.0],
    ["stopped", 1_000, 10, None, None],
]


@pytest.fixture
def pictures(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "docs" / "extensions")])
    import growth_pictures

    return growth_pictures


def look(line):
    return line.get_color(), line.get_marker(), line.get_linestyle()


def looks_seen(figure):
    """Return what every method looks like, in the panels and in the legend."""
    (legend,) = figure.legends
    lines = [line for ax in figure.axes for line in ax.lines]
    in_panels, in_legend = {}, {}
    for line in lines:
        in_panels.setdefault(line.get_label(), set()).add(look(line))
    for text, line in zip(legend.get_texts(), legend.get_lines(), strict=True):
        in_legend.setdefault(text.get_text(), set()).add(look(line))
    return in_panels, in_legend


def check(figure):
    """Check a figure, and return what every method of its legend looks like."""
    in_panels, in_legend = looks_seen(figure)
    with_points = {name for name in in_legend if not name.endswith(" (no point)")}
    assert in_panels == {name: in_legend[name] for name in with_points}
    assert all(len(found) == 1 for found in in_panels.values())
    assert len(set.union(*in_legend.values())) == len(in_legend)
    return in_legend


def test_methods_with_points_in_different_panels_keep_their_looks(pictures):
    figure = pictures.growth_figure(MADE, pictures.looks(row[0] for row in MADE))
    panels = [[line.get_label() for line in ax.lines] for ax in figure.axes]
    assert panels == [["ours", "theirs"], ["theirs", "others"], ["ours"], panels[1]]
    assert list(check(figure)) == ["ours", "theirs", "others", "stopped (no point)"]


def test_the_pictures_of_the_site_share_one_look_for_each_method(pictures):
    rows = {name: pictures.rows_of(one) for name, one in ANSWERS.items()}
    look_of = pictures.looks(row[0] for found in rows.values() for row in found)
    everywhere = {}
    for name in rows:
        for method, found in check(pictures.growth_figure(rows[name], look_of)).items():
            name_alone = method.removesuffix(" (no point)")
            everywhere.setdefault(name_alone, set()).update(found)
    assert all(len(found) == 1 for found in everywhere.values())
    assert set(everywhere) == set(look_of)
