"""A user's classifier, fitted for a target that has some of the classes."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from counterpoise.adaptation.partial.probabilities import (
    of_classifier,
    of_components,
)
from counterpoise.adaptation.partial.weights import PartialWeights
from counterpoise.adaptation.routing import fit_weighted, rows_of
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.validation import InvalidInput, InvalidType, as_classes


def partial_weighter(weighter: Any, guard: bool | str, seed: int) -> Any:
    """Return a fresh `PartialWeights` where one is asked for, else None."""
    if isinstance(weighter, str) and weighter == "partial":
        return PartialWeights(guard=guard is not False, random_state=seed)
    return clone(weighter) if isinstance(weighter, PartialWeights) else None


def fit_partial_weights(
    weighter: PartialWeights,
    samples: SamplesAsRead,
    estimator: Any,
    y: Any,
    counts: Array | None,
    seed: int,
) -> PartialWeights:
    """Return the weighter, fitted by its own classifier or by the user's estimator.

    Parameters
    ----------
    weighter : PartialWeights
    samples : SamplesAsRead
    estimator : classifier
        Asked where the weighter has no classifier and it has `predict_proba`.
    y : array of shape (n,)
    counts : array of shape (n,) or None
        The user's weights.
    seed : int
    """
    if get_tags(estimator).estimator_type == "regressor":
        raise InvalidType(
            f"weighter='partial' is for classifiers, {type(estimator).__name__} is a "
            "regressor"
        )
    weighter._check_parameters()
    labels = as_classes(y, samples.source_weight.size)
    weight = np.ones(labels.size) if counts is None else counts
    used = np.flatnonzero(weight > 0.0)
    classifier = weighter.classifier
    if classifier is None and hasattr(estimator, "predict_proba"):
        classifier = estimator
    source, target = samples.source, samples.target
    if classifier is None:
        if sparse.issparse(source):
            source, target = source.toarray(), target.toarray()
        found = of_components(source[used], labels[used], target, weight[used], seed)
    else:
        X, X_target = samples.given or (source, target)
        rows = X if used.size == labels.size else rows_of(X, used)
        found = of_classifier(
            classifier, rows, labels[used], X_target, weight[used], seed
        ).with_points(source[used], target, seed)
    weighter.n_features_in_ = samples.source.shape[1]
    return weighter._fit_probabilities(found, labels, weight)


def fit_to_present(
    estimator: Any,
    X: Any,
    y: Any,
    kept: Indices,
    weighter: PartialWeights,
    counts: Array | None,
    X_target: Any,
) -> Any:
    """Return the estimator, fitted to rows of the classes that are present.

    Rows of absent classes are left out, so that no `sample_weight` is needed where the
    others weigh alike. Where the weighter says so, the target rows join them, labelled
    by the selection, each of the mean weight of the source rows.

    Parameters
    ----------
    estimator : classifier
    X, y : the source rows and their labels
    kept : array of int
        Source rows that the estimator may see.
    weighter : PartialWeights
    counts : array of shape (n,) or None
        The user's weights.
    X_target : the target rows as they were given
    """
    weights = weighter.weights_ if counts is None else weighter.weights_ * counts
    rows = kept[weights[kept] > 0.0]
    labels = np.asarray(y)[rows]
    if np.unique(labels).size < 2:
        raise InvalidInput(
            f"one class is left, {labels[:1].tolist()[0]!r}: a classifier needs two; "
            "PartialWeights(guard=True) would leave the rows unweighted"
        )
    part, weight = rows_of(X, rows), weights[rows]
    if weighter.with_target:
        part = stacked(part, X_target)
        labels = np.concatenate([labels, weighter.labels_.astype(labels.dtype)])
        weight = np.append(weight, np.full(weighter.labels_.size, weight.mean()))
    given = None if np.ptp(weight) <= 1e-12 * weight.max() else weight
    return fit_weighted(estimator, part, labels, given)


def over_all_classes(probabilities: Any, classes: Any, every: Any) -> Any:
    """Return probabilities over all classes, none for those that a model has not."""
    out = np.zeros((len(probabilities), len(every)))
    out[:, np.searchsorted(every, classes)] = probabilities
    return out


def values_over_all_classes(values: Any, classes: Any, every: Any) -> Any:
    """Return decision values over all classes, the absent ones one below a row's least.

    Of two classes that are left the second's values are its own, the first's their
    negatives.
    """
    if values.ndim == 1:
        values = np.column_stack([-values, values])
    least = values.min(axis=1, keepdims=True) - 1.0
    out = np.repeat(least, len(every), axis=1)
    out[:, np.searchsorted(every, classes)] = values
    return out


def stacked(X: Any, X_target: Any) -> Any:
    """Return rows of source and target in one table of the source's kind."""
    pieces = X_target if isinstance(X_target, tuple) else (X_target,)
    kind = type(X).__module__.partition(".")[0]
    if kind == "pandas":
        import pandas as pd

        named = [
            one if hasattr(one, "columns") else pd.DataFrame(one, columns=X.columns)
            for one in pieces
        ]
        return pd.concat([X, *named], ignore_index=True)
    if kind == "polars":
        import polars as pl

        named = [
            one if hasattr(one, "columns") else pl.DataFrame(one, schema=X.columns)
            for one in pieces
        ]
        return pl.concat([X, *named], how="vertical_relaxed")
    if sparse.issparse(X) or any(map(sparse.issparse, pieces)):
        return sparse.vstack([X, *pieces], format="csr")
    return np.vstack([np.asarray(X), *(np.asarray(one) for one in pieces)])
