"""How much of the weights to use: none, unless the user's own loss gains by them."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from counterpoise.adaptation.routing import rows_of
from counterpoise.evaluation.metrics import Metric
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.effective_size import effective_sample_size, flatten

EXPONENTS = (0.0, 0.25, 0.5, 0.75, 1.0)
# Differences of this size, relative to the loss, are rounding.
_ROUNDING = 1e-12
# The choice is made on at most so many rows.
MOST_ROWS = 5_000
# With fewer effective rows than this, only a gain of so many standard errors counts.
FEW_ROWS, CAUTION = 50, 2.0

Fit = Callable[[Any, Any, Array, int], Any]


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
) -> Guard:
    r"""Return the smallest power of the weights that is as good as the best.

    For each exponent :math:`e` the estimator is fitted to rows weighted by
    :math:`w^e`, and the losses of held-out rows are averaged with the full weights,

    .. math:: \hat R(e) = \sum_i w_i L_i(e) / \sum_i w_i .

    With :math:`b` the best exponent and :math:`d_i = L_i(e) - L_i(b)`, the smallest
    exponent is chosen for which the mean difference is within one standard error,

    .. math::

        \mathrm{se}^2 = \sum_i w_i^2 (d_i - \bar d)^2 / \Bigl(\sum_i w_i\Bigr)^2 .

    With fewer than 50 effective rows the rows stay unweighted unless the best gains two
    standard errors on them. A metric that is no mean over rows is averaged over folds,
    and its standard error is that of the folds.

    Parameters
    ----------
    fit : callable
        ``fit(X, y, sample_weight, seed)`` returns a fitted estimator.
    metric : Metric
        What is estimated for the target.
    X, y : the source rows and their labels
    weights : array of shape (n,)
        Density ratio target/source at the rows.
    counts : array of shape (n,)
        What the user lets the rows count; they multiply the weights everywhere.
    folds : sequence of pairs
        Rows to fit to, rows held out.
    """
    # Powers of equal weights are all the same.
    exponents = EXPONENTS if np.ptp(weights) > 0 else EXPONENTS[:1]
    count = counts * weights
    sign = -1.0 if metric.higher_is_better else 1.0
    judge = _by_rows if metric.by_row is not None else _by_folds
    losses, shares = judge(fit, metric, X, y, weights, counts, count, folds, exponents)
    losses = sign * losses
    means = losses @ shares
    best = int(np.argmin(means))
    errors = np.array([_error(row - losses[best], shares) for row in losses])
    errors += _ROUNDING * float(np.abs(losses[best]) @ shares)
    held_out = np.unique(np.concatenate([test for _, test in folds]))
    effective = effective_sample_size(count[held_out])
    chosen, reason = _chosen(means, errors, best, effective)
    gain = float(means[0] - means[chosen])
    return Guard(
        exponents=exponents,
        values=tuple(metric.of_mean(float(sign * mean)) for mean in means),
        errors=tuple(float(error) for error in errors),
        metric=metric.name,
        higher_is_better=metric.higher_is_better,
        best=EXPONENTS[best],
        chosen=EXPONENTS[chosen],
        gain=gain,
        gain_error=_error(losses[0] - losses[chosen], shares),
        rows=int(held_out.size),
        effective_rows=effective,
        reason=reason,
    )


def _chosen(
    means: Array, errors: Array, best: int, effective: float
) -> tuple[int, str]:
    gain, error = float(means[0] - means[best]), float(errors[0])
    told = (
        f"by importance-weighted cross-validation, exponent {EXPONENTS[best]:g} is "
        f"the best, {gain:.4g} better than no weights (standard error {error:.2g})"
    )
    if means.size == 1:
        return 0, "all weights are equal: there is nothing to choose"
    if best == 0:
        return 0, "no power of the weights is better than none: rows stay unweighted"
    if effective < FEW_ROWS and gain <= CAUTION * error:
        return 0, (
            f"only {effective:.0f} effective rows: too few to tell, and {told}, less "
            f"than {CAUTION:g} standard errors: rows stay unweighted"
        )
    within = means - means[best] <= errors
    smallest = int(np.argmax(within))
    if smallest == 0:
        return 0, f"{told}, within one standard error: rows stay unweighted"
    if smallest == best:
        return best, f"{told}: it is used"
    return smallest, (
        f"{told}; exponent {EXPONENTS[smallest]:g} is within one standard error of it "
        "and is used"
    )


def _by_rows(
    fit: Fit,
    metric: Metric,
    X: Any,
    y: Any,
    weights: Array,
    counts: Array,
    count: Array,
    folds: Sequence[tuple[Indices, Indices]],
    exponents: tuple[float, ...],
) -> tuple[Array, Array]:
    """Return the value at every held-out row, and the row's share of the mean."""
    values, shares = [], []
    for k, (kept, out) in enumerate(folds):
        models = _models(fit, X, y, weights, counts, kept, k, exponents)
        held_X, held_y = rows_of(X, out), rows_of(y, out)
        values.append([metric.rows(model, held_X, held_y) for model in models])
        shares.append(count[out])
    share = np.concatenate(shares)
    return np.concatenate(values, axis=1), share / share.sum()


def _by_folds(
    fit: Fit,
    metric: Metric,
    X: Any,
    y: Any,
    weights: Array,
    counts: Array,
    count: Array,
    folds: Sequence[tuple[Indices, Indices]],
    exponents: tuple[float, ...],
) -> tuple[Array, Array]:
    """Return the value of every fold, each of which has the same share."""
    values = []
    for k, (kept, out) in enumerate(folds):
        models = _models(fit, X, y, weights, counts, kept, k, exponents)
        held_X, held_y = rows_of(X, out), rows_of(y, out)
        values.append(
            [metric.value(m, held_X, held_y, sample_weight=count[out]) for m in models]
        )
    return np.array(values).T, np.full(len(folds), 1 / len(folds))


def _models(
    fit: Fit,
    X: Any,
    y: Any,
    weights: Array,
    counts: Array,
    kept: Indices,
    seed: int,
    exponents: tuple[float, ...],
) -> list[Any]:
    fit_X, fit_y = rows_of(X, kept), rows_of(y, kept)
    return [
        fit(fit_X, fit_y, flatten(weights[kept], exponent) * counts[kept], seed)
        for exponent in exponents
    ]


def _error(difference: Array, shares: Array) -> float:
    centred = difference - shares @ difference
    return float(np.sqrt(shares**2 @ centred**2))
