"""What a classifier of the source says of target rows."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from counterpoise.adaptation.routing import fit_weighted, weight_keyword
from counterpoise.numerics.arrays import Array
from counterpoise.selection.source_classifier import common_components
from counterpoise.validation import InvalidInput, n_rows, refusals_of_estimators


@dataclass(frozen=True, eq=False)
class TargetProbabilities:
    """Class probabilities of target rows, and where these rows lie.

    Attributes
    ----------
    classes : array of shape (K,)
    probabilities : array of shape (m, K)
    points : array of shape (m, q)
        In which neighbours are looked for.
    recalls : array of shape (K,) or None
        Of each class, the share of its source rows that are given to it; None: all.
    """

    classes: NDArray[Any]
    probabilities: Array
    points: Array
    recalls: Array | None = None

    def with_points(self, source: Any, target: Any, seed: int) -> "TargetProbabilities":
        """Return the same, its rows in the common components of both samples."""
        if sparse.issparse(source):
            source, target = source.toarray(), target.toarray()
        return replace(self, points=common_components(source, target, seed)[1])


def of_components(
    X: Array, y: NDArray[Any], X_target: Array, counts: Array, seed: int
) -> TargetProbabilities:
    """Return what logistic regression says, in the common components of both."""
    check_two_classes(y)
    source, target = common_components(X, X_target, seed)
    with refusals_of_estimators():
        model = LogisticRegression(max_iter=1000).fit(source, y, counts)
    recalls = _recalls(model.classes_, model.predict(source), y, counts)
    return TargetProbabilities(
        model.classes_, model.predict_proba(target), target, recalls
    )


def of_classifier(
    classifier: Any,
    X: Any,
    y: NDArray[Any],
    X_target: Any,
    counts: Array | None,
    seed: int,
) -> TargetProbabilities:
    """Return what somebody's classifier says; pieces of a tuple one after another.

    Weights are handed over where they differ and the classifier takes some.
    """
    check_two_classes(y)
    differ = counts is not None and np.ptp(counts) > 0.0
    given = counts if differ and weight_keyword(classifier) is not None else None
    model = fit_weighted(classifier, X, y, given)
    if not hasattr(model, "predict_proba"):
        raise InvalidInput(
            f"classifier must have predict_proba, {type(classifier).__name__} has not"
        )
    pieces = X_target if isinstance(X_target, tuple) else (X_target,)
    try:
        with refusals_of_estimators():
            p = np.vstack([np.asarray(model.predict_proba(a), float) for a in pieces])
    except InvalidInput as error:
        raise InvalidInput(f"X_target{_first_hole(pieces)}: {error}") from error
    if not np.isfinite(p).all():
        row = int(np.argmax(~np.isfinite(p).all(axis=1)))
        raise InvalidInput(f"the probabilities of target row {row} are not finite")
    classes = np.asarray(model.classes_)
    with refusals_of_estimators():
        own = model.predict(X)
    weight = np.ones(len(y)) if counts is None else counts
    recalls = _recalls(classes, own, y, weight)
    return TargetProbabilities(classes, p, np.zeros((len(p), 1)), recalls)


def check_two_classes(y: NDArray[Any]) -> None:
    """Refuse labels of one class."""
    if np.unique(y).size < 2:
        raise InvalidInput(
            f"y has 1 class, {y[:1].tolist()[0]!r}: two classes or more are needed"
        )


def _first_hole(pieces: tuple[Any, ...]) -> str:
    """Return where the first missing number of tables is, if there is one."""
    before = 0
    for piece in pieces:
        table = np.empty(0) if sparse.issparse(piece) else np.asarray(piece)
        if table.dtype.kind == "f" and np.isnan(table).any():
            holes = np.argwhere(np.isnan(table))
            row, column = holes[0].tolist()
            return f", row {before + row}, column {column} (counted from 0)"
        before += n_rows(piece)
    return ""


def _recalls(classes: Any, own: Any, y: Any, weight: Array) -> Array:
    """Return of each class the share of its rows that a classifier gives to it."""
    places = np.searchsorted(classes, y)
    right = np.bincount(places, weight * (np.asarray(own) == y), classes.size)
    out: Array = right / np.bincount(places, weight, classes.size)
    return out
