"""A model of the loss at a row, fitted on rows that it does not judge."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import lsq_linear
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from counterpoise.evaluation.estimating.loss_curve import MOST_FOR_CURVE, LossCurve
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.classifiers import BinnedColumns

FOLDS_OF_LOSS_MODEL = 4
# Fewer rows than this tell only their mean.
FEWEST_ROWS_TO_MODEL = 40
FEWEST_ROWS_A_LEAF = 30
# Of more rows than this each is asked of one model, and not of all.
ROWS_MODELLED = 20_000


@dataclass(frozen=True, eq=False)
class LossModel:
    """The mean loss as a function of the row, from several fits.

    Attributes
    ----------
    rows : array of shape (n,)
        At the rows of the fit, each by the model that has not seen it.
    target : array of shape (m,)
        At the target rows, see `at`.
    by_fold : array of shape (n_fits, m) or None
        What each fit says of the target rows; None of more than 20,000.
    """

    rows: Array
    target: Array
    by_fold: Array | None = field(repr=False)
    models: Sequence[Any] = field(repr=False)

    def at(self, features: Array) -> Array:
        """Return the modelled loss of rows that were in no fit.

        The mean of the fits; of more than 20,000 rows each has what one model says,
        the models taking turns, which is the same in the mean over rows.
        """
        return _mean(self.models, features)


def fit_loss_model(
    features: Array,
    losses: Array,
    weights: Array,
    features_target: Array,
    seed: int,
    groups: Indices | None = None,
    *,
    curve: bool = True,
) -> LossModel:
    r"""Return a regression of the loss on features, cross-fitted.

    A quadratic (`LossCurve`), and boosted trees of what it leaves, minimise
    :math:`\sum_i \sqrt{w_i} (L_i - g(z_i))^2` on three quarters of the rows and are
    asked about the last, four times over. The root of the weights looks to the target
    without leaving few rows. The two are added with the factors between zero and one
    that have the least such error on the rows held out: noise that trees have learned
    has a factor near zero, and is no part of the estimate; a larger factor than one is
    the work of a few large losses that were held out. With more than 300 columns, or
    without `curve`, there are only the trees.

    Parameters
    ----------
    features, features_target : array of shape (n, p), (m, p)
        The row's columns as numbers and what the model predicts there.
    losses : array of shape (n,)
    weights : array of shape (n,)
        The density ratio at the rows.
    seed : int
        Of the folds.
    groups : array of shape (n,) or None
        Numbers of groups, whose rows are held out together.
    curve : bool
        Whether the quadratic is there: not for rows that nobody knows yet.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 400)[:, None]
    >>> model = fit_loss_model(x, x[:, 0] ** 2, np.ones(400), x[300:], seed=0)
    >>> bool(abs(model.target.mean() - (x[300:, 0] ** 2).mean()) < 0.02)
    True
    """
    n = losses.size
    fold = _folds(n, groups, seed)
    if n < FEWEST_ROWS_TO_MODEL or fold.max() == 0:
        flat = _Constant(float(np.average(losses, weights=weights)))
        found = flat.predict(features_target)
        return LossModel(flat.predict(features), found, None, [flat])
    root = np.sqrt(weights)
    known = np.vstack([features, _some(features_target, seed)])
    bins = BinnedColumns().fit(known)
    parts: list[list[Any]] = []
    curve = curve and features.shape[1] <= MOST_FOR_CURVE
    held_out = np.empty((n, 2 if curve else 1))
    with threadpool_limits(limits=1):
        for k in range(int(fold.max()) + 1):
            kept = fold != k
            rows, left, counts = features[kept], losses[kept], root[kept]
            parts.append([])
            if curve:
                parts[k].append(LossCurve(known).fit(rows, left, counts))
                left = left - parts[k][0].predict(rows)
            parts[k].append(_Trees(bins).fit(rows, left, counts))
            for j, part in enumerate(parts[k]):
                held_out[~kept, j] = part.predict(features[~kept])
    models = [_Sum(part, *_factors(held_out, losses, root)) for part in parts]
    seen = models[0].offset + held_out @ models[0].factors
    if len(features_target) > ROWS_MODELLED:
        return LossModel(seen, _mean(models, features_target), None, models)
    with threadpool_limits(limits=1):
        by_fold = np.array([model.predict(features_target) for model in models])
    return LossModel(seen, by_fold.mean(axis=0), by_fold, models)


def _factors(held_out: Array, losses: Array, weights: Array) -> tuple[Array, float]:
    """Return the factors, from zero to one, and the offset of least squared error."""
    middle = np.average(held_out, axis=0, weights=weights)
    mean = float(np.average(losses, weights=weights))
    root = np.sqrt(weights)
    left = (losses - mean) * root
    size = float(np.abs(left).max())
    if size == 0.0:
        return np.zeros(middle.size), mean
    # In units of the losses: the solver's tolerance has none.
    parts = (held_out - middle) * root[:, None] / size
    factors = lsq_linear(parts, left / size, bounds=(0.0, 1.0), method="bvls").x
    return factors, float(mean - middle @ factors)


@dataclass(frozen=True, eq=False)
class _Sum:
    """Parts times their factors, and an offset."""

    parts: Sequence[Any]
    factors: Array
    offset: float

    def predict(self, features: Array) -> Array:
        found = np.full(len(features), self.offset)
        for part, factor in zip(self.parts, self.factors, strict=True):
            if factor > 0:
                found += factor * part.predict(features)
        return found


class _Trees(BaseEstimator):
    """Boosted trees of columns cut into bins that are known before."""

    def __init__(self, bins: BinnedColumns) -> None:
        self.bins = bins

    def fit(self, features: Array, losses: Array, weights: Array) -> "_Trees":
        self._trees = _trees().fit(self.bins.transform(features), losses, weights)
        return self

    def predict(self, features: Array) -> Array:
        return self._trees.predict(self.bins.transform(features))


def _trees() -> HistGradientBoostingRegressor:
    return HistGradientBoostingRegressor(
        max_iter=60,
        max_depth=4,
        min_samples_leaf=FEWEST_ROWS_A_LEAF,
        early_stopping=False,
        random_state=0,
    )


@dataclass(frozen=True)
class _Constant:
    mean: float

    def predict(self, features: Array) -> Array:
        return np.full(len(features), self.mean)


def _mean(models: Sequence[Any], features: Array) -> Array:
    with threadpool_limits(limits=1):
        if len(features) <= ROWS_MODELLED:
            return np.mean([model.predict(features) for model in models], axis=0)
        found = np.empty(len(features))
        for k, model in enumerate(models):
            turn = slice(k, None, len(models))
            found[turn] = model.predict(features[turn])
        return found


def _folds(n: int, groups: Indices | None, seed: int) -> Indices:
    """Return the fold of every row."""
    rng = np.random.default_rng(seed)
    if groups is None:
        return rng.permutation(n) % FOLDS_OF_LOSS_MODEL
    present, place = np.unique(groups, return_inverse=True)
    return (rng.permutation(present.size) % FOLDS_OF_LOSS_MODEL)[place]


def _some(features: Array, seed: int) -> Array:
    if len(features) <= ROWS_MODELLED:
        return features
    rng = np.random.default_rng(seed)
    return features[np.sort(rng.choice(len(features), ROWS_MODELLED, replace=False))]
