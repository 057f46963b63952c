"""A command in a process of its own: CPU seconds and the memory of the largest."""

import os
import subprocess
import sys
import time


def measured(arguments: list[str], **more) -> dict:
    """Return exit code, CPU seconds, wall seconds and peak MB of a Python command."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **more,
    )
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return {
        "code": process.returncode,
        "cpu": used.ru_utime + used.ru_stime,
        "wall": time.perf_counter() - began,
        "megabytes": used.ru_maxrss / 1024,
        "said": said,
    }
