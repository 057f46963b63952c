"""Faults planted one at a time, each of which a named test must notice.

    python mutants.py [words]     plant those whose id has one of the words; none: all
    python mutants.py --check     only look whether every fault can still be planted

The faults stand beside the rules that they break, in `rules/<room>.toml`. They are
planted in copies of `src/`, two side by side, never in the working tree. Each is run
in a copy of a process that has the other libraries in memory: on Linux and macOS only.
"""

import argparse
import compileall
import importlib
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SCRATCH = ROOT / ".mutants"
WORKERS = 2
# A fault that makes a test run on and on is noticed as well.
LONGEST_SECONDS = 180
# What may survive, by share.
MOST_SURVIVORS = 0.05
# Compiled code is kept by file; what it inlines from elsewhere it does not see.
_COMPILES = ("numerics.compiled", "numerics.reordered")
# pytest without what these tests do not need: plugins, doctests, words for asserts.
_BARE = (
    "-x",
    "-q",
    "--no-header",
    "--assert=plain",
    "--import-mode=importlib",
    "--override-ini=addopts=",
    "-p",
    "no:cacheprovider",
)
# What a worker imports once, so that a test costs little more than itself.
_PREPARED = (
    "pytest",
    "numba",
    "pandas",
    "pyarrow.csv",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.compose",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "sklearn.metrics",
    "sklearn.model_selection",
    "sklearn.neighbors",
    "sklearn.pipeline",
    "sklearn.preprocessing",
    "torch",
)


@dataclass(frozen=True)
class Fault:
    """A piece of code, what to put in its place, and who should notice.

    Attributes
    ----------
    id : str
        That of the rule, and a number where it has several faults.
    rule : str
        The rule that it breaks, in one sentence.
    room : str
    tests : tuple of str
        Names of tests in `test_<room>.py`.
    find, put : str
        The piece must stand exactly once in src/, or in the files that `file` ends.
    file : str
        How the path of its file ends; empty: any.
    survives : str
        Why no test can notice, where none can.
    """

    id: str
    rule: str
    room: str
    tests: tuple[str, ...]
    find: str
    put: str
    file: str = ""
    survives: str = ""


def rules() -> Iterator[tuple[str, dict]]:
    """Return every rule with its room."""
    for path in sorted((HERE / "rules").glob("*.toml")):
        for rule in tomllib.loads(path.read_text(encoding="utf-8"))["rule"]:
            yield path.stem, rule


def faults() -> list[Fault]:
    """Return every fault of every rule."""
    found = []
    for room, rule in rules():
        several = len(rule["fault"]) > 1
        for k, fault in enumerate(rule["fault"], 1):
            found.append(
                Fault(
                    f"{rule['id']}-{k}" if several else rule["id"],
                    rule["says"],
                    room,
                    tuple(fault.get("tests", rule["tests"])),
                    fault["find"].strip("\n"),
                    fault["put"].strip("\n"),
                    fault.get("file", ""),
                    fault.get("survives", ""),
                )
            )
    return found


def place_of(fault: Fault, texts: dict[Path, str]) -> Path:
    """Return the one file in which the fault can be planted; else say why not."""
    places = [
        path
        for path, text in texts.items()
        if fault.find in text and path.as_posix().endswith(fault.file)
    ]
    times = sum(texts[path].count(fault.find) for path in places)
    if times != 1:
        where = ", ".join(str(path) for path in places) or "nowhere"
        raise LookupError(f"{fault.id}: stands {times} times ({where})")
    return places[0]


def source_texts(src: Path) -> dict[Path, str]:
    """Return the text of every module, by its path below src/."""
    return {
        path.relative_to(src): path.read_text(encoding="utf-8")
        for path in sorted(src.rglob("*.py"))
    }


def copied(worker: int) -> Path:
    """Return a copy of src/ that is as the working tree is, compiled code included."""
    src, copy = ROOT / "src", SCRATCH / str(worker) / "src"
    wanted = {path.relative_to(src) for path in src.rglob("*") if path.is_file()}
    kept = {path for path in wanted if path.suffix != ".pyc"}
    for path in copy.rglob("*") if copy.exists() else ():
        known = path.relative_to(copy) in kept or path.parent.name == "__pycache__"
        if path.is_file() and not known:
            path.unlink()
    for path in kept:
        new, old = src / path, copy / path
        if not old.exists() or _differs(new, old):
            old.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(new, old)
    # A file with a fault in it has another time, and is compiled for itself.
    compileall.compile_dir(copy, quiet=1)
    return copy


def _differs(new: Path, old: Path) -> bool:
    a, b = new.stat(), old.stat()
    if (a.st_mtime_ns, a.st_size) == (b.st_mtime_ns, b.st_size):
        return False
    # The copy may have compiled more than the working tree has.
    return new.suffix == ".py"


def prepare() -> None:
    """Import what every test needs but for the library: a copy of this process has it.

    Threads of linear algebra would only wait for one another.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.dont_write_bytecode = True
    for name in _PREPARED:
        importlib.import_module(name)


def ran(src: Path, nodes: list[str], cache: str | None = None) -> tuple[int, str]:
    """Return the exit code of pytest in a process of its own, and its last words."""
    with tempfile.TemporaryFile("w+") as output:
        child = os.fork()
        if child == 0:
            _run_here(src, nodes, cache, output.fileno())
        deadline = time.monotonic() + LONGEST_SECONDS
        while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
            if time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return 1, "out of time"
            time.sleep(0.01)
        output.seek(0)
        return os.waitstatus_to_exitcode(ended[1]), output.read()[-3000:]


def _run_here(src: Path, nodes: list[str], cache: str | None, output: int) -> None:
    """Run pytest on a copy of src/ and end this process."""
    code = 70
    try:
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(ROOT)
        sys.path.insert(0, str(src))
        if cache is not None:
            importlib.import_module("numba").config.CACHE_DIR = cache
        pytest = importlib.import_module("pytest")
        code = int(pytest.main([*_BARE, *nodes]))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def planted(fault: Fault, src: Path, path: Path) -> tuple[str, str]:
    """Return what became of a fault: "killed", "survived" or "broken"."""
    file = src / path
    text, stat = file.read_text(encoding="utf-8"), file.stat()
    nodes = [f"{HERE / f'test_{fault.room}.py'}::{name}" for name in fault.tests]
    compiles = any(word in text for word in _COMPILES)
    with tempfile.TemporaryDirectory() as cache:
        try:
            file.write_text(text.replace(fault.find, fault.put), encoding="utf-8")
            code, words = ran(src, nodes, cache if compiles else None)
        finally:
            file.write_text(text, encoding="utf-8")
            os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    return {0: "survived", 1: "killed"}.get(code, "broken"), words


def run(chosen: list[Fault], places: dict[str, Path]) -> int:
    """Plant the faults, say what became of them, and return an exit code."""
    started = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    copies = context.Queue()
    for worker in range(WORKERS):
        copies.put(copied(worker))
    rooms = sorted({fault.room for fault in chosen})
    ended: dict[str, list[Fault]] = {"killed": [], "survived": [], "broken": []}
    with context.Pool(WORKERS, _begin, (copies,)) as pool:
        for room, (code, words) in zip(rooms, pool.imap(_sound, rooms), strict=True):
            if code != 0:
                print(words)
                print(f"{room}: tests fail without a fault, so nothing was planted")
                return 1
        jobs = ((fault, places[fault.id]) for fault in chosen)
        for fault, end, words in pool.imap(_planted, jobs):
            ended[end].append(fault)
            if end == "broken":
                print(f"BROKEN {fault.id}: {words}", flush=True)
            elif end == "survived":
                why = fault.survives or "nobody noticed"
                print(f"SURVIVED {fault.id} ({fault.rule}): {why}", flush=True)
            done = sum(map(len, ended.values()))
            if done % 50 == 0:
                print(f"{done} of {len(chosen)} planted", flush=True)
    wrong = [fault for fault in ended["killed"] if fault.survives]
    for fault in wrong:
        print(f"{fault.id} is said to survive, and was noticed: correct the table")
    unexplained = [fault for fault in ended["survived"] if not fault.survives]
    counts = ", ".join(f"{len(some)} {end}" for end, some in ended.items())
    print(
        f"{len(chosen)} faults in {len(rooms)} rooms: {counts} "
        f"({time.perf_counter() - started:.0f} s)"
    )
    many = len(ended["survived"]) > MOST_SURVIVORS * len(chosen)
    return int(bool(unexplained or ended["broken"] or wrong or many))


_own_copy: list[Path] = []


def _begin(copies: Any) -> None:
    """Give a worker its copy of src/ and what tests import."""
    _own_copy.append(copies.get())
    prepare()


def _sound(room: str) -> tuple[int, str]:
    return ran(_own_copy[0], [str(HERE / f"test_{room}.py")])


def _planted(job: tuple[Fault, Path]) -> tuple[Fault, str, str]:
    fault, path = job
    return fault, *planted(fault, _own_copy[0], path)


def main() -> int:
    """Plant faults, or look whether they can be planted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="parts of ids or rooms; none: all")
    parser.add_argument(
        "--check", action="store_true", help="only look for the pieces of code"
    )
    options = parser.parse_args()
    texts = source_texts(ROOT / "src")
    places, stale = {}, []
    every = faults()
    for fault in every:
        try:
            places[fault.id] = place_of(fault, texts)
        except LookupError as error:
            stale.append(str(error))
    for told in stale:
        print(f"STALE {told}")
    if stale or options.check:
        print(f"{len(every)} faults, {len(stale)} of which cannot be planted")
        return int(bool(stale))
    chosen = [
        fault
        for fault in every
        if not options.words
        or any(word in fault.id or word == fault.room for word in options.words)
    ]
    if not chosen:
        print("no fault has such an id")
        return 1
    return run(chosen, places)


if __name__ == "__main__":
    sys.exit(main())
