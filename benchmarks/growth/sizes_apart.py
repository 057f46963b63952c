"""One method at one size, in a process of its own: CPU seconds and memory.

Run as ``python sizes_apart.py method rows columns answer.json``; imported by the
questions, which call `grown`.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1] / "src"
# Rows beside ten columns, and columns beside a thousand rows.
ROWS = (250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
COLUMNS = (2, 5, 10, 25, 50, 100, 200)
QUICK_ROWS, QUICK_COLUMNS = (250, 1_000), (2, 50)


def grown(methods: list[str], quick: bool, *, python: dict | None = None) -> list:
    """Return a row a method and size: [method, rows, columns, CPU s, MB].

    A method ends at the first size that takes longer than the limit; that size has no
    numbers.

    Parameters
    ----------
    methods : names that `methods_at_hand.METHODS` knows
    quick : bool
        Fewer sizes, and a limit of 5 s in place of 600 s.
    python : dict
        The interpreters of those methods that are peers.
    """
    limit = 5.0 if quick else 600.0
    rows, columns = (QUICK_ROWS, QUICK_COLUMNS) if quick else (ROWS, COLUMNS)
    found = []
    for method in methods:
        interpreter = (python or {}).get(method, sys.executable)
        sizes = [[(n, 10) for n in rows], [(1_000, d) for d in columns if d != 10]]
        for line in sizes:
            for n, d in line:
                seconds, megabytes = _measured(method, n, d, interpreter, limit)
                found.append([method, n, d, seconds, megabytes])
                if seconds is None:
                    break
    return found


def _measured(method, n, d, interpreter, limit):
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        command = [interpreter, __file__, method, n, d, answer]
        environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
        try:
            # Starting up takes some seconds of its own, more on a loaded machine.
            ended = subprocess.run(
                [str(word) for word in command],
                timeout=4 * limit + 60,
                capture_output=True,
                text=True,
                env=environment,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None, None
        if ended.returncode or not answer.exists():
            last = (ended.stderr.strip().splitlines() or ["no message"])[-1]
            print(f"  {method}, {n} x {d}: {last}", flush=True)
            return None, None
        told = json.loads(answer.read_text())
    if told["seconds"] > limit:
        return None, None
    return told["seconds"], told["megabytes"]


def _main(method: str, n: str, d: str, answer: str) -> None:
    warnings.filterwarnings("ignore")
    from methods_at_hand import METHODS

    call = METHODS[method](int(n), int(d))
    small = METHODS[method](60, int(d))
    small()  # compile, and load what is needed
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    call()
    told = {
        "seconds": time.process_time() - began,
        "megabytes": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        / 1024,
    }
    Path(answer).write_text(json.dumps(told))


if __name__ == "__main__":
    _main(*sys.argv[1:])
