"""Gradient boosting that takes a mixed table as it comes."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OrdinalEncoder

from counterpoise.learners.bins import QuantileBins
from counterpoise.learners.dates import DateNumbers
from counterpoise.tables.columns import read_table
from counterpoise.tables.kinds import CATEGORIES, DATES, NUMBERS, ZONED_DATES

# Trees tell up to 255 categories of a column apart; the rarer ones share a place.
MOST_CATEGORIES = 254


def boosting_for(X: Any, *, classes: bool, seed: int) -> Any:
    """Return histogram gradient boosting for a table, not fitted.

    A table of numbers goes to scikit-learn's estimator itself. One with strings or
    dates goes through a pipeline: numbers in bins, categories by number (new and
    missing ones as missing), dates as days, month, weekday and hour; columns of
    anything else are left out.

    Parameters
    ----------
    X : array-like or frame of shape (n, d)
    classes : bool
        Whether the label is a class.
    seed : int

    Examples
    --------
    >>> type(boosting_for([[1.0], [2.0]], classes=True, seed=0)).__name__
    'HistGradientBoostingClassifier'
    >>> type(boosting_for([["a"], ["b"]], classes=True, seed=0)).__name__
    'Pipeline'
    """
    kinds = _kinds(X)
    if kinds is None:
        return _boosting(classes)(random_state=seed)
    many = [label for label, kind in kinds.items() if kind == CATEGORIES]
    return boosting_of(kinds, classes=classes, seed=seed, crowded=many)


def boosting_of(
    kinds: Mapping[Any, str],
    *,
    classes: bool,
    seed: int,
    crowded: Collection[Any] = (),
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
    model = _boosting(classes)(
        categorical_features=list(range(first, first + count)) or None,
        random_state=seed,
    )
    dates = Pipeline([("numbers", DateNumbers()), ("bins", QuantileBins())])
    categories = _categories(kinds, crowded)
    columns = columns_of(kinds, QuantileBins(), categories, dates)
    return Pipeline([("columns", columns), ("model", model)])


def columns_of(
    kinds: Mapping[Any, str], numbers: Any, categories: Any, dates: Any
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


def category_codes(most: int | None = None) -> OrdinalEncoder:
    """Return what numbers categories, new and missing ones NaN.

    Parameters
    ----------
    most : int or None
        So many places at most, of which the rarer categories share one.
    """
    return OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        max_categories=most,
    )


def _boosting(classes: bool) -> Any:
    return HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor


def _categories(kinds: Mapping[Any, str], crowded: Collection[Any]) -> Any:
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


def _kinds(X: Any) -> dict[Any, str] | None:
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


def _is_categorical(X: Any, label: Any) -> bool:
    """Return whether a frame says that the column is one of categories."""
    if not hasattr(X, "columns"):
        return False
    return str(X[label].dtype).lower().startswith(("categor", "enum"))
