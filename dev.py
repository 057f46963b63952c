"""Set up, demonstrate and test counterpoise with nothing but Python and pip.

    python3 dev.py demo [arguments]   install, run the main job on bundled data
    python3 dev.py test [arguments]   install, run every check (arguments: pytest alone)
    python3 dev.py test --quick       install, run laws and decisions: the inner loop
    python3 dev.py test --oldest [arguments]   the quick ones, or pytest's, with the
                                      oldest versions that pyproject.toml allows
    python3 dev.py fuzz [--minutes 10] [--seed 0]   install, run hostile cases by chance
    python3 dev.py docs [arguments]   install, build the site in docs/_build/html
    python3 dev.py changelog          write CHANGELOG.md from the fragments in changes/
    python3 dev.py lock               install the newest versions, write constraints.txt

Tests run in as many processes as there are processors, four at most. `docs` hands its
arguments to sphinx-build; a warning fails it.

The environment is `.venv` beside this file (`.venv-oldest` for `--oldest`). It is made
again only when `pyproject.toml`, `constraints.txt` or the interpreter has changed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent
CONSTRAINTS = ROOT / "constraints.txt"
OLDEST_PYTHON = (3, 11)
# What a fragment of `changes/` may be, in the order of the changelog.
KINDS_OF_CHANGE = ("added", "changed", "fixed", "removed")
# Processes that run tests side by side, at most.
MOST_PROCESSES = 4
# Laws and decisions that take seconds: no browser, no examples, no other solvers.
QUICK = (
    "architecture/test_names.py",
    "cli/test_fail_if.py",
    "cli/test_findings.py",
    "cli/test_writing.py",
    "data/test_columns.py",
    "data/test_duplicates.py",
    "data/test_encoding.py",
    "data/test_exceptions.py",
    "data/test_parameters.py",
    "data/test_parts.py",
    "data/test_quantiles.py",
    "data/test_refusals.py",
    "data/test_source_and_target.py",
    "data/test_tables.py",
    "data/test_vectors.py",
    "datasets",
    "decisions",
    "linalg",
    "models/test_bins.py",
    "models/test_dates.py",
    "optim/test_loop.py",
    "optim/test_parts.py",
    "optim/test_path.py",
    "optim/test_problems.py",
    "optim/test_registry.py",
    "performance/test_intervals.py",
    "performance/test_metrics.py",
    "performance/test_splits.py",
    "report/test_verdict.py",
    "shift/test_as_read.py",
    "shift/test_distances.py",
    "shift/test_effective_size.py",
    "shift/test_folds.py",
    "shift/test_median_width.py",
    "shift/test_ordering.py",
    "shift/test_scaling.py",
    "shift/test_two_samples.py",
    "testing",
    "weights/test_glossary.py",
    "weights/test_registry.py",
)


@dataclass(frozen=True)
class Environment:
    """A folder with an interpreter, and the versions that are installed into it."""

    home: Path
    constraints: Path

    @property
    def bin(self) -> Path:
        """Return where its programs are."""
        return self.home / ("Scripts" if os.name == "nt" else "bin")

    @property
    def python(self) -> Path:
        """Return its interpreter."""
        return self.bin / ("python.exe" if os.name == "nt" else "python")

    @property
    def stamp(self) -> Path:
        """Return the file that names what is installed."""
        return self.home / "installed.txt"


NEWEST = Environment(ROOT / ".venv", CONSTRAINTS)
OLDEST = Environment(ROOT / ".venv-oldest", ROOT / ".venv-oldest" / "floors.txt")


def floors() -> list[str]:
    """Return the oldest version of every package that `pyproject.toml` asks for.

    "name>=1.2" allows 1.2 at least, so its floor is "name==1.2".
    """
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    asked = {*project["dependencies"], *(one for extra in extras for one in extra)}
    return sorted(one.replace(">=", "==") for one in asked)


def say(message: str) -> None:
    """Tell what happens next, at once."""
    print(f"[dev] {message}", flush=True)


def fingerprint(extra: str) -> str:
    """Name the state that an installation depends on."""
    digest = hashlib.sha256(f"{sys.version} {ROOT} {extra}".encode())
    for path in (ROOT / "pyproject.toml", CONSTRAINTS, Path(__file__)):
        digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()


def make_environment(environment: Environment) -> None:
    """Make an empty environment, with or without the system's ensurepip."""
    home = environment.home
    if home.exists():
        shutil.rmtree(home)
    say(f"making {home.name} with Python {sys.version.split()[0]}")
    command = [sys.executable, "-m", "venv", str(home)]
    if subprocess.run(command, capture_output=True).returncode != 0:
        # Debian without python3-venv: no ensurepip, but the system's pip can install
        # into another environment.
        say("no ensurepip here: using this interpreter's pip instead")
        subprocess.run([*command, "--without-pip", "--clear"], check=True)
    if environment == OLDEST:
        environment.constraints.write_text("\n".join(floors()) + "\n")


def pip(environment: Environment) -> list[str]:
    """Return the pip that installs into an environment: its own, or the system's."""
    python = str(environment.python)
    own = [python, "-m", "pip"]
    if subprocess.run([*own, "--version"], capture_output=True).returncode == 0:
        return own
    return [sys.executable, "-m", "pip", "--python", python]


def pip_install(
    environment: Environment, *arguments: str, constrained: bool = True
) -> None:
    """Install into an environment."""
    variables = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    if constrained and environment.constraints.exists():
        # A file address, because pip splits this variable at spaces.
        variables["PIP_CONSTRAINT"] = environment.constraints.as_uri()
    command = [*pip(environment), "install", "--progress-bar", "off", "--quiet"]
    if subprocess.run([*command, *arguments], cwd=ROOT, env=variables).returncode != 0:
        raise SystemExit(
            "[dev] pip failed (see above). Nothing else was done; "
            "run the same command again once its cause is mended."
        )


def install(
    extra: str = "", constrained: bool = True, environment: Environment = NEWEST
) -> None:
    """Install counterpoise with an extra, unless exactly that is installed."""
    state, stamp = fingerprint(extra), environment.stamp
    complete = stamp.exists() and environment.python.exists()
    installed = stamp.read_text().split() if complete else []
    if constrained and state in installed:
        return
    started = time.perf_counter()
    # The tests' environment serves the demo too: keep it while its base is the same.
    if fingerprint("") not in installed or not constrained:
        make_environment(environment)
        installed = []
    target = f".[{extra}]" if extra else "."
    say(f"installing {target} (some minutes, the first time)")
    pip_install(environment, "--editable", target, constrained=constrained)
    if constrained:
        stamp.write_text("\n".join({*installed, state, fingerprint("")}) + "\n")
    say(f"installed in {time.perf_counter() - started:.0f} s")


def one_thread() -> dict[str, str]:
    """Return the environment with one thread for linear algebra.

    The tests' matrices are small: threads would only wait for one another.
    """
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return {**dict.fromkeys(names, "1"), **os.environ}


def side_by_side() -> list[str]:
    """Return what makes pytest use the processors; a test waits for no other's file."""
    count = min(os.cpu_count() or 1, MOST_PROCESSES)
    return ["-n", str(count), "--dist", "worksteal"] if count > 1 else []


def test(arguments: list[str]) -> int:
    """Run every check, the quick ones, or pytest alone with the given arguments."""
    quick = [*side_by_side(), *(ROOT / "tests" / path for path in QUICK)]
    if arguments and arguments[0] == "--oldest":
        return with_oldest(arguments[1:] or quick)
    install("test")
    pytest = [NEWEST.python, "-m", "pytest"]
    if arguments and arguments[0] == "--quick":
        command = [*pytest, *quick, *arguments[1:]]
        return subprocess.run(command, cwd=ROOT, env=one_thread()).returncode
    if arguments:
        command = [*pytest, *arguments]
        return subprocess.run(command, cwd=ROOT, env=one_thread()).returncode
    beside: dict[str, list[object]] = {
        "lint": [NEWEST.bin / "ruff", "check", "."],
        "format": [NEWEST.bin / "ruff", "format", "--check", "."],
        "types": [NEWEST.bin / "mypy"],
        "imports": [NEWEST.bin / "lint-imports"],
    }
    command = [*pytest, *side_by_side(), "--durations=5"]
    report = []
    with ThreadPoolExecutor(1) as others:
        # One after another, beside the tests; what they say comes when those are done.
        said = [others.submit(checked, name, words) for name, words in beside.items()]
        say(f"tests: {spelled(command)} (beside: {', '.join(beside)})")
        started = time.perf_counter()
        code = subprocess.run(list(map(str, command)), cwd=ROOT, env=one_thread())
        report.append(("tests", code.returncode, time.perf_counter() - started))
        for one in said:
            name, done, seconds = one.result()
            say(f"{name}: {spelled(beside[name])}")
            print(done.stdout + done.stderr, end="", flush=True)
            report.append((name, done.returncode, seconds))
    say("time by part:")
    for part, status, seconds in report:
        say(f"  {part:<8} {seconds:7.1f} s  {'ok' if status == 0 else 'FAILED'}")
    return int(any(status for _, status, _ in report))


def with_oldest(arguments: list[object]) -> int:
    """Run pytest where every package is as old as `pyproject.toml` allows."""
    install("test", environment=OLDEST)
    # What an old package still calls in a new one of a third is no fault of ours.
    calm = ["-W", "default::DeprecationWarning"]
    command = [OLDEST.python, "-m", "pytest", *calm, *arguments]
    words = list(map(str, command))
    return subprocess.run(words, cwd=ROOT, env=one_thread()).returncode


def checked(
    name: str, command: list[object]
) -> tuple[str, subprocess.CompletedProcess[str], float]:
    """Run a check and keep what it says."""
    started = time.perf_counter()
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=ROOT, env=one_thread(), capture_output=True, text=True
    )
    return name, done, time.perf_counter() - started


def spelled(command: list[object]) -> str:
    """Return a command as it is told: files by their names."""
    return " ".join(Path(str(word)).name for word in command)


def fuzz(arguments: list[str]) -> int:
    """Run hostile cases made by chance, and keep those that fail in `out/fuzz/`."""
    install("test")
    command = [NEWEST.python, ROOT / "tests" / "hostile" / "fuzz.py", *arguments]
    words = list(map(str, command))
    return subprocess.run(words, cwd=ROOT, env=one_thread()).returncode


def demo(arguments: list[str]) -> int:
    """Run the main job on bundled data."""
    install("cli,report")
    say("running the demo")
    command = [NEWEST.python, "-m", "counterpoise.cli.main", "demo", *arguments]
    return subprocess.run(command, cwd=ROOT).returncode


def docs(arguments: list[str]) -> int:
    """Build the site, with every example run."""
    install("docs")
    pages = ROOT / "docs" / "_build" / "html"
    command = [NEWEST.python, "-m", "sphinx", "-W", "--keep-going", "-b", "html"]
    words = [*map(str, command), *arguments, str(ROOT / "docs"), str(pages)]
    code = subprocess.run(words, cwd=ROOT, env=one_thread()).returncode
    if code == 0:
        say(f"open {pages / 'index.html'}")
    return code


def changelog(arguments: list[str]) -> int:
    """Write CHANGELOG.md anew from the fragments, and the version into CITATION.cff."""
    path = ROOT / "CHANGELOG.md"
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(changes_told() + earlier_told(before), encoding="utf-8")
    cited = ROOT / "CITATION.cff"
    told = cited.read_text(encoding="utf-8")
    told = re.sub(r"(?m)^version: .*$", f"version: {version_told()}", told)
    cited.write_text(told, encoding="utf-8")
    say(f"{path.name} written")
    return 0


def version_told() -> str:
    """Return the version, which stands in the package alone."""
    package = ROOT / "src" / "counterpoise" / "__init__.py"
    found = re.search(r'__version__ = "(.+)"', package.read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


def changes_told() -> str:
    """Return the changelog: the fragments of `changes/` by kind, then by topic."""
    lines = ["# Changes", "", f"## {version_told()}"]
    for kind in KINDS_OF_CHANGE:
        fragments = sorted((ROOT / "changes").glob(f"*.{kind}.md"))
        if fragments:
            lines += ["", f"### {kind.capitalize()}", ""]
        for fragment in fragments:
            told = fragment.read_text(encoding="utf-8").split("\n\n")
            for paragraph in filter(str.strip, told):
                words = " ".join(paragraph.removeprefix("- ").split())
                lines += textwrap.wrap(
                    f"- {words}", 90, subsequent_indent="  ", break_on_hyphens=False
                )
    return "\n".join(lines) + "\n"


def earlier_told(before: str) -> str:
    """Return what a changelog says of versions other than this one, as it is."""
    sections = re.split(r"(?m)^(?=## )", before)[1:]
    others = [
        one.rstrip() + "\n"
        for one in sections
        if one.partition("\n")[0] != f"## {version_told()}"
    ]
    return "".join(f"\n{one}" for one in others)


def lock(arguments: list[str]) -> int:
    """Write down the versions that the newest installation brings."""
    install("test", constrained=False)
    command = [*pip(NEWEST), "freeze", "--exclude-editable"]
    frozen = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = [line for line in frozen.splitlines() if "==" in line]
    CONSTRAINTS.write_text("\n".join(lines) + "\n")
    say(f"{len(lines)} versions in {CONSTRAINTS.name}")
    return 0


def main() -> int:
    """Do what the first argument says."""
    commands = {
        "demo": demo,
        "test": test,
        "fuzz": fuzz,
        "docs": docs,
        "changelog": changelog,
        "lock": lock,
    }
    if sys.version_info < OLDEST_PYTHON:
        say(f"Python {'.'.join(map(str, OLDEST_PYTHON))} or later is needed")
        return 1
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        print(__doc__)
        return 1
    return commands[sys.argv[1]](sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
