"""How good a model is on the target, from labelled source rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.evaluation.estimating.errors import JUDGED, errors_of
from counterpoise.evaluation.estimating.evidence import Evidence, share_of
from counterpoise.evaluation.intervals import (
    Interval,
    combined,
    effective_rows,
    least_error,
    rows_worth,
    skewness_of_mean,
    student_interval,
    student_quantile,
    weighted_mean_error,
    wilson_interval,
)
from counterpoise.evaluation.metrics import Metric
from counterpoise.numerics.arrays import Array, Indices

# Factors of the error: for a known ratio, and more the fewer effective rows it leaves.
REACH_WHERE_KEPT, REACH_WHERE_LOST = 1.1, 0.25
# How much of the estimates' difference from one another is an error of each.
OF_DIFFERENCE = 0.5

BOTH = "labelled and source"
UNCHANGED = "p(y | x) is the same in both samples"
ASSUMPTIONS = {
    "source": "the target is distributed like the source",
    "weighted": f"{UNCHANGED}, and the weights are the ratio of the densities",
    "direct": f"{UNCHANGED}, and the model of the loss is right where the target lies",
    "doubly_robust": f"{UNCHANGED}, and the weights or the model of the loss are right",
    "confidence": f"{UNCHANGED}, and rows with equal probabilities of the model have "
    "labels alike",
    "labelled": "the labelled target rows are drawn from the target by chance",
    BOTH: "the labelled target rows are drawn from the target by chance, and, what "
    f"they do not contradict, {UNCHANGED}",
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
                    with :math:`\bar w` the ratio cut at its 99 % quantile, by counts
    ==============  ==================================================================

    The error :math:`e` of each is that of `errors_of`, chance and what it is seen to
    miss, and no less than that of the doubly robust one: what nobody sees is the same
    for all. It takes weights and :math:`g` for given; that they are learned makes
    errors larger, the more the fewer rows the weights leave, and shows in the
    estimates' differences :math:`D` (weighted less doubly robust) and :math:`C` (doubly
    robust less direct):

    .. math:: E^2 = \bigl(1.1 + 0.25 (1 - \mathrm{ESS}/n)\bigr)^2 e^2
        + \tfrac14 (D^2 + C^2) .

    The interval reaches :math:`q E` to both sides, and with
    :math:`h = |\kappa| (2 q^2 + 1) / 6` further by :math:`h E` on the side to which
    the weighted losses are skewed, less far by :math:`\min(h / 2, q / 4) E` on the
    other; :math:`\kappa` is the skewness of their mean, at most one (Hall, 1992, has h
    on both; rows of skewed losses show less skewness than there is). On the side of the
    skewness `Evidence.worst_beyond` is added, which is no matter of chance: of target
    rows beyond the range of the source the model of the loss is a mere continuation,
    and they may lose as the worst hundredth seen, and more the farther they are.
    The quantile q is Student's; its degrees of freedom are one less than the effective
    rows, or than the squares that the error's estimate is worth, whichever are fewer:
    an error that hangs on five large losses is known as well as one of five rows. The
    factors were chosen on shifts that we made ourselves, with the weights of
    `AutoWeights`, and held on others (`benchmarks/sight/intervals.py`); that is no
    promise for all shifts. Of metrics that are a mean to the first order
    (`linearised`) :math:`C` does not count: that their direct estimate is drawn towards
    the middle is no doubt about the doubly robust one. The rows that tell of them are
    few, and their quantile is larger.

    Of a metric between two ends, as the error rate, the source's interval is Wilson's
    for as many rows as the weights leave, and the others are Wilson's for
    :math:`\pi (1 - \pi) / E^2` rows, with :math:`\pi` the estimate of two rows more,
    one at either end, and for no more than the weights leave, times what the model of
    the loss is seen to gain: no error among few rows is no proof of none. Rows of
    groups are summed within their group before anything is squared, and effective rows
    are then effective groups.
    """
    found = mean_intervals(metric, evidence, level)
    return {name: as_estimate(metric, name, one) for name, one in found.items()}


def mean_intervals(
    metric: Metric, evidence: Evidence, level: float
) -> dict[str, Interval]:
    """Return what `mean_estimates` does, before roots are taken and ends are cut."""
    values, errors = evidence.values(), errors_of(evidence)
    losses, counts, groups = evidence.losses, evidence.counts, evidence.groups
    share = share_of(counts * evidence.ratio)
    kept = min(effective_rows(share) / effective_rows(counts), 1.0)
    factor = REACH_WHERE_KEPT + REACH_WHERE_LOST * (1 - kept)
    apart = OF_DIFFERENCE * abs(values["weighted"] - values["doubly_robust"])
    if evidence.exact is None:
        missed = OF_DIFFERENCE * abs(values["doubly_robust"] - values["direct"])
        apart = float(np.hypot(apart, missed))
    worth = evidence.worth
    if worth is None:
        worth = rows_worth(losses, share, groups)
    quantile = student_quantile(
        min(effective_rows(share, groups), errors.freedom, worth), level
    )

    skewness = skewness_of_mean(losses, share, groups)
    beyond = evidence.worst_beyond(-1.0 if skewness < 0 else 1.0)

    def around(name: str) -> Interval:
        value = values[name]
        own = max(getattr(errors, name), errors.doubly_robust)
        error = float(np.hypot(factor * own, apart))
        if has_ends(metric) or evidence.exact is not None:
            return _between_ends(
                metric, value, error, worth, errors.gain, quantile, evidence.least
            )
        # Few rows show less skewness than there is.
        further = abs(skewness) * (2 * quantile**2 + 1) / 6
        nearer = min(further / 2, quantile / 4)
        low = error * (quantile - nearer)
        high = error * (quantile + further) + beyond
        if skewness < 0:
            low, high = high, low
        return Interval(value, value - low, value + high)

    return {
        "source": _plain_mean(metric, losses, counts, level, groups),
        **{name: around(name) for name in JUDGED},
    }


def _between_ends(
    metric: Metric,
    value: float,
    error: float,
    worth: float,
    gain: float,
    quantile: float,
    least: float | None,
) -> Interval:
    """Return Wilson's interval of as many rows as have the error."""
    width = metric.highest - metric.lowest
    place = float(np.clip((value - metric.lowest) / width, 0.0, 1.0))
    place = (place * worth + 1) / (worth + 2)
    spread = place * (1 - place)
    if least is None:
        least = float(np.sqrt(spread / (gain * max(worth, 1.0))))
    rows = spread / max(error / width, least) ** 2
    return wilson_interval(value, rows, quantile, metric.lowest, metric.highest)


def mean_estimate(
    metric: Metric,
    name: str,
    losses: Array,
    counts: Array,
    level: float,
    groups: Indices | None = None,
) -> Estimate:
    """Return the mean over rows as they are, of source rows or labelled target rows."""
    found = _plain_mean(metric, losses, counts, level, groups)
    return as_estimate(metric, name, found)


def _plain_mean(
    metric: Metric,
    losses: Array,
    counts: Array,
    level: float,
    groups: Indices | None,
) -> Interval:
    share = share_of(counts)
    value, effective = float(share @ losses), effective_rows(share, groups)
    if has_ends(metric):
        return wilson_interval(
            value,
            rows_worth(losses, share, groups),
            student_quantile(effective, level),
            metric.lowest,
            metric.highest,
        )
    error = weighted_mean_error(losses, share, groups)
    return student_interval(value, error, effective, level)


def labelled_estimate(
    metric: Metric,
    losses: Array,
    modelled: Array,
    modelled_target: Array,
    level: float,
    robust: Interval | None = None,
    spread: float = 0.0,
) -> Estimate:
    r"""Return the estimate with the help of labelled target rows.

    .. math:: \mathrm{mean}_j\, g(t_j) + \mathrm{mean}_l\, (L_l - g(t_l)), \qquad
        e^2 = \mathrm{var}_j\, g / m + \mathrm{var}_l (L - g) / k

    which is right whatever the model of the loss, if the k labelled rows are drawn by
    chance; the better the model, the narrower. Of a metric between two ends the error
    is at least `least_error`.

    Parameters
    ----------
    metric : Metric
    losses, modelled : array of shape (k,)
        Of the labelled rows.
    modelled_target : array of shape (m,)
    level : float
    robust : Interval or None
        The doubly robust one, where the labelled rows do not contradict it: few labels
        then sharpen it and do not take its place, see `intervals.combined`.
    spread : float
        The standard deviation of L - g as weighted source rows show it, below which
        that of the labelled rows is then not taken to be: a few are close by chance.

    References
    ----------
    A. Angelopoulos, S. Bates, C. Fannjiang, M. Jordan and T. Zrnic, 2023.
    """
    rest = losses - modelled
    of_labelled = labelled_error(metric, rest)
    if robust is not None:
        of_labelled = max(of_labelled, spread / np.sqrt(rest.size))
    error = np.hypot(of_labelled, modelled_target.std() / np.sqrt(modelled_target.size))
    value = float(modelled_target.mean() + rest.mean())
    found = student_interval(value, float(error), rest.size, level)
    if robust is None:
        return as_estimate(metric, "labelled", found)
    return as_estimate(metric, BOTH, combined(robust, found, level))


def labelled_error(metric: Metric, rest: Array) -> float:
    """Return the standard error of the mean of what the model of the loss leaves."""
    error = rest.std(ddof=1) / np.sqrt(rest.size)
    if not has_ends(metric):
        return float(error)
    return float(np.hypot(error, least_error(rest.size, metric.lowest, metric.highest)))


def as_estimate(metric: Metric, name: str, found: Interval) -> Estimate:
    """Return an interval in the metric's units, within its range, with its words."""
    if metric.root:
        found = Interval(
            *(metric.of_mean(x) for x in (found.value, found.low, found.high))
        )
    found = found.within(metric.lowest, metric.highest)
    return Estimate(found.value, found.low, found.high, ASSUMPTIONS[name])


def has_ends(metric: Metric) -> bool:
    """Return whether the metric is a mean of values between two ends."""
    return (
        metric.by_row is not None
        and not metric.root
        and bool(np.isfinite(metric.highest - metric.lowest))
    )
