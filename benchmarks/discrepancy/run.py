"""Measure the discrepancy: `python benchmarks/discrepancy/run.py [question ...]`.

Prints tables and bars, and writes out/benchmarks/discrepancy.json. One thread; times
are CPU seconds. The sentiment tasks need the folder that COUNTERPOISE_DATA names;
without it they are left out.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from asking import ask  # noqa: E402

QUESTIONS = (
    "every_solver",
    "solvers",
    "sizes",
    "kernel_sizes",
    "artificial_error",
    "sentiment",
)

if __name__ == "__main__":
    ask("discrepancy", QUESTIONS, __doc__)
