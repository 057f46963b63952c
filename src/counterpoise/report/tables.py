"""Tables of the report, and its chapters."""

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from counterpoise.data.columns import FEWEST_ROWS_REPORTED
from counterpoise.figures.draw import ESTIMATE_NAMES, chunk_rows, known_estimates
from counterpoise.messages.numbers import metric_name, percentage, points
from counterpoise.performance.result import SURPRISING_P_VALUE
from counterpoise.report.drawings import (
    balance_drawing,
    calibration_drawing,
    classes_drawing,
    clipping_drawing,
    convergence_drawing,
    coverage_drawing,
    drift_drawing,
    monitor_drawing,
    overlap_drawing,
    path_drawing,
    performance_drawing,
    roc_drawing,
    slices_drawing,
    spectrum_drawing,
    validation_drawing,
    weights_drawing,
    worst_columns_drawing,
)
from counterpoise.report.formatting import (
    LONGEST_PROSE,
    Cell,
    Command,
    Drawing,
    Link,
    Name,
    Sentence,
    Table,
    chance,
    count,
    figures,
    four_figures,
    joined,
    optional,
    sentence,
    share,
    unbroken,
    value_text,
    without_empty_columns,
)
from counterpoise.report.key_questions import is_contradicted
from counterpoise.report.report import Report
from counterpoise.report.verdict import ALERT_KINDS, seed_of

# Lines of a long table, and of that of the features, those that moved most.
LINES_LISTED, FEATURES_LISTED, CHUNKS_LISTED = 50, 50, 60

# -----------------------------------------------------------------------------
# The shift.
# -----------------------------------------------------------------------------


def features_table(record: Report) -> Table | None:
    """Return the table of how far each column has moved."""
    features = record.at("shift.features")
    if not features:
        return None
    order = sorted(features, key=lambda one: -(one.get("effect") or 0.0))
    header, rows = without_empty_columns(
        (
            "column",
            "effect (SD)",
            "mean (SD)",
            "distance (0 to 1)",
            "chance",
            "missing (points)",
            "new values (%)",
        ),
        [_feature_cells(one) for one in order[:FEATURES_LISTED]],
    )
    note = f"The {FEATURES_LISTED} columns of {len(features):,} that moved most."
    return Table(
        header,
        rows,
        note if len(features) > FEATURES_LISTED else "",
        name="features",
        title="Column by column",
        about="How far each column has moved, largest first, in standard deviations "
        "(SD); an effect below 0.1 is hardly worth a thought. Mean: by how much "
        "the average moved. Distance: the largest gap between the two "
        "distributions. Chance: how likely such a gap is if nothing had moved, "
        "corrected for the number of columns (Holm).",
        in_text=True,
    )


def _feature_cells(one: Mapping[str, Any]) -> tuple[Cell, ...]:
    distance = one.get("ks")
    if distance is None:
        distance = one.get("total_variation")
    more = (one.get("target_missing") or 0.0) - (one.get("source_missing") or 0.0)
    new = one.get("new_share") or 0.0
    return (
        Name(one["name"]),
        optional(one.get("effect")),
        optional(one.get("smd")),
        optional(distance),
        optional(one.get("adjusted_p_value"), chance),
        points(more) if more else None,
        percentage(new).removesuffix(" %") if new else None,
    )


def dropped_table(record: Report) -> Table | None:
    """Return the table of the columns that could not be compared."""
    dropped = record.at("shift.dropped")
    if not dropped:
        return None
    return Table(
        ("column", "why"),
        [(Name(name), Name(why, LONGEST_PROSE)) for name, why in dropped.items()],
        name="dropped",
        title="Left out",
        about="Columns that could not be compared.",
    )


def uncovered_rows_table(record: Report) -> Table | None:
    """Return the table of what sets thinly covered rows apart."""
    uncovered = record.at("shift.uncovered_rows")
    if not uncovered or not uncovered.get("n_rows"):
        return None
    rows = [_uncovered_column(one) for one in uncovered.get("columns", [])]
    what = (
        "lie where there are next to no training rows. What sets them apart, between "
        "their 5 % and 95 % marks: "
        if rows
        else "are thinly covered."
    )
    return Table(
        ("column", "these rows", "training rows"),
        rows,
        uncovered.get("note", ""),
        name="uncovered_fraction",
        title="Who is thinly covered",
        about=sentence(
            "{shift.uncovered_rows.n_rows:count} of "
            f"{{shift.uncovered_rows.n_scored:count}} new rows that were scored {what}",
            record,
        ),
        prose=True,
        in_text=True,
    )


def _uncovered_column(one: Mapping[str, Any]) -> tuple[Cell, ...]:
    if one.get("shares"):
        cells = (
            ", ".join(
                f"{Name(part['category'])} {share(part[key])}" for part in one["shares"]
            )
            for key in ("share", "source_share")
        )
        return (Name(one["name"]), *(Name(cell, LONGEST_PROSE) for cell in cells))
    return (
        Name(one["name"]),
        _range(one, "low", "high", "missing"),
        _range(one, "source_low", "source_high", "source_missing"),
    )


def _range(one: Mapping[str, Any], *keys: str) -> str:
    low, high, missing = (one.get(key) for key in keys)
    parts = []
    if low is not None and high is not None:
        kind = one.get("kind", "")
        ends = " to ".join(value_text(end, kind, 4) for end in (low, high))
        parts.append(unbroken(ends, kind))
    if missing:
        parts.append(f"{share(missing)} missing")
    return ", ".join(parts) or "-"


def overruled_table(record: Report) -> Table | None:
    """Return where rows went that the classifier had put into absent classes."""
    overruled = record.at("classes.overruled")
    if not overruled:
        return None
    rows = [
        (
            Name(one["from"]),
            count(one["rows"]),
            Name(one["mostly_to"]),
            share(one["share"]),
        )
        for one in overruled
    ]
    return Table(
        ("class", "rows", "mostly to", "share"),
        rows,
        name="overruled",
        title="Rows of classes judged absent",
        about="New rows that the classifier alone would have put into a class judged "
        "absent, and the class that most of them got. Of fewer than five rows "
        "nothing is told.",
        in_text=True,
    )


# -----------------------------------------------------------------------------
# The model on the new data.
# -----------------------------------------------------------------------------


def covered_part_table(record: Report) -> Table | None:
    """Return the table of the estimates for the covered part."""
    covered = record.at("performance.covered")
    if not covered or not covered.get("metrics") or covered.get("share") == 1.0:
        return None
    if is_contradicted(record):
        # It rests on what labeled rows have shown to be wrong.
        return None
    rows = [
        (
            f"{metric_name(metric).name}, {ESTIMATE_NAMES[kind]}",
            four_figures(one["value"]),
            optional(one.get("low")),
            optional(one.get("high")),
        )
        for metric, estimates in covered["metrics"].items()
        for kind, one in known_estimates(estimates)
    ]
    return Table(
        ("estimate", "value", "low", "high"),
        rows,
        name="covered",
        title="The score on the covered part",
        about=sentence(
            "The same estimates for the {performance.covered.share:share} of the new "
            "data that training data cover.",
            record,
        ),
        in_text=True,
    )


def label_check_table(record: Report) -> Table | None:
    """Return the table of what labeled new rows say."""
    rows = [
        (
            Name(metric_name(metric).name),
            count(check["n_labeled"]),
            optional(check["difference"]),
            optional(check["error"]),
            chance(check["p_value"]),
        )
        for metric, one in record.at("performance.metrics", {}).items()
        if (check := one.get("check")) is not None
    ]
    if not rows:
        return None
    return Table(
        ("score", "labeled rows", "difference", "standard error", "chance"),
        rows,
        name="labeled",
        title="What labeled new rows say",
        about="Whether a row still means the same label can only be seen from labels. "
        f"A small chance (below {SURPRISING_P_VALUE:g}) says that it does not: then "
        "the estimates above mislead. It counts the mean loss, whose difference "
        "stands here, and labels that differ from the predictions in the mean, "
        "along the prediction or along a column.",
    )


def sets_table(record: Report) -> Table | None:
    """Return the table of how large sets and intervals are."""
    sets, at = record.at("performance.sets"), "performance.sets"
    if not sets:
        return None
    promise = f"{{{at}.level:share}} of the time"
    rows: list[tuple[Cell, ...]] = []
    if sets["kind"] == "sets":
        about = (
            "For every new row the model can name a set of classes that holds the true "
            f"one {promise}. Small sets say much; a set of all classes says that "
            "nothing is known."
        )
        rows = [
            (words, show(sets[key], f"{at}.{key}"))
            for words, key, show in (
                ("classes in a set, on the average", "mean_size", figures),
                ("of so many classes", "classes", count),
                ("rows with one class alone", "single", share),
                ("rows with all classes", "infinite", share),
            )
        ]
    else:
        about = (
            "For every new row the model can give an interval that holds the true "
            f"value {promise}. Where training data say too little about a row its "
            "interval is infinite."
        )
        comparison = "for comparison: the same share of all training labels"
        rows = [
            (words, None if sets[key] is None else show(sets[key], f"{at}.{key}"))
            for words, key, show in (
                ("width, on the average", "mean_width", figures),
                ("width, half are narrower", "median_width", figures),
                (comparison, "labels_width", figures),
                ("infinite intervals", "infinite", share),
            )
        ]
    return Table(
        ("what", "value"),
        rows,
        name="sets",
        title="How sure can the model be of a single row?",
        about=sentence(f"{about} Looked at: {{{at}.rows:count}} new rows.", record),
    )


def guarantees_table(record: Report) -> Table | None:
    """Return the table of what is promised, and on what it rests."""
    promises = record.at("guarantees")
    if not promises:
        return None
    # Sentences of our own, which are not cut like names.
    rows = [
        tuple(f"{one[key][:1].upper()}{one[key][1:]}" for key in _PROMISE)
        for one in promises
    ]
    return Table(
        ("promise", "if", "but"),
        rows,
        name="promises",
        title="Promises",
        prose=True,
        wide=True,
    )


_PROMISE = ("what", "assumes", "breaks")

# -----------------------------------------------------------------------------
# A monitored model.
# -----------------------------------------------------------------------------


def alerts_table(record: Report) -> Table | None:
    """Return every alert: what, when, since when, how sure, which columns."""
    alerts = record.at("monitor.alerts")
    if not alerts:
        return None
    rows: list[tuple[Cell, ...]] = []
    for alert in alerts:
        evidence, sure = alert["evidence"], ""
        if "e_value" in evidence:
            odds, needed = evidence["e_value"], evidence["needed"]
            sure = f"odds of {odds:.3g} to 1, needed {needed:.3g}"
        elif evidence.get("low") is not None:
            sure = f"risen by at least {evidence['low']:.3g}"
        names = (
            str(alert["time"]),
            str(alert["since"]),
            sure,
            ", ".join(alert["columns"]) or "none",
        )
        rows.append((ALERT_KINDS[alert["kind"]], *map(Name, names)))
    return Table(
        ("kind", "raised at", "since about", "how sure", "columns"),
        rows,
        name="watch-alarms",
        title="Alerts",
        about="Each kind is raised once: after it, adapt and monitor the new model.",
        prose=True,
        wide=True,
        in_text=True,
    )


def chunks_table(record: Report) -> Table | None:
    """Return every chunk, the last first, with its own report where there is one."""
    section = record.at("monitor")
    if section is None or not section["history"]:
        return None
    history = chunk_rows(section)[::-1]
    rows: list[tuple[Cell, ...]] = [
        (
            Link(row["report"]) if row.get("report") else Name(str(row["time"])),
            Name(str(row["time"])),
            count(row["n_rows"]),
            optional(row.get("estimated")),
            optional(row.get("realized")),
            optional(row.get("covered"), share),
            Name(row["notes"], LONGEST_PROSE) if row.get("notes") else None,
        )
        for row in history[:CHUNKS_LISTED]
    ]
    note = f"The last {CHUNKS_LISTED} of {len(history):,} chunks."
    return Table(
        ("chunk", "time", "rows", "estimated", "from labels", "covered", "said"),
        rows,
        note if len(history) > CHUNKS_LISTED else "",
        name="watch-chunks",
        title="Chunk by chunk",
        about="The last first.",
        wide=True,
    )


# -----------------------------------------------------------------------------
# The data: counts only.
# -----------------------------------------------------------------------------


def samples_table(record: Report) -> Table | None:
    """Return the table of both samples, their files and sizes."""
    data = record.at("data")
    if not data:
        return None
    rows: list[tuple[Cell, ...]] = []
    for key, name in (("source", "training data"), ("target", "new data")):
        one = data.get(key) or {}
        counts = (
            None if one.get(what) is None else count(one[what], f"data.{key}.{what}")
            for what in ("rows", "duplicates")
        )
        file = Name(one["file"]) if one.get("file") else None
        mark = f"{one['sha256'][:12]}…" if one.get("sha256") else None
        rows.append((name, *counts, file, mark))
    every = ("sample", "rows", "duplicates", "file", "SHA-256")
    header, rows = without_empty_columns(every, rows)
    note = "Duplicates: rows that equal one before them in every column that was used."
    return Table(
        header,
        rows,
        note if "duplicates" in header else "",
        name="samples",
        title="The two samples",
        about=_samples_about(record),
    )


def _samples_about(record: Report) -> Sentence:
    sentences: list[Sentence] = []
    columns = record.at("data.columns")
    if columns:
        kinds = Counter(str(one.get("kind", "")) for one in columns)
        listed = ", ".join(f"{n:,} of {kind}" for kind, n in kinds.items() if kind)
        plural = "s" if len(columns) > 1 else ""
        kinds_listed = f": {listed}" if listed else ""
        sentences.append((f"{len(columns):,} column{plural} used{kinds_listed}.",))
    task = record.at("data.task")
    if task:
        sentences.append(sentence("Task: {task}.", task=Name(str(task))))
    seed = seed_of(record)
    if isinstance(seed, int):
        path = "reproduce.options.seed"
        if record.at(path) is None:
            path = "reproduce.parameters.random_state"
        sentences.append(sentence(f"Seed: {{{path}:count}}.", record))
    return joined(sentences)


def classes_table(record: Report) -> Table | None:
    """Return the table of the classes."""
    classes = record.at("data.classes")
    if not classes:
        return None
    common = [one for one in classes if one["rows"] >= FEWEST_ROWS_REPORTED]
    rare = len(classes) - len(common) + int(record.at("data.rare_classes", 0))
    note = f"{rare} classes of fewer than {FEWEST_ROWS_REPORTED} rows are not named."
    return Table(
        ("class", "training rows"),
        [
            (Name(str(one["class"])), count(one["rows"]))
            for one in common[:LINES_LISTED]
        ],
        note if rare else "",
        name="classes",
        title="Classes of the label",
        folded=True,
    )


def columns_table(record: Report) -> Table | None:
    """Return the table of the columns and their gaps."""
    columns = record.at("data.columns")
    if not columns:
        return None
    rows = [
        (
            Name(one["name"]),
            Name(str(one["kind"])) if one.get("kind") else None,
            optional(one.get("missing_source"), share),
            optional(one.get("missing_target"), share),
        )
        for one in columns[:LINES_LISTED]
    ]
    note = f"The first {LINES_LISTED} of {len(columns):,} columns."
    return Table(
        ("column", "holds", "missing in training", "missing in new"),
        rows,
        note if len(columns) > LINES_LISTED else "",
        name="columns",
        title="Columns: types and missing values",
        folded=True,
    )


# -----------------------------------------------------------------------------
# What it takes to make the same again: command, environment, inputs, record.
# -----------------------------------------------------------------------------


def again_table(record: Report, record_file: str | None) -> Table | None:
    """Return the table of how to make it again."""
    made = record.at("reproduce", {})
    rows: list[tuple[Cell, ...]] = []
    line = made.get("command_line")
    if line:
        rows.append(("command", Command(shlex.join(map(str, line)))))
    elif made.get("command"):
        name = str(made["command"])
        rows.append(
            ("command", Command(name if " " in name else f"counterpoise {name}"))
        )
    versions = {k: v for k, v in (made.get("versions") or {}).items() if v is not None}
    # What no index has cannot be installed by its name.
    own = ("python", "counterpoise")
    packages = [f"{k}=={v}" for k, v in versions.items() if k not in own]
    if packages:
        rows.append(("environment", Command(shlex.join(["pip", "install", *packages]))))
    if "counterpoise" in versions:
        rows.append(("counterpoise", Name(f"version {versions['counterpoise']}")))
    if "python" in versions:
        where = [f"Python {versions['python']}", made.get("platform")]
        rows.append(("run by", Name(", ".join(str(one) for one in where if one))))
    if seed_of(record) is not None:
        rows.append(("seed", Name(str(seed_of(record)))))
    for key, words in (("source", "training data"), ("target", "new data")):
        mark = record.at(f"data.{key}.sha256")
        if mark:
            rows.append((f"SHA-256 of the {words}", Command(str(mark))))
    about = "To be typed in the folder of the tables. " if line else ""
    if record_file is not None:
        rows.append(("record", Link(record_file)))
        about += (
            "All numbers of this page are in the record beside it; counterpoise "
            "report makes the page of it again."
        )
    if not rows:
        return None
    return Table(
        ("what", "how"),
        rows,
        name="again",
        title="The same again",
        about=about,
        prose=True,
        wide=True,
    )


def made_table(record: Report) -> Table | None:
    """Return the table of options, parameters and versions."""
    made = record.at("reproduce", {})
    rows = []
    for group in ("options", "parameters", "versions"):
        for key, value in (made.get(group) or {}).items():
            # Zero says something, and equals False.
            if value is None or value is False or value in ("", []):
                continue
            text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            rows.append((Name(str(key)), Name(text)))
    if not rows:
        return None
    return Table(
        ("what", "value"),
        rows,
        name="reproduction",
        title="Options and versions",
        folded=True,
    )


def notices_table(record: Report) -> Table | None:
    """Return the table of what the user was told on the way."""
    notices = [*(record.at("notices") or []), *(record.at("conditions") or [])]
    if not notices:
        return None
    rows = [(Name(str(one), LONGEST_PROSE),) for one in notices[:LINES_LISTED]]
    return Table(("while it was made",), rows, name="notices", title="Notices")


# -----------------------------------------------------------------------------
# The chapters of the page: what each shows, from which parts of the record.
#
# Adding to the report: data in `sections`, a drawing in `drawings` or a table above,
# and its function in a chapter here.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Chapter:
    """A chapter of the page.

    Attributes
    ----------
    name : str
        Its place on the page.
    title, about : str
    drawings, tables : sequences of callables
        Each gets the record and returns a `Drawing` or a `Table`, or None where there
        is nothing.
    """

    name: str
    title: str
    about: str
    drawings: Sequence[Callable[[Report], Drawing | None]] = ()
    tables: Sequence[Callable[[Report], Table | None]] = ()

    def drawn(self, record: Report) -> list[Drawing]:
        """Return the drawings that the record has something for."""
        return [one for draw in self.drawings if (one := draw(record)) is not None]

    def tables_of(self, record: Report, record_file: str | None = None) -> list[Table]:
        """Return the tables that the record has something for."""
        tables = [table(record) for table in self.tables]
        if self.name == "reproduce":
            tables.insert(0, again_table(record, record_file))
        return [one for one in tables if one is not None]


CHAPTERS = (
    Chapter(
        "monitor",
        "Over time",
        "A deployed model, chunk after chunk: the alerts hold over all looks together.",
        (monitor_drawing, drift_drawing, coverage_drawing),
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
        (weights_drawing, balance_drawing, clipping_drawing, worst_columns_drawing),
    ),
    Chapter(
        "choice",
        "What was tried and proved",
        "Nothing here is taken on trust: what was chosen was judged on held-out rows, "
        "and what was computed comes with a proof.",
        (validation_drawing, path_drawing, convergence_drawing),
    ),
    Chapter(
        "model",
        "The model on the new data",
        "Estimates of a score that could only be measured with labels of the new data.",
        (performance_drawing, calibration_drawing, slices_drawing),
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
    ),
)


def text_tables(record: Report) -> Iterator[Table]:
    """Return the tables that are told in plain text too, in the order of the page."""
    for chapter in CHAPTERS:
        yield from (one for one in chapter.tables_of(record) if one.in_text)
