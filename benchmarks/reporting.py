"""Tables as text, bars with their verdicts, and the clock."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

# What this process has told: tables, and parts of a question that were left out.
TABLES: list[dict] = []
LEFT_OUT: list[str] = []


def table(title: str, header: str, rows: Sequence[Sequence[Any]]) -> dict:
    """Print a table, its columns named "a | b", and return it as data."""
    names = header.split(" | ")
    cells = [names, *[[_text(cell) for cell in row] for row in rows]]
    widths = [max(len(row[k]) for row in cells) for k in range(len(names))]
    print(f"\n{title}  (load {load():.1f})")
    for row in cells:
        print("  " + "  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)))
    TABLES.append(
        {
            "title": title,
            "header": names,
            "rows": [list(row) for row in rows],
            "load": load(),
        }
    )
    return TABLES[-1]


def left_out(why: str) -> dict:
    """Say that a question, or a part of it, is not asked, and why.

    Returns the answer of a question that was not asked at all.
    """
    print(f"  left out: {why}", flush=True)
    LEFT_OUT.append(why)
    return {"bars": []}


def bar(what: str, measured: float, most: float | None = None, least: float = -1e300):
    """Print whether a number keeps its bound, and return it as data.

    A bound of `chance` that no share can miss, as of one draw, is no bar: it is printed
    and not judged.
    """
    most = 1e300 if most is None else most
    if (most >= 1e300 and -1e-9 < least < 0) or 1 < most < 1 + 1e-9:
        print(f"  too few draws to judge: {what}: {measured:.4g}", flush=True)
        return {"bar": what, "measured": measured, "judged": False, "holds": True}
    kept = least <= measured <= most
    bound = f"<= {most:g}" if most < 1e300 else f">= {least:g}"
    if least > -1e300 and most < 1e300:
        bound = f"{least:g} to {most:g}"
    verdict = "holds" if kept else "FALLS SHORT"
    print(f"  bar: {what}: {measured:.4g} ({bound}) {verdict}", flush=True)
    return {"bar": what, "measured": measured, "bound": bound, "holds": kept}


def load() -> float:
    """Return the load of the machine, zero where it does not tell."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else 0.0


def timed(function: Callable[[], Any], calls: int = 10, most: float = 1.5):
    """Return the least CPU seconds of some calls, and the last result.

    No call begins after `most` seconds.
    """
    seconds: list[float] = []
    while len(seconds) < calls and sum(seconds) < most:
        began = time.process_time()
        result = function()
        seconds.append(time.process_time() - began)
    return min(seconds), result


@contextmanager
def quietly():
    """Let no warning through: benchmarks provoke them on purpose."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _text(cell: Any) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        whole = cell.is_integer() and abs(cell) < 1e6
        return str(int(cell)) if whole else f"{cell:.3g}"
    return str(cell)
