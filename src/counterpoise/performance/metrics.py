"""Metrics: predictions, values, calibration and changes of a score."""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target

from counterpoise.data.arrays import Classifier, Regressor, n_rows
from counterpoise.data.columns import FEWEST_ROWS_REPORTED
from counterpoise.data.labels_and_weights import row_counts
from counterpoise.data.parameters import check_choice
from counterpoise.data.two_samples import effective_sample_size
from counterpoise.errors import (
    InvalidInputError,
    InvalidTypeError,
    estimator_errors,
    suppress_warnings,
)
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.performance.intervals import wilson_interval

# Classes or responses, a row each; and a metric of a model at rows with labels.
Labels: TypeAlias = NDArray[Any]
RowMetric: TypeAlias = Callable[[Any, Any, Labels], Array]

# -----------------------------------------------------------------------------
# How a score changes from the source to the target, in words.
# -----------------------------------------------------------------------------


# What "about the same" means, in shares of the score: a half width of the interval,
# or a difference and a whole width.
NARROW_HALF_WIDTH, CLOSE_DIFFERENCE, NARROW_WIDTH = 0.15, 0.1, 0.5
# How a score changes, in a word, and by which rule, for a person.
SAME, CANNOT_TELL, WORSE, BETTER = (
    "about the same",
    "cannot be told well",
    "worse",
    "better",
)
RULE = {
    SAME: "the training score lies in the interval, which is at most "
    f"{200 * NARROW_HALF_WIDTH:.0f} % as wide as that score, or narrower than "
    f"{100 * NARROW_WIDTH:.0f} % of a value that is within "
    f"{100 * CLOSE_DIFFERENCE:.0f} % of it",
    CANNOT_TELL: "the training score lies in the interval, which is too wide to call "
    "them the same",
    WORSE: "the training score lies outside the interval",
    BETTER: "the training score lies outside the interval",
}
# A gain of so many standard errors is clear, of so many likely.
CLEAR_GAIN, LIKELY_GAIN = 2.0, 1.0
CLEAR, LIKELY, WEAK = "clear", "likely", "weak"


def is_within(source: float, low: float | None, high: float | None) -> bool:
    """Return whether the source's score lies in the interval of the target's.

    Examples
    --------
    >>> is_within(1.0, 0.9, 1.2), is_within(1.0, None, None)
    (True, False)
    """
    return low is not None and high is not None and low <= source <= high


def is_about_the_same(
    source: float, value: float, low: float | None, high: float | None
) -> bool:
    """Return whether the target's score is the source's, and well enough known.

    The source's score lies in the interval :math:`[l, h]` of the target's value
    :math:`v`, and of its size :math:`s` either :math:`h - l \\le 0.3 s`, or
    :math:`|v - s| < 0.1 s` and :math:`h - l < 0.5 |v|`.

    Examples
    --------
    >>> is_about_the_same(1.0, 1.05, 0.9, 1.2), is_about_the_same(1.0, 1.5, 0.9, 2.1)
    (True, False)
    """
    if low is None or high is None or not is_within(source, low, high):
        return False
    width, unit = high - low, abs(source)
    is_close = abs(value - source) < CLOSE_DIFFERENCE * unit
    return bool(
        width <= 2 * NARROW_HALF_WIDTH * unit
        or (is_close and width < NARROW_WIDTH * abs(value))
    )


def change_of(
    source: float,
    value: float,
    low: float | None,
    high: float | None,
    *,
    higher_is_better: bool,
) -> str:
    """Return the one word for how a score changes from the source to the target.

    "About the same" by `is_about_the_same`; "cannot be told well" where the source's
    score lies in the target's interval all the same; else "worse" or "better".

    Examples
    --------
    >>> change_of(1.0, 1.5, 1.2, 1.8, higher_is_better=False)
    'worse'
    """
    if is_about_the_same(source, value, low, high):
        return SAME
    if is_within(source, low, high):
        return CANNOT_TELL
    is_worse = value < source if higher_is_better else value > source
    return WORSE if is_worse else BETTER


def sureness_of_gain(gain: float, error: float) -> str:
    """Return how sure a gain is by its standard error: clear, likely or weak.

    Clear from two standard errors on, :math:`g / e \\ge 2`, likely from one on. That a
    model *is* better is said of clear gains alone. Where weights make no difference the
    guard, which asks for one standard error, uses some in up to 30 of 100 draws of 300
    to 1,000 rows judged by accuracy or AUC, and their gain is clear in up to 5; judged
    by log-loss or squared error it uses some in 2 or 3, and next to none are clear.

    Examples
    --------
    >>> sureness_of_gain(0.3, 0.1), sureness_of_gain(0.05, 0.1)
    ('clear', 'weak')
    """
    times = gain / error
    return CLEAR if times >= CLEAR_GAIN else LIKELY if times >= LIKELY_GAIN else WEAK


# -----------------------------------------------------------------------------
# What a prediction is worth, row by row where it can be.
# -----------------------------------------------------------------------------


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
    by_row: RowMetric | None
    scorer: Callable[..., float] | None
    sign: float = 1.0
    lowest: float = -math.inf
    highest: float = math.inf

    def rows(self, model: Any, X: object, y: ArrayLike) -> Array:
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
            raise InvalidInputError(
                f"{self.name!r} is no mean over rows: it has no value a row"
            )
        return self.by_row(model, X, np.asarray(y))

    def value(
        self,
        model: Any,
        X: object,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> float:
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
        with estimator_errors():
            return self.sign * float(self.scorer(model, X, y, **counts))

    def of_mean(self, mean: float) -> float:
        """Return the metric's value where the mean of `rows` is known."""
        return float(np.sqrt(max(mean, 0.0))) if self.root else mean


def as_metric(scoring: object, model: object, y: ArrayLike | None) -> Metric:
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
    if scoring is None and not is_classifier(model, y):
        scoring = "neg_mean_squared_error"
    elif scoring is None:
        scoring = "neg_log_loss" if hasattr(model, "predict_proba") else ERROR_RATE
    if isinstance(scoring, str):
        return _named(scoring)
    if not callable(scoring):
        raise InvalidTypeError(
            "scoring must be the name of a scorer, a callable or None, got "
            f"{type(scoring).__name__}"
        )
    name = getattr(scoring, "__name__", None) or str(scoring)
    _check_takes_weights(scoring, name)
    return Metric(name, True, False, False, None, scoring)


def is_classifier(model: object, y: ArrayLike | None = None) -> bool:
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
        with estimator_errors():
            return type_of_target(np.asarray(y)) in ("binary", "multiclass")
    return bool(kind == "classifier")


def class_probabilities(model: Classifier, X: Any) -> Array:
    """Return `predict_proba` as one array, or an error for several outputs."""
    found = model.predict_proba(X)
    if isinstance(found, list):
        raise InvalidInputError(
            "a classifier with several outputs has no single table of probabilities: "
            "evaluate its outputs one by one"
        )
    return np.asarray(found, dtype=float)


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
        raise InvalidTypeError(refusal)
    if type(scorer).__module__.startswith("sklearn."):
        # Its signature has sample_weight even where the function behind has not.
        try:
            with suppress_warnings():
                scorer(_Knowing(), np.arange(2), np.arange(2), sample_weight=np.ones(2))
        except TypeError as error:
            if "sample_weight" in str(error):
                raise InvalidTypeError(refusal) from None
        except Exception:  # what two rows are too few for is no matter here
            return


class _Knowing(ClassifierMixin, BaseEstimator):
    """A model of two rows, 0 and 1, of which it knows the classes."""

    classes_ = np.arange(2)

    def predict(self, X: Any) -> Labels:
        return np.arange(2)

    def predict_proba(self, X: Any) -> Array:
        return np.array([[0.9, 0.1], [0.1, 0.9]])


def _log_losses(model: Classifier, X: object, y: Labels) -> Array:
    p = class_probabilities(model, X)
    own = np.zeros(len(y))
    place = _places(model, y)
    known = place >= 0
    own[known] = p[known, place[known]]
    # A perfect probability costs 0 and not -0.
    return np.abs(np.log(np.clip(own, SMALLEST_PROBABILITY, 1.0)))


def _brier(model: Classifier, X: object, y: Labels) -> Array:
    p = class_probabilities(model, X)
    place = _places(model, y)
    known = place >= 0
    squares = (p**2).sum(axis=1) + 1.0
    squares[known] -= 2 * p[known, place[known]]
    # Of two classes scikit-learn counts the second alone.
    return np.maximum(squares, 0.0) / (2 if p.shape[1] == 2 else 1)


def _places(model: Classifier, y: Labels) -> NDArray[np.intp]:
    """Return the column of every label among the model's classes, -1 for none."""
    classes = np.asarray(model.classes_)
    order = np.argsort(classes)
    place = np.searchsorted(classes, y, sorter=order)
    place = order[np.minimum(place, classes.size - 1)]
    return np.where(classes[place] == y, place, -1)


def _hits(model: Regressor, X: object, y: Labels) -> Array:
    return (np.asarray(model.predict(X)) == y).astype(float)


def _errors(model: Regressor, X: object, y: Labels) -> Array:
    return 1.0 - _hits(model, X, y)


@dataclass(frozen=True)
class _OfResponses:
    """A function of responses and predictions as one of a model."""

    function: Callable[[Array, Array], Array]

    def __call__(self, model: Any, X: object, y: Labels) -> Array:
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
            raise InvalidInputError(
                f"the {what} needs numbers {bound}: {name} is not in row {row} "
                "(counted from 0)"
            )


_ROWS: dict[str, RowMetric] = {
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
_ROOTS: dict[str, RowMetric] = {
    "neg_root_mean_squared_error": _OfResponses(_squared),
    "neg_root_mean_squared_log_error": _OfResponses(_squared_log),
}


# -----------------------------------------------------------------------------
# What a model said of some rows, standing for the model itself.
# -----------------------------------------------------------------------------


_METHODS = ("predict", "predict_proba", "decision_function")


def _answer_of(method: str) -> Any:
    """Return a method that gives answers back; available if the model has it."""

    def answer(self: "Predictions", rows: Any) -> Labels:
        return self.said[method][rows]

    # Scorers look at the name.
    answer.__name__ = method
    return available_if(lambda self: method in self.said)(answer)


class Predictions(BaseEstimator):
    """A model's answers at rows, given back for the places of rows.

    Metrics and scorers ask it as they would ask the model, so that a model is asked
    once however often a metric is computed.

    Attributes
    ----------
    said : dict of arrays
        What the methods of the model gave, a row each.
    classes_ : array of shape (n_classes,)
        Of classifiers.
    """

    def __init__(self, said: dict[str, Labels], classes: Labels | None = None) -> None:
        self.said = said
        self.classes = classes
        if classes is not None:
            self.classes_ = classes

    @classmethod
    def of(
        cls,
        model: Any,
        tables: Sequence[object],
        classifier: bool,
        methods: Sequence[str] | None = None,
    ) -> "Predictions":
        """Return what the model says of the rows of all tables, one after another.

        Parameters
        ----------
        model : fitted predictor
        tables : sequence of tables
        classifier : bool
            Whether it may have more to say than `predict`.
        methods : sequence of str or None
            Which methods to ask, of those it has. None: all.
        """
        said: dict[str, Labels] = {}
        if methods is None:
            methods = _METHODS if classifier else _METHODS[:1]
        for method in methods:
            if not hasattr(model, method):
                continue
            with estimator_errors():
                if method == "predict_proba":
                    parts = [class_probabilities(model, X) for X in tables]
                else:
                    parts = [np.asarray(getattr(model, method)(X)) for X in tables]
            said[method] = np.concatenate(parts)
        kind = ClassifierPredictions if classifier else RegressorPredictions
        classes = getattr(model, "classes_", None) if classifier else None
        return kind(said, None if classes is None else np.asarray(classes))

    def take(self, rows: Indices | slice) -> Self:
        """Return the answers at some of the rows."""
        said = {method: answer[rows] for method, answer in self.said.items()}
        return type(self)(said, self.classes)

    @property
    def rows(self) -> Indices:
        """The places of all rows, which stand for X."""
        return np.arange(len(next(iter(self.said.values()))))

    @property
    def columns(self) -> Array:
        """The answers as numbers, a row each: probabilities or predictions."""
        if "predict_proba" in self.said:
            p = self.said["predict_proba"]
            # The first column follows from the others.
            return np.asarray(p[:, 1:], dtype=float)
        if "decision_function" in self.said:
            values = np.asarray(self.said["decision_function"], dtype=float)
        elif self.classes is not None:
            values = np.searchsorted(self.classes, self.said["predict"]).astype(float)
        else:
            values = np.asarray(self.said["predict"], dtype=float)
        return values.reshape(len(values), -1)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> Self:
        """Return itself: there is nothing to learn."""
        return self

    predict = _answer_of("predict")
    predict_proba = _answer_of("predict_proba")
    decision_function = _answer_of("decision_function")


class ClassifierPredictions(ClassifierMixin, Predictions):
    """Answers of a classifier."""


class RegressorPredictions(RegressorMixin, Predictions):
    """Answers of a regressor."""


def joined_predictions(
    parts: Sequence[Predictions], places: Sequence[Indices]
) -> Predictions:
    """Return answers of parts of the rows, each put back in its places.

    Parts that do not know a class give it the probability zero; what else has a column
    a class is left out unless all parts know the same classes.
    """
    first = parts[0]
    n = sum(len(place) for place in places)
    classes = None
    alike = True
    if first.classes is not None:
        classes = np.unique(np.concatenate([part.classes for part in parts]))
        alike = all(
            part.classes is not None and np.array_equal(part.classes, classes)
            for part in parts
        )
    said = {}
    for method in first.said:
        if not all(method in part.said for part in parts):
            continue
        if method == "decision_function" and not alike:
            continue
        pieces = [part.said[method] for part in parts]
        if method == "predict_proba" and classes is not None:
            pieces = [_on_classes(part, classes) for part in parts]
        if len({piece.shape[1:] for piece in pieces}) > 1:
            continue
        out = np.empty((n, *pieces[0].shape[1:]), np.result_type(*pieces))
        for piece, place in zip(pieces, places, strict=True):
            out[place] = piece
        said[method] = out
    return type(first)(said, classes)


def _on_classes(part: Predictions, classes: Labels) -> Array:
    """Return probabilities over all classes, zero for those a part does not know."""
    assert part.classes is not None
    wide = np.zeros((len(part.rows), len(classes)))
    wide[:, np.searchsorted(classes, part.classes)] = part.said["predict_proba"]
    return wide


# -----------------------------------------------------------------------------
# Whether a classifier's probabilities come true as often as they say.
# -----------------------------------------------------------------------------


_N_BINS = 10


def reliability_of(
    answers: Predictions, labels: Labels, weights: Array
) -> dict[str, Any] | None:
    """Return the same of a model's answers; None of one without probabilities.

    Parameters
    ----------
    answers : Answers
        Of the model, at the rows.
    labels : array of shape (n,)
    weights : array of shape (n,)
        Density ratio target/source at the rows.
    """
    if answers.classes is None or "predict_proba" not in answers.said:
        return None
    p = answers.said["predict_proba"]
    if p.shape[1] == 2:
        predicted, true = p[:, 1], labels == answers.classes[1]
    else:
        predicted = p.max(axis=1)
        true = answers.classes[p.argmax(axis=1)] == labels
    return reliability(predicted, true, weights)


def reliability(
    predicted: Array, came_true: Array, weights: Array, level: float = 0.95
) -> dict[str, Any] | None:
    r"""Return observed against predicted frequencies, in bins of equal weight.

    The interval of a bin is Wilson's, with the effective number of its rows; `error` is
    the mean of :math:`|observed - predicted|` by weight.

    Parameters
    ----------
    predicted : array of shape (n,)
        Probability of the second class of two, of the likeliest class of more.
    came_true : array of shape (n,)
        Whether it was so, 0 or 1.
    weights : array of shape (n,)
        Density ratio target/source at the rows.
    """
    order = np.argsort(predicted, kind="stable")
    p, y, w = predicted[order], came_true[order].astype(float), weights[order]
    if w.sum() <= 0 or p.size < FEWEST_ROWS_REPORTED:
        return None
    w = w / w.sum()
    place = np.minimum((np.cumsum(w) - w / 2) * _N_BINS, _N_BINS - 1).astype(int)
    quantile = float(norm.ppf(0.5 + level / 2))
    bins, error = [], 0.0
    for k in range(_N_BINS):
        there = place == k
        mass = float(w[there].sum())
        if np.count_nonzero(there) < FEWEST_ROWS_REPORTED or mass <= 0:
            continue
        share = w[there] / mass
        said, seen = float(share @ p[there]), float(share @ y[there])
        found = wilson_interval(
            seen, effective_sample_size(share), quantile, lowest=0.0, highest=1.0
        )
        bins.append(
            {
                "predicted": said,
                "observed": seen,
                "low": max(found.low, 0.0),
                "high": min(found.high, 1.0),
                "share": mass,
            }
        )
        error += mass * abs(seen - said)
    return {"bins": bins, "error": error} if bins else None
