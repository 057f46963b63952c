"""The README as a package index shows it: nothing in it is relative to a repository.

An index has no files beside the description. With `address` (where files of the sources
can be seen, in `[tool.hatch.metadata.hooks.custom]`) relative links and pictures lead
there; without it pictures become their words with the name of the file, and links text.
"""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)\s]+)\)")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")


def of_an_index(text: str, address: str = "") -> str:
    """Return the README without what is relative."""
    if address:
        there = address.rstrip("/")
        text = PICTURE.sub(rf"![\1]({there}/\2)", text)
        return LINK.sub(rf"[\1]({there}/\2)", text)
    text = PICTURE.sub(r"*\1: `\2` of the source distribution.*", text)
    return LINK.sub(r"\1", text)


class ReadmeOfAnIndex(MetadataHookInterface):
    """Gives the package its description."""

    def update(self, metadata: dict) -> None:
        """Put the README into the metadata."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        told = of_an_index(text, self.config.get("address", ""))
        metadata["readme"] = {"content-type": "text/markdown", "text": told}
