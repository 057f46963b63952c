"""How much of the weights to use: none, unless the user's own loss gains by them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit
from sklearn.exceptions import UndefinedMetricWarning

from counterpoise.adaptation.routing import divided_rows
from counterpoise.diagnosis.percentages import in_figures
from counterpoise.evaluation.metrics import Metric
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.effective_size import effective_sample_size, powers
from counterpoise.validation import InvalidInput
from counterpoise.validation.warning import held_back

EXPONENTS = (0.0, 0.25, 0.5, 0.75, 1.0)
# Differences of this size, relative to the loss, are rounding.
LOSS_ROUNDING = 1e-12
LEAST_ROOT = 1e-300
# The choice is made on at most so many rows.
ROWS_JUDGED = 5_000
# With fewer effective rows than this, only a gain that chance has less often than this
# counts, to either side.
FEW_EFFECTIVE_ROWS, CHANCE_OF_FEW = 50, 0.05

Fit = Callable[[Any, Any, list[Array | None], int], list[Any]]


@dataclass(frozen=True)
class Guard:
    """What was tried, what it gained, and what was chosen.

    Attributes
    ----------
    exponents : tuple of float
        Powers of the weights that were tried; 0 leaves the rows unweighted.
    values : tuple of float
        The metric that each is estimated to have on the target, by
        importance-weighted cross-validation on source rows.
    errors : tuple of float
        Standard error of each value's paired difference to the best.
    metric : str
    higher_is_better : bool
    best, chosen : float
        The exponent with the best value, and the one that is used.
    gain, gain_error : float
        By how much the chosen one is better than unweighted rows, and the standard
        error of that; zero if it is the same.
    rows, effective_rows : int, float
        Rows that the choice was made on, and how many equally weighted ones they are
        worth.
    reason : str
        The choice in words.
    kind : str
        "exponent", or "mixing" where shares of the weights were tried instead, from
        none (0) to all (1), on the exact path of a support vector machine: `exponents`
        are then some of them.
    curve : dict or None
        The values at all shares, in pieces, with the intervals on which they are best.
    """

    exponents: tuple[float, ...]
    values: tuple[float, ...]
    errors: tuple[float, ...]
    metric: str
    higher_is_better: bool
    best: float
    chosen: float
    gain: float
    gain_error: float
    rows: int
    effective_rows: float
    reason: str
    kind: str = "exponent"
    curve: dict[str, Any] | None = None

    def __str__(self) -> str:
        return self.reason

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        return asdict(self)


def choose_exponent(
    fit: Fit,
    metric: Metric,
    X: Any,
    y: Any,
    weights: Array,
    counts: Array,
    folds: Sequence[tuple[Indices, Indices]],
    groups: Indices | None = None,
) -> Guard:
    r"""Return the smallest power of the weights that is as good as the best.

    For each exponent :math:`e` the estimator is fitted to rows weighted by
    :math:`w^e`, and the losses of held-out rows are averaged with the full weights,

    .. math:: \hat R(e) = \sum_i w_i L_i(e) / \sum_i w_i .

    With :math:`b` the best exponent and :math:`d_i = L_i(e) - L_i(b)`, the smallest
    exponent is chosen for which the mean difference is within one standard error,

    .. math::

        \mathrm{se}^2 = \sum_i w_i^2 (d_i - \bar d)^2 / \Bigl(\sum_i w_i\Bigr)^2 ,

    rows of a group being summed before they are squared, since they err together.
    With k < 50 effective rows the rows stay unweighted unless the best gains more on
    them than chance does in 5 of 100, Student's 0.975 quantile of k - 1 degrees of
    freedom in standard errors: 2.01 of 50 rows, 12.7 of two, whose standard error is
    itself a guess. A metric that is no mean over rows is averaged over folds, and its
    standard error is that of the folds.

    One standard error is a rule for what to use and no proof of a gain: what may be
    said of it is `sureness_of_gain`'s.

    Parameters
    ----------
    fit : callable
        ``fit(X, y, sample_weights, fold)`` returns an estimator fitted by each of the
        weights, which are None where all are equal.
    metric : Metric
        What is estimated for the target.
    X, y : the source rows and their labels
    weights : array of shape (n,)
        Density ratio target/source at the rows.
    counts : array of shape (n,)
        What the user lets the rows count; they multiply the weights everywhere.
    folds : sequence of pairs
        Rows to fit to, rows held out.
    groups : array of shape (n,), optional
        Numbers of groups of rows that may be alike within.
    """
    # Powers of equal weights are all the same.
    exponents = EXPONENTS if np.ptp(weights) > 0 else EXPONENTS[:1]
    tried = _Tried(fit, X, y, weights, counts, folds, exponents)
    sign = -1.0 if metric.higher_is_better else 1.0
    judge = tried.by_rows if metric.by_row is not None else tried.by_folds
    losses, shares, left_out = judge(metric)
    losses = sign * losses
    means = losses @ shares
    best = int(np.argmin(means))
    held_out = np.unique(np.concatenate([test for _, test in folds]))
    # A metric by folds has no rows to group.
    by = groups[held_out] if groups is not None and metric.by_row is not None else None
    errors = _errors_to(losses, best, shares, by)
    effective = effective_sample_size((counts * weights)[held_out])
    # A root of a mean is judged by the mean, and told in its own units.
    root = max(metric.of_mean(float(means[best])), LEAST_ROOT)
    unit = 0.5 / root if metric.root else 1.0
    chosen, reason = smallest_as_good(
        means, errors, best, effective, unit, exponents, "exponent"
    )
    if left_out:
        reason += f" ({left_out} of {len(folds)} folds left out: no {metric.name})"
    return Guard(
        exponents=exponents,
        values=tuple(metric.of_mean(float(sign * mean)) for mean in means),
        errors=tuple(float(unit * error) for error in errors),
        metric=metric.name,
        higher_is_better=metric.higher_is_better,
        best=exponents[best],
        chosen=exponents[chosen],
        gain=unit * float(means[0] - means[chosen]),
        gain_error=unit * paired_error(losses[0] - losses[chosen], shares, by),
        rows=int(held_out.size),
        effective_rows=effective,
        reason=reason,
    )


def smallest_as_good(
    means: Array,
    errors: Array,
    best: int,
    effective: float,
    unit: float,
    tried: Sequence[float],
    noun: str,
) -> tuple[int, str]:
    """Return which amount of weights to use, the first being none, and why.

    Parameters
    ----------
    means, errors : arrays of shape (k,)
        Mean loss of each amount, and standard error of its difference to the best.
    best : int
    effective : float
        How many equally weighted rows the means are worth.
    unit : float
        Of the metric, in that of the loss.
    tried : sequence of float
        The amounts, in ascending order.
    noun : str
        What an amount is called.
    """
    gain, error = float(means[0] - means[best]), float(errors[0])
    told = (
        f"by importance-weighted cross-validation, {noun} {tried[best]:.3g} is "
        f"the best, {in_figures(unit * gain, 4)} better than no weights (standard "
        f"error {in_figures(unit * error, 2)})"
    )
    if means.size == 1:
        return 0, "all weights are equal: there is nothing to choose"
    if best == 0:
        return 0, "no amount of weights is better than none: rows stay unweighted"
    few = effective < FEW_EFFECTIVE_ROWS
    if few and not gain > (asked := _errors_of_few(effective)) * error:
        return 0, (
            f"only {effective:.0f} effective rows: too few to tell, and {told}, less "
            f"than {asked:.3g} standard errors: rows stay unweighted"
        )
    within = means - means[best] <= errors
    smallest = int(np.argmax(within))
    if smallest == 0:
        return 0, f"{told}, within one standard error: rows stay unweighted"
    if smallest == best:
        return best, f"{told}: it is used"
    return smallest, (
        f"{told}; {noun} {tried[smallest]:.3g} is within one standard error of it and "
        "is used"
    )


def _errors_of_few(effective: float) -> float:
    """Return how many standard errors a gain has that chance seldom has."""
    freedom = effective - 1.0
    return float(stdtrit(freedom, 1 - CHANCE_OF_FEW / 2)) if freedom > 0 else np.inf


@dataclass(frozen=True, eq=False)
class _Tried:
    """Models of every exponent on every fold."""

    fit: Fit
    X: Any
    y: Any
    weights: Array
    counts: Array
    folds: Sequence[tuple[Indices, Indices]]
    exponents: tuple[float, ...]

    def by_rows(self, metric: Metric) -> tuple[Array, Array, int]:
        """Return the value at every held-out row, and the row's share of the mean.

        A row that is held out more than once has the mean of its values.
        """
        n = self.weights.size
        total, times = np.zeros((len(self.exponents), n)), np.zeros(n)
        for out, models, held in self._folds():
            for j, model in enumerate(models):
                np.add.at(total[j], out, metric.rows(model, *held))
            np.add.at(times, out, 1.0)
        seen = times > 0
        share = (self.counts * self.weights)[seen]
        return total[:, seen] / times[seen], share / share.sum(), 0

    def by_folds(self, metric: Metric) -> tuple[Array, Array, int]:
        """Return the value of every fold that has one, each of the same share."""
        count = self.counts * self.weights
        values = []
        for out, models, held in self._folds():
            # What is not defined is counted and told.
            with held_back(UndefinedMetricWarning):
                values.append(
                    [metric.value(m, *held, sample_weight=count[out]) for m in models]
                )
        found = np.array(values).T
        # An area under the curve needs two classes, for one.
        defined = np.isfinite(found).all(axis=0)
        if not defined.any():
            raise InvalidInput(
                f"{metric.name} is not defined on any of the folds of cv"
            )
        found = found[:, defined]
        share = np.full(found.shape[1], 1 / found.shape[1])
        return found, share, int(np.count_nonzero(~defined))

    def _folds(self) -> Iterator[tuple[Indices, list[Any], tuple[Any, Any]]]:
        """Yield the rows of each fold, the models without it, and its held-out part."""
        for k, (kept, out) in enumerate(self.folds):
            (X, y), held = divided_rows(self.X, self.y, kept, out)
            counts = self.counts[kept]
            # Equal weights are none: the estimator is called as its user would.
            alike = np.ptp(counts) == 0.0
            raised = powers(self.weights[kept], self.exponents)
            weights = [
                None if alike and exponent == 0.0 else power * counts
                for exponent, power in zip(self.exponents, raised, strict=True)
            ]
            yield out, self.fit(X, y, weights, k), held


def _errors_to(
    losses: Array, best: int, shares: Array, groups: Indices | None
) -> Array:
    """Return the standard errors of all differences to the best, and its rounding."""
    errors = np.array(
        [paired_error(row - losses[best], shares, groups) for row in losses]
    )
    return errors + LOSS_ROUNDING * float(np.abs(losses[best]) @ shares)


def paired_error(difference: Array, shares: Array, groups: Indices | None) -> float:
    """Return the standard error of a weighted mean, rows of a group taken together."""
    parts = shares * (difference - shares @ difference)
    if groups is not None:
        parts = np.asarray(np.bincount(groups, weights=parts), dtype=float)
    return float(np.sqrt(parts @ parts))
