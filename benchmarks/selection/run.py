"""Measure the selection: `python benchmarks/selection/run.py [question ...] [--quick]`.

Ratios within one run, one thread, CPU seconds. Real data (classes) come from the folder
that COUNTERPOISE_DATA names; without it these questions are left out.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "tests")]

from asking import ask  # noqa: E402

QUESTIONS = (
    "solver_speed",
    "sizes",
    "sparsity_path",
    "classes",
    "prototypes",
)

if __name__ == "__main__":
    ask("selection", QUESTIONS, __doc__)
