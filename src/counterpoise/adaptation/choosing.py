"""How much of the weights an estimator can use, by its own loss on held-out rows."""

from math import ceil
from typing import Any

import numpy as np

from counterpoise.adaptation.guard import ROWS_JUDGED, Guard, choose_exponent
from counterpoise.adaptation.kept.fold_models import keep
from counterpoise.adaptation.labels import check_folds_have_classes
from counterpoise.adaptation.mixing import choose_mixing, follows_path
from counterpoise.adaptation.odd_inputs import warn_if_in_time_order
from counterpoise.adaptation.routing import fit_rows, rows_of
from counterpoise.engine.progress import advance
from counterpoise.evaluation.metrics import as_metric, is_classifier
from counterpoise.evaluation.splits import alike_rows, folds_of, folds_within
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.validation import n_rows


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
        Whose `cv`, `scoring`, `resample` and `budget` hold.
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
    budget = asked.budget

    def fit(X: Any, y: Any, weights: list[Array | None], fold: int) -> list[Any]:
        share = None
        if budget is not None:
            n = n_rows(X)
            weights = [np.ones(n) if one is None else one for one in weights]
            share = ceil(budget * n / some.size)
        fitted = fit_rows(
            estimator,
            X,
            y,
            weights,
            seed + fold,
            resample=asked.resample,
            budget=share,
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
    draws = asked.resample or budget is not None
    if not draws and follows_path(estimator, metric) and np.ptp(ratio[some]) > 0.0:
        return choose_mixing(estimator, metric, X, y, *judged)
    return choose_exponent(fit, metric, X, y, *judged)
