"""Calls of other libraries beside ours: `python benchmarks/run.py coming_from`.

Each peer runs in an environment of its own (out/peers); the pages "Coming from ..." of
the site show the calls from these very files, and the numbers from their answers.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from asking import ask  # noqa: E402

QUESTIONS = (
    "from_scikit_learn",
    "from_adapt",
    "from_skada",
    "from_nannyml",
    "from_evidently",
    "with_mlflow",
)

if __name__ == "__main__":
    ask("coming_from", QUESTIONS, __doc__)
