"""Project files: they parse, and what they call exists."""

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from counterpoise.cli import main as command_line

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
YAML = [
    *sorted(ROOT.glob("*.y*ml")),
    *sorted(ROOT.glob(".*.y*ml")),
    *sorted(ROOT.glob("*.cff")),
    *sorted((ROOT / ".github").rglob("*.y*ml")),
]
TOML = [*sorted(ROOT.glob("*.toml")), *sorted((ROOT / "tests").rglob("*.toml"))]


def relative(path):
    return path.relative_to(ROOT).as_posix()


def read_yaml(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps_of(path):
    """Return the steps of all jobs of a workflow, or of a composite action."""
    content = read_yaml(path)
    if "runs" in content:
        return content["runs"]["steps"]
    return [step for job in content["jobs"].values() for step in job["steps"]]


@pytest.fixture(scope="module")
def action():
    return read_yaml(ROOT / "action.yml")


@pytest.fixture(scope="module")
def run_step(action):
    """Return the step of the action that calls the command line."""
    (step,) = [one for one in action["runs"]["steps"] if one.get("id") == "run"]
    return step


def test_every_yaml_and_toml_file_parses():
    for path in YAML:
        assert isinstance(read_yaml(path), dict), path
    for path in TOML:
        assert tomllib.loads(path.read_text(encoding="utf-8")), path


def test_the_files_that_contributors_expect_are_checked():
    names = {relative(path) for path in YAML}
    assert {
        ".github/ISSUE_TEMPLATE/bug.yml",
        ".github/workflows/release.yml",
        ".pre-commit-config.yaml",
        "CITATION.cff",
        "action.yml",
    } <= names


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / "action.yml"], ids=relative)
def test_actions_are_pinned_by_their_major_version(path):
    used = [step["uses"] for step in steps_of(path) if "uses" in step]
    assert used
    assert [one for one in used if not re.search(r"@(v|release/v)\d+$", one)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=relative)
def test_workflows_call_commands_of_dev(path):
    spec = importlib.util.spec_from_file_location("dev", ROOT / "dev.py")
    dev = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(dev)
    text = path.read_text(encoding="utf-8")
    for name in re.findall(r"dev\.py (\w+)", text):
        assert f"dev.py {name} " in dev.__doc__


def test_every_python_that_is_tested_is_a_classifier():
    tests = read_yaml(ROOT / ".github" / "workflows" / "tests.yml")
    tested = tests["jobs"]["tests"]["strategy"]["matrix"]["python"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    prefix = "Programming Language :: Python :: "
    named = [
        one.removeprefix(prefix)
        for one in project["project"]["classifiers"]
        if re.fullmatch(rf"{prefix}3\.\d+", one)
    ]
    assert tested == named


def test_every_option_of_the_action_is_an_option_of_run(run_step):
    parser = command_line._parser()
    commands = parser._subparsers._group_actions[0].choices
    options = set(commands["run"]._option_string_actions)
    called = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", run_step["run"]))
    assert called == {"--source", "--label", "--target", "--out", "--fail-if"}
    assert called <= options


def test_every_input_of_the_action_is_described_and_used(action):
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    for name, what in action["inputs"].items():
        assert what["description"]
        assert what.get("required") or "default" in what
        assert f"${{{{ inputs.{name} }}}}" in text


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize("code", [0, 3])
def test_the_action_passes_its_inputs_as_they_are(run_step, tmp_path, code):
    program = tmp_path / "bin" / "counterpoise"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > "{tmp_path}/arguments"\nexit {code}\n'
    )
    program.chmod(0o755)
    inputs = {
        "SOURCE": "my train.csv",
        "LABEL": "$(touch bad)",
        "TARGET": "new.csv",
        "OUT": "out",
        "FAIL_IF": "ess<0.2\nauc > 0.9\n",
        "OPTIONS": "--estimator=linear\n",
    }
    assert set(run_step["env"]) == set(inputs)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    settings = {"GITHUB_OUTPUT": str(tmp_path / "outputs"), "PATH": path, **inputs}
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", run_step["run"]], env=settings, cwd=tmp_path
    )
    assert done.returncode == code
    assert (tmp_path / "outputs").read_text() == f"exit-code={code}\n"
    assert (tmp_path / "arguments").read_text().splitlines() == [
        "run",
        *("--source", "my train.csv", "--label", "$(touch bad)"),
        *("--target", "new.csv", "--out", "out"),
        *("--fail-if", "ess<0.2", "--fail-if", "auc > 0.9", "--estimator=linear"),
    ]


def test_the_container_is_built_from_files_that_exist():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    included = {line[1:] for line in lines if line.startswith("!")}
    assert {"pyproject.toml", "hatch_build.py", "README.md", "src"} <= included
    assert [name for name in sorted(included) if not (ROOT / name).exists()] == []
    text = (ROOT / "Dockerfile").read_text()
    assert 'ENTRYPOINT ["counterpoise"]' in text
    assert re.search(r"(?m)^USER (?!root)", text)
