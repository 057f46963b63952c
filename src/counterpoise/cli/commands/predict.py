"""`counterpoise predict`: a saved model's answers for a table."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from counterpoise.cli.exits import BadData, Stop, listed
from counterpoise.cli.options import add_command
from counterpoise.cli.reading.files import TableFile

_OPTIONS = (
    "model",
    "table",
    "out",
    "id",
    "probabilities",
    "intervals",
    "coverage",
    "max-memory",
    "workers",
    "scheduler",
    "wait",
    "config",
    "force",
    "quiet",
)

_READING, _PREDICTING, _WRITING = _PLAN = (
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
        _OPTIONS,
        predict_command,
        needs=("model", "table", "out"),
        epilog="--out is a .parquet or .csv file: a row a row of the table.",
    )


def predict_command(options: argparse.Namespace) -> int:
    """Predict the rows of a table and write the predictions."""
    import numpy as np

    from counterpoise.cli.ending import inputs_of, memory_limit
    from counterpoise.cli.findings import of_end
    from counterpoise.cli.in_blocks.large_table import is_large
    from counterpoise.cli.in_blocks.predicting import predict_in_blocks
    from counterpoise.cli.progress import followed
    from counterpoise.cli.terminal import show
    from counterpoise.cli.writing import (
        check_table,
        refuse_inputs,
        write_columns,
        write_file,
    )
    from counterpoise.cli.writing.known_rows import coverage_columns, interval_columns

    refuse_inputs([options.out], inputs_of(options))
    check_table(options.out, force=options.force)
    if is_large(options.table, options.max_memory):
        return predict_in_blocks(options, _PLAN)
    with followed(_PLAN, quiet=options.quiet) as steps, memory_limit(options):
        steps.begin(_READING)
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
            model, X, options.model, asked=options.coverage, notice=steps.notice
        )
        steps.begin(_WRITING)
        write_file(options.out, write_columns(columns), force=options.force)
    if not options.quiet:
        show(of_end([], [options.out]))
    return 0


def read_model(path: Path) -> Any:
    """Return a saved model; refuse what is none."""
    from counterpoise.adaptation.model_files.saving import load

    try:
        return load(path)
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
    from counterpoise.engine.failures import ClusterUnavailableError
    from counterpoise.validation import NoOverlapError, refusals_of_estimators

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
    from counterpoise.cli.estimators import kinds_of
    from counterpoise.cli.reading.files import read_file
    from counterpoise.tables.kinds import CATEGORIES

    kinds = kinds_of(model) or {}
    texts = [k for k, v in kinds.items() if v == CATEGORIES]
    return read_file(
        path, as_text=texts if name_column is None else [*texts, name_column]
    )


def frame_for_model(model: Any, table: TableFile) -> Any:
    """Return the model's columns of a table, in the model's order."""
    from counterpoise.cli.reading.pair import table_of
    from counterpoise.tables.frames import frame_of

    kinds = kinds_for_model(model, table)
    return frame_of(table_of(table, kinds), kinds)


def kinds_for_model(model: Any, table: TableFile) -> dict[str, str]:
    """Return what the model's columns are to hold; refuse a table that lacks one."""
    from counterpoise.cli.estimators import kinds_of
    from counterpoise.cli.reading.typed_columns import EMPTY, kind_of
    from counterpoise.tables.kinds import NUMBERS

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
