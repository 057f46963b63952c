"""The commands run, fit, weights and diagnose."""

import json
from argparse import Namespace
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from counterpoise.cli.inputs import (
    CLASSIFICATION,
    REGRESSION,
    Pair,
    is_saved,
    read_own_weights,
    read_pair,
    saved_estimator,
)
from counterpoise.cli.options import (
    ALL_NUMBERS,
    BLOCK_OPTIONS,
    COLUMN_OPTIONS,
    FILE_OPTIONS,
    FIT_NUMBERS,
    OPTIONS,
    RECORD_OPTIONS,
    SHIFT_NUMBERS,
    WEIGHT_NUMBERS,
    Commands,
    add_command,
)
from counterpoise.cli.out_of_core import (
    WEIGHTS_FILE,
    LargePair,
    data_card,
    fit_every_row,
    fit_weights_to_every_row,
    working_on_blocks,
)
from counterpoise.cli.outputs import (
    Write,
    check_folder,
    check_table,
    write_columns,
    write_file,
    write_folder,
    write_text,
)
from counterpoise.cli.record import (
    exit_code,
    memory_limit,
    of_end,
    of_record,
    prepare_outputs,
    print_findings,
    reproduced_by,
)
from counterpoise.cli.terminal import (
    Steps,
    UsageError,
    followed,
    of_dependence,
    refusal,
)
from counterpoise.data.parameters import did_you_mean
from counterpoise.data.samples import Samples
from counterpoise.data.table import CATEGORIES, DATES, NUMBERS
from counterpoise.errors import NoOverlapError
from counterpoise.performance.result import MetricPerformance, Performance
from counterpoise.report.report import Report
from counterpoise.shift.diagnosis import Diagnosis, diagnose
from counterpoise.shift.support import NO_OVERLAP
from counterpoise.weights.base import WeightEstimator

if TYPE_CHECKING:
    from counterpoise.adaptation.adapted import Adapted

# -----------------------------------------------------------------------------
# `--estimator auto`: models compared by their estimated score on the target.
# -----------------------------------------------------------------------------


BY_ESTIMATE, _CONSTANT = "auto", "constant"
# Simpler ones first: at equality the first is kept.
TRIED = ("linear", "boosting")


@dataclass(frozen=True, eq=False)
class Candidate:
    """A fitted model and its score on the target."""

    name: str
    model: "Adapted"
    performance: Performance

    @property
    def metric(self) -> MetricPerformance:
        """The metric that is asked for."""
        return next(iter(self.performance.metrics.values()))


def best_of(
    fit: Callable[[str], Candidate],
) -> tuple[Candidate, list[dict[str, object]]]:
    """Return the model with the best estimate on the target, and all candidates.

    A linear model and boosting by the estimate that leads; at equality the linear one.
    A constant prediction where the better of them saves nothing of a constant's loss
    (`performance.advice.baseline`), by its estimate.

    Parameters
    ----------
    fit : callable
        Fits the estimator of a name and estimates its score.
    """
    candidates = {name: fit(name) for name in TRIED}
    metrics = {name: one.metric for name, one in candidates.items()}
    best = choice_among(metrics)
    chosen = candidates.get(best) or fit(best)
    table: list[dict[str, object]] = []
    for name, metric in metrics.items():
        estimate, baseline = metric.best, metric.baseline
        table.append(
            {
                "estimator": name,
                "value": None if estimate is None else estimate.value,
                "low": None if estimate is None else estimate.low,
                "high": None if estimate is None else estimate.high,
                "skill": None if baseline is None else baseline.skill,
                "chosen": name == best,
            }
        )
    baseline = metrics[_best_by_value(metrics)].baseline
    if baseline is not None:
        table.append(
            {
                "estimator": _CONSTANT,
                "value": baseline.value,
                "low": None,
                "high": None,
                "skill": 0.0,
                "chosen": best == _CONSTANT,
            }
        )
    return chosen, table


def choice_among(metrics: Mapping[str, MetricPerformance]) -> str:
    """Return the name of the best, which may be a constant that was not fitted.

    Where no estimate can be made the first is kept.
    """
    name = _best_by_value(metrics)
    baseline = metrics[name].baseline
    if baseline is not None and baseline.saved <= 0:
        return _CONSTANT
    return name


def _best_by_value(metrics: Mapping[str, MetricPerformance]) -> str:
    best, *others = metrics
    for name in others:
        estimate, best_estimate = metrics[name].best, metrics[best].best
        if estimate is None or best_estimate is None:
            continue
        difference = estimate.value - best_estimate.value
        if difference > 0 if metrics[name].higher_is_better else difference < 0:
            best = name
    return best


# -----------------------------------------------------------------------------
# The models that `--estimator` offers: pipelines that take mixed tables.
# -----------------------------------------------------------------------------


# A category of fewer rows has no coefficient of its own.
_ROWS_OF_A_CATEGORY = 10

ONLY = {"logistic": CLASSIFICATION, "bayes": CLASSIFICATION, "ridge": REGRESSION}


def build_estimator(
    name: str,
    task: str,
    kinds: Mapping[str, str],
    seed: int,
    crowded: Collection[str] = (),
) -> BaseEstimator:
    """Return a pipeline of scikit-learn, not fitted.

    Missing values, categories, also new ones, and dates are dealt with inside.

    Parameters
    ----------
    name : str
        One of those that `--estimator` lists, or a file of a saved model.
    task : {"classification", "regression"}
    kinds : mapping
        What each column holds, in the order of the table.
    seed : int
    crowded : strings
        Columns with more categories than trees can tell apart: the rarer ones share a
        place.
    """
    from sklearn.pipeline import Pipeline

    from counterpoise.models.boosting import boosting_of

    if is_saved(name):
        return saved_estimator(Path(name), task)
    if ONLY.get(name, task) != task:
        wanted = "classes" if ONLY[name] == CLASSIFICATION else "numbers"
        raise UsageError(
            f"--estimator {name} predicts {wanted}, and the label is for {task}: take "
            "linear"
        )
    if name == "boosting":
        classes = task == CLASSIFICATION
        return boosting_of(kinds, classes=classes, seed=seed, crowded=crowded)
    for_trees = name in ("forest", "tree")
    columns = _columns_for_trees(kinds) if for_trees else _columns_for_lines(kinds)
    if name == "linear":
        name = "logistic" if task == CLASSIFICATION else "ridge"
    return Pipeline([("columns", columns), ("model", _model(name, task, seed))])


def kinds_of(model: object) -> dict[str, str] | None:
    """Return what each column of a saved model holds; None if another built it."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline

    inner = getattr(model, "estimator_", None)
    names = getattr(inner, "feature_names_in_", None)
    if not isinstance(inner, Pipeline) or names is None:
        return None
    columns = inner.steps[0][1]
    if not isinstance(columns, ColumnTransformer):
        return None
    found = {
        str(name): kind
        for kind, _, group in columns.transformers
        if kind in (NUMBERS, CATEGORIES, DATES)
        for name in group
    }
    if set(found) != set(names):
        return None
    return {str(name): found[name] for name in names}


def _columns_for_trees(kinds: Mapping[str, str]) -> BaseEstimator:
    """Return columns as numbers for trees, which find their own thresholds."""
    from counterpoise.models.boosting import DateNumbers, category_codes, columns_of

    return columns_of(kinds, "passthrough", category_codes(), DateNumbers())


def _columns_for_lines(kinds: Mapping[str, str]) -> BaseEstimator:
    """Return columns on a common scale, without gaps, a column a category."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    from counterpoise.models.boosting import DateNumbers, columns_of

    def scaled() -> list[tuple[str, BaseEstimator]]:
        fill = SimpleImputer(strategy="median", add_indicator=True)
        return [("fill", fill), ("scale", StandardScaler())]

    ones = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=_ROWS_OF_A_CATEGORY,
        sparse_output=False,
    )
    dates = Pipeline([("numbers", DateNumbers()), *scaled()])
    return columns_of(kinds, Pipeline(scaled()), ones, dates)


def _model(name: str, task: str, seed: int) -> BaseEstimator:
    from sklearn.dummy import DummyClassifier, DummyRegressor
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.naive_bayes import GaussianNB
    from sklearn.svm import SVC, SVR
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    classes = task == CLASSIFICATION
    if name == "logistic":
        return LogisticRegression(max_iter=1000)
    if name == "ridge":
        return Ridge()
    if name == "forest":
        forest = RandomForestClassifier if classes else RandomForestRegressor
        return forest(n_estimators=200, min_samples_leaf=3, random_state=seed)
    if name == "tree":
        tree = DecisionTreeClassifier if classes else DecisionTreeRegressor
        return tree(min_samples_leaf=20, random_state=seed)
    if name == "svm":
        return SVC(random_state=seed) if classes else SVR()
    if name == "bayes":
        return GaussianNB()
    assert name == "constant"
    return DummyClassifier() if classes else DummyRegressor()


# -----------------------------------------------------------------------------
# The score on the target: what is asked of the library.
# -----------------------------------------------------------------------------


# How names of scikit-learn's scorers of numbers end, and how those of classes begin.
_OF_NUMBERS = (
    "r2",
    "explained_variance",
    "_error",
    "_deviance",
    "d2_absolute_error_score",
)
_OF_CLASSES = (
    "accuracy",
    "average_precision",
    "balanced_accuracy",
    "d2_brier_score",
    "d2_log_loss_score",
    "f1",
    "jaccard",
    "matthews_corrcoef",
    "neg_brier_score",
    "neg_log_loss",
    "neg_negative_likelihood_ratio",
    "positive_likelihood_ratio",
    "precision",
    "recall",
    "roc_auc",
    "top_k_accuracy",
)


def check_metric(metric: str | None) -> None:
    """Refuse what is no scorer of scikit-learn."""
    if metric is None:
        return
    from sklearn.metrics import get_scorer_names

    if metric not in get_scorer_names():
        raise UsageError(
            f"--metric must be the name of a scorer of scikit-learn, got {metric!r}: "
            "accuracy, roc_auc, neg_log_loss, neg_mean_squared_error, ..."
            f"{did_you_mean(metric, get_scorer_names())}"
        )


def check_metric_of(metric: str | None, task: str, label: str) -> None:
    """Refuse a score of numbers for a label of classes, and the reverse.

    Examples
    --------
    >>> check_metric_of("accuracy", "classification", "bought")
    """
    if metric is None:
        return
    holds = "classes" if task == CLASSIFICATION else "numbers"
    scored = None
    if metric.endswith(_OF_NUMBERS):
        scored = "numbers"
    elif metric.startswith(_OF_CLASSES):
        scored = "classes"
    if scored is not None and scored != holds:
        raise UsageError(
            f"--metric {metric} is a score of {scored}, but the label {label!r} holds "
            f"{holds}"
        )


def estimate(
    model: "Adapted",
    pair: Pair,
    options: Namespace,
    *,
    cv: int | str | None = None,
    sample_weight: ArrayLike | None = None,
) -> Performance:
    """Return the estimates of the score on the target.

    Parameters
    ----------
    model : fitted `Adapted`
    pair : Pair
        With labels of the source, and of target rows where they may be used.
    options : metric, level, weight estimator and seed
    cv : None, int or "blocks"
        None: the source rows were not fitted to. Else they are those of the fit, and
        the model is fitted again without each fold.
    sample_weight : array of shape (n,) or None
        What the source rows count, by `--weights`.
    """
    from counterpoise.adaptation.performance_estimation import estimate_performance

    labeled: dict[str, Any] = {}
    if pair.y_target is not None and pair.labeled.size:
        rows = pair.X_target.take(pair.labeled).reset_index(drop=True)
        labeled = {"X_target_labeled": rows, "y_target_labeled": pair.y_target}
    # Rows of the fit have been weighed already, unless by no density ratio.
    weighed = cv is not None and options.weight_estimator not in (
        "uniform",
        "discrepancy",
    )
    return estimate_performance(
        model,
        pair.X,
        pair.y,
        pair.samples,
        scoring=None if options.metric is None else [options.metric],
        confidence_level=getattr(options, "level", OPTIONS["level"].default),
        precision=getattr(options, "precision", OPTIONS["precision"].default),
        weight_estimator="model" if weighed else "auto",
        cv=cv,
        groups=pair.groups,
        sample_weight=sample_weight,
        random_state=options.seed,
        **labeled,
    )


# -----------------------------------------------------------------------------
# The weight estimators by their plain names.
# -----------------------------------------------------------------------------


def build_weight_estimator(
    name: str, *, allow_no_overlap: bool, seed: int
) -> WeightEstimator:
    """Return the weight estimator that `--weight-estimator` names.

    Parameters
    ----------
    name : str
        One of those that `--weight-estimator` lists.
    allow_no_overlap : bool
        Whether it goes on where the source does not cover the target.
    seed : int
    """
    from counterpoise.weights.registry import of_command

    return of_command(name, allow_no_overlap=allow_no_overlap, random_state=seed)


# -----------------------------------------------------------------------------
# The main job: diagnose, weigh, guard, fit, and estimate the target's score.
# -----------------------------------------------------------------------------


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


def run_command(options: Namespace) -> int:
    """Do the main job, of `run` or `fit`, and return the exit code."""
    from counterpoise.adaptation.adapted import steps_of_fit

    estimates = options.command == "run"
    names = ALL_NUMBERS if estimates else FIT_NUMBERS
    conditions = prepare_outputs(options, names, [options.out / name for name in FILES])
    check_folder(options.out, FILES, overwrite=options.overwrite)
    check_metric(options.metric)
    model = _unfitted_model(options)
    large = LargePair.of(options)
    plan = (READING, *steps_of_fit(model), *([ESTIMATING] if estimates else []))
    if options.estimator == BY_ESTIMATE:
        plan = (READING, *[*steps_of_fit(model), ESTIMATING] * len(TRIED))
    with (
        followed((*plan, RECORDING, WRITING), quiet=options.quiet) as steps,
        memory_limit(options),
        working_on_blocks(options, large),
    ):
        pair = _read(options, large, steps, READING)
        assert pair.task is not None
        check_metric_of(options.metric, pair.task, options.label)
        weights = read_own_weights(options.weights, pair.source, pair.rows, options.id)
        fitted, performance, sections = _fit_and_estimate(
            model, pair, options, steps, weights, estimates
        )
        every_row = fit_every_row(fitted, large, pair, options, steps)
        steps.begin(RECORDING)
        record = Report.from_estimator(
            fitted,
            performance,
            data=data_card(pair, large),
            reproduce=reproduced_by(options),
            notices=list(steps.notices),
            **sections,
            **every_row.sections,
        )
        refused = isinstance(fitted, Diagnosis)
        code, reasons = exit_code(record, conditions, refused=refused)
        files = {RECORD: write_text(record.to_json()), **_page(record, steps)}
        if not isinstance(fitted, Diagnosis):
            files |= _model_files(options, pair, fitted) | every_row.files
        steps.begin(WRITING)
        # The times of all steps but this one, which they would be part of.
        times = {"seconds": steps.seconds, "cpu_seconds": steps.cpu_seconds}
        files[TIMINGS] = write_text(json.dumps(times, indent=1) + "\n")
        write_folder(options.out, files, FILES, overwrite=options.overwrite)
    written = [options.out / name for name in FILES if name in files]
    print_findings(options, record, [*of_record(record), *of_end(reasons, written)])
    return code


def _read(options: Namespace, large: LargePair | None, steps: Steps, step: str) -> Pair:
    """Return both samples, or those drawn from large tables, as a step of the job."""
    steps.begin(step)
    pair = read_pair(options, None if large is None else large.drawn())
    for notice in pair.notices:
        steps.notice(notice)
    return pair


def _unfitted_model(options: Namespace) -> "Adapted":
    """Return what the options ask for, but for the estimator, which the label tells."""
    from counterpoise.adaptation.adapted import Adapted

    weight_estimator: str | WeightEstimator = SHIFTS[options.shift]
    if options.weight_estimator != "auto":
        if options.shift == "labels":
            raise UsageError(
                f"--shift labels has weights of its own, --weight-estimator "
                f"{options.weight_estimator} has others: leave one of them out"
            )
        weight_estimator = build_weight_estimator(
            options.weight_estimator,
            allow_no_overlap=options.allow_no_overlap,
            seed=options.seed,
        )
    return Adapted(
        weight_estimator=weight_estimator,
        guard=options.weight_estimator != "uniform",
        cv=folds_of_options(options),
        scoring=options.metric,
        calibration_fraction=options.calibration_fraction or 0.0,
        allow_no_overlap=options.allow_no_overlap,
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


def folds_of_options(options: Namespace) -> int | str | None:
    """Return what `--cv` and `--time` ask for; None for the usual folds."""
    if options.time is None:
        return options.cv
    if options.cv not in (None, "blocks"):
        raise UsageError(
            f"--time holds out blocks of time, --cv {options.cv} rows drawn by chance: "
            "give one of them"
        )
    return "blocks"


def _fit_and_estimate(
    model: "Adapted",
    pair: Pair,
    options: Namespace,
    steps: Steps,
    weights: ArrayLike | None,
    estimates: bool,
) -> tuple["Adapted | Diagnosis", Performance | None, dict[str, Any]]:
    """Return the fitted model, its performance on the target, and more sections.

    Where the source does not cover the target, the diagnosis stands for the model. More
    are sections of the record: which estimators were tried, or why a weight estimator
    refused.
    """
    from counterpoise.models.boosting import MOST_CATEGORIES

    def fit(model: "Adapted", name: str) -> None:
        crowded = pair.crowded(MOST_CATEGORIES)
        estimator = build_estimator(
            name, str(pair.task), pair.kinds, options.seed, crowded
        )
        # The estimate of the performance needs the models of the same folds.
        model._fold_models = {}
        model.set_params(estimator=estimator).fit(
            pair.X,
            pair.y,
            X_target=pair.samples,
            sample_weight=weights,
            groups=pair.groups,
        )

    def performance_of(model: "Adapted") -> Performance:
        steps.begin(ESTIMATING)
        # The rows are those of the fit: each is asked about by a model without it.
        cv = folds_of_options(options) or folds_of_the_estimate(len(pair.X))
        return estimate(model, pair, options, cv=cv, sample_weight=weights)

    def candidate(name: str) -> Candidate:
        own = clone(model)
        fit(own, name)
        return Candidate(name, own, performance_of(own))

    sections: dict[str, Any] = {}
    try:
        if options.estimator == BY_ESTIMATE:
            best, sections["tried"] = best_of(candidate)
            _say_dependence(steps, best.model.diagnosis_)
            return best.model, best.performance if estimates else None, sections
        fit(model, options.estimator)
    except NoOverlapError as error:
        diagnosis = getattr(model, "diagnosis_", None)
        if diagnosis is None:
            diagnosis = diagnose(pair.samples, None, random_state=options.seed)
        _say_dependence(steps, diagnosis)
        # What the diagnosis says itself needs no other reason.
        if diagnosis.verdict != NO_OVERLAP:
            sections["refused"] = refusal(error).to_dict()
        return diagnosis, None, sections
    _say_dependence(steps, model.diagnosis_)
    return model, performance_of(model) if estimates else None, sections


def _say_dependence(steps: Steps, diagnosis: Diagnosis | None) -> None:
    for notice in of_dependence(diagnosis):
        steps.notice(notice)


def _model_files(options: Namespace, pair: Pair, model: "Adapted") -> dict[str, Write]:
    ratio = np.ones(len(pair.X))
    if model.weight_estimator_ is not None:
        ratio = model.weight_estimator_.weights_
    columns = pair.by_row(options.id, {"weight": model.weights_, "ratio": ratio})
    return {WEIGHTS: write_columns(columns), MODEL: model.save}


def _page(record: Report, steps: Steps) -> dict[str, Write]:
    """Return what writes the page; nothing where what draws it is not installed."""
    from counterpoise.report.page import render

    try:
        return {PAGE: render(record, record_file=RECORD).save}
    except ImportError as error:
        steps.notice(f"there is no {PAGE}: {error}")
        return {}


# -----------------------------------------------------------------------------
# `counterpoise diagnose`: what has shifted between two tables, and what is covered.
# -----------------------------------------------------------------------------


_DIAGNOSE_OPTIONS = (
    "source",
    "target",
    "label",
    *COLUMN_OPTIONS,
    "groups",
    "time",
    "seed",
    *RECORD_OPTIONS,
    *BLOCK_OPTIONS,
    *FILE_OPTIONS,
    "quiet",
)

_DIAGNOSE_READING, _DIAGNOSING = _DIAGNOSE_PLAN = (
    "reading the tables",
    "diagnosing the shift",
)


def add_diagnose(commands: Commands) -> None:
    """Add the command to the parser."""
    add_command(
        commands,
        "diagnose",
        "say what has shifted between two tables, and what is covered",
        _DIAGNOSE_OPTIONS,
        diagnose_command,
        needs=("source", "target"),
        numbers=SHIFT_NUMBERS,
    )


def diagnose_command(options: Namespace) -> int:
    """Diagnose the shift and say it."""
    conditions = prepare_outputs(options, SHIFT_NUMBERS)
    large = LargePair.of(options)
    with (
        followed(_DIAGNOSE_PLAN, quiet=options.quiet) as steps,
        memory_limit(options),
        working_on_blocks(options, large),
    ):
        pair = _read(options, large, steps, _DIAGNOSE_READING)
        for notice in [] if large is None else large.told(pair):
            steps.notice(notice)
        steps.begin(_DIAGNOSING)
        diagnosis = diagnose(
            pair.table,
            pair.table_target,
            **pair.belonging,
            random_state=options.seed,
        )
        _say_dependence(steps, diagnosis)
        record = Report.from_estimator(
            diagnosis,
            data=data_card(pair, large),
            reproduce=reproduced_by(options),
            notices=list(steps.notices),
        )
    refused = diagnosis.verdict == NO_OVERLAP
    code, reasons = exit_code(record, conditions, refused=refused)
    print_findings(options, record, [*of_record(record), *of_end(reasons)])
    return code


# -----------------------------------------------------------------------------
# `counterpoise run`: the main job, from two tables to a verdict.
# -----------------------------------------------------------------------------


RUN_OPTIONS = (
    "source",
    "label",
    "target",
    "out",
    "estimator",
    "metric",
    "weight-estimator",
    "shift",
    "task",
    *COLUMN_OPTIONS,
    "groups",
    "time",
    "weights",
    "cv",
    "calibration-fraction",
    "date",
    "target-labels",
    "precision",
    "level",
    "seed",
    *RECORD_OPTIONS,
    *BLOCK_OPTIONS,
    "resume",
    *FILE_OPTIONS,
    "allow-no-overlap",
    "quiet",
)


def add_run(commands: Commands) -> None:
    """Add the command to the parser."""
    add_command(
        commands,
        "run",
        "do the main job: diagnose, weigh, fit, estimate the score on the target",
        RUN_OPTIONS,
        run_command,
        needs=("source", "label", "target", "out"),
        numbers=ALL_NUMBERS,
        epilog="writes report.html, report.json, weights.parquet, model.skops and "
        "timings.json into the folder --out;\nwhere the source does not cover the "
        "target (code 4), the report with the diagnosis alone.",
    )


# -----------------------------------------------------------------------------
# `counterpoise fit`: the main job without the estimate of the target's score.
# -----------------------------------------------------------------------------


_ESTIMATES_ONLY = ("target-labels", "precision", "level")


def add_fit(commands: Commands) -> None:
    """Add the command to the parser."""
    add_command(
        commands,
        "fit",
        "weigh and fit, without an estimate of the score on the target",
        [name for name in RUN_OPTIONS if name not in _ESTIMATES_ONLY],
        run_command,
        needs=("source", "label", "target", "out"),
        numbers=FIT_NUMBERS,
        epilog="writes report.html, report.json, weights.parquet, model.skops and "
        "timings.json into the folder --out.",
    )


# -----------------------------------------------------------------------------
# `counterpoise weights`: weights that make the source rows stand for the target.
# -----------------------------------------------------------------------------


_WEIGHTS_OPTIONS = (
    "source",
    "target",
    "out",
    "label",
    "weight-estimator",
    *COLUMN_OPTIONS,
    "seed",
    *RECORD_OPTIONS,
    *BLOCK_OPTIONS,
    "resume",
    *FILE_OPTIONS,
    "allow-no-overlap",
    "quiet",
)

_WEIGHTS_READING, _WEIGHING, _WRITING = _WEIGHTS_PLAN = (
    "reading the tables",
    "weighing the source rows",
    "writing the weights",
)


def add_weights(commands: Commands) -> None:
    """Add the command to the parser."""
    add_command(
        commands,
        "weights",
        "weigh the rows of one table so that they stand for another's",
        _WEIGHTS_OPTIONS,
        weights_command,
        needs=("source", "target", "out"),
        numbers=WEIGHT_NUMBERS,
        epilog="--out is a .parquet or .csv file: a row a source row, with its weight "
        "(the density ratio target/source, of mean one).",
    )


def weights_command(options: Namespace) -> int:
    """Weight the source rows and write the weights."""
    from counterpoise.adaptation.routing import fit_weight_estimator

    conditions = prepare_outputs(options, WEIGHT_NUMBERS, [options.out])
    check_table(options.out, overwrite=options.overwrite)
    large = LargePair.of(options)
    with (
        followed(_WEIGHTS_PLAN, quiet=options.quiet) as steps,
        memory_limit(options),
        working_on_blocks(options, large),
    ):
        pair = _read(options, large, steps, _WEIGHTS_READING)
        steps.begin(_WEIGHING)
        # What is covered is decided by the diagnosis, once.
        decided = options.allow_no_overlap or options.weight_estimator == "auto"
        weight_estimator = build_weight_estimator(
            options.weight_estimator, allow_no_overlap=decided, seed=options.seed
        )
        samples = Samples.of_tables(pair.table, pair.table_target)
        diagnosis = diagnose(samples, None, random_state=options.seed)
        if diagnosis.verdict == NO_OVERLAP and not options.allow_no_overlap:
            separation = diagnosis.separation
            raise NoOverlapError(
                diagnosis.uncovered_fraction,
                "uncovered_fraction",
                diagnosis.auc,
                "" if separation is None else str(separation),
            )
        fit_weight_estimator(weight_estimator, samples)
        every_row = fit_weights_to_every_row(
            weight_estimator, samples, large, pair, options, steps
        )
        record = Report.from_estimator(
            weight_estimator,
            diagnosis=diagnosis,
            data=data_card(pair, large),
            reproduce=reproduced_by(options),
            notices=list(steps.notices),
            **every_row.sections,
        )
        steps.begin(_WRITING)
        columns = pair.by_row(options.id, {"weight": weight_estimator.weights_})
        write = every_row.files.get(WEIGHTS_FILE, write_columns(columns))
        write_file(options.out, write, overwrite=options.overwrite)
    code, reasons = exit_code(record, conditions)
    print_findings(
        options, record, [*of_record(record), *of_end(reasons, [options.out])]
    )
    return code
