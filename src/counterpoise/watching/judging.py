"""One chunk looked at by itself: drift, coverage, the estimate without labels."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

from counterpoise.evaluation.answers import Answers
from counterpoise.evaluation.metrics import Metric
from counterpoise.numerics.arrays import Array
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.effective_size import effective_sample_size
from counterpoise.samples.measures import mmd
from counterpoise.samples.overlap_verdict import NO_OVERLAP_ABOVE, overlap_between
from counterpoise.validation.warning import held_back
from counterpoise.watching.beginning import features_of
from counterpoise.watching.label_free import shares_of, spent
from counterpoise.watching.looks import ESTIMATE, INPUTS, SHARE_OF_ALARM, Look
from counterpoise.watching.state import SeenChunk, WatchState

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
    state: WatchState,
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
                "judge a chunk by itself; they count in the alarms"
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
        covered=1.0 - seen.thin,
        effective_rows=float(effective_sample_size(shares)),
        columns=tuple(one["column"] for one in moved),
    )
    state.n_judged += 1
    chunk.covered = found.covered
    if seen.thin > NO_OVERLAP_ABOVE:
        found.notes.append(
            f"{seen.thin:.0%} of the rows lie where the reference has none: the "
            "estimate and its interval are no more than a guess about them"
        )
    _estimate(state, metrics, chunk, numbers, answers, shares, found)
    state.rose = state.rose or found.rose
    return found


def _estimate(
    state: WatchState,
    metrics: Sequence[Metric],
    chunk: SeenChunk,
    numbers: Array,
    answers: Answers,
    shares: Array,
    found: Judged,
) -> None:
    features = features_of(numbers, answers)
    alpha = spent(state.alarm * SHARE_OF_ALARM[ESTIMATE], state.n_judged)
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


def moved_columns(state: WatchState, scores: Array) -> list[dict[str, Any]]:
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


def telling_columns(state: WatchState, most: int = 5) -> list[str]:
    """Return the columns whose own bets have won, the most telling first.

    A column is named where its own wealth would be an alarm if all columns were bet on
    alike. None may be: a change of how columns go together is of no one column.
    """
    by_column = state.inputs.by_column
    needed = np.log(by_column.size / (state.alarm * SHARE_OF_ALARM[INPUTS]))
    names: list[str] = []
    for place in np.argsort(-by_column, kind="stable"):
        if by_column[place] < needed:
            break
        label = state.encoder.columns_[place]
        name = label if isinstance(label, str) else f"x{label}"
        if name not in names:
            names.append(name)
    return names[:most]


def realised_of(
    state: WatchState, metrics: Sequence[Metric], chunk: SeenChunk
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


def row_of_history(look: Look, metric: Metric, state: WatchState) -> dict[str, Any]:
    """Return the row of one chunk and metric, numbers and words alone."""
    estimated = look.performance.get(metric.name, {})
    realised = look.realised.get(metric.name, {})
    drift = look.drift or {}
    return {
        "chunk": look.number,
        "time": look.time,
        "n_rows": look.n_rows,
        "metric": metric.name,
        "reference": state.reference[metric.name],
        "estimated": estimated.get("value"),
        "estimated_low": estimated.get("low"),
        "estimated_high": estimated.get("high"),
        "estimated_low_all": estimated.get("low_all"),
        "estimated_high_all": estimated.get("high_all"),
        "realised": realised.get("value"),
        "realised_low": realised.get("low"),
        "realised_high": realised.get("high"),
        "n_labelled": realised.get("n", 0),
        "auc": drift.get("auc"),
        "auc_low": drift.get("auc_low"),
        "auc_high": drift.get("auc_high"),
        "mmd": drift.get("mmd"),
        "moved": ", ".join(one["column"] for one in drift.get("columns", [])),
        "covered": look.covered,
        "effective_rows": look.effective_rows,
        "log_e_inputs": look.log_e["inputs"],
        "log_e_risk": look.log_e["risk"],
        "alarms": ", ".join(alarm.kind for alarm in look.alarms),
        "notes": "; ".join(look.notes),
    }
