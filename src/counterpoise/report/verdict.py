"""The first screen: verdict, reason, key numbers, next steps."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from counterpoise.figures.performance import chunk_rows
from counterpoise.messages import message
from counterpoise.messages.numbers import NARROW, metric_name
from counterpoise.performance.advice import NOT_SHOWN_TO_BEAT, WORSE_THAN_GUESSING
from counterpoise.performance.metrics import CLEAR
from counterpoise.report.facts import (
    beside_the_score,
    compares_weights,
    gain_in,
    guessing_of,
    is_contradicted,
    is_withdrawn,
    may_lie_elsewhere,
    source_rows,
    uses_weights,
)
from counterpoise.report.formatting import (
    LONGEST_PROSE,
    Name,
    Sentence,
    ShownNumber,
    count,
    figures,
    joined,
    sentence,
    share,
)
from counterpoise.report.key_questions import (
    CARE,
    GOOD,
    PLAIN,
    STOP,
    Answer,
    answers_of,
)
from counterpoise.report.next_steps import steps_of
from counterpoise.report.report import Record
from counterpoise.shift.support import (
    COVERED,
    NO_OVERLAP,
    NO_SHIFT,
    PARTIAL_OVERLAP,
    ROWS_OF_WORTH_TO_TELL,
    SMALL_SHIFT,
    TOO_FEW,
)


@dataclass(frozen=True)
class KeyNumber:
    """One of the numbers that matter, with its label and what it means."""

    label: str
    value: ShownNumber
    beside: Sentence
    meaning: Sentence


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
        return _monitor_verdict(monitor)
    return Verdict(
        *_title(record),
        _lead(record),
        answers_of(record),
        _key_numbers(record),
        steps_of(record),
        _about(record),
    )


def _title(record: Record) -> tuple[str, str]:
    verdict = record.at("shift.verdict")
    if is_contradicted(record) and verdict != NO_OVERLAP:
        why = (
            "rows alike have other labels now, or the new data are not where the "
            "training data are."
            if may_lie_elsewhere(record)
            else "the relation between columns and label has changed."
        )
        return CARE, f"The labelled new rows contradict the estimate: {why}"
    if verdict is None:
        return PLAIN, _title_without_shift(record)
    if verdict == NO_OVERLAP:
        return STOP, "Do not deploy yet: the new data lie where you have no training."
    if "refused" in record:
        return (
            STOP,
            "No model was fitted: the weight estimator found too little overlap.",
        )
    if verdict == TOO_FEW:
        return CARE, "There are too few rows whether the data have shifted."
    guessing = guessing_of(record.at("headline"))
    if guessing == WORSE_THAN_GUESSING:
        return STOP, "Do not use this model there: guessing would do better."
    if guessing == NOT_SHOWN_TO_BEAT:
        return CARE, "This model is not shown to be better than guessing there."
    if "model" in record:
        return _title_of_model(record, verdict)
    return {
        PARTIAL_OVERLAP: (
            CARE,
            "The new data differ, and part of them is hardly covered.",
        ),
        NO_SHIFT: (
            GOOD,
            "No shift detected: the new data look like the training data.",
        ),
        SMALL_SHIFT: (
            GOOD,
            "The new data differ only a little from the training data.",
        ),
    }.get(
        verdict,
        (CARE, "The new data differ from the training data, but are covered."),
    )


def _title_without_shift(record: Record) -> str:
    if uses_weights(record):
        return "Training rows were weighted to resemble the new data."
    if record.at("weights.weight_estimator") is not None:
        return "All training rows have the same weight."
    if "headline" in record:
        return "How good the model will be on the new data."
    return "Nothing was compared: there is no new data in this record."


def _title_of_model(record: Record, verdict: str) -> tuple[str, str]:
    adapted, gain = uses_weights(record), gain_in(record)
    if verdict == PARTIAL_OVERLAP:
        which = "the adapted model" if adapted else "the model"
        return CARE, f"Use {which} with care: part of the new data is hardly covered."
    if verdict == NO_SHIFT and adapted and gain is None:
        return CARE, "No shift detected, but the model was fitted with weights."
    if adapted:
        # Where no gain was judged there is nothing to say of it.
        does = "does" if gain == CLEAR else "may do"
        better = "" if gain is None else f": it {does} better on the new data"
        return GOOD, f"Use the adapted model{better}."
    if verdict == NO_SHIFT:
        return (
            GOOD,
            "Use your model as it is: the new data look like the training data.",
        )
    if verdict == SMALL_SHIFT:
        return GOOD, "Use your model as it is: the new data differ only a little."
    return CARE, "Use your model as it is, but expect the score estimated here."


_LEADS = {
    NO_SHIFT: "A classifier could not tell new rows from training rows.",
    SMALL_SHIFT: "The new rows differ a little from the training rows, and lie where "
    "there are training rows.",
    COVERED: "The new rows differ from the training rows, but lie where there are "
    "training rows to learn from.",
    PARTIAL_OVERLAP: "The new rows differ from the training rows, and some lie where "
    "there are next to no training rows: about those, nobody can promise much.",
    NO_OVERLAP: "Most of the new rows are unlike any training row. No way of weighting "
    "the training rows can make up for data that are not there.",
    TOO_FEW: f"With fewer than {ROWS_OF_WORTH_TO_TELL} rows of either, chance alone "
    "could make these numbers, with or without a shift.",
}


def _lead(record: Record) -> Sentence:
    verdict = record.at("shift.verdict")
    lead = _LEADS.get(str(verdict), "")
    contradicted, has_model = is_contradicted(record), "model" in record
    if verdict == NO_SHIFT and not contradicted:
        lead += " What you measured on training data should hold."
    if contradicted and lead:
        lead += (
            " The labels of new rows do not fit what was estimated: either rows alike "
            "have other labels than before, or the misfit lies where there are next to "
            "no training rows; without labels there, the two cannot be told apart."
            if may_lie_elsewhere(record)
            else " But rows alike in all columns have other labels than before, and "
            "neither weights nor an estimate without labels can make up for that."
        )
    elif has_model and uses_weights(record) and verdict in (*_SHIFTED, NO_SHIFT):
        gain = gain_in(record)
        more = "Letting training rows that resemble the new ones count more"
        if gain is None:
            lead += " Training rows that resemble the new ones count more in its fit."
        elif gain == CLEAR:
            lead += f" {more} makes the model better there."
        else:
            lead += (
                f" {more} may make the model better there: the gain is no more than "
                "chance may do."
            )
    elif has_model and verdict in _SHIFTED:
        lead += (
            " Letting training rows that resemble the new ones count more was tried, "
            "and does not help this model, so it was left alone."
            if compares_weights(record)
            else " All training rows count alike in its fit."
        )
    return sentence(lead)


def seed_of(record: Record) -> object:
    """Return the seed that everything was drawn by; None where it is not known."""
    seed = record.at("reproduce.options.seed")
    return record.at("reproduce.parameters.random_state") if seed is None else seed


def _about(record: Record) -> Sentence:
    """Return what the first screen is about: data, label, model, and the date.

    The date is the one that `--date` gave: what a clock says would make another page of
    the same data.
    """
    tables = []
    for key, to in (("source", ""), ("target", "to ")):
        file = record.at(f"data.{key}.file")
        if file and record.at(f"data.{key}.rows") is not None:
            template = f"{to}{{file}} ({{data.{key}.rows:count}} rows)"
            tables.append(sentence(template, record, file=Name(str(file))))
    parts = [joined(tables)] if tables else []
    for what, path in (
        ("label ", "reproduce.options.label"),
        ("model ", "model.type"),
        ("", "reproduce.options.date"),
    ):
        if record.at(path):
            parts.append(sentence(f"{what}{{name}}", name=Name(str(record.at(path)))))
    # A line may end with a dot, and not begin with one.
    return joined(parts, f"{NARROW}· ")


def _key_numbers(record: Record) -> tuple[KeyNumber, ...]:
    """Return the score, the effective size and the cover, where they are known."""
    numbers = []
    headline, weights = record.at("headline"), record.at("weights")
    if headline is not None and not is_withdrawn(record, headline["estimate"]):
        metric = metric_name(headline["metric"])
        beside = beside_the_score(record)
        if headline.get("low") is not None:
            beside = sentence(
                f"{{headline.low}} to {{headline.high}}{{beside}}; "
                f"{source_rows(record)}: {{headline.source}}",
                record,
                beside=beside,
            )
        better = "Higher" if headline.get("higher_is_better") else "Lower"
        meaning = (
            f"{metric.meaning[:1].upper()}{metric.meaning[1:]}. {better} is better."
        )
        numbers.append(
            KeyNumber(
                f"Expected {metric.name} on the new data",
                figures(headline["value"], "headline.value"),
                beside,
                sentence(meaning),
            )
        )
    if weights is not None and weights.get("weight_estimator") is not None:
        numbers.append(
            KeyNumber(
                "Effective sample size",
                count(weights["effective_size"], "weights.effective_size"),
                sentence(
                    "of {weights.rows:count} training rows "
                    "({weights.effective_share:share})",
                    record,
                ),
                sentence(
                    "How many rows would tell as much about the new data if all "
                    "counted alike: the less alike the two are, the fewer."
                ),
            )
        )
    if record.at("shift.covered") is not None:
        numbers.append(
            KeyNumber(
                "Covered by training data",
                share(record.at("shift.covered"), "shift.covered"),
                sentence("of {shift.n_target:count} new rows", record),
                sentence(
                    "The share of the new rows that have training rows like them. "
                    "About the others the training data say little."
                ),
            )
        )
    return tuple(numbers)


# -----------------------------------------------------------------------------
# The first screen of a monitor.
# -----------------------------------------------------------------------------


ALERT_KINDS = {
    "inputs": "the inputs have changed",
    "risk": "the measured risk has risen",
    "estimate": "the estimated risk has risen",
}


def _monitor_verdict(section: Mapping[str, Any]) -> Verdict:
    alerts = section["alerts"]
    if not section["history"]:
        tone, title = PLAIN, "Nothing has been watched yet."
    elif not alerts:
        tone = GOOD
        title = "No alert: nothing shows that the model's world has changed."
    else:
        kinds = " and ".join(ALERT_KINDS[alert["kind"]] for alert in alerts)
        tone, title = CARE, f"Alert: {kinds}."
    lead = sentence(
        "After {n} looks. A false alarm, of any kind and over all looks however many, "
        "has a probability of at most {rate}.",
        n=count(section["n_looks"]),
        rate=share(section["false_alarm_rate"]),
    )
    advice = (message(alert["finding"], "page").capitalize() for alert in alerts)
    steps = tuple((Name(one, LONGEST_PROSE),) for one in advice)
    return Verdict(tone, title, lead, (), _monitor_numbers(section), steps)


def _monitor_numbers(section: Mapping[str, Any]) -> tuple[KeyNumber, ...]:
    """Return the last estimate and the last score from labels."""
    metric = section["metrics"][0]
    numbers = []
    for key, label in (
        ("estimated", "estimated without labels"),
        ("realized", "from labels"),
    ):
        known = [row for row in chunk_rows(section) if row.get(key) is not None]
        if known:
            reference = figures(section["reference"][metric])
            numbers.append(
                KeyNumber(
                    f"{metric_name(metric).name}, {label}",
                    figures(known[-1][key]),
                    sentence("at {time}", time=Name(str(known[-1]["time"]))),
                    sentence("{reference} on the reference", reference=reference),
                )
            )
    return tuple(numbers)
