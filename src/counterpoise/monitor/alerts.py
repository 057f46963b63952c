"""The reference sample, the evaluation of a chunk and alerts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import norm
from scipy.stats import t as student

from counterpoise.adaptation.inputs import row_marks, warn_if_fitted_to
from counterpoise.adaptation.performance_estimation import (
    adapted_within,
    ends_in_adapted,
)
from counterpoise.data.arrays import n_rows
from counterpoise.data.encoder import TableEncoder, encoded
from counterpoise.data.frames import sparse_part
from counterpoise.data.labels_and_weights import as_classes, as_responses
from counterpoise.data.samples import SamplesAsRead
from counterpoise.data.table import read_table
from counterpoise.data.two_samples import effective_sample_size
from counterpoise.errors import InvalidInputError, InvalidTypeError, held_back
from counterpoise.linalg.arrays import Array
from counterpoise.monitor.chunks import KnownColumns
from counterpoise.monitor.estimates import LabelFree, shares_of, spent
from counterpoise.monitor.evidence import InputsEvidence, LabelledRisk
from counterpoise.monitor.results import (
    ESTIMATE,
    INPUTS,
    RISK,
    SHARE_OF_ALARM,
    Alert,
    ChunkResult,
    advice,
)
from counterpoise.monitor.state import MonitorState, SeenChunk, rows_to_keep
from counterpoise.performance.metrics import Answers, Metric, as_metric, is_classifier
from counterpoise.shift.kernel_two_sample import mmd
from counterpoise.shift.support import NO_OVERLAP_ABOVE, overlap_between

# -----------------------------------------------------------------------------
# What a monitor is made from: the model, and labelled rows that it has not seen.
# -----------------------------------------------------------------------------


# With fewer labelled rows nothing can be told for years.
FEWEST_REFERENCE_ROWS = 50


def begin(
    model: Any,
    X: Any,
    y: Any,
    metrics: Any,
    level: float,
    false_alarm_rate: float,
    tolerance: float,
    seed: int,
) -> tuple[MonitorState, list[Metric]]:
    """Return what a monitor knows before the stream, and its metrics."""
    if sparse.issparse(sparse_part(X)):
        raise InvalidTypeError(
            "X is sparse: a monitor looks at columns, give a dense table"
        )
    n = n_rows(X)
    if n < FEWEST_REFERENCE_ROWS:
        raise InvalidInputError(
            f"the reference has {n} rows, at least {FEWEST_REFERENCE_ROWS} are needed"
        )
    classifier = is_classifier(model, y)
    labels = as_classes(y, n, name="y") if classifier else as_responses(y, n, name="y")
    _warn_if_fitted_to(model, X)
    wanted = [as_metric(one, model, labels) for one in _several(metrics)]
    names = tuple(metric.name for metric in wanted)
    if len(set(names)) < len(names):
        raise InvalidInputError("metrics names one twice")
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
    state = MonitorState(
        model=model,
        metric_names=names,
        level=level,
        false_alarm_rate=false_alarm_rate,
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
        raise InvalidInputError("metrics is empty: name one, or None for the usual one")
    return found


def _warn_if_fitted_to(model: Any, X: Any) -> None:
    """Warn where an `Adapted` is watched by the rows of its own fit."""
    if ends_in_adapted(model):
        inner, rows = adapted_within(model, X)
        fitted = getattr(inner, "_row_marks_", None)
        if fitted is not None:
            warn_if_fitted_to(row_marks(encoded(inner.encoder_, rows)), fitted)


# -----------------------------------------------------------------------------
# One chunk looked at by itself: drift, coverage, the estimate without labels.
# -----------------------------------------------------------------------------


# Chunks of fewer rows are said to be too small; their rows count in the evidence.
FEWEST_ROWS_TO_JUDGE = 30
# Rows of a chunk that drift is measured on, drawn by chance of more, and of either
# sample for the MMD: the time of a look does not grow with the chunk.
_ROWS_OF_DRIFT, _ROWS_OF_MMD = 2_000, 500
# A column has moved where chance explains it less often than this, over all columns.
_LEVEL_OF_COLUMNS = 0.01
# Scores are kept in single precision: a smaller difference of means is rounding.
_ROUNDING_OF_SCORES = 1e-6


@dataclass
class Judged:
    """What was found of one chunk."""

    drift: dict[str, Any] | None = None
    covered: float | None = None
    effective_rows: float | None = None
    performance: dict[str, dict[str, float]] = field(default_factory=dict)
    rose: bool = False
    low_rise: float = -np.inf
    columns: tuple[str, ...] = ()
    odd: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)


def judge(
    state: MonitorState,
    metrics: Sequence[Metric],
    chunk: SeenChunk,
    numbers: Array,
    answers: Answers,
) -> Judged:
    """Return drift, coverage and estimates of a chunk."""
    m = len(numbers)
    if m < FEWEST_ROWS_TO_JUDGE:
        return Judged(
            notes=[
                f"too small: {m} rows, at least {FEWEST_ROWS_TO_JUDGE} are needed to "
                "judge a chunk by itself; they count in the alerts"
            ]
        )
    rng = np.random.default_rng([state.seed, chunk.number])
    some = np.arange(m)
    if m > _ROWS_OF_DRIFT:
        some = np.sort(rng.choice(m, _ROWS_OF_DRIFT, replace=False))
    reference = state.numbers
    # Columns that hardly vary were told of when the model was fitted.
    with held_back():
        pair = SamplesAsRead.of_matrices(reference, numbers[some])
        seen = overlap_between(pair, state.seed)
        few = rng.permutation(len(reference))[:_ROWS_OF_MMD]
        distance = mmd(
            reference[few], numbers[some[:_ROWS_OF_MMD]], standardize=True
        ).value
    scores = state.inputs.described(numbers)[:, : numbers.shape[1]]
    moved = moved_columns(state, scores)
    shares = shares_of(state.scores.astype(float), scores[some])
    found = Judged(
        drift={
            "auc": seen.auc,
            "auc_low": seen.auc_low,
            "auc_high": seen.auc_high,
            "mmd": float(distance),
            "columns": moved,
        },
        covered=1.0 - seen.uncovered_fraction,
        effective_rows=float(effective_sample_size(shares)),
        columns=tuple(one["column"] for one in moved),
    )
    state.n_judged += 1
    chunk.covered = found.covered
    if seen.uncovered_fraction > NO_OVERLAP_ABOVE:
        found.notes.append(
            f"{seen.uncovered_fraction:.0%} of the rows lie where the reference has "
            f"none: the "
            "estimate and its interval are no more than a guess about them"
        )
    _estimate(state, metrics, chunk, numbers, answers, shares, found)
    state.rose = state.rose or found.rose
    return found


def _estimate(
    state: MonitorState,
    metrics: Sequence[Metric],
    chunk: SeenChunk,
    numbers: Array,
    answers: Answers,
    shares: Array,
    found: Judged,
) -> None:
    features = features_of(numbers, answers)
    alpha = spent(state.false_alarm_rate * SHARE_OF_ALARM[ESTIMATE], state.n_judged)
    together = spent(1.0 - state.level, state.n_judged)
    for metric, one in zip(metrics, state.estimates, strict=True):
        if metric.by_row is None:
            rise = one.weighted_estimate(metric, shares, len(numbers))
        else:
            rise = one.estimate(one.at(metric, features, answers), shares)
        missed = state.missed(one)
        if missed.variance:
            found.notes.append(
                f"{metric.name}: estimates have missed what labels showed by more than "
                f"chance in {missed.times} looks back, so p(y | x) is not what it was; "
                "the interval counts that"
            )
        chunk.estimated[metric.name] = rise.value, rise.error**2
        ends = *rise.ends(1.0 - state.level, missed), *rise.ends(together, missed)
        held = [_within(metric, end) for end in ends]
        value = _within(metric, rise.value)
        found.performance[metric.name] = {
            "value": value,
            "low": held[0],
            "high": held[1],
            "low_all": held[2],
            "high_all": held[3],
            "reference": state.reference[metric.name],
        }
        if metric is metrics[0]:
            found.low_rise = rise.low_rise(alpha)
            allowed = state.tolerance
            if metric.root:
                # By how much the mean may rise where its root may by the tolerance.
                root = state.reference[metric.name]
                allowed = (root + state.tolerance) ** 2 - root**2
            found.rose = found.low_rise > allowed


def _within(metric: Metric, mean: float) -> float:
    """Return the metric of a mean, or the metric, within its range."""
    value = metric.of_mean(mean) if metric.by_row is not None else mean
    return float(np.clip(value, metric.lowest, metric.highest))


def moved_columns(state: MonitorState, scores: Array) -> list[dict[str, Any]]:
    """Return columns whose mean normal score differs from the reference's.

    The difference is in standard deviations of the reference; a column is named where
    a normal test at 1 % over all columns finds it, the largest first.
    """
    before, scores = state.scores.astype(float), scores.astype(float)
    effect = scores.mean(axis=0) - before.mean(axis=0)
    noise = scores.var(axis=0) / len(scores) + before.var(axis=0) / len(before)
    quantile = norm.isf(_LEVEL_OF_COLUMNS / (2 * effect.size))
    telling = np.abs(effect) > quantile * np.sqrt(noise) + _ROUNDING_OF_SCORES
    largest: dict[str, float] = {}
    for place in np.flatnonzero(telling):
        label = state.encoder.columns_[place]
        name = label if isinstance(label, str) else f"x{label}"
        if abs(effect[place]) > abs(largest.get(name, 0.0)):
            largest[name] = float(effect[place])
    ordered = sorted(largest.items(), key=lambda one: -abs(one[1]))
    return [{"column": name, "effect": value} for name, value in ordered]


def telling_columns(state: MonitorState, most: int = 5) -> list[str]:
    """Return the columns whose own bets have won, the most telling first.

    A column is named where its own wealth would be an alert if all columns were bet on
    alike. None may be: a change of how columns go together is of no one column.
    """
    by_column = state.inputs.by_column
    needed = np.log(by_column.size / (state.false_alarm_rate * SHARE_OF_ALARM[INPUTS]))
    names: list[str] = []
    for place in np.argsort(-by_column, kind="stable"):
        if by_column[place] < needed:
            break
        label = state.encoder.columns_[place]
        name = label if isinstance(label, str) else f"x{label}"
        if name not in names:
            names.append(name)
    return names[:most]


def realized_of(
    state: MonitorState, metrics: Sequence[Metric], chunk: SeenChunk
) -> dict[str, dict[str, Any]]:
    """Return every metric of the labelled rows of a chunk, with its interval."""
    found: dict[str, dict[str, Any]] = {}
    for metric in metrics:
        known = chunk.tallies.get(metric.name)
        if known is None or known.n == 0:
            continue
        if metric.by_row is None:
            if known.value is None or known.error is None:
                continue
            degrees = 19
        else:
            degrees = max(known.n - 1, 1)
        value, error = known.value_and_error()
        reach = float(student.isf((1.0 - state.level) / 2, degrees)) * error
        found[metric.name] = {
            "value": _within(metric, value),
            "low": _within(metric, value - reach),
            "high": _within(metric, value + reach),
            "n": known.n,
        }
    return found


def row_of_history(
    chunk_result: ChunkResult, metric: Metric, state: MonitorState
) -> dict[str, Any]:
    """Return the row of one chunk and metric, numbers and words alone."""
    estimated = chunk_result.performance.get(metric.name, {})
    realized = chunk_result.realized.get(metric.name, {})
    drift = chunk_result.drift or {}
    return {
        "chunk": chunk_result.number,
        "time": chunk_result.time,
        "n_rows": chunk_result.n_rows,
        "metric": metric.name,
        "reference": state.reference[metric.name],
        "estimated": estimated.get("value"),
        "estimated_low": estimated.get("low"),
        "estimated_high": estimated.get("high"),
        "estimated_low_all": estimated.get("low_all"),
        "estimated_high_all": estimated.get("high_all"),
        "realized": realized.get("value"),
        "realised_low": realized.get("low"),
        "realised_high": realized.get("high"),
        "n_labelled": realized.get("n", 0),
        "auc": drift.get("auc"),
        "auc_low": drift.get("auc_low"),
        "auc_high": drift.get("auc_high"),
        "mmd": drift.get("mmd"),
        "moved": ", ".join(one["column"] for one in drift.get("columns", [])),
        "covered": chunk_result.covered,
        "effective_rows": chunk_result.effective_rows,
        "log_e_inputs": chunk_result.log_e["inputs"],
        "log_e_risk": chunk_result.log_e["risk"],
        "alerts": ", ".join(alert.kind for alert in chunk_result.alerts),
        "notes": "; ".join(chunk_result.notes),
    }


# -----------------------------------------------------------------------------
# Which alerts a look raises: evidence against the level of each kind.
# -----------------------------------------------------------------------------


def log_evidence(state: MonitorState) -> dict[str, float]:
    """Return the logarithm of the evidence so far, by kind of alert."""
    return {INPUTS: state.inputs.log_e, RISK: state.risk.evidence.log_e}


def new_alerts(
    state: MonitorState, chunk: SeenChunk, found: Judged
) -> tuple[Alert, ...]:
    """Return the alerts that this look raises, and keep them.

    An alert of the inputs names the columns whose own bets have won, the others those
    that moved in the chunk; where there are none, either names the other's, and then
    those of which something odd was said. None may be left.
    """
    log_e, raised = log_evidence(state), []
    since = {
        INPUTS: _nth([one.time for one in state.chunks], state.inputs.since),
        RISK: _nth(state.batch_times, state.risk.evidence.since),
        ESTIMATE: chunk.time,
    }
    moved, won = found.columns, tuple(telling_columns(state))
    for kind in (INPUTS, RISK, ESTIMATE):
        if state.has_alert(kind):
            continue
        level = state.false_alarm_rate * SHARE_OF_ALARM[kind]
        if kind == ESTIMATE:
            if not found.rose:
                continue
            evidence = {"low": found.low_rise, "tolerance": state.tolerance}
        else:
            if log_e[kind] < np.log(1.0 / level):
                continue
            evidence = {
                "e_value": float(np.exp(min(log_e[kind], 700.0))),
                "needed": 1.0 / level,
            }
        finding = advice(
            kind,
            inputs_changed=state.has_alert(INPUTS),
            estimate_rose=found.rose or state.rose,
            covered=found.covered,
        )
        names = ((won or moved) if kind == INPUTS else (moved or won)) or found.odd
        alert = Alert(kind, chunk.time, since[kind], evidence, names, finding, level)
        state.alerts.append(alert)
        raised.append(alert)
    return tuple(raised)


def _nth(times: Sequence[Any], number: int) -> Any:
    return times[number - 1] if 0 < number <= len(times) else None
