"""An order of rows that depends on what they hold, not on where they stand."""

from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array, Indices


def canonical_order(X: Any, weights: Array) -> Indices:
    """Return an order in which permuted rows come out alike.

    Rows are sorted by their columns from the first on, as many as it takes to tell
    them apart, and equal rows by their weights. Multiplying a column by a positive
    number changes nothing. With it, folds, subsamples and k-means starts are the same
    whatever order the rows came in. Sparse rows are sorted by a sum of their entries.
    """
    if sparse.issparse(X):
        keys = np.asarray(X @ np.sin(np.arange(1.0, X.shape[1] + 1.0))).ravel()
        return np.lexsort((weights, keys))
    columns = X.shape[1]
    used = 1
    while True:
        order = np.lexsort((weights, *X[:, :used].T[::-1]))
        if used == columns:
            return order
        ordered = X[order, :used]
        if not (ordered[1:] == ordered[:-1]).all(axis=1).any():
            return order
        used = min(4 * used, columns)
