"""Measure the paths: `python benchmarks/svm_path/run.py [question ...] [--quick]`.

Ratios within one run, one thread, CPU seconds. Real data (windows, heteroscedastic)
come from the folder that COUNTERPOISE_DATA names; without it these two are left out.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "tests")]

from asking import ask  # noqa: E402

QUESTIONS = (
    "chains",
    "flattening",
    "validation_curves",
    "regularization",
    "windows",
    "heteroscedastic",
    "large",
)

if __name__ == "__main__":
    ask("svm_path", QUESTIONS, __doc__)
