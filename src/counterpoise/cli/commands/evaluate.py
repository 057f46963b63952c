"""`counterpoise evaluate`: a saved model's score on a target without labels."""

import argparse
from typing import Any

from counterpoise.cli.exits import BadData
from counterpoise.cli.fail_if import SCORE_NUMBERS
from counterpoise.cli.options import add_command

_OPTIONS = (
    "model",
    "source",
    "label",
    "target",
    "metric",
    "id",
    "groups",
    "target-labels",
    "precision",
    "level",
    "seed",
    "json",
    "text",
    "fail-if",
    "max-memory",
    "config",
    "force",
    "quiet",
)

_READING, _ESTIMATING = _PLAN = (
    "reading the model and the tables",
    "estimating the score on the target",
)


def add_evaluate(commands: Any) -> None:
    """Add the command to the parser."""
    add_command(
        commands,
        "evaluate",
        "estimate a saved model's score on a target without labels",
        _OPTIONS,
        evaluate_command,
        needs=("model", "source", "label", "target"),
        numbers=SCORE_NUMBERS,
        epilog="--source are labelled rows that the model was not fitted to.",
    )


def evaluate_command(options: argparse.Namespace) -> int:
    """Estimate the score and say it."""
    from counterpoise.cli.ending import (
        exit_code,
        memory_limit,
        prepare_outputs,
        print_findings,
    )
    from counterpoise.cli.commands.predict import answers_of, read_model
    from counterpoise.cli.findings import of_end, of_record
    from counterpoise.cli.notices import of_dependence, of_training_rows
    from counterpoise.cli.performance import check_metric, check_metric_of, estimate
    from counterpoise.cli.progress import followed
    from counterpoise.cli.record import data_of, reproduced_by
    from counterpoise.diagnosis import diagnose
    from counterpoise.report.record import Record
    from counterpoise.samples.overlap_verdict import NO_OVERLAP

    conditions = prepare_outputs(options, SCORE_NUMBERS)
    check_metric(options.metric)
    with followed(_PLAN, quiet=options.quiet) as steps, memory_limit(options):
        steps.begin(_READING)
        model = read_model(options.model)
        pair = pair_of_model(model, options)
        check_metric_of(options.metric, str(pair.task), options.label)
        for notice in pair.notices:
            steps.notice(notice)
        of_fit = of_training_rows(model, options.model, pair.source, len(pair.X))
        for notice in of_fit:
            steps.notice(notice)
        steps.begin(_ESTIMATING)
        with answers_of(options.model):
            performance = estimate(model, pair, options)
        diagnosis = diagnose(pair.samples, None, random_state=options.seed)
        for told in of_dependence(diagnosis):
            steps.notice(told)
        record = Record.of(
            diagnosis,
            performance,
            data=data_of(pair),
            reproduce=reproduced_by(options),
            notices=list(steps.notices),
        )
    refused = performance.verdict == NO_OVERLAP
    code, reasons = exit_code(record, conditions, refused=refused)
    print_findings(options, record, [*of_record(record), *of_end(reasons)])
    return code


def pair_of_model(model: Any, options: argparse.Namespace) -> Any:
    """Return the two samples, with the columns that a saved model was fitted to."""
    from counterpoise.cli.estimators import kinds_of
    from counterpoise.cli.reading.pair import read_pair
    from counterpoise.tables.kinds import CATEGORIES, NUMBERS

    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    if not names:
        raise BadData(f"{options.model} was fitted without names of columns")
    kinds = kinds_of(model) or {}
    return read_pair(
        argparse.Namespace(
            **vars(options),
            only=tuple(names),
            categorical=tuple(k for k, v in kinds.items() if v == CATEGORIES),
            numeric=tuple(k for k, v in kinds.items() if v == NUMBERS),
            task=_task(model),
        )
    )


def _task(model: Any) -> str:
    from sklearn.base import is_classifier

    return "classification" if is_classifier(model) else "regression"
