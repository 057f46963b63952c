"""An order of rows that depends on what they hold, not on where they stand."""

from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array, Indices

# Where no more than this share of the rows is alike in the first columns, the others
# are not looked at again.
FEW_TIED = 0.2


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
        same = (ordered[1:] == ordered[:-1]).all(axis=1)
        if not same.any():
            return order
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        if tied.size <= FEW_TIED * order.size:
            # Few are left to be told apart: they keep the places that they share.
            few = np.sort(order[tied])
            order[tied] = few[np.lexsort((weights[few], *X[few].T[::-1]))]
            return order
        used = min(4 * used, columns)
