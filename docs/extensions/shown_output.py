"""Directives that run a command or a script for the site, and show what it says.

    ```{shown-output} counterpoise diagnose --source trial.csv --target clinic.csv
    ```

    ```{shown-code}
    print("a script")
    ```

Both run in one folder that holds the demo's tables; `:exit:` is the code that is
right, 0 unless said. What is on the page is what the reader will see.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives

from counterpoise.cli.tools import write_tables


class ShownOutput(Directive):
    """Show a command and what it prints."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = {"exit": directives.nonnegative_int}
    # One folder for all pages of a build.
    folder: tempfile.TemporaryDirectory | None = None
    kept: ClassVar[dict[str, str]] = {}

    def run(self):
        """Return the command and its output as one block."""
        line = " ".join(self.arguments[0].split())
        said = self._said(line).splitlines()
        # An option stays beside its value.
        joined = re.sub(r"(--[\w-]+) (?!-)", "\\1\0", f"$ {line}")
        asked = textwrap.wrap(joined, 84, subsequent_indent="    ")
        asked = [part.replace("\0", " ") for part in asked]
        text = "\n".join([" \\\n".join(asked), *said])
        return [nodes.literal_block(text, text, language="text", classes=["output"])]

    def _said(self, line: str) -> str:
        if line in ShownOutput.kept:
            return ShownOutput.kept[line]
        _tables_at_hand()
        words = shlex.split(line)
        if words[0] == "counterpoise":
            words[:1] = [sys.executable, "-m", "counterpoise.cli.main"]
        return self._answered(line, words)

    def _answered(self, line: str, words: list[str]) -> str:
        done = subprocess.run(
            words,
            cwd=ShownOutput.folder.name,
            capture_output=True,
            text=True,
            env=_quiet_environment(),
            check=False,
        )
        if done.returncode != self.options.get("exit", 0):
            raise self.error(f"{line} ended with {done.returncode}: {done.stderr}")
        ShownOutput.kept[line] = done.stdout or done.stderr
        return ShownOutput.kept[line]


class ShownCode(ShownOutput):
    """Show a script, and what it prints below."""

    required_arguments = 0
    optional_arguments = 0
    has_content = True

    def run(self):
        """Return the script and its output as two blocks."""
        code = "\n".join(self.content)
        _tables_at_hand()
        said = self.kept.get(code) or self._answered(code, [sys.executable, "-c", code])
        shown = nodes.literal_block(code, code, language="python")
        output = nodes.literal_block(said, said, language="text", classes=["output"])
        return [shown, output]


def _tables_at_hand() -> None:
    if ShownOutput.folder is None:
        ShownOutput.folder = tempfile.TemporaryDirectory()
        write_tables(Path(ShownOutput.folder.name), allow_no_overlap=True)


def _quiet_environment() -> dict[str, str]:
    return {**os.environ, "COLUMNS": "88", "NO_COLOR": "1", "TERM": "dumb"}


def setup(app):
    """Offer the directives; a build reads pages one after another for them."""
    app.add_directive("shown-output", ShownOutput)
    app.add_directive("shown-code", ShownCode)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
