"""Weight selection (the guard): the exponent that lowers the target error."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

import numpy as np
from scipy.special import stdtrit
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.pipeline import Pipeline

from counterpoise.adaptation.inputs import (
    check_folds_have_classes,
    warn_if_in_time_order,
)
from counterpoise.adaptation.routing import divided_rows, fit_rows, keep, rows_of
from counterpoise.data.arrays import n_rows
from counterpoise.data.progress import advance
from counterpoise.data.two_samples import effective_sample_size, powers
from counterpoise.errors import InvalidInputError, held_back
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.messages.numbers import in_figures
from counterpoise.performance.intervals import alike_rows, folds_of, folds_within
from counterpoise.performance.metrics import (
    ERROR_RATE,
    Metric,
    as_metric,
    is_classifier,
)
from counterpoise.svm.classification import WeightedSVC
from counterpoise.svm.path import SVMPath, ValidationCurve
from counterpoise.svm.regression import WeightedSVR

# -----------------------------------------------------------------------------
# How much of the weights to use: none, unless the user's own loss gains by them.
# -----------------------------------------------------------------------------


# Weights that differ from one by no more than this are ones.
EQUAL_WEIGHTS = 1e-9
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
            raise InvalidInputError(
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


def paired_error(difference: Array, shares: Array, groups: Indices | None) -> float:
    """Return the standard error of a weighted mean, rows of a group taken together."""
    parts = shares * (difference - shares @ difference)
    if groups is not None:
        parts = np.asarray(np.bincount(groups, weights=parts), dtype=float)
    return float(np.sqrt(parts @ parts))


def _errors_to(
    losses: Array,
    best: int,
    shares: Array,
    groups: Indices | None,
    standard_error: Callable[[Array, Array, Indices | None], float] = paired_error,
) -> Array:
    """Return the standard errors of all differences to the best, and its rounding.

    Each is 1e-12 of the best mean absolute loss larger than its standard error, so that
    a difference of that size is never a reason for weights.
    """
    errors = np.array(
        [standard_error(row - losses[best], shares, groups) for row in losses]
    )
    return errors + LOSS_ROUNDING * float(np.abs(losses[best]) @ shares)


# -----------------------------------------------------------------------------
# How much of the weights a support vector machine gets, by its exact path.
# -----------------------------------------------------------------------------


# Intervals of shares this short are rounding.
SHORTEST_INTERVAL = 1e-12
# Losses that are kept at once, a row and a share each.
MOST_LOSSES = 20_000_000
# Pieces of the curve that a record holds, and shares that are told with their errors.
MOST_PIECES = 400
SHARES_TOLD = (0.0, 0.25, 0.5, 0.75, 1.0)


def follows_path(estimator: Any, metric: Metric) -> bool:
    """Return whether all shares of the weights can be tried at once, exactly.

    They can for `WeightedSVC` by its errors, unless it breaks ties, and for
    `WeightedSVR` by any mean over rows, at the end of a pipeline too.
    """
    last = _last(estimator)
    if getattr(last, "kernel", None) == "precomputed":
        return False
    if isinstance(last, WeightedSVC):
        # Ties are broken by values, and these change between breakpoints too.
        return metric.name in (ERROR_RATE, "accuracy") and not last.break_ties
    return isinstance(last, WeightedSVR) and metric.by_row is not None


def mixed(ratio: Array, mixing: float, counts: Array | None = None) -> Array:
    """Return weights of mean one between equal ones (0) and the ratio (1).

    The mean is over rows as often as they count.
    """
    full: Array = ratio / np.average(ratio, weights=counts)
    return full if mixing == 1.0 else 1.0 + mixing * (full - 1.0)


def choose_mixing(
    estimator: Any,
    metric: Metric,
    X: Any,
    y: Any,
    weights: Array,
    counts: Array,
    folds: Sequence[tuple[Indices, Indices]],
    groups: Indices | None = None,
) -> Guard:
    r"""Return the smallest share of the weights that is as good as the best.

    On every fold the exact path of the machine from equal weights to the full ones,
    :math:`1 + \theta (w - 1)`, is followed, and the losses of held-out rows are
    averaged with the full weights, as by `choose_exponent`, at the breakpoints of all
    folds together. Between two of them in a row the predicted classes do not change, so
    that no share of the weights is left out; responses are judged at the breakpoints
    and at quarters. Where losses would not fit into memory, some shares are left out.
    The smallest share is chosen whose loss is within one paired standard error of the
    least, :math:`\mathrm{se}^2 = \sum_i w_i^2 d_i^2 / (\sum_i w_i)^2` with the
    differences :math:`d_i` of the rows' losses: that of a difference of zero, so that
    one row that changes sides is never more than one.

    Parameters
    ----------
    estimator : WeightedSVC or WeightedSVR, or a pipeline that ends in one
    metric : Metric
        Of which `follows_path` is true.
    X, y, weights, counts, folds, groups
        As for `choose_exponent`.

    Notes
    -----
    A `gamma` of "scale" stays that of equal weights along the path.
    """
    followed = [
        _followed(estimator, X, y, weights, counts, kept, out) for kept, out in folds
    ]
    classes = isinstance(_last(estimator), WeightedSVC)
    shares = _shares_to_try(followed, classes, len(weights))
    where = shares
    if classes:
        where = 0.5 * (shares + np.append(shares[1:], 1.0))
    losses, seen = _losses(followed, where, metric, y, len(weights))
    sign = -1.0 if metric.higher_is_better else 1.0
    losses *= sign
    share_of_row = (counts * weights)[seen]
    share_of_row = share_of_row / share_of_row.sum()
    means = losses @ share_of_row
    best = int(np.argmin(means))
    by = None if groups is None else groups[seen]
    errors = _errors_to(losses, best, share_of_row, by, _error_about_zero)
    effective = effective_sample_size((counts * weights)[seen])
    root = max(metric.of_mean(float(means[best])), LEAST_ROOT)
    unit = 0.5 / root if metric.root else 1.0
    chosen, reason = smallest_as_good(
        means, errors, best, effective, unit, shares.tolist(), "mixing"
    )
    told = np.unique(np.append(SHARES_TOLD, shares[[best, chosen]]))
    places = np.searchsorted(shares, told, side="right") - 1
    values = [metric.of_mean(float(sign * mean)) for mean in means]
    return Guard(
        exponents=tuple(told.tolist()),
        values=tuple(values[k] for k in places),
        errors=tuple(float(unit * errors[k]) for k in places),
        metric=metric.name,
        higher_is_better=metric.higher_is_better,
        best=float(shares[best]),
        chosen=float(shares[chosen]),
        gain=unit * float(means[0] - means[chosen]),
        gain_error=unit * paired_error(losses[0] - losses[chosen], share_of_row, by),
        rows=int(seen.size),
        effective_rows=effective,
        reason=reason,
        kind="mixing",
        curve=_curve(metric, sign, shares, means, classes),
    )


def _error_about_zero(
    difference: Array, shares: Array, groups: Indices | None
) -> float:
    """Return the standard error of a paired difference if there were none.

    About the mean found, one row that changes sides would be a little more than one
    standard error, and the path has a share at which each row does.
    """
    parts = shares * difference
    if groups is not None:
        parts = np.asarray(np.bincount(groups, weights=parts), dtype=float)
    return float(np.sqrt(parts @ parts))


@dataclass(frozen=True, eq=False)
class _Followed:
    """The path of one fold, and its held-out rows as the machine sees them."""

    path: SVMPath
    out: Indices
    held: Any


def _last(estimator: Any) -> Any:
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def _followed(
    estimator: Any,
    X: Any,
    y: Any,
    weights: Array,
    counts: Array,
    kept: Indices,
    out: Indices,
) -> _Followed:
    """Follow the machine on the rows that are kept."""
    rows, labels, held = rows_of(X, kept), rows_of(y, kept), rows_of(X, out)
    if isinstance(estimator, Pipeline) and len(estimator.steps) > 1:
        steps = clone(estimator[:-1])
        rows, held = steps.fit_transform(rows, labels), steps.transform(held)
    machine = clone(_last(estimator)).fit(rows, labels, counts[kept])
    full = counts[kept] * mixed(weights[kept], 1.0, counts[kept])
    return _Followed(machine.path(sample_weight=full), out, held)


def _shares_to_try(followed: list[_Followed], classes: bool, n: int) -> Array:
    """Return where anything changes on any fold, zero first."""
    parts = [
        one.path.switches(one.held) if classes else one.path.thetas for one in followed
    ]
    # Responses change between breakpoints too: what is told must be of its share.
    told = [0.0] if classes else SHARES_TOLD
    found = np.unique(np.concatenate([told, *parts]))
    if classes:
        # Shorter stretches are rounding: several rows that change sides at one share.
        found = found[np.diff(np.append(found, 1.0)) > SHORTEST_INTERVAL]
        found[0] = 0.0
    most = max(len(SHARES_TOLD), MOST_LOSSES // n)
    if found.size > most:
        found = found[np.unique(np.linspace(0, found.size - 1, most).astype(np.intp))]
    return found


def _losses(
    followed: list[_Followed], where: Array, metric: Metric, y: Any, n: int
) -> tuple[Array, Indices]:
    """Return the loss of every held-out row at every share, and which rows they are.

    A row that is held out more than once has the mean of its losses.
    """
    total, times = np.zeros((where.size, n)), np.zeros(n)
    for one in followed:
        predicted = one.path.predict(one.held, where)
        truth = np.asarray(rows_of(y, one.out))
        rows = metric.rows(_Told(predicted.ravel()), None, np.tile(truth, where.size))
        np.add.at(total.T, one.out, rows.reshape(predicted.shape).T)
        np.add.at(times, one.out, 1.0)
    seen = np.flatnonzero(times)
    return total[:, seen] / times[seen], seen


@dataclass(frozen=True, eq=False)
class _Told:
    """A model that says what it was told to say."""

    answers: Any

    def predict(self, X: Any) -> Any:
        return self.answers


def _curve(
    metric: Metric, sign: float, shares: Array, means: Array, classes: bool
) -> dict[str, Any]:
    """Return the metric over the shares as pieces, few enough for a record."""
    starts, slopes = shares, np.zeros(shares.size)
    if not classes:
        # The last share is the end of the last piece.
        starts, slopes = shares[:-1], np.diff(means) / np.diff(shares)
    full = ValidationCurve(metric.name, starts, means[: starts.size], slopes, 1.0)
    uncovered_fraction = full.thinned(MOST_PIECES)
    values = np.array(
        [metric.of_mean(float(sign * mean)) for mean in uncovered_fraction.values]
    )
    slopes = np.zeros(values.size)
    if not classes:
        end = metric.of_mean(float(sign * means[-1]))
        lengths = np.diff(np.append(uncovered_fraction.thetas, 1.0))
        slopes = np.diff(np.append(values, end)) / lengths
    return {
        "parameter": "mixing",
        "loss": metric.name,
        "thetas": uncovered_fraction.thetas.tolist(),
        "values": values.tolist(),
        "slopes": slopes.tolist(),
        "stop": 1.0,
        "best": metric.of_mean(float(sign * full.minimum)),
        "optimal_intervals": [list(one) for one in full.optimal_intervals],
    }


# -----------------------------------------------------------------------------
# How much of the weights an estimator can use, by its own loss on held-out rows.
# -----------------------------------------------------------------------------


def choose_how_much(
    asked: Any,
    estimator: Any,
    numbers: Any,
    X: Any,
    y: Any,
    ratio: Array,
    counts: Array | None,
    groups: Any,
    kept: Indices,
    seed: int,
) -> Guard:
    """Let the estimator's own loss say how much of the weights it can use.

    Parameters
    ----------
    asked : Adapted
        Whose `cv`, `scoring`, `resample` and `max_samples` hold.
    estimator : estimator
    numbers : matrix of shape (n, d)
        The source rows as numbers, to tell whether they are in the order of time.
    X, y : the source rows and their labels
    ratio : array of shape (n,)
        Density ratios.
    counts : array of shape (n,) or None
        The user's weights.
    groups : array of shape (n,) or None
    kept : array of int
        Rows that the estimator may see.
    seed : int
    """
    some = kept
    if kept.size > ROWS_JUDGED:
        drawn = np.random.default_rng(seed).choice(kept, ROWS_JUDGED, replace=False)
        some = np.sort(drawn)
    classes = is_classifier(estimator, y)
    # The user's folds are of all rows; the choice is made on those that are left.
    folds = folds_of(asked.cv, X, y, groups, is_classifier=classes, seed=seed)
    folds = folds_within(folds, some)
    if classes and np.ndim(y) == 1:
        check_folds_have_classes(y, [(some[kept], out) for kept, out in folds])
    if asked.cv is None and groups is None:
        warn_if_in_time_order(numbers[slice(min(n_rows(X), ROWS_JUDGED))])
    X, y = rows_of(X, some), rows_of(y, some)
    max_samples = asked.max_samples

    def fit(X: Any, y: Any, weights: list[Array | None], fold: int) -> list[Any]:
        share = None
        if max_samples is not None:
            n = n_rows(X)
            weights = [np.ones(n) if one is None else one for one in weights]
            share = ceil(max_samples * n / some.size)
        fitted = fit_rows(
            estimator,
            X,
            y,
            weights,
            seed + fold,
            resample=asked.resample,
            max_samples=share,
        )
        keep(asked, some[folds[fold][0]], weights, fitted)
        advance(fold + 1, len(folds))
        return fitted

    metric = as_metric(asked.scoring, estimator, y)
    judged = (
        ratio[some],
        np.ones(some.size) if counts is None else counts[some],
        folds,
        alike_rows(asked.cv, groups, some),
    )
    draws = asked.resample or max_samples is not None
    if not draws and follows_path(estimator, metric) and np.ptp(ratio[some]) > 0.0:
        return choose_mixing(estimator, metric, X, y, *judged)
    return choose_exponent(fit, metric, X, y, *judged)
