"""Estimates of metrics whose error only rows drawn again can tell."""

from typing import Any

import numpy as np

from counterpoise.evaluation.answers import Answers
from counterpoise.evaluation.confidence import (
    fit_line,
    promised,
    promised_again,
)
from counterpoise.evaluation.estimates import (
    Estimate,
    as_estimate,
    has_ends,
)
from counterpoise.evaluation.intervals import (
    drawn_again,
    effective_rows,
    hull,
    least_error,
    resampled,
    student_interval,
    student_quantile,
    wilson_interval,
)
from counterpoise.evaluation.metrics import Metric
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.validation import InvalidType
from counterpoise.validation.warning import held_back

N_RESAMPLES = 100
# Estimated ratios are flatter than the true one; so much sharper it may be.
SHARPER = 1.25
# Rows of either sample that are drawn again to see how much the confidence moves.
MOST_RESAMPLED = 10_000


def scored_estimate(
    metric: Metric,
    name: str,
    answers: Answers,
    y: Any,
    counts: Array,
    ratio: Array | None,
    level: float,
    seed: int,
    groups: Indices | None = None,
) -> Estimate | None:
    """Return the estimate of a metric that is no mean over rows.

    The interval has the standard error of 100 resamples of the rows, or of the groups,
    the ratio taken for given, and Student's quantile as in `mean_estimates`; with a
    ratio it spans the ratio to the power 1.25 too. Where no resample moves a metric
    between two ends, it is Wilson's. None where the metric is not defined, as the AUC
    of rows of one class.
    """
    rows = answers.rows

    def value_of(weights: Array) -> float:
        used = weights > 0
        return metric.value(answers, rows[used], y[used], sample_weight=weights[used])

    weights = counts if ratio is None else counts * ratio
    # scikit-learn warns of classes without rows.
    with held_back():
        try:
            value = value_of(weights)
            sharp = value if ratio is None else value_of(counts * ratio**SHARPER)
        except InvalidType:  # no rows make a wrong call right
            raise
        except ValueError:
            return None
        again = resampled(value_of, weights, N_RESAMPLES, seed, groups)
    if not np.isfinite([value, sharp]).all() or again.size < 2:
        return None
    error, effective = float(again.std()), effective_rows(weights, groups)
    found = hull(
        value,
        student_interval(value, error, effective, level),
        student_interval(sharp, error, effective, level),
    )
    width = metric.highest - metric.lowest
    if np.isfinite(width) and error <= 1e-12 * width:
        quantile = student_quantile(effective, level)
        ends = metric.lowest, metric.highest
        found = hull(value, found, wilson_interval(value, effective, quantile, *ends))
    return as_estimate(metric, name, found)


def confidence_estimate(
    metric: Metric,
    answers: Answers,
    places: Indices,
    weights: Array,
    answers_target: Answers,
    level: float,
    seed: int,
    groups: Indices | None = None,
) -> Estimate:
    """Return what the classifier's recalibrated probabilities promise at the target.

    The probabilities are put on the line that fits weighted source rows best, and every
    target row counts once a class, by its probability. The interval has the standard
    error of resamples of both samples, the line fitted again each time; of more than
    10,000 rows of a sample so many are drawn again, and the error is scaled to the
    rows that there are. Of a metric between two ends it is at least `least_error`.

    Parameters
    ----------
    metric : Metric
    answers, answers_target : Answers
        With probabilities, of source and target rows.
    places : array of shape (n,)
        The column of every source row's label.
    weights : array of shape (n,)
    level : float
    seed : int
    groups : array of shape (n,) or None
        Numbers of groups, which are drawn as a whole.
    """
    p, p_target = answers.said["predict_proba"], answers_target.said["predict_proba"]
    line = fit_line(p, places, weights)
    value = promised(metric, answers_target)(line.of(p_target), None)
    rng = np.random.default_rng(seed)
    some, aims = (_drawn(len(q), rng) for q in (p, p_target))
    # The sample of which the larger share was drawn rules, to be on the safe side.
    scale = np.sqrt(max(some.size / len(p), aims.size / len(p_target)))
    effective = effective_rows(weights, groups)
    p, places, weights = p[some], places[some], weights[some]
    if groups is not None:
        groups = np.unique(groups[some], return_inverse=True)[1]
    moved = promised_again(
        promised(metric, answers_target.take(aims)),
        p_target[aims],
        p,
        places,
        drawn_again(weights, N_RESAMPLES, seed, groups),
        line,
        rng,
    )
    error = scale * float(moved.std())
    if has_ends(metric):
        error = max(error, least_error(effective, metric.lowest, metric.highest))
    found = student_interval(value, error, effective, level)
    return as_estimate(metric, "confidence", found)


def _drawn(n: int, rng: np.random.Generator) -> Indices:
    if n <= MOST_RESAMPLED:
        return np.arange(n)
    return np.sort(rng.choice(n, MOST_RESAMPLED, replace=False))
