"""Label-free estimates of a chunk's score."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import chi2
from scipy.stats import t as student

from counterpoise.data.two_samples import effective_sample_size
from counterpoise.linalg.arrays import Array
from counterpoise.monitor.evidence import weight_of_start
from counterpoise.performance.loss_model import (
    LossModel,
    ProbabilityLine,
    fit_line,
    fit_loss_model,
    rows_by_class,
)
from counterpoise.performance.metrics import Metric, Predictions

# -----------------------------------------------------------------------------
# How far earlier estimates missed what labels showed, and what later ones owe to it.
#
# An estimate without labels holds if p(y | x) is what it was. Labels tell whether it
# is: of an earlier chunk k let :math:`\delta_k` be the mean loss of its labeled rows
# (30 at least) less its estimate, and :math:`\sigma_k^2` the variance that rows and
# labels drawn by chance give that difference. While
#
# .. math:: Q = \sum_{k=1}^K \delta_k^2 / \sigma_k^2
#
# is at most the 95 % quantile of chi-squared with K degrees of freedom, chance explains
# the misses. Above it, every later interval counts
#
# .. math:: \tau^2 = \max\Bigl(0, \frac1K \sum_k (\delta_k^2 - \sigma_k^2)\Bigr)
#
# besides its own variance :math:`s^2`, with the degrees of freedom of Welch and
# Satterthwaite, :math:`(s^2 + \tau^2)^2 / (s^4 / \nu + \tau^4 / K)`. The estimate
# itself stays: an interval that has become wide says that it cannot be believed.
#
# The reference has misses of its own: ten blocks of its rows in the order in which they
# were given, each against all. In the order of time they show how the relation of
# labels to rows wanders; shuffled rows show nothing. The larger of both variances
# counts.
# -----------------------------------------------------------------------------


BLOCKS_OF_REFERENCE, FEWEST_LABELS = 10, 30
_EXPLAINED_BY_CHANCE = 0.95


class ExcessError(NamedTuple):
    """The variance of estimates beyond chance, and of how many misses it is known."""

    variance: float
    times: int


NOTHING = ExcessError(0.0, 0)


def misses_of_blocks(rest: Array) -> list[tuple[float, float]]:
    """Return miss and variance of each block of a reference, by its residuals.

    The mean of n of N rows differs from that of all by s^2 (1/n - 1/N), with s^2 the
    variance of a row over N - 1. None where blocks would have fewer than 30 rows.
    """
    if rest.size < BLOCKS_OF_REFERENCE * FEWEST_LABELS:
        return []
    noise, parts = float(rest.var(ddof=1)), np.array_split(rest, BLOCKS_OF_REFERENCE)
    # A block is a part of what it is compared with.
    return [
        (float(part.mean() - rest.mean()), noise * (1.0 / part.size - 1.0 / rest.size))
        for part in parts
    ]


def excess_error(misses: Iterable[tuple[float, float]]) -> ExcessError:
    """Return what chance does not explain of misses.

    Examples
    --------
    >>> excess_error([(0.1, 0.01), (-0.1, 0.01)])
    ExcessError(variance=0.0, times=2)
    >>> excess_error([(0.5, 0.01), (0.3, 0.01)])
    ExcessError(variance=0.16, times=2)
    """
    pairs = np.array([pair for pair in misses if pair[1] > 0.0]).reshape(-1, 2)
    squares, variances = pairs[:, 0] ** 2, pairs[:, 1]
    count = len(pairs)
    if not count:
        return NOTHING
    if (squares / variances).sum() <= chi2.ppf(_EXPLAINED_BY_CHANCE, count):
        return ExcessError(0.0, count)
    return ExcessError(max(0.0, float((squares - variances).mean())), count)


# -----------------------------------------------------------------------------
# How good the model is on a chunk of which nobody has labels, cheaply.
#
# With losses :math:`L_i` of reference rows, a model :math:`g` of the loss at a row,
# rows :math:`t_j` of the chunk, and shares :math:`w_i` of the reference rows,
# proportional to the density ratio that a logistic regression on normal scores sees,
# cut at its 99 % quantile:
#
# .. math:: \hat v = \mathrm{mean}_j\, g(t_j) + \sum_i w_i (L_i - g(x_i)),
#
# the doubly robust estimate, of variance :math:`\mathrm{Var}\, g(t) / m + \sum_i w_i^2
# (L_i - g(x_i))^2`. Its rise over the reference's mean,
#
# .. math:: \hat\Delta = \mathrm{mean}_j\, g(t_j) - \mathrm{mean}_i\, g(x_i)
#         + \sum_i (w_i - 1/n)(L_i - g(x_i)),
#
# has a smaller variance, :math:`\mathrm{Var}\, g(t) / m + \mathrm{Var}\, g(x) / n +
# \sum_i (w_i - 1/n)^2 (L_i - g(x_i))^2`, because the reference's own error cancels.
#
# The model is made once for all chunks, which may lie anywhere: boosted trees of the
# row and the prediction, cross-fitted, which are flat beyond the reference's rows; of
# classifiers with probabilities the mean of these and of what the probabilities,
# recalibrated on the reference, let expect.
#
# Intervals are Student's, of what the labels of all rows of the chunk would show:
# chance in those labels counts, :math:`\sum_i w_i (L_i - g(x_i))^2 / m`, and what
# earlier estimates missed does too (`misses`). Corrected over chunks, the t-th has the
# level :math:`1 - \alpha w_t` with the weights of `weight_of_start`, which sum to one:
# all of them hold together with probability :math:`1 - \alpha`, if p(y | x) is what it
# was.
#
# Of metrics that are no means over rows the value is that of the weighted reference,
# its error s that of 20 groups of rows left out in turn; chance in the labels of m rows
# is :math:`s^2 n_e / m` where the weighted reference is worth :math:`n_e`.
# -----------------------------------------------------------------------------


_QUANTILE_OF_ODDS = 0.99
_NEWTON_STEPS = 8
# Penalty of the logistic regression's slopes, in rows.
_RIDGE = 5.0
_GROUPS_LEFT_OUT = 20


@dataclass(frozen=True)
class Rise:
    """An estimate for a chunk, and by how much it exceeds the reference's.

    Attributes
    ----------
    value, error : float
        The mean loss (or the metric's value), and its standard error.
    chance : float
        The variance that labels of the chunk's rows add, drawn by chance.
    rise, rise_error : float
        Over the reference, higher being worse.
    degrees : float
        Of freedom.
    """

    value: float
    error: float
    rise: float
    rise_error: float
    degrees: float
    chance: float = 0.0

    def ends(self, alpha: float, missed: ExcessError = NOTHING) -> tuple[float, float]:
        """Return the ends of the interval of level one minus alpha.

        The variance of earlier misses adds to that of the estimate; the degrees of
        freedom are then Welch and Satterthwaite's.
        """
        own = self.error**2 + self.chance
        variance, degrees = own, self.degrees
        if missed.variance:
            variance += missed.variance
            unsure = own**2 / self.degrees + missed.variance**2 / missed.times
            degrees = variance**2 / unsure
        reach = float(student.isf(alpha / 2, degrees) * np.sqrt(variance))
        return self.value - reach, self.value + reach

    def low_rise(self, alpha: float) -> float:
        """Return what the rise exceeds but with probability alpha."""
        return self.rise - float(student.isf(alpha, self.degrees)) * self.rise_error


def spent(alpha: float, t: int) -> float:
    """Return the part of a level that the t-th chunk has, t = 1, 2, ...

    Examples
    --------
    >>> round(sum(spent(0.05, t) for t in range(1, 100_000)), 4)
    0.05
    """
    return float(alpha * weight_of_start(t))


def shares_of(scores: Array, scores_target: Array) -> Array:
    """Return the shares of rows that make them stand for a target, sum one.

    The odds of a ridge-penalized logistic regression, cut at their 99 % quantile.
    """
    n, m = len(scores), len(scores_target)
    X = np.vstack([scores, scores_target])
    X = np.hstack([X, np.ones((n + m, 1))])
    is_target = np.arange(n + m) >= n
    penalty = np.full(X.shape[1], _RIDGE)
    penalty[-1] = 1e-9
    line = np.zeros(X.shape[1])
    line[-1] = np.log(m / n)
    for _ in range(_NEWTON_STEPS):
        p = expit(X @ line)
        gradient = X.T @ (p - is_target) + penalty * line
        curvature = (X * np.maximum(p * (1 - p), 1e-10)[:, None]).T @ X
        step = np.linalg.solve(curvature + np.diag(penalty), gradient)
        # A step beyond five log-odds a standard deviation has left its model.
        line -= step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < 1e-6:
            break
    log_odds = X[:n] @ line
    odds = np.exp(log_odds - log_odds.max())
    odds = np.minimum(odds, np.quantile(odds, _QUANTILE_OF_ODDS))
    return odds / odds.sum()


@dataclass
class LabelFree:
    """One metric, estimated for chunks without labels.

    Attributes
    ----------
    name : str
        The metric's.
    sign : float
        One where higher is worse.
    losses, modeled : array of shape (n,)
        The metric at reference rows, and as modeled out of fold; empty for metrics
        that are no means.
    reference : float
        The metric's value on the reference.
    block_misses : list of (float, float)
        Miss and variance of each block of the reference (`misses_of_blocks`).
    """

    name: str
    sign: float
    losses: Array
    modeled: Array
    model: LossModel | None
    reference: float
    answers: Predictions | None = field(default=None, repr=False)
    labels: NDArray[Any] | None = field(default=None, repr=False)
    line: ProbabilityLine | None = None
    block_misses: list[tuple[float, float]] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        metric: Metric,
        answers: Predictions,
        labels: NDArray[Any],
        features: Array,
        seed: int,
    ) -> "LabelFree":
        """Return the estimator of a metric, from the reference's rows."""
        sign = -1.0 if metric.higher_is_better else 1.0
        reference = metric.value(answers, answers.rows, labels)
        if metric.by_row is None:
            none = np.zeros(0)
            return cls(metric.name, sign, none, none, None, reference, answers, labels)
        losses = metric.rows(answers, answers.rows, labels)
        model = fit_loss_model(
            features, losses, np.ones(losses.size), features[:1], seed, curve=False
        )
        line = _line_of(answers, labels)
        modeled = _halfway(model.rows, line, metric, answers)
        return cls(
            metric.name,
            sign,
            losses,
            modeled,
            model,
            reference,
            line=line,
            block_misses=misses_of_blocks(losses - modeled),
        )

    def at(self, metric: Metric, features: Array, answers: Predictions) -> Array:
        """Return the modeled loss of the rows of a chunk; empty where none is."""
        if self.model is None:
            return np.zeros(0)
        return _halfway(self.model.at(features), self.line, metric, answers)

    def estimate(self, modeled: Array, shares: Array) -> Rise:
        """Return the mean loss of a chunk, by what is modeled there."""
        n, m = self.losses.size, modeled.size
        rest = self.losses - self.modeled
        value = float(modeled.mean() + shares @ rest)
        noise = float(modeled.var(ddof=1)) / m if m > 1 else np.inf
        error = np.sqrt(noise + float(shares**2 @ rest**2))
        apart = shares - 1.0 / n
        rise = float(modeled.mean() - self.modeled.mean() + apart @ rest)
        steady = noise + float(self.modeled.var(ddof=1)) / n
        rise_error = np.sqrt(steady + float(apart**2 @ rest**2))
        degrees = max(min(m, effective_sample_size(shares)) - 1.0, 1.0)
        chance = float(shares @ rest**2) / m
        return Rise(
            value, float(error), self.sign * rise, float(rise_error), degrees, chance
        )

    def weighted_estimate(self, metric: Metric, shares: Array, m: int) -> Rise:
        """Return the metric's value on the weighted reference, for m rows."""
        assert self.answers is not None
        assert self.labels is not None
        value, error = value_and_error(metric, self.answers, self.labels, shares)
        rise = self.sign * (value - self.reference)
        chance = error**2 * effective_sample_size(shares) / m
        return Rise(value, error, rise, error, float(_GROUPS_LEFT_OUT - 1), chance)


def _line_of(answers: Predictions, labels: NDArray[Any]) -> ProbabilityLine | None:
    """Return how a classifier's probabilities are made right on the reference."""
    if "predict_proba" not in answers.said or answers.classes is None:
        return None
    known = np.isin(labels, answers.classes)
    order = np.argsort(answers.classes)
    place = order[np.searchsorted(answers.classes, labels[known], sorter=order)]
    return fit_line(answers.said["predict_proba"][known], place, np.ones(place.size))


def _halfway(
    by_trees: Array, line: ProbabilityLine | None, metric: Metric, answers: Predictions
) -> Array:
    """Return the mean of what trees say and what probabilities let expect."""
    if line is None:
        return by_trees
    chances = line.of(answers.said["predict_proba"])
    return 0.5 * (by_trees + (chances * rows_by_class(metric, answers)).sum(axis=1))


def value_and_error(
    metric: Metric, answers: Predictions, labels: NDArray[Any], shares: Array
) -> tuple[float, float]:
    """Return a metric of weighted rows, and its error by groups left out in turn."""
    rows = answers.rows
    value = metric.value(answers, rows, labels, shares)
    group = rows % _GROUPS_LEFT_OUT
    without = []
    for k in range(_GROUPS_LEFT_OUT):
        kept = rows[group != k]
        if np.unique(labels[kept]).size < 2:
            return value, np.inf
        without.append(metric.value(answers, kept, labels[kept], shares[kept]))
    apart = np.array(without) - np.mean(without)
    factor = (_GROUPS_LEFT_OUT - 1) / _GROUPS_LEFT_OUT
    return value, float(np.sqrt(factor * (apart**2).sum()))
