"""The committed summary of answers, from which the site's page of results is made.

docs/results/<topic>.json holds of every answer what it asks, its bars, its tables, its
cost, versions, machine, commit, peers and data; nothing else, so that it stays small.
A full answer is taken before a quick one.
"""

import json
import math
from pathlib import Path

from asking import ROOT, Question, questions

RESULTS = ROOT / "docs" / "results"
# Rows of a table, and digits of a number, that are kept; the pictures of growth are
# drawn from every row.
MOST_ROWS, DIGITS = 60, 4
DRAWN, MOST_DRAWN = "growth.", 400
KEPT = ("told", "quick", "status", "reason", "commit", "versions", "machine", "seeds")


def summarize(wanted: list[Question], folder: Path = RESULTS) -> int:
    """Write the summary of every topic that has answers; keep those of others.

    What was kept of a question that is no longer there is left out.
    """
    folder.mkdir(exist_ok=True)
    topics = sorted({one.topic for one in wanted})
    for topic in topics:
        path = folder / f"{topic}.json"
        kept = json.loads(path.read_text()) if path.exists() else {}
        there = {one.name for one in questions() if one.topic == topic}
        kept = {name: told for name, told in kept.items() if name in there}
        for one in wanted:
            if one.topic == topic:
                answer = _answer(one)
                if answer is not None:
                    kept[one.name] = summary(answer)
        if kept:
            path.write_text(json.dumps(kept, indent=1) + "\n")
            print(f"{path.relative_to(ROOT)}: {len(kept)} answers")
    return 0


def summary(answer: dict) -> dict:
    """Return what is kept of an answer."""
    most = MOST_DRAWN if answer["name"].startswith(DRAWN) else MOST_ROWS
    short = {name: answer[name] for name in KEPT if name in answer}
    short["cpu"] = _rounded(answer.get("cpu", 0.0))
    short["megabytes"] = _rounded(answer.get("megabytes", 0.0))
    short["peers"] = sorted(answer.get("peers", {}))
    short["data"] = answer.get("data", [])
    short["bars"] = [
        {**one, "measured": _rounded(one["measured"])} for one in answer.get("bars", [])
    ]
    short["tables"] = [
        {
            "title": one["title"],
            "header": one["header"],
            "rows": [[_rounded(cell) for cell in row] for row in one["rows"]][:most],
            "more": max(0, len(one["rows"]) - most),
        }
        for one in answer.get("tables", [])
    ]
    return short


def _answer(one: Question) -> dict | None:
    for quick in (False, True):
        path = one.answer_file(quick)
        if path.exists():
            return json.loads(path.read_text())
    return None


def _rounded(value):
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if not math.isfinite(value):
        return str(value)
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
