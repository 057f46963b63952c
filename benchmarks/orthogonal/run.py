"""Measure frames: `python benchmarks/orthogonal/run.py [question ...] [--quick]`.

One thread, CPU seconds. Faces and clusters come from the folder that COUNTERPOISE_DATA
names; pymanopt runs in an environment of its own, which `unconstrained` makes.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from asking import ask  # noqa: E402

QUESTIONS = (
    "constrained",
    "unconstrained",
    "separation",
    "faces",
    "clusters",
    "speed",
    "growth",
)

if __name__ == "__main__":
    ask("orthogonal", QUESTIONS, __doc__)
