"""Measure networks: `python benchmarks/convex_network/run.py [question ...] [--quick]`.

One thread, CPU seconds. Real data (imbalance) come from the folder that
COUNTERPOISE_DATA names; without it that question says so and is left out. Peers:
imbalanced-learn in an environment of its own (out/peers-imbalanced), Adam as a small
loop on the library's own gradient (adam.py), MLPs of scikit-learn.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from asking import ask  # noqa: E402

QUESTIONS = ("exactness", "cost", "imbalance")

if __name__ == "__main__":
    ask("convex_network", QUESTIONS, __doc__)
