"""How a folder of benchmarks is run: questions by name, answers kept, bars judged."""

import os

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "BLIS", "VECLIB_MAXIMUM"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"

import argparse  # noqa: E402
import importlib  # noqa: E402
import json  # noqa: E402
import platform  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

from reporting import load, quietly  # noqa: E402

OUT = Path(__file__).parents[1] / "out" / "benchmarks"


def ask(topic: str, questions: tuple[str, ...], told: str) -> None:
    """Run the questions that the command line names, or all, one after the other.

    Each is a module of its name with `run(quick)`, which returns a dict with "bars".
    Answers are kept in out/benchmarks/<topic>.json.
    """
    parser = argparse.ArgumentParser(description=told)
    parser.add_argument("questions", nargs="*", help=f"of {', '.join(questions)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, few seeds")
    chosen = parser.parse_args()
    unknown = set(chosen.questions) - set(questions)
    if unknown:
        parser.error(f"no such question: {', '.join(sorted(unknown))}")
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / f"{topic}.json"
    for name in chosen.questions or questions:
        print(f"\n== {name} ==", flush=True)
        began = time.perf_counter()
        with quietly():
            answer = importlib.import_module(name).run(chosen.quick)
        answer |= {"seconds": time.perf_counter() - began, "quick": chosen.quick}
        _keep(path, name, answer)
        print(f"  {name}: {answer['seconds']:.0f} s", flush=True)
        _draw(name, answer.get("curves"))
    _summarize(path, chosen.questions or questions)


def _keep(path: Path, name: str, answer: dict) -> None:
    """Put the answer into the file, beside those that are there."""
    kept = json.loads(path.read_text()) if path.exists() else {}
    kept["machine"] = {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "load": load(),
    }
    kept[name] = answer
    path.write_text(json.dumps(kept, indent=1, default=float))


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


def _summarize(path: Path, names: tuple[str, ...]) -> None:
    kept = json.loads(path.read_text())
    bars = [one for name in names for one in kept[name].get("bars", ())]
    short = [one for one in bars if not one["holds"]]
    print(f"\n{len(bars) - len(short)} of {len(bars)} bars hold")
    for one in short:
        print(f"  falls short: {one['bar']}: {one['measured']:.4g} ({one['bound']})")
