"""Records for the tests: the committed ones, and variations of them."""

import json
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from counterpoise.report import Page, render

RECORDS = Path(__file__).with_name("records")

# What people, or enemies of theirs, call columns, categories, classes and files.
HOSTILE = (
    "</script><script>window.executed = 1</script>",
    '"><img src=x onerror="window.executed = 1">',
    "' onmouseover='window.executed = 1",
    "<svg onload=window.executed=1>",
    "</svg><script>window.executed=1</script>",
    "javascript:window.executed=1",
    "{{ 7 * 7 }}",
    "{% raw %}{{ self }}",
    r"$\frac{1}{",
    r"$\frac{1}{$",
    "price in $ (US$)",
    "a\x00b\x07\x1b[2J\x1b[31m",
    "\u202egnirts\u202c",
    "x" * 10_000,
    "",
    "   ",
    "line\nbreak\r\ttab",
    "__proto__",
    "../../etc/passwd",
    "Cafe\u0301",
    "Caf\u00e9",
    "CAFE",
    "<!-- --><![CDATA[ ]]>&amp;&lt;",
    "\ud800 half a pair",
    "数据 بيانات 🧪",
    "</style><style>*{display:none}",
    "--><b>",
    "\\N{BULLET} %s %(x)s {0}",
)


def full() -> dict[str, Any]:
    """Return a record that has every section."""
    text = (RECORDS / "adapted.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def complete() -> dict[str, Any]:
    """Return the record of a run that has the newer parts of sections as well."""
    text = (RECORDS / "complete.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def hostile(found: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a record with every name in it turned against the page."""
    found = deepcopy(full() if found is None else found)

    def renamed(rows: list[dict[str, Any]], key: str, first: int = 0) -> None:
        for k, row in enumerate(rows):
            row[key] = HOSTILE[(first + k) % len(HOSTILE)]

    data, shift = found["data"], found["shift"]
    renamed(shift["features"], "name")
    renamed(data["columns"], "name")
    data["classes"] = [{"class": name, "rows": 9} for name in HOSTILE]
    data["source"]["file"], data["target"]["file"] = HOSTILE[1], HOSTILE[17]
    renamed(found["balance"]["features"], "name")
    renamed(found["weights"]["candidates"], "candidate", first=14)
    shift["dropped"] = {name: name for name in HOSTILE}
    shift["uncovered_rows"] = {
        "n_rows": 99,
        "n_scored": 200,
        "note": HOSTILE[0],
        "columns": [
            {
                "name": name,
                "kind": "categories",
                "effect": 1.0,
                "shares": [{"category": name, "share": 0.5, "source_share": 0.1}],
            }
            for name in HOSTILE
        ],
    }
    found["notices"] = list(HOSTILE)
    lines = (
        {"command_line": list(HOSTILE)} if "command_line" in found["reproduce"] else {}
    )
    found["reproduce"] = {
        **lines,
        "command": HOSTILE[0],
        "options": {name: name for name in HOSTILE},
        "versions": {name: name for name in HOSTILE},
    }
    found["guard"]["metric"] = HOSTILE[8]
    found["headline"]["metric"] = HOSTILE[1]
    for promise in found["guarantees"]:
        promise["what"] = HOSTILE[0]
    performance = found["performance"]
    first = next(iter(performance["metrics"].values()))
    first["metric"] = HOSTILE[8]
    for estimate in ("source", "weighted"):
        first[estimate]["assumption"] = HOSTILE[1]
    performance["metrics"] = {HOSTILE[1]: first}
    slices = performance.get("slices") or {"columns": []}
    slices["metric"] = HOSTILE[1]
    for column in (*found["balance"].get("worst", []), *slices["columns"]):
        column["name"] = HOSTILE[(9 + len(column["parts"])) % len(HOSTILE)]
        column["kind"] = HOSTILE[3]
        shape = {key: one for key, one in column["parts"][0].items() if key != "part"}
        column["parts"] += [
            {**shape, "part": "category", "category": name} for name in HOSTILE
        ]
    if "command_line" in found["reproduce"]:
        found["reproduce"]["platform"] = HOSTILE[0]
    return found


@cache
def full_page() -> Page:
    """Return the page of the full record."""
    return render(full())


@cache
def hostile_page() -> Page:
    """Return the page of the hostile record."""
    return render(hostile())


@cache
def complete_page() -> Page:
    """Return the page of the newer record, beside its record."""
    return render(complete(), record_file="report.json")


@cache
def hostile_complete_page() -> Page:
    """Return the page of the newer record turned hostile, its file's name too."""
    return render(hostile(complete()), record_file=HOSTILE[5])


def wide(n_columns: int) -> dict[str, Any]:
    """Return the full record with many columns."""
    found = full()
    for rows in (
        found["shift"]["features"],
        found["data"]["columns"],
        found["balance"]["features"],
    ):
        rows[:] = [
            {
                **rows[k % len(rows)],
                "name": f"measurement number {k}",
                "effect": 1 / (1 + k),
            }
            for k in range(n_columns)
        ]
    found["balance"]["columns"] = n_columns
    return found


def complete_and_wide(n_columns: int) -> dict[str, Any]:
    """Return the newer record with many columns."""
    return {**complete(), **wide(n_columns), "performance": complete()["performance"]}
