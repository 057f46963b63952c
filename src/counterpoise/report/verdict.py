"""The first screen in words: what to do, how sure, why, and what next."""

from dataclasses import dataclass

from counterpoise.evaluation.advice.baseline import (
    NOT_SHOWN_TO_BEAT,
    WORSE_THAN_GUESSING,
)
from counterpoise.evaluation.change_of_score import CLEAR
from counterpoise.report.answers import (
    CARE,
    GOOD,
    PLAIN,
    STOP,
    Answer,
    answers_of,
    gain_in,
    guessing_of,
    is_contradicted,
    may_lie_elsewhere,
)
from counterpoise.report.data_card import about_of
from counterpoise.report.first_screen.next_steps import steps_of
from counterpoise.report.key_numbers import KeyNumber, key_numbers_of
from counterpoise.report.record import Record
from counterpoise.report.watch_words import (
    watch_lead,
    watch_numbers,
    watch_steps,
    watch_title,
)
from counterpoise.report.wording import (
    Sentence,
    sentence,
)
from counterpoise.samples.overlap_verdict import (
    COVERED,
    NO_OVERLAP,
    NO_SHIFT,
    ROWS_OF_WORTH_TO_TELL,
    SMALL_SHIFT,
    THIN_IN_PART,
    TOO_FEW,
)


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


def verdict_of(record: Record) -> Verdict:
    """Return the first screen of a record."""
    watch = record.at("watch")
    if watch is not None:
        return Verdict(
            *watch_title(watch),
            watch_lead(watch),
            (),
            watch_numbers(watch),
            watch_steps(watch),
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
    adapted = bool(record.at("model.adapted", False))
    if is_contradicted(record) and word != NO_OVERLAP:
        why = (
            "rows alike have other labels now, or the new data are not where the "
            "training data are."
            if may_lie_elsewhere(record)
            else "the relation between columns and label has changed."
        )
        return CARE, f"The labelled new rows contradict the estimate: {why}"
    if word is None:
        if record.at("weights.weighter") is not None:
            return PLAIN, "Training rows were weighted to resemble the new data."
        if "headline" in record:
            return PLAIN, "How good the model will be on the new data."
        return PLAIN, "Nothing was compared: there is no new data in this record."
    if word == NO_OVERLAP:
        return STOP, "Do not deploy yet: the new data lie where you have no training."
    if "refused" in record:
        return STOP, "No model was fitted: the weighter found too little overlap."
    if word == TOO_FEW:
        return CARE, "There are too few rows to tell whether the data have shifted."
    guessing = guessing_of(record.at("headline"))
    if guessing == WORSE_THAN_GUESSING:
        return STOP, "Do not use this model there: guessing would do better."
    if guessing == NOT_SHOWN_TO_BEAT:
        return CARE, "This model is not shown to be better than guessing there."
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
        return GOOD, f"Use the adapted model{_does_better(record)}."
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
    elif has_model and word in (COVERED, SMALL_SHIFT, THIN_IN_PART):
        found += (
            _makes_better(record)
            if adapted
            else " Letting training rows that resemble the new ones count more was "
            "tried, and does not help this model, so it was left alone."
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
