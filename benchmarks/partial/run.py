"""Measure partial targets: `python benchmarks/partial/run.py [question ...] [--quick]`.

Real data come from the folder that COUNTERPOISE_DATA names. One thread a process;
answers are kept in out/benchmarks/partial.json.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from asking import ask  # noqa: E402

QUESTIONS = (
    "office_labels",
    "office_networks",
    "all_classes",
    "half_the_classes",
    "wide_diagnosis",
)

if __name__ == "__main__":
    ask("partial", QUESTIONS, __doc__)
