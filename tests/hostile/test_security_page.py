"""The page of promises names tests that are there, and commands that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def test_every_promise_names_tests_that_are_there():
    rows = [line for line in PAGE.splitlines() if line.startswith("|")][2:]
    assert len(rows) >= 8
    for row in rows:
        named = re.findall(r"`(tests/[^`]*)`", row.split("|")[-2])
        assert named, row
        for path in named:
            assert "def test_" in (ROOT / path).read_text(encoding="utf-8"), path


def test_every_file_of_hostile_tests_stands_behind_a_promise():
    # This one speaks of the page, and threads are no matter of trust.
    others = {"test_security_page.py", "test_threads.py"}
    there = {path.name for path in (ROOT / "tests" / "hostile").glob("test_*.py")}
    named = set(re.findall(r"tests/hostile/(\w+\.py)", PAGE))
    assert there - others == named
