"""What it takes to make the same again: command, environment, inputs, record."""

import shlex
from collections.abc import Mapping
from typing import Any

from counterpoise.report.data_card import LINES_OF_A_CARD, seed_of
from counterpoise.report.figures.drawing import DataTable
from counterpoise.report.record import Record
from counterpoise.report.titled_table import TitledTable
from counterpoise.report.wording import (
    LONGEST_PROSE,
    Cell,
    Command,
    Link,
    Name,
    for_a_person,
    sentence,
)


def again_table(record: Record, record_file: str | None) -> TitledTable | None:
    """Return the table of how to make it again."""
    found = record.at("reproduce", {})
    rows: list[tuple[Cell, ...]] = []
    if found.get("command_line"):
        rows.append(("command", Command(shlex.join(map(str, found["command_line"])))))
    elif found.get("command"):
        said = str(found["command"])
        rows.append(
            ("command", Command(said if " " in said else f"counterpoise {said}"))
        )
    versions = _known(found.get("versions"))
    # What no index has cannot be installed by its name.
    own = ("python", "counterpoise")
    packages = [f"{k}=={v}" for k, v in versions.items() if k not in own]
    if packages:
        rows.append(("environment", Command(shlex.join(["pip", "install", *packages]))))
    if "counterpoise" in versions:
        rows.append(("counterpoise", Name(f"version {versions['counterpoise']}")))
    if "python" in versions:
        where = [f"Python {versions['python']}", found.get("platform")]
        rows.append(("run by", Name(", ".join(str(one) for one in where if one))))
    seed = seed_of(record)
    if seed is not None:
        rows.append(("seed", Name(str(seed))))
    for key, words in (("source", "training data"), ("target", "new data")):
        mark = record.at(f"data.{key}.sha256")
        if mark:
            rows.append((f"SHA-256 of the {words}", Command(str(mark))))
    if record_file is not None:
        rows.append(("record", Link(record_file)))
    if not rows:
        return None
    about = (
        ""
        if not found.get("command_line")
        else ("To be typed in the folder of the tables. ")
    )
    if record_file is not None:
        about += (
            "All numbers of this page are in the record beside it; counterpoise "
            "report makes the page of it again."
        )
    return TitledTable(
        "again",
        "The same again",
        sentence(about) if about else (),
        DataTable(("what", "how"), tuple(rows), prose=True),
        wide=True,
    )


def made_table(record: Record) -> TitledTable | None:
    """Return the table of what made it."""
    found = record.at("reproduce", {})
    rows: list[tuple[Cell, ...]] = [
        (Name(str(key)), Name(_said(value)))
        for group in ("options", "parameters", "versions")
        for key, value in (found.get(group) or {}).items()
        if not _says_nothing(value)
    ]
    if not rows:
        return None
    return TitledTable(
        "reproduction",
        "Options and versions",
        (),
        DataTable(("what", "value"), tuple(rows)),
        folded=True,
    )


def notices_table(record: Record) -> TitledTable | None:
    """Return the table of what the user was told on the way."""
    notices = [*(record.at("notices") or []), *(record.at("conditions") or [])]
    if not notices:
        return None
    told = [for_a_person(str(one)) for one in notices[:LINES_OF_A_CARD]]
    rows = tuple((Name(one, LONGEST_PROSE),) for one in told)
    return TitledTable(
        "notices", "Notices", (), DataTable(("while it was made",), rows)
    )


def _known(versions: Any) -> dict[str, str]:
    found = versions if isinstance(versions, Mapping) else {}
    return {str(key): str(value) for key, value in found.items() if value is not None}


def _says_nothing(value: Any) -> bool:
    # Zero says something, and equals False.
    return value is None or value is False or value in ("", [])


def _said(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)
