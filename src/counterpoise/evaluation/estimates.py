"""How good a model is on the target, from labelled source rows."""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterpoise.evaluation.answers import Answers
from counterpoise.evaluation.confidence import (
    expected_rows,
    expected_value,
    fit_line,
)
from counterpoise.evaluation.intervals import (
    Interval,
    hull,
    resampled,
    skewness_of_mean,
    student_interval,
    student_quantile,
    weighted_mean_error,
)
from counterpoise.evaluation.metrics import Metric
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.effective_size import effective_sample_size

# The weights of the correction are cut at this quantile, which steadies it.
CLIP_QUANTILE = 0.99
N_RESAMPLES = 100
# Estimated ratios are flatter than the true one; so much sharper it may be.
SHARPER = 1.25
# Factors of the quantile: for a known ratio, and more the fewer effective rows it
# leaves.
KNOWN, UNKNOWN = 1.1, 0.3
# Estimates stay behind on their way from the source's mean, by so much at most.
FURTHER = 0.5
# A line through probabilities needs few Newton steps from where it was.
_STEPS_AGAIN = 2

SAME = "p(y | x) is the same in both samples"
ASSUMPTIONS = {
    "source": "the target is distributed like the source",
    "weighted": f"{SAME}, and the weights are the ratio of the densities",
    "direct": f"{SAME}, and the model of the loss is right where the target lies",
    "doubly_robust": f"{SAME}, and the weights or the model of the loss are right",
    "confidence": f"{SAME}, and rows with equal probabilities of the model have labels "
    "alike",
    "labelled": "the labelled target rows are drawn from the target by chance",
}


@dataclass(frozen=True)
class Estimate:
    """A number, its interval, and what must be true for both to hold.

    Attributes
    ----------
    value, low, high : float
    assumption : str
    """

    value: float
    low: float
    high: float
    assumption: str

    def __str__(self) -> str:
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "assumption": self.assumption,
        }


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known of a metric that is a mean over rows.

    Attributes
    ----------
    losses : array of shape (n,)
        The metric's value at source rows that the model was not fitted to.
    ratio : array of shape (n,)
        The density ratio target/source at these rows, up to a factor.
    counts : array of shape (n,)
        What the user lets the rows count.
    modelled, modelled_target : array of shape (n,), (m,)
        The loss as a regression on x and the prediction sees it: at source rows, each
        out of fold, and at target rows.
    """

    losses: Array = field(repr=False)
    ratio: Array = field(repr=False)
    counts: Array = field(repr=False)
    modelled: Array = field(repr=False)
    modelled_target: Array = field(repr=False)

    def take(self, rows: Any, target_rows: Any) -> "Evidence":
        """Return the evidence of some rows of both samples."""
        return Evidence(
            self.losses[rows],
            self.ratio[rows],
            self.counts[rows],
            self.modelled[rows],
            self.modelled_target[target_rows],
        )


def mean_estimates(
    metric: Metric, evidence: Evidence, level: float
) -> dict[str, Estimate]:
    r"""Return the estimates of a metric that is a mean over rows, or the root of one.

    With losses :math:`L_i`, weights :math:`w_i` (counts times ratio) and the modelled
    loss :math:`g`:

    ==============  ==================================================================
    source          :math:`\mathrm{mean}\, L`
    weighted        :math:`\sum w L / \sum w`
    direct          :math:`\mathrm{mean}_j\, g(t_j)`
    doubly_robust   :math:`\mathrm{mean}_j\, g(t_j) + \sum \bar w (L - g) / \sum \bar w`
                    with :math:`\bar w` cut at the 99 % quantile of w
    ==============  ==================================================================

    The standard errors, whose quantile is Student's with as many degrees of freedom as
    the weights leave effective rows, less one:

    .. math::

        e_w^2 = \frac{\sum w^2 (L - \hat R_w)^2}{(\sum w)^2}
            + \frac{\mathrm{var}_j\, g}{m}, \qquad
        e_d^2 = \frac{\sum \bar w^2 (L - g - c)^2}{(\sum \bar w)^2}
            + \frac{\mathrm{var}_j\, g}{m} .

    Both take weights and :math:`g` for given. That they are estimated makes the errors
    larger, and one-sided: estimated weights are flatter than the ratio, cut weights and
    smooth models too, so that estimates stay between the source's and the target's.
    Therefore the interval of the doubly robust estimate reaches from the smallest to
    the largest of itself, the weighted estimate, and the weighted estimate with the
    ratio to the power 1.25, and beyond them by

    .. math:: e \bigl(1.1 + 0.3 (1 - \mathrm{ESS}/n)\bigr) q
        + e \, |\kappa| (2 q^2 + 1) / 6
        + \tfrac12 (1 - \mathrm{ESS}/n) |\hat R - \mathrm{mean}\, L|,
        \qquad e = \max(e_w, e_d),

    the second term on the side to which the losses are skewed, with
    :math:`\kappa = \sum w^3 (L - \hat R_w)^3 / (\sum w^2 (L - \hat R_w)^2)^{3/2}`, at
    most one (Cornish and Fisher; Hall, 1992), and the third on the side away from the
    source's mean. The factors were chosen on simulated shifts, where the intervals of
    level 0.95 then cover in 90 % and more of the draws with the weights of
    `AutoWeights`. The weighted estimate has the same with :math:`e_w` and without the
    doubly robust one.
    """
    losses, counts, ratio = evidence.losses, evidence.counts, evidence.ratio
    g, g_target = evidence.modelled, evidence.modelled_target
    share = _share(counts * ratio)
    cut = np.minimum(ratio, np.quantile(ratio, CLIP_QUANTILE))
    cut_share = _share(counts * cut)
    source = _plain_mean(losses, counts, level)
    weighted = float(share @ losses)
    sharp = float(_share(counts * ratio**SHARPER) @ losses)
    direct = float(g_target.mean())
    robust = direct + float(cut_share @ (losses - g))
    of_target = float(g_target.std() / np.sqrt(g_target.size))
    error = float(np.hypot(weighted_mean_error(losses, share), of_target))
    robust_error = float(
        np.hypot(weighted_mean_error(losses - g, cut_share), of_target)
    )
    larger = max(error, robust_error)
    effective = effective_sample_size(share)
    quantile = student_quantile(effective, level)
    kept = min(effective / effective_sample_size(counts), 1.0)
    reach = (KNOWN + UNKNOWN * (1 - kept)) * quantile
    skew = skewness_of_mean(losses, share) * (2 * quantile**2 + 1) / 6

    def around(value: float, error: float, *others: float) -> Interval:
        away = FURTHER * (1 - kept) * (value - source.value)
        return Interval(
            value,
            min(value, *others) - error * (reach + max(-skew, 0.0)) + min(away, 0.0),
            max(value, *others) + error * (reach + max(skew, 0.0)) + max(away, 0.0),
        )

    found = {
        "weighted": around(weighted, error, sharp),
        "direct": around(direct, larger, direct),
        "doubly_robust": around(robust, larger, weighted, sharp),
    }
    found = {"source": source, **found}
    return {name: as_estimate(metric, name, one) for name, one in found.items()}


def mean_estimate(
    metric: Metric, name: str, losses: Array, counts: Array, level: float
) -> Estimate:
    """Return the mean over rows as they are, of source rows or labelled target rows."""
    return as_estimate(metric, name, _plain_mean(losses, counts, level))


def _plain_mean(losses: Array, counts: Array, level: float) -> Interval:
    share = _share(counts)
    return student_interval(
        float(share @ losses),
        weighted_mean_error(losses, share),
        effective_sample_size(share),
        level,
    )


def labelled_estimate(
    metric: Metric, losses: Array, modelled: Array, modelled_target: Array, level: float
) -> Estimate:
    r"""Return the estimate with the help of labelled target rows.

    .. math:: \mathrm{mean}_j\, g(t_j) + \mathrm{mean}_l\, (L_l - g(t_l)), \qquad
        e^2 = \mathrm{var}_j\, g / m + \mathrm{var}_l (L - g) / k

    which is right whatever the model of the loss, if the k labelled rows are drawn by
    chance; the better the model, the narrower.

    References
    ----------
    A. Angelopoulos, S. Bates, C. Fannjiang, M. Jordan and T. Zrnic, 2023.
    """
    rest = losses - modelled
    error = np.hypot(
        rest.std(ddof=1) / np.sqrt(rest.size),
        modelled_target.std() / np.sqrt(modelled_target.size),
    )
    value = float(modelled_target.mean() + rest.mean())
    found = student_interval(value, float(error), rest.size, level)
    return as_estimate(metric, "labelled", found)


def scored_estimate(
    metric: Metric,
    name: str,
    answers: Answers,
    y: Any,
    counts: Array,
    ratio: Array | None,
    level: float,
    seed: int,
) -> Estimate | None:
    """Return the estimate of a metric that is no mean over rows.

    The interval has the standard error of 100 resamples of the rows, the ratio taken
    for given, and Student's quantile as in `mean_estimates`; with a ratio it spans the
    ratio to the power 1.25 too. None where the metric is not defined, as the AUC of
    rows of one class.
    """
    rows = answers.rows

    def value_of(weights: Array) -> float:
        used = weights > 0
        with warnings.catch_warnings():
            # scikit-learn warns of classes without rows.
            warnings.simplefilter("ignore")
            return metric.value(
                answers, rows[used], y[used], sample_weight=weights[used]
            )

    weights = counts if ratio is None else counts * ratio
    try:
        value = value_of(weights)
        sharp = value if ratio is None else value_of(counts * ratio**SHARPER)
    except ValueError:
        return None
    again = resampled(value_of, weights, N_RESAMPLES, seed)
    if not np.isfinite([value, sharp]).all() or again.size < 2:
        return None
    error, effective = float(again.std()), effective_sample_size(weights)
    found = hull(
        value,
        student_interval(value, error, effective, level),
        student_interval(sharp, error, effective, level),
    )
    return as_estimate(metric, name, found)


def confidence_estimate(
    metric: Metric,
    answers: Answers,
    places: Indices,
    weights: Array,
    answers_target: Answers,
    level: float,
    seed: int,
) -> Estimate:
    """Return what the classifier's recalibrated probabilities promise at the target.

    The probabilities are put on the line that fits weighted source rows best, and every
    target row counts once a class, by its probability. The interval has the standard
    error of resamples of both samples, the line fitted again each time.

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
    """
    p, p_target = answers.said["predict_proba"], answers_target.said["predict_proba"]
    line = fit_line(p, places, weights)
    by_rows = metric.by_row is not None
    rng = np.random.default_rng(seed)
    m = len(p_target)

    def promised(q: Array, drawn: Array | None = None) -> float:
        if by_rows:
            mean = expected_rows(metric, answers_target, q)
            return float(np.average(mean, weights=drawn))
        return expected_value(metric, answers_target, q, drawn)

    def again(weights: Array) -> float:
        kept = weights > 0
        near = fit_line(p[kept], places[kept], weights[kept], line, _STEPS_AGAIN)
        drawn = np.bincount(rng.integers(0, m, m), minlength=m).astype(float)
        return promised(near.of(p_target), drawn)

    value = promised(line.of(p_target))
    error = float(resampled(again, weights, N_RESAMPLES, seed).std())
    effective = effective_sample_size(weights)
    found = student_interval(value, error, effective, level)
    return as_estimate(metric, "confidence", found)


def as_estimate(metric: Metric, name: str, found: Interval) -> Estimate:
    """Return an interval in the metric's units, within its range, with its words."""
    if metric.root:
        found = Interval(
            *(metric.of_mean(x) for x in (found.value, found.low, found.high))
        )
    found = found.within(metric.lowest, metric.highest)
    return Estimate(found.value, found.low, found.high, ASSUMPTIONS[name])


def _share(weights: Array) -> Array:
    return weights / weights.sum()
