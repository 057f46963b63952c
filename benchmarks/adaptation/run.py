"""Measure the main job: `python benchmarks/adaptation/run.py [question ...] [--quick]`.

Real data come from the folder that COUNTERPOISE_DATA names. One thread a process;
answers are kept in out/benchmarks/adaptation.json.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from asking import ask  # noqa: E402

QUESTIONS = (
    "guard",
    "estimates",
    "interval_coverage",
    "overlap_and_null",
    "big_table",
    "advice",
)

if __name__ == "__main__":
    ask("adaptation", QUESTIONS, __doc__)
