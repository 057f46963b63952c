"""The changelog has every fragment, by kind; the version stands in one place."""

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def project():
    spec = importlib.util.spec_from_file_location("dev_of_the_project", ROOT / "dev.py")
    dev = importlib.util.module_from_spec(spec)
    # A record looks its own module up there.
    sys.modules[spec.name] = dev
    spec.loader.exec_module(dev)
    return dev


def told():
    return project().changes_told()


def plain(text):
    return " ".join(text.split())


def test_every_fragment_is_in_the_changelog():
    whole = plain(told())
    fragments = list((ROOT / "changes").glob("*.*.md"))
    assert fragments
    for path in fragments:
        first = plain(path.read_text(encoding="utf-8")).removeprefix("- ")[:60]
        assert first in whole, path.name


def test_the_changelog_names_the_version_of_the_package():
    import counterpoise

    assert f"## {counterpoise.__version__}\n" in told()
    assert f"## {counterpoise.__version__}\n" in (ROOT / "CHANGELOG.md").read_text()


def test_the_citation_names_the_version_of_the_package():
    import counterpoise

    cited = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {counterpoise.__version__}\n" in cited


def test_what_was_said_of_earlier_versions_stays():
    dev = project()
    now = f"## {dev.version_told()}\n\n### Added\n\n- New.\n"
    then = "## 0.0.9\n\n### Fixed\n\n- Old.\n"
    assert dev.earlier_told(f"# Changes\n\n{now}\n{then}") == f"\n{then}"
    assert dev.earlier_told(f"# Changes\n\n{now}") == ""
    assert dev.earlier_told("") == ""
