"""How a question is asked: in a process of its own, its answer kept with all it needs.

A folder of questions has a `run.py` with `QUESTIONS` (names of modules beside it), a
docstring, and perhaps `warm_up()`; a question is a module with a docstring that says
what it asks and `run(quick)`, which returns a dict with "bars". That is all that
`python benchmarks/run.py` needs to find and to ask it.

An answer is kept in out/benchmarks/<topic>.<question>.<quick|full>.json with versions,
seeds, machine, commit, peers and their environments, the data that were read, CPU
seconds (those of making environments apart) and memory. It is kept as it is while
nothing that it depends on has changed.

Several questions may be asked side by side, one thread each: then each is told whole
when it has its answer.
"""

import os

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "BLIS", "VECLIB_MAXIMUM"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"

import argparse  # noqa: E402
import ast  # noqa: E402
import hashlib  # noqa: E402
import importlib  # noqa: E402
import json  # noqa: E402
import platform  # noqa: E402
import resource  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
import traceback  # noqa: E402
from concurrent.futures import ThreadPoolExecutor, as_completed  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from importlib.metadata import version  # noqa: E402
from pathlib import Path  # noqa: E402

from reporting import LEFT_OUT, TABLES, load, quietly  # noqa: E402

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
OUT = ROOT / "out" / "benchmarks"
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "clarabel")
ANSWERED, PARTLY, NOT_ASKED, FAILED = "answered", "in part", "left out", "failed"


@dataclass(frozen=True)
class Question:
    """One question of a folder.

    Attributes
    ----------
    topic, name : str
        The folder, and the module in it.
    told : str
        What it asks, from its docstring.
    """

    topic: str
    name: str
    told: str

    @property
    def full_name(self) -> str:
        """The name by which it is asked for."""
        return f"{self.topic}.{self.name}"

    def answer_file(self, quick: bool) -> Path:
        """Return where its answer is kept."""
        return OUT / f"{self.full_name}.{'quick' if quick else 'full'}.json"


def questions(folder: Path = HERE) -> list[Question]:
    """Return every question of every folder, without importing anything."""
    found = []
    for path in sorted(folder.glob("*/run.py")):
        names = _constant(path, "QUESTIONS") or ()
        for name in names:
            module = path.parent / f"{name}.py"
            told = ast.get_docstring(ast.parse(module.read_text())) or name
            found.append(Question(path.parent.name, name, told))
    return found


def _constant(path: Path, name: str):
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    return None


def ask(topic: str, names: tuple[str, ...], told: str) -> None:
    """Ask the questions of one folder that the command line names, or all of them."""
    parser = argparse.ArgumentParser(description=told)
    parser.add_argument("questions", nargs="*", help=f"of {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, few seeds")
    parser.add_argument("--again", action="store_true", help="also what is answered")
    chosen = parser.parse_args()
    unknown = set(chosen.questions) - set(names)
    if unknown:
        parser.error(f"no such question: {', '.join(sorted(unknown))}")
    wanted = [
        one
        for one in questions()
        if one.topic == topic and one.name in (chosen.questions or names)
    ]
    sys.exit(ask_all(wanted, quick=chosen.quick, again=chosen.again))


def ask_all(
    wanted: list[Question], *, quick: bool, again: bool = False, beside: int = 1
) -> int:
    """Ask all questions, `beside` at once; return 1 if a bar or a question fails."""
    OUT.mkdir(parents=True, exist_ok=True)
    began, answers = time.perf_counter(), {}

    def answered(place: int, one: Question) -> tuple[dict, str]:
        kept = None if again else kept_answer(one, quick)
        told = "asked" if kept is None else "kept"
        print(f"== {one.full_name} ({place} of {len(wanted)}): {told} ==", flush=True)
        if kept is not None:
            return kept, ""
        return _asked_apart(one, quick, told_at_once=beside == 1)

    with ThreadPoolExecutor(beside) as pool:
        asked = {
            pool.submit(answered, place, one): one
            for place, one in enumerate(wanted, start=1)
        }
        try:
            for done in as_completed(asked):
                one, (answers[one], told) = asked[done], done.result()
                print(f"{told}  {_line(answers[one])}\n", flush=True)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    print(f"{len(wanted)} questions in {(time.perf_counter() - began) / 60:.1f} min")
    return _told([answers[one] for one in wanted])


def kept_answer(one: Question, quick: bool) -> dict | None:
    """Return the answer on disk, if it is whole and nothing has changed since."""
    path = one.answer_file(quick)
    if not path.exists():
        return None
    kept = json.loads(path.read_text())
    same = kept.get("state") == state_of(one) and kept.get("status") == ANSWERED
    return kept if same else None


def state_of(one: Question) -> str:
    """Return a digest of all that an answer depends on but the machine.

    The library, the question's folder, what all questions share, the requirements of
    the peers, the versions of PACKAGES, SEED and similar settings of the environment.
    """
    digest = hashlib.sha256()
    files = [
        *sorted((ROOT / "src").rglob("*.py")),
        *sorted((HERE / one.topic).glob("*.py")),
        *sorted((HERE / "requirements").glob("*.txt")),
        *(HERE / name for name in ("chance.py", "environments.py", "reporting.py")),
    ]
    for path in files:
        digest.update(path.relative_to(ROOT).as_posix().encode())
        digest.update(path.read_bytes())
    said = [f"{name}={version(name)}" for name in PACKAGES]
    said += [f"{name}={os.environ.get(name)}" for name in ("SEED", "DRAWS", "WORLDS")]
    digest.update(" ".join(said).encode())
    return digest.hexdigest()[:16]


def _asked_apart(one: Question, quick: bool, *, told_at_once: bool) -> tuple[dict, str]:
    """Ask a question in a process of its own.

    Returns what it has left on disk, and what it printed unless that was told at once.
    """
    path = one.answer_file(quick)
    path.unlink(missing_ok=True)
    command = [sys.executable, str(Path(__file__)), one.topic, one.name]
    command += ["--quick"] if quick else []
    heard = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    how = {} if told_at_once else heard
    ended = subprocess.run(command, check=False, text=True, **how)
    if not path.exists():
        told = f"the process ended with code {ended.returncode} and left no answer"
        _keep(path, {"name": one.full_name, "status": FAILED, "reason": told})
    return json.loads(path.read_text()), ended.stdout or ""


def _asked_here(topic: str, name: str, quick: bool) -> dict:
    """Ask a question in this process, which does nothing else."""
    one = next(q for q in questions() if (q.topic, q.name) == (topic, name))
    folder = HERE / topic
    sys.path[:0] = [str(folder), str(HERE), str(ROOT / "tests")]
    read = _data_read()
    kept = {
        "name": one.full_name,
        "told": one.told,
        "quick": quick,
        "state": state_of(one),
        "commit": _commit(),
        "versions": {name: version(name) for name in PACKAGES},
        "machine": {
            "platform": platform.platform(),
            "python": platform.python_version(),
            "processors": os.cpu_count(),
            "load": load(),
        },
        "status": ANSWERED,
    }
    began = time.perf_counter()
    try:
        with quietly():
            folder_run = importlib.import_module("run")
            getattr(folder_run, "warm_up", lambda: None)()
            module = importlib.import_module(name)
            kept["seeds"] = _seeds(module)
            answer = module.run(quick)
    except SystemExit as error:
        kept |= {"status": NOT_ASKED, "reason": str(error)}
        print(f"  left out: {error}", flush=True)
        answer = {"bars": []}
    except Exception as error:
        traceback.print_exc()
        kept |= {"status": FAILED, "reason": f"{type(error).__name__}: {error}"}
        answer = {"bars": []}
    if LEFT_OUT and kept["status"] == ANSWERED:
        kept["status"] = PARTLY if answer.get("bars") else NOT_ASKED
        kept["reason"] = "; ".join(dict.fromkeys(LEFT_OUT))
    own, others = (
        resource.getrusage(which)
        for which in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    peers, made = _peers()
    spent = own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime
    kept |= {
        "bars": [one for one in answer.pop("bars", []) if one.get("judged", True)],
        "tables": TABLES,
        "answer": answer,
        "peers": peers,
        "data": sorted(read),
        "seconds": time.perf_counter() - began,
        # An environment is made once: its cost is told beside the question's.
        "cpu": spent - sum(made.values()),
        "made": made,
        "megabytes": own.ru_maxrss / 1024,
    }
    _draw(name, answer.get("curves"))
    return kept


def _peers() -> tuple[dict[str, list[str]], dict[str, float]]:
    """Return the versions of the peers that were asked, and what making them cost."""
    environments = sys.modules.get("environments")
    if environments is None:
        return {}, {}
    return dict(environments.ASKED), dict(environments.MADE)


def _data_read() -> set[str]:
    """Return a set that fills with the data sets that are read from now on."""
    read: set[str] = set()
    named = os.environ.get("COUNTERPOISE_DATA")
    if named:
        home = os.path.join(os.path.abspath(named), "")

        def listen(event: str, arguments: tuple) -> None:
            if event == "open" and isinstance(arguments[0], str):
                path = os.path.abspath(arguments[0])
                if path.startswith(home):
                    read.add(path[len(home) :].split(os.sep)[0])

        sys.addaudithook(listen)
    return read


def _seeds(module) -> dict:
    """Return the constants of a question that are seeds, and what SEED says."""
    found = {
        name: value
        for name, value in vars(module).items()
        if "SEED" in name and isinstance(value, int | tuple | list)
    }
    return found | {"environment": os.environ.get("SEED")}


def _commit() -> str:
    """Return the commit, marked where files differ from it."""
    git = ["git", "-C", str(ROOT)]
    said = [
        subprocess.run([*git, *words], capture_output=True, text=True, check=False)
        for words in (["rev-parse", "--short", "HEAD"], ["status", "--porcelain"])
    ]
    changed = " with changes" if said[1].stdout.strip() else ""
    return (said[0].stdout.strip() or "unknown") + changed


def _keep(path: Path, answer: dict) -> None:
    """Put an answer into its place in one step."""
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(answer, indent=1, default=_plain))
    beside.replace(path)


def _plain(value):
    """Return a number or an array as JSON has it."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _draw(name: str, curves: dict | None) -> None:
    """Draw the curves of an answer, where the folder has a `drawing` module."""
    if not curves:
        return
    try:
        from drawing import draw
    except ImportError:
        print("  no figures: matplotlib is not installed")
        return
    for path in draw(name, curves, OUT):
        print(f"  figure: {path.name}")


def _line(kept: dict) -> str:
    """Return an answer in one line."""
    if kept["status"] in (FAILED, NOT_ASKED):
        return f"{kept['name']}: {kept['status']}: {kept.get('reason')}"
    bars = kept["bars"]
    held = sum(bool(one["holds"]) for one in bars)
    told = f"{kept['name']}: {held} of {len(bars)} bars hold, {kept['cpu']:.0f} s CPU, "
    told += f"{kept['megabytes']:.0f} MB"
    if kept["peers"]:
        told += f", peers: {', '.join(kept['peers'])}"
    if kept.get("made"):
        told += f" (made in {sum(kept['made'].values()):.0f} s CPU more)"
    if kept["data"]:
        told += f", data: {', '.join(kept['data'])}"
    if kept["status"] == PARTLY:
        told += f"; left out in part: {kept['reason']}"
    return told


def _told(answers: list[dict]) -> int:
    """Say what has failed, what was left out, and return the exit code."""
    bars = [bar for one in answers for bar in one.get("bars", ())]
    short = [bar for bar in bars if not bar["holds"]]
    cpu = sum(one.get("cpu", 0.0) for one in answers)
    made = sum(sum(one.get("made", {}).values()) for one in answers)
    told = (
        f"\n{len(bars) - len(short)} of {len(bars)} bars hold, {cpu / 60:.1f} min CPU"
    )
    print(told + (f", {made / 60:.1f} min more for the peers" if made else ""))
    for one in answers:
        for bar in one.get("bars", ()):
            if not bar["holds"]:
                print(
                    f"  falls short: {one['name']}: {bar['bar']}: "
                    f"{bar['measured']:.4g} ({bar['bound']})"
                )
        if one["status"] != ANSWERED:
            print(f"  {one['status']}: {one['name']}: {one.get('reason')}")
    failed = any(one["status"] == FAILED for one in answers)
    return int(bool(short) or failed)


if __name__ == "__main__":
    _topic, _question = sys.argv[1:3]
    _is_quick = "--quick" in sys.argv[3:]
    _found = _asked_here(_topic, _question, _is_quick)
    _keep(
        next(
            q for q in questions() if (q.topic, q.name) == (_topic, _question)
        ).answer_file(_is_quick),
        _found,
    )
