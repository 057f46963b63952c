"""Ratings of items by annotators: read from any table, and summed over either."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.validation import InvalidInput
from counterpoise.validation.frames import (
    Column,
    NotNumbers,
    check_readable,
    column_labels,
    frame_columns,
    is_frame,
    numbers_in,
)
from counterpoise.validation.tables import LARGEST, plain_array

# The median of the square of a standard normal variable.
MEDIAN_SQUARE = 0.4549364231195724
# The unit is at least this share of the standard deviation of all ratings.
SMALLEST_UNIT = 1e-3


@dataclass(frozen=True, eq=False)
class Ratings:
    """The ratings that are there, each with its item and its annotator.

    Attributes
    ----------
    value : array of shape (n_ratings,)
        Minus `centre`, divided by `unit`: nothing depends on the ratings' unit.
    item, annotator : arrays of shape (n_ratings,)
    shape : (n_items, n_annotators)
    columns : tuple
        What messages call the annotators.
    centre, unit : float
        Mean and robust standard deviation of all ratings; any unit will do where they
        are all equal.
    """

    value: Array
    item: Indices
    annotator: Indices
    shape: tuple[int, int]
    columns: tuple[Any, ...]
    centre: float
    unit: float

    @classmethod
    def of(cls, annotations: Any) -> "Ratings":
        """Return the ratings of a table; NaN, None, NA and null are none."""
        table, columns = _read(annotations)
        item, annotator = np.nonzero(~np.isnan(table))
        if not item.size:
            raise InvalidInput("annotations hold no rating: every entry is missing")
        value = table[item, annotator]
        centre = float(value.mean())
        spread = float(value.std())
        if spread <= 1e-14 * abs(centre):
            value, spread = np.full(value.size, centre), 1.0
        value = value - centre
        middle = np.sqrt(_robust_variance((value - np.median(value)) ** 2))
        unit = max(float(middle), SMALLEST_UNIT * spread)
        n, m = table.shape
        value = value / unit
        return cls(value, item, annotator, (n, m), columns, centre, unit)

    @property
    def unanimous(self) -> bool:
        """Whether all ratings are equal."""
        return not self.value.any()

    @property
    def counts(self) -> Indices:
        """How many ratings every annotator has given."""
        return np.bincount(self.annotator, minlength=self.shape[1])

    @property
    def times(self) -> Indices:
        """How many ratings every item has got."""
        return np.bincount(self.item, minlength=self.shape[0])

    def without(self, annotators: Indices) -> "Ratings":
        """Return the ratings of all other annotators, in the same unit."""
        kept = ~np.isin(self.annotator, annotators)
        some = self.value[kept], self.item[kept], self.annotator[kept]
        return Ratings(*some, self.shape, self.columns, self.centre, self.unit)

    def averages(self, noise: Array, mean: float, prior: float) -> tuple[Array, Array]:
        """Return every item's average by precision, and its variance.

        `noise` are the annotators' variances, `mean` and `prior` mean and precision
        of what is known before any rating. O(ratings).
        """
        n, trust = self.shape[0], 1.0 / noise[self.annotator]
        precision = np.bincount(self.item, trust, n) + prior
        total = np.bincount(self.item, trust * self.value, n) + prior * mean
        known = precision > 0.0
        average = np.divide(total, precision, out=np.full(n, mean), where=known)
        return average, np.divide(1.0, precision, out=np.full(n, np.inf), where=known)

    def squares(self, y: Array, v: Array) -> tuple[Array, Array]:
        """Return every annotator's sums of squared errors and of variances."""
        away = (self.value - y[self.item]) ** 2
        n = self.shape[1]
        return (
            np.bincount(self.annotator, away, n).astype(float),
            np.bincount(self.annotator, v[self.item], n).astype(float),
        )

    def noise_within_items(self) -> float:
        """Return a robust variance within items, at most that of all ratings.

        Medians, so that neither a bad annotator nor a wild unit speaks for all others;
        means where more than half of the squares are zero.
        """
        times = self.times[self.item]
        several = times > 1
        away = ((self.value - self._medians()[self.item]) ** 2 * times)[several]
        within = _robust_variance(away / (times[several] - 1))
        whole = _robust_variance((self.value - np.median(self.value)) ** 2)
        return min(within, whole)

    def _medians(self) -> Array:
        """Return every item's median rating; zero without ratings."""
        ordered = self.value[np.lexsort((self.value, self.item))]
        times = self.times
        ends = np.cumsum(times)
        lower, upper = (ends - times // 2 - 1, ends - (times + 1) // 2)
        middle = 0.5 * (ordered[lower.clip(0)] + ordered[upper.clip(max=ends[-1] - 1)])
        return np.where(times > 0, middle, 0.0)

    def own_variances(self) -> Array:
        """Return the variance of every annotator's ratings; NaN for fewer than two."""
        n, counts = self.shape[1], np.maximum(self.counts, 1)
        means = np.bincount(self.annotator, self.value, n) / counts
        away = (self.value - means[self.annotator]) ** 2
        own = np.bincount(self.annotator, away, n) / counts
        return np.where(self.counts > 1, own, np.nan)

    def never_varying(self, chance: float) -> Indices:
        """Return the annotators who always say one thing, others too rarely for that.

        With p the share of that value among the others' ratings (their number and one
        more, lest it be zero), n equal ratings have the chance p^(n - 1).
        """
        found = []
        for j in np.flatnonzero(self.counts > 1):
            own = self.annotator == j
            said = self.value[own]
            if np.ptp(said) > 0.0:
                continue
            others = self.value[~own]
            share = (np.count_nonzero(others == said[0]) + 1) / (others.size + 1)
            if share ** (said.size - 1) < chance:
                found.append(j)
        return np.array(found, dtype=np.intp)


def _robust_variance(squares: Array) -> float:
    middle = float(np.median(squares))
    return middle / MEDIAN_SQUARE if middle > 0.0 else float(squares.mean())


def _read(annotations: Any) -> tuple[Array, tuple[Any, ...]]:
    """Return the table, NaN where nothing is, and what its columns are called."""
    check_readable(annotations, "annotations")
    if issparse(annotations):
        raise InvalidInput(
            "annotations is a sparse matrix, in which a zero could be a rating or "
            "none: pass an array with NaN where there is no rating"
        )
    if is_frame(annotations):
        columns = list(frame_columns(annotations))
        shape = annotations.shape
    else:
        values = plain_array(annotations, "annotations")
        shape = values.shape
        columns = _columns(values) if values.ndim == 2 else []
    if len(shape) != 2 or 0 in shape:
        raise InvalidInput(
            f"annotations must be a matrix of items and annotators, got shape {shape}"
        )
    labels = column_labels(annotations) or tuple(range(shape[1]))
    table = np.empty(shape)
    for j, (label, column) in enumerate(columns):
        if isinstance(column, NotNumbers):
            raise InvalidInput(
                f"column {label!r} of annotations {column.reason}: ratings are numbers,"
                " and NaN, None or NA where there is none"
            )
        table[:, j] = column
    _check_moderate(table, labels)
    return table, labels


def _columns(values: NDArray[Any]) -> list[Column]:
    if values.dtype.kind in "fiub":
        with np.errstate(over="ignore"):
            numbers = values.astype(np.float64)
        return [(j, numbers[:, j]) for j in range(values.shape[1])]
    # As objects, so that the row of the first text is found.
    entries = values.astype(object)
    return [(j, numbers_in(entries[:, j])) for j in range(values.shape[1])]


def _check_moderate(table: Array, labels: tuple[Any, ...]) -> None:
    wrong = np.argwhere(np.abs(table) > LARGEST)
    if wrong.size:
        row, column = wrong[0]
        raise InvalidInput(
            f"annotations must be missing or of at most {LARGEST:g}, got "
            f"{table[row, column]} in row {row}, column {labels[column]!r}"
        )
