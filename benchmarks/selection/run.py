"""Measure selection: `python benchmarks/selection/run.py [question ...] [--quick]`.

One thread, CPU seconds. Real data come from the folder that COUNTERPOISE_DATA names;
without it the questions that need them are left out, and say so.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from asking import ask  # noqa: E402

QUESTIONS = ("segmentation",)

if __name__ == "__main__":
    ask("selection", QUESTIONS, __doc__)
