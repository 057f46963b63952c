"""Checks, row keys and quantiles of plain arrays."""

from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

# -----------------------------------------------------------------------------
# The array types that the whole library speaks of.
# -----------------------------------------------------------------------------


Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
# A dense array or a sparse matrix of scipy, which has no types.
Matrix: TypeAlias = Any


def finite_array(name: str, value: object, ndim: int) -> Array:
    """Return the value as a float64 array, or an error that names it.

    Examples
    --------
    >>> finite_array("b", [1, 2], 1)
    array([1., 2.])
    >>> finite_array("b", [1.0, float("nan")], 1)
    Traceback (most recent call last):
    ValueError: b must be finite, got nan at entry 1
    """
    if hasattr(value, "toarray"):
        raise TypeError(f"{name} must be dense, got {type(value).__name__}")
    out = np.asarray(value, dtype=float)
    if out.ndim != ndim or out.size == 0:
        shape = {1: "a non-empty vector", 2: "a non-empty matrix"}[ndim]
        raise ValueError(f"{name} must be {shape}, got shape {out.shape}")
    if not np.isfinite(out).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(out))[0])
        place = (
            f"entry {where[0]}" if ndim == 1 else f"row {where[0]}, column {where[1]}"
        )
        raise ValueError(f"{name} must be finite, got {out[where]} at {place}")
    return out


def match_precision(one: Array, other: Array) -> tuple[Array, Array]:
    """Return two samples, columns that one has in single precision so in both.

    A value read as float32 differs from the same value read as float64: where values
    repeat, such columns would separate samples that have not shifted. NaN is missing.

    Parameters
    ----------
    one, other : array of shape (n, d), (m, d), or (n,), (m,)

    Examples
    --------
    >>> import numpy as np
    >>> one, other = np.array([0.1, 0.2]), np.array([0.1], dtype=np.float32)
    >>> bool(match_precision(one, other.astype(float))[0][0] == other[0])
    True
    """
    rounded = [is_single(values) for values in (one, other)]
    if (rounded[0] == rounded[1]).all():
        return one, other
    return (
        _as_single(one, rounded[1] & ~rounded[0]),
        _as_single(other, rounded[0] & ~rounded[1]),
    )


def is_single(values: Array) -> NDArray[np.bool_]:
    """Return which columns hold values of single precision, not whole numbers alone."""
    with np.errstate(over="ignore", invalid="ignore"):
        single = (values == values.astype(np.float32)) | np.isnan(values)
        # Single precision holds every whole number up to here.
        plain = (values == np.floor(values)) & (np.abs(values) <= 2**24)
    return single.all(axis=0) & ~(plain | np.isnan(values)).all(axis=0)


def _as_single(values: Array, columns: NDArray[np.bool_]) -> Array:
    if not columns.any():
        return values
    with np.errstate(over="ignore"):
        single = values.astype(np.float32).astype(float)
    return np.where(columns & np.isfinite(single), single, values)


# -----------------------------------------------------------------------------
# Rows by what they hold: one key a row, the same for equal rows alone.
# -----------------------------------------------------------------------------


def positive_zero(values: ArrayLike) -> Array:
    """Return numbers in which minus zero is zero: equal ones have equal bytes.

    Examples
    --------
    >>> positive_zero(np.array([-0.0, 1.0]))
    array([0., 1.])
    """
    # Adding zero does it, and leaves all other numbers as they are.
    return np.asarray(values) + 0.0


def row_keys(X: Matrix, byte_order: str = "=") -> list[bytes]:
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
        rows = positive_zero(np.ascontiguousarray(X)).astype(
            f"{byte_order}f8", copy=False
        )
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


# -----------------------------------------------------------------------------
# Quantiles of weighted values with an atom at infinity.
# -----------------------------------------------------------------------------


def quantiles_below_infinity(
    values: Array, weights: Array, atoms: Array, level: float
) -> Array:
    r"""Return the `level` quantile of weighted values and an atom at infinity.

    For every atom :math:`a` the smallest :math:`q` with

    .. math:: \sum_{i:\, v_i \le q} w_i \ge \text{level} \Bigl(\sum_i w_i + a\Bigr)

    which is infinite where all values together do not reach that.

    Parameters
    ----------
    values : array of shape (n,)
        In ascending order.
    weights : array of shape (n,)
        Not negative.
    atoms : array of shape (k,)
        Weights of the atom, in the units of `weights`; they may be infinite.
    level : float
        Between 0 and 1.

    Returns
    -------
    array of shape (k,)

    Examples
    --------
    >>> values, ones = np.array([1.0, 2.0, 3.0]), np.ones(3)
    >>> quantiles_below_infinity(values, ones, np.array([0.0, 1.0, 9.0]), 0.7)
    array([ 3.,  3., inf])
    """
    below = np.cumsum(weights)
    needed = level * (below[-1] + np.asarray(atoms, dtype=float))
    # Weights that should add up to what is needed may miss it by rounding.
    place = np.searchsorted(below, needed * (1 - 1e-12), side="left")
    return np.concatenate([values, [np.inf]])[place]
