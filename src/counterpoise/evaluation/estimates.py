"""How good a model is on the target, from labelled source rows."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterpoise.evaluation.intervals import (
    Interval,
    combined,
    effective_rows,
    hull,
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
from counterpoise.tables.quantiles import weighted_quantile

# The weights of the correction are cut at this quantile, which steadies it.
CLIP_QUANTILE = 0.99
# Estimated ratios are flatter than the true one; so much sharper it may be.
SHARPER = 1.25
# Factors of the quantile: for a known ratio, and more the fewer effective rows it
# leaves.
REACH_WHERE_KEPT, REACH_WHERE_LOST = 1.1, 0.3
# Estimates stay behind on their way from the source's mean, by so much at most.
FURTHER_FROM_SOURCE = 0.5

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
    groups : array of shape (n,) or None
        Numbers of groups of source rows that may be alike within.
    """

    losses: Array = field(repr=False)
    ratio: Array = field(repr=False)
    counts: Array = field(repr=False)
    modelled: Array = field(repr=False)
    modelled_target: Array = field(repr=False)
    groups: Indices | None = field(default=None, repr=False)

    @property
    def cut_share(self) -> Array:
        """The shares of the rows in a mean with weights cut at their 99 % quantile.

        Rows that count nothing have no part in the quantile.
        """
        bound = weighted_quantile(self.ratio, self.counts, CLIP_QUANTILE)
        return _share(self.counts * np.minimum(self.ratio, bound))

    @property
    def spread_of_rest(self) -> float:
        """The weighted standard deviation of what the model of the loss leaves."""
        share, rest = self.cut_share, self.losses - self.modelled
        return float(np.sqrt(share @ (rest - share @ rest) ** 2))

    def take(self, rows: Any, target_rows: Any) -> "Evidence":
        """Return the evidence of some rows of both samples."""
        return Evidence(
            self.losses[rows],
            self.ratio[rows],
            self.counts[rows],
            self.modelled[rows],
            self.modelled_target[target_rows],
            None if self.groups is None else self.groups[rows],
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
                    with :math:`\bar w` the ratio cut at its 99 % quantile, by counts
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
    source's mean. The factors were chosen on shifts that we made ourselves, with the
    weights of `AutoWeights`: pooled over the draws of a strength of shift, intervals of
    level 0.95 held the truth about nine times in ten or more often. That is no promise
    for other shifts. The weighted estimate has the same with :math:`e_w` and without
    the doubly robust one.

    Rows of groups are summed within their group before anything is squared, and
    effective rows are then effective groups. Of a metric between two ends, as the error
    rate, the source's interval is Wilson's, and the others reach as far as Wilson's at
    least: no error among few rows is no proof of none.
    """
    found = mean_intervals(metric, evidence, level)
    return {name: as_estimate(metric, name, one) for name, one in found.items()}


def mean_intervals(
    metric: Metric, evidence: Evidence, level: float
) -> dict[str, Interval]:
    """Return what `mean_estimates` does, before roots are taken and ends are cut."""
    losses, counts, ratio = evidence.losses, evidence.counts, evidence.ratio
    g, g_target, groups = evidence.modelled, evidence.modelled_target, evidence.groups
    share, cut_share = _share(counts * ratio), evidence.cut_share
    source = _plain_mean(metric, losses, counts, level, groups)
    weighted = float(share @ losses)
    sharp = float(_share(counts * ratio**SHARPER) @ losses)
    direct = float(g_target.mean())
    robust = direct + float(cut_share @ (losses - g))
    of_target = float(g_target.std() / np.sqrt(g_target.size))
    error = float(np.hypot(weighted_mean_error(losses, share, groups), of_target))
    robust_error = float(
        np.hypot(weighted_mean_error(losses - g, cut_share, groups), of_target)
    )
    larger = max(error, robust_error)
    effective = effective_rows(share, groups)
    quantile = student_quantile(effective, level)
    kept = min(effective_rows(share) / effective_rows(counts), 1.0)
    reach = (REACH_WHERE_KEPT + REACH_WHERE_LOST * (1 - kept)) * quantile
    skew = skewness_of_mean(losses, share, groups) * (2 * quantile**2 + 1) / 6
    worth = rows_worth(losses, share, groups)

    def around(value: float, error: float, *others: float) -> Interval:
        away = FURTHER_FROM_SOURCE * (1 - kept) * (value - source.value)
        found = Interval(
            value,
            min(value, *others) - error * (reach + max(-skew, 0.0)) + min(away, 0.0),
            max(value, *others) + error * (reach + max(skew, 0.0)) + max(away, 0.0),
        )
        if not has_ends(metric):
            return found
        wilson = wilson_interval(value, worth, quantile, metric.lowest, metric.highest)
        return hull(value, found, wilson)

    return {
        "source": source,
        "weighted": around(weighted, error, sharp),
        "direct": around(direct, larger, direct),
        "doubly_robust": around(robust, larger, weighted, sharp),
    }


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
    share = _share(counts)
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


def _share(weights: Array) -> Array:
    return weights / weights.sum()


def has_ends(metric: Metric) -> bool:
    """Return whether the metric is a mean of values between two ends."""
    return (
        metric.by_row is not None
        and not metric.root
        and bool(np.isfinite(metric.highest - metric.lowest))
    )
