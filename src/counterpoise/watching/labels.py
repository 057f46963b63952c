"""Labels of a stream: some, later, by place or with their rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.evaluation.answers import (
    Answers,
    ClassifierAnswers,
    RegressorAnswers,
)
from counterpoise.numerics.arrays import Indices
from counterpoise.validation import InvalidInput, as_classes, as_responses
from counterpoise.watching.state import SeenChunk, WatchState


def labelled_part(y: Any, n: int, state: WatchState) -> tuple[Indices, NDArray[Any]]:
    """Return which rows have a label, and these labels.

    Missing are None, NaN and pandas' own NA.
    """
    values = np.asarray(y, dtype=object).reshape(-1)
    if values.size != n:
        raise InvalidInput(f"y has {values.size} entries, and X has {n} rows")
    there = np.array([not is_missing(one) for one in values], dtype=bool)
    rows = np.flatnonzero(there)
    return rows, as_labels(values[rows], state)


def as_labels(values: NDArray[Any], state: WatchState) -> NDArray[Any]:
    """Return labels or responses of the kind that the reference had."""
    if values.size == 0:
        return np.zeros(0)
    if not state.is_classifier:
        return as_responses(values.astype(float), values.size, name="y")
    classes = np.asarray(state.classes)
    if classes.dtype.kind in "OUS":
        return as_classes(values.astype(classes.dtype), values.size, name="y")
    try:
        numbers = values.astype(float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"y has labels that are no numbers, in the reference they were: {error}"
        ) from error
    return as_classes(numbers.astype(classes.dtype), values.size, name="y")


def place_labels(
    state: WatchState, chunk: SeenChunk, rows: Any, y: Any
) -> tuple[Answers, NDArray[Any]]:
    """Return the model's answers at rows of a chunk, and their labels."""
    values = np.asarray(y, dtype=object).reshape(-1)
    if not _are_places(rows):
        answers = Answers.of(state.model, [rows], state.is_classifier)
        there, labels = labelled_part(y, len(answers.rows), state)
        return answers.take(there), labels
    places = np.asarray(rows, dtype=np.intp)
    if values.size != places.size:
        raise InvalidInput(f"y has {values.size} entries, and rows has {places.size}")
    if chunk.said is None or chunk.labelled is None:
        raise InvalidInput(
            f"the model's answers of chunk {chunk.time!r} are no longer kept: give the "
            "rows themselves instead of their places"
        )
    if places.size and (places.min() < 0 or places.max() >= chunk.n_rows):
        raise InvalidInput(
            f"rows must be from 0 to {chunk.n_rows - 1}, the chunk has {chunk.n_rows}"
        )
    twice = np.unique(places).size < places.size or chunk.labelled[places].any()
    if twice:
        raise InvalidInput(
            f"some rows of chunk {chunk.time!r} have a label already: a label counts "
            "once"
        )
    there, labels = labelled_part(y, places.size, state)
    chunk.labelled[places[there]] = True
    kind = ClassifierAnswers if state.is_classifier else RegressorAnswers
    classes = None if state.classes is None else np.asarray(state.classes)
    return kind(chunk.said, classes).take(places[there]), labels


def _are_places(rows: Any) -> bool:
    if hasattr(rows, "columns") or hasattr(rows, "schema"):
        return False
    return np.ndim(rows) == 1 and (
        np.size(rows) == 0 or np.asarray(rows).dtype.kind in "iu"
    )


def is_missing(value: Any) -> bool:
    """Return whether a label is None, NaN or pandas' own NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        # pandas' NA is neither equal nor unequal to itself.
        return True
