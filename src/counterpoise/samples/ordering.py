"""An order of rows that depends on what they hold, not on where they stand."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.row_keys import row_keys

# Where no more than this share of the rows is alike in the first columns, the others
# are not looked at again.
FEW_TIED = 0.2
# scikit-learn takes seeds below this.
_SEEDS_END = 2**32


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


def seed_of_rows(samples: Sequence[Any], words: Sequence[str] = ()) -> int:
    """Return a seed by what the rows of samples hold, in whatever order they came.

    It is made of the first eight bytes of SHA-256 over the sorted keys of each sample's
    rows (`row_keys`, missing values alike), the samples in turn: the same rows always
    draw the same, and a row more draws anew. Such a number knows nothing of how far
    samples are apart: a p-value by its draw is as valid as by any other.

    Parameters
    ----------
    samples : sequence of arrays or sparse matrices
    words : sequence of str
        What numbers in the rows stand for, as the names of categories.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> seed_of_rows([X, X]) == seed_of_rows([X[::-1], X])
    True
    >>> seed_of_rows([X, X]) == seed_of_rows([X, X[:1]])
    False
    """
    seen = hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass"))
    for rows in samples:
        if not sparse.issparse(rows):
            rows = np.where(np.isnan(rows), np.nan, rows)
        keys = sorted(row_keys(rows, ">"))
        seen.update(f"{rows.shape}".encode())
        for key in keys:
            # A key says how long it is: no two lists of them read alike.
            seen.update(len(key).to_bytes(8, "big") + key)
    return int.from_bytes(seen.digest()[:8], "big") % _SEEDS_END
