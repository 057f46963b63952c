"""The first screen in words: what to do, how sure, why, and what next."""

import shlex
from dataclasses import dataclass

from counterpoise.diagnosis.words import SEPARATES
from counterpoise.report.answers import (
    CARE,
    GOOD,
    PLAIN,
    STOP,
    Answer,
    answers_of,
    has_labels,
    is_contradicted,
    stays_about_the_same,
    stays_within,
)
from counterpoise.report.key_numbers import KeyNumber, key_numbers_of
from counterpoise.report.metric_names import metric_in_words, source_rows
from counterpoise.report.record import Record
from counterpoise.report.wording import Name, Sentence, figures, joined, sentence
from counterpoise.samples.overlap_verdict import (
    COVERED,
    NO_OVERLAP,
    NO_SHIFT,
    SMALL_SHIFT,
    THIN_IN_PART,
    TOO_FEW,
)

# Columns that are named as telling the samples apart, and commands with --drop.
_NAMED, _WITH_DROP = 3, ("run", "fit", "diagnose", "weigh")


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
    """

    tone: str
    title: str
    lead: Sentence
    answers: tuple[Answer, ...]
    numbers: tuple[KeyNumber, ...]
    steps: tuple[Sentence, ...]


def verdict_of(record: Record) -> Verdict:
    """Return the first screen of a record."""
    tone, title = _title(record)
    return Verdict(
        tone,
        title,
        _lead(record),
        answers_of(record),
        key_numbers_of(record),
        _steps(record),
    )


def _title(record: Record) -> tuple[str, str]:
    word, model = record.at("shift.verdict"), record.at("model")
    adapted = bool(record.at("model.adapted", False))
    if is_contradicted(record) and word != NO_OVERLAP:
        return (
            CARE,
            "The labelled new rows contradict the estimate: the relation between "
            "columns and label has changed.",
        )
    if word is None:
        if record.at("weights.weighter") is not None:
            return PLAIN, "Training rows were weighted to resemble the new data."
        if "headline" in record:
            return PLAIN, "How good the model will be on the new data."
        return PLAIN, "Nothing was compared: there is no new data in this record."
    if word == NO_OVERLAP:
        return STOP, "Do not deploy yet: the new data lie where you have no training."
    if word == TOO_FEW:
        return CARE, "There are too few rows to tell whether the data have shifted."
    if word == THIN_IN_PART:
        if model is None:
            return CARE, "The new data differ, and part of them is hardly covered."
        which = "the adapted model" if adapted else "the model"
        return CARE, f"Use {which} with care: part of the new data is hardly covered."
    if word == NO_SHIFT:
        if model is None:
            return GOOD, "No shift found: the new data look like the training data."
        return (
            GOOD,
            "Use your model as it is: the new data look like the training data.",
        )
    if model is None:
        if word == SMALL_SHIFT:
            return GOOD, "The new data differ only a little from the training data."
        return CARE, "The new data differ from the training data, but are covered."
    if adapted:
        return GOOD, "Use the adapted model: it does better on the new data."
    if word == SMALL_SHIFT:
        return GOOD, "Use your model as it is: the new data differ only a little."
    return CARE, "Use your model as it is, but expect the score estimated here."


def _lead(record: Record) -> Sentence:
    word = record.at("shift.verdict")
    adapted = bool(record.at("model.adapted", False))
    has_model = "model" in record
    contradicted = is_contradicted(record)
    found = {
        NO_SHIFT: "A classifier could not tell new rows from training rows."
        + ("" if contradicted else " What you measured on training data should hold."),
        SMALL_SHIFT: "The new rows differ a little from the training rows, and lie "
        "where there are training rows.",
        COVERED: "The new rows differ from the training rows, but lie where there are "
        "training rows to learn from.",
        THIN_IN_PART: "The new rows differ from the training rows, and some lie where "
        "there are next to no training rows: about those, nobody can promise much.",
        NO_OVERLAP: "Most of the new rows are unlike any training row. No way of "
        "weighting the training rows can make up for data that are not there.",
        TOO_FEW: "Chance alone could make these numbers, with or without a shift.",
    }.get(str(word), "")
    if contradicted and found:
        found += (
            " But rows alike in all columns have other labels than before, and neither "
            "weights nor an estimate without labels can make up for that."
        )
    elif has_model and word in (COVERED, SMALL_SHIFT, THIN_IN_PART):
        found += (
            " Letting training rows that resemble the new ones count more makes the "
            "model better there."
            if adapted
            else " Letting training rows that resemble the new ones count more was "
            "tried, and does not help this model, so it was left alone."
        )
    return sentence(found) if found else ()


def _steps(record: Record) -> tuple[Sentence, ...]:
    word = record.at("shift.verdict")
    has_model = "model" in record
    adapted = bool(record.at("model.adapted", False))
    steps: list[Sentence] = []
    if word == NO_OVERLAP:
        steps = [
            sentence("Do not rely on a model of these training data there."),
            sentence("Label some of the new rows, or collect training rows like them."),
        ]
        steps += _separating(record)
        return tuple(steps)
    contradicted = is_contradicted(record)
    if contradicted:
        steps.append(
            sentence(
                "Do not go by the old relation: label more of the new rows, drawn by "
                "chance, and fit a model to them."
            )
        )
    if word == TOO_FEW:
        steps.append(sentence("Come back with more rows, 100 of each if you can."))
        return tuple(steps)
    if contradicted:
        pass
    elif word == NO_SHIFT:
        steps.append(sentence("Nothing needs to be done. Look again when data change."))
    elif has_model and adapted:
        steps.append(sentence("Use the adapted model for the new data."))
    elif has_model:
        steps.append(sentence("Use the model as it is; weights do not help it."))
    elif word is not None:
        by = "`counterpoise run`" if record.at("reproduce.command") else "Adapted"
        steps.append(
            sentence(f"Fit your model by {by}: it tries weights and says if they help.")
        )
    if word != NO_SHIFT or contradicted:
        steps += _plan(record)
    if word == THIN_IN_PART:
        steps.append(
            sentence(
                "Label some of the thinly covered rows described below, or collect "
                "training rows like them; do not trust predictions there before."
            )
        )
    if word in (COVERED, SMALL_SHIFT, THIN_IN_PART) and not has_labels(record):
        steps.append(
            sentence(
                "If you can, label a few new rows drawn by chance: only labels can "
                "show whether the same row still means the same label."
            )
        )
    return tuple(steps)


def _plan(record: Record) -> tuple[Sentence, ...]:
    """Return which score to plan with."""
    headline = record.at("headline")
    if headline is None:
        return ()
    if is_contradicted(record) and headline["estimate"] != "labelled":
        return ()
    name = metric_in_words(headline["metric"]).name
    rows = source_rows(record)
    rows = "the training data" if rows == "training data" else rows
    value = figures(headline["value"], "headline.value")
    source = figures(headline["source"], "headline.source")
    if stays_within(headline) and not stays_about_the_same(headline):
        return (
            sentence(
                f"Plan for any {{}} between {{}} and {{}}: too little is known to say "
                f"whether it differs from the {{}} of {rows}.",
                name,
                figures(headline["low"], "headline.low"),
                figures(headline["high"], "headline.high"),
                source,
            ),
        )
    told = (
        f"; that is within the margin of the {{}} of {rows}."
        if stays_within(headline)
        else f", not with the {{}} of {rows}."
    )
    return (sentence(f"Plan with an expected {{}} of {{}}{told}", name, value, source),)


def _separating(record: Record) -> tuple[Sentence, ...]:
    """Return what to do about columns that alone tell the two samples apart."""
    features = record.at("shift.features", [])
    found = [
        str(one["name"])
        for one in sorted(features, key=lambda one: -(one.get("effect") or 0.0))
        if max(one.get("ks") or 0.0, one.get("total_variation") or 0.0) > SEPARATES
    ][:_NAMED]
    if not found:
        return ()
    names = joined([(Name(name),) for name in found], ", ")
    option: Sentence = ()
    if record.at("reproduce.command") in _WITH_DROP:
        option = sentence(
            " (--drop {}, or --id {} if it names the rows)",
            Name(shlex.quote(",".join(found))),
            Name(shlex.quote(found[0])),
        )
    if len(found) == 1:
        template = (
            "Look at the column {}: it alone tells the two apart. If it is a date, a "
            "counter or an identifier that the model does not need, leave it out{} and "
            "run again."
        )
    else:
        template = (
            "Look at the columns {}: each alone tells the two apart. Those that are a "
            "date, a counter or an identifier that the model does not need leave "
            "out{} and run again."
        )
    return (sentence(template, names, option),)
