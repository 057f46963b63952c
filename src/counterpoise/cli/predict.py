"""The commands predict, evaluate and label."""

from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from counterpoise.cli.files import EMPTY, TableFile, kind_of, read_file
from counterpoise.cli.fit import check_metric, check_metric_of, estimate, kinds_of
from counterpoise.cli.inputs import (
    ROW_BY_CHANCE,
    ROW_BY_GAIN,
    Pair,
    read_pair,
    table_of,
)
from counterpoise.cli.options import (
    BLOCK_OPTIONS,
    FILE_OPTIONS,
    RECORD_OPTIONS,
    SCORE_NUMBERS,
    Commands,
    add_command,
)
from counterpoise.cli.out_of_core import (
    LargeTable,
    is_large,
    names_of_rows,
    refuse_inside,
    working_on_blocks,
)
from counterpoise.cli.outputs import (
    check_table,
    coverage_columns,
    interval_columns,
    refuse_inputs,
    write_columns,
    write_file,
)
from counterpoise.cli.record import (
    data_of,
    exit_code,
    inputs_of,
    memory_limit,
    of_end,
    of_record,
    prepare_outputs,
    print_findings,
    reproduced_by,
)
from counterpoise.cli.terminal import (
    FINE,
    Block,
    CliError,
    DataError,
    UsageError,
    followed,
    listed,
    of_dependence,
    of_training_rows,
    show,
)
from counterpoise.data.parallel import ClusterUnavailableError, map_reduce, map_write
from counterpoise.data.table import CATEGORIES, NUMBERS, Table, frame_of
from counterpoise.errors import NoOverlapError, estimator_errors
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.report.report import Report
from counterpoise.shift.diagnosis import diagnose
from counterpoise.shift.support import NO_OVERLAP

if TYPE_CHECKING:
    import pandas as pd

# -----------------------------------------------------------------------------
# `counterpoise predict`: a saved model's answers for a table.
# -----------------------------------------------------------------------------


_PREDICT_OPTIONS = (
    "model",
    "table",
    "out",
    "id",
    "probabilities",
    "intervals",
    "overlap",
    *BLOCK_OPTIONS,
    *FILE_OPTIONS,
    "quiet",
)

_PREDICT_READING, _PREDICTING, _PREDICT_WRITING = _PREDICT_PLAN = (
    "reading the model and the table",
    "predicting",
    "writing the predictions",
)


def add_predict(commands: Commands) -> None:
    """Add the command to the parser."""
    add_command(
        commands,
        "predict",
        "predict with a saved model",
        _PREDICT_OPTIONS,
        predict_command,
        needs=("model", "table", "out"),
        epilog="--out is a .parquet or .csv file: a row a row of the table.",
    )


def predict_command(options: Namespace) -> int:
    """Predict the rows of a table and write the predictions."""
    refuse_inputs([options.out], inputs_of(options))
    check_table(options.out, overwrite=options.overwrite)
    if is_large(options.table, options.max_memory):
        _predict_in_blocks(options)
    else:
        _predict_in_memory(options)
    if not options.quiet:
        show(of_end([], [options.out]))
    return FINE


def _predict_in_memory(options: Namespace) -> None:
    with followed(_PREDICT_PLAN, quiet=options.quiet) as steps, memory_limit(options):
        steps.begin(_PREDICT_READING)
        model = read_model(options.model)
        table = read_for_model(model, options.table, options.id)
        if options.id is not None:
            table.check_has([options.id], "--id")
        X = frame_for_model(model, table)
        steps.begin(_PREDICTING)
        names = {"row": np.arange(1, table.n_rows + 1)}
        if options.id is not None:
            names = {options.id: table.columns[options.id]}
        columns = {**names, **prediction_columns(model, X, options)}
        columns |= coverage_columns(
            model, X, options.model, asked=options.overlap, notice=steps.notice
        )
        steps.begin(_PREDICT_WRITING)
        write_file(options.out, write_columns(columns), overwrite=options.overwrite)


def prediction_columns(
    model: Any, X: "pd.DataFrame", options: Namespace
) -> dict[str, Array]:
    """Return the columns of the predictions, and of what the options add to them."""
    path = options.model
    if options.probabilities and not hasattr(model, "predict_proba"):
        raise DataError(f"{path} holds a model without probabilities")
    with answers_of(path):
        columns = {"prediction": np.asarray(model.predict(X))}
        if options.probabilities:
            probabilities = model.predict_proba(X)
            for k, name in enumerate(model.classes_):
                columns[f"probability of {name}"] = probabilities[:, k]
    if options.intervals is not None:
        columns |= interval_columns(model, X, options.intervals, path)
    return columns


def read_model(path: Path) -> Any:
    """Return a saved model; refuse what is none."""
    from counterpoise.adaptation.model_io import load_model

    try:
        return load_model(path)
    except ImportError:
        raise
    except Exception as error:
        if isinstance(error, CliError):
            raise
        message = str(error)
        message = message if message.startswith(str(path)) else f"{path}: {message}"
        raise DataError(message) from error


@contextmanager
def answers_of(path: Path) -> Iterator[None]:
    """Say that a model from a file cannot be used, whatever it raises when asked.

    A file can hold a model of the right types that is no model.
    """
    try:
        with estimator_errors():
            yield
    except (
        CliError,
        NoOverlapError,
        ClusterUnavailableError,
        ImportError,
        MemoryError,
    ):
        raise
    except Exception as error:
        words = str(error) or type(error).__name__
        raise DataError(f"{path}: the model in it cannot answer: {words}") from error


def read_for_model(
    model: object, path: Path, name_column: str | None = None
) -> TableFile:
    """Return a table, read as the model wants its columns; names of rows are texts."""
    kinds = kinds_of(model) or {}
    texts = [k for k, v in kinds.items() if v == CATEGORIES]
    return read_file(
        path, as_text=texts if name_column is None else [*texts, name_column]
    )


def frame_for_model(model: object, table: TableFile) -> "pd.DataFrame":
    """Return the model's columns of a table, in the model's order."""
    kinds = kinds_for_model(model, table)
    return frame_of(table_of(table, kinds), kinds)


def kinds_for_model(model: object, table: TableFile) -> dict[str, str]:
    """Return what the model's columns are to hold; refuse a table that lacks one."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise DataError(
            "the model was fitted without names of columns: use it in Python"
        )
    lacking = [str(name) for name in names if name not in table.names]
    if lacking:
        plural = "columns" if len(lacking) > 1 else "column"
        raise DataError(
            f"{table.path} lacks the {plural} {listed(lacking)} of the model"
        )
    kinds = kinds_of(model)
    if kinds is None:
        found = {str(name): kind_of(table, str(name)) for name in names}
        kinds = {k: NUMBERS if v == EMPTY else v for k, v in found.items()}
    return kinds


# -----------------------------------------------------------------------------
# `counterpoise evaluate`: a saved model's score on a target without labels.
# -----------------------------------------------------------------------------


_EVALUATE_OPTIONS = (
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
    *RECORD_OPTIONS,
    "max-memory",
    *FILE_OPTIONS,
    "quiet",
)

_EVALUATE_READING, _ESTIMATING = _EVALUATE_PLAN = (
    "reading the model and the tables",
    "estimating the score on the target",
)


def add_evaluate(commands: Commands) -> None:
    """Add the command to the parser."""
    add_command(
        commands,
        "evaluate",
        "estimate a saved model's score on a target without labels",
        _EVALUATE_OPTIONS,
        evaluate_command,
        needs=("model", "source", "label", "target"),
        numbers=SCORE_NUMBERS,
        epilog="--source are labeled rows that the model was not fitted to.",
    )


def evaluate_command(options: Namespace) -> int:
    """Estimate the score and say it."""
    conditions = prepare_outputs(options, SCORE_NUMBERS)
    check_metric(options.metric)
    with followed(_EVALUATE_PLAN, quiet=options.quiet) as steps, memory_limit(options):
        steps.begin(_EVALUATE_READING)
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
        record = Report.from_estimator(
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


def pair_of_model(model: BaseEstimator, options: Namespace) -> Pair:
    """Return the two samples, with the columns that a saved model was fitted to."""
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    if not names:
        raise DataError(f"{options.model} was fitted without names of columns")
    kinds = kinds_of(model) or {}
    return read_pair(
        Namespace(
            **vars(options),
            only=tuple(names),
            categorical=tuple(k for k, v in kinds.items() if v == CATEGORIES),
            numeric=tuple(k for k, v in kinds.items() if v == NUMBERS),
            task=task_of(model),
        )
    )


def task_of(model: BaseEstimator) -> str:
    """Return what a model does: "classification" or "regression"."""
    return "classification" if is_classifier(model) else "regression"


# -----------------------------------------------------------------------------
# `counterpoise label`: rows of the target to be labeled, written to a table.
# -----------------------------------------------------------------------------


_LABEL_OPTIONS = (
    "target",
    "label",
    "k",
    "by",
    "out",
    "model",
    "source",
    "seed",
    *FILE_OPTIONS,
    "quiet",
)

_CHOOSING, _LABEL_WRITING = _LABEL_PLAN = "choosing the rows", "writing the rows"


def add_label(commands: Commands) -> None:
    """Add the command to the parser."""
    add_command(
        commands,
        "label",
        "write rows of the target to be labeled",
        _LABEL_OPTIONS,
        label_command,
        needs=("target", "label", "out"),
        epilog="Fill in the label's column of --out, and give the file to run or "
        "evaluate: --target-labels FILE. Rows chosen --by gain need --model and "
        "--source; they are for fitting again, among the source rows, and are no "
        "sample of the target.",
    )


def label_command(options: Namespace) -> int:
    """Choose rows and write them, with an empty column for the label."""
    refuse_inputs([options.out], inputs_of(options))
    check_table(options.out, overwrite=options.overwrite)
    with followed(_LABEL_PLAN, quiet=options.quiet) as steps:
        steps.begin(_CHOOSING)
        target = read_file(options.target)
        if not 1 <= options.k <= target.n_rows:
            raise DataError(
                f"--k must be from 1 to {target.n_rows}, the rows of {target.path}, "
                f"got {options.k}"
            )
        next_step = f"Fill in the column '{options.label}' of {options.out}, then "
        if options.by == "chance":
            key = ROW_BY_CHANCE
            rng = np.random.default_rng(options.seed)
            rows = np.sort(rng.choice(target.n_rows, options.k, replace=False))
            next_step += f"run or evaluate with --target-labels {options.out}."
        else:
            key, rows = ROW_BY_GAIN, _rows_by_gain(options)
            next_step += "put its rows among the training rows and run again."
        steps.begin(_LABEL_WRITING)
        columns = {key: rows + 1, options.label: [""] * len(rows)}
        for name in target.names:
            if name not in columns:
                columns[name] = target.columns[name].take(rows)
        write_file(options.out, write_columns(columns), overwrite=options.overwrite)
    if not options.quiet:
        show([*of_end([], [options.out]), Block("What to do next", (next_step,))])
    return FINE


def _rows_by_gain(options: Namespace) -> Indices:
    from counterpoise.adaptation.labeling import select_rows_to_label

    if options.model is None or options.source is None:
        raise UsageError("label --by gain needs --model and --source")
    model = read_model(options.model)
    pair = pair_of_model(model, options)
    return select_rows_to_label(
        model, pair.X, pair.X_target, options.k, random_state=options.seed
    )


# -----------------------------------------------------------------------------
# `counterpoise predict` on a folder or a pattern of files: row group by row group.
# -----------------------------------------------------------------------------


def _predict_in_blocks(options: Namespace) -> None:
    """Predict the rows of many files and write the predictions in their order."""
    if options.out.suffix.lower() != ".parquet":
        raise UsageError(f"--out {options.out} of folders must end in .parquet")
    large = LargeTable.at(options.table)
    refuse_inside([large], options.out)
    with (
        followed(_PREDICT_PLAN, quiet=options.quiet) as steps,
        memory_limit(options),
        working_on_blocks(options, large),
    ):
        steps.begin(_PREDICT_READING)
        model = read_model(options.model)
        if options.probabilities and not hasattr(model, "predict_proba"):
            raise DataError(f"{options.model} holds a model without probabilities")
        kinds = kinds_for_model(model, large.drawn(1, 0))
        blocks = large.typed(kinds, name_column=options.id)
        id_type = large.whole_type(options.id)
        work = BlockPredictions(model, kinds, options, id_type)
        uncovered = map_reduce(blocks, _Uncovered(work))
        if uncovered:
            n = blocks.n_rows
            steps.notice(
                f"{uncovered:,} of {n:,} rows ({100 * uncovered / n:.2g} %) are not "
                "covered by the source: do not rely on their predictions"
                + ("" if options.overlap else " (--overlap says which)")
            )
        steps.begin(_PREDICT_WRITING)
        write_file(
            options.out,
            lambda path: map_write(blocks, work, path),
            overwrite=options.overwrite,
        )


@dataclass(frozen=True, eq=False)
class BlockPredictions:
    """The columns that `predict` writes of a block's rows."""

    model: Any
    kinds: Mapping[str, str]
    options: Namespace
    id_type: object

    def frame(self, rows: Table) -> "pd.DataFrame":
        """Return the model's columns, in its order."""
        columns = {column.label: column for column in rows.columns}
        return frame_of(Table(tuple(columns[k] for k in self.kinds), True), self.kinds)

    def __call__(self, rows: Table, first: int) -> dict[str, object]:
        """Return the columns of a block's rows."""
        X, model, options = self.frame(rows), self.model, self.options
        return {
            **names_of_rows(rows, options.id, self.id_type),
            **prediction_columns(model, X, options),
            **coverage_columns(model, X, options.model, asked=options.overlap),
        }


@dataclass(frozen=True, eq=False)
class _Uncovered:
    """How many rows of a block the model's source does not cover."""

    columns: BlockPredictions

    def __call__(self, rows: Table, first: int) -> int:
        is_extrapolation = getattr(self.columns.model, "is_extrapolation", None)
        if is_extrapolation is None:
            return 0
        return int(np.count_nonzero(is_extrapolation(self.columns.frame(rows))))
