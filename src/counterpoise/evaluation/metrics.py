"""What a prediction is worth, row by row where it can be."""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils import get_tags
from sklearn.utils.multiclass import type_of_target

from counterpoise.numerics.arrays import Array
from counterpoise.validation import (
    InvalidInput,
    InvalidType,
    check_choice,
    n_rows,
    refusals_of_estimators,
    row_counts,
)
from counterpoise.validation.warning import held_back

# No probability is taken for smaller than this: a row costs at most 13.8 nats.
SMALLEST_PROBABILITY = 1e-6

ERROR_RATE = "error_rate"
# What needs no answer of a classifier but its probabilities.
OF_PROBABILITIES = frozenset({"neg_log_loss", "neg_brier_score"})


@dataclass(frozen=True, eq=False)
class Metric:
    """A loss or a score of predictions, in its own units.

    Attributes
    ----------
    name : str
        scikit-learn's name of the scorer, or that of the callable.
    higher_is_better : bool
        False for losses, which are positive: a name that begins with "neg_" is the
        loss without the sign.
    rowwise : bool
        Whether the value is the mean of `rows`.
    root : bool
        Whether the value is the square root of the mean of `rows`.
    lowest, highest : float
        Between these it lies, whatever the rows.

    Notes
    -----
    The root of a mean is taken over all rows and outputs together.
    """

    name: str
    higher_is_better: bool
    rowwise: bool
    root: bool
    by_row: Callable[[Any, Any, NDArray[Any]], Array] | None
    scorer: Callable[..., float] | None
    sign: float = 1.0
    lowest: float = -math.inf
    highest: float = math.inf

    def rows(self, model: Any, X: Any, y: Any) -> Array:
        """Return the metric's value at every row.

        Parameters
        ----------
        model : fitted predictor
        X : table of shape (k, d)
        y : array of shape (k,) or (k, n_outputs)

        Returns
        -------
        array of shape (k,)
        """
        if self.by_row is None:
            raise InvalidInput(
                f"{self.name!r} is no mean over rows: it has no value a row"
            )
        return self.by_row(model, X, np.asarray(y))

    def value(self, model: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the metric over all rows.

        Parameters
        ----------
        model : fitted predictor
        X : table of shape (k, d)
        y : array of shape (k,) or (k, n_outputs)
        sample_weight : array of shape (k,)
            What a row counts.

        Returns
        -------
        float
        """
        if self.by_row is not None:
            rows = self.rows(model, X, y)
            return self.of_mean(
                float(np.average(rows, weights=row_counts(sample_weight, rows.size)))
            )
        assert self.scorer is not None
        counts = {}
        if sample_weight is not None:
            counts["sample_weight"] = row_counts(sample_weight, n_rows(X))
        with refusals_of_estimators():
            return self.sign * float(self.scorer(model, X, y, **counts))

    def of_mean(self, mean: float) -> float:
        """Return the metric's value where the mean of `rows` is known."""
        return float(np.sqrt(max(mean, 0.0))) if self.root else mean


def as_metric(scoring: Any, model: Any, y: Any) -> Metric:
    """Return the metric that a name, a scorer or None stands for.

    Parameters
    ----------
    scoring : str, callable or None
        The name of one of scikit-learn's scorers ("neg_" may be left out), a scorer, or
        any `scorer(model, X, y, sample_weight=...)` of which higher is better. None:
        log-loss of a classifier with `predict_proba`, the error rate of one without,
        the squared error of a regressor, in the mean over outputs.
    model : predictor
        Fitted or not; tells a classifier from a regressor.
    y : array of shape (k,)
        Labels or responses, which tell where the model does not.

    Returns
    -------
    Metric

    Notes
    -----
    Probabilities are clipped to at least 1e-6 in the log-loss (scikit-learn clips at
    the precision of the numbers), and a label that the model has not seen has that
    probability. A scorer must take `sample_weight`: one that does not is refused.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> metric = as_metric(None, Ridge(), [1.0, 2.0])
    >>> metric.name, metric.higher_is_better, metric.rowwise
    ('neg_mean_squared_error', False, True)
    """
    if scoring is None:
        scoring = _usual(model, y)
    if isinstance(scoring, str):
        return _named(scoring)
    if not callable(scoring):
        raise InvalidType(
            "scoring must be the name of a scorer, a callable or None, got "
            f"{type(scoring).__name__}"
        )
    name = getattr(scoring, "__name__", None) or str(scoring)
    _check_takes_weights(scoring, name)
    return Metric(name, True, False, False, None, scoring)


def is_classifier(model: Any, y: Any = None) -> bool:
    """Return whether the model predicts classes; by the labels if it does not say.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> is_classifier(LogisticRegression()), is_classifier(object(), [0.5, 1.2])
    (True, False)
    """
    try:
        kind = get_tags(model).estimator_type
    except (AttributeError, TypeError):
        kind = None
    if kind is None and y is not None:
        with refusals_of_estimators():
            return type_of_target(np.asarray(y)) in ("binary", "multiclass")
    return bool(kind == "classifier")


def class_probabilities(model: Any, X: Any) -> Array:
    """Return `predict_proba` as one array, or an error for several outputs."""
    found = model.predict_proba(X)
    if isinstance(found, list):
        raise InvalidInput(
            "a classifier with several outputs has no single table of probabilities: "
            "evaluate its outputs one by one"
        )
    return np.asarray(found, dtype=float)


def _usual(model: Any, y: Any) -> str:
    if not is_classifier(model, y):
        return "neg_mean_squared_error"
    return "neg_log_loss" if hasattr(model, "predict_proba") else ERROR_RATE


def _named(name: str) -> Metric:
    if name == ERROR_RATE:
        return Metric(name, False, True, False, _errors, None, 1.0, 0.0, 1.0)
    known = get_scorer_names()
    if name not in known and f"neg_{name}" in known:
        name = f"neg_{name}"
    check_choice("scoring", name, [*known, ERROR_RATE])
    loss = name.startswith("neg_")
    sign = -1.0 if loss else 1.0
    low, high = _range(name)
    if name in _ROWS:
        return Metric(name, not loss, True, False, _ROWS[name], None, sign, low, high)
    if name in _ROOTS:
        return Metric(name, False, False, True, _ROOTS[name], None, sign, low, high)
    scorer = get_scorer(name)
    _check_takes_weights(scorer, name)
    return Metric(name, not loss, False, False, None, scorer, sign, low, high)


def _range(name: str) -> tuple[float, float]:
    """Return between which numbers the value of a scorer lies."""
    if name.startswith("neg_"):
        return 0.0, math.inf
    if name in ("r2", "explained_variance") or name.startswith("d2_"):
        return -math.inf, 1.0
    if name == "matthews_corrcoef":
        return -1.0, 1.0
    # What else takes weights is a share or an area.
    return 0.0, 1.0


def _check_takes_weights(scorer: Callable[..., float], name: str) -> None:
    """Refuse a scorer without sample_weight, by its signature or on two rows."""
    refusal = (
        f"the metric {name!r} takes no sample_weight: it cannot be estimated for "
        "another distribution"
    )
    parameters = inspect.signature(scorer).parameters
    if not any(
        p.name == "sample_weight" or p.kind is p.VAR_KEYWORD
        for p in parameters.values()
    ):
        raise InvalidType(refusal)
    if type(scorer).__module__.startswith("sklearn."):
        # Its signature has sample_weight even where the function behind has not.
        try:
            with held_back():
                scorer(_Knowing(), np.arange(2), np.arange(2), sample_weight=np.ones(2))
        except TypeError as error:
            if "sample_weight" in str(error):
                raise InvalidType(refusal) from None
        except Exception:  # what two rows are too few for is no matter here
            return


class _Knowing(ClassifierMixin, BaseEstimator):
    """A model of two rows, 0 and 1, of which it knows the classes."""

    classes_ = np.arange(2)

    def predict(self, X: Any) -> NDArray[Any]:
        return np.arange(2)

    def predict_proba(self, X: Any) -> Array:
        return np.array([[0.9, 0.1], [0.1, 0.9]])


def _log_losses(model: Any, X: Any, y: NDArray[Any]) -> Array:
    p = class_probabilities(model, X)
    own = np.zeros(len(y))
    place = _places(model, y)
    known = place >= 0
    own[known] = p[known, place[known]]
    # A perfect probability costs 0 and not -0.
    return np.abs(np.log(np.clip(own, SMALLEST_PROBABILITY, 1.0)))


def _brier(model: Any, X: Any, y: NDArray[Any]) -> Array:
    p = class_probabilities(model, X)
    place = _places(model, y)
    known = place >= 0
    squares = (p**2).sum(axis=1) + 1.0
    squares[known] -= 2 * p[known, place[known]]
    # Of two classes scikit-learn counts the second alone.
    return np.maximum(squares, 0.0) / (2 if p.shape[1] == 2 else 1)


def _places(model: Any, y: NDArray[Any]) -> NDArray[np.intp]:
    """Return the column of every label among the model's classes, -1 for none."""
    classes = np.asarray(model.classes_)
    order = np.argsort(classes)
    place = np.searchsorted(classes, y, sorter=order)
    place = order[np.minimum(place, classes.size - 1)]
    return np.where(classes[place] == y, place, -1)


def _hits(model: Any, X: Any, y: NDArray[Any]) -> Array:
    return (np.asarray(model.predict(X)) == y).astype(float)


def _errors(model: Any, X: Any, y: NDArray[Any]) -> Array:
    return 1.0 - _hits(model, X, y)


@dataclass(frozen=True)
class _OfResponses:
    """A function of responses and predictions as one of a model."""

    function: Callable[[Array, Array], Array]

    def __call__(self, model: Any, X: Any, y: NDArray[Any]) -> Array:
        y = np.asarray(y, dtype=float)
        predicted = np.asarray(model.predict(X), dtype=float).reshape(y.shape)
        values = self.function(y, predicted)
        return values if values.ndim == 1 else values.mean(axis=1)


def _squared(y: Array, predicted: Array) -> Array:
    return (y - predicted) ** 2


def _absolute(y: Array, predicted: Array) -> Array:
    return np.abs(y - predicted)


def _percentage(y: Array, predicted: Array) -> Array:
    return np.abs(y - predicted) / np.maximum(np.abs(y), np.finfo(float).eps)


def _squared_log(y: Array, predicted: Array) -> Array:
    _check_above("squared log error", "above -1", y > -1, predicted > -1)
    return (np.log1p(y) - np.log1p(predicted)) ** 2


def _poisson(y: Array, predicted: Array) -> Array:
    _check_above(
        "Poisson deviance", "at least 0 (predictions above 0)", y >= 0, predicted > 0
    )
    logs = np.log(np.where(y > 0, y, 1.0) / predicted)
    return 2 * (np.where(y > 0, y * logs, 0.0) - y + predicted)


def _gamma(y: Array, predicted: Array) -> Array:
    _check_above("gamma deviance", "above 0", y > 0, predicted > 0)
    return 2 * (np.log(predicted / y) + y / predicted - 1)


def _check_above(
    what: str, bound: str, y_fits: NDArray[np.bool_], fits: NDArray[np.bool_]
) -> None:
    for name, right in (("y", y_fits), ("the prediction", fits)):
        if not right.all():
            row = int(np.argwhere(~right)[0][0])
            raise InvalidInput(
                f"the {what} needs numbers {bound}: {name} is not in row {row} "
                "(counted from 0)"
            )


_ROWS: dict[str, Callable[[Any, Any, NDArray[Any]], Array]] = {
    "neg_log_loss": _log_losses,
    "neg_brier_score": _brier,
    "accuracy": _hits,
    "neg_mean_squared_error": _OfResponses(_squared),
    "neg_mean_absolute_error": _OfResponses(_absolute),
    "neg_mean_absolute_percentage_error": _OfResponses(_percentage),
    "neg_mean_squared_log_error": _OfResponses(_squared_log),
    "neg_mean_poisson_deviance": _OfResponses(_poisson),
    "neg_mean_gamma_deviance": _OfResponses(_gamma),
}
_ROOTS: dict[str, Callable[[Any, Any, NDArray[Any]], Array]] = {
    "neg_root_mean_squared_error": _OfResponses(_squared),
    "neg_root_mean_squared_log_error": _OfResponses(_squared_log),
}
