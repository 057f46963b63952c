"""The four questions of the first screen, each with its answer and how sure it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from counterpoise.adaptation.guard import FEW_EFFECTIVE_ROWS
from counterpoise.evaluation.change_of_score import (
    is_about_the_same,
    is_within,
    sureness_of_gain,
)
from counterpoise.report.metric_names import metric_in_words, source_rows
from counterpoise.report.record import Record
from counterpoise.report.wording import Sentence, count, figures, sentence, share
from counterpoise.samples.overlap_verdict import (
    NO_OVERLAP,
    NO_SHIFT,
    SMALL_SHIFT,
    THIN_IN_PART,
    TOO_FEW,
)

GOOD, CARE, STOP, PLAIN = "good", "care", "stop", "plain"


@dataclass(frozen=True)
class Answer:
    """One of the four questions, answered."""

    question: str
    short: str
    tone: str
    told: Sentence
    sure: Sentence


def answers_of(record: Record) -> tuple[Answer, ...]:
    """Return the questions that a record can answer."""
    found = (
        _shift_answer(record),
        _cover_answer(record),
        _weights_answer(record),
        _score_answer(record),
    )
    return tuple(answer for answer in found if answer is not None)


def stays_within(headline: Mapping[str, Any]) -> bool:
    """Return whether the source's score lies in the interval of the target's."""
    low, high = headline.get("low"), headline.get("high")
    return is_within(headline["source"], low, high)


def stays_about_the_same(headline: Mapping[str, Any]) -> bool:
    """Return whether the target's score is the source's, and well enough known."""
    low, high = headline.get("low"), headline.get("high")
    return is_about_the_same(headline["source"], headline["value"], low, high)


def has_labels(record: Record) -> bool:
    """Return whether labels of new rows were used."""
    metrics = record.at("performance.metrics", {})
    return any(one.get("check") or one.get("labelled") for one in metrics.values())


def is_contradicted(record: Record) -> bool:
    """Return whether labels of new rows say that p(y | x) has changed."""
    metric = record.at("headline.metric")
    metrics = record.at("performance.metrics", {})
    check = (metrics.get(metric) or {}).get("check")
    return check is not None and bool(check["contradicts"])


def _shift_answer(record: Record) -> Answer | None:
    word = record.at("shift.verdict")
    if word is None:
        return None
    short, tone = {
        NO_SHIFT: ("No", GOOD),
        SMALL_SHIFT: ("A little", GOOD),
        TOO_FEW: ("Cannot tell", CARE),
    }.get(word, ("Yes", CARE))
    told = sentence(
        "Shown a training row and a new row, a classifier picks the new one {} of the "
        "time; guessing is right 50 % of the time.",
        share(record.at("shift.auc"), "shift.auc"),
    )
    sure = sentence(
        "How sure: between {} and {}, at 95 % confidence.",
        share(record.at("shift.auc_low"), "shift.auc_low"),
        share(record.at("shift.auc_high"), "shift.auc_high"),
    )
    return Answer("Have the data shifted?", short, tone, told, sure)


def _cover_answer(record: Record) -> Answer | None:
    word = record.at("shift.verdict")
    if word is None:
        return None
    short, tone = {
        NO_OVERLAP: ("No", STOP),
        THIN_IN_PART: ("In part", CARE),
        TOO_FEW: ("Cannot tell", CARE),
    }.get(word, ("Yes", GOOD))
    told = sentence(
        "{} of the new rows lie where there are enough training rows to learn from; {} "
        "do not.",
        share(record.at("shift.covered"), "shift.covered"),
        share(record.at("shift.thin"), "shift.thin"),
    )
    n = record.at("shift.thin_rows.n_scored")
    sure: Sentence = ()
    if n:
        sure = sentence(
            "How sure: counted over {} new rows.",
            count(n, "shift.thin_rows.n_scored"),
        )
    return Answer("Are the new data covered?", short, tone, told, sure)


def _weights_answer(record: Record) -> Answer | None:
    guard, model = record.at("guard"), record.at("model")
    if model is None:
        return None
    question = "Does weighting help?"
    if guard is None:
        if not model["adapted"]:
            told = sentence("No weights were used.")
            return Answer(question, "Not asked", PLAIN, told, ())
        told = sentence("The weights were used as they are, without being asked.")
        return Answer(question, "Not checked", CARE, told, ())
    words = metric_in_words(guard["metric"])
    k = guard["exponents"].index(guard["chosen"])
    if guard["chosen"] == 0:
        best = guard["exponents"].index(guard["best"])
        if best == 0:
            told = sentence(
                "No amount of weighting improves its estimated {}: rows stay as they "
                "are.",
                words.name,
            )
        else:
            told = sentence(
                "The best amount of weighting brings {} from {} to {}, no more than "
                "chance may do: rows stay as they are.",
                words.name,
                figures(guard["values"][0], "guard.values.0"),
                figures(guard["values"][best], f"guard.values.{best}"),
            )
        return Answer(question, "No", PLAIN, told, _guard_sure(record))
    told = sentence(
        "In cross-validation, on rows weighted like the new data, its {} goes from {} "
        "to {}.",
        words.name,
        figures(guard["values"][0], "guard.values.0"),
        figures(guard["values"][k], f"guard.values.{k}"),
    )
    return Answer(question, "Yes", GOOD, told, _guard_sure(record))


def _guard_sure(record: Record) -> Sentence:
    guard = record["guard"]
    rows = count(guard["effective_rows"], "guard.effective_rows")
    if guard["effective_rows"] < FEW_EFFECTIVE_ROWS:
        return sentence("How sure: not very; it rests on {} effective rows.", rows)
    if guard["chosen"] == 0 or not guard["gain_error"]:
        return sentence("How sure: judged on rows worth {} equal ones.", rows)
    word = sureness_of_gain(guard["gain"], guard["gain_error"])
    return sentence(
        "How sure: {}; the gain is {} give or take {}.",
        word,
        figures(guard["gain"], "guard.gain", digits=2),
        figures(guard["gain_error"], "guard.gain_error", digits=2),
    )


def _score_answer(record: Record) -> Answer | None:
    headline = record.at("headline")
    if headline is None:
        return None
    words = metric_in_words(headline["metric"])
    worse = headline["value"] < headline["source"]
    if not headline.get("higher_is_better"):
        worse = headline["value"] > headline["source"]
    low, high = headline.get("low"), headline.get("high")
    short, tone = ("Worse", CARE) if worse else ("Better", GOOD)
    if stays_about_the_same(headline):
        short, tone = "About the same", GOOD
    elif stays_within(headline):
        between = f"{figures(low)} and {figures(high)}"
        short, tone = f"Cannot be told well: somewhere between {between}", CARE
    rows = source_rows(record)
    told = sentence(
        f"On {rows} its {{}} is {{}}; on the new data expect {{}}.",
        words.name,
        figures(headline["source"], "headline.source"),
        figures(headline["value"], "headline.value"),
    )
    if record.at("shift.verdict") == THIN_IN_PART:
        tone = CARE
        path = f"performance.covered.metrics.{headline['metric']}"
        path += f".{headline['estimate']}.value"
        if record.at(path) is not None:
            told += sentence(
                " For the covered part alone: {}.", figures(record.at(path), path)
            )
    sure: Sentence = ()
    if low is not None:
        sure = sentence(
            "How sure: between {} and {}, at {} confidence.",
            figures(low, "headline.low"),
            figures(high, "headline.high"),
            share(headline["level"], "headline.level"),
        )
    metrics = record.at("performance.metrics", {})
    check = (metrics.get(headline["metric"]) or {}).get("check")
    if check is not None:
        surprise = is_contradicted(record)
        by_labels = headline["estimate"] == "labelled"
        if surprise and not by_labels:
            short, tone = "Doubtful", CARE
        sure += sentence(" {} labelled new rows were looked at: ", _labelled(check))
        sure += sentence(
            "they fit the estimate."
            if not surprise
            else "the number is theirs, and what was estimated without them does not "
            "fit."
            if by_labels
            else "they do not fit the estimate."
        )
    return Answer("How good will it be there?", short, tone, told, sure)


def _labelled(check: dict[str, Any]) -> str:
    return f"{check['n_labelled']:,}"
