"""Tables larger than memory: cost, memory, agreement, digests, faults.

python benchmarks/scale/run.py [questions] [--quick]

SCALE_ROWS=1000000,10000000 chooses the sizes of main_job; SCALE_FOLDER a folder for the
tables, which are made there once and kept.
"""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]

from asking import ask  # noqa: E402

QUESTIONS = ("main_job", "weighters", "agreement", "digests", "faults")

if __name__ == "__main__":
    ask("scale", QUESTIONS, __doc__)
