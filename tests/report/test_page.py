"""The page: one file, made from the record alone, the same bytes every time."""

import builtins
import re
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report.records_at_hand import HOSTILE, full, full_page, hostile_page, wide

import counterpoise.report
from counterpoise.report import Record, render
from counterpoise.report.verdict import verdict_of

SOURCES = Path(counterpoise.report.__file__).parent


class Elements(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes = [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attributes]


def test_the_same_record_gives_the_same_bytes():
    again = render(Record.from_json(Record.from_dict(full()).to_json()))
    assert again.html == full_page().html


def test_names_from_data_make_no_elements():
    plain, nasty = (Elements(made().html) for made in (full_page, hostile_page))
    assert "script" not in nasty.tags
    # The same page, but for more rows of tables.
    assert set(nasty.tags) == set(plain.tags)
    assert set(nasty.attributes) == set(plain.attributes)
    assert not any(name.startswith("on") for name in nasty.attributes)


def test_pictures_with_hostile_names_are_sound_xml():
    html = hostile_page().html
    pictures = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    assert len(pictures) >= 10
    texts = []
    for picture in pictures:
        root = ElementTree.fromstring(picture)
        texts += [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert any("$" in text for text in texts)
    assert any("{{ 7 * 7 }}" in text for text in texts)


def test_ids_are_not_used_twice():
    html = full_page().html
    ids = re.findall(r'\sid="([^"]*)"', html)
    assert len(ids) == len(set(ids))
    used = re.findall(r'(?:href="#|url\(#)([^")]*)', html)
    assert set(used) <= set(ids)


@pytest.mark.parametrize("made", [full_page, hostile_page])
def test_control_characters_reach_neither_page_nor_text(made):
    page = made()
    for text in (page.html, page.text()):
        odd = {
            c for c in text if not c.isprintable() and c not in "\n\N{NO-BREAK SPACE}"
        }
        assert odd == set()
    assert "\N{NO-BREAK SPACE}" not in page.text()


def test_the_policy_forbids_everything_but_styles():
    head = full_page().html.partition("</head>")[0]
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in head


def test_pictures_alone_are_not_escaped():
    sources = [*SOURCES.rglob("*.py"), *SOURCES.rglob("*.html")]
    unescaped = [
        (path.name, line.strip())
        for path in sources
        for line in path.read_text().splitlines()
        if re.search(r"Markup\(|\|\s*safe|autoescape\s+false|\|\s*picture", line)
    ]
    assert unescaped == [
        ("page.py", "return Markup(svg)"),
        ("page.html", "<div>{{ picture|picture }}</div>"),
    ]


def test_the_page_stays_small():
    assert len(render(wide(50)).html.encode()) <= 1e6


def test_many_columns_are_cut_and_it_is_said():
    html = render(wide(500)).html
    assert len(html.encode()) <= 2e6
    assert "The 50 columns of 500 that moved most." in html
    assert "measurement number 60<" not in html


def test_rare_categories_are_not_named():
    found = full()
    found["data"]["classes"] = [
        {"class": "common", "rows": 5},
        {"class": "somebody", "rows": 4},
    ]
    page = render(found)
    assert "common" in page.html
    assert "somebody" not in page.html
    assert "1 classes of fewer than 5 rows are not named." in page.html


@pytest.mark.parametrize(
    ("section", "figures"),
    [
        ("data", 10),
        ("shift", 9),
        ("weights", 7),
        ("balance", 9),
        ("overlap", 8),
        ("solver", 9),
        ("guard", 10),
        ("model", 10),
        ("performance", 9),
        ("headline", 10),
        ("guarantees", 10),
        ("reproduce", 10),
    ],
)
def test_a_missing_section_leaves_its_part_out(section, figures, monkeypatch):
    # What is in the pictures does not matter here.
    for module in list(sys.modules.values()):
        if module.__name__.startswith("counterpoise.report.figures."):
            monkeypatch.setattr(module, "svg", lambda *_, **__: "", raising=False)
    found = full()
    del found[section]
    page = render(found)
    assert page.html.count("<figure") == figures
    assert page.text()


def test_an_empty_record_has_a_page():
    assert "Nothing was compared" in render({}).html


def test_sections_of_null_count_as_missing():
    found = dict.fromkeys(full())
    found["schema_version"] = 1
    assert "<figure" not in render(found).html


def test_text_says_what_the_page_says():
    text = full_page().text()
    assert text.startswith("Use the adapted model")
    assert "Effective sample size: 99\n" in text
    assert max(map(len, text.splitlines())) <= 110


def test_a_notebook_shows_the_first_screen():
    page = full_page()
    shown = page._repr_html_()
    assert "Use the adapted model" in shown
    assert "<script" not in shown
    assert "<html" not in shown
    assert len(shown) < 20_000


def test_a_missing_jinja_names_the_extra(monkeypatch):
    genuine = builtins.__import__

    def without(name, *arguments, **options):
        if name == "jinja2":
            raise ImportError(name)
        return genuine(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"counterpoise\[report\]"):
        render({})


def test_long_and_empty_names_can_be_seen():
    html = hostile_page().html
    assert "x" * 401 not in html
    assert "(no name)" in html
    assert "(3 spaces)" in html
    assert len(HOSTILE) > 12


def test_saving_gives_the_page(tmp_path):
    page = hostile_page()
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html


@pytest.mark.parametrize(
    ("p_value", "word"), [(0.001, "Doubtful"), (0.5, "Cannot be told")]
)
def test_labels_that_contradict_the_estimate_are_told_first(p_value, word):
    found = full()
    found["performance"]["metrics"]["neg_log_loss"]["check"] = {
        "difference": 0.2,
        "error": 0.05,
        "statistic": 4.0,
        "p_value": p_value,
        "n_labelled": 40,
        "words": "",
    }
    text = render(found).text()
    assert word in text.partition("How good will it be there?")[2].splitlines()[0]


@pytest.mark.parametrize(
    ("verdict", "adapted", "begins"),
    [
        ("no shift found", False, "Use your model as it is"),
        ("small shift", False, "Use your model as it is"),
        ("shift, covered", True, "Use the adapted model: it does better"),
        ("shift, covered", False, "Use your model as it is, but expect"),
        ("shift, thin in part", True, "Use the adapted model with care"),
        ("no overlap", False, "Do not deploy yet"),
        ("too few rows to tell", False, "There are too few rows"),
    ],
)
def test_every_verdict_has_its_words(verdict, adapted, begins):
    found = full()
    found["shift"]["verdict"] = verdict
    found["model"]["adapted"] = adapted
    first = verdict_of(Record.from_dict(found))
    assert first.title.startswith(begins)
    assert first.steps
    alone = verdict_of(Record.from_dict({"shift": found["shift"]}))
    assert "model" not in alone.title or "deploy" in alone.title
    assert alone.steps
