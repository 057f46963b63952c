"""Anything that has rows: how many, and whether it is a table at all."""

from typing import Any

import numpy as np

from counterpoise.validation.exceptions import InvalidType


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
    """Return the number of rows of anything that has some."""
    if hasattr(X, "shape") and len(X.shape):
        return int(X.shape[0])
    return len(X)
