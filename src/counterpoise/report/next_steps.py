"""What to do next, in order."""

import shlex

from counterpoise.messages import message
from counterpoise.messages.numbers import metric_name
from counterpoise.performance.advice import NOT_SHOWN_TO_BEAT, WORSE_THAN_GUESSING
from counterpoise.performance.metrics import CANNOT_TELL, SAME
from counterpoise.report.facts import (
    beside_the_score,
    both_scores,
    change_in,
    compares_weights,
    gain_in,
    guessing_of,
    has_labels,
    is_contradicted,
    is_withdrawn,
    may_lie_elsewhere,
    source_rows,
    uses_weights,
)
from counterpoise.report.formatting import (
    Command,
    Name,
    Sentence,
    figures,
    joined,
    sentence,
)
from counterpoise.report.key_questions import finding_texts
from counterpoise.report.report import Record
from counterpoise.shift.support import (
    COVERED,
    NO_OVERLAP,
    NO_SHIFT,
    PARTIAL_OVERLAP,
    SMALL_SHIFT,
    TOO_FEW,
    rows_that_tell,
)

# Columns that are named as making the samples disjoint, and commands with --drop.
_NAMED, _WITH_DROP = 3, ("run", "fit", "diagnose", "weights")
_LABEL_UNCOVERED = sentence(
    "Label some of the thinly covered rows described below, or collect training rows "
    "like them; do not trust predictions there before."
)
_NO_BETTER = (NOT_SHOWN_TO_BEAT, WORSE_THAN_GUESSING)


def steps_of(record: Record) -> tuple[Sentence, ...]:
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


def _main_step(record: Record, *, is_first: bool) -> list[Sentence]:
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
        return [
            sentence(f"{nothing} needs to be done. ChunkResult again when data change.")
        ]
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


def _label_shift(record: Record) -> list[Sentence]:
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


def _other_models(record: Record) -> Sentence:
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


def _plan(record: Record) -> list[Sentence]:
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


def _labels_wanted(record: Record) -> Sentence:
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


def _label_command(record: Record, n: int) -> str:
    """Return the command that writes so many new rows to be labelled."""
    file, label = record.at("data.target.file"), record.at("reproduce.options.label")
    words = ["counterpoise", "label", "--k", str(n)]
    words += ["--target", str(file)] if file else []
    words += ["--label", str(label)] if label else []
    return shlex.join([*words, "--out", "to_label.csv"])


def _separating(record: Record) -> list[Sentence]:
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
            f"ChunkResult at what makes the two disjoint: {{listed}}. Without {these} "
            "{shift.separation.covered:share} of the new rows are covered: leave "
            f"{them} out{{option}} if the model can do without, or see that both "
            f"tables have {them} alike, and run again.",
            record,
            listed=listed,
            option=option,
        )
    ]
