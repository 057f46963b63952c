"""Gradient boosting on mixed tables."""

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils.validation import check_is_fitted

from counterpoise.data.arrays import n_rows
from counterpoise.data.frames import is_missing
from counterpoise.data.table import CATEGORIES, DATES, NUMBERS, ZONED_DATES, read_table
from counterpoise.linalg.arrays import Array

# -----------------------------------------------------------------------------
# Numbers by their places among quantiles, for boosted trees.
# -----------------------------------------------------------------------------


# As many as the trees can tell apart.
MOST_BINS = 255
# Quantiles of so many rows are those of all, near enough.
_MOST_ROWS = 200_000


class QuantileBins(TransformerMixin, BaseEstimator):
    """Columns of numbers as whole numbers from 0 to 254, missing ones as they are.

    Histogram gradient boosting does the same inside, but with weights it looks for each
    of 254 weighted quantiles anew, which takes longer than growing the trees; the
    quantiles of unweighted rows serve as well.

    Attributes
    ----------
    edges_ : list of arrays
        Of each column the ends of the bins, an end belonging to the bin below it.

    Examples
    --------
    >>> QuantileBins().fit([[1.0], [2.0], [4.0]]).transform([[0.0], [2.0], [9.0]])
    array([[0.],
           [1.],
           [2.]])
    """

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the quantiles of each column."""
        names = getattr(X, "columns", None)
        columns = np.asarray(X, dtype=np.float64)
        if names is not None:
            self.names_ = [str(name) for name in names]
        else:
            self.names_ = [f"x{k}" for k in range(columns.shape[1])]
        step = -(-len(columns) // _MOST_ROWS)
        self.edges_ = [_edges(column[::step]) for column in columns.T]
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Return the place of each number.

        Parameters
        ----------
        X : frame or array of numbers of shape (k, d)

        Returns
        -------
        float64 array of shape (k, d)
        """
        check_is_fitted(self, "edges_")
        columns = np.asarray(X, dtype=np.float64)
        out = np.empty(columns.shape)
        for k, edges in enumerate(self.edges_):
            out[:, k] = np.searchsorted(edges, columns[:, k], side="left")
        out[np.isnan(columns)] = np.nan
        return out

    def get_feature_names_out(
        self, input_features: Sequence[str] | None = None
    ) -> NDArray[np.object_]:
        """Return the names of the columns."""
        names = self.names_ if input_features is None else input_features
        return np.array(names, dtype=object)


def _edges(column: Array) -> Array:
    """Return the ends between bins, of which each holds about as many rows."""
    there = np.sort(column[~np.isnan(column)])
    differs = np.flatnonzero(np.diff(there)) + 1
    if differs.size < MOST_BINS:
        different = there[np.append(0, differs)] if there.size else there
        return (different[:-1] + different[1:]) / 2
    # Midway between the two rows around each quantile.
    places = np.arange(1, MOST_BINS) / MOST_BINS * (there.size - 1)
    below, above = np.floor(places).astype(int), np.ceil(places).astype(int)
    return np.unique((there[below] + there[above]) / 2)


# -----------------------------------------------------------------------------
# Dates as numbers, for models that take numbers.
# -----------------------------------------------------------------------------


_PARTS = ("day", "month", "weekday", "hour")


class DateNumbers(TransformerMixin, BaseEstimator):
    """Dates as days since 1970, and their month, weekday and hour.

    Examples
    --------
    >>> import numpy as np
    >>> dates = np.array([["1970-01-02T06:00"]], dtype="M8[us]")
    >>> DateNumbers().fit_transform(dates)
    array([[1.25, 1.  , 4.  , 6.  ]])
    """

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the number and the names of the columns."""
        names = getattr(X, "columns", range(np.shape(X)[1]))
        self.names_ = [str(name) for name in names]
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Return four numbers a date, NaN where there is none.

        Parameters
        ----------
        X : frame or array of dates of shape (k, d)

        Returns
        -------
        float64 array of shape (k, 4 d)
        """
        check_is_fitted(self, "names_")
        moments = _moments(X)
        days = moments.astype("M8[D]")
        parts = (
            moments.astype("i8") / 86_400e6,
            moments.astype("M8[M]").astype("i8") % 12 + 1.0,
            # The first of January 1970 was a Thursday.
            (days.astype("i8") + 3) % 7 + 0.0,
            moments.astype("M8[h]").astype("i8") % 24 + 0.0,
        )
        out = np.stack(parts, axis=2)
        out[np.isnat(moments)] = np.nan
        return out.reshape(len(moments), -1)

    def get_feature_names_out(
        self, input_features: Sequence[str] | None = None
    ) -> NDArray[np.object_]:
        """Return the names of the numbers."""
        names = [f"{name}: {part}" for name in self.names_ for part in _PARTS]
        return np.array(names, dtype=object)


def _moments(X: Any) -> NDArray[np.datetime64]:
    """Return what the clock showed, also where it has a time zone."""
    if not hasattr(X, "columns"):
        return np.asarray(X).astype("M8[us]")
    return np.column_stack([_clock(X[name]).astype("M8[us]") for name in X.columns])


def _clock(series: Any) -> Any:
    if getattr(series.dtype, "tz", None) is not None:
        series = series.dt.tz_localize(None)
    elif getattr(series.dtype, "time_zone", None) is not None:
        series = series.dt.replace_time_zone(None)
    return series.to_numpy()


# -----------------------------------------------------------------------------
# Gradient boosting that takes a mixed table as it comes.
# -----------------------------------------------------------------------------


# Trees tell up to 255 categories of a column apart; the rarer ones share a place.
MOST_CATEGORIES = 254
# Trees of more leaves learn more of the noise, and take longer.
MOST_LEAVES = 15
# Share of the rows held out to tell when further trees no longer help; of fewer rows
# than these it would tell little, and none are.
SHARE_HELD_OUT, FEWEST_ROWS_TO_STOP = 0.1, 200
FEWEST_OF_A_CLASS = 2


class _EmptyColumns:
    """Boosting that takes columns without any value among the rows that it learns from.

    Folds and rows held out leave a column that is hardly ever filled without one, and
    scikit-learn 1.9 finds no bins for it.
    """

    def _bin_data(self, X: Any, *given: Any, **named: Any) -> Any:
        counted = np.ones(len(X), dtype=bool)
        if given and given[0] is not None:
            counted = np.asarray(given[0]) > 0
        empty = np.isnan(X[counted]).all(axis=0)
        if named.get("is_training_data") and empty.any():
            # Equal everywhere: nothing to split on.
            X = np.where(empty, 0.0, X)
        return super()._bin_data(X, *given, **named)  # type: ignore[misc]


class BoostedClassifier(_EmptyColumns, HistGradientBoostingClassifier):
    """Scikit-learn's boosting of classes, early stopping where there are rows for it.

    Rows are held out class by class. Of fewer than 200 rows, where a class has one row,
    or where the rows held out are fewer than the classes, none are, and all trees are
    grown.

    Examples
    --------
    >>> rows, labels = [[0.0], [1.0], [2.0]], ["a", "a", "b"]
    >>> BoostedClassifier(early_stopping=True, max_iter=3).fit(rows, labels).n_iter_
    3
    """

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit as scikit-learn does, with or without rows held out."""
        with _stopping(self, _has_rows_to_hold_out(y)):
            super().fit(X, y, sample_weight)
        return self


class BoostedRegressor(_EmptyColumns, HistGradientBoostingRegressor):
    """Scikit-learn's boosting of numbers, early stopping from 200 rows on.

    Examples
    --------
    >>> model = BoostedRegressor(early_stopping=True, max_iter=3)
    >>> model.fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]).n_iter_
    3
    """

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit as scikit-learn does, with or without rows held out."""
        enough = y is not None and n_rows(y) >= FEWEST_ROWS_TO_STOP
        with _stopping(self, enough):
            super().fit(X, y, sample_weight)
        return self


def boosting_for(
    X: object, *, classes: bool, seed: int
) -> "BoostedClassifier | BoostedRegressor | Pipeline":
    """Return histogram gradient boosting for a table, not fitted.

    Trees of at most 15 leaves, until ten more no longer help a tenth of the rows that
    is held out (of 200 rows or more). A table of numbers goes to the estimator itself.
    One with strings or dates goes through a pipeline: numbers in bins, categories by
    number (new and missing ones as missing), dates as days, month, weekday and hour;
    columns of anything else are left out.

    Parameters
    ----------
    X : array-like or frame of shape (n, d)
    classes : bool
        Whether the label is a class.
    seed : int

    Examples
    --------
    >>> type(boosting_for([[1.0], [2.0]], classes=True, seed=0)).__name__
    'BoostedClassifier'
    >>> type(boosting_for([["a"], ["b"]], classes=True, seed=0)).__name__
    'Pipeline'
    """
    kinds = _kinds(X)
    if kinds is None:
        return _boosting(classes, seed)
    many = [label for label, kind in kinds.items() if kind == CATEGORIES]
    return boosting_of(kinds, classes=classes, seed=seed, crowded=many)


def boosting_of(
    kinds: Mapping[Any, str],
    *,
    classes: bool,
    seed: int,
    crowded: Collection[Hashable] = (),
) -> Pipeline:
    """Return histogram gradient boosting for a table of known columns, not fitted.

    Parameters
    ----------
    kinds : mapping
        What each column holds: "numbers", "categories" or "dates".
    classes : bool
        Whether the label is a class.
    seed : int
    crowded : labels of columns
        Columns that may have more categories than trees can tell apart: the rarer
        ones share a place.

    Examples
    --------
    >>> kinds = {"age": "numbers", "town": "categories"}
    >>> boosting_of(kinds, classes=False, seed=0)["model"].categorical_features
    [1]
    """
    held = list(kinds.values())
    # Numbers come first, then categories, then dates.
    first, count = held.count(NUMBERS), held.count(CATEGORIES)
    categorical = list(range(first, first + count)) or None
    model = _boosting(classes, seed, categorical_features=categorical)
    dates = Pipeline([("numbers", DateNumbers()), ("bins", QuantileBins())])
    categories = _categories(kinds, crowded)
    columns = columns_of(kinds, QuantileBins(), categories, dates)
    return Pipeline([("columns", columns), ("model", model)])


def columns_of(
    kinds: Mapping[Any, str],
    numbers: BaseEstimator,
    categories: BaseEstimator,
    dates: BaseEstimator,
) -> ColumnTransformer:
    """Return what hands the columns of each kind to their own transformer.

    Numbers come first, then categories, then dates.
    """
    ways = {NUMBERS: numbers, CATEGORIES: categories, DATES: dates}
    groups = {kind: [name for name in kinds if kinds[name] == kind] for kind in ways}
    return ColumnTransformer(
        [(kind, ways[kind], group) for kind, group in groups.items() if group],
        verbose_feature_names_out=False,
    )


class CategoryCodes(OrdinalEncoder):
    """Scikit-learn's numbers of categories, None and NA missing values like NaN.

    Polars and columns of Python objects have None where pandas has NaN, and pandas'
    nullable columns NA: scikit-learn takes the first for a category and refuses the
    second.

    Examples
    --------
    >>> rows = np.array([["a"], [None], ["b"]], dtype=object)
    >>> CategoryCodes(encoded_missing_value=np.nan).fit_transform(rows).ravel()
    array([ 0., nan,  1.])
    """

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the categories."""
        super().fit(_with_nan(X), y)
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Return their numbers."""
        return super().transform(_with_nan(X))


def _with_nan(X: ArrayLike) -> NDArray[np.object_]:
    """Return a table of categories as objects, NaN in place of None and NA."""
    values = np.array(X, dtype=object)
    # By type: what a cell holds need not compare.
    gaps = np.frompyfunc(is_missing, 1, 1)(values).astype(bool)
    values[gaps] = np.nan
    return values


def category_codes(most: int | None = None) -> OrdinalEncoder:
    """Return what numbers categories, new and missing ones NaN.

    Parameters
    ----------
    most : int or None
        So many places at most, of which the rarer categories share one.
    """
    return CategoryCodes(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        max_categories=most,
    )


def _boosting(
    classes: bool, seed: int, **parameters: Any
) -> BoostedClassifier | BoostedRegressor:
    kind = BoostedClassifier if classes else BoostedRegressor
    return kind(
        max_leaf_nodes=MOST_LEAVES,
        early_stopping=True,
        validation_fraction=SHARE_HELD_OUT,
        random_state=seed,
        **parameters,
    )


@contextmanager
def _stopping(
    trees: HistGradientBoostingClassifier | HistGradientBoostingRegressor, able: bool
) -> Iterator[None]:
    """Let trees stop early only if they are able to; their parameter stays."""
    asked = trees.early_stopping
    try:
        trees.early_stopping = asked and able if isinstance(asked, bool) else asked
        yield
    finally:
        trees.early_stopping = asked


def _has_rows_to_hold_out(y: ArrayLike) -> bool:
    """Return whether every class can be on both sides of the rows held out."""
    try:
        rows_of_classes = np.unique(np.asarray(y), return_counts=True)[1]
    except TypeError:
        # Labels that cannot be compared are refused by scikit-learn, in its own words.
        return False
    n = int(rows_of_classes.sum())
    held_out = ceil(SHARE_HELD_OUT * n)
    return bool(
        n >= FEWEST_ROWS_TO_STOP
        and rows_of_classes.min() >= FEWEST_OF_A_CLASS
        and held_out >= rows_of_classes.size
    )


def _categories(
    kinds: Mapping[Any, str], crowded: Collection[Hashable]
) -> BaseEstimator:
    """Return what numbers the categories of all columns that have them."""
    names = [name for name in kinds if kinds[name] == CATEGORIES]
    many = [name for name in names if name in crowded]
    few = [name for name in names if name not in crowded]
    if not many or not few:
        return category_codes(MOST_CATEGORIES if many else None)
    # To count categories takes long: only where there are too many.
    return ColumnTransformer(
        [
            ("few", category_codes(), few),
            ("many", category_codes(MOST_CATEGORIES), many),
        ],
        verbose_feature_names_out=False,
    )


def _kinds(X: object) -> dict[Hashable, str] | None:
    """Return what each column holds; None where boosting takes them as they are."""
    if hasattr(X, "dtype") and X.dtype.kind in "biuf":
        return None
    try:
        columns = read_table(X).columns
    except (TypeError, ValueError):
        # What cannot be read is refused by the estimator, in its own words.
        return None
    odd = [c for c in columns if c.kind != NUMBERS and not _is_categorical(X, c.label)]
    if not odd:
        return None
    kinds = {c.label: DATES if c.kind == ZONED_DATES else c.kind for c in columns}
    used = (NUMBERS, CATEGORIES, DATES)
    return {label: kind for label, kind in kinds.items() if kind in used}


def _is_categorical(X: Any, label: Hashable) -> bool:
    """Return whether a frame says that the column is one of categories."""
    if not hasattr(X, "columns"):
        return False
    return str(X[label].dtype).lower().startswith(("categor", "enum"))
