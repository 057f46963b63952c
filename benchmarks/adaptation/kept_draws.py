"""Draws that are made once: a long benchmark goes on where it was interrupted.

They lie in out/benchmarks/; who changes what they measure deletes them.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "out" / "benchmarks"


def kept_draw(benchmark: str, name: str, make: Callable[[], Any]) -> Any:
    """Return a draw from its file, made and written first if there is none."""
    path = FOLDER / benchmark / f"{name}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(make(), default=float))
        partial.replace(path)
        print(f"  {benchmark}: draw {name}", flush=True)
    return json.loads(path.read_text())
