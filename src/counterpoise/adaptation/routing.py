"""Calls to estimators: sample weights, metadata routing, folds."""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import clone
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from counterpoise.errors import InvalidTypeError, refusals_of_estimators
from counterpoise.linalg.arrays import Array, Indices

# -----------------------------------------------------------------------------
# Models that were fitted without a fold, kept for who asks about the same fold next.
#
# The guard fits the user's estimator to unweighted rows without each fold, and where
# it
# leaves the rows unweighted the estimate of the target's score needs the very same
# models. Inside `kept_folds` they are kept, and nowhere else: models are large.
# -----------------------------------------------------------------------------


_KEPT: ContextVar[dict[tuple[int, bytes], Any] | None] = ContextVar(
    "fold_models", default=None
)


@contextmanager
def kept_folds() -> Iterator[None]:
    """Let what runs inside fit no estimator twice to the same unweighted rows.

    The rows of one `Adapted` must be the same table all along.
    """
    token = _KEPT.set({})
    try:
        yield
    finally:
        _KEPT.reset(token)


def keep(
    owner: Any, rows: Indices, weights: Sequence[Array | None], models: Sequence[Any]
) -> None:
    """Keep the model that was fitted to unweighted rows, if anybody keeps some.

    Parameters
    ----------
    owner : Adapted
        For whom it was fitted; by identity.
    rows : array of int
        Places of the rows among all of the owner's.
    weights, models : sequences
        What each model was fitted by; None stands for unweighted rows.
    """
    kept = _KEPT.get()
    if kept is None:
        return
    for one, model in zip(weights, models, strict=True):
        if one is None:
            # The owner is kept too, so that no other gets its identity.
            kept[id(owner), rows.tobytes()] = owner, model


def known(owner: Any, rows: Indices) -> Any | None:
    """Return the owner's model of these unweighted rows; None if none was kept."""
    kept = _KEPT.get()
    found = None if kept is None else kept.get((id(owner), rows.tobytes()))
    return None if found is None else found[1]


# -----------------------------------------------------------------------------
# How weights reach an estimator, through pipelines and searches, to the bit.
# -----------------------------------------------------------------------------


_SCORER_NAMES = frozenset(get_scorer_names())
_WEIGHT = "sample_weight"


def fit_weighted(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Array | None,
    *,
    resample_seed: int | None = None,
    n_rows: int | None = None,
) -> Any:
    """Return a clone of the estimator, fitted to weighted rows.

    Parameters
    ----------
    estimator : scikit-learn estimator
        Pipelines, searches and other estimators around one are looked through.
    X, y : the rows and their labels
    sample_weight : array of shape (n,) or None
        Weights, handed over as they are. None: the estimator is called without any.
    resample_seed : int or None
        If given, rows are drawn in proportion to the weights instead, and the
        estimator is called without any.
    n_rows : int or None
        How many rows are then drawn: as many as there are, with replacement, or this
        many different ones.
    """
    with refusals_of_estimators():
        return _fitted(estimator, X, y, sample_weight, resample_seed, n_rows)


def _fitted(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Array | None,
    resample_seed: int | None,
    n_rows: int | None,
) -> Any:
    fresh = clone(estimator)
    given = {}
    if sample_weight is not None and resample_seed is not None:
        rows = drawn_rows(sample_weight, resample_seed, n_rows)
        X, y = rows_of(X, rows), rows_of(y, rows)
    elif sample_weight is not None:
        check_takes_weights(fresh)
        keyword = str(weight_keyword(fresh))
        if get_config()["enable_metadata_routing"]:
            _request_weights(fresh)
            keyword = _WEIGHT
        given = {keyword: sample_weight}
    return fresh.fit(X, y, **given)


def fit_rows(
    estimator: Any,
    X: Any,
    y: Any,
    weights: Sequence[Array | None],
    seed: int,
    *,
    resample: bool = False,
    max_samples: int | None = None,
) -> list[Any]:
    """Return clones of the estimator, one fitted by each of several weights.

    Parameters
    ----------
    estimator, X, y
        As for `fit_weighted`.
    weights : sequence of array of shape (n,) or None
    seed : int
        Of draws.
    resample : bool
        Whether rows are drawn in proportion to their weights.
    max_samples : int or None
        Draw so many different rows.
    """
    fitted = []
    with refusals_of_estimators():
        for one in weights:
            draws = resample or max_samples is not None
            if draws and max_samples is None and one is not None and np.ptp(one) == 0:
                # A draw in proportion to equal weights would only lose rows.
                draws, one = False, None
            drawn = seed if draws else None
            fitted.append(_fitted(estimator, X, y, one, drawn, max_samples))
    return fitted


def check_takes_weights(estimator: Any) -> None:
    """Refuse, by its name, an estimator whose `fit` takes no weights."""
    if weight_keyword(estimator) is None:
        raise InvalidTypeError(
            f"{_named_culprit(estimator)} takes no sample_weight: it cannot be fitted "
            "to weighted rows. resample=True draws rows in proportion to their weights "
            "instead; max_samples=k draws k different ones"
        )


def weight_keyword(estimator: Any) -> str | None:
    """Return the keyword under which `fit` takes weights; None if it takes none.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> weight_keyword(make_pipeline(StandardScaler(), Ridge()))
    'ridge__sample_weight'
    """
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        keyword = None if isinstance(last, str) else weight_keyword(last)
        return None if keyword is None else f"{name}__{keyword}"
    if not hasattr(estimator, "fit"):
        return None
    inner = _wrapped(estimator)
    if has_fit_parameter(estimator, _WEIGHT):
        # One that only hands weights on is worth what it hands them to.
        return None if any(weight_keyword(one) is None for one in inner) else _WEIGHT
    if not inner or not _takes_any_keyword(estimator):
        return None
    keywords = {weight_keyword(one) for one in inner}
    return keywords.pop() if len(keywords) == 1 else None


def drawn_rows(weights: Array, seed: int, n_rows: int | None = None) -> Indices:
    """Return places drawn in proportion to the weights, in ascending order.

    As many as there are weights, with replacement; or `n_rows` different ones, each
    with a chance that grows with its weight (Efraimidis and Spirakis, 2006).

    Examples
    --------
    >>> drawn_rows(np.array([0.0, 1.0, 0.0]), 0)
    array([1, 1, 1])
    """
    rng = np.random.default_rng(seed)
    n = weights.size
    if n_rows is None:
        return np.sort(rng.choice(n, n, p=weights / weights.sum()))
    positive = np.flatnonzero(weights > 0)
    if n_rows >= positive.size:
        return positive
    # The k largest keys log(u) / w are k draws without replacement.
    keys = np.log(rng.random(positive.size)) / weights[positive]
    return np.sort(positive[np.argpartition(-keys, n_rows)[:n_rows]])


def rows_of(X: Any, rows: Any) -> Any:
    """Return some rows of an array, a list, a frame, a series or a sparse matrix."""
    if X is None:
        return None
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if sparse.issparse(X):
        return X.tocsr()[rows]
    if isinstance(X, list | tuple):
        return [X[i] for i in rows]
    if hasattr(X, "__getitem__"):
        return X[rows]
    return np.asarray(X)[rows]


def divided_rows(
    X: Any, y: Any, kept: Any, out: Any
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return rows and labels to fit to, and those held out."""
    return (rows_of(X, kept), rows_of(y, kept)), (rows_of(X, out), rows_of(y, out))


def part_of(X: Any, rows: Any, n: int) -> Any:
    """Return some of n rows, or the very same table where they are all."""
    return X if rows.size == n else rows_of(X, rows)


def _wrapped(estimator: Any) -> list[Any]:
    """Return the estimators that this one is made around."""
    for name in ("estimator", "regressor", "base_estimator"):
        inner = getattr(estimator, name, None)
        if hasattr(inner, "fit"):
            return [inner]
    several = getattr(estimator, "estimators", None)
    if isinstance(several, list):
        return [one for _, one in several if hasattr(one, "fit")]
    return []


def _takes_any_keyword(estimator: Any) -> bool:
    parameters = inspect.signature(estimator.fit).parameters.values()
    return any(p.kind is p.VAR_KEYWORD for p in parameters)


def _named_culprit(estimator: Any) -> str:
    if isinstance(estimator, Pipeline):
        last = estimator.steps[-1][1]
        return f"the last step of the pipeline, {_named_culprit(last)},"
    inner = [one for one in _wrapped(estimator) if weight_keyword(one) is None]
    if inner:
        return f"{_named_culprit(inner[0])} in {type(estimator).__name__}"
    return estimator if isinstance(estimator, str) else type(estimator).__name__


def _request_weights(estimator: Any) -> None:
    """Ask for weights where they must go, and nowhere else unless the user did.

    Only our own clone is touched; the setting itself stays the user's.
    """
    users = {id(one) for one in _weight_users(estimator)}
    parts = [estimator, *estimator.get_params(deep=True).values()]
    for part in parts:
        if isinstance(part, type):
            continue
        for method in ("fit", "score"):
            setter = getattr(part, f"set_{method}_request", None)
            if setter is None or _WEIGHT not in inspect.signature(setter).parameters:
                continue
            # A search inside scores its held-out rows by their weights too.
            if id(part) in users or not _was_requested(part, method):
                setter(sample_weight=id(part) in users)
        # Boosting's "loss" is no scorer.
        if getattr(part, "scoring", None) in _SCORER_NAMES:
            scorer = get_scorer(part.scoring)
            if hasattr(scorer, "set_score_request"):
                part.scoring = scorer.set_score_request(sample_weight=True)


def _weight_users(estimator: Any) -> list[Any]:
    """Return the estimators on the way that weights go, up to its ends."""
    if isinstance(estimator, Pipeline):
        return _weight_users(estimator.steps[-1][1])
    own = [estimator] if has_fit_parameter(estimator, _WEIGHT) else []
    return own + [user for one in _wrapped(estimator) for user in _weight_users(one)]


def _was_requested(part: Any, method: str) -> bool:
    requests = getattr(part.get_metadata_routing(), method, None)
    return requests is not None and requests.requests.get(_WEIGHT) is not None
