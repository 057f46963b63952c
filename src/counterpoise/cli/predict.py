"""The commands predict, evaluate and label."""

import argparse
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from counterpoise.cli.files import TableFile
from counterpoise.cli.options import SCORE_NUMBERS, add_command
from counterpoise.cli.out_of_core import (
    LargeTable,
    names_of_rows,
    refuse_inside,
    working_on_blocks,
)
from counterpoise.cli.outputs import coverage_columns, interval_columns, write_file
from counterpoise.cli.terminal import BadData, Stop, WrongUse, listed
from counterpoise.data.parallel import map_reduce, map_write
from counterpoise.data.table import Table, frame_of

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
    "max-memory",
    "workers",
    "scheduler",
    "wait",
    "config",
    "overwrite",
    "quiet",
)

_PREDICT_READING, _PREDICTING, _PREDICT_WRITING = _PREDICT_PLAN = (
    "reading the model and the table",
    "predicting",
    "writing the predictions",
)


def add_predict(commands: Any) -> None:
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


def predict_command(options: argparse.Namespace) -> int:
    """Predict the rows of a table and write the predictions."""
    import numpy as np

    from counterpoise.cli.out_of_core import is_large
    from counterpoise.cli.outputs import (
        check_table,
        coverage_columns,
        interval_columns,
        refuse_inputs,
        write_columns,
        write_file,
    )
    from counterpoise.cli.record import inputs_of, memory_limit, of_end
    from counterpoise.cli.terminal import followed, show

    refuse_inputs([options.out], inputs_of(options))
    check_table(options.out, overwrite=options.overwrite)
    if is_large(options.table, options.max_memory):
        return predict_in_blocks(options, _PREDICT_PLAN)
    with followed(_PREDICT_PLAN, quiet=options.quiet) as steps, memory_limit(options):
        steps.begin(_PREDICT_READING)
        model = read_model(options.model)
        table = read_for_model(model, options.table, options.id)
        if options.id is not None:
            table.check_has([options.id], "--id")
        X = frame_for_model(model, table)
        steps.begin(_PREDICTING)
        key, values = "row", np.arange(1, table.n_rows + 1)
        if options.id is not None:
            key, values = options.id, table.columns[options.id]
        with answers_of(options.model):
            columns: dict[str, Any] = {key: values, "prediction": model.predict(X)}
        if options.probabilities:
            if not hasattr(model, "predict_proba"):
                raise BadData(f"{options.model} holds a model without probabilities")
            with answers_of(options.model):
                chances = model.predict_proba(X)
            for k, name in enumerate(model.classes_):
                columns[f"probability of {name}"] = chances[:, k]
        if options.intervals is not None:
            columns |= interval_columns(model, X, options.intervals, options.model)
        columns |= coverage_columns(
            model, X, options.model, asked=options.overlap, notice=steps.notice
        )
        steps.begin(_PREDICT_WRITING)
        write_file(options.out, write_columns(columns), overwrite=options.overwrite)
    if not options.quiet:
        show(of_end([], [options.out]))
    return 0


def read_model(path: Path) -> Any:
    """Return a saved model; refuse what is none."""
    from counterpoise.adaptation.model_io import load_model

    try:
        return load_model(path)
    except ImportError:
        raise
    except Exception as error:
        if isinstance(error, Stop):
            raise
        said = str(error)
        told = said if said.startswith(str(path)) else f"{path}: {said}"
        raise BadData(told) from error


@contextmanager
def answers_of(path: Path) -> Iterator[None]:
    """Say that a model from a file cannot be used, whatever it raises when asked.

    A file can hold a model of the right types that is no model.
    """
    from counterpoise.data.parallel import ClusterUnavailableError
    from counterpoise.errors import NoOverlapError, refusals_of_estimators

    try:
        with refusals_of_estimators():
            yield
    except (Stop, NoOverlapError, ClusterUnavailableError, ImportError, MemoryError):
        raise
    except Exception as error:
        words = str(error) or type(error).__name__
        raise BadData(f"{path}: the model in it cannot answer: {words}") from error


def read_for_model(model: Any, path: Path, name_column: str | None = None) -> TableFile:
    """Return a table, read as the model wants its columns; names of rows are texts."""
    from counterpoise.cli.files import read_file
    from counterpoise.cli.fit import kinds_of
    from counterpoise.data.table import CATEGORIES

    kinds = kinds_of(model) or {}
    texts = [k for k, v in kinds.items() if v == CATEGORIES]
    return read_file(
        path, as_text=texts if name_column is None else [*texts, name_column]
    )


def frame_for_model(model: Any, table: TableFile) -> Any:
    """Return the model's columns of a table, in the model's order."""
    from counterpoise.cli.inputs import table_of
    from counterpoise.data.table import frame_of

    kinds = kinds_for_model(model, table)
    return frame_of(table_of(table, kinds), kinds)


def kinds_for_model(model: Any, table: TableFile) -> dict[str, str]:
    """Return what the model's columns are to hold; refuse a table that lacks one."""
    from counterpoise.cli.files import EMPTY, kind_of
    from counterpoise.cli.fit import kinds_of
    from counterpoise.data.table import NUMBERS

    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise BadData("the model was fitted without names of columns: use it in Python")
    lacking = [str(name) for name in names if name not in table.names]
    if lacking:
        plural = "columns" if len(lacking) > 1 else "column"
        raise BadData(f"{table.path} lacks the {plural} {listed(lacking)} of the model")
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
    "json",
    "text",
    "fail-if",
    "max-memory",
    "config",
    "overwrite",
    "quiet",
)

_EVALUATE_READING, _ESTIMATING = _EVALUATE_PLAN = (
    "reading the model and the tables",
    "estimating the score on the target",
)


def add_evaluate(commands: Any) -> None:
    """Add the command to the parser."""
    add_command(
        commands,
        "evaluate",
        "estimate a saved model's score on a target without labels",
        _EVALUATE_OPTIONS,
        evaluate_command,
        needs=("model", "source", "label", "target"),
        numbers=SCORE_NUMBERS,
        epilog="--source are labelled rows that the model was not fitted to.",
    )


def evaluate_command(options: argparse.Namespace) -> int:
    """Estimate the score and say it."""
    from counterpoise.cli.fit import check_metric, check_metric_of, estimate
    from counterpoise.cli.record import (
        data_of,
        exit_code,
        memory_limit,
        of_end,
        of_record,
        prepare_outputs,
        print_findings,
        reproduced_by,
    )
    from counterpoise.cli.terminal import followed, of_dependence, of_training_rows
    from counterpoise.report.report import Record
    from counterpoise.shift.diagnosis import diagnose
    from counterpoise.shift.support import NO_OVERLAP

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
        record = Record.from_estimator(
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
    from counterpoise.cli.fit import kinds_of
    from counterpoise.cli.inputs import read_pair
    from counterpoise.data.table import CATEGORIES, NUMBERS

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


# -----------------------------------------------------------------------------
# `counterpoise label`: rows of the target to be labelled, written to a table.
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
    "config",
    "overwrite",
    "quiet",
)

_CHOOSING, _LABEL_WRITING = _LABEL_PLAN = "choosing the rows", "writing the rows"


def add_label(commands: Any) -> None:
    """Add the command to the parser."""
    add_command(
        commands,
        "label",
        "write rows of the target to be labelled",
        _LABEL_OPTIONS,
        label_command,
        needs=("target", "label", "out"),
        epilog="Fill in the label's column of --out, and give the file to run or "
        "evaluate: --target-labels FILE. Rows chosen --by gain need --model and "
        "--source; they are for fitting again, among the source rows, and are no "
        "sample of the target.",
    )


def label_command(options: argparse.Namespace) -> int:
    """Choose rows and write them, with an empty column for the label."""
    from counterpoise.cli.files import read_file
    from counterpoise.cli.inputs import ROW_BY_CHANCE, ROW_BY_GAIN
    from counterpoise.cli.outputs import (
        check_table,
        refuse_inputs,
        write_columns,
        write_file,
    )
    from counterpoise.cli.record import inputs_of, of_end
    from counterpoise.cli.terminal import FINE, BadData, followed, show

    refuse_inputs([options.out], inputs_of(options))
    check_table(options.out, overwrite=options.overwrite)
    with followed(_LABEL_PLAN, quiet=options.quiet) as steps:
        steps.begin(_CHOOSING)
        target = read_file(options.target)
        if not 1 <= options.k <= target.n_rows:
            raise BadData(
                f"--k must be from 1 to {target.n_rows}, the rows of {target.path}, "
                f"got {options.k}"
            )
        by_chance = options.by == "chance"
        rows = _by_chance(options, target.n_rows) if by_chance else _by_gain(options)
        steps.begin(_LABEL_WRITING)
        key = ROW_BY_CHANCE if by_chance else ROW_BY_GAIN
        columns = {
            key: rows + 1,
            options.label: [""] * len(rows),
            **{
                name: target.columns[name].take(rows)
                for name in target.names
                if name not in (key, options.label)
            },
        }
        write_file(options.out, write_columns(columns), overwrite=options.overwrite)
    if not options.quiet:
        show([*of_end([], [options.out]), _next_step(options)])
    return FINE


def _next_step(options: argparse.Namespace) -> Any:
    """Return what to do with the file: rows by chance judge, others teach."""
    from counterpoise.cli.terminal import Block

    told = f"Fill in the column '{options.label}' of {options.out}, then "
    if options.by == "chance":
        told += f"run or evaluate with --target-labels {options.out}."
    else:
        told += "put its rows among the training rows and run again."
    return Block("What to do next", (told,))


def _by_chance(options: argparse.Namespace, m: int) -> Any:
    import numpy as np

    drawn = np.random.default_rng(options.seed).choice(m, options.k, replace=False)
    return np.sort(drawn)


def _by_gain(options: argparse.Namespace) -> Any:
    from counterpoise.adaptation.labeling import select_rows_to_label
    from counterpoise.cli.terminal import WrongUse

    if options.model is None or options.source is None:
        raise WrongUse("label --by gain needs --model and --source")
    model = read_model(options.model)
    pair = pair_of_model(model, options)
    return select_rows_to_label(
        model, pair.X, pair.X_target, options.k, random_state=options.seed
    )


# -----------------------------------------------------------------------------
# `counterpoise predict` on a folder or a pattern of files: row group by row group.
# -----------------------------------------------------------------------------


def predict_in_blocks(options: Namespace, plan: Sequence[str]) -> int:
    """Predict the rows of many files and write the predictions in their order."""
    from counterpoise.cli.record import memory_limit, of_end
    from counterpoise.cli.terminal import followed, show

    if options.out.suffix.lower() != ".parquet":
        raise WrongUse(f"--out {options.out} of folders must end in .parquet")
    large = LargeTable.at(options.table)
    refuse_inside([large], options.out)
    with (
        followed(plan, quiet=options.quiet) as steps,
        memory_limit(options),
        working_on_blocks(options, large),
    ):
        steps.begin(plan[0])
        model = read_model(options.model)
        if options.probabilities and not hasattr(model, "predict_proba"):
            raise BadData(f"{options.model} holds a model without probabilities")
        kinds = kinds_for_model(model, large.drawn(1, 0))
        blocks = large.typed(kinds, name_column=options.id)
        work = PredictedColumns(
            model,
            kinds,
            options.model,
            options.id,
            large.whole_type(options.id),
            options.probabilities,
            options.intervals,
            options.overlap,
        )
        lost = map_reduce(blocks, _Uncovered(work))
        if lost:
            n = blocks.n_rows
            steps.notice(
                f"{lost:,} of {n:,} rows ({100 * lost / n:.2g} %) are not covered by "
                "the source: do not rely on their predictions"
                + ("" if options.overlap else " (--overlap says which)")
            )
        steps.begin(plan[2])
        write_file(
            options.out,
            lambda path: map_write(blocks, work, path),
            overwrite=options.overwrite,
        )
    if not options.quiet:
        show(of_end([], [options.out]))
    return 0


@dataclass(frozen=True, eq=False)
class PredictedColumns:
    """What `predict` writes of a block's rows."""

    model: Any
    kinds: Mapping[str, str]
    path: Path
    name_column: str | None
    id_type: Any
    probabilities: bool
    level: float | None
    coverage: bool

    def frame(self, rows: Any) -> Any:
        """Return the model's columns, in its order."""
        found = {column.label: column for column in rows.columns}
        return frame_of(Table(tuple(found[k] for k in self.kinds), True), self.kinds)

    def __call__(self, rows: Any, first: int) -> dict[str, Any]:
        """Return the columns of a block's rows."""
        X, model = self.frame(rows), self.model
        with answers_of(self.path):
            columns = {
                **names_of_rows(rows, self.name_column, self.id_type),
                "prediction": np.asarray(model.predict(X)),
            }
            if self.probabilities:
                chances = model.predict_proba(X)
                for k, name in enumerate(model.classes_):
                    columns[f"probability of {name}"] = chances[:, k]
        if self.level is not None:
            columns |= interval_columns(model, X, self.level, self.path)
        return columns | coverage_columns(
            model, X, self.path, asked=self.coverage, notice=_unsaid
        )


@dataclass(frozen=True, eq=False)
class _Uncovered:
    """How many rows of a block the model's source does not cover."""

    columns: PredictedColumns

    def __call__(self, rows: Any, first: int) -> int:
        lost: list[int] = []
        coverage = getattr(self.columns.model, "is_extrapolation", None)
        if coverage is not None:
            lost.append(int(np.count_nonzero(coverage(self.columns.frame(rows)))))
        return sum(lost)


def _unsaid(told: str) -> None:
    """Say nothing: it is said once, of all rows."""
