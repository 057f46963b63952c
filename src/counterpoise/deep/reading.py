"""What a user gives a network, checked and laid flat."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.validation import (
    InvalidInput,
    as_classes,
    as_weights,
    check_choice,
    estimator_samples,
    row_counts,
)

CLASS_WEIGHTS = ("moving", "selection")


class RowsAsRead(NamedTuple):
    """Source rows that count with the places of their classes, and the target.

    `shape` is what a row has before it was laid flat.
    """

    X: Array
    y: Indices
    weight: Array
    target: Array | None
    classes: NDArray[Any]
    shape: tuple[int, ...]


def flat(X: Any, shape: tuple[int, ...] | None = None) -> tuple[Any, tuple[int, ...]]:
    """Return rows of more dimensions as vectors, and the shape that a row had.

    Pieces of a tuple are laid flat one by one; all rows must have one shape.
    """
    if isinstance(X, tuple):
        pieces = [flat(piece, shape) for piece in X]
        return tuple(piece for piece, _ in pieces), pieces[0][1] if pieces else ()
    dimensions = tuple(getattr(X, "shape", ()))
    if len(dimensions) <= 2:
        return X, dimensions[1:]
    if shape is not None and dimensions[1:] != shape:
        raise InvalidInput(f"rows have the shape {dimensions[1:]}, fit had {shape}")
    return np.asarray(X).reshape(len(X), -1), dimensions[1:]


def read_rows(
    estimator: Any, X: Any, y: Any, X_target: Any, sample_weight: Any
) -> RowsAsRead:
    """Return both samples as they were read; columns are remembered."""
    shape: tuple[int, ...] = ()
    if estimator.extractor is not None:
        X, shape = flat(X)
        if X_target is not None:
            X_target, _ = flat(X_target, shape)
    X, target = estimator_samples(estimator, X, X_target, reset=True)
    labels = as_classes(y, len(X))
    weight = row_counts(sample_weight, len(X))
    used = weight > 0.0
    classes, places = np.unique(labels[used], return_inverse=True)
    if classes.size < 2:
        raise InvalidInput(
            f"y has 1 class, {classes[0]!r}: a classifier needs two classes or more"
        )
    return RowsAsRead(
        X[used], places, weight[used], target, classes, shape or (X.shape[1],)
    )


def read_class_weight(value: Any, classes: NDArray[Any]) -> Array | str:
    """Return weights of the classes: numbers, or the word for a rule.

    None: ones. A mapping names classes; those that it leaves out have weight one.
    """
    if value is None:
        return np.ones(classes.size)
    if isinstance(value, str):
        return check_choice("class_weight", value, CLASS_WEIGHTS)
    if isinstance(value, Mapping):
        unknown = set(value) - set(classes.tolist())
        if unknown:
            raise InvalidInput(f"class_weight names {sorted(unknown)!r}, not in y")
        value = [value.get(label, 1.0) for label in classes.tolist()]
    return as_weights(value, classes.size, name="class_weight", of="classes_")
