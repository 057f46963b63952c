"""The main job: diagnose, weigh, guard, fit, and estimate the target's score."""

import json
from argparse import Namespace
from typing import Any

import numpy as np

from counterpoise.cli.weighters import build_weighter
from counterpoise.cli.estimators import build_estimator
from counterpoise.cli.ending import (
    exit_code,
    memory_limit,
    prepare_outputs,
    print_findings,
)
from counterpoise.cli.best_estimator import BY_ESTIMATE, TRIED, Tried, best_of
from counterpoise.cli.exits import WrongUse
from counterpoise.cli.fail_if import ALL_NUMBERS, FIT_NUMBERS
from counterpoise.cli.findings import of_end, of_record
from counterpoise.cli.in_blocks.fitting import fit_every_row
from counterpoise.cli.in_blocks.large_pair import (
    LargePair,
    data_card,
    working_on_blocks,
)
from counterpoise.cli.notices import of_dependence
from counterpoise.cli.option_words import in_options
from counterpoise.cli.performance import check_metric, check_metric_of, estimate
from counterpoise.cli.progress import Steps, followed
from counterpoise.cli.reading.own_weights import read_own_weights
from counterpoise.cli.reading.pair import Pair, read_pair
from counterpoise.cli.record import reproduced_by
from counterpoise.cli.writing import (
    Write,
    check_folder,
    write_columns,
    write_folder,
    write_text,
)
from counterpoise.report.record import Record

PAGE, RECORD, WEIGHTS = "report.html", "report.json", "weights.parquet"
MODEL, TIMINGS = "model.skops", "timings.json"
FILES = (PAGE, RECORD, WEIGHTS, MODEL, TIMINGS)
READING = "reading the tables"
ESTIMATING = "estimating the score on the target"
RECORDING = "writing the record"
WRITING = "writing the files"
# Rows up to which the estimate has five folds, and three.
ROWS_OF_FIVE_FOLDS, ROWS_OF_THREE_FOLDS = 20_000, 50_000
# How `Adapted` calls what --shift names.
SHIFTS = {"auto": "either", "inputs": "auto", "labels": "labels"}


def do(options: Namespace, *, estimates: bool) -> int:
    """Do the main job and return the exit code.

    Parameters
    ----------
    options : those of `run` and `fit`
    estimates : bool
        Whether the score on the target is estimated too.
    """
    from counterpoise.adaptation.asked import steps_of_fit
    from counterpoise.adaptation.kept.fold_models import kept_folds

    names = ALL_NUMBERS if estimates else FIT_NUMBERS
    own = [options.out / name for name in FILES]
    conditions = prepare_outputs(options, names, own)
    check_folder(options.out, FILES, force=options.force)
    check_metric(options.metric)
    model = _model(options)
    large = LargePair.of(options)
    plan = (READING, *steps_of_fit(model), *([ESTIMATING] if estimates else []))
    if options.estimator == BY_ESTIMATE:
        plan = (READING, *[*steps_of_fit(model), ESTIMATING] * len(TRIED))
    with (
        followed((*plan, RECORDING, WRITING), quiet=options.quiet) as steps,
        memory_limit(options),
        working_on_blocks(options, large),
    ):
        with kept_folds():
            pair, found, performance, more = _done(
                model, options, steps, large, estimates=estimates
            )
            every_row = fit_every_row(found, large, pair, options, steps)
            steps.begin(RECORDING)
            record = Record.of(
                found,
                performance,
                data=data_card(pair, large),
                reproduce=reproduced_by(options),
                notices=list(steps.notices),
                **more,
                **every_row.sections,
            )
        refused = "model" not in record
        code, reasons = exit_code(record, conditions, refused=refused)
        files = {RECORD: write_text(record.to_json()), **_page(record, steps)}
        if not refused:
            files |= _model_files(options, pair, found) | every_row.files
        steps.begin(WRITING)
        # The times of all steps but this one, which they would be part of.
        times = {"seconds": steps.seconds, "cpu_seconds": steps.cpu_seconds}
        files[TIMINGS] = write_text(json.dumps(times, indent=1) + "\n")
        write_folder(options.out, files, FILES, force=options.force)
    written = [options.out / name for name in FILES if name in files]
    print_findings(options, record, [*of_record(record), *of_end(reasons, written)])
    return code


def _model(options: Namespace) -> Any:
    """Return what the options ask for, but for the estimator, which the label tells."""
    from counterpoise.adaptation import Adapted

    weighter: Any = SHIFTS[options.shift]
    if options.weighter != "auto":
        if options.shift == "labels":
            raise WrongUse(
                f"--shift labels has weights of its own, --weighter {options.weighter} "
                "has others: leave one of them out"
            )
        weighter = build_weighter(
            options.weighter, force=options.despite_no_overlap, seed=options.seed
        )
    return Adapted(
        weighter=weighter,
        guard=options.weighter != "uniform",
        cv=folds_of_options(options),
        scoring=options.metric,
        calibration=options.calibration or 0.0,
        force=options.despite_no_overlap,
        random_state=options.seed,
    )


def folds_of_the_estimate(n: int) -> int:
    """Return how many folds the estimate has: of many rows fewer leave enough.

    Five up to 20,000 rows, three up to 50,000, two above.

    Examples
    --------
    >>> [folds_of_the_estimate(n) for n in (20_000, 20_001, 50_000, 50_001)]
    [5, 3, 3, 2]
    """
    if n <= ROWS_OF_FIVE_FOLDS:
        return 5
    return 3 if n <= ROWS_OF_THREE_FOLDS else 2


def folds_of_options(options: Namespace) -> Any:
    """Return what `--cv` and `--time` ask for; None for the usual folds."""
    if options.time is None:
        return options.cv
    if options.cv not in (None, "blocks"):
        raise WrongUse(
            f"--time holds out blocks of time, --cv {options.cv} rows drawn by chance: "
            "give one of them"
        )
    return "blocks"


def _done(
    model: Any,
    options: Namespace,
    steps: Steps,
    large: LargePair | None,
    *,
    estimates: bool,
) -> tuple[Pair, Any, Any, dict[str, Any]]:
    """Return the samples, the fitted model, its performance on the target, and more.

    Where the source does not cover the target, the diagnosis stands for the model. More
    are sections of the record: which estimators were tried, or why a weighter refused.
    """
    from sklearn.base import clone

    from counterpoise.adaptation.kept.weighings import remember_in_this_run
    from counterpoise.samples.overlap_verdict import NO_OVERLAP
    from counterpoise.validation import NoOverlapError

    steps.begin(READING)
    pair = read_pair(options, None if large is None else large.drawn())
    for notice in pair.notices:
        steps.notice(notice)
    assert pair.task is not None
    check_metric_of(options.metric, pair.task, options.label)
    counts = read_own_weights(options.weights, pair.source, pair.rows, options.id)
    try:
        if options.estimator == BY_ESTIMATE:
            remember_in_this_run(pair.samples)

            def fitted(name: str) -> Tried:
                one = _fitted(clone(model), name, pair, options, counts)
                return Tried(name, one, _estimated(one, pair, options, steps, counts))

            best, tried = best_of(fitted)
            _say_dependence(steps, best.model.diagnosis_)
            performance = best.performance if estimates else None
            return pair, best.model, performance, {"tried": tried}
        _fitted(model, options.estimator, pair, options, counts)
    except NoOverlapError as error:
        found = _diagnosis(model, pair, options.seed)
        _say_dependence(steps, found)
        # What the diagnosis says itself needs no other reason.
        by_itself = found.verdict != NO_OVERLAP
        refused = {"refused": in_options(str(error))} if by_itself else {}
        return pair, found, None, refused
    _say_dependence(steps, model.diagnosis_)
    if not estimates:
        return pair, model, None, {}
    return pair, model, _estimated(model, pair, options, steps, counts), {}


def _fitted(model: Any, name: str, pair: Pair, options: Namespace, counts: Any) -> Any:
    """Return the model with the estimator of a name, fitted."""
    from counterpoise.learners.boosting import MOST_CATEGORIES

    assert pair.task is not None
    crowded = pair.crowded(MOST_CATEGORIES)
    model.set_params(
        estimator=build_estimator(name, pair.task, pair.kinds, options.seed, crowded)
    )
    return model.fit(
        pair.X,
        pair.y,
        X_target=pair.samples,
        sample_weight=counts,
        groups=pair.groups,
    )


def _estimated(
    model: Any, pair: Pair, options: Namespace, steps: Steps, counts: Any
) -> Any:
    """Return the performance on the target."""
    steps.begin(ESTIMATING)
    # The rows are those of the fit: each is asked about by a model without it.
    cv = folds_of_options(options) or folds_of_the_estimate(len(pair.X))
    return estimate(model, pair, options, cv=cv, sample_weight=counts)


def _say_dependence(steps: Steps, diagnosis: Any) -> None:
    for told in of_dependence(diagnosis):
        steps.notice(told)


def _diagnosis(model: Any, pair: Pair, seed: int) -> Any:
    """Return the diagnosis of a fit that found no overlap."""
    found = getattr(model, "diagnosis_", None)
    if found is not None:
        return found
    from counterpoise.diagnosis import diagnose

    return diagnose(pair.samples, None, random_state=seed)


def _model_files(options: Namespace, pair: Pair, model: Any) -> dict[str, Write]:
    ratio = np.ones(len(pair.X))
    if model.weighter_ is not None:
        ratio = model.weighter_.weights_
    columns = pair.by_row(options.id, {"weight": model.weights_, "ratio": ratio})
    return {WEIGHTS: write_columns(columns), MODEL: model.save}


def _page(record: Record, steps: Steps) -> dict[str, Write]:
    """Return what writes the page; nothing where what draws it is not installed."""
    from counterpoise.report.page import render

    try:
        return {PAGE: render(record, record_file=RECORD).save}
    except ImportError as error:
        steps.notice(f"there is no {PAGE}: {error}")
        return {}
