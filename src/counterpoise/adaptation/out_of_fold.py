"""What a fitted model would have said of rows not fitted to, and their ratio."""

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from counterpoise.adaptation.adapted import Adapted
from counterpoise.adaptation.kept.fold_models import known
from counterpoise.adaptation.routing import fit_weighted, rows_of
from counterpoise.adaptation.weighing import fit_weighter
from counterpoise.engine.progress import advance
from counterpoise.evaluation.answers import Answers, joined_answers
from counterpoise.evaluation.splits import folds_of
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.validation import InvalidInput, InvalidType, PartialOverlapWarning
from counterpoise.validation.warning import held_back
from counterpoise.weights.auto import AutoWeights


def out_of_fold_answers(
    model: Any,
    X: Any,
    y: NDArray[Any],
    counts: Array,
    cv: Any,
    groups: Any,
    *,
    classifier: bool,
    seed: int,
    methods: Sequence[str] | None = None,
) -> Answers:
    """Return what copies of the model, fitted without a fold, say of the fold.

    An `Adapted` is fitted again as it was: with the weights that it had, and by drawing
    rows where it draws them, of a budget its share. It may be the last step of a
    pipeline, whose transformers stay as they are, or what a search has found.

    Parameters
    ----------
    model : fitted predictor
    X, y : table of shape (n, d), array of shape (n,)
        Of an `Adapted` the rows of its fit, in their order.
    counts : array of shape (n,)
        The user's own weights.
    cv, groups, classifier, seed
        See `folds_of`.
    methods : sequence of str or None
        See `Answers.of`.
    """
    model, X = adapted_within(model, X)
    if isinstance(model, Adapted) and len(model.weights_) != counts.size:
        raise InvalidInput(
            f"X has {counts.size} rows, the model was fitted to "
            f"{len(model.weights_)}: with cv they must be the same rows"
        )
    parts, places = [], []
    folds = folds_of(cv, X, y, groups, is_classifier=classifier, seed=seed)
    for kept, out in folds:
        fitted = _fitted_to(model, X, y, counts, kept, seed)
        parts.append(Answers.of(fitted, [rows_of(X, out)], classifier, methods))
        places.append(out)
        advance(len(places), len(folds))
    if not np.array_equal(np.sort(np.concatenate(places)), np.arange(counts.size)):
        raise InvalidInput("cv must hold out every row exactly once")
    return joined_answers(parts, places)


def adapted_within(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the fitted `Adapted` at the end of pipelines and searches, and its rows.

    A model without one comes back as it is. One that is made around an `Adapted` in
    another way is refused: a copy of it would be fitted without a target.
    """
    if not ends_in_adapted(model):
        inside: dict[str, Any] = getattr(model, "get_params", dict)()
        if any(isinstance(one, Adapted) for one in inside.values()):
            raise InvalidType(
                f"{type(model).__name__} around an Adapted cannot be fitted again "
                "without a fold, having no target: leave cv=None and give rows that "
                "the model was not fitted to"
            )
        return model, X
    while not isinstance(model, Adapted):
        if isinstance(model, Pipeline):
            if len(model.steps) > 1:
                X = model[:-1].transform(X)
            model = model.steps[-1][1]
        else:
            model = model.best_estimator_
    return model, X


def ratio_of_model(model: Any, X: Any, *, refitted: bool) -> Array:
    """Return the density ratio by which an `Adapted` was fitted, at source rows.

    Parameters
    ----------
    model : fitted `Adapted`, or a pipeline or search that ends in one
    X : table of shape (n, d)
    refitted : bool
        Whether these are the very rows of its fit.
    """
    inner, X = adapted_within(model, X)
    if getattr(inner, "weighter_", None) is None:
        raise InvalidType(
            'weighter="model" needs an Adapted that has weights, got '
            f"{type(inner).__name__}"
        )
    check_is_ratio(inner.weighter_)
    ratio: Array = inner.weighter_.weights_ if refitted else inner.weigh(X)
    return ratio


def check_is_ratio(weighter: Any) -> None:
    """Refuse a weighter whose weights are no density ratio, as estimates need one."""
    if not getattr(weighter, "weights_are_a_ratio", True):
        raise InvalidType(
            f"the weights of {type(weighter).__name__} are no density ratio, which "
            'estimates of performance need: take weighter="auto"'
        )


def ends_in_adapted(model: Any) -> bool:
    """Tell whether a model, a pipeline's last step or a search's best is `Adapted`."""
    if isinstance(model, Pipeline):
        return ends_in_adapted(model.steps[-1][1])
    found = getattr(model, "best_estimator_", None)
    return isinstance(model, Adapted) if found is None else ends_in_adapted(found)


def _fitted_to(
    model: Any, X: Any, y: NDArray[Any], counts: Array, kept: Indices, seed: int
) -> Any:
    """Return a copy of the model, fitted to some of the rows."""
    some, labels = rows_of(X, kept), y[kept]
    plain = bool(np.all(counts == counts[0]))
    if not isinstance(model, Adapted):
        return fit_weighted(model, some, labels, None if plain else counts[kept])
    weights = (counts * model.weights_)[kept]
    budget = model.budget
    if budget is not None:
        budget = ceil(budget * kept.size / counts.size)
    asked = not plain or model.adapted_ or budget is not None
    found = None if asked else known(model, kept)
    if found is not None:
        return found
    return model._fit_rows(
        model.estimator_, some, labels, weights if asked else None, seed, budget
    )


def ratio_at_rows(
    model: Any,
    samples: SamplesAsRead,
    looked_at: SamplesAsRead,
    some: Indices,
    weighter: Any,
    seed: int,
) -> Array:
    """Return the density ratio at all source rows, learned from some.

    Whether the samples overlap was asked before, of the two tables.
    """
    if isinstance(weighter, str) and weighter == "auto":
        weighter = AutoWeights(force=True, random_state=seed)
        known = _known_ratio(model, looked_at, weighter)
        if known is not None:
            return known
    elif not hasattr(weighter, "weigh"):
        raise InvalidType(
            f'weighter must be "auto", "model" or a weighter, got {weighter!r}'
        )
    check_is_ratio(weighter)
    # What is thinly covered is in the record.
    with held_back(PartialOverlapWarning):
        fitted = fit_weighter(clone(weighter), looked_at)
    ratio = np.empty(samples.source.shape[0])
    ratio[some] = fitted.weights_
    others = np.setdiff1d(np.arange(ratio.size), some)
    if others.size:
        ratio[others] = fitted.weigh(samples.source[others])
    return ratio


def _known_ratio(model: Any, samples: SamplesAsRead, weighter: Any) -> Array | None:
    """Return the ratio of a model that was fitted to these very rows by this weighter.

    The same method, seed and rows give the same weights: they are not sought again.
    """
    fitted = getattr(model, "weighter_", None)
    if type(fitted) is not AutoWeights or fitted.rows_of_fit is not samples.counted:
        return None
    # A copy: the model's own weights are not for others to write to.
    same = fitted.get_params() == weighter.get_params()
    return fitted.weights_.copy() if same else None
