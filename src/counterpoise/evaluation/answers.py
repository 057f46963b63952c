"""What a model said of some rows, standing for the model itself."""

from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from counterpoise.evaluation.metrics import class_probabilities
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.validation import refusals_of_estimators

_METHODS = ("predict", "predict_proba", "decision_function")


Method = TypeVar("Method", bound=Callable[..., Any])


def _said(method: str) -> Callable[[Method], Method]:
    """Return a decorator: a method is there if the model had it."""
    decorator: Callable[[Method], Method] = available_if(
        lambda self: method in self.said
    )
    return decorator


class Answers(BaseEstimator):
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

    def __init__(
        self, said: dict[str, NDArray[Any]], classes: NDArray[Any] | None = None
    ) -> None:
        self.said = said
        self.classes = classes
        if classes is not None:
            self.classes_ = classes

    @classmethod
    def of(
        cls,
        model: Any,
        tables: Sequence[Any],
        classifier: bool,
        methods: Sequence[str] | None = None,
    ) -> "Answers":
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
        said: dict[str, NDArray[Any]] = {}
        asked = _METHODS if classifier else _METHODS[:1]
        for method in asked if methods is None else methods:
            ask = (
                (lambda X: class_probabilities(model, X))
                if method == "predict_proba"
                else getattr(model, method, None)
            )
            if ask is not None and hasattr(model, method):
                with refusals_of_estimators():
                    told = [np.asarray(ask(X)) for X in tables]
                said[method] = np.concatenate(told)
        kind = ClassifierAnswers if classifier else RegressorAnswers
        classes = getattr(model, "classes_", None) if classifier else None
        return kind(said, None if classes is None else np.asarray(classes))

    def take(self, rows: Any) -> Self:
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

    @_said("predict")
    def predict(self, rows: Any) -> NDArray[Any]:
        """Return what the model predicted there."""
        return self.said["predict"][rows]

    @_said("predict_proba")
    def predict_proba(self, rows: Any) -> Array:
        """Return the probabilities that the model gave."""
        return self.said["predict_proba"][rows]

    @_said("decision_function")
    def decision_function(self, rows: Any) -> Array:
        """Return the scores that the model gave."""
        return self.said["decision_function"][rows]


class ClassifierAnswers(ClassifierMixin, Answers):
    """Answers of a classifier."""


class RegressorAnswers(RegressorMixin, Answers):
    """Answers of a regressor."""


def joined_answers(parts: Sequence[Answers], places: Sequence[Indices]) -> Answers:
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
        pieces = [
            _on_classes(part, method, classes)
            if classes is not None
            else part.said[method]
            for part in parts
        ]
        if len({piece.shape[1:] for piece in pieces}) > 1:
            continue
        out = np.empty((n, *pieces[0].shape[1:]), np.result_type(*pieces))
        for piece, place in zip(pieces, places, strict=True):
            out[place] = piece
        said[method] = out
    return type(first)(said, classes)


def _on_classes(part: Answers, method: str, classes: NDArray[Any]) -> NDArray[Any]:
    answer = part.said[method]
    assert part.classes is not None
    if method != "predict_proba" or len(part.classes) == len(classes):
        return answer
    wide = np.zeros((len(answer), len(classes)))
    wide[:, np.searchsorted(classes, part.classes)] = answer
    return wide
