"""Facts of a report that several sentences rest on."""

from collections.abc import Mapping
from typing import Any

from counterpoise.adaptation.guard import EQUAL_WEIGHTS
from counterpoise.performance.metrics import CLEAR, change_of, sureness_of_gain
from counterpoise.report.formatting import (
    Sentence,
    ShownNumber,
    distinct_figures,
    figures,
    sentence,
)
from counterpoise.report.report import Record
from counterpoise.shift.support import NO_OVERLAP, PARTIAL_OVERLAP


def source_rows(record: Record) -> str:
    """Return what the rows are on which the source's score was measured.

    Without a fit in the record they are not those that the model was fitted to.

    Examples
    --------
    >>> source_rows(Record.from_dict({"model": {}})), source_rows(Record({}))
    ('training data', 'the labelled rows')
    """
    return "training data" if "model" in record else "the labelled rows"


def change_in(headline: Mapping[str, Any]) -> str:
    """Return the one word for how the score changes, see `change_of`."""
    return change_of(
        headline["source"],
        headline["value"],
        headline.get("low"),
        headline.get("high"),
        higher_is_better=bool(headline.get("higher_is_better")),
    )


def both_scores(headline: Mapping[str, Any]) -> tuple[ShownNumber, ShownNumber] | None:
    """Return the scores on training and on new data; None where they look alike."""
    return distinct_figures(
        (headline["source"], "headline.source"), (headline["value"], "headline.value")
    )


def guessing_of(headline: Mapping[str, Any] | None) -> str | None:
    """Return whether the model beats the best constant prediction, if that is known."""
    found = (headline or {}).get("baseline")
    return None if found is None else str(found["verdict"])


def gain_in(record: Record) -> str | None:
    """Return how sure the gain by weights is, see `sureness_of_gain`.

    None where none was judged.
    """
    guard = record.at("guard")
    if guard is None or guard["chosen"] == 0:
        return None
    # A gain that never varies is no matter of chance.
    if not guard["gain_error"]:
        return CLEAR
    return sureness_of_gain(guard["gain"], guard["gain_error"])


def uses_weights(record: Record) -> bool:
    """Return whether the weights that were used differ from ones.

    Whatever is said of the model's weights follows from this: those of the model where
    there is one, else those that a weight estimator gave, whose mean is one.
    """
    if "model" in record:
        return bool(record.at("model.adapted", False))
    weights = record.at("weights")
    if weights is None or weights.get("weight_estimator") is None:
        return False
    ends = weights.get("smallest"), weights.get("largest")
    return None in ends or bool(ends[1] - ends[0] > EQUAL_WEIGHTS)


def compares_weights(record: Record) -> bool:
    """Return whether other weights than ones were estimated and compared with them."""
    sections = ("guard", "classes", "weights.candidates")
    return any(bool(record.at(section)) for section in sections)


def has_labels(record: Record) -> bool:
    """Return whether labels of new rows were used."""
    metrics = record.at("performance.metrics", {})
    return any(one.get("check") or one.get("labelled") for one in metrics.values())


def label_check_of(record: Record) -> Mapping[str, Any] | None:
    """Return what labels of new rows say of the metric that leads."""
    metric = record.at("headline.metric")
    check: Mapping[str, Any] | None = (
        record.at("performance.metrics", {}).get(metric) or {}
    ).get("check")
    return check


def is_contradicted(record: Record) -> bool:
    """Return whether labels of new rows say that p(y | x) has changed."""
    check = label_check_of(record)
    return check is not None and bool(check["contradicts"])


def may_lie_elsewhere(record: Record) -> bool:
    """Return whether labels may contradict for want of training rows.

    Where more than `UNCOVERED_ABOVE` of the new rows are thinly covered (the record's
    verdict is thin in part, or no overlap), a contradiction has two readings: rows
    alike have other labels now, or the new data are not where the training data are.
    Both are told, and rows there are labelled or collected before a model is refitted.
    """
    return record.at("shift.verdict") in (PARTIAL_OVERLAP, NO_OVERLAP)


def is_withdrawn(record: Record, estimate: str) -> bool:
    """Return whether an estimate rests on a p(y | x) that is shown to have changed."""
    return is_contradicted(record) and estimate not in ("source", "labelled")


def covered_path(record: Record) -> str:
    """Return where the record has the headline's estimate for the covered part."""
    metric, kind = record.at("headline.metric"), record.at("headline.estimate")
    return f"performance.covered.metrics.{metric}.{kind}.value"


def beside_the_score(record: Record) -> Sentence:
    """Return what must stand with the expected score wherever it is told.

    Where part of the new rows is thin and none of them has a label, the score speaks
    for rows about which nothing is known: beside it stands the estimate for the covered
    part, with its share, or, where there is none, what the score takes for granted.
    """
    if record.at("shift.verdict") != PARTIAL_OVERLAP or has_labels(record):
        return ()
    path = covered_path(record)
    if record.at(path) is None:
        return sentence(
            " (if the {shift.uncovered_fraction:share} of the new rows that are hardly "
            "covered are like the others, which nothing here can tell)",
            record,
        )
    return sentence(
        " ({covered} for the {performance.covered.share:share} of the new rows that "
        "the training data cover; for the others nothing is known)",
        record,
        covered=figures(record.at(path), path),
    )
