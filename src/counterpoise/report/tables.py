"""Tables of the report."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from counterpoise.performance.result import SURPRISING_P_VALUE
from counterpoise.report.figures.canvas import DataTable, Drawing, TitledTable
from counterpoise.report.figures.methods import (
    classes_drawing,
    convergence_drawing,
    overruled_table,
    path_drawing,
    roc_drawing,
    spectrum_drawing,
    validation_drawing,
)
from counterpoise.report.figures.monitor import monitor_drawings
from counterpoise.report.figures.performance import (
    ESTIMATE_NAMES,
    calibration_drawing,
    performance_drawing,
    slices_drawing,
)
from counterpoise.report.figures.weights import (
    balance_drawing,
    clipping_drawing,
    overlap_drawing,
    weights_drawing,
    worst_columns_drawing,
)
from counterpoise.report.formatting import (
    LONGEST_PROSE,
    Cell,
    Command,
    Link,
    Name,
    chance,
    count,
    figures,
    for_a_person,
    sentence,
    share,
    unbroken,
    value_in_words,
)
from counterpoise.report.key_questions import is_contradicted
from counterpoise.report.report import Record, metric_in_words
from counterpoise.report.verdict import (
    LINES_OF_A_CARD,
    alerts_table,
    chunks_table,
    classes_table,
    columns_table,
    samples_table,
    seed_of,
)
from counterpoise.shift.diagnosis_text import percentage, points

# -----------------------------------------------------------------------------
# What it takes to make the same again: command, environment, inputs, record.
# -----------------------------------------------------------------------------


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


# -----------------------------------------------------------------------------
# The tables of the page: what pictures do not show.
# -----------------------------------------------------------------------------


# Features in the table, those that moved most.
FEATURES_LISTED = 50


def features_table(record: Record) -> TitledTable | None:
    """Return the table of how far each column has moved."""
    features = record.at("shift.features")
    if not features:
        return None
    order = sorted(
        range(len(features)), key=lambda k: -(features[k].get("effect") or 0.0)
    )
    rows = tuple(_feature(features[k]) for k in order[:FEATURES_LISTED])
    note = ""
    if len(features) > FEATURES_LISTED:
        note = f"The {FEATURES_LISTED} columns of {len(features):,} that moved most."
    header, rows = _without_empty(
        (
            "column",
            "effect (SD)",
            "mean (SD)",
            "distance (0 to 1)",
            "chance",
            "missing (points)",
            "new values (%)",
        ),
        rows,
    )
    return TitledTable(
        "features",
        "Column by column",
        sentence(
            "How far each column has moved, largest first, in standard deviations "
            "(SD); an effect below 0.1 is hardly worth a thought. Mean: by how much "
            "the average moved. Distance: the largest gap between the two "
            "distributions. Chance: how likely such a gap is if nothing had moved, "
            "corrected for the number of columns (Holm)."
        ),
        DataTable(header, rows, note),
        in_text=True,
    )


def _feature(one: dict[str, Any]) -> tuple[Cell, ...]:
    distance = one.get("ks")
    if distance is None:
        distance = one.get("total_variation")
    more = (one.get("target_missing") or 0.0) - (one.get("source_missing") or 0.0)
    new = one.get("new_share") or 0.0
    return (
        Name(one["name"]),
        _optional(one.get("effect"), figures),
        _optional(one.get("smd"), figures),
        _optional(distance, figures),
        _optional(one.get("adjusted_p_value"), chance),
        points(more) if more else None,
        percentage(new).removesuffix(" %") if new else None,
    )


def _without_empty(
    header: tuple[str, ...], rows: tuple[tuple[Cell, ...], ...]
) -> tuple[tuple[str, ...], tuple[tuple[Cell, ...], ...]]:
    """Return a table without the columns that have nothing in them."""
    kept = [
        k for k in range(len(header)) if any(row[k] not in (None, "") for row in rows)
    ]
    return (
        tuple(header[k] for k in kept),
        tuple(tuple(row[k] for k in kept) for row in rows),
    )


def dropped_table(record: Record) -> TitledTable | None:
    """Return the table of the columns that could not be compared."""
    dropped = record.at("shift.dropped")
    if not dropped:
        return None
    rows = tuple(
        (Name(name), Name(reason, LONGEST_PROSE)) for name, reason in dropped.items()
    )
    return TitledTable(
        "dropped",
        "Left out",
        sentence("Columns that could not be compared."),
        DataTable(("column", "why"), rows),
    )


def uncovered_rows_table(record: Record) -> TitledTable | None:
    """Return the table of what sets thinly covered rows apart."""
    uncovered_fraction = record.at("shift.uncovered_rows")
    if not uncovered_fraction or not uncovered_fraction.get("n_rows"):
        return None
    about = sentence(
        "{} of {} new rows that were scored lie where there are next to no training "
        "rows. What sets them apart, between their 5 % and 95 % marks: ",
        count(uncovered_fraction["n_rows"], "shift.uncovered_rows.n_rows"),
        count(uncovered_fraction["n_scored"], "shift.uncovered_rows.n_scored"),
    )
    rows = tuple(
        _uncovered_column(one) for one in uncovered_fraction.get("columns", [])
    )
    note = uncovered_fraction.get("note", "")
    if not rows:
        about = (*about[:-1], " new rows that were scored are thinly covered.")
    return TitledTable(
        "uncovered_fraction",
        "Who is thinly covered",
        about,
        DataTable(("column", "these rows", "training rows"), rows, note, prose=True),
        in_text=True,
    )


def _uncovered_column(one: dict[str, Any]) -> tuple[Cell, ...]:
    if one.get("shares"):
        these = ", ".join(
            f"{Name(part['category'])} {share(part['share'])}" for part in one["shares"]
        )
        there = ", ".join(
            f"{Name(part['category'])} {share(part['source_share'])}"
            for part in one["shares"]
        )
        return Name(one["name"]), Name(these, LONGEST_PROSE), Name(there, LONGEST_PROSE)
    return (
        Name(one["name"]),
        _range(one, "low", "high", "missing"),
        _range(one, "source_low", "source_high", "source_missing"),
    )


def _range(one: dict[str, Any], *keys: str) -> str:
    low, high, missing = (one.get(key) for key in keys)
    said = []
    if low is not None and high is not None:
        kind = one.get("kind", "")
        ends = " to ".join(value_in_words(end, kind, 4) for end in (low, high))
        said.append(unbroken(ends, kind))
    if missing:
        said.append(f"{share(missing)} missing")
    return ", ".join(said) or "-"


def covered_part_table(record: Record) -> TitledTable | None:
    """Return the table of the estimates for the covered part."""
    covered = record.at("performance.covered")
    if not covered or not covered.get("metrics") or covered.get("share") == 1.0:
        return None
    if is_contradicted(record):
        # It rests on what labelled rows have shown to be wrong.
        return None
    rows = tuple(
        (
            f"{metric_in_words(metric).name}, {ESTIMATE_NAMES[kind]}",
            figures(one[kind]["value"], digits=4),
            _optional(one[kind].get("low"), figures),
            _optional(one[kind].get("high"), figures),
        )
        for metric, one in covered["metrics"].items()
        for kind in ESTIMATE_NAMES
        if one.get(kind) and one[kind].get("value") is not None
    )
    return TitledTable(
        "covered",
        "The score on the covered part",
        sentence(
            "The same estimates for the {} of the new data that training data cover.",
            share(covered["share"], "performance.covered.share"),
        ),
        DataTable(("estimate", "value", "low", "high"), rows),
        in_text=True,
    )


def label_check_table(record: Record) -> TitledTable | None:
    """Return the table of what labelled new rows say."""
    metrics = record.at("performance.metrics", {})
    rows = tuple(
        (
            Name(metric_in_words(metric).name),
            count(check["n_labelled"]),
            _optional(check["difference"], figures),
            _optional(check["error"], figures),
            chance(check["p_value"]),
        )
        for metric, one in metrics.items()
        if (check := one.get("check")) is not None
    )
    if not rows:
        return None
    header = ("score", "labelled rows", "difference", "standard error", "chance")
    return TitledTable(
        "labelled",
        "What labelled new rows say",
        sentence(
            "Whether a row still means the same label can only be seen from labels. A "
            f"small chance (below {SURPRISING_P_VALUE:g}) says that it does not: then "
            "the estimates above mislead. It counts the mean loss, whose difference "
            "stands here, and labels that differ from the predictions in the mean, "
            "along the prediction or along a column."
        ),
        DataTable(header, rows),
    )


def sets_table(record: Record) -> TitledTable | None:
    """Return the table of how large sets and intervals are."""
    sets = record.at("performance.sets")
    if not sets:
        return None
    at = "performance.sets"
    promise = share(sets["level"], f"{at}.level")
    rows: list[tuple[Cell, ...]] = []
    if sets["kind"] == "sets":
        about = sentence(
            "For every new row the model can name a set of classes that holds the true "
            "one {} of the time. Small sets say much; a set of all classes says that "
            "nothing is known. Looked at: {} new rows.",
            promise,
            count(sets["rows"], f"{at}.rows"),
        )
        rows = [
            (
                "classes in a set, on the average",
                figures(sets["mean_size"], f"{at}.mean_size"),
            ),
            ("of so many classes", count(sets["classes"], f"{at}.classes")),
            ("rows with one class alone", share(sets["single"], f"{at}.single")),
            ("rows with all classes", share(sets["infinite"], f"{at}.infinite")),
        ]
    else:
        about = sentence(
            "For every new row the model can give an interval that holds the true "
            "value {} of the time. Where training data say too little about a row its "
            "interval is infinite. Looked at: {} new rows.",
            promise,
            count(sets["rows"], f"{at}.rows"),
        )
        rows = [
            (words, _optional(sets[key], figures, f"{at}.{key}"))
            for words, key in (
                ("width, on the average", "mean_width"),
                ("width, half are narrower", "median_width"),
                (
                    "for comparison: the same share of all training labels",
                    "labels_width",
                ),
            )
        ]
        rows.append(("infinite intervals", share(sets["infinite"], f"{at}.infinite")))
    return TitledTable(
        "sets",
        "How sure can the model be of a single row?",
        about,
        DataTable(("what", "value"), tuple(rows)),
    )


def guarantees_table(record: Record) -> TitledTable | None:
    """Return the table of what is promised, and on what it rests."""
    promises = record.at("guarantees")
    if not promises:
        return None
    rows = tuple(
        (Name(one["what"]), Name(one["assumes"]), Name(one["breaks"]))
        for one in promises
    )
    return TitledTable(
        "promises",
        "Promises",
        (),
        DataTable(("promise", "if", "but"), _long(rows), prose=True),
        wide=True,
    )


def _long(rows: tuple[tuple[Name, ...], ...]) -> tuple[tuple[Cell, ...], ...]:
    """Return sentences of our own, which are not cut like names."""
    return tuple(
        tuple(f"{name.text[:1].upper()}{name.text[1:]}" for name in row) for row in rows
    )


def _optional(value: Any, show: Any, *arguments: Any) -> Any:
    return None if value is None else show(value, *arguments)


# -----------------------------------------------------------------------------
# The chapters of the page: what each shows, from which parts of the record.
#
# Adding to the report: data in `sections/`, a picture in `figures/` or a table in
# `tables.py`, and its name in a chapter here.
# -----------------------------------------------------------------------------


Draw = Callable[[Record], Drawing | None]
Tell = Callable[[Record], TitledTable | None]


@dataclass(frozen=True)
class Chapter:
    """A chapter of the page.

    Attributes
    ----------
    name : str
        Its place on the page.
    title, about : str
    drawings : tuple of callables
        Each gets the record and returns a `Drawing`, or None where there is nothing.
    tables : tuple of callables
        Each gets the record and returns a `TitledTable`, or None.
    linking : callable or None
        Makes a first table, with a link to the record's file where it has one.
    """

    name: str
    title: str
    about: str
    drawings: tuple[Draw, ...] = ()
    tables: tuple[Tell, ...] = ()
    linking: Callable[[Record, str | None], TitledTable | None] | None = None

    def drawn(self, record: Record) -> list[Drawing]:
        """Return the pictures that the record has something for."""
        return [one for draw in self.drawings if (one := draw(record)) is not None]

    def tables_of(
        self, record: Record, record_file: str | None = None
    ) -> list[TitledTable]:
        """Return the tables that the record has something for."""
        found = [tell(record) for tell in self.tables]
        if self.linking is not None:
            found.insert(0, self.linking(record, record_file))
        return [one for one in found if one is not None]


CHAPTERS = (
    Chapter(
        "monitor",
        "Over time",
        "A deployed model, chunk after chunk: the alerts hold over all looks together.",
        monitor_drawings(),
        (alerts_table, chunks_table),
    ),
    Chapter(
        "shift",
        "What has shifted",
        "A shift is a difference between the rows a model was trained on and those it "
        "will meet.",
        (roc_drawing, spectrum_drawing),
        (features_table, dropped_table),
    ),
    Chapter(
        "cover",
        "What is covered",
        "A model can only be trusted where it has seen rows like those it is asked "
        "about.",
        (overlap_drawing,),
        (uncovered_rows_table,),
    ),
    Chapter(
        "classes",
        "Which classes there are",
        "New data may have only some of the classes that a model was trained on; the "
        "others are better left out.",
        (classes_drawing,),
        (overruled_table,),
    ),
    Chapter(
        "weights",
        "The weights",
        "Weighting lets training rows that resemble the new data count more, so that "
        "the training data stand in for the new.",
        (
            weights_drawing,
            balance_drawing,
            clipping_drawing,
            worst_columns_drawing,
        ),
    ),
    Chapter(
        "choice",
        "What was tried and proved",
        "Nothing here is taken on trust: what was chosen was judged on held-out rows, "
        "and what was computed comes with a proof.",
        (
            validation_drawing,
            path_drawing,
            convergence_drawing,
        ),
    ),
    Chapter(
        "model",
        "The model on the new data",
        "Estimates of a score that could only be measured with labels of the new data.",
        (
            performance_drawing,
            calibration_drawing,
            slices_drawing,
        ),
        (covered_part_table, label_check_table, sets_table),
    ),
    Chapter(
        "guarantees",
        "What is promised",
        "What each result rests on, and what would break it.",
        tables=(guarantees_table,),
    ),
    Chapter(
        "data",
        "The data",
        "What went in: counts only, never a row.",
        tables=(samples_table, classes_table, columns_table),
    ),
    Chapter(
        "reproduce",
        "Make it again",
        "The same input and seed give the same page.",
        tables=(made_table, notices_table),
        linking=again_table,
    ),
)


def text_tables(record: Record) -> Iterator[TitledTable]:
    """Return the tables that are told in plain text too, in the order of the page."""
    for chapter in CHAPTERS:
        yield from (one for one in chapter.tables_of(record) if one.in_text)
