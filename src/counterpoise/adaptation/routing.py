"""Calls to estimators and weight estimators: defaults, sample weights, row draws."""

import inspect
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.base import clone
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from counterpoise.data.arrays import Estimator
from counterpoise.data.frames import is_missing
from counterpoise.data.samples import Samples
from counterpoise.errors import (
    InvalidInputError,
    InvalidTypeError,
    estimator_errors,
)
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.models.boosting import boosting_for
from counterpoise.weights.base import WeightEstimator

# -----------------------------------------------------------------------------
# Labels, and the estimator that is used by default.
# -----------------------------------------------------------------------------


# Integers are classes up to this many distinct values, with ten rows each on average.
MOST_CLASSES, ROWS_A_CLASS = 20, 10


def default_estimator(X: object, y: ArrayLike, seed: int) -> Estimator:
    """Return histogram gradient boosting, by the type of the label (`are_classes`).

    Examples
    --------
    >>> type(default_estimator([[1.0], [2.0]], ["a", "b"], 0)).__name__
    'BoostedClassifier'
    >>> type(default_estimator([[1.0], [2.0]], [0.5, 1.5], 0)).__name__
    'BoostedRegressor'
    """
    found: Estimator = boosting_for(X, classes=are_classes(y), seed=seed)
    return found


def are_classes(y: ArrayLike) -> bool:
    """Return whether labels are classes; everything else is regression.

    Classes are strings, booleans, categories and pairs of numbers; integers too, up to
    twenty distinct ones with ten rows each on average.
    """
    values = np.asarray(y)
    if values.ndim != 1 or values.size == 0:
        return False
    if values.dtype.kind not in "iuf":
        return True
    if not np.array_equal(values, np.round(values)):
        return False
    different = np.unique(values).size
    return different <= 2 or different <= min(MOST_CLASSES, values.size // ROWS_A_CLASS)


def check_none_missing(y: ArrayLike | None) -> None:
    """Raise an error that names the first row without a label."""
    if y is None:
        raise InvalidInputError(
            "Adapted requires y to be passed, but the target y is None"
        )
    labels = np.asarray(y)
    if labels.dtype.kind == "f":
        gaps = np.isnan(labels)
    elif labels.dtype.kind == "O":
        # A missing date differs from itself.
        gaps = np.array([is_missing(one) or one != one for one in labels.ravel()])
    else:
        return
    if gaps.any():
        row = int(np.argmax(gaps.reshape(len(labels), -1).any(axis=1)))
        raise InvalidInputError(
            f"Input y contains NaN: row {row} has no label; leave it out"
        )


# -----------------------------------------------------------------------------
# Fits of estimators and weight estimators, through pipelines and searches.
# -----------------------------------------------------------------------------


_SCORER_NAMES = frozenset(get_scorer_names())
_WEIGHT = "sample_weight"


def fit_weight_estimator(
    weight_estimator: Any,
    samples: Samples,
    y: ArrayLike | None = None,
    counts: Array | None = None,
) -> Any:
    """Return the weight estimator, fitted to validated samples.

    Parameters
    ----------
    weight_estimator : estimator with `predict_weights`
        One of another package is called by its public `fit`.
    samples : SamplesAsRead
    y : array of shape (n,)
        Labels of the source rows, for a weight estimator that uses them.
    counts : array of shape (n,) or None
        The user's weights, for a weight estimator of another package.
    """
    if type(weight_estimator).fit is WeightEstimator.fit:
        return weight_estimator._fit_samples(samples)
    given = samples.given if samples.encoder is None else None
    X, X_target = given or (samples.source, samples.target)
    return weight_estimator.fit(X, y, X_target=X_target, sample_weight=counts)


def fit_weighted(
    estimator: Estimator,
    X: object,
    y: ArrayLike,
    sample_weight: Array | None,
    *,
    resample: bool = False,
    max_samples: int | None = None,
    seed: int = 0,
) -> Any:
    """Return a clone of the estimator, fitted to weighted rows.

    Parameters
    ----------
    estimator : scikit-learn estimator
        Pipelines, searches and other meta-estimators pass the weights on.
    X, y : the rows and their labels
    sample_weight : array of shape (n,) or None
        None: the estimator is called without weights.
    resample : bool
        Whether rows are drawn in proportion to their weights instead. Equal weights
        draw nothing.
    max_samples : int or None
        Draw this many different rows by their weights instead.
    seed : int
        Of the draws.
    """
    if sample_weight is not None and (resample or max_samples is not None):
        if max_samples is not None or np.ptp(sample_weight) > 0:
            rows = drawn_rows(sample_weight, seed, max_samples)
            X, y = rows_of(X, rows), rows_of(y, rows)
        sample_weight = None
    with estimator_errors():
        fitted = clone(estimator)
        keywords = {}
        if sample_weight is not None:
            keyword = check_takes_weights(fitted)
            if get_config()["enable_metadata_routing"]:
                _request_weights(fitted)
                keyword = _WEIGHT
            keywords = {keyword: sample_weight}
        return fitted.fit(X, y, **keywords)


def check_takes_weights(estimator: Estimator) -> str:
    """Return the keyword of weights; raise an error that names an estimator without."""
    keyword = weight_keyword(estimator)
    if keyword is None:
        raise InvalidTypeError(
            f"{_without_weights(estimator)} takes no sample_weight: it cannot be "
            "fitted to weighted rows. resample=True draws rows in proportion to their "
            "weights instead; max_samples=k draws k different ones"
        )
    return keyword


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
        # A meta-estimator takes weights if all that it wraps do.
        return None if any(weight_keyword(one) is None for one in inner) else _WEIGHT
    parameters = inspect.signature(estimator.fit).parameters.values()
    if not inner or not any(p.kind is p.VAR_KEYWORD for p in parameters):
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


def rows_of(X: Any, rows: Indices | NDArray[np.bool_]) -> Any:
    """Return some rows of an array, a list, a frame, a series or a sparse matrix."""
    if X is None:
        return None
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if sparse.issparse(X):
        return X.tocsr()[rows]
    if isinstance(X, list | tuple):
        return [X[i] for i in rows]
    return X[rows] if hasattr(X, "__getitem__") else np.asarray(X)[rows]


def _wrapped(estimator: object) -> list[Any]:
    """Return the estimators that a meta-estimator wraps."""
    for name in ("estimator", "regressor", "base_estimator"):
        inner = getattr(estimator, name, None)
        if hasattr(inner, "fit"):
            return [inner]
    several = getattr(estimator, "estimators", None)
    if isinstance(several, list):
        return [one for _, one in several if hasattr(one, "fit")]
    return []


def _without_weights(estimator: object) -> str:
    """Return the name of the part of an estimator that takes no weights."""
    if isinstance(estimator, Pipeline):
        last = estimator.steps[-1][1]
        return f"the last step of the pipeline, {_without_weights(last)},"
    inner = [one for one in _wrapped(estimator) if weight_keyword(one) is None]
    if inner:
        return f"{_without_weights(inner[0])} in {type(estimator).__name__}"
    return estimator if isinstance(estimator, str) else type(estimator).__name__


def _request_weights(estimator: Any) -> None:
    """Request weights where they are used, and nowhere else unless the user did.

    Only our own clone is changed.
    """
    users = {id(one) for one in _weight_users(estimator)}
    for part in (estimator, *estimator.get_params(deep=True).values()):
        if isinstance(part, type):
            continue
        for method in ("fit", "score"):
            setter = getattr(part, f"set_{method}_request", None)
            if setter is None or _WEIGHT not in inspect.signature(setter).parameters:
                continue
            requests = getattr(part.get_metadata_routing(), method, None)
            is_requested = requests and requests.requests.get(_WEIGHT) is not None
            # A search scores its held-out rows by their weights too.
            if id(part) in users or not is_requested:
                setter(sample_weight=id(part) in users)
        # The parameter `scoring` of boosting may be "loss", which is not a scorer.
        if getattr(part, "scoring", None) in _SCORER_NAMES:
            scorer = get_scorer(part.scoring)
            if hasattr(scorer, "set_score_request"):
                part.scoring = scorer.set_score_request(sample_weight=True)


def _weight_users(estimator: object) -> list[Any]:
    """Return the estimators that receive weights, meta-estimators included."""
    if isinstance(estimator, Pipeline):
        return _weight_users(estimator.steps[-1][1])
    own = [estimator] if has_fit_parameter(estimator, _WEIGHT) else []
    return own + [user for one in _wrapped(estimator) for user in _weight_users(one)]
