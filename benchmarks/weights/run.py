"""Measure the weights: `python benchmarks/weights/run.py [question ...] [--quick]`.

Prints tables and bars, and writes out/benchmarks/weights.json (and figures as SVG where
matplotlib is installed). One thread; times are CPU seconds. Peers live in an
environment of their own that is made at first use (peers.py).
"""

import os

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "BLIS", "VECLIB_MAXIMUM"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"

import argparse  # noqa: E402
import importlib  # noqa: E402
import json  # noqa: E402
import platform  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))

from reporting import load, quietly  # noqa: E402

QUESTIONS = (
    "solver_speed",
    "sinc_counts",
    "direction_and_null",
    "known_ratios",
    "uncovered",
    "kmm_speed",
    "peers_speed",
    "large",
)
OUT = Path(__file__).parents[2] / "out" / "benchmarks"


def main() -> None:
    """Ask the questions, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("questions", nargs="*", help=f"of {', '.join(QUESTIONS)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, few seeds")
    chosen = parser.parse_args()
    unknown = set(chosen.questions) - set(QUESTIONS)
    if unknown:
        parser.error(f"no such question: {', '.join(sorted(unknown))}")
    OUT.mkdir(parents=True, exist_ok=True)
    _warm_up()
    for name in chosen.questions or QUESTIONS:
        print(f"\n== {name} ==", flush=True)
        began = time.perf_counter()
        with quietly():
            answer = importlib.import_module(name).run(chosen.quick)
        answer["seconds"] = time.perf_counter() - began
        answer["quick"] = chosen.quick
        _keep(name, answer)
        print(f"  {name}: {answer['seconds']:.0f} s", flush=True)
        _draw(name, answer.get("curves"))
    _summary(chosen.questions or QUESTIONS)


def _warm_up() -> None:
    """Let compiled parts be made before any clock runs."""
    from problems import fit_on_centers, gaussian_pair, mixture_problem

    from counterpoise.convex import FrankWolfe, solve

    shift = gaussian_pair(1, 50, 50, seed=0)
    fit_on_centers(shift.X, shift.X_target, shift.X_target, 0.2)
    problem = mixture_problem(shift.X, shift.X_target, shift.X_target, 0.2)
    solve(problem, FrankWolfe("pairwise"), max_iter=5)


def _keep(name: str, answer: dict) -> None:
    """Put the answer into the file, beside those that are there."""
    path = OUT / "weights.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    kept["machine"] = {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "load": load(),
    }
    kept[name] = answer
    path.write_text(json.dumps(kept, indent=1, default=float))


def _draw(name: str, curves: dict | None) -> None:
    if not curves:
        return
    try:
        from drawing import draw
    except ImportError:
        print("  no figures: matplotlib is not installed")
        return
    for path in draw(name, curves, OUT):
        print(f"  figure: {path.name}")


def _summary(names) -> None:
    kept = json.loads((OUT / "weights.json").read_text())
    bars = [one for name in names for one in kept[name].get("bars", ())]
    short = [one for one in bars if not one["holds"]]
    print(f"\n{len(bars) - len(short)} of {len(bars)} bars hold")
    for one in short:
        print(f"  falls short: {one['bar']}: {one['measured']:.4g} ({one['bound']})")


if __name__ == "__main__":
    main()
