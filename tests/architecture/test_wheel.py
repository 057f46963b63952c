"""A wheel in a clean environment runs the demo: `pytest -m slow tests/architecture`."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


def run(*words, **how):
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, **how
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A wheel and a source distribution, built as pip does."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "venv", folder / "builder")
    python = folder / "builder" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "build")
    run(python, "-m", "build", "--outdir", folder / "out", ROOT, cwd=folder)
    (wheel,) = (folder / "out").glob("*.whl")
    (source,) = (folder / "out").glob("*.tar.gz")
    return wheel, source


def test_the_wheel_has_the_package_alone(built):
    names = zipfile.ZipFile(built[0]).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"counterpoise"}
    assert "counterpoise/py.typed" in names
    assert any(name.endswith(".html") for name in names)


def test_the_description_has_nothing_that_an_index_could_not_show(built):
    packed = zipfile.ZipFile(built[0])
    (name,) = [one for one in packed.namelist() if one.endswith("/METADATA")]
    told = packed.read(name).decode("utf-8")
    assert "Description-Content-Type: text/markdown" in told
    assert "# counterpoise" in told
    assert re.findall(r"\]\((?!https?:)[^)]*\)", told.partition("\n\n")[2]) == []
    with tarfile.open(built[1]) as source:
        inside = {name.partition("/")[2] for name in source.getnames()}
    named = set(re.findall(r"`([^`]+)` of the source distribution", told))
    assert named
    assert named <= inside


def test_the_source_distribution_builds_the_same_package(built):
    with tarfile.open(built[1]) as packed:
        names = packed.getnames()
    inside = {name.partition("/")[2] for name in names}
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"} <= inside
    assert not any(name.startswith(("out/", ".venv/")) for name in inside)


def test_the_wheel_installed_alone_runs_the_demo(built, tmp_path):
    run(sys.executable, "-m", "venv", tmp_path / "clean")
    python = tmp_path / "clean" / "bin" / "python"
    settings = {**os.environ, "PIP_CONSTRAINT": (ROOT / "constraints.txt").as_uri()}
    settings.pop("PYTHONPATH", None)
    wheel = f"{built[0]}[cli,report]"
    run(python, "-m", "pip", "install", "--quiet", wheel, env=settings)
    demo = [python, "-m", "counterpoise", "demo", "--out", tmp_path / "out"]
    said = run(*demo, cwd=tmp_path, env=settings)
    assert "The truth" in said
    assert (tmp_path / "out" / "report.html").exists()
