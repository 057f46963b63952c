"""One method at growing sizes, in a process of its own: CPU seconds and memory.

Run as ``python sizes_apart.py method limit answers.json rows,columns ...``; imported by
the questions, which call `grown`. A size is called after the same method on few rows,
which loads and compiles. CPU time and memory are limited by the operating system, so
that a method that does not come back is ended and the sizes before it are kept.
"""

import ctypes
import gc
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1] / "src"
# Rows beside ten columns, and columns beside a thousand rows.
ROWS = (250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
COLUMNS = (2, 5, 10, 25, 50, 100, 200)
QUICK_ROWS, QUICK_COLUMNS = (250, 1_000), (50,)
SECONDS, QUICK_SECONDS = 600.0, 2.0
GIGABYTES = 3.0
# Seconds of loading and compiling: those of the limit, but within these.
LEAST_TO_WARM, MOST_TO_WARM = 10, 30
HEADER = "method | rows | columns | CPU s | MB | ended by"


def grown(methods: list[str], quick: bool, *, python: dict | None = None) -> list:
    """Return a row a method and size: [method, rows, columns, CPU s, MB, ended by].

    A method ends at the first size that passes the limit of time (SECONDS, or LIMIT in
    the environment) or of memory (GIGABYTES); that size has no numbers, and says what
    ended it.

    Parameters
    ----------
    methods : names that `methods_at_hand.METHODS` knows
    quick : bool
        Fewer sizes, and a limit of QUICK_SECONDS.
    python : dict
        The interpreters of those methods that are peers.
    """
    limit = QUICK_SECONDS if quick else float(os.environ.get("LIMIT", SECONDS))
    rows, columns = (QUICK_ROWS, QUICK_COLUMNS) if quick else (ROWS, COLUMNS)
    lines = [[(n, 10) for n in rows], [(1_000, d) for d in columns if d != 10]]
    if quick:  # one process a method
        lines = [lines[0] + lines[1]]
    found = []
    for method in methods:
        interpreter = (python or {}).get(method, sys.executable)
        told = [
            one for line in lines for one in _line(method, line, interpreter, limit)
        ]
        print(f"  {method}: {told[-1]}", flush=True)
        found += [[method, *one] for one in told]
    return found


def _line(method: str, sizes: list, interpreter, limit: float) -> list:
    """Return [rows, columns, CPU s, MB, ended by] of growing sizes, to the last."""
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder) / "answers.json"
        answers.touch()
        words = [interpreter, __file__, method, limit, answers]
        words += [f"{n},{d}" for n, d in sizes]
        ended = subprocess.run(
            [str(word) for word in words],
            capture_output=True,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            check=False,
        )
        told = [json.loads(line) for line in answers.read_text().splitlines()]
    if ended.returncode:
        why = (ended.stderr.strip().splitlines() or [f"code {ended.returncode}"])[-1]
        if -ended.returncode in (signal.SIGXCPU, signal.SIGKILL):
            why = f"{limit:g} s"
        elif "memory allocation" in why:  # compiled code ends the process
            why = f"{GIGABYTES:g} GB"
        told.append([*sizes[len(told)], None, None, why[:80]])
    return told


def _main(method: str, limit: str, answers: str, *sizes: str) -> None:
    warnings.filterwarnings("ignore")
    from methods_at_hand import METHODS

    _warm(METHODS[method](60, int(sizes[0].split(",")[1])), float(limit))
    for words in sizes:
        n, d = map(int, words.split(","))
        told = _measured(METHODS[method](n, d), float(limit))
        with Path(answers).open("a") as file:
            file.write(json.dumps([n, d, *told]) + "\n")
        if told[-1]:
            break


def _warm(call, limit: float) -> None:
    """Load and compile; a method that is slow on few rows, too, is not waited for."""
    ended = []

    def enough(*_):
        ended.append(True)
        raise TimeoutError

    signal.signal(signal.SIGXCPU, enough)
    seconds = min(max(limit, LEAST_TO_WARM), MOST_TO_WARM)
    seconds = int(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))
    try:
        call()
    except Exception:
        if not ended:
            raise
    resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY,) * 2)
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)


def _measured(call, limit: float) -> list:
    """Return CPU seconds, megabytes beside what was held, and what ended a call."""
    held = _forget_the_peak()
    most = _address_space() + int(GIGABYTES * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    began = time.process_time()
    seconds = int(began + limit) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))
    try:
        call()
    except MemoryError:
        return [None, None, f"{GIGABYTES:g} GB"]
    used = time.process_time() - began
    resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY,) * 2)
    if used > limit:
        return [None, None, f"{limit:g} s"]
    return [used, max(0.0, _status("VmHWM") - held), None]


def _forget_the_peak() -> float:
    """Give back what was freed, forget the peak, and return the megabytes held."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _status(name: str) -> float:
    """Return a figure of this process in megabytes; its peak where none is told."""
    try:
        told = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    line = next(one for one in told.splitlines() if one.startswith(f"{name}:"))
    return int(line.split()[1]) / 1024


def _address_space() -> int:
    """Return the bytes of addresses that this process has, zero where unknown."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[0]
    except OSError:
        return 0
    return int(pages) * resource.getpagesize()


if __name__ == "__main__":
    _main(*sys.argv[1:])
