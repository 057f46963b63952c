"""Set up, test and demonstrate counterpoise with nothing but Python and pip.

    python3 dev.py demo [ARGS]           run the main job on bundled data
    python3 dev.py test                  run pytest, ruff, mypy and lint-imports
    python3 dev.py test ARGS             run pytest alone, with these arguments
    python3 dev.py test --quick [ARGS]   run the fast tests that tests/quick.txt lists
    python3 dev.py test --oldest [ARGS]  run the fast tests, or pytest with ARGS, on the
                                         oldest versions that pyproject.toml allows
    python3 dev.py fuzz [--minutes 10] [--seed 0]   test randomly generated bad input
    python3 dev.py mutants [WORDS]       run mutation tests of the decisions
    python3 dev.py docs [ARGS]           build the site; ARGS are sphinx-build's
    python3 dev.py changelog             write CHANGELOG.md from the files in changes/
    python3 dev.py lock                  pin the newest versions in constraints.txt

Each command installs what it needs into `.venv` (`.venv-oldest` for `--oldest`). This
environment is kept until pyproject.toml, constraints.txt or the interpreter changes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent
CONSTRAINTS = ROOT / "constraints.txt"
NEWEST, OLDEST = ROOT / ".venv", ROOT / ".venv-oldest"
# pytest reads the paths from this file.
QUICK = "@tests/quick.txt"
# Commands that install some extras and run Python with these arguments.
PROGRAMS = {
    "demo": ("cli,report", "-m counterpoise demo"),
    "fuzz": ("test", "tests/hostile/fuzz.py"),
    "mutants": ("test", "tests/decisions/mutants.py"),
    "docs": ("docs", "-m sphinx -W --keep-going docs docs/_build/html"),
}
CHECKS = {
    "lint": "ruff check .",
    "format": "ruff format --check .",
    "types": "mypy",
    "imports": "lint-imports",
}


def say(message: str) -> None:
    """Print a message at once."""
    print(f"[dev] {message}", flush=True)


def program(home: Path, name: str) -> str:
    """Return the path of a program in an environment."""
    folder, suffix = ("Scripts", ".exe") if os.name == "nt" else ("bin", "")
    return str(home / folder / f"{name}{suffix}")


def floors() -> list[str]:
    """Return the oldest version of every package that pyproject.toml allows."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    required = set(project["dependencies"]).union(*extras)
    # "counterpoise[cli]" in an extra names another extra, which has its own floors.
    required = {one for one in required if not one.startswith("counterpoise[")}
    return sorted(one.replace(">=", "==") for one in required)


def fingerprint(extra: str) -> str:
    """Return a hash of everything that an installation depends on."""
    digest = hashlib.sha256(f"{sys.version} {ROOT} {extra}".encode())
    for path in (ROOT / "pyproject.toml", CONSTRAINTS):
        digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()


def make_environment(home: Path) -> None:
    """Make an empty environment, with or without the system's ensurepip."""
    shutil.rmtree(home, ignore_errors=True)
    say(f"making {home.name} with Python {sys.version.split()[0]}")
    command = [sys.executable, "-m", "venv", str(home)]
    if subprocess.run(command, capture_output=True).returncode != 0:
        # Debian without python3-venv: the system's pip installs into the environment.
        say("ensurepip is not available: using the pip of this interpreter")
        subprocess.run([*command, "--without-pip", "--clear"], check=True)


def pip(home: Path) -> list[str]:
    """Return the pip that installs into an environment: its own or the system's."""
    own = [program(home, "python"), "-m", "pip"]
    if subprocess.run([*own, "--version"], capture_output=True).returncode == 0:
        return own
    return [sys.executable, "-m", "pip", "--python", program(home, "python")]


def install(extra: str, home: Path = NEWEST, constrained: bool = True) -> None:
    """Install counterpoise with its extras, unless exactly that is installed."""
    state, stamp = fingerprint(extra), home / "installed.txt"
    complete = stamp.exists() and Path(program(home, "python")).exists()
    installed = stamp.read_text().split() if complete else []
    if constrained and state in installed:
        return
    started = time.perf_counter()
    # An environment with other extras but the same base is extended, not made again.
    if fingerprint("") not in installed or not constrained:
        make_environment(home)
        installed = []
    settings = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    constraints = home / "floors.txt" if home == OLDEST else CONSTRAINTS
    if home == OLDEST:
        constraints.write_text("\n".join(floors()) + "\n")
    if constrained and constraints.exists():
        # A file URL, because pip splits this variable at spaces.
        settings["PIP_CONSTRAINT"] = constraints.as_uri()
    say(f"installing .[{extra}] (the first time takes some minutes)")
    command = [*pip(home), "install", "--quiet", "--editable", f".[{extra}]"]
    if subprocess.run(command, cwd=ROOT, env=settings).returncode != 0:
        raise SystemExit("[dev] pip failed (see above). Fix the cause and try again.")
    if constrained:
        stamp.write_text("\n".join({*installed, state, fingerprint("")}) + "\n")
    say(f"installed in {time.perf_counter() - started:.0f} s")


def run(home: Path, *command: str, capture: bool = False) -> tuple[int, str, float]:
    """Run a program of an environment; return its exit code, output and seconds."""
    # The matrices of the tests are small: BLAS threads would only wait for each other.
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    settings = {**dict.fromkeys(names, "1"), **os.environ}
    stream = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} if capture else {}
    words, started = [program(home, command[0]), *command[1:]], time.perf_counter()
    done = subprocess.run(words, cwd=ROOT, env=settings, encoding="utf-8", **stream)
    return done.returncode, done.stdout or "", time.perf_counter() - started


def test(arguments: list[str]) -> int:
    """Run all checks, the fast tests, or pytest alone with the given arguments."""
    count = min(os.cpu_count() or 1, 4)
    parallel = ["-n", str(count), "--dist", "worksteal"] if count > 1 else []
    quick = [*parallel, QUICK]
    if arguments[:1] == ["--oldest"]:
        install("test", OLDEST)
        # Old packages may call what newer versions of other packages deprecate.
        pytest = ("-m", "pytest", "-W", "default::DeprecationWarning")
        return run(OLDEST, "python", *pytest, *arguments[1:] or quick)[0]
    install("test")
    if arguments[:1] == ["--quick"]:
        arguments = [*quick, *arguments[1:]]
    if arguments:
        return run(NEWEST, "python", "-m", "pytest", *arguments)[0]
    with ThreadPoolExecutor(1) as background:
        # The static checks run one by one beside the tests; their output comes last.
        static = {
            name: background.submit(run, NEWEST, *command.split(), capture=True)
            for name, command in CHECKS.items()
        }
        say(f"running pytest; in the background: {', '.join(static)}")
        pytest = ("-m", "pytest", *parallel, "--durations=5")
        results = {"tests": run(NEWEST, "python", *pytest)}
        for name, future in static.items():
            results[name] = future.result()
            say(f"{name}: {CHECKS[name]}\n{results[name][1]}".rstrip())
    say("summary:")
    for name, (code, _, seconds) in results.items():
        say(f"  {name:<8} {seconds:7.1f} s  {'FAILED' if code else 'ok'}")
    return int(any(code for code, _, _ in results.values()))


def lock() -> int:
    """Install the newest versions of all extras and write constraints.txt."""
    install("dev", constrained=False)
    command = [*pip(NEWEST), "freeze", "--exclude-editable"]
    frozen = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    # Without local versions such as "+cpu", which an index need not have.
    pins = [line.partition("+")[0] for line in frozen.splitlines() if "==" in line]
    CONSTRAINTS.write_text("\n".join(pins) + "\n")
    say(f"pinned {len(pins)} versions in {CONSTRAINTS.name}")
    return 0


def main() -> int:
    """Run the command that the first argument names."""
    if sys.version_info < (3, 11):  # noqa: UP036
        raise SystemExit("[dev] counterpoise requires Python 3.11 or later")
    name, arguments = "".join(sys.argv[1:2]), sys.argv[2:]
    if name in PROGRAMS:
        extra, command = PROGRAMS[name]
        install(extra)
        return run(NEWEST, "python", *command.split(), *arguments)[0]
    if name == "changelog":
        return subprocess.call([sys.executable, ROOT / "changes" / "make_changelog.py"])
    if name in ("test", "lock"):
        return test(arguments) if name == "test" else lock()
    print(__doc__)
    return int(name not in ("-h", "--help"))


if __name__ == "__main__":
    sys.exit(main())
