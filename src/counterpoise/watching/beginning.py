"""What a watch is made from: the model, and labelled rows that it has not seen."""

from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.adaptation.odd_inputs import row_marks, warn_if_fitted_to
from counterpoise.adaptation.out_of_fold import adapted_within, ends_in_adapted
from counterpoise.evaluation.answers import Answers
from counterpoise.evaluation.metrics import Metric, as_metric, is_classifier
from counterpoise.numerics.arrays import Array
from counterpoise.tables.columns import read_table
from counterpoise.tables.encoding import TableEncoder, encoded
from counterpoise.validation import (
    InvalidInput,
    InvalidType,
    as_classes,
    as_responses,
    n_rows,
)
from counterpoise.validation.frames import sparse_part
from counterpoise.watching.inputs_evidence import InputsEvidence
from counterpoise.watching.label_free import LabelFree
from counterpoise.watching.labelled_risk import LabelledRisk
from counterpoise.watching.oddities import KnownColumns
from counterpoise.watching.state import WatchState, rows_to_keep

# With fewer labelled rows nothing can be told for years.
FEWEST_REFERENCE_ROWS = 50


def begin(
    model: Any,
    X: Any,
    y: Any,
    metrics: Any,
    level: float,
    alarm: float,
    tolerance: float,
    seed: int,
) -> tuple[WatchState, list[Metric]]:
    """Return what a watch knows before the stream, and its metrics."""
    if sparse.issparse(sparse_part(X)):
        raise InvalidType("X is sparse: a watch looks at columns, give a dense table")
    n = n_rows(X)
    if n < FEWEST_REFERENCE_ROWS:
        raise InvalidInput(
            f"the reference has {n} rows, at least {FEWEST_REFERENCE_ROWS} are needed"
        )
    classifier = is_classifier(model, y)
    labels = as_classes(y, n, name="y") if classifier else as_responses(y, n, name="y")
    _warn_if_fitted_to(model, X)
    wanted = [as_metric(one, model, labels) for one in _several(metrics)]
    names = tuple(metric.name for metric in wanted)
    if len(set(names)) < len(names):
        raise InvalidInput("metrics names one twice")
    table = read_table(X)
    encoder = TableEncoder().fit(table, table)
    answers = Answers.of(model, [X], classifier)
    risk = next((m for m in wanted if m.by_row is not None), None)
    risk = as_metric(None, model, labels) if risk is None else risk
    values = risk.rows(answers, answers.rows, labels)
    numbers = encoder.transform(table)
    rng = np.random.default_rng(seed)
    kept = rows_to_keep(n, numbers.shape[1])
    some = np.sort(rng.choice(n, kept, replace=False)) if kept < n else np.arange(n)
    inputs = InputsEvidence.against(numbers[some], seed)
    features = features_of(numbers[some], answers.take(some))
    state = WatchState(
        model=model,
        metric_names=names,
        level=level,
        alarm=alarm,
        tolerance=tolerance,
        seed=seed,
        is_classifier=classifier,
        classes=answers.classes,
        encoder=encoder,
        known=KnownColumns.of(table),
        numbers=numbers[some],
        scores=inputs.described(numbers[some])[:, : numbers.shape[1]].astype(
            np.float32
        ),
        reference={m.name: m.value(answers, answers.rows, labels) for m in wanted},
        inputs=inputs,
        risk=LabelledRisk.of(risk, values, tolerance, seed),
        estimates=[
            LabelFree.of(metric, answers.take(some), labels[some], features, seed)
            for metric in wanted
        ],
    )
    return state, wanted


def features_of(numbers: Array, answers: Answers) -> Array:
    """Return what the model of the loss sees: the row, and what the model says."""
    return np.hstack([numbers, answers.columns])


def _several(metrics: Any) -> list[Any]:
    if metrics is None or isinstance(metrics, str) or callable(metrics):
        return [metrics]
    found = list(metrics)
    if not found:
        raise InvalidInput("metrics is empty: name one, or None for the usual one")
    return found


def _warn_if_fitted_to(model: Any, X: Any) -> None:
    """Warn where an `Adapted` is watched by the rows of its own fit."""
    if ends_in_adapted(model):
        inner, rows = adapted_within(model, X)
        fitted = getattr(inner, "_row_marks_", None)
        if fitted is not None:
            warn_if_fitted_to(row_marks(encoded(inner.encoder_, rows)), fitted)
