"""The page of a watch in words: what stands, what to do, every chunk."""

from typing import Any

from counterpoise.report.answers import CARE, GOOD, PLAIN
from counterpoise.report.figures.drawing import DataTable
from counterpoise.report.key_numbers import KeyNumber
from counterpoise.report.metric_names import metric_in_words
from counterpoise.report.record import Record
from counterpoise.report.titled_table import TitledTable
from counterpoise.report.wording import (
    LONGEST_PROSE,
    Cell,
    Link,
    Name,
    Sentence,
    figures,
    sentence,
    share,
    whole,
)

_KINDS = {
    "inputs": "the inputs have changed",
    "risk": "the measured risk has risen",
    "estimate": "the estimated risk has risen",
}
_CHUNKS_SHOWN = 60


def watch_title(section: dict[str, Any]) -> tuple[str, str]:
    """Return the tone and the title of the first screen."""
    alarms = section["alarms"]
    if not section["history"]:
        return PLAIN, "Nothing has been watched yet."
    if not alarms:
        return GOOD, "No alarm: nothing shows that the model's world has changed."
    told = " and ".join(_KINDS[alarm["kind"]] for alarm in alarms)
    return CARE, f"Alarm: {told}."


def watch_lead(section: dict[str, Any]) -> Sentence:
    """Return what the alarms promise."""
    return sentence(
        "After {} looks. A false alarm, of any kind and over all looks however many, "
        "has a probability of at most {}.",
        whole(float(section["n_looks"])),
        share(section["alarm"]),
    )


def watch_numbers(section: dict[str, Any]) -> tuple[KeyNumber, ...]:
    """Return the last estimate and the last score from labels."""
    metric = section["metrics"][0]
    words = metric_in_words(metric).name
    rows = [row for row in section["history"] if row["metric"] == metric]
    found = []
    for key, label in (
        ("estimated", "estimated without labels"),
        ("realised", "from labels"),
    ):
        known = [row for row in rows if row.get(key) is not None]
        if known:
            last = known[-1]
            found.append(
                KeyNumber(
                    f"{words}, {label}",
                    figures(last[key]),
                    sentence("at {}", Name(str(last["time"]))),
                    sentence(
                        "{} on the reference", figures(section["reference"][metric])
                    ),
                )
            )
    return tuple(found)


def watch_steps(section: dict[str, Any]) -> tuple[Sentence, ...]:
    """Return what each alarm advises."""
    return tuple(
        sentence("{}", Name(alarm["advice"].capitalize(), LONGEST_PROSE))
        for alarm in section["alarms"]
    )


def alarms_table(record: Record) -> TitledTable | None:
    """Return every alarm: what, when, since when, how sure, which columns."""
    section = record.at("watch")
    if section is None or not section["alarms"]:
        return None
    rows: list[tuple[Cell, ...]] = []
    for alarm in section["alarms"]:
        evidence = alarm["evidence"]
        sure: Cell = Name("")
        if "e_value" in evidence:
            odds, needed = evidence["e_value"], evidence["needed"]
            sure = Name(f"odds of {odds:.3g} to 1, needed {needed:.3g}")
        elif evidence.get("low") is not None:
            sure = Name(f"risen by at least {evidence['low']:.3g}")
        rows.append(
            (
                _KINDS[alarm["kind"]],
                Name(str(alarm["time"])),
                Name(str(alarm["since"])),
                sure,
                Name(", ".join(alarm["columns"]) or "none"),
            )
        )
    header = ("alarm", "raised at", "since about", "how sure", "columns")
    about = sentence("Each kind is raised once: after it, adapt and watch anew.")
    data = DataTable(header, tuple(rows), prose=True)
    return TitledTable("watch-alarms", "Alarms", about, data, wide=True, in_text=True)


def chunks_table(record: Record) -> TitledTable | None:
    """Return every chunk, the last first, with its own report where there is one."""
    section = record.at("watch")
    if section is None or not section["history"]:
        return None
    metric = section["metrics"][0]
    own = [row for row in section["history"] if row["metric"] == metric][::-1]
    rows: list[tuple[Cell, ...]] = []
    for row in own[:_CHUNKS_SHOWN]:
        rows.append(
            (
                Link(row["report"]) if row.get("report") else Name(str(row["time"])),
                Name(str(row["time"])),
                whole(float(row["n_rows"])),
                None if row.get("estimated") is None else figures(row["estimated"]),
                None if row.get("realised") is None else figures(row["realised"]),
                None if row.get("covered") is None else share(row["covered"]),
                Name(row["notes"], LONGEST_PROSE) if row.get("notes") else None,
            )
        )
    header = ("chunk", "time", "rows", "estimated", "from labels", "covered", "said")
    note = ""
    if len(own) > _CHUNKS_SHOWN:
        note = f"The last {_CHUNKS_SHOWN} of {len(own):,} chunks."
    data = DataTable(header, tuple(rows), note)
    about = sentence("The last first.")
    return TitledTable("watch-chunks", "Chunk by chunk", about, data, wide=True)
