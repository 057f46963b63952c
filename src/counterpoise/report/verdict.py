"""The first screen: verdict, reason, key numbers and next steps."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from counterpoise.figures.draw import chunk_rows
from counterpoise.messages import message
from counterpoise.messages.numbers import NARROW, metric_name
from counterpoise.performance.advice import NOT_SHOWN_TO_BEAT, WORSE_THAN_GUESSING
from counterpoise.performance.metrics import CANNOT_TELL, CLEAR, SAME
from counterpoise.report.formatting import (
    LONGEST_PROSE,
    Command,
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
    beside_the_score,
    both_scores,
    change_in,
    compares_weights,
    finding_texts,
    gain_in,
    guessing_of,
    has_labels,
    is_contradicted,
    is_withdrawn,
    may_lie_elsewhere,
    source_rows,
    uses_weights,
)
from counterpoise.report.report import Report
from counterpoise.shift.support import (
    COVERED,
    NO_OVERLAP,
    NO_SHIFT,
    PARTIAL_OVERLAP,
    ROWS_OF_WORTH_TO_TELL,
    SMALL_SHIFT,
    TOO_FEW,
    rows_that_tell,
)

# -----------------------------------------------------------------------------
# What to do next, in order.
# -----------------------------------------------------------------------------


# Columns that are named as making the samples disjoint, and commands with --drop.
_NAMED, _WITH_DROP = 3, ("run", "fit", "diagnose", "weights")
_LABEL_UNCOVERED = sentence(
    "Label some of the thinly covered rows described below, or collect training rows "
    "like them; do not trust predictions there before."
)
_NO_BETTER = (NOT_SHOWN_TO_BEAT, WORSE_THAN_GUESSING)


def steps_of(record: Report) -> tuple[Sentence, ...]:
    """Return the steps that the record asks for."""
    alike = finding_texts(record, "rounding", "spellings")
    steps: list[Sentence] = [(text,) for text in alike]
    verdict, contradicted = record.at("shift.verdict"), is_contradicted(record)
    if verdict == NO_OVERLAP:
        return (
            *steps,
            sentence("Do not rely on a model of these training data there."),
            *_separating(record),
            sentence("Label some of the new rows, or collect training rows like them."),
        )
    uncovered_first = contradicted and may_lie_elsewhere(record)
    if uncovered_first:
        steps += [
            _LABEL_UNCOVERED,
            sentence(
                "Only if the labels of covered rows do not fit either, do not go by "
                "the old relation: fit a model to new rows drawn by chance and "
                "labeled."
            ),
        ]
    elif contradicted:
        steps.append(
            sentence(
                "Do not go by the old relation: label more of the new rows, drawn by "
                "chance, and fit a model to them."
            )
        )
    if verdict == TOO_FEW:
        steps.append(
            sentence(
                f"Come back with more rows: with {rows_that_tell()} of each it can be "
                "told what is covered; there are {shift.n_source:count} training and "
                "{shift.n_target:count} new rows.",
                record,
            )
        )
        return tuple(steps)
    if not contradicted:
        # Other models of the old relation would be no better.
        if guessing_of(record.at("headline")) in _NO_BETTER:
            steps.append(_other_models(record))
        else:
            steps += _main_step(record, is_first=not alike)
        steps += _label_shift(record)
    if verdict != NO_SHIFT or contradicted:
        steps += _plan(record)
    if verdict == PARTIAL_OVERLAP and not uncovered_first:
        steps.append(_LABEL_UNCOVERED)
    wanted = _labels_wanted(record)
    if wanted:
        steps.append(wanted)
    elif verdict in (COVERED, SMALL_SHIFT, PARTIAL_OVERLAP) and not has_labels(record):
        steps.append(
            sentence(
                "If you can, label a few new rows drawn by chance: only labels can "
                "show whether the same row still means the same label."
            )
        )
    return tuple(steps)


def _main_step(record: Report, *, is_first: bool) -> list[Sentence]:
    """Return what to do with the model, or how to get one."""
    verdict = record.at("shift.verdict")
    has_model, adapted = "model" in record, uses_weights(record)
    command = record.at("reproduce.command")
    if verdict == NO_SHIFT and has_model and adapted and gain_in(record) is None:
        # Weights were used without a shift and without a test.
        by = "--weight-estimator auto" if command in ("run", "fit") else "guard=True"
        return [
            sentence(
                "Fit the model without weights, or let weight selection decide ({by}): "
                "there is no shift that weights could make up for, and they cost "
                "effective rows.",
                by=Command(by),
            )
        ]
    if verdict == NO_SHIFT and not (has_model and adapted):
        nothing = "Nothing" if is_first else "Nothing else"
        return [sentence(f"{nothing} needs to be done. Look again when data change.")]
    if has_model and adapted:
        return [sentence("Use the adapted model for the new data.")]
    if has_model:
        compared = compares_weights(record)
        reason = (
            "weights do not help it" if compared else "it was fitted without weights"
        )
        return [sentence(f"Use the model as it is; {reason}.")]
    if "refused" in record:
        why = message(record["refused"], "page")
        return [
            sentence("The weight estimator refused: {why}", why=why),
            sentence("Leave the choice of weights to --weight-estimator auto."),
        ]
    if verdict is None:
        return []
    by = "`counterpoise run`" if command else "Adapted"
    return [
        sentence(f"Fit your model by {by}: it tries weights and says if they help.")
    ]


def _label_shift(record: Report) -> list[Sentence]:
    """Return what to know where the classes in other shares explain the shift."""
    if not record.at("label_shift.is_label_shift", False):
        return []
    section = record["label_shift"]
    before, after = section["source_shares"], section["shares"]
    moved = [abs(b - a) for a, b in zip(before, after, strict=True)]
    k = moved.index(max(moved))
    estimator = record.at("weights.weight_estimator")
    if estimator in ("ClassShareWeights", "LabelShiftWeights"):
        used = "The rows were weighted by their classes for it."
    elif record.at("reproduce.command") in ("run", "fit"):
        used = "--shift labels makes up for that."
    else:
        used = 'Adapted(weight_estimator="labels") makes up for that.'
    return [
        sentence(
            "The new data look like the training classes in other shares: {name} had "
            f"{{label_shift.source_shares.{k}:share}} of the training rows and has "
            f"about {{label_shift.shares.{k}:share}} of the new ones. {used}",
            record,
            name=Name(str(section["classes"][k])),
        )
    ]


def _other_models(record: Report) -> Sentence:
    """Return what to try where a model is no better than guessing."""
    why = "Too little is known to tell this model from the best constant prediction"
    if guessing_of(record.at("headline")) == WORSE_THAN_GUESSING:
        why = "The best constant prediction does better on the new data"
    attempt: Sentence = ("try simpler models and other columns",)
    estimator = record.at("reproduce.options.estimator", "auto")
    if record.at("reproduce.command") in ("run", "fit") and estimator != "auto":
        attempt = sentence(
            "try {auto}, which compares boosting, a linear model and a constant there",
            auto=Command("--estimator auto"),
        )
    template = f"{why}: {{attempt}}, or label some of the new rows."
    return sentence(template, attempt=attempt)


def _plan(record: Report) -> list[Sentence]:
    """Return which score to plan with."""
    headline = record.at("headline")
    if headline is None or is_withdrawn(record, headline["estimate"]):
        return []
    rows = source_rows(record)
    rows = "the training data" if rows == "training data" else rows
    change, both = change_in(headline), both_scores(headline)
    source = value = figures(headline["source"], "headline.source")
    if change == CANNOT_TELL:
        template = (
            "Plan for any {name} between {headline.low} and {headline.high}{beside}: "
            "too little is known to say whether it differs from the {source} of "
            f"{rows}."
        )
    elif both is None:
        template = f"Plan with the {{name}} of {rows}, {{source}}{{beside}}."
    else:
        source, value = both
        than = "not with" if change != SAME else "that is within the margin of"
        sign = "," if change != SAME else ";"
        template = (
            f"Plan with an expected {{name}} of {{value}}{{beside}}{sign} {than} the "
            f"{{source}} of {rows}."
        )
    return [
        sentence(
            template,
            record,
            name=metric_name(headline["metric"]).name,
            source=source,
            value=value,
            beside=beside_the_score(record),
        )
    ]


def _labels_wanted(record: Report) -> Sentence:
    """Return how many labels would make the interval as narrow as was asked for."""
    labels = record.at("performance.labels")
    if labels is None or labels["n_labels"] == 0:
        return ()
    at = "performance.labels"
    all_of_them: Sentence = ()
    left = labels.get("width_of_all")
    if left is not None and left < labels["width"]:
        all_of_them = sentence(
            f"; labels of all {{{at}.n_target:count}} that there are would leave it "
            f"about {{{at}.width_of_all:share}} as wide",
            record,
        )
    wide = f"The interval is {{{at}.width:share}} as wide as the score; to make that "
    wide += f"{{{at}.precision:share}}"
    n = labels["n_labels"]
    if n is None:
        template = f"{wide} takes more new rows first{{all_of_them}}."
        return sentence(template, record, all_of_them=all_of_them)
    enough = n <= labels["n_target"]
    how: Sentence = ()
    if enough and record.at("reproduce.command") in ("run", "evaluate"):
        how = sentence(
            " ({write} writes them, {read} takes them in)",
            write=Command(_label_command(record, n)),
            read=Command("--target-labels FILE"),
        )
    more = "" if enough else ", more than there are"
    more = f" in all{more}" if has_labels(record) else more
    return sentence(
        f"{wide}, label about {{{at}.n_labels:count}} new rows drawn by chance{more}"
        "{how}{all_of_them}. Only labels can show, too, whether the same row still "
        "means the same label.",
        record,
        how=how,
        all_of_them=all_of_them,
    )


def _label_command(record: Report, n: int) -> str:
    """Return the command that writes so many new rows to be labeled."""
    file, label = record.at("data.target.file"), record.at("reproduce.options.label")
    words = ["counterpoise", "label", "--k", str(n)]
    words += ["--target", str(file)] if file else []
    words += ["--label", str(label)] if label else []
    return shlex.join([*words, "--out", "to_label.csv"])


def _separating(record: Report) -> list[Sentence]:
    """Return what to do about columns that make the two samples disjoint."""
    found = record.at("shift.separation")
    if found is None:
        return []
    columns = found["columns"]
    listed = joined(
        [
            sentence(
                "{name} ({difference})",
                name=Name(one["name"]),
                difference=message(one["difference"], "page"),
            )
            for one in columns[:_NAMED]
        ],
        ", ",
    )
    if len(columns) > _NAMED:
        listed += (f" and {len(columns) - _NAMED} more",)
    if found["verdict"] == NO_OVERLAP:
        return [
            sentence(
                "Leaving out columns does not help: {listed} set the two apart, but "
                "even without them no more than {shift.separation.covered:share} of "
                "the new rows are covered.",
                record,
                listed=listed,
            )
        ]
    option: Sentence = ()
    if record.at("reproduce.command") in _WITH_DROP:
        option = sentence(" (--drop {columns})", columns=Command(found["drop"]))
    these, them = ("this column", "it") if len(columns) == 1 else ("these", "them")
    return [
        sentence(
            f"Look at what makes the two disjoint: {{listed}}. Without {these} "
            "{shift.separation.covered:share} of the new rows are covered: leave "
            f"{them} out{{option}} if the model can do without, or see that both "
            f"tables have {them} alike, and run again.",
            record,
            listed=listed,
            option=option,
        )
    ]


# -----------------------------------------------------------------------------
# The first screen.
# -----------------------------------------------------------------------------


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


def verdict_of(record: Report) -> Verdict:
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


def _title(record: Report) -> tuple[str, str]:
    verdict = record.at("shift.verdict")
    if is_contradicted(record) and verdict != NO_OVERLAP:
        why = (
            "rows alike have other labels now, or the new data are not where the "
            "training data are."
            if may_lie_elsewhere(record)
            else "the relation between columns and label has changed."
        )
        return CARE, f"The labeled new rows contradict the estimate: {why}"
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


def _title_without_shift(record: Report) -> str:
    if uses_weights(record):
        return "Training rows were weighted to resemble the new data."
    if record.at("weights.weight_estimator") is not None:
        return "All training rows have the same weight."
    if "headline" in record:
        return "How good the model will be on the new data."
    return "Nothing was compared: there is no new data in this record."


def _title_of_model(record: Report, verdict: str) -> tuple[str, str]:
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


def _lead(record: Report) -> Sentence:
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


def seed_of(record: Report) -> object:
    """Return the seed that everything was drawn by; None where it is not known."""
    seed = record.at("reproduce.options.seed")
    return record.at("reproduce.parameters.random_state") if seed is None else seed


def _about(record: Report) -> Sentence:
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


def _key_numbers(record: Report) -> tuple[KeyNumber, ...]:
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
