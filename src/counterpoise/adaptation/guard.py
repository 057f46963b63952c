"""Weight selection (the guard): the exponent that lowers the target error."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.pipeline import Pipeline

from counterpoise.adaptation.routing import fit_weighted, rows_of
from counterpoise.data.arrays import Estimator, n_rows
from counterpoise.data.progress import advance
from counterpoise.data.two_samples import effective_sample_size, powers
from counterpoise.errors import InvalidInputError, suppress_warnings
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.messages.numbers import in_figures
from counterpoise.performance.intervals import (
    dependent_row_groups,
    folds_of,
    folds_within,
    random_rows,
)
from counterpoise.performance.metrics import (
    ERROR_RATE,
    Metric,
    RegressorPredictions,
    as_metric,
    is_classifier,
)
from counterpoise.svm.classification import WeightedSVC
from counterpoise.svm.path import SVMPath, ValidationCurve
from counterpoise.svm.regression import WeightedSVR

# -----------------------------------------------------------------------------
# The choice of an exponent, by importance-weighted cross-validation.
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

Fold = tuple[Indices, Indices]
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
    X: object,
    y: ArrayLike,
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
    models = _fold_models(fit, X, y, weights, counts, folds, exponents)
    held_out = np.unique(np.concatenate([test for _, test in folds]))
    masses, note = counts * weights, ""
    if metric.by_row is not None:
        losses, _ = _mean_by_row(
            (
                (out, np.array([metric.rows(model, *held) for model in fitted]))
                for out, fitted, held in models
            ),
            len(exponents),
            weights.size,
        )
        shares = masses[held_out] / masses[held_out].sum()
        groups = None if groups is None else groups[held_out]
    else:
        losses, left_out = _values_by_fold(metric, models, masses)
        shares = np.full(losses.shape[1], 1 / losses.shape[1])
        groups = None
        if left_out:
            note = f" ({left_out} of {len(folds)} folds left out: no {metric.name})"
    sign = -1.0 if metric.higher_is_better else 1.0
    return _guard(
        metric, exponents, sign * losses, shares, groups, masses[held_out], note=note
    )


def _guard(
    metric: Metric,
    amounts: Sequence[float] | Array,
    losses: Array,
    shares: Array,
    groups: Indices | None,
    masses: Array,
    *,
    kind: str = "exponent",
    note: str = "",
) -> Guard:
    """Return the choice among amounts of weights by the losses of each, a line each.

    `masses` are the weights of the held-out rows; `shares` those of the columns.
    """
    means = losses @ shares
    best = int(np.argmin(means))
    errors = _errors_to(losses, best, shares, groups, center=kind == "exponent")
    effective = effective_sample_size(masses)
    # The root of a mean is chosen by the mean, and reported in its own units.
    root = max(metric.of_mean(float(means[best])), LEAST_ROOT)
    unit = 0.5 / root if metric.root else 1.0
    chosen, reason = smallest_sufficient(
        means, errors, best, effective, unit, amounts, kind
    )
    sign = -1.0 if metric.higher_is_better else 1.0
    listed, places = np.asarray(amounts), np.arange(len(amounts))
    if kind == "mixing":
        listed = np.unique(np.append(SHARES_TOLD, listed[[best, chosen]]))
        places = np.searchsorted(amounts, listed, side="right") - 1
    return Guard(
        exponents=tuple(listed.tolist()),
        values=tuple(metric.of_mean(float(sign * means[k])) for k in places),
        errors=tuple(float(unit * errors[k]) for k in places),
        metric=metric.name,
        higher_is_better=metric.higher_is_better,
        best=float(amounts[best]),
        chosen=float(amounts[chosen]),
        gain=unit * float(means[0] - means[chosen]),
        gain_error=unit
        * paired_standard_error(losses[0] - losses[chosen], shares, groups),
        rows=int(masses.size),
        effective_rows=effective,
        reason=reason + note,
        kind=kind,
    )


def smallest_sufficient(
    means: Array,
    errors: Array,
    best: int,
    effective: float,
    unit: float,
    tried: Sequence[float] | Array,
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
    finding = (
        f"by importance-weighted cross-validation, {noun} {tried[best]:.3g} is "
        f"the best, {in_figures(unit * gain, 4)} better than no weights (standard "
        f"error {in_figures(unit * error, 2)})"
    )
    if means.size == 1:
        return 0, "all weights are equal: there is nothing to choose"
    if best == 0:
        return 0, "no amount of weights is better than none: rows stay unweighted"
    few = effective < FEW_EFFECTIVE_ROWS
    if few and not gain > (least := _errors_of_few(effective)) * error:
        return 0, (
            f"only {effective:.0f} effective rows: too few to tell, and {finding}, "
            f"less than {least:.3g} standard errors: rows stay unweighted"
        )
    within = means - means[best] <= errors
    smallest = int(np.argmax(within))
    if smallest == 0:
        return 0, f"{finding}, within one standard error: rows stay unweighted"
    if smallest == best:
        return best, f"{finding}: it is used"
    return smallest, (
        f"{finding}; {noun} {tried[smallest]:.3g} is within one standard error of it "
        "and is used"
    )


def _errors_of_few(effective: float) -> float:
    """Return how many standard errors a gain has that chance seldom has."""
    freedom = effective - 1.0
    return float(stdtrit(freedom, 1 - CHANCE_OF_FEW / 2)) if freedom > 0 else np.inf


def _fold_models(
    fit: Fit,
    X: object,
    y: ArrayLike,
    weights: Array,
    counts: Array,
    folds: Sequence[Fold],
    exponents: Sequence[float],
) -> Iterator[tuple[Indices, list[Any], tuple[Any, Any]]]:
    """Yield the held-out places of each fold, the models without it, and its rows."""
    for k, (kept, out) in enumerate(folds):
        # Equal weights are none: the estimator is called as its user would.
        are_equal = np.ptp(counts[kept]) == 0.0
        sample_weights = [
            None if are_equal and exponent == 0.0 else power * counts[kept]
            for exponent, power in zip(
                exponents, powers(weights[kept], exponents), strict=True
            )
        ]
        models = fit(rows_of(X, kept), rows_of(y, kept), sample_weights, k)
        yield out, models, (rows_of(X, out), rows_of(y, out))


def _mean_by_row(
    parts: Iterable[tuple[Indices, Array]], n_amounts: int, n: int
) -> tuple[Array, Indices]:
    """Return the mean loss of every held-out row, a line per amount, and the rows."""
    total, times = np.zeros((n_amounts, n)), np.zeros(n)
    for out, losses in parts:
        np.add.at(total.T, out, losses.T)
        np.add.at(times, out, 1.0)
    held_out = np.flatnonzero(times)
    return total[:, held_out] / times[held_out], held_out


def _values_by_fold(
    metric: Metric,
    models: Iterable[tuple[Indices, list[Any], tuple[Any, Any]]],
    masses: Array,
) -> tuple[Array, int]:
    """Return the metric on every fold, and on how many folds it is not defined."""
    values = []
    for out, fitted, held in models:
        # Folds without a value are counted and reported.
        with suppress_warnings(UndefinedMetricWarning):
            values.append(
                [metric.value(one, *held, sample_weight=masses[out]) for one in fitted]
            )
    by_fold = np.array(values).T
    # An area under the curve needs two classes, for one.
    defined = np.isfinite(by_fold).all(axis=0)
    if not defined.any():
        raise InvalidInputError(
            f"{metric.name} is not defined on any of the folds of cv"
        )
    return by_fold[:, defined], int(np.count_nonzero(~defined))


def paired_standard_error(
    difference: Array, shares: Array, groups: Indices | None, *, center: bool = True
) -> float:
    """Return the standard error of a weighted mean, rows of a group taken together.

    Without `center` it is that of a mean of zero. On an exact path every row changes
    sides at some share; about its own mean, one such row would always be a little more
    than one standard error.
    """
    parts = shares * (difference - (shares @ difference if center else 0.0))
    if groups is not None:
        parts = np.asarray(np.bincount(groups, weights=parts), dtype=float)
    return float(np.sqrt(parts @ parts))


def _errors_to(
    losses: Array,
    best: int,
    shares: Array,
    groups: Indices | None,
    *,
    center: bool = True,
) -> Array:
    """Return the standard errors of all differences to the best, and its rounding.

    Each is 1e-12 of the best mean absolute loss larger than its standard error, so that
    a difference of that size is never a reason for weights.
    """
    errors = np.array(
        [
            paired_standard_error(row - losses[best], shares, groups, center=center)
            for row in losses
        ]
    )
    return errors + LOSS_ROUNDING * float(np.abs(losses[best]) @ shares)


# -----------------------------------------------------------------------------
# The choice of a share of the weights on the exact path of a support vector machine.
# -----------------------------------------------------------------------------


# Intervals of shares this short are rounding.
SHORTEST_INTERVAL = 1e-12
# Losses that are kept at once, a row and a share each.
MOST_LOSSES = 20_000_000
# Pieces of the curve that a record holds, and shares that are listed with their errors.
MOST_PIECES = 400
SHARES_TOLD = (0.0, 0.25, 0.5, 0.75, 1.0)


def follows_path(estimator: Estimator, metric: Metric) -> bool:
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
    estimator: Estimator,
    metric: Metric,
    X: object,
    y: ArrayLike,
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
    paths = [
        _followed(estimator, X, y, weights, counts, kept, out) for kept, out in folds
    ]
    classes = isinstance(_last(estimator), WeightedSVC)
    shares = _shares_to_try(paths, classes, len(weights))
    where = 0.5 * (shares + np.append(shares[1:], 1.0)) if classes else shares
    labels = np.asarray(y)

    def losses_of(path: SVMPath, out: Indices, held: Any) -> Array:
        predicted = path.predict(held, where)
        answers = RegressorPredictions({"predict": predicted.ravel()})
        rows = metric.rows(answers, slice(None), np.tile(labels[out], where.size))
        return rows.reshape(predicted.shape)

    losses, held_out = _mean_by_row(
        ((out, losses_of(path, out, held)) for path, out, held in paths),
        where.size,
        len(weights),
    )
    sign = -1.0 if metric.higher_is_better else 1.0
    losses *= sign
    masses = (counts * weights)[held_out]
    groups = None if groups is None else groups[held_out]
    row_shares = masses / masses.sum()
    choice = _guard(metric, shares, losses, row_shares, groups, masses, kind="mixing")
    curve = _curve(metric, sign, shares, losses @ row_shares, classes)
    return replace(choice, curve=curve)


def _last(estimator: Any) -> Any:
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def _followed(
    estimator: Estimator,
    X: object,
    y: ArrayLike,
    weights: Array,
    counts: Array,
    kept: Indices,
    out: Indices,
) -> tuple[SVMPath, Indices, Any]:
    """Return the path on the rows that are kept, and its held-out rows, transformed."""
    rows, labels, held = rows_of(X, kept), rows_of(y, kept), rows_of(X, out)
    if isinstance(estimator, Pipeline) and len(estimator.steps) > 1:
        steps = clone(estimator[:-1])
        rows, held = steps.fit_transform(rows, labels), steps.transform(held)
    machine = clone(_last(estimator)).fit(rows, labels, counts[kept])
    full = counts[kept] * mixed(weights[kept], 1.0, counts[kept])
    return machine.path(sample_weight=full), out, held


def _shares_to_try(
    paths: Sequence[tuple[SVMPath, Indices, Any]], classes: bool, n: int
) -> Array:
    """Return where a prediction changes on any fold, zero first."""
    parts = [path.switches(held) if classes else path.thetas for path, _, held in paths]
    # Responses change between breakpoints too: values are listed at their own shares.
    listed = [0.0] if classes else SHARES_TOLD
    found = np.unique(np.concatenate([listed, *parts]))
    if classes:
        # Shorter stretches are rounding: several rows that change sides at one share.
        found = found[np.diff(np.append(found, 1.0)) > SHORTEST_INTERVAL]
        found[0] = 0.0
    most = max(len(SHARES_TOLD), MOST_LOSSES // n)
    if found.size > most:
        found = found[np.unique(np.linspace(0, found.size - 1, most).astype(np.intp))]
    return found


def _curve(
    metric: Metric, sign: float, shares: Array, means: Array, classes: bool
) -> dict[str, Any]:
    """Return the metric over the shares as pieces, few enough for a record."""
    starts, slopes = shares, np.zeros(shares.size)
    if not classes:
        # The last share is the end of the last piece.
        starts, slopes = shares[:-1], np.diff(means) / np.diff(shares)
    full = ValidationCurve(metric.name, starts, means[: starts.size], slopes, 1.0)
    pieces = full.thinned(MOST_PIECES)
    values = np.array([metric.of_mean(float(sign * mean)) for mean in pieces.values])
    slopes = np.zeros(values.size)
    if not classes:
        end = metric.of_mean(float(sign * means[-1]))
        lengths = np.diff(np.append(pieces.thetas, 1.0))
        slopes = np.diff(np.append(values, end)) / lengths
    return {
        "parameter": "mixing",
        "loss": metric.name,
        "thetas": pieces.thetas.tolist(),
        "values": values.tolist(),
        "slopes": slopes.tolist(),
        "stop": 1.0,
        "best": metric.of_mean(float(sign * full.minimum)),
        "optimal_intervals": [list(one) for one in full.optimal_intervals],
    }


# -----------------------------------------------------------------------------
# Weight selection for an estimator of the user's.
# -----------------------------------------------------------------------------


def select_exponent(
    estimator: Estimator,
    X: object,
    y: ArrayLike,
    ratio: Array,
    counts: Array | None,
    groups: ArrayLike | None,
    rows: Indices,
    seed: int,
    *,
    cv: object = None,
    scoring: object = None,
    resample: bool = False,
    max_samples: int | None = None,
    fold_models: dict[bytes, Any] | None = None,
) -> Guard:
    """Choose how much of the weights to use, by the estimator's own held-out loss.

    Parameters
    ----------
    estimator : scikit-learn estimator
    X, y : the source rows and their labels
    ratio : array of shape (n,)
        Density ratios.
    counts : array of shape (n,) or None
        The user's weights.
    groups : array of shape (n,) or None
    rows : array of int
        Rows that the estimator may use.
    seed : int
    cv, scoring, resample, max_samples
        Parameters of `Adapted`.
    fold_models : dict or None
        Receives the models that were fitted to unweighted rows, by these rows.
    """
    rng = np.random.default_rng(seed)
    some = rows[random_rows(rows.size, ROWS_JUDGED, rng)]
    classes = is_classifier(estimator, y)
    # The user's folds are of all rows; the choice is made on those that are left.
    folds = folds_of(cv, X, y, groups, is_classifier=classes, seed=seed)
    folds = folds_within(folds, some)
    X, y = rows_of(X, some), rows_of(y, some)
    if classes and np.ndim(y) == 1:
        _check_folds_have_classes(np.asarray(y), folds)

    def fit(
        X: object, y: ArrayLike, weights: list[Array | None], fold: int
    ) -> list[Any]:
        share = None
        if max_samples is not None:
            n = n_rows(X)
            weights = [np.ones(n) if one is None else one for one in weights]
            share = ceil(max_samples * n / some.size)
        models = [
            fit_weighted(
                estimator,
                X,
                y,
                one,
                resample=resample,
                max_samples=share,
                seed=seed + fold,
            )
            for one in weights
        ]
        if fold_models is not None:
            unweighted = (m for w, m in zip(weights, models, strict=True) if w is None)
            fold_models.update((some[folds[fold][0]].tobytes(), m) for m in unweighted)
        advance(fold + 1, len(folds))
        return models

    metric = as_metric(scoring, estimator, y)
    weights = ratio[some]
    counts = np.ones(some.size) if counts is None else counts[some]
    together = dependent_row_groups(cv, groups, some)
    draws = resample or max_samples is not None
    if not draws and follows_path(estimator, metric) and np.ptp(weights) > 0.0:
        return choose_mixing(estimator, metric, X, y, weights, counts, folds, together)
    return choose_exponent(fit, metric, X, y, weights, counts, folds, together)


def _check_folds_have_classes(y: Array, folds: Sequence[Fold]) -> None:
    """Raise an error that names the rarest class if a fold has one class to fit to."""
    if any(np.unique(y[kept]).size < 2 for kept, _ in folds):
        classes, counts = np.unique(y, return_counts=True)
        rarest = int(np.argmin(counts))
        raise InvalidInputError(
            f"class {classes[rarest]!s} has {counts[rarest]} of {y.size} rows: a "
            "fold of cross-validation has no other class to fit to; collect more such "
            "rows, or fit with weight_estimator=None"
        )
