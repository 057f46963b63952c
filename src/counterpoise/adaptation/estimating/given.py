"""What `estimate_performance` was given: labels, groups, labelled rows, numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from counterpoise.evaluation.answers import Answers
from counterpoise.evaluation.metrics import OF_PROBABILITIES, Metric
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.validation import (
    InvalidInput,
    Matrix,
    as_classes,
    as_responses,
    as_weights,
    check_same_columns,
    n_rows,
    two_samples,
)

# Rows of either sample that are weighed and that teach the model of the loss.
ROWS_WEIGHED = 5_000
# Labelled target rows that have a spread.
_FEWEST_LABELLED = 2


def labels_of(y: Any, n: int, classifier: bool, name: str) -> NDArray[Any]:
    """Return classes, or responses as numbers, one a row."""
    if classifier:
        return as_classes(y, n, name=name)
    return as_responses(y, n, multi_output=np.ndim(y) == 2, name=name)


def several(metrics: Any) -> list[Any]:
    """Return the metrics that were named, one or many; None is the usual one."""
    if metrics is None or isinstance(metrics, str) or callable(metrics):
        return [metrics]
    found = list(metrics)
    if not found:
        raise InvalidInput("metrics is empty: name one, or None for the usual one")
    return found


def methods_asked(
    metrics: Sequence[Metric], model: Any, classifier: bool
) -> tuple[str, ...] | None:
    """Return the methods of a model that its metrics need, None for all it has.

    Large tables are asked for no more than that: every answer takes its time.
    """
    if not (classifier and hasattr(model, "predict_proba")):
        return None
    if any(metric.by_row is None for metric in metrics):
        return None
    if all(metric.name in OF_PROBABILITIES for metric in metrics):
        return ("predict_proba",)
    return ("predict", "predict_proba")


def group_numbers(groups: Any, n: int) -> Indices | None:
    """Return the groups as numbers from zero."""
    if groups is None:
        return None
    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise InvalidInput(
            f"groups must have an entry for each of the {n} rows of X, got shape "
            f"{groups.shape}"
        )
    return np.unique(groups, return_inverse=True)[1]


def some_rows(n: int, seed: int) -> Indices:
    """Return the places of all rows, or of some drawn by chance."""
    if n <= ROWS_WEIGHED:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, ROWS_WEIGHED, replace=False))


def labelled_rows(
    model: Any,
    X: Any,
    X_lab: Any,
    y_lab: Any,
    classifier: bool,
    asked: Sequence[str] | None,
) -> tuple[Answers, NDArray[Any]] | None:
    """Return what the model says of labelled target rows, and their labels, if any."""
    if (X_lab is None) != (y_lab is None):
        missing = "X_lab" if X_lab is None else "y_lab"
        raise InvalidInput(f"X_lab and y_lab belong together, {missing} is missing")
    if X_lab is None:
        return None
    check_same_columns(X, X_lab, name="X_lab")
    k = n_rows(X_lab)
    if k < _FEWEST_LABELLED:
        raise InvalidInput(f"X_lab has {k} row, at least 2 are needed for an interval")
    return Answers.of(model, [X_lab], classifier, asked), labels_of(
        y_lab, k, classifier, "y_lab"
    )


def as_numbers(
    samples: SamplesAsRead, X_lab: Any, counts: Array
) -> tuple[SamplesAsRead, Matrix | None, Sequence[str] | None]:
    """Return both samples and labelled target rows, encoded alike, and their names."""
    if X_lab is None:
        samples.refuse_huge(by_label=True)
        return samples, None, None
    if samples.tables is None or sparse.issparse(X_lab):
        if samples.tables is not None and not samples.is_plain:
            assert samples.given is not None
            two_samples(*samples.given, accept_sparse=True)
        lab = two_samples(X_lab, None, accept_sparse=True)[0]
        return samples, lab, samples.matrix_names
    # The encoder learns from the labelled rows too, which are target rows.
    source, target = samples.tables
    together = SamplesAsRead.read(source, (target, X_lab))
    together.refuse_huge(by_label=True)
    if samples.is_plain and together.is_plain:
        return samples, together.target[len(target) :], samples.matrix_names
    part = slice(len(target))
    numbers = SamplesAsRead.of_matrices(together.source, together.target[part], counts)
    encoder = together.encoder
    names = together.matrix_names if encoder is None else encoder.names_
    return numbers, together.target[len(target) :], names


def weighed_rows(samples: SamplesAsRead, some: Indices, aims: Indices) -> SamplesAsRead:
    """Return the rows that are weighed, which are all where they are few."""
    sizes = samples.source_weight.size, samples.target_weight.size
    if sizes == (some.size, aims.size):
        return samples
    part = samples.take(some, aims)
    as_weights(part.source_weight, some.size)
    return part
