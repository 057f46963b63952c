"""The width at the median distance: one rule for every Gaussian kernel."""

from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array

# Distances are measured between at most so many rows to find their median.
ROWS_MEASURED = 1000


def median_gamma(rows: Any, share: Array | None = None) -> float:
    r"""Return :math:`1 / (2 \sigma^2)` at the median distance of two different rows.

    A pair counts the product of its shares, so that a row of weight two is the row
    twice; equal rows are no pair. Of more than 1000 rows 1000 are taken at equal steps
    of their share, in the order in which they come. One, where all rows are equal.

    Parameters
    ----------
    rows : matrix of shape (n, d)
    share : array of shape (n,) or None
        What a row counts; only ratios matter. None: all the same.

    Examples
    --------
    >>> float(median_gamma(np.array([[0.0], [1.0], [3.0]])))
    0.125
    """
    share = np.ones(rows.shape[0]) if share is None else share
    if share.size > ROWS_MEASURED:
        # One of weight two is taken twice as often.
        steps = (np.arange(ROWS_MEASURED) + 0.5) / ROWS_MEASURED
        ends = np.cumsum(share)
        places = np.searchsorted(ends, steps * ends[-1])
        rows, share = rows[np.minimum(places, share.size - 1)], np.ones(ROWS_MEASURED)
    squares, pairs = _pairs(rows, share)
    if squares.size == 0:
        return 1.0
    alike = bool((pairs == pairs[0]).all())
    # Where all pairs count the same there is no need to sort them all.
    order = None if alike else np.argsort(squares, kind="stable")
    counted = np.cumsum(pairs if order is None else pairs[order])
    # The mean of the two in the middle, if there are two.
    levels = 0.5 * counted[-1] * np.array([1 - 1e-12, 1 + 1e-12])
    places = np.minimum(np.searchsorted(counted, levels), squares.size - 1)
    middle = np.partition(squares, places) if order is None else squares[order]
    return 1.0 / float(sum(middle[places]))


def _pairs(rows: Any, share: Array) -> tuple[Array, Array]:
    """Return the squared distances of different rows, and what each pair counts."""
    if sparse.issparse(rows):
        norms = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        products = (rows @ rows.T).toarray()
    else:
        rows = rows - rows.mean(axis=0)
        norms = np.einsum("ij,ij->i", rows, rows)
        products = rows @ rows.T
    i, j = np.triu_indices(share.size, k=1)
    squares = (norms[:, None] + norms - 2.0 * products)[i, j]
    # What rounding leaves of the distance of equal rows is no distance.
    apart = squares > 1e-13 * (norms[i] + norms[j])
    return squares[apart], (share[i] * share[j])[apart]
