"""The page: one file, made from the record alone, the same bytes every time."""

import builtins
import re
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report.records_at_hand import (
    HOSTILE,
    complete,
    complete_and_wide,
    complete_page,
    full,
    full_page,
    hostile_complete_page,
    hostile_page,
    wide,
)

import counterpoise.report
from counterpoise.report import Report, render
from counterpoise.report.formatting import Link
from counterpoise.report.verdict import verdict_of

SOURCES = Path(counterpoise.report.__file__).parent


@pytest.fixture
def no_pictures(monkeypatch):
    """Leave out what is in the pictures, where it does not matter."""
    for module in list(sys.modules.values()):
        if module.__name__.startswith("counterpoise.figures."):
            monkeypatch.setattr(module, "svg", lambda *_, **__: "", raising=False)


class Elements(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes = [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attributes]


def test_the_same_record_gives_the_same_bytes():
    again = render(Report.from_json(Report.from_dict(full()).to_json()))
    assert again.html == full_page().html


@pytest.mark.parametrize(
    "pair", [(full_page, hostile_page), (complete_page, hostile_complete_page)]
)
def test_names_from_data_make_no_elements(pair):
    plain, nasty = (Elements(made().html) for made in pair)
    assert "script" not in nasty.tags
    # The same page, but for more rows of tables.
    assert set(nasty.tags) == set(plain.tags)
    assert set(nasty.attributes) == set(plain.attributes)
    assert not any(name.startswith("on") for name in nasty.attributes)


@pytest.mark.parametrize("made", [hostile_page, hostile_complete_page])
def test_pictures_with_hostile_names_are_sound_xml(made):
    html = made().html
    pictures = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    assert len(pictures) >= 10
    texts = []
    for picture in pictures:
        root = ElementTree.fromstring(picture)
        texts += [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert any("$" in text for text in texts)
    assert any("{{ 7 * 7 }}" in text for text in texts)


@pytest.mark.parametrize("made", [full_page, complete_page])
def test_ids_are_not_used_twice(made):
    html = made().html
    ids = re.findall(r'\sid="([^"]*)"', html)
    assert len(ids) == len(set(ids))
    used = re.findall(r'(?:href="#|url\(#)([^")]*)', html)
    assert set(used) <= set(ids)


@pytest.mark.parametrize("made", [full_page, hostile_page, hostile_complete_page])
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
    assert unescaped == [("page.html", "<div>{{ picture|safe }}</div>")]


def test_the_page_stays_small():
    for made in (wide(50), complete_and_wide(50)):
        assert len(render(made).html.encode()) <= 1e6


def test_many_columns_are_cut_and_it_is_said():
    assert len(render(complete_and_wide(500)).html.encode()) <= 2e6
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
def test_a_missing_section_leaves_its_part_out(section, figures, no_pictures):
    found = full()
    del found[section]
    page = render(found)
    assert page.html.count("<figure") == figures
    assert page.text()


def test_an_empty_record_has_a_page():
    assert "Nothing was compared" in render({}).html


def test_sections_of_null_count_as_missing():
    found = dict.fromkeys(full())
    found["schema_version"] = 2
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
        "contradicts": p_value < 0.05,
        "n_labeled": 40,
        "finding": "",
    }
    text = render(found).text()
    assert word in text.partition("How good will it be there?")[2].splitlines()[0]


@pytest.mark.parametrize(
    ("verdict", "adapted", "begins"),
    [
        ("no shift detected", False, "Use your model as it is"),
        ("small shift", False, "Use your model as it is"),
        ("shift, full overlap", True, "Use the adapted model: it does better"),
        ("shift, full overlap", False, "Use your model as it is, but expect"),
        ("shift, partial overlap", True, "Use the adapted model with care"),
        ("no overlap", False, "Do not deploy yet"),
        ("too few rows", False, "There are too few rows"),
    ],
)
def test_every_verdict_has_its_words(verdict, adapted, begins):
    found = full()
    found["shift"]["verdict"] = verdict
    found["model"]["adapted"] = adapted
    first = verdict_of(Report.from_dict(found))
    assert first.title.startswith(begins)
    assert first.steps
    alone = verdict_of(Report.from_dict({"shift": found["shift"]}))
    assert "model" not in alone.title or "deploy" in alone.title
    assert alone.steps


def test_the_three_worst_columns_are_drawn_part_by_part():
    record = Report.from_dict(complete())
    html = complete_page().html
    figure = html.partition('id="worst-title"')[2].partition("</article>")[0]
    assert figure.count("<svg") == len(record["balance"]["worst"]) == 3
    for column in record["balance"]["worst"]:
        assert sum(part["source"] for part in column["parts"]) == pytest.approx(1.0)
        for part in column["parts"]:
            for key in ("source", "weighted", "target"):
                assert f'<data value="{part[key]!r}">' in figure
    assert "Ghosttown" not in html
    assert "all others" in figure


def test_slices_are_told_with_their_effective_rows_or_not_at_all(no_pictures):
    found = complete()
    parts = found["performance"]["slices"]["columns"][0]["parts"]
    parts[0]["estimate"], parts[0]["effective_rows"] = None, 3.25
    html = render(found).html
    figure = html.partition('id="slices-title"')[2].partition("</article>")[0]
    assert '<data value="3.25">3</data>' in figure
    assert '<td data-label="expected">too few rows</td>' in figure
    for part in parts:
        part["estimate"] = None
    found["performance"]["slices"]["columns"] = [
        found["performance"]["slices"]["columns"][0]
    ]
    assert "Everywhere there are too few training rows to tell." in render(found).html


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        (
            {"kind": "sets", "classes": 3, "mean_size": 1.25, "single": 0.75},
            ("classes in a set, on the average", "1.25", "rows with all classes"),
        ),
        (
            {
                "kind": "intervals",
                "mean_width": 12.5,
                "median_width": None,
                "labels_width": 40.0,
            },
            ("width, on the average", "12.5", "infinite intervals"),
        ),
    ],
)
def test_the_sizes_of_sets_and_intervals_are_told(sets, told, no_pictures):
    found = complete()
    found["performance"]["sets"] = {
        "level": 0.9,
        "rows": 500,
        "infinite": 0.125,
        **sets,
    }
    html = render(found).html
    table = html.partition('id="sets-title"')[2].partition("</article>")[0]
    for words in (*told, "12.5\N{NO-BREAK SPACE}%"):
        assert words in table
    found["performance"]["sets"] = None
    assert 'id="sets-title"' not in render(found).html


def test_duplicates_seed_and_types_are_on_the_data_card():
    card = complete_page().html.partition('id="samples-title"')[2]
    card = card.partition("</article>")[0]
    assert "Seed: " in card
    assert 'data-path="data.source.duplicates">7</data>' in card
    assert "5 columns used: 3 of numbers, 1 of categories, 1 of dates." in card


def test_the_last_chapter_has_command_environment_hashes_and_record():
    html = complete_page().html.partition('id="again-title"')[2]
    words = re.findall(r'<span class="word">(.*?)</span>', html)
    line = " ".join(words)
    assert line.startswith(
        "counterpoise run --source applications.parquet --label paid --target "
        "&#39;this month.parquet&#39; --out again --seed 0 pip install numpy=="
    )
    # No index has it yet.
    assert "counterpoise==" not in line
    assert "0123456789abcdef" * 4 in words
    assert '<a href="./report.json">' in html
    assert "Python 3." in html


def test_without_a_file_beside_it_a_page_links_to_itself_alone():
    for made in (full_page, hostile_page):
        links = re.findall(r'href="([^"]*)"', made().html)
        assert links
        assert all(link.startswith("#") for link in links)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_link_is_relative_whatever_the_file_is_called(name):
    address = Link(name).address
    assert address.startswith("./")
    assert not set(address[2:]) & set(":/\\\"'<>& \n")


def test_the_seed_zero_is_said(no_pictures):
    found = full()
    assert found["reproduce"]["options"]["seed"] == 0
    again = render(found).html.partition('id="again-title"')[2]
    assert re.search(r">seed</th><td[^>]*><bdi class=\"name\">0</bdi>", again)


def test_the_first_screen_says_which_data_label_and_model():
    found = complete()
    found["reproduce"]["options"] = {"label": "paid <i>", "date": "2026-01-31"}
    first = render(found).html.partition('class="which">')[2].partition("</p>")[0]
    told = re.sub("<[^>]*>", "", first)
    for part in (
        found["data"]["source"]["file"],
        found["data"]["target"]["file"],
        "label paid &lt;i&gt;",
        f"model {found['model']['type']}",
        "2026-01-31",
    ):
        assert part in told
    del found["reproduce"]["options"]["date"]
    assert "2026" not in render(found).html.partition('class="which">')[2][:600]


def test_differences_of_shares_are_points_and_units_stand_in_the_head():
    found = complete()
    found["shift"]["features"][0] |= {"source_missing": 0.1, "target_missing": 0.25}
    table = render(found).html.partition('id="features-title"')[2]
    table = table.partition("</article>")[0]
    assert '<th scope="col">missing (points)</th>' in table
    assert ">+15</td>" in table
    assert '<th scope="col">effect (SD)</th>' in table


def test_candidates_are_called_by_words_and_those_not_tried_have_no_bar():
    found = complete()
    found["weights"]["candidates"] = [
        {
            "candidate": name,
            "score": score,
            "standard_error": 0.1,
            "admissible": score is not None,
            "chosen": name == "boosted",
        }
        for name, score in (("boosted", 0.2), ("kernel 0.18 median", None))
    ]
    html = render(found).html
    picture = html.partition('id="validation-title"')[2].partition("</figure>")[0]
    assert "boosted trees" in picture
    assert "kernels, width 0.18" not in picture
    assert "nats" not in html
    assert ">not tried</td>" in html


def test_an_unmoved_spectrum_is_not_left_without_a_word():
    found = complete()
    found["shift"]["spectrum"]["after"] = found["shift"]["spectrum"]["before"]
    for removable, said in ((0.049, True), (0.05, False)):
        found["shift"]["spectrum"]["removable"] = removable
        assert ("do next to nothing" in render(found).html) is said
