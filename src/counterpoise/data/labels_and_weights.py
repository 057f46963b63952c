"""Validation of labels, sample weights and counts."""

import numbers
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from counterpoise.data.arrays import as_column, as_matrix, check_moderate, plain_array
from counterpoise.data.frames import (
    TableLike,
    check_readable,
    frame_series,
    is_frame,
    is_missing,
    is_series,
)
from counterpoise.data.parameters import check_number
from counterpoise.errors import InvalidInputError, estimator_errors, warn_user
from counterpoise.linalg.arrays import Array

# -----------------------------------------------------------------------------
# Weights without a scale: how many rows each row stands for.
# -----------------------------------------------------------------------------


# Whole numbers above this are no counts: floats of that size are nearly all whole.
LARGEST_COUNT = 1e9
# A weight this near a whole number from one on, or nearer than so much of itself, is
# one: shares times a mass are, but for rounding.
WHOLE_WITHIN, OF_ITSELF = 1e-9, 1e-12
# Below this part of the largest weight a row counts for nothing: in no sum of squares,
# or of a billion such rows, would a digit show it.
LEAST_PART = 1e-30
# Of smaller ones it is said.
LEAST_TOLD = 1e-100


def as_counts(weights: Array) -> Array:
    r"""Return weights as counts of rows: whole numbers as they are, others by worth.

    Weights are counts where every one is a whole number, zero or from 1 to 10^9 (to
    10^-9, or 10^-12 of itself). All others count by their proportions alone, together
    for the :math:`(\sum w)^2 / \sum w^2` rows that they are worth: any positive
    multiple of them gives the same counts.

    Examples
    --------
    >>> as_counts(np.array([1.0, 2.0])), as_counts(np.array([0.5, 0.5]))
    (array([1., 2.]), array([1., 1.]))
    """
    nearest = np.rint(weights)
    peak = float(weights.max())
    off = np.abs(weights - nearest)
    near = (nearest > 0) & (off <= np.maximum(WHOLE_WITHIN, OF_ITSELF * weights))
    if peak <= LARGEST_COUNT and (near | (weights == 0)).all():
        return weights
    # By powers of two, so that such multiples give the same bits.
    scaled = np.ldexp(weights, -int(np.frexp(peak)[1]))
    total = float(scaled.sum())
    worth = scaled * (total / float(scaled @ scaled))
    # Equal weights are as good as none, and rounding must not make a difference.
    nearest = np.rint(worth)
    return np.where((np.abs(worth - nearest) <= 1e-9) & (nearest > 0), nearest, worth)


def without_negligible(weights: Array, name: str) -> Array:
    """Return weights without those below 10^-30 of the largest, which become zero.

    They change no sum. Where a weight is below 10^-100 of the largest, as no ratio of
    densities is by itself, a warning tells how many rows that leaves out.
    """
    negligible = (weights > 0) & (weights < LEAST_PART * weights.max())
    if not negligible.any():
        return weights
    row = int(np.argmin(np.where(negligible, weights, np.inf)))
    if weights[row] >= LEAST_TOLD * weights.max():
        return np.where(negligible, 0.0, weights)
    warn_user(
        f"{name} spans more than 100 orders of magnitude: {int(negligible.sum())} of "
        f"{weights.size} rows count for nothing beside the largest weight, "
        f"{float(weights.max()):.3g}, and are left out (the least is row {row}, "
        f"counted from 0, of weight {float(weights[row]):.3g})",
        UserWarning,
    )
    return np.where(negligible, 0.0, weights)


# -----------------------------------------------------------------------------
# Labels, responses and weights: one entry a row of a table.
# -----------------------------------------------------------------------------


# A weight whose scale counts: its products with squares of 1e140 are numbers.
LARGEST_AS_GIVEN = 1e20


def as_classes(y: TableLike, n_rows: int, *, name: str = "y") -> NDArray[Any]:
    """Class labels, one a row: numbers, booleans or strings, none missing.

    Parameters
    ----------
    y : array-like or series of shape (n_rows,)
        The labels. A single column is taken with a `DataConversionWarning`.
    n_rows : int
        The number of rows of `X`.
    name : str
        What errors call it.

    Returns
    -------
    ndarray of shape (n_rows,)

    Examples
    --------
    >>> as_classes(["yes", "no"], 2).tolist()
    ['yes', 'no']
    """
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import column_or_1d

    _check_given(y, name)
    y = check_readable(y, name)
    _refuse_labels(_missing_in_frame(y), "NaN", name)
    given = plain_array(y, name)
    with estimator_errors():
        labels: NDArray[Any] = column_or_1d(given, warn=True)
    _check_length(len(labels), n_rows, name, "X")
    if labels.dtype.kind == "f":
        wrong = ~np.isfinite(labels)
        infinite = np.isinf(labels[wrong][:1]).any()
        _refuse_labels(wrong, "inf" if infinite else "NaN", name)
    if labels.dtype == object:
        _refuse_labels(np.array([is_missing(v) for v in labels]), "NaN", name)
    if labels.dtype == object:
        labels = _of_one_type(labels, name)
    with estimator_errors():
        check_classification_targets(labels)
    return labels


def _refuse_labels(wrong: NDArray[np.bool_], what: str, name: str) -> None:
    if wrong.any():
        raise InvalidInputError(
            f"{name} contains {what}, the first in row {int(np.argmax(wrong))} "
            "(counted from 0)"
        )


def _missing_in_frame(y: TableLike) -> NDArray[np.bool_]:
    """Return which rows of a series or frame have no value; none of other arrays."""
    if is_series(y):
        columns = [nw.from_native(y, series_only=True)]
    elif is_frame(y):
        columns = list(frame_series(y))
    else:
        return np.zeros(1, dtype=bool)
    missing = np.column_stack([column.is_null().to_numpy() for column in columns])
    return np.asarray(missing.any(axis=1))


def as_responses(
    y: TableLike, n_rows: int, *, multi_output: bool = False, name: str = "y"
) -> Array:
    """Finite numbers to predict, one a row, or one a row and output.

    Their squares are finite too: nothing is a squared error otherwise.

    Parameters
    ----------
    y : array-like, series or frame, of shape (n_rows,) or (n_rows, n_outputs)
        The numbers. A single column is taken with a `DataConversionWarning`
        unless `multi_output`.
    n_rows : int
        The number of rows of `X`.
    multi_output : bool
        Whether a matrix may come; it then leaves as one.
    name : str
        What errors call it.

    Returns
    -------
    float64 ndarray of shape (n_rows,) or (n_rows, n_outputs)

    Examples
    --------
    >>> from counterpoise.data.labels_and_weights import as_responses
    >>> as_responses([1, 2], 2)
    array([1., 2.])
    """
    _check_given(y, name)
    y = check_readable(y, name)
    if not (is_frame(y) or is_series(y)):
        y = plain_array(y, name)
    if is_series(y) or len(y.shape) != 2:
        responses = as_column(y, name=name)
    elif multi_output:
        responses = as_matrix(y, name=name)
    else:
        responses = _single_column(as_matrix(y, name=name), name)
    _check_length(len(responses), n_rows, name, "X")
    if responses.size:
        columns = responses.reshape(len(responses), -1)
        check_moderate(columns, name, None if multi_output else [None])
    return responses


def as_weights(
    weights: TableLike, n_rows: int, *, name: str = "sample_weight", of: str = "X"
) -> Array:
    """Weights, one a row: finite, not negative, not all zero; their scale as it is.

    Weights below 10^-30 of the largest become zero; from 10^-100 on, with a warning.
    Since their scale counts, none may exceed 10^20: products with squares would be
    no numbers.

    Parameters
    ----------
    weights : None, number, array-like or series, or tuple of them
        None: ones. A number: that number in every row. A tuple of arrays is
        joined, as a tuple of targets is stacked.
    n_rows : int
        The number of rows of `of`.
    name : str
        What errors call them.
    of : str
        The table they belong to.

    Returns
    -------
    float64 ndarray of shape (n_rows,)

    Examples
    --------
    >>> as_weights([1.0, -1.0], 2)
    Traceback (most recent call last):
    counterpoise.errors.InvalidInputError: sample_weight must not be negative, got \
-1.0 in row 1 (counted from 0)
    """
    values = _weights_of_any_scale(weights, n_rows, name, of)
    if values.max(initial=0.0) > LARGEST_AS_GIVEN:
        row = int(np.argmax(values))
        raise InvalidInputError(
            f"{name} has {float(values[row]):.3g} in row {row} (counted from 0), and "
            f"weights above {LARGEST_AS_GIVEN:.0e} leave no room for products: their "
            "scale counts here, so divide them by their mean"
        )
    return values


def _weights_of_any_scale(weights: TableLike, n_rows: int, name: str, of: str) -> Array:
    if weights is None:
        return np.ones(n_rows)
    if isinstance(weights, numbers.Real):
        values = np.full(n_rows, check_number(name, weights, low=0))
    else:
        values = _joined(weights, name)
    _check_length(len(values), n_rows, name, of)
    negative = np.flatnonzero(values < 0)
    if negative.size:
        row = int(negative[0])
        raise InvalidInputError(
            f"{name} must not be negative, got {float(values[row])} in row {row} "
            "(counted from 0)"
        )
    if not values.any():
        raise InvalidInputError(
            f"{name} is zero in every row: a positive weight is needed"
        )
    return without_negligible(values, name)


def row_counts(
    weights: TableLike, n_rows: int, *, name: str = "sample_weight", of: str = "X"
) -> Array:
    """How many rows each row stands for: weights without a scale (`as_counts`).

    Whole numbers stay counts; any positive multiple of others gives the same.
    Parameters as those of `as_weights`.

    Examples
    --------
    >>> row_counts([3.0, 1.0], 2), row_counts([1e-9, 1e-9], 2)
    (array([3., 1.]), array([1., 1.]))
    """
    return as_counts(_weights_of_any_scale(weights, n_rows, name, of))


def weights_of_both(
    sample_weight: TableLike, target_weight: TableLike, n: int, m: int
) -> tuple[Array, Array]:
    """What the rows of source and target count, each as `row_counts`.

    Examples
    --------
    >>> from counterpoise.data.labels_and_weights import weights_of_both
    >>> weights_of_both(None, [1.0, 3.0], 2, 2)
    (array([1., 1.]), array([1., 3.]))
    """
    return (
        row_counts(sample_weight, n),
        row_counts(target_weight, m, name="target_weight", of="X_target"),
    )


def _joined(weights: TableLike, name: str) -> Array:
    if isinstance(weights, tuple) and any(np.ndim(part) for part in weights):
        parts = (as_column(p, name=f"{name}[{i}]") for i, p in enumerate(weights))
        return np.concatenate(list(parts))
    return as_column(weights, name=name)


def _check_given(y: TableLike, name: str) -> None:
    # scikit-learn's estimator checks look for these words.
    if y is None:
        raise InvalidInputError(
            f"fit requires {name} to be passed, but the target {name} is None"
        )


def _check_length(came: int, expected: int, name: str, of: str) -> None:
    if came != expected:
        raise InvalidInputError(f"{name} has {came} rows, {of} has {expected}")


def _of_one_type(labels: NDArray[Any], name: str) -> NDArray[Any]:
    texts = np.array([isinstance(label, str) for label in labels])
    if texts.all():
        return labels
    row = int(np.flatnonzero(texts != texts[0])[0]) if texts.any() else 0
    if texts.any():
        raise InvalidInputError(
            f"{name} mixes strings and other labels: row 0 holds "
            f"{type(labels[0]).__name__}, row {row} {type(labels[row]).__name__}"
        )
    if all(isinstance(label, numbers.Real | np.bool_) for label in labels):
        return np.array(labels.tolist())
    return labels


def _single_column(y: Array, name: str) -> Array:
    if y.shape[1] != 1:
        raise InvalidInputError(
            f"{name} should be a 1d array, got an array of shape {y.shape} instead"
        )
    from sklearn.exceptions import DataConversionWarning

    # scikit-learn's category and words, which its estimator checks look for.
    warn_user(
        f"A column-vector {name} was passed when a 1d array was expected. Please "
        f"change the shape of {name} to (n_samples, ), for example using ravel().",
        DataConversionWarning,
    )
    return np.ascontiguousarray(y[:, 0])
