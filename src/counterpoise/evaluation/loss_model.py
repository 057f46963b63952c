"""A model of the loss at a row, fitted on rows that it does not judge."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

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
    """

    rows: Array
    target: Array
    bins: BinnedColumns = field(repr=False)
    models: Sequence[Any] = field(repr=False)

    def at(self, features: Array) -> Array:
        """Return the modelled loss of rows that were in no fit.

        The mean of all models; of more than 20,000 rows each has what one model says,
        the models taking turns, which is the same in the mean over rows.
        """
        return _mean(self.models, self.bins.transform(features))


def fit_loss_model(
    features: Array,
    losses: Array,
    weights: Array,
    features_target: Array,
    seed: int,
    groups: Indices | None = None,
) -> LossModel:
    r"""Return a regression of the loss on features, cross-fitted.

    Boosted trees minimise :math:`\sum_i \sqrt{w_i} (L_i - g(z_i))^2` on three quarters
    of the rows and are asked about the last, four times over. The root of the weights
    looks to the target without leaving few rows.

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

    Examples
    --------
    >>> x = np.linspace(-1, 1, 400)[:, None]
    >>> model = fit_loss_model(x, x[:, 0] ** 2, np.ones(400), x[300:], seed=0)
    >>> bool(abs(model.target.mean() - (x[300:, 0] ** 2).mean()) < 0.02)
    True
    """
    n = losses.size
    bins = BinnedColumns().fit(np.vstack([features, _some(features_target, seed)]))
    features, features_target = (
        bins.transform(features),
        bins.transform(features_target),
    )
    fold = _folds(n, groups, seed)
    if n < FEWEST_ROWS_TO_MODEL or fold.max() == 0:
        flat = _Constant(float(np.average(losses, weights=weights)))
        return LossModel(
            flat.predict(features), flat.predict(features_target), bins, [flat]
        )
    root = np.sqrt(weights)
    rows, models = np.empty(n), []
    with threadpool_limits(limits=1):
        for k in range(int(fold.max()) + 1):
            kept = fold != k
            model = _trees().fit(features[kept], losses[kept], root[kept])
            rows[~kept] = model.predict(features[~kept])
            models.append(model)
    target = _mean(models, features_target)
    return LossModel(rows, target, bins, models)


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
