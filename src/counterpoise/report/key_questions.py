"""Facts that the report rests on, and answers to its questions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from counterpoise.adaptation.guard import EQUAL_WEIGHTS, FEW_EFFECTIVE_ROWS
from counterpoise.messages import message
from counterpoise.messages.numbers import metric_name
from counterpoise.performance.advice import NOT_SHOWN_TO_BEAT, WORSE_THAN_GUESSING
from counterpoise.performance.metrics import (
    CANNOT_TELL,
    CLEAR,
    LIKELY,
    RULE,
    WORSE,
    change_of,
    sureness_of_gain,
)
from counterpoise.report.formatting import (
    Sentence,
    ShownNumber,
    distinct_figures,
    figures,
    joined,
    sentence,
    share,
)
from counterpoise.report.report import Report
from counterpoise.shift.support import (
    NO_OVERLAP,
    NO_SHIFT,
    PARTIAL_OVERLAP,
    SMALL_SHIFT,
    TOO_FEW,
)

# -----------------------------------------------------------------------------
# Facts that several sentences rest on.
# -----------------------------------------------------------------------------


def source_rows(record: Report) -> str:
    """Return what the rows are on which the source's score was measured.

    Without a fit in the record they are not those that the model was fitted to.

    Examples
    --------
    >>> source_rows(Report.from_dict({"model": {}})), source_rows(Report({}))
    ('training data', 'the labeled rows')
    """
    return "training data" if "model" in record else "the labeled rows"


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


def gain_in(record: Report) -> str | None:
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


def uses_weights(record: Report) -> bool:
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


def compares_weights(record: Report) -> bool:
    """Return whether other weights than ones were estimated and compared with them."""
    sections = ("guard", "classes", "weights.candidates")
    return any(bool(record.at(section)) for section in sections)


def has_labels(record: Report) -> bool:
    """Return whether labels of new rows were used."""
    metrics = record.at("performance.metrics", {})
    return any(one.get("check") or one.get("labeled") for one in metrics.values())


def label_check_of(record: Report) -> Mapping[str, Any] | None:
    """Return what labels of new rows say of the metric that leads."""
    metric = record.at("headline.metric")
    check: Mapping[str, Any] | None = (
        record.at("performance.metrics", {}).get(metric) or {}
    ).get("check")
    return check


def is_contradicted(record: Report) -> bool:
    """Return whether labels of new rows say that p(y | x) has changed."""
    check = label_check_of(record)
    return check is not None and bool(check["contradicts"])


def may_lie_elsewhere(record: Report) -> bool:
    """Return whether labels may contradict for want of training rows.

    Where more than `UNCOVERED_ABOVE` of the new rows are thinly covered (the record's
    verdict is thin in part, or no overlap), a contradiction has two readings: rows
    alike have other labels now, or the new data are not where the training data are.
    Both are told, and rows there are labeled or collected before a model is refitted.
    """
    return record.at("shift.verdict") in (PARTIAL_OVERLAP, NO_OVERLAP)


def is_withdrawn(record: Report, estimate: str) -> bool:
    """Return whether an estimate rests on a p(y | x) that is shown to have changed."""
    return is_contradicted(record) and estimate not in ("source", "labeled")


def covered_path(record: Report) -> str:
    """Return where the record has the headline's estimate for the covered part."""
    metric, kind = record.at("headline.metric"), record.at("headline.estimate")
    return f"performance.covered.metrics.{metric}.{kind}.value"


def beside_the_score(record: Report) -> Sentence:
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


# -----------------------------------------------------------------------------
# The four questions, each with its answer and how sure it is.
# -----------------------------------------------------------------------------


GOOD, CARE, STOP, PLAIN = "good", "care", "stop", "plain"


@dataclass(frozen=True)
class Answer:
    """One of the four questions, answered."""

    question: str
    short: str
    tone: str
    told: Sentence
    sure: Sentence


def answers_of(record: Report) -> tuple[Answer, ...]:
    """Return the questions that a record can answer."""
    found = (
        _shift_answer(record),
        _cover_answer(record),
        _weights_answer(record),
        _score_answer(record),
    )
    return tuple(answer for answer in found if answer is not None)


def finding_texts(record: Report, *codes: str) -> list[str]:
    """Return the diagnosis's findings of these codes, in the words of the page."""
    findings = record.at("shift.findings") or ()
    return [message(one, "page") for one in findings if one["code"] in codes]


def _after(record: Report, *codes: str) -> Sentence:
    """Return findings as sentences that follow others."""
    return tuple(f" {text}" for text in finding_texts(record, *codes))


def _shift_answer(record: Report) -> Answer | None:
    verdict = record.at("shift.verdict")
    if verdict is None:
        return None
    short, tone = {
        NO_SHIFT: ("No", GOOD),
        SMALL_SHIFT: ("A little", GOOD),
        TOO_FEW: ("Cannot tell", CARE),
    }.get(verdict, ("Yes", CARE))
    told = sentence(
        "Shown a training row and a new row, a classifier picks the new one "
        "{shift.auc:share} of the time; guessing is right 50 % of the time.",
        record,
    )
    sure = sentence(
        "How sure: between {shift.auc_low:share} and {shift.auc_high:share}, at 95 % "
        "confidence.",
        record,
    )
    low, high = (record.at(f"shift.auc_{end}") for end in ("low", "high"))
    if share(low).text == share(high).text:
        # No classifier learned anything, or one is right about every pair.
        sure = sentence("How sure: so it was for all pairs that were looked at.")
    told += _after(record, "other_tests", "changed_correlations")
    sure += _after(record, "detectable")
    return Answer("Have the data shifted?", short, tone, told, sure)


def _cover_answer(record: Report) -> Answer | None:
    verdict = record.at("shift.verdict")
    if verdict is None:
        return None
    short, tone = {
        NO_OVERLAP: ("No", STOP),
        PARTIAL_OVERLAP: ("In part", CARE),
        TOO_FEW: ("Cannot tell", CARE),
    }.get(verdict, ("Yes", GOOD))
    told = sentence(
        "{shift.covered:share} of the new rows lie where there are enough training "
        "rows to learn from; {shift.uncovered_fraction:share} do not.",
        record,
    )
    sure: Sentence = ()
    if record.at("shift.uncovered_rows.n_scored"):
        sure = sentence(
            "How sure: counted over {shift.uncovered_rows.n_scored:count} new rows.",
            record,
        )
    return Answer("Are the new data covered?", short, tone, told, sure)


def _weights_answer(record: Report) -> Answer | None:
    guard = record.at("guard")
    if "model" not in record:
        return None
    question = "Does weighting help?"
    if guard is None:
        if not uses_weights(record):
            told = sentence("No weights were used.")
            return Answer(question, "Not asked", PLAIN, told, ())
        told = sentence("The weights were used as they are, without being asked.")
        return Answer(question, "Not checked", CARE, told, ())
    if is_contradicted(record):
        told = sentence(
            "Labeled new rows do not fit what was estimated from the training data, "
            "by which weights were judged: what they gain cannot be told."
            if may_lie_elsewhere(record)
            else "Labeled new rows show that columns and label belong together in "
            "another way than in the training data, by which weights were judged: what "
            "they gain cannot be told."
        )
        return Answer(question, "Withdrawn", CARE, told, ())
    best = guard["exponents"].index(guard["best"])
    name, sure = metric_name(guard["metric"]).name, _guard_sure(record)
    if guard["chosen"] == 0 and best == 0:
        told = sentence(
            "No amount of weighting improves its estimated {name}: rows stay as they "
            "are.",
            name=name,
        )
        return Answer(question, "No", PLAIN, told, sure)
    if guard["chosen"] == 0:
        told = sentence(
            "The best amount of weighting {brings}: rows stay as they are.",
            brings=_brings(guard, name, best, ", no more than chance may do"),
        )
        return Answer(question, "No", PLAIN, told + _not_the_score(record), sure)
    chosen = guard["exponents"].index(guard["chosen"])
    told = sentence(
        "In cross-validation, on rows weighted like the new data, weighting {brings}.",
        brings=_brings(guard, name, chosen),
    )
    short = {CLEAR: "Yes", LIKELY: "Probably"}.get(str(gain_in(record)), "Perhaps")
    return Answer(question, short, GOOD, told + _not_the_score(record), sure)


def _not_the_score(record: Report) -> Sentence:
    """Return why the guard's numbers are not the score to expect."""
    kind = record.at("headline.estimate")
    if kind is None:
        return ()
    more = {
        "labeled": ", labeled new rows and a model of the loss",
        "doubly_robust": " and a model of the loss",
    }.get(kind, "")
    return sentence(
        " These are means over weighted rows in cross-validation, to compare amounts "
        f"of weighting; the score to expect, below, is made of weighted rows{more}."
    )


def _brings(guard: Mapping[str, Any], name: str, k: int, more: str = "") -> Sentence:
    """Return from where to where an amount of weighting brings the metric."""
    both = distinct_figures(
        (guard["values"][0], "guard.values.0"),
        (guard["values"][k], f"guard.values.{k}"),
    )
    if both is None:
        return sentence("makes no difference to its {name}", name=name)
    template = f"brings its {{name}} from {{before}} to {{after}}{more}"
    return sentence(template, name=name, before=both[0], after=both[1])


def _guard_sure(record: Report) -> Sentence:
    guard = record["guard"]
    if guard["effective_rows"] < FEW_EFFECTIVE_ROWS:
        template = (
            "How sure: not very; it rests on {guard.effective_rows:count} effective "
            "rows."
        )
    elif guard["chosen"] == 0 or not guard["gain_error"]:
        template = (
            "How sure: judged on rows worth {guard.effective_rows:count} equal ones."
        )
    else:
        template = (
            "How sure: {gain}; the gain is {guard.gain:two} give or take "
            "{guard.gain_error:two}."
        )
    return sentence(template, record, gain=str(gain_in(record)))


def _score_answer(record: Report) -> Answer | None:
    headline = record.at("headline")
    if headline is None:
        return None
    change, guessing = change_in(headline), guessing_of(headline)
    # The interval stands below.
    short = f"{change[:1].upper()}{change[1:]}"
    tone = CARE if change in (WORSE, CANNOT_TELL) else GOOD
    told = _expected_score(record) + _beside_guessing(record)
    if guessing == WORSE_THAN_GUESSING:
        short, tone = "Worse than guessing", STOP
    elif guessing == NOT_SHOWN_TO_BEAT:
        short, tone = "Not shown to be better than guessing", CARE
    is_partial = record.at("shift.verdict") == PARTIAL_OVERLAP
    if is_partial:
        tone = STOP if tone == STOP else CARE
        path = covered_path(record)
        told_with_it = bool(beside_the_score(record)) or is_contradicted(record)
        if record.at(path) is not None and not told_with_it:
            covered = figures(record.at(path), path)
            template = " For the covered part alone: {covered}."
            told += sentence(template, covered=covered)
    told += _of_those_tried(record)
    sure: Sentence = ()
    if headline.get("low") is not None:
        sure = sentence(
            "How sure: between {headline.low} and {headline.high}, at "
            "{headline.level:share} confidence.",
            record,
        )
        if short.lower().startswith(change):
            sure += sentence(f" ({change}: {RULE[change]}.)")
        if is_partial and not has_labels(record):
            sure += sentence(
                " That is if the {shift.uncovered_fraction:share} of the new rows that "
                "are hardly covered are like the others, which nothing here can tell.",
                record,
            )
    check = label_check_of(record)
    if check is not None:
        fit = "they fit the estimate."
        if is_contradicted(record) and headline["estimate"] == "labeled":
            fit = "the number is theirs, and what was estimated without them does "
            fit += "not fit."
        elif is_contradicted(record):
            short, tone = "Doubtful", CARE
            fit = "they do not fit the estimate."
        n = f"{check['n_labeled']:,}"
        sure += sentence(f" {n} labeled new rows were looked at: {fit}")
    return Answer("How good will it be there?", short, tone, told, sure)


def _expected_score(record: Report) -> Sentence:
    """Return the score on training and on new data."""
    headline = record["headline"]
    name, both = metric_name(headline["metric"]).name, both_scores(headline)
    source, expect = figures(headline["source"], "headline.source"), "no difference"
    if both is not None:
        source, expect = both[0], "{value}"
    return sentence(
        f"On {source_rows(record)} its {{name}} is {{source}}; on the new data expect "
        f"{expect}{{beside}}.",
        name=name,
        source=source,
        value=source if both is None else both[1],
        beside=beside_the_score(record),
    )


def _beside_guessing(record: Report) -> Sentence:
    """Return what the best constant prediction would get, and the yardsticks."""
    baseline = record.at("headline.baseline")
    if baseline is None:
        return ()
    told = sentence(
        " Guessing (the {what} for every row) would get {headline.baseline.value}",
        record,
        what=baseline["prediction"],
    )
    if baseline["skill"] is not None:
        path = "headline.baseline.skill"
        template = (
            "; the model saves {skill} of that loss"
            if baseline["skill"] >= 0
            else "; the model loses {skill} more than that"
        )
        told += sentence(template, skill=share(abs(baseline["skill"]), path))
        if baseline["root"] is not None:
            told += sentence(f" (R² {{{path}}})", record)
    told += (".",)
    if baseline["root"] is not None:
        told += sentence(
            " In units of the label, it is off by {headline.baseline.root} (root mean "
            "squared error).",
            record,
        )
    return told


def _of_those_tried(record: Report) -> Sentence:
    """Return which of several estimators was chosen, by which scores."""
    tried = record.at("tried")
    if not tried:
        return ()
    each = [
        sentence(f"{{name}} {{tried.{k}.value}}", record, name=one["estimator"])
        for k, one in enumerate(tried)
        if one["value"] is not None
    ]
    return sentence(
        " Of the estimators tried there ({each}) the best was taken: {best}.",
        each=joined(each, ", "),
        best=next(one["estimator"] for one in tried if one["chosen"]),
    )
