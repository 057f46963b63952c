"""What a browser makes of the built site: `pytest -m slow tests/docs`."""

import re
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urlsplit

import pytest

pytestmark = pytest.mark.slow

# One page of each kind: the first, prose, wide tables, generated tables, a long and a
# short name, every name, the gallery, an example, results, a method, another library.
KINDS = (
    "index.html",
    "start.html",
    "which_method.html",
    "messages.html",
    "command_line.html",
    "coming_from/adapt.html",
    "reference/index.html",
    "reference/counterpoise.DiscrepancyWeights.html",
    "reference/counterpoise.KLIEP.html",
    "gallery/index.html",
    "gallery/adapting/plot_adapt_a_model.html",
    "results.html",
    "methods/kliep.html",
)


class Links(HTMLParser):
    """What a page leads to, and what can be led to in it."""

    def __init__(self):
        super().__init__()
        self.found, self.anchors = [], set()

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        for name in ("href", "src"):
            if given.get(name):
                self.found.append(given[name])
        for name in ("id", "name"):
            if given.get(name):
                self.anchors.add(given[name])


def pages_of(site):
    """Return the pages that people see, not what the theme keeps for itself."""
    return [path for path in site.rglob("*.html") if "_static" not in path.parts]


def read(path):
    links = Links()
    links.feed(path.read_text(encoding="utf-8"))
    return links


def test_every_internal_link_leads_somewhere(site):
    pages = {path.resolve(): read(path) for path in pages_of(site)}
    broken = []
    for path, links in pages.items():
        for link in links.found:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link in ("#", ""):
                continue
            address, anchor = urldefrag(link)
            address = unquote(urlsplit(address).path)
            target = (path.parent / address).resolve() if address else path
            if not target.exists() or (
                anchor and target in pages and anchor not in pages[target].anchors
            ):
                broken.append((path.name, link))
    assert broken == []


# Where somebody can be sent: no path of a machine, no address without a name.
SOUND = re.compile(
    r"(https://([a-z0-9-]+\.)+[a-z]{2,}(:\d+)?(/[\w./~%+,:;=@()-]*)?"
    r"(\?[\w.~%+,:;=@&-]*)?(#[\w./~%+,:;=@!-]*)?|mailto:[^@\s]+@[^@\s]+)"
)


def is_sound(address):
    return SOUND.fullmatch(address) is not None


@pytest.mark.parametrize(
    ("address", "sound"),
    [
        ("https://scikit-learn.org/stable/modules/svm.html#svm-classification", True),
        ("https://doi.org/10.1007/s10463-008-0197-x", True),
        ("mailto:somebody@example.org", True),
        ("http://example.org", False),
        ("https://example", False),
        ("https://exam ple.org", False),
        ("https://example.org/a b", False),
        ("file:///tmp/page.html", False),
        ("https://https://example.org", False),
    ],
)
def test_what_a_sound_address_is(address, sound):
    assert is_sound(address) is sound


def test_every_external_link_is_sound(site):
    """They cannot be fetched here: `-s` lists them, for somebody who can."""
    found = {}
    for path in pages_of(site):
        for link in read(path).found:
            if urlsplit(link).scheme not in ("", "data", "javascript"):
                found.setdefault(link, set()).add(path.name)
    for link, pages in sorted(found.items()):
        print(link, "on", ", ".join(sorted(pages)[:3]))  # noqa: T201
    assert [link for link in found if not is_sound(link)] == []


def test_no_formula_kept_its_spelling(site):
    kept = {
        (path.name, text)
        for path in pages_of(site)
        for text in re.findall(
            r"<m[ion][^>]*>([^<]*[\\&][^<#]*)</m[ion]>",
            path.read_text(encoding="utf-8"),
        )
        if not text.startswith(("&#", "&lt", "&gt"))
    }
    assert kept == set()


def test_nothing_on_a_page_is_loaded_from_elsewhere(site):
    class Loaded(Links):
        def handle_starttag(self, tag, attributes):
            if tag in ("script", "img", "link", "iframe", "source"):
                super().handle_starttag(tag, attributes)

    foreign = []
    for path in pages_of(site):
        links = Loaded()
        links.feed(path.read_text(encoding="utf-8"))
        foreign += [(path.name, one) for one in links.found if urlsplit(one).netloc]
    assert foreign == []


@pytest.mark.parametrize("page", KINDS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_is_whole_quiet_and_readable_by_all(site, window, page, scheme):
    seen = window.look(
        site / page, within=site.resolve().as_uri(), audit=True, scheme=scheme
    )
    assert seen["requests"] == []
    assert seen["faults"] == []
    assert seen["violations"] == []


@pytest.mark.parametrize("page", KINDS)
def test_a_page_fits_on_a_telephone(site, window, page):
    seen = window.look(site / page, within=site.resolve().as_uri(), width=360)
    assert seen["scrollWidth"] <= seen["clientWidth"]


def test_the_search_finds_a_method_without_a_network(site, window):
    seen = window.look(
        site / "search.html",
        query="?q=KLIEP",
        within=site.resolve().as_uri(),
        wait="#search-results li a",
    )
    assert seen["requests"] == []
    assert seen["faults"] == []
    assert any("counterpoise.KLIEP.html" in (link or "") for link in seen["links"])


def test_every_example_can_be_had_as_a_notebook(site):
    names = {path.stem for path in (site / "_downloads").rglob("*.ipynb")}
    pages = {path.stem for path in (site / "gallery").rglob("plot_*.html")}
    assert pages
    assert pages <= names
