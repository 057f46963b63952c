"""The data card: what went in, counts only."""

from collections import Counter
from typing import Any

from counterpoise.report.figures.drawing import DataTable
from counterpoise.report.record import Record
from counterpoise.report.titled_table import TitledTable
from counterpoise.report.wording import (
    NARROW,
    Cell,
    Name,
    Sentence,
    count,
    joined,
    sentence,
    share,
    whole,
)
from counterpoise.tables.privacy import FEWEST_ROWS_TOLD

# Lines of a long table.
LINES_OF_A_CARD = 50


def seed_of(record: Record) -> Any:
    """Return the seed that everything was drawn by; None where it is not known."""
    seed = record.at("reproduce.options.seed")
    return record.at("reproduce.parameters.random_state") if seed is None else seed


def about_of(record: Record) -> Sentence:
    """Return what the first screen is about: data, label, model, and the date.

    The date is the one that `--date` gave: what a clock says would make another page of
    the same data.
    """
    told = []
    for key, template in (("source", "{} ({} rows)"), ("target", "to {} ({} rows)")):
        file, rows = record.at(f"data.{key}.file"), record.at(f"data.{key}.rows")
        if file and rows is not None:
            rows = count(rows, f"data.{key}.rows")
            told.append(sentence(f"{template}", Name(str(file)), rows))
    data = joined(told)
    label = record.at("reproduce.options.label")
    model, date = record.at("model.type"), record.at("reproduce.options.date")
    parts = [data] if data else []
    if label:
        parts.append(sentence("label {}", Name(str(label))))
    if model:
        parts.append(sentence("model {}", Name(str(model))))
    if date:
        parts.append(sentence("{}", Name(str(date))))
    # A line may end with a dot, and not begin with one.
    return joined(parts, f"{NARROW}· ")


def samples_table(record: Record) -> TitledTable | None:
    """Return the table of both samples, their files and sizes."""
    data = record.at("data")
    if not data:
        return None
    rows: list[tuple[Cell, ...]] = []
    for key, name in (("source", "training data"), ("target", "new data")):
        one = data.get(key) or {}
        known = [one.get(what) for what in ("rows", "duplicates")]
        rows.append(
            (
                name,
                *(
                    None if value is None else count(value, f"data.{key}.{what}")
                    for what, value in zip(("rows", "duplicates"), known, strict=True)
                ),
                Name(one["file"]) if one.get("file") else None,
                f"{one['sha256'][:12]}…" if one.get("sha256") else None,
            )
        )
    header = ("sample", "rows", "duplicates", "file", "SHA-256")
    kept = [k for k in range(len(header)) if any(row[k] is not None for row in rows)]
    return TitledTable(
        "samples",
        "The two samples",
        _about(record),
        DataTable(
            tuple(header[k] for k in kept),
            tuple(tuple(row[k] for k in kept) for row in rows),
            "Duplicates: rows that equal one before them in every column that was used."
            if "duplicates" in (header[k] for k in kept)
            else "",
        ),
    )


def _about(record: Record) -> Sentence:
    told = []
    columns = record.at("data.columns")
    if columns:
        kinds = Counter(str(one.get("kind", "")) for one in columns)
        listed = ", ".join(f"{n:,} of {kind}" for kind, n in kinds.items() if kind)
        told.append(
            sentence(
                f"{len(columns):,} column{'s' if len(columns) > 1 else ''} used{{}}.",
                f": {listed}" if listed else "",
            )
        )
    task = record.at("data.task")
    if task:
        told.append(sentence("Task: {}.", Name(str(task))))
    seed = seed_of(record)
    if isinstance(seed, int):
        path = "reproduce.options.seed"
        if record.at(path) is None:
            path = "reproduce.parameters.random_state"
        told.append(sentence("Seed: {}.", whole(seed, path)))
    return joined(told)


def classes_table(record: Record) -> TitledTable | None:
    """Return the table of the classes."""
    classes = record.at("data.classes")
    if not classes:
        return None
    common = [one for one in classes if one["rows"] >= FEWEST_ROWS_TOLD]
    rare = len(classes) - len(common) + int(record.at("data.rare_classes", 0))
    note = f"{rare} classes of fewer than {FEWEST_ROWS_TOLD} rows are not named."
    rows = tuple(
        (Name(str(one["class"])), count(one["rows"]))
        for one in common[:LINES_OF_A_CARD]
    )
    return TitledTable(
        "classes",
        "Classes of the label",
        (),
        DataTable(("class", "training rows"), rows, note if rare else ""),
        folded=True,
    )


def columns_table(record: Record) -> TitledTable | None:
    """Return the table of the columns and their gaps."""
    columns = record.at("data.columns")
    if not columns:
        return None
    rows = tuple(
        (
            Name(one["name"]),
            Name(str(one.get("kind") or "")) if one.get("kind") else None,
            *(
                None if one.get(key) is None else share(one[key])
                for key in ("missing_source", "missing_target")
            ),
        )
        for one in columns[:LINES_OF_A_CARD]
    )
    note = ""
    if len(columns) > LINES_OF_A_CARD:
        note = f"The first {LINES_OF_A_CARD} of {len(columns):,} columns."
    header = ("column", "holds", "missing in training", "missing in new")
    return TitledTable(
        "columns",
        "Columns: types and missing values",
        (),
        DataTable(header, rows, note),
        folded=True,
    )
