"""Measure twin GPs: `python benchmarks/twin_gp/run.py [question ...] [--quick]`.

One thread, CPU seconds. Real data (silhouettes, moods) come from the folder that
COUNTERPOISE_DATA names; without it these two are left out.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from asking import ask  # noqa: E402

QUESTIONS = (
    "speed",
    "tuned_chain",
    "ambiguity",
    "latent_ratio",
    "transfers",
    "row_budget",
    "balls",
    "silhouettes",
    "moods",
    "annotators",
)

if __name__ == "__main__":
    ask("twin_gp", QUESTIONS, __doc__)
