"""How time and memory grow: `python benchmarks/run.py growth [--quick]`.

Every method at growing numbers of rows and of columns, each size in a process of its
own, up to where it ends: a limit of time (ten minutes; with --quick two seconds) or
of memory. Peers run in environments of their own.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from asking import ask  # noqa: E402

QUESTIONS = (
    "weighters",
    "discrepancy_solvers",
    "svm_paths",
    "twin_processes",
    "main_job",
)

if __name__ == "__main__":
    ask("growth", QUESTIONS, __doc__)
