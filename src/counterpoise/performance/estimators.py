"""Importance-weighted, outcome-regression and doubly robust estimates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.data.arrays import Matrix
from counterpoise.data.columns import FEWEST_ROWS_REPORTED, Parts, weighted_quantile
from counterpoise.errors import InvalidTypeError, suppress_warnings
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.messages import Finding
from counterpoise.performance.intervals import (
    Interval,
    combined,
    effective_rows,
    hull,
    least_error,
    random_rows,
    resampled,
    rows_worth,
    skewness_of_mean,
    student_interval,
    student_quantile,
    weighted_mean_error,
    wilson_interval,
)
from counterpoise.performance.loss_model import fit_line, promised
from counterpoise.performance.metrics import Metric, Predictions

# -----------------------------------------------------------------------------
# What is known of a metric that is a mean over rows, and the estimates it gives.
# -----------------------------------------------------------------------------


# The weights of the correction are cut at this quantile, which steadies it.
CLIP_QUANTILE = 0.99
# From this quantile on losses are the worst.
WORST_QUANTILE = 0.99
# Rows farther beyond the source than so many times its own reach are taken to be there.
FARTHEST_BEYOND = 10.0


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known of a metric that is a mean over rows, or as if it were one.

    Attributes
    ----------
    losses : array of shape (n,)
        The metric's value at source rows that the model was not fitted to.
    ratio : array of shape (n,)
        The density ratio target/source at these rows, up to a factor.
    counts : array of shape (n,)
        What the user lets the rows count.
    modeled, modeled_target : array of shape (n,), (m,)
        The loss as a regression on x and the prediction sees it: at source rows, each
        out of fold, and at target rows.
    groups : array of shape (n,) or None
        Numbers of groups of source rows that may be alike within.
    by_fold : array of shape (n_fits, m) or None
        What each fit of the regression says of the target rows.
    exact : mapping or None
        The estimates themselves, where the losses have them to the first order only.
    worth : float or None
        Of a metric of two classes: how many effective rows tell of it.
    least : float or None
        Of such a metric: the error is not taken to be less.
    beyond : array of shape (m,) or None
        Of target rows, see `rows_outside_support`; None: not looked at.
    of_these_rows : bool
        Whether the mean is that of the target rows themselves, chance in their labels
        included, and not of where they come from.
    """

    losses: Array = field(repr=False)
    ratio: Array = field(repr=False)
    counts: Array = field(repr=False)
    modeled: Array = field(repr=False)
    modeled_target: Array = field(repr=False)
    groups: Indices | None = field(default=None, repr=False)
    by_fold: Array | None = field(default=None, repr=False)
    exact: Mapping[str, float] | None = None
    worth: float | None = None
    least: float | None = None
    beyond: Array | None = field(default=None, repr=False)
    of_these_rows: bool = False

    @property
    def cut_share(self) -> Array:
        """The shares of the rows in a mean with weights cut at their 99 % quantile.

        Rows that count nothing have no part in the quantile.
        """
        bound = weighted_quantile(self.ratio, self.counts, CLIP_QUANTILE)
        return share_of(self.counts * np.minimum(self.ratio, bound))

    @property
    def spread_of_rest(self) -> float:
        """The weighted standard deviation of what the model of the loss leaves."""
        share, rest = self.cut_share, self.losses - self.modeled
        return float(np.sqrt(share @ (rest - share @ rest) ** 2))

    def worst_beyond(self, side: float) -> float:
        r"""Return what losses of target rows beyond the source's range may add.

        .. math:: \beta\, |L_\pm - \hat R_w|

        with :math:`\beta` the mean of `is_extrapolation`, zero where it is less,
        :math:`L_+` the mean of the losses of source rows at or above the 99 % quantile
        and :math:`L_-` of those at or below the 1 % quantile, as `side` is 1 or -1:
        rows beyond may lose as the worst hundredth seen, and more the farther they are.
        """
        share = 0.0 if self.beyond is None else max(float(self.beyond.mean()), 0.0)
        if share == 0.0:
            return 0.0
        losses = side * self.losses
        worst = losses >= weighted_quantile(losses, self.counts, WORST_QUANTILE)
        extreme = np.average(losses[worst], weights=self.counts[worst])
        mean = share_of(self.counts * self.ratio) @ losses
        return share * max(float(extreme - mean), 0.0)

    def values(self) -> Mapping[str, float]:
        """Return the estimates: source, weighted, direct, doubly_robust."""
        if self.exact is not None:
            return self.exact
        direct = float(self.modeled_target.mean())
        rest = float(self.cut_share @ (self.losses - self.modeled))
        return {
            "source": float(share_of(self.counts) @ self.losses),
            "weighted": float(share_of(self.counts * self.ratio) @ self.losses),
            "direct": direct,
            "doubly_robust": direct + rest,
        }

    def take(self, rows: Any, target_rows: Any) -> "Evidence":
        """Return the evidence of some rows of both samples."""
        return Evidence(
            self.losses[rows],
            self.ratio[rows],
            self.counts[rows],
            self.modeled[rows],
            self.modeled_target[target_rows],
            None if self.groups is None else self.groups[rows],
            None if self.by_fold is None else self.by_fold[:, target_rows],
            beyond=None if self.beyond is None else self.beyond[target_rows],
        )


def rows_outside_support(source: Matrix, target: Matrix) -> Array | None:
    r"""Return how far target rows lie beyond all source rows in a column, less chance.

    Zero for a row :math:`t` that lies within all columns, else the largest over the
    columns j that it lies beyond of

    .. math:: \max\Bigl(1, \frac{|t_j - c_j|}{\max(|b_j - c_j|, r_j / 2)}\Bigr)^2 ,

    with :math:`b` the end of the source's values on that side, :math:`c` their median
    and :math:`r` their range, and at most :math:`10^2`: a squared error grows like the
    square of the way where the model leaves a slope. Both less
    :math:`\min(1, 2 d / (n + 1))`, which is at least how often a row drawn like n
    others lies beyond them in one of d columns. None of sparse matrices and without
    source rows.

    Examples
    --------
    >>> target = np.array([[1.5], [4.5], [8.0]])
    >>> rows_outside_support(np.arange(5.0)[:, None], target).round(2)
    array([-0.33,  1.23,  8.67])
    """
    n, d = source.shape
    if sparse.issparse(source) or sparse.issparse(target) or n == 0:
        return None
    # Halved: differences may be more than the largest number.
    source, target = source / 2, target / 2
    low, middle, high = (
        source.min(axis=0),
        np.median(source, axis=0),
        source.max(axis=0),
    )
    half = (high - low) / 2
    far = np.zeros(target.shape)
    for outside, reach in (
        (target < low, np.maximum(middle - low, half)),
        (target > high, np.maximum(high - middle, half)),
    ):
        way = np.abs(target - middle) / np.where(reach > 0, reach, np.inf)
        far = np.where(outside, np.clip(way, 1.0, FARTHEST_BEYOND), far)
    found: Array = far.max(axis=1, initial=0.0) ** 2 - min(2 * d / (n + 1), 1.0)
    return found


def share_of(weights: Array) -> Array:
    """Return weights that add up to one."""
    share: Array = weights / weights.sum()
    return share


# -----------------------------------------------------------------------------
# How far each estimate of a mean may be off: by chance and by what it misses.
# -----------------------------------------------------------------------------


# No model of the loss makes rows worth more than so many times as many.
MOST_GAINED = 4.0
# The weighted estimate leads where its error is less than this share of the first's.
CLEARLY = 0.5
# The direct one leads where the first's error has less freedom: one square has three.
OF_ONE_ROW = 4.5
JUDGED = ("doubly_robust", "weighted", "direct")


@dataclass(frozen=True)
class Errors:
    """Errors of the estimates of a mean, and how well they are known.

    Attributes
    ----------
    weighted, direct, doubly_robust : float
        The root of the mean squared error of each.
    freedom : float
        Of how many equal squares the chance part of the doubly robust error is worth.
    gain : float
        How many times as many rows the model of the loss makes of the weighted ones,
        from one to four; one where they are all alike.
    """

    weighted: float
    direct: float
    doubly_robust: float
    freedom: float
    gain: float

    @property
    def least(self) -> str:
        """The name of the estimate to go by.

        The doubly robust one, unless the weighted one's error is less than half of its
        own, or else the direct one's is less and its own has a freedom below 4.5: then
        one row makes nearly all of the correction, and is no better known than what it
        corrects. Elsewhere a direct estimate with a smaller error is no closer: fits
        that are drawn to one mean agree, and a bias is seen only beyond the noise of
        the correction.
        """
        if self.weighted < CLEARLY * self.doubly_robust:
            return "weighted"
        if self.freedom < OF_ONE_ROW and self.direct < self.doubly_robust:
            return "direct"
        return "doubly_robust"


def errors_of(evidence: Evidence) -> Errors:
    r"""Return the errors of the estimates, each by itself.

    With shares :math:`p` of the weights, :math:`\bar p` of the cut ones, and the
    differences :math:`D` of the weighted from the doubly robust estimate and :math:`C`
    of the doubly robust from the direct one,

    .. math::

        e_d^2 &= \sum \bar p^2 (L - g - c)^2 + \mathrm{var}_j\, g / m \\
        e_w^2 &= \sum p^2 (L - \hat R_w)^2 + \mathrm{var}_j\, g / m
            + \bigl(D^2 - \mathrm{var}\, D\bigr)_+ \\
        e_g^2 &= \tfrac34 \sum_k (\hat R_k - \hat R_g)^2 + \mathrm{var}_j\, g / m
            + \bigl(C^2 - \mathrm{var}\, C\bigr)_+

    and :math:`e_d^2` is at least a quarter of :math:`\sum p^2 (L - \hat R_w)^2`: no
    model of the loss makes rows worth more than four times as many, for it was learned
    from these rows.
    The doubly robust estimate is right if either is, so that what chance does not
    explain of its difference from another is the other's bias. Of the direct estimate
    the chance is that of the four fits :math:`\hat R_k`, each without a quarter of the
    rows (the jackknife of groups); where they are not known, that of the doubly robust.
    Where the mean is that of the target rows themselves,
    :math:`\mathrm{var}_j\, g / m` is at least the variance of :math:`L - g` over m.
    The freedom is :math:`3 (\sum a)^2 / \sum a^2` of the squares that :math:`e_d^2` is
    the sum of: as many as there are rows where they are normal and alike, few where
    some of them rule.

    References
    ----------
    F. Satterthwaite, 1946; M. Quenouille, 1956.
    """
    values = evidence.values()
    losses, g, g_target = (
        evidence.losses,
        evidence.modeled,
        evidence.modeled_target,
    )
    groups, share = evidence.groups, share_of(evidence.counts * evidence.ratio)
    cut = evidence.cut_share
    of_rows = cut * ((losses - g) - cut @ (losses - g))
    if groups is not None:
        of_rows = np.bincount(groups, of_rows).astype(float)
    of_target = (g_target - g_target.mean()) / g_target.size
    rest = weighted_mean_error(losses - g, cut, groups) ** 2
    target = float(of_target @ of_target)
    if evidence.of_these_rows:
        target = max(target, evidence.spread_of_rest**2 / g_target.size)
    apart = values["weighted"] - values["doubly_robust"]
    by_chance = weighted_mean_error(g, share, groups) ** 2 + target
    missed = values["doubly_robust"] - values["direct"]
    alone = weighted_mean_error(losses, share, groups) ** 2
    weighted = alone + target
    direct = rest
    if evidence.by_fold is not None:
        means = evidence.by_fold.mean(axis=1)
        direct = (means.size - 1) / means.size * ((means - means.mean()) ** 2).sum()
    parts = np.concatenate([of_rows, of_target])
    squares = parts @ parts
    scaled = parts / np.sqrt(squares) if squares > 0 else parts
    effective = effective_rows(cut, groups)
    few = effective / max(effective - 1.0, 1.0)
    return Errors(
        weighted=float(np.sqrt(weighted + max(apart**2 - by_chance, 0.0))),
        direct=float(np.sqrt(direct + target + max(missed**2 - rest, 0.0))),
        doubly_robust=float(np.sqrt(max(few * rest + target, alone / MOST_GAINED))),
        freedom=float(3.0 / (scaled**4).sum()) if squares > 0 else effective,
        gain=float(np.clip(alone / rest, 1.0, MOST_GAINED)) if rest > 0 else 1.0,
    )


def leading_estimate(evidence: Evidence) -> str:
    """Return which of doubly robust, weighted and direct to go by.

    `Errors.least`; but of metrics that are a mean to the first order only (AUC, F1) the
    direct one does not lead: chances that a regression has drawn towards their mean
    make areas too small, which its fits, drawn alike, do not show.
    """
    least = errors_of(evidence).least
    shrunken = evidence.exact is not None and least == "direct"
    return JUDGED[0] if shrunken else least


# -----------------------------------------------------------------------------
# How good a model is on the target, from labeled source rows.
# -----------------------------------------------------------------------------


# Factors of the error: for a known ratio, and more the fewer effective rows it leaves.
REACH_WHERE_KEPT, REACH_WHERE_LOST = 1.1, 0.25
# How much of the estimates' difference from one another is an error of each.
OF_DIFFERENCE = 0.5

BOTH = "labeled_and_source"


@dataclass(frozen=True)
class Estimate:
    """A number, its interval, and what must be true for both to hold.

    Attributes
    ----------
    value, low, high : float
    assumption : Finding
    """

    value: float
    low: float
    high: float
    assumption: Finding

    def __str__(self) -> str:
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "assumption": self.assumption.to_dict(),
        }


def mean_estimates(
    metric: Metric, evidence: Evidence, level: float
) -> dict[str, Estimate]:
    r"""Return the estimates of a metric that is a mean over rows, or the root of one.

    With losses :math:`L_i`, weights :math:`w_i` (counts times ratio) and the modeled
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
    (`linearize`) :math:`C` does not count: that their direct estimate is drawn towards
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
    """Return the mean over rows as they are, of source rows or labeled target rows."""
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


def labeled_estimate(
    metric: Metric,
    losses: Array,
    modeled: Array,
    modeled_target: Array,
    level: float,
    robust: Interval | None = None,
    spread: float = 0.0,
) -> Estimate:
    r"""Return the estimate with the help of labeled target rows.

    .. math:: \mathrm{mean}_j\, g(t_j) + \mathrm{mean}_l\, (L_l - g(t_l)), \qquad
        e^2 = \mathrm{var}_j\, g / m + \mathrm{var}_l (L - g) / k

    which is right whatever the model of the loss, if the k labeled rows are drawn by
    chance; the better the model, the narrower. Of a metric between two ends the error
    is at least `least_error`.

    Parameters
    ----------
    metric : Metric
    losses, modeled : array of shape (k,)
        Of the labeled rows.
    modeled_target : array of shape (m,)
    level : float
    robust : Interval or None
        The doubly robust one, where the labeled rows do not contradict it: few labels
        then sharpen it and do not take its place, see `intervals.combined`.
    spread : float
        The standard deviation of L - g as weighted source rows show it, below which
        that of the labeled rows is then not taken to be: a few are close by chance.

    References
    ----------
    A. Angelopoulos, S. Bates, C. Fannjiang, M. Jordan and T. Zrnic, 2023.
    """
    rest = losses - modeled
    of_labeled = labeled_error(metric, rest)
    if robust is not None:
        of_labeled = max(of_labeled, spread / np.sqrt(rest.size))
    error = np.hypot(of_labeled, modeled_target.std() / np.sqrt(modeled_target.size))
    value = float(modeled_target.mean() + rest.mean())
    found = student_interval(value, float(error), rest.size, level)
    if robust is None:
        return as_estimate(metric, "labeled", found)
    return as_estimate(metric, BOTH, combined(robust, found, level))


def labeled_error(metric: Metric, rest: Array) -> float:
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
    return Estimate(found.value, found.low, found.high, Finding(f"assumes_{name}"))


def has_ends(metric: Metric) -> bool:
    """Return whether the metric is a mean of values between two ends."""
    return (
        metric.by_row is not None
        and not metric.root
        and bool(np.isfinite(metric.highest - metric.lowest))
    )


# -----------------------------------------------------------------------------
# The loss on parts of the target: where the model will do worse than on average.
# -----------------------------------------------------------------------------


# Of a slice that weighted source rows are worth less than this many, nothing is told.
WORTH_OF_A_SLICE = 10.0


@dataclass(frozen=True, eq=False)
class MovedColumn:
    """A column by whose parts the target is sliced.

    Attributes
    ----------
    name, kind : str
    effect : float
        How far it has moved, as in `FeatureShift`.
    parts : Parts
        Of the rows that the evidence is of.
    """

    name: str
    kind: str
    effect: float
    parts: Parts = field(repr=False)


def loss_by_slice(
    metric: Metric, evidence: Evidence, columns: Sequence[MovedColumn], level: float
) -> dict[str, Any]:
    r"""Return the metric on every part of some columns, with intervals.

    On a part :math:`S` it is the doubly robust estimate of the rows in it,

    .. math:: \mathrm{mean}_{t_j \in S}\, g(t_j)
        + \frac{\sum_{x_i \in S} \bar w_i (L_i - g(x_i))}{\sum_{x_i \in S} \bar w_i},

    with the interval of `mean_estimates`. A part where the weighted source rows are
    worth fewer than ten, or either sample has fewer than five rows, has no estimate:
    there are too few to tell. Cost O(n + m) a column beside the sorting of a quantile.

    Parameters
    ----------
    metric : Metric
        A mean over rows, or the root of one.
    evidence : Evidence
    columns : sequence of MovedColumn
    level : float
        Of the intervals, each by itself: of twenty intervals of level 0.95 one misses.

    Returns
    -------
    dict
        `metric`, `level`, `fewest` (effective rows), and `columns`: `name`, `kind`,
        `effect`, and `parts` as `Part.to_dict` has them, with `share` (of the target),
        `effective_rows`, and `estimate` (`value`, `low`, `high`) or None.
    """
    return {
        "metric": metric.name,
        "level": level,
        "fewest": WORTH_OF_A_SLICE,
        "columns": [
            {
                "name": column.name,
                "kind": column.kind,
                "effect": column.effect,
                "parts": _slice_parts(metric, evidence, column.parts, level),
            }
            for column in columns
        ],
    }


def _slice_parts(
    metric: Metric, evidence: Evidence, parts: Parts, level: float
) -> list[dict[str, Any]]:
    found = []
    weights = evidence.counts * evidence.ratio
    for k, part in enumerate(parts.parts):
        rows = np.flatnonzero((parts.source == k) & (weights > 0))
        aims = np.flatnonzero(parts.target == k)
        if not aims.size:
            continue
        groups = None if evidence.groups is None else evidence.groups[rows]
        worth = effective_rows(weights[rows], groups) if rows.size else 0.0
        estimate = None
        few = (
            min(rows.size, aims.size) < FEWEST_ROWS_REPORTED or worth < WORTH_OF_A_SLICE
        )
        if not few:
            inside = mean_intervals(metric, evidence.take(rows, aims), level)
            one = as_estimate(metric, "doubly_robust", inside["doubly_robust"])
            estimate = {"value": one.value, "low": one.low, "high": one.high}
        found.append(
            {
                **part.to_dict(),
                "share": aims.size / parts.target.size,
                "effective_rows": worth,
                "estimate": estimate,
            }
        )
    return found


# -----------------------------------------------------------------------------
# Estimates of metrics whose error only rows drawn again can tell.
# -----------------------------------------------------------------------------


N_RESAMPLES, STEPS_OF_RESAMPLES = 100, 2
# Estimated ratios are flatter than the true one; so much sharper it may be.
SHARPER = 1.25
# Rows of either sample that are drawn again to see how much the confidence moves.
MOST_RESAMPLED = 10_000


def scored_estimate(
    metric: Metric,
    name: str,
    answers: Predictions,
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
    with suppress_warnings():
        try:
            value = value_of(weights)
            sharp = value if ratio is None else value_of(counts * ratio**SHARPER)
        except InvalidTypeError:  # no rows make a wrong call right
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
    answers: Predictions,
    places: Indices,
    weights: Array,
    answers_target: Predictions,
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
    some, aims = (random_rows(len(q), MOST_RESAMPLED, rng) for q in (p, p_target))
    # The sample of which the larger share was drawn rules, to be on the safe side.
    scale = np.sqrt(max(some.size / len(p), aims.size / len(p_target)))
    effective = effective_rows(weights, groups)
    p, places, weights = p[some], places[some], weights[some]
    if groups is not None:
        groups = np.unique(groups[some], return_inverse=True)[1]
    p_target = p_target[aims]
    promise = promised(metric, answers_target.take(aims))

    def value_again(weights: Array) -> float:
        kept = weights > 0
        # A line needs few Newton steps from that of all rows.
        near = fit_line(p[kept], places[kept], weights[kept], line, STEPS_OF_RESAMPLES)
        drawn = np.bincount(rng.integers(0, aims.size, aims.size), minlength=aims.size)
        return promise(near.of(p_target), drawn.astype(float))

    moved = resampled(value_again, weights, N_RESAMPLES, seed, groups)
    error = scale * float(moved.std())
    if has_ends(metric):
        error = max(error, least_error(effective, metric.lowest, metric.highest))
    found = student_interval(value, error, effective, level)
    return as_estimate(metric, "confidence", found)
