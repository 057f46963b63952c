"""Rows by what they hold: one key a row, the same for equal rows alone."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def one_zero(values: Any) -> NDArray[Any]:
    """Return numbers in which minus zero is zero: equal ones have equal bytes.

    Examples
    --------
    >>> one_zero(np.array([-0.0, 1.0]))
    array([0., 1.])
    """
    # Adding zero does it, and leaves all other numbers as they are.
    return np.asarray(values) + 0.0


def row_keys(X: Any, byte_order: str = "=") -> list[bytes]:
    """Return one key a row, the same for equal rows alone.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    byte_order : {"=", ">"}
        That of the machine; or from the highest byte on, so that sorted keys are in an
        order of sign and size.

    Examples
    --------
    >>> a, b, c = row_keys(np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]]))
    >>> a == b, a == c
    (True, False)
    """
    if not sparse.issparse(X):
        rows = one_zero(np.ascontiguousarray(X)).astype(f"{byte_order}f8", copy=False)
        return [row.tobytes() for row in rows]
    table = X.tocsr().copy()
    table.sum_duplicates()
    table.eliminate_zeros()
    columns = table.indices.astype(f"{byte_order}i8", copy=False)
    entries = table.data.astype(f"{byte_order}f8", copy=False)
    return [
        columns[a:b].tobytes() + entries[a:b].tobytes()
        for a, b in pairwise(table.indptr)
    ]
