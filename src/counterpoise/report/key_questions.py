"""Answers to the report's questions, and what to do next."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from counterpoise.adaptation.guard import EQUAL_WEIGHTS, FEW_EFFECTIVE_ROWS
from counterpoise.performance.advice import NOT_SHOWN_TO_BEAT, WORSE_THAN_GUESSING
from counterpoise.performance.metrics import (
    CANNOT_TELL,
    CLEAR,
    LIKELY,
    RULE,
    SAME,
    WORSE,
    change_of,
    sureness_of_gain,
)
from counterpoise.report.formatting import (
    Command,
    Name,
    Sentence,
    count,
    figures,
    for_a_person,
    joined,
    sentence,
    share,
    told_apart,
)
from counterpoise.report.report import Record, metric_in_words, source_rows
from counterpoise.shift.columns import CorrelationShift
from counterpoise.shift.diagnosis_text import (
    said_of,
    said_of_digits,
    said_of_missed,
    said_of_pairs,
    said_of_spellings,
)
from counterpoise.shift.separation import (
    Spelling,
)
from counterpoise.shift.support import (
    COVERED,
    NO_OVERLAP,
    NO_SHIFT,
    PARTIAL_OVERLAP,
    SMALL_SHIFT,
    TOO_FEW,
    rows_that_tell,
)
from counterpoise.shift.verdict_tests import (
    Detectable,
    ShiftTest,
)

# -----------------------------------------------------------------------------
# What was found of the shift beside the verdict, in a person's words.
#
# The sentences are those of `diagnosis.findings_in_words`, from the record.
# -----------------------------------------------------------------------------


def by_which_tests(record: Record) -> Sentence:
    """Return on which tests the verdict rests, and what goes together otherwise."""
    tests = [ShiftTest.of_dict(one) for one in record.at("shift.tests") or ()]
    moved = record.at("shift.correlations") or ()
    pairs = [CorrelationShift.of_dict(one) for one in moved]
    return _after([*said_of(tests), *said_of_pairs(pairs)])


def could_be_missed(record: Record) -> Sentence:
    """Return which shifts could have been missed, where little was seen."""
    told = record.at("shift.detectable")
    missed = None if told is None else Detectable.of_dict(told)
    return _after(said_of_missed(record.at("shift.verdict"), missed))


def to_be_made_alike(record: Record) -> tuple[Sentence, ...]:
    """Return what to do about columns of other digits and categories of other words."""
    digits = list(map(str, record.at("shift.digits") or ()))
    spellings = [Spelling.of_dict(one) for one in record.at("shift.spellings") or ()]
    said = [*said_of_digits(digits), *said_of_spellings(spellings)]
    return tuple((for_a_person(one),) for one in said)


def _after(said: Sequence[str]) -> Sentence:
    """Return sentences that follow others."""
    return tuple(f" {for_a_person(one)}" for one in said)


# -----------------------------------------------------------------------------
# The four questions of the first screen, each with its answer and how sure it is.
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


def answers_of(record: Record) -> tuple[Answer, ...]:
    """Return the questions that a record can answer."""
    found = (
        _shift_answer(record),
        _cover_answer(record),
        _weights_answer(record),
        _score_answer(record),
    )
    return tuple(answer for answer in found if answer is not None)


def change_in(headline: Mapping[str, Any]) -> str:
    """Return the one word for how the score changes, see `change_of`."""
    return change_of(
        headline["source"],
        headline["value"],
        headline.get("low"),
        headline.get("high"),
        higher_is_better=bool(headline.get("higher_is_better")),
    )


def source_and_value(
    headline: Mapping[str, Any],
) -> tuple[tuple[float, str], tuple[float, str]]:
    """Return the scores on training and on new data, with their places."""
    return (
        (headline["source"], "headline.source"),
        (headline["value"], "headline.value"),
    )


def guessing_of(headline: Mapping[str, Any] | None) -> str | None:
    """Return whether the model beats the best constant prediction, if that is known."""
    found = (headline or {}).get("baseline")
    return None if found is None else str(found["verdict"])


def beside_guessing(headline: Mapping[str, Any]) -> Sentence:
    """Return what the best constant prediction would get, and the yardsticks."""
    found = headline.get("baseline")
    if found is None:
        return ()
    at = "headline.baseline"
    told = sentence(
        " Guessing (the {} for every row) would get {}",
        found["prediction"],
        figures(found["value"], f"{at}.value"),
    )
    if found["skill"] is not None:
        saves = found["skill"] >= 0
        told += sentence(
            "; the model saves {} of that loss"
            if saves
            else "; the model loses {} more than that",
            share(abs(found["skill"]), f"{at}.skill"),
        )
        if found["root"] is not None:
            told += sentence(" (R² {})", figures(found["skill"], f"{at}.skill"))
    told += (".",)
    if found["root"] is not None:
        told += sentence(
            " In units of the label, it is off by {} (root mean squared error).",
            figures(found["root"], f"{at}.root"),
        )
    return told


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


def is_contradicted(record: Record) -> bool:
    """Return whether labels of new rows say that p(y | x) has changed."""
    metric = record.at("headline.metric")
    metrics = record.at("performance.metrics", {})
    check = (metrics.get(metric) or {}).get("check")
    return check is not None and bool(check["contradicts"])


def may_lie_elsewhere(record: Record) -> bool:
    """Return whether labels may contradict for want of training rows.

    Where more than `UNCOVERED_ABOVE` of the new rows are thinly covered (the record's
    verdict is thin in part, or no overlap), a contradiction has two readings: rows
    alike have other labels now, or the new data are not where the training data are.
    Both are told, and rows there are labelled or collected before a model is refitted.
    """
    return record.at("shift.verdict") in (PARTIAL_OVERLAP, NO_OVERLAP)


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
            " (if the {} of the new rows that are hardly covered are like the others, "
            "which nothing here can tell)",
            share(record.at("shift.uncovered_fraction"), "shift.uncovered_fraction"),
        )
    return sentence(
        " ({} for the {} of the new rows that the training data cover; for the others "
        "nothing is known)",
        figures(record.at(path), path),
        share(record.at("performance.covered.share"), "performance.covered.share"),
    )


def covered_path(record: Record) -> str:
    """Return where the record has the headline's estimate for the covered part."""
    metric, kind = record.at("headline.metric"), record.at("headline.estimate")
    return f"performance.covered.metrics.{metric}.{kind}.value"


def is_withdrawn(record: Record, estimate: str) -> bool:
    """Return whether an estimate rests on a p(y | x) that is shown to have changed."""
    return is_contradicted(record) and estimate not in ("source", "labelled")


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
    ends = [
        share(record.at(f"shift.{end}"), f"shift.{end}")
        for end in ("auc_low", "auc_high")
    ]
    sure = sentence("How sure: between {} and {}, at 95 % confidence.", *ends)
    if ends[0].text == ends[1].text:
        # No classifier learned anything, or one is right about every pair.
        sure = sentence("How sure: so it was for all pairs that were looked at.")
    told += by_which_tests(record)
    sure += could_be_missed(record)
    return Answer("Have the data shifted?", short, tone, told, sure)


def _cover_answer(record: Record) -> Answer | None:
    word = record.at("shift.verdict")
    if word is None:
        return None
    short, tone = {
        NO_OVERLAP: ("No", STOP),
        PARTIAL_OVERLAP: ("In part", CARE),
        TOO_FEW: ("Cannot tell", CARE),
    }.get(word, ("Yes", GOOD))
    told = sentence(
        "{} of the new rows lie where there are enough training rows to learn from; {} "
        "do not.",
        share(record.at("shift.covered"), "shift.covered"),
        share(record.at("shift.uncovered_fraction"), "shift.uncovered_fraction"),
    )
    n = record.at("shift.uncovered_rows.n_scored")
    sure: Sentence = ()
    if n:
        sure = sentence(
            "How sure: counted over {} new rows.",
            count(n, "shift.uncovered_rows.n_scored"),
        )
    return Answer("Are the new data covered?", short, tone, told, sure)


def _weights_answer(record: Record) -> Answer | None:
    guard, model = record.at("guard"), record.at("model")
    if model is None:
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
            "Labelled new rows do not fit what was estimated from the training data, "
            "by which weights were judged: what they gain cannot be told."
            if may_lie_elsewhere(record)
            else "Labelled new rows show that columns and label belong together in "
            "another way than in the training data, by which weights were judged: what "
            "they gain cannot be told."
        )
        return Answer(question, "Withdrawn", CARE, told, ())
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
                "The best amount of weighting {}: rows stay as they are.",
                _brings(guard, words.name, best, ", no more than chance may do"),
            )
            told += _not_the_score(record)
        return Answer(question, "No", PLAIN, told, _guard_sure(record))
    told = sentence(
        "In cross-validation, on rows weighted like the new data, weighting {}.",
        _brings(guard, words.name, k),
    )
    told += _not_the_score(record)
    short = {CLEAR: "Yes", LIKELY: "Probably"}.get(str(gain_in(record)), "Perhaps")
    return Answer(question, short, GOOD, told, _guard_sure(record))


def _not_the_score(record: Record) -> Sentence:
    """Return why the guard's numbers are not the score to expect."""
    kind = record.at("headline.estimate")
    if kind is None:
        return ()
    more = {
        "labelled": ", labelled new rows and a model of the loss",
        "doubly_robust": " and a model of the loss",
    }.get(kind, "")
    return sentence(
        " These are means over weighted rows in cross-validation, to compare amounts "
        f"of weighting; the score to expect, below, is made of weighted rows{more}."
    )


def _brings(guard: dict[str, Any], metric: str, k: int, more: str = "") -> Sentence:
    """Return from where to where an amount of weighting brings the metric."""
    both = told_apart(
        (guard["values"][0], "guard.values.0"),
        (guard["values"][k], f"guard.values.{k}"),
    )
    if both is None:
        return sentence("makes no difference to its {}", metric)
    return sentence(f"brings its {{}} from {{}} to {{}}{more}", metric, *both)


def _guard_sure(record: Record) -> Sentence:
    guard = record["guard"]
    rows = count(guard["effective_rows"], "guard.effective_rows")
    if guard["effective_rows"] < FEW_EFFECTIVE_ROWS:
        return sentence("How sure: not very; it rests on {} effective rows.", rows)
    if guard["chosen"] == 0 or not guard["gain_error"]:
        return sentence("How sure: judged on rows worth {} equal ones.", rows)
    return sentence(
        "How sure: {}; the gain is {} give or take {}.",
        str(gain_in(record)),
        figures(guard["gain"], "guard.gain", digits=2),
        figures(guard["gain_error"], "guard.gain_error", digits=2),
    )


def _score_answer(record: Record) -> Answer | None:
    headline = record.at("headline")
    if headline is None:
        return None
    words = metric_in_words(headline["metric"])
    low, high = headline.get("low"), headline.get("high")
    change = change_in(headline)
    # The interval stands below.
    short = f"{change[:1].upper()}{change[1:]}"
    tone = CARE if change in (WORSE, CANNOT_TELL) else GOOD
    rows = source_rows(record)
    both = told_apart(*source_and_value(headline))
    if both is None:
        told = sentence(
            f"On {rows} its {{}} is {{}}; on the new data expect no difference{{}}.",
            words.name,
            figures(headline["source"], "headline.source"),
            beside_the_score(record),
        )
    else:
        told = sentence(
            f"On {rows} its {{}} is {{}}; on the new data expect {{}}{{}}.",
            words.name,
            *both,
            beside_the_score(record),
        )
    told += beside_guessing(headline)
    guessing = guessing_of(headline)
    if guessing == WORSE_THAN_GUESSING:
        short, tone = "Worse than guessing", STOP
    elif guessing == NOT_SHOWN_TO_BEAT:
        short, tone = "Not shown to be better than guessing", CARE
    if record.at("shift.verdict") == PARTIAL_OVERLAP:
        tone = STOP if tone == STOP else CARE
        path = covered_path(record)
        told_with_it = bool(beside_the_score(record)) or is_contradicted(record)
        if record.at(path) is not None and not told_with_it:
            told += sentence(
                " For the covered part alone: {}.", figures(record.at(path), path)
            )
    told += _of_those_tried(record)
    sure: Sentence = ()
    if low is not None:
        sure = sentence(
            "How sure: between {} and {}, at {} confidence.",
            figures(low, "headline.low"),
            figures(high, "headline.high"),
            share(headline["level"], "headline.level"),
        )
        if short.lower().startswith(change):
            sure += sentence(f" ({change}: {RULE[change]}.)")
        if record.at("shift.verdict") == PARTIAL_OVERLAP and not has_labels(record):
            sure += sentence(
                " That is if the {} of the new rows that are hardly covered are like "
                "the others, which nothing here can tell.",
                share(
                    record.at("shift.uncovered_fraction"), "shift.uncovered_fraction"
                ),
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


def _of_those_tried(record: Record) -> Sentence:
    """Return which of several estimators was chosen, by which scores."""
    tried = record.at("tried")
    if not tried:
        return ()
    each = [
        sentence("{} {}", one["estimator"], figures(one["value"], f"tried.{k}.value"))
        for k, one in enumerate(tried)
        if one["value"] is not None
    ]
    chosen = next(one["estimator"] for one in tried if one["chosen"])
    return sentence(
        " Of the estimators tried there ({}) the best was taken: {}.",
        joined(each, ", "),
        chosen,
    )


def _labelled(check: dict[str, Any]) -> str:
    return f"{check['n_labelled']:,}"


# -----------------------------------------------------------------------------
# What to do next, in order.
# -----------------------------------------------------------------------------


# Columns that are named as making the samples disjoint, and commands with --drop.
_ROWS_OF_EACH = "shift.n_source", "shift.n_target"
_NAMED, _WITH_DROP = 3, ("run", "fit", "diagnose", "weights")
_LABEL_UNCOVERED = sentence(
    "Label some of the thinly covered rows described below, or collect training rows "
    "like them; do not trust predictions there before."
)


def steps_of(record: Record) -> tuple[Sentence, ...]:
    """Return the steps that the record asks for."""
    return (*to_be_made_alike(record), *_steps(record))


def _steps(record: Record) -> tuple[Sentence, ...]:
    word = record.at("shift.verdict")
    has_model = "model" in record
    adapted = uses_weights(record)
    steps: list[Sentence] = []
    if word == NO_OVERLAP:
        steps = [
            sentence("Do not rely on a model of these training data there."),
            *_separating(record),
            sentence("Label some of the new rows, or collect training rows like them."),
        ]
        return tuple(steps)
    contradicted = is_contradicted(record)
    uncovered_first = contradicted and may_lie_elsewhere(record)
    if uncovered_first:
        steps += [
            _LABEL_UNCOVERED,
            sentence(
                "Only if the labels of covered rows do not fit either, do not go by "
                "the old relation: fit a model to new rows drawn by chance and "
                "labelled."
            ),
        ]
    elif contradicted:
        steps.append(
            sentence(
                "Do not go by the old relation: label more of the new rows, drawn by "
                "chance, and fit a model to them."
            )
        )
    if word == TOO_FEW:
        steps.append(
            sentence(
                f"Come back with more rows: with {rows_that_tell()} of each it can be "
                "told what is covered; there are {} training and {} new rows.",
                *(count(record.at(path), path) for path in _ROWS_OF_EACH),
            )
        )
        return tuple(steps)
    guessing = guessing_of(record.at("headline"))
    # Other models of the old relation would be no better.
    if guessing in (NOT_SHOWN_TO_BEAT, WORSE_THAN_GUESSING) and not contradicted:
        steps.append(_other_models(record, guessing))
    if contradicted or guessing in (NOT_SHOWN_TO_BEAT, WORSE_THAN_GUESSING):
        pass
    elif word == NO_SHIFT and has_model and adapted and gain_in(record) is None:
        steps.append(_without_weights(record))
    elif word == NO_SHIFT and not (has_model and adapted):
        nothing = "Nothing else" if to_be_made_alike(record) else "Nothing"
        steps.append(
            sentence(f"{nothing} needs to be done. ChunkResult again when data change.")
        )
    elif has_model and adapted:
        steps.append(sentence("Use the adapted model for the new data."))
    elif has_model:
        reason = (
            "weights do not help it"
            if compares_weights(record)
            else "it was fitted without weights"
        )
        steps.append(sentence(f"Use the model as it is; {reason}."))
    elif "refused" in record:
        # The weight estimator's own words, which name the way to go on.
        why = sentence(
            "The weight estimator refused: {}", for_a_person(record["refused"])
        )
        steps += [
            why,
            sentence("Leave the choice of weights to --weight-estimator auto."),
        ]
    elif word is not None:
        by = "`counterpoise run`" if record.at("reproduce.command") else "Adapted"
        steps.append(
            sentence(f"Fit your model by {by}: it tries weights and says if they help.")
        )
    if not contradicted:
        steps += _label_shift(record)
    if word != NO_SHIFT or contradicted:
        steps += _plan(record)
    if word == PARTIAL_OVERLAP and not uncovered_first:
        steps.append(_LABEL_UNCOVERED)
    wanted = _labels_wanted(record)
    if wanted:
        steps.append(wanted)
    elif word in (COVERED, SMALL_SHIFT, PARTIAL_OVERLAP) and not has_labels(record):
        steps.append(
            sentence(
                "If you can, label a few new rows drawn by chance: only labels can "
                "show whether the same row still means the same label."
            )
        )
    return tuple(steps)


def _without_weights(record: Record) -> Sentence:
    """Return what to do where weights were used without a shift and without a test."""
    by = "guard=True"
    if record.at("reproduce.command") in ("run", "fit"):
        by = "--weight-estimator auto"
    return sentence(
        "Fit the model without weights, or let weight selection decide ({}): there is "
        "no shift that weights could make up for, and they cost effective rows.",
        Command(by),
    )


def _label_shift(record: Record) -> tuple[Sentence, ...]:
    """Return what to know where the classes in other shares explain the shift."""
    if not record.at("label_shift.is_label_shift", False):
        return ()
    classes, before, after = (
        record.at(f"label_shift.{key}")
        for key in ("classes", "source_shares", "shares")
    )
    moved = [abs(b - a) for a, b in zip(before, after, strict=True)]
    k = moved.index(max(moved))
    told = sentence(
        "The new data look like the training classes in other shares: {} had {} of the "
        "training rows and has about {} of the new ones.",
        Name(str(classes[k])),
        share(before[k], f"label_shift.source_shares.{k}"),
        share(after[k], f"label_shift.shares.{k}"),
    )
    if record.at("weights.weight_estimator") in (
        "ClassShareWeights",
        "LabelShiftWeights",
    ):
        used = sentence(" The rows were weighted by their classes for it.")
    elif record.at("reproduce.command") in ("run", "fit"):
        used = sentence(" --shift labels makes up for that.")
    else:
        used = sentence(' Adapted(weight_estimator="labels") makes up for that.')
    return ((*told, *used),)


def _other_models(record: Record, guessing: str) -> Sentence:
    """Return what to try where a model is no better than guessing."""
    why = (
        "The best constant prediction does better on the new data"
        if guessing == WORSE_THAN_GUESSING
        else "Too little is known to tell this model from the best constant prediction"
    )
    by: Sentence = ("try simpler models and other columns",)
    asked = record.at("reproduce.options.estimator", "auto")
    if record.at("reproduce.command") in ("run", "fit") and asked != "auto":
        by = sentence(
            "try {}, which compares boosting, a linear model and a constant there",
            Command("--estimator auto"),
        )
    return sentence(f"{why}: {{}}, or label some of the new rows.", by)


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
    both = told_apart(*source_and_value(headline))
    source = figures(headline["source"], "headline.source")
    change = change_in(headline)
    beside = beside_the_score(record)
    if change == CANNOT_TELL:
        return (
            sentence(
                f"Plan for any {{}} between {{}} and {{}}{{}}: too little is known to "
                f"say whether it differs from the {{}} of {rows}.",
                name,
                figures(headline["low"], "headline.low"),
                figures(headline["high"], "headline.high"),
                beside,
                source,
            ),
        )
    if both is None:
        same = f"Plan with the {{}} of {rows}, {{}}{{}}."
        return (sentence(same, name, source, beside),)
    source, value = both
    told = (
        f"; that is within the margin of the {{}} of {rows}."
        if change == SAME
        else f", not with the {{}} of {rows}."
    )
    plan = f"Plan with an expected {{}} of {{}}{{}}{told}"
    return (sentence(plan, name, value, beside, source),)


def _labels_wanted(record: Record) -> Sentence:
    """Return how many labels would make the interval as narrow as was asked for."""
    found = record.at("performance.labels")
    if found is None or found["n_labels"] == 0:
        return ()
    at = "performance.labels"
    wide = sentence(
        "The interval is {} as wide as the score; ",
        share(found["width"], f"{at}.width"),
    )
    asked = share(found["precision"], f"{at}.precision")
    all_of_them = _of_all(found)
    if found["n_labels"] is None:
        return wide + sentence(
            "to make that {} takes more new rows first{}.", asked, all_of_them
        )
    n = count(found["n_labels"], f"{at}.n_labels")
    how: Sentence = ()
    enough = found["n_labels"] <= found["n_target"]
    if enough and record.at("reproduce.command") in ("run", "evaluate"):
        how = sentence(
            " ({} writes them, {} takes them in)",
            Command(_label_command(record, found["n_labels"])),
            Command("--target-labels FILE"),
        )
    more = "" if enough else ", more than there are"
    if has_labels(record):
        more = f" in all{more}"
    return wide + sentence(
        f"to make that {{}}, label about {{}} new rows drawn by chance{more}{{}}{{}}. "
        "Only labels can show, too, whether the same row still means the same label.",
        asked,
        n,
        how,
        all_of_them,
    )


def _label_command(record: Record, n: int) -> str:
    """Return the command that writes so many new rows to be labelled."""
    file, label = record.at("data.target.file"), record.at("reproduce.options.label")
    words = ["counterpoise", "label", "--k", str(n)]
    words += ["--target", str(file)] if file else []
    words += ["--label", str(label)] if label else []
    return shlex.join([*words, "--out", "to_label.csv"])


def _of_all(found: Mapping[str, Any]) -> Sentence:
    """Return how wide the interval stays where every new row there is has a label."""
    left = found.get("width_of_all")
    if left is None or left >= found["width"]:
        return ()
    at = "performance.labels"
    return sentence(
        "; labels of all {} that there are would leave it about {} as wide",
        count(found["n_target"], f"{at}.n_target"),
        share(left, f"{at}.width_of_all"),
    )


def _separating(record: Record) -> tuple[Sentence, ...]:
    """Return what to do about columns that make the two samples disjoint."""
    found = record.at("shift.separation")
    if found is None:
        return ()
    columns = found["columns"]
    listed = joined(
        [
            sentence("{} ({})", Name(one["name"]), for_a_person(one["words"]))
            for one in columns[:_NAMED]
        ],
        ", ",
    )
    if len(columns) > _NAMED:
        listed += (f" and {len(columns) - _NAMED} more",)
    option: Sentence = ()
    if record.at("reproduce.command") in _WITH_DROP:
        option = sentence(" (--drop {})", Command(found["drop"]))
    these, them = ("this column", "it") if len(columns) == 1 else ("these", "them")
    if found["verdict"] == NO_OVERLAP:
        return (
            sentence(
                "Leaving out columns does not help: {} set the two apart, but even "
                "without them no more than {} of the new rows are covered.",
                listed,
                share(found["covered"], "shift.separation.covered"),
            ),
        )
    return (
        sentence(
            f"ChunkResult at what makes the two disjoint: {{}}. Without {these} {{}} "
            f"of "
            f"the new rows are covered: leave {them} out{{}} if the model can do "
            f"without, or see that both tables have {them} alike, and run again.",
            listed,
            share(found["covered"], "shift.separation.covered"),
            option,
        ),
    )
