"""Anything that has rows: how many, and whether it is a table at all."""

from typing import Any

import numpy as np

from counterpoise.validation.exceptions import InvalidType, refusals_of_estimators


def readable(X: Any) -> Any:
    """Return what has rows as it came, and what only turns into an array as one."""
    first = X[0] if isinstance(X, list) and X else None
    if isinstance(first, str):
        raise InvalidType(
            "X and X_target must be tables, got a list of texts: turn them into "
            "columns first, as in vectorizer.fit_transform(texts), and give Adapted "
            "what it returns"
        )
    return (
        X
        if X is None or hasattr(X, "__len__") or hasattr(X, "shape")
        else np.asarray(X)
    )


def n_rows(X: Any) -> int:
    """Return the number of rows of anything that has some.

    Examples
    --------
    >>> from counterpoise.validation import n_rows
    >>> n_rows([[1.0], [2.0]])
    2
    """
    if hasattr(X, "shape") and len(X.shape):
        return int(X.shape[0])
    try:
        return len(X)
    except TypeError as error:
        raise InvalidType(*error.args) from error


def check_same_length(*tables: Any) -> None:
    """Refuse tables, labels or groups with unequal numbers of rows; None is no matter.

    Examples
    --------
    >>> check_same_length([1.0, 2.0], None, ["a"])
    Traceback (most recent call last):
    counterpoise.validation.InvalidInput: Found input variables with inconsistent \
numbers of samples: [2, 1]
    """
    from sklearn.utils import check_consistent_length

    with refusals_of_estimators():
        check_consistent_length(*tables)
