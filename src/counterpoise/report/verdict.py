"""The verdict, key numbers and the monitor's state in words."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from counterpoise.data.columns import FEWEST_ROWS_TOLD
from counterpoise.performance.advice import NOT_SHOWN_TO_BEAT, WORSE_THAN_GUESSING
from counterpoise.performance.metrics import CLEAR
from counterpoise.report.figures.canvas import DataTable, TitledTable
from counterpoise.report.formatting import (
    LONGEST_PROSE,
    NARROW,
    Cell,
    Link,
    Name,
    Sentence,
    ShownNumber,
    count,
    figures,
    joined,
    sentence,
    share,
    whole,
)
from counterpoise.report.key_questions import (
    CARE,
    GOOD,
    PLAIN,
    STOP,
    Answer,
    answers_of,
    beside_the_score,
    compares_weights,
    gain_in,
    guessing_of,
    is_contradicted,
    is_withdrawn,
    may_lie_elsewhere,
    steps_of,
    uses_weights,
)
from counterpoise.report.report import Record, metric_in_words, source_rows
from counterpoise.shift.support import (
    COVERED,
    NO_OVERLAP,
    NO_SHIFT,
    PARTIAL_OVERLAP,
    ROWS_OF_WORTH_TO_TELL,
    SMALL_SHIFT,
    TOO_FEW,
)

# -----------------------------------------------------------------------------
# The data card: what went in, counts only.
# -----------------------------------------------------------------------------


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


# -----------------------------------------------------------------------------
# The three numbers that matter, each with one sentence of what it is.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class KeyNumber:
    """One of the three numbers that matter."""

    label: str
    value: ShownNumber | None
    beside: Sentence
    meaning: Sentence


def key_numbers_of(record: Record) -> tuple[KeyNumber, ...]:
    """Return the score, the effective size and the cover, where they are known."""
    found = (_score(record), _worth(record), _covered(record))
    return tuple(number for number in found if number is not None)


def _score(record: Record) -> KeyNumber | None:
    headline = record.at("headline")
    if headline is None or is_withdrawn(record, headline["estimate"]):
        return None
    words = metric_in_words(headline["metric"])
    beside = beside_the_score(record)
    if headline.get("low") is not None:
        beside = sentence(
            f"{{}} to {{}}{{}}; {source_rows(record)}: {{}}",
            figures(headline["low"], "headline.low"),
            figures(headline["high"], "headline.high"),
            beside,
            figures(headline["source"], "headline.source"),
        )
    better = "Higher" if headline.get("higher_is_better") else "Lower"
    return KeyNumber(
        f"Expected {words.name} on the new data",
        figures(headline["value"], "headline.value"),
        beside,
        sentence(
            f"{words.meaning[:1].upper()}{words.meaning[1:]}. {better} is better."
        ),
    )


def _worth(record: Record) -> KeyNumber | None:
    weights = record.at("weights")
    if weights is None or weights.get("weight_estimator") is None:
        return None
    return KeyNumber(
        "Effective sample size",
        count(weights["effective_size"], "weights.effective_size"),
        sentence(
            "of {} training rows ({})",
            count(weights["rows"], "weights.rows"),
            share(weights["effective_share"], "weights.effective_share"),
        ),
        sentence(
            "How many rows would tell as much about the new data if all counted alike: "
            "the less alike the two are, the fewer."
        ),
    )


def _covered(record: Record) -> KeyNumber | None:
    covered = record.at("shift.covered")
    if covered is None:
        return None
    return KeyNumber(
        "Covered by training data",
        share(covered, "shift.covered"),
        sentence(
            "of {} new rows", count(record.at("shift.n_target"), "shift.n_target")
        ),
        sentence(
            "The share of the new rows that have training rows like them. About the "
            "others the training data say little."
        ),
    )


# -----------------------------------------------------------------------------
# The page of a monitor in words: what stands, what to do, every chunk.
# -----------------------------------------------------------------------------


_KINDS = {
    "inputs": "the inputs have changed",
    "risk": "the measured risk has risen",
    "estimate": "the estimated risk has risen",
}
_CHUNKS_SHOWN = 60


def monitor_title(section: dict[str, Any]) -> tuple[str, str]:
    """Return the tone and the title of the first screen."""
    alerts = section["alerts"]
    if not section["history"]:
        return PLAIN, "Nothing has been watched yet."
    if not alerts:
        return GOOD, "No alert: nothing shows that the model's world has changed."
    told = " and ".join(_KINDS[alert["kind"]] for alert in alerts)
    return CARE, f"Alert: {told}."


def monitor_lead(section: dict[str, Any]) -> Sentence:
    """Return what the alerts promise."""
    return sentence(
        "After {} looks. A false alarm, of any kind and over all looks however many, "
        "has a probability of at most {}.",
        whole(float(section["n_looks"])),
        share(section["false_alarm_rate"]),
    )


def monitor_numbers(section: dict[str, Any]) -> tuple[KeyNumber, ...]:
    """Return the last estimate and the last score from labels."""
    metric = section["metrics"][0]
    words = metric_in_words(metric).name
    rows = [row for row in section["history"] if row["metric"] == metric]
    found = []
    for key, label in (
        ("estimated", "estimated without labels"),
        ("realized", "from labels"),
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


def monitor_steps(section: dict[str, Any]) -> tuple[Sentence, ...]:
    """Return what each alert advises."""
    return tuple(
        sentence("{}", Name(alert["advice"].capitalize(), LONGEST_PROSE))
        for alert in section["alerts"]
    )


def alerts_table(record: Record) -> TitledTable | None:
    """Return every alert: what, when, since when, how sure, which columns."""
    section = record.at("monitor")
    if section is None or not section["alerts"]:
        return None
    rows: list[tuple[Cell, ...]] = []
    for alert in section["alerts"]:
        evidence = alert["evidence"]
        sure: Cell = Name("")
        if "e_value" in evidence:
            odds, needed = evidence["e_value"], evidence["needed"]
            sure = Name(f"odds of {odds:.3g} to 1, needed {needed:.3g}")
        elif evidence.get("low") is not None:
            sure = Name(f"risen by at least {evidence['low']:.3g}")
        rows.append(
            (
                _KINDS[alert["kind"]],
                Name(str(alert["time"])),
                Name(str(alert["since"])),
                sure,
                Name(", ".join(alert["columns"]) or "none"),
            )
        )
    header = ("false_alarm_rate", "raised at", "since about", "how sure", "columns")
    about = sentence(
        "Each kind is raised once: after it, adapt and monitor the new model."
    )
    data = DataTable(header, tuple(rows), prose=True)
    return TitledTable("watch-alarms", "Alerts", about, data, wide=True, in_text=True)


def chunks_table(record: Record) -> TitledTable | None:
    """Return every chunk, the last first, with its own report where there is one."""
    section = record.at("monitor")
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
                None if row.get("realized") is None else figures(row["realized"]),
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


# -----------------------------------------------------------------------------
# The first screen in words: what to do, how sure, why, and what next.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """What the first screen says.

    Attributes
    ----------
    tone : {"good", "care", "stop", "plain"}
    title : str
        What to do, in one sentence.
    lead : Sentence
        Why.
    answers : tuple of Answer
    numbers : tuple of KeyNumber
    steps : tuple of Sentence
        What to do next, in order.
    about : Sentence
        Which data, label and model, and the date if one was given.
    """

    tone: str
    title: str
    lead: Sentence
    answers: tuple[Answer, ...]
    numbers: tuple[KeyNumber, ...]
    steps: tuple[Sentence, ...]
    about: Sentence = ()


# Verdicts of a shift that the training data cover at least in part.
_SHIFTED = (COVERED, SMALL_SHIFT, PARTIAL_OVERLAP)


def verdict_of(record: Record) -> Verdict:
    """Return the first screen of a record."""
    monitor = record.at("monitor")
    if monitor is not None:
        return Verdict(
            *monitor_title(monitor),
            monitor_lead(monitor),
            (),
            monitor_numbers(monitor),
            monitor_steps(monitor),
        )
    tone, title = _title(record)
    return Verdict(
        tone,
        title,
        _lead(record),
        answers_of(record),
        key_numbers_of(record),
        steps_of(record),
        about_of(record),
    )


def _title(record: Record) -> tuple[str, str]:
    word, model = record.at("shift.verdict"), record.at("model")
    adapted = uses_weights(record)
    if is_contradicted(record) and word != NO_OVERLAP:
        why = (
            "rows alike have other labels now, or the new data are not where the "
            "training data are."
            if may_lie_elsewhere(record)
            else "the relation between columns and label has changed."
        )
        return CARE, f"The labelled new rows contradict the estimate: {why}"
    if word is None:
        if adapted:
            return PLAIN, "Training rows were weighted to resemble the new data."
        if record.at("weights.weight_estimator") is not None:
            return PLAIN, "All training rows have the same weight."
        if "headline" in record:
            return PLAIN, "How good the model will be on the new data."
        return PLAIN, "Nothing was compared: there is no new data in this record."
    if word == NO_OVERLAP:
        return STOP, "Do not deploy yet: the new data lie where you have no training."
    if "refused" in record:
        return (
            STOP,
            "No model was fitted: the weight estimator found too little overlap.",
        )
    if word == TOO_FEW:
        return CARE, "There are too few rows whether the data have shifted."
    guessing = guessing_of(record.at("headline"))
    if guessing == WORSE_THAN_GUESSING:
        return STOP, "Do not use this model there: guessing would do better."
    if guessing == NOT_SHOWN_TO_BEAT:
        return CARE, "This model is not shown to be better than guessing there."
    if word == PARTIAL_OVERLAP:
        if model is None:
            return CARE, "The new data differ, and part of them is hardly covered."
        which = "the adapted model" if adapted else "the model"
        return CARE, f"Use {which} with care: part of the new data is hardly covered."
    if word == NO_SHIFT:
        if model is None:
            return GOOD, "No shift detected: the new data look like the training data."
        if adapted and gain_in(record) is None:
            return CARE, "No shift detected, but the model was fitted with weights."
        if adapted:
            return GOOD, f"Use the adapted model{_does_better(record)}."
        return (
            GOOD,
            "Use your model as it is: the new data look like the training data.",
        )
    if model is None:
        if word == SMALL_SHIFT:
            return GOOD, "The new data differ only a little from the training data."
        return CARE, "The new data differ from the training data, but are covered."
    if adapted:
        return GOOD, f"Use the adapted model{_does_better(record)}."
    if word == SMALL_SHIFT:
        return GOOD, "Use your model as it is: the new data differ only a little."
    return CARE, "Use your model as it is, but expect the score estimated here."


def _lead(record: Record) -> Sentence:
    word = record.at("shift.verdict")
    adapted = uses_weights(record)
    has_model = "model" in record
    contradicted = is_contradicted(record)
    found = {
        NO_SHIFT: "A classifier could not tell new rows from training rows."
        + ("" if contradicted else " What you measured on training data should hold."),
        SMALL_SHIFT: "The new rows differ a little from the training rows, and lie "
        "where there are training rows.",
        COVERED: "The new rows differ from the training rows, but lie where there are "
        "training rows to learn from.",
        PARTIAL_OVERLAP: "The new rows differ from the training rows, and some lie "
        "where "
        "there are next to no training rows: about those, nobody can promise much.",
        NO_OVERLAP: "Most of the new rows are unlike any training row. No way of "
        "weighting the training rows can make up for data that are not there.",
        TOO_FEW: "With fewer than "
        f"{ROWS_OF_WORTH_TO_TELL} rows of either, chance alone could make these "
        "numbers, with or without a shift.",
    }.get(str(word), "")
    if contradicted and found:
        found += (
            " The labels of new rows do not fit what was estimated: either rows alike "
            "have other labels than before, or the misfit lies where there are next to "
            "no training rows; without labels there, the two cannot be told apart."
            if may_lie_elsewhere(record)
            else " But rows alike in all columns have other labels than before, and "
            "neither weights nor an estimate without labels can make up for that."
        )
    elif has_model and adapted and word in (*_SHIFTED, NO_SHIFT):
        found += _makes_better(record)
    elif has_model and word in _SHIFTED:
        found += (
            " Letting training rows that resemble the new ones count more was tried, "
            "and does not help this model, so it was left alone."
            if compares_weights(record)
            else " All training rows count alike in its fit."
        )
    return sentence(found) if found else ()


def _does_better(record: Record) -> str:
    """Return what may be said of an adapted model: that it is better if that is clear.

    Where no gain was judged there is nothing to say.
    """
    sure = gain_in(record)
    if sure is None:
        return ""
    if sure == CLEAR:
        return ": it does better on the new data"
    return ": it may do better on the new data"


def _makes_better(record: Record) -> str:
    """Return the same of letting rows count more, as a sentence that follows others."""
    sure = gain_in(record)
    if sure is None:
        return " Training rows that resemble the new ones count more in its fit."
    does = (
        "makes the model better there."
        if sure == CLEAR
        else "may make the model better there: the gain is no more than chance may do."
    )
    return f" Letting training rows that resemble the new ones count more {does}"
