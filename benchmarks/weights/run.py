"""Measure the weights: `python benchmarks/weights/run.py [question ...] [--quick]`.

Prints tables and bars, and writes out/benchmarks/weights.json (and figures as SVG where
matplotlib is installed). One thread; times are CPU seconds. Peers live in an
environment of their own that is made at first use (peers.py).
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from asking import ask  # noqa: E402

QUESTIONS = (
    "exact_checks",
    "solver_speed",
    "sinc_counts",
    "direction_and_null",
    "known_ratios",
    "uncovered",
    "kmm_speed",
    "peers_speed",
    "large",
)


def warm_up() -> None:
    """Let compiled parts be made before any clock runs."""
    from problems import fit_on_centers, gaussian_pair, mixture_problem

    from counterpoise.optim import FrankWolfe, solve

    shift = gaussian_pair(1, 50, 50, seed=0)
    fit_on_centers(shift.X, shift.X_target, shift.X_target, 0.2)
    problem = mixture_problem(shift.X, shift.X_target, shift.X_target, 0.2)
    solve(problem, FrankWolfe("pairwise"), max_iter=5)


if __name__ == "__main__":
    ask("weights", QUESTIONS, __doc__)
