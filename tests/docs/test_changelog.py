"""The changelog has every fragment, by kind; the version stands in one place."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def changelog():
    path = ROOT / "changes" / "make_changelog.py"
    spec = importlib.util.spec_from_file_location("make_changelog", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plain(text):
    return " ".join(text.split())


def test_every_fragment_is_in_the_changelog():
    whole = plain(changelog().format_changes())
    fragments = list((ROOT / "changes").glob("*.*.md"))
    assert fragments
    for path in fragments:
        first = plain(path.read_text(encoding="utf-8")).removeprefix("- ")[:60]
        assert first in whole, path.name


def test_the_changelog_names_the_version_of_the_package():
    import counterpoise

    assert f"## {counterpoise.__version__}\n" in changelog().format_changes()
    assert f"## {counterpoise.__version__}\n" in (ROOT / "CHANGELOG.md").read_text()


def test_the_citation_names_the_version_of_the_package():
    import counterpoise

    cited = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {counterpoise.__version__}\n" in cited


def test_what_was_said_of_earlier_versions_stays():
    module = changelog()
    now = f"## {module.read_version()}\n\n### Added\n\n- New.\n"
    then = "## 0.0.9\n\n### Fixed\n\n- Old.\n"
    assert module.earlier_versions(f"# Changes\n\n{now}\n{then}") == f"\n{then}"
    assert module.earlier_versions(f"# Changes\n\n{now}") == ""
    assert module.earlier_versions("") == ""
