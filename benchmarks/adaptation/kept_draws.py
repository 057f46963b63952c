"""Draws that are made once: a long benchmark goes on where it was interrupted.

They lie in out/benchmarks/, in a folder for each state of the library and of the
questions here: what has changed is measured anew.
"""

import hashlib
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "out" / "benchmarks"


@cache
def _state() -> str:
    """Return a digest of the library and of this folder."""
    digest = hashlib.sha256()
    files = [*(ROOT / "src").rglob("*.py"), *Path(__file__).parent.glob("*.py")]
    for path in sorted(files):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def kept_draw(benchmark: str, name: str, make: Callable[[], Any]) -> Any:
    """Return a draw from its file, made and written first if there is none."""
    path = FOLDER / f"{benchmark}-{_state()}" / f"{name}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(make(), default=float))
        partial.replace(path)
        print(f"  {benchmark}: draw {name}", flush=True)
    return json.loads(path.read_text())
