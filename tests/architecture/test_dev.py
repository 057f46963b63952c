"""`dev.py`: paths of the fast tests, oldest versions, and reuse of environments."""

import importlib.util
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def dev():
    """Return `dev.py` as a module."""
    spec = importlib.util.spec_from_file_location("dev", ROOT / "dev.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def project():
    """Return the table `project` of pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]


@pytest.fixture
def installing(dev, tmp_path, monkeypatch):
    """Return `dev.py` with an environment in a folder, and the calls of pip."""
    home, calls = tmp_path / "venv", []

    def run(command, **settings):
        if "install" in command:
            calls.append((command[-1], settings["env"].get("PIP_CONSTRAINT")))
        return dev.subprocess.CompletedProcess(command, 0)

    def make_environment(home):
        calls.append("made")
        python = Path(dev.program(home, "python"))
        python.parent.mkdir(parents=True, exist_ok=True)
        python.touch()

    monkeypatch.setattr(dev.subprocess, "run", run)
    monkeypatch.setattr(dev, "make_environment", make_environment)
    return dev, home, calls


def test_every_fast_test_exists(dev):
    paths = (ROOT / dev.QUICK.removeprefix("@")).read_text().splitlines()
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_package_has_one_floor(dev, project):
    asked = set(project["dependencies"]).union(
        *project["optional-dependencies"].values()
    )
    packages = {one for one in asked if not one.startswith("counterpoise[")}
    pairs = [one.split("==") for one in dev.floors()]
    assert [one for one in pairs if len(one) != 2] == []
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names)
    assert {f"{name}>={version}" for name, version in pairs} == packages


def test_extras_refer_to_extras_that_exist(project):
    extras = project["optional-dependencies"]
    named = {
        name
        for one in set().union(*extras.values())
        if one.startswith("counterpoise[")
        for name in one.removeprefix("counterpoise[").rstrip("]").split(",")
    }
    assert named
    assert named <= set(extras)


def test_every_package_of_the_extras_is_pinned(project):
    pins = (ROOT / "constraints.txt").read_text().lower().replace("_", "-").split()
    pinned = {line.partition("==")[0] for line in pins}
    asked = set().union(*project["optional-dependencies"].values())
    names = {one.partition(">=")[0].lower() for one in asked if "[" not in one}
    assert names - pinned == set()


def test_the_oldest_versions_have_an_environment_of_their_own(dev):
    assert dev.OLDEST != dev.NEWEST
    ignored = (ROOT / ".gitignore").read_text().split()
    for home in (dev.OLDEST, dev.NEWEST):
        assert f"{home.name}/" in ignored


def test_an_environment_is_kept_until_what_it_depends_on_changes(
    installing, monkeypatch
):
    dev, home, calls = installing
    pins = dev.CONSTRAINTS.as_uri()
    dev.install("test", home)
    assert calls == ["made", (".[test]", pins)]
    dev.install("test", home)
    assert len(calls) == 2
    # Another extra extends the environment.
    dev.install("docs", home)
    assert calls[2:] == [(".[docs]", pins)]
    dev.install("test", home)
    assert len(calls) == 3
    monkeypatch.setattr(dev.sys, "version", "another interpreter")
    dev.install("test", home)
    assert calls[3:] == ["made", (".[test]", pins)]


def test_an_environment_without_interpreter_is_made_again(installing):
    dev, home, calls = installing
    dev.install("test", home)
    Path(dev.program(home, "python")).unlink()
    dev.install("test", home)
    assert calls.count("made") == 2


def test_the_newest_versions_are_installed_without_pins(installing):
    dev, home, calls = installing
    dev.install("dev", home, constrained=False)
    dev.install("dev", home, constrained=False)
    assert calls == ["made", (".[dev]", None)] * 2


@pytest.mark.parametrize(
    ("words", "code"), [([], 1), (["--help"], 0), (["unknown"], 1)]
)
def test_help_is_printed_without_a_command(dev, monkeypatch, capsys, words, code):
    monkeypatch.setattr(dev.sys, "argv", ["dev.py", *words])
    assert dev.main() == code
    out = capsys.readouterr().out
    for name in (*dev.PROGRAMS, "test", "changelog", "lock"):
        assert f"dev.py {name}" in out


def test_all_checks_end_with_a_summary(dev, monkeypatch, capsys):
    ran = []

    def run(home, *command, capture=False):
        ran.append(" ".join(command))
        return int(command[0] == "mypy"), "output\n" if capture else "", 1.0

    monkeypatch.setattr(dev, "install", lambda *_: None)
    monkeypatch.setattr(dev, "run", run)
    assert dev.test([]) == 1
    assert set(dev.CHECKS.values()) < set(ran)
    summary = capsys.readouterr().out.partition("summary:")[2]
    assert [line.split()[1::3] for line in summary.strip().splitlines()] == [
        ["tests", "ok"],
        ["lint", "ok"],
        ["format", "ok"],
        ["types", "FAILED"],
        ["imports", "ok"],
    ]
