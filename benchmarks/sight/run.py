"""Measure what is seen of a shift: `python benchmarks/sight/run.py [question ...]`.

Prints tables and bars, and writes out/benchmarks/sight.json. One thread; fresh seeds
(SEED says where they begin). With --quick fewer draws. Real data are read from
COUNTERPOISE_DATA.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from asking import ask  # noqa: E402

QUESTIONS = (
    "label_change",
    "label_shift",
    "guard_classifiers",
    "holes",
    "null",
    "intervals",
    "thin_interval",
    "power",
    "choice",
    "correlation",
    "uncovered_weights",
    "spread",
    "dependent",
    "text",
)


if __name__ == "__main__":
    ask("sight", QUESTIONS, __doc__)
