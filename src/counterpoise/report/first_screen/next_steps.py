"""What to do next, in order."""

import shlex
from collections.abc import Mapping
from typing import Any

from counterpoise.evaluation.advice.baseline import (
    NOT_SHOWN_TO_BEAT,
    WORSE_THAN_GUESSING,
)
from counterpoise.evaluation.change_of_score import CANNOT_TELL, SAME
from counterpoise.report.answers import (
    beside_the_score,
    change_in,
    guessing_of,
    has_labels,
    is_contradicted,
    may_lie_elsewhere,
    source_and_value,
)
from counterpoise.report.first_screen.shift_words import to_be_made_alike
from counterpoise.report.metric_names import metric_in_words, source_rows
from counterpoise.report.record import Record
from counterpoise.report.wording import (
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
from counterpoise.samples.coverage.thin_by_chance import rows_that_tell
from counterpoise.samples.overlap_verdict import (
    COVERED,
    NO_OVERLAP,
    NO_SHIFT,
    SMALL_SHIFT,
    THIN_IN_PART,
    TOO_FEW,
)

# Columns that are named as making the samples disjoint, and commands with --drop.
_ROWS_OF_EACH = "shift.n_source", "shift.n_target"
_NAMED, _WITH_DROP = 3, ("run", "fit", "diagnose", "weigh")
_LABEL_THE_THIN = sentence(
    "Label some of the thinly covered rows described below, or collect training rows "
    "like them; do not trust predictions there before."
)


def steps_of(record: Record) -> tuple[Sentence, ...]:
    """Return the steps that the record asks for."""
    return (*to_be_made_alike(record), *_steps(record))


def _steps(record: Record) -> tuple[Sentence, ...]:
    word = record.at("shift.verdict")
    has_model = "model" in record
    adapted = bool(record.at("model.adapted", False))
    steps: list[Sentence] = []
    if word == NO_OVERLAP:
        steps = [
            sentence("Do not rely on a model of these training data there."),
            *_separating(record),
            sentence("Label some of the new rows, or collect training rows like them."),
        ]
        return tuple(steps)
    contradicted = is_contradicted(record)
    thin_first = contradicted and may_lie_elsewhere(record)
    if thin_first:
        steps += [
            _LABEL_THE_THIN,
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
    elif word == NO_SHIFT:
        nothing = "Nothing else" if to_be_made_alike(record) else "Nothing"
        steps.append(
            sentence(f"{nothing} needs to be done. Look again when data change.")
        )
    elif has_model and adapted:
        steps.append(sentence("Use the adapted model for the new data."))
    elif has_model:
        steps.append(sentence("Use the model as it is; weights do not help it."))
    elif "refused" in record:
        # The weighter's own words, which name the way to go on.
        why = sentence("The weighter refused: {}", for_a_person(record["refused"]))
        steps += [why, sentence("Leave the choice of weights to --weighter auto.")]
    elif word is not None:
        by = "`counterpoise run`" if record.at("reproduce.command") else "Adapted"
        steps.append(
            sentence(f"Fit your model by {by}: it tries weights and says if they help.")
        )
    if not contradicted:
        steps += _label_shift(record)
    if word != NO_SHIFT or contradicted:
        steps += _plan(record)
    if word == THIN_IN_PART and not thin_first:
        steps.append(_LABEL_THE_THIN)
    wanted = _labels_wanted(record)
    if wanted:
        steps.append(wanted)
    elif word in (COVERED, SMALL_SHIFT, THIN_IN_PART) and not has_labels(record):
        steps.append(
            sentence(
                "If you can, label a few new rows drawn by chance: only labels can "
                "show whether the same row still means the same label."
            )
        )
    return tuple(steps)


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
    if record.at("weights.weighter") in ("ClassShareWeights", "TargetShiftWeights"):
        used = sentence(" The rows were weighted by their classes for it.")
    elif record.at("reproduce.command") in ("run", "fit"):
        used = sentence(" --shift labels makes up for that.")
    else:
        used = sentence(' Adapted(weighter="labels") makes up for that.')
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
            f"Look at what makes the two disjoint: {{}}. Without {these} {{}} of "
            f"the new rows are covered: leave {them} out{{}} if the model can do "
            f"without, or see that both tables have {them} alike, and run again.",
            listed,
            share(found["covered"], "shift.separation.covered"),
            option,
        ),
    )
