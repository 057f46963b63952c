"""Folds in which a copy of a row is never held out from the row itself."""

from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.row_keys import row_keys
from counterpoise.validation import InvalidInput

N_FOLDS = 5
# Fewer different rows than this are dealt out one by one, copies or not.
FEWEST_DIFFERENT = 50


def folds(rows: Any, n_folds: int, seed: int) -> Indices:
    """Return the fold of each row, by chance, equal neighbours in one fold.

    A copy of a row in another fold would not be held out. Where there are hardly any
    different rows, copies are dealt out all the same.
    """
    n = rows.shape[0]
    group = np.arange(n)
    if n > 1:
        if sparse.issparse(rows):
            differs = np.diff(content(rows)) != 0
        else:
            differs = (rows[1:] != rows[:-1]).any(axis=1)
        if np.count_nonzero(differs) + 1 >= FEWEST_DIFFERENT:
            group = np.concatenate([[0], np.cumsum(differs)])
    dealt = np.random.default_rng(seed).permutation(group[-1] + 1) % n_folds
    return dealt[group]


def content(X: Any) -> Indices:
    """Return a number for every row: equal rows have one, in an order by content.

    The order is that of the rows' bytes from the highest, so that sign and size of the
    entries decide, and the scale of a column does not.

    Examples
    --------
    >>> content(np.array([[2.0], [1.0], [2.0], [-1.0]]))
    array([1, 0, 1, 2])
    """
    keys = row_keys(X, ">")
    rank = {key: k for k, key in enumerate(sorted(set(keys)))}
    return np.array([rank[key] for key in keys], dtype=np.intp)


def dealt_by_sample(
    units: Indices, labels: Array, seed: int, n_folds: int = N_FOLDS
) -> tuple[Indices, int]:
    """Return a fold for every row of two samples, and how many folds there are.

    Rows of a unit share a fold. Units of source rows (label 0) alone come first, then
    those of both samples, then those of target rows alone, each shuffled, and the folds
    are dealt out in turn: every fold has its part of either sample.
    """
    names, unit = np.unique(units, return_inverse=True)
    has = [np.bincount(unit, labels == side, names.size) > 0 for side in (0, 1)]
    n_folds = min(n_folds, int(has[0].sum()), int(has[1].sum()))
    if n_folds < 2:
        raise InvalidInput(
            "at least 2 rows of each sample are needed to hold some out, got "
            f"{int(has[0].sum())} and {int(has[1].sum())}"
        )
    kind = np.where(has[0] & has[1], 1, np.where(has[0], 0, 2))
    chance = np.random.default_rng(seed).permutation(names.size)
    turn = np.empty(names.size, dtype=np.intp)
    turn[np.lexsort((chance, kind))] = np.arange(names.size) % n_folds
    return turn[unit], n_folds
