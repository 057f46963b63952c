"""The three numbers that matter, each with one sentence of what it is."""

from dataclasses import dataclass

from counterpoise.report.answers import beside_the_score, is_withdrawn
from counterpoise.report.metric_names import metric_in_words, source_rows
from counterpoise.report.record import Record
from counterpoise.report.wording import (
    Sentence,
    ShownNumber,
    count,
    figures,
    sentence,
    share,
)


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
    if weights is None or weights.get("weighter") is None:
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
