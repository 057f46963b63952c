"""Write CHANGELOG.md from the files in changes/: `python3 dev.py changelog`.

Sections about earlier versions are kept. CITATION.cff gets the version of the package.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# In the order of the changelog.
KINDS = ("added", "changed", "fixed", "removed")


def read_version() -> str:
    """Return the version, which only the package states."""
    text = (ROOT / "src/counterpoise/__init__.py").read_text(encoding="utf-8")
    return re.findall(r'__version__ = "(.+)"', text)[0]


def format_changes() -> str:
    """Return the section of this version: the files of changes/, sorted by kind."""
    lines = ["# Changes", "", f"## {read_version()}"]
    for kind in KINDS:
        paths = sorted((ROOT / "changes").glob(f"*.{kind}.md"))
        if paths:
            lines += ["", f"### {kind.capitalize()}", ""]
        for path in paths:
            paragraphs = path.read_text(encoding="utf-8").split("\n\n")
            for paragraph in filter(str.strip, paragraphs):
                words = " ".join(paragraph.removeprefix("- ").split())
                lines += textwrap.wrap(
                    f"- {words}", 90, subsequent_indent="  ", break_on_hyphens=False
                )
    return "\n".join(lines) + "\n"


def earlier_versions(text: str) -> str:
    """Return the sections of a changelog about other versions, unchanged."""
    sections = re.split(r"(?m)^(?=## )", text)[1:]
    current = f"## {read_version()}\n"
    return "".join(f"\n{s.rstrip()}\n" for s in sections if not s.startswith(current))


def main() -> None:
    """Write CHANGELOG.md and the version in CITATION.cff."""
    path, citation = ROOT / "CHANGELOG.md", ROOT / "CITATION.cff"
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(format_changes() + earlier_versions(before), encoding="utf-8")
    text, version = citation.read_text(encoding="utf-8"), f"version: {read_version()}"
    citation.write_text(re.sub(r"(?m)^version: .*$", version, text), encoding="utf-8")


if __name__ == "__main__":
    main()
