"""Watching a deployed model: false alarms, delays, estimates by month, size.

python benchmarks/watch/run.py [questions] [--quick]
"""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]

from asking import ask  # noqa: E402

QUESTIONS = ("no_change", "delay", "beside", "real_streams", "size")

if __name__ == "__main__":
    ask("watch", QUESTIONS, __doc__)
