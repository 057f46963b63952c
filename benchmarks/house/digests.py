"""Tell whether answers have changed: `digests.py write FILE`, `compare OLD NEW`.

`write` asks the public names and the command line for some hundred answers and keeps
a digest, the numbers and the text of each; `--only WORD` asks those whose name has it.
`compare` ends with code 1 if an answer differs by more than 1e-9 of its scale.
"""

import os

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "BLIS", "VECLIB_MAXIMUM"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"
os.environ["MPLBACKEND"] = "Agg"

import argparse  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402

TOLERANCE = 1e-9
GROUPS = (
    "answers_weights",
    "answers_measures",
    "answers_convex",
    "answers_learners",
    "answers_adaptation",
    "answers_report",
    "answers_refusals",
    "answers_commands",
)


def write(path: Path, only: str) -> int:
    """Ask every question, write the answers and return the exit code."""
    sys.path.insert(0, str(Path(__file__).parent))
    from importlib import import_module

    for group in GROUPS:
        import_module(group)
    from registry import ANSWERS, kept

    out, slow = {}, []
    for name in ANSWERS:
        if only in name:
            began = time.process_time()
            out[name] = kept(name)
            slow.append((time.process_time() - began, name))
    path.write_text(json.dumps(out, indent=0))
    failed = [name for name, entry in out.items() if _failure(entry)]
    for name in failed:
        print(f"failed: {name}: {_failure(out[name])}")
    for seconds, name in sorted(slow, reverse=True)[:5]:
        print(f"{seconds:6.1f} s  {name}")
    print(f"{len(out)} answers, {sum(s for s, _ in slow):.0f} s, {len(failed)} failed")
    return 1 if failed else 0


def _failure(entry: dict) -> str:
    first = entry["values"]["text"][0]
    return first if first.startswith("answer: FAILED") else ""


def compare(old: Path, new: Path) -> int:
    """Print how every answer of two files differs and return the exit code."""
    before, after = (json.loads(path.read_text()) for path in (old, new))
    counts = dict.fromkeys(("equal", "within 1e-9", "different", "missing", "new"), 0)
    for name in [*before, *(name for name in after if name not in before)]:
        verdict, why = _judged(before.get(name), after.get(name))
        counts[verdict] += 1
        if verdict != "equal":
            print(f"{verdict:12} {name}{': ' if why else ''}{why}")
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return 1 if counts["different"] or counts["missing"] else 0


def _judged(old: dict | None, new: dict | None) -> tuple[str, str]:
    if old is None:
        return "new", ""
    if new is None:
        return "missing", ""
    if old["digest"] == new["digest"]:
        return "equal", ""
    was, now = old["values"], new["values"]
    for first, second in zip(was["text"], now["text"], strict=False):
        if first != second:
            return "different", f"\n    - {_around(first, second)}"
    if len(was["text"]) != len(now["text"]):
        return "different", f"{len(was['text'])} and {len(now['text'])} lines"
    a, b = (np.array(one["numbers"], dtype=float) for one in (was, now))
    if len(a) != len(b):
        return "different", f"{len(a)} and {len(b)} numbers"
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return "different", "other numbers are infinite or missing"
    finite = np.isfinite(a)
    apart = np.abs(a[finite] - b[finite])
    # Each number against its own size; what is tiny in its answer, against that.
    sizes = np.abs(a[finite])
    scale = np.maximum(sizes, min(1.0, np.max(sizes, initial=1e-300)))
    share = float(np.max(apart / scale, initial=0.0))
    told = f"largest difference {np.max(apart, initial=0.0):.3g}, relative {share:.3g}"
    return ("within 1e-9" if share <= TOLERANCE else "different"), told


def _around(first: str, second: str) -> str:
    """Return the place where two lines part, with some of what is around it."""
    both = zip(first, second, strict=False)
    k = next(
        (k for k, (a, b) in enumerate(both) if a != b), min(map(len, (first, second)))
    )
    begin = max(0, k - 60)
    return f"{first[begin : k + 80]}\n    + {second[begin : k + 80]}"


def main() -> int:
    """Run the command line and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write")
    writing.add_argument("file", type=Path)
    writing.add_argument("--only", default="")
    comparing = commands.add_parser("compare")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    given = parser.parse_args()
    if given.command == "write":
        return write(given.file, given.only)
    return compare(given.old, given.new)


if __name__ == "__main__":
    sys.exit(main())
