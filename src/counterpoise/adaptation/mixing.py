"""How much of the weights a support vector machine gets, by its exact path."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from counterpoise.adaptation.guard import (
    LEAST_ROOT,
    LOSS_ROUNDING,
    Guard,
    paired_error,
    smallest_as_good,
)
from counterpoise.adaptation.routing import rows_of
from counterpoise.evaluation.metrics import ERROR_RATE, Metric
from counterpoise.learners import SVMPath, WeightedSVC, WeightedSVR
from counterpoise.learners.svm import ValidationCurve
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.effective_size import effective_sample_size

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
    errors = np.array(
        [_error_about_zero(row - losses[best], share_of_row, by) for row in losses]
    )
    errors += LOSS_ROUNDING * float(np.abs(losses[best]) @ share_of_row)
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
    thin = full.thinned(MOST_PIECES)
    values = np.array([metric.of_mean(float(sign * mean)) for mean in thin.values])
    slopes = np.zeros(values.size)
    if not classes:
        end = metric.of_mean(float(sign * means[-1]))
        lengths = np.diff(np.append(thin.thetas, 1.0))
        slopes = np.diff(np.append(values, end)) / lengths
    return {
        "parameter": "mixing",
        "loss": metric.name,
        "thetas": thin.thetas.tolist(),
        "values": values.tolist(),
        "slopes": slopes.tolist(),
        "stop": 1.0,
        "best": metric.of_mean(float(sign * full.minimum)),
        "optimal_intervals": [list(one) for one in full.optimal_intervals],
    }
