"""Any table of numbers, dense or sparse, as one kind of matrix."""

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, overload

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from counterpoise.numerics.arrays import Array
from counterpoise.validation.exceptions import InvalidInput, InvalidType
from counterpoise.validation.frames import (
    COMPLEX,
    Column,
    NotNumbers,
    check_readable,
    frame_columns,
    is_series,
    numbers_in,
    seen,
)

# The csr_array of older scipy releases takes no subscript when it runs.
if TYPE_CHECKING:
    SparseMatrix: TypeAlias = csr_array[np.float64, tuple[int, int]]
else:
    SparseMatrix = csr_array
Matrix: TypeAlias = Array | SparseMatrix

# An error names this many columns and counts the others.
_SHOWN = 5
# Sums of squares of larger entries are no numbers any more.
LARGEST = 1e140


@overload
def as_matrix(
    X: Any,
    *,
    name: str = "X",
    min_rows: int = 1,
    accept_sparse: Literal[False] = False,
) -> Array: ...
@overload
def as_matrix(
    X: Any, *, name: str = "X", min_rows: int = 1, accept_sparse: bool
) -> Matrix: ...
def as_matrix(
    X: Any, *, name: str = "X", min_rows: int = 1, accept_sparse: bool = False
) -> Matrix:
    """`X` as a C-contiguous float64 matrix of finite numbers.

    No entry may be beyond 1e140, so that sums of squares are finite as well. Booleans
    are numbers; strings, categories and dates are not, even where they look like one.
    Data that have the right form already are not copied, so the result must not be
    written to.

    Parameters
    ----------
    X : array-like, pandas or polars frame, or sparse matrix
        A table of numbers, a row an observation.
    name : str
        What errors call it.
    min_rows : int
        The smallest number of rows.
    accept_sparse : bool
        Whether sparse matrices may come; they leave as float64 `csr_array`
        without duplicate entries.

    Returns
    -------
    ndarray or csr_array of shape (n_rows, n_columns)

    Raises
    ------
    ValueError, TypeError
        With the column (its name, or its index in an array) and the row.

    Examples
    --------
    >>> as_matrix([[1, True], [2, False]])
    array([[1., 1.],
           [2., 0.]])
    >>> as_matrix([[1.0, 2.0], [3.0, float("nan")]])
    Traceback (most recent call last):
    counterpoise.validation.InvalidInput: X contains 1 NaN, the first in row 1, \
column 1 (counted from 0): \
every entry must be a finite number; counterpoise.samples.TableEncoder reads two \
samples with missing values
    """
    look = seen(X, name)
    X, labels = look.table, look.labels
    if issparse(X):
        return _from_sparse(X, name, min_rows, labels, accept_sparse)
    matrix = _from_frame(X, name) if look.is_frame else _from_array(X, name)
    _check_size(matrix.shape, name, min_rows)
    _check_finite(matrix, name, labels)
    check_moderate(matrix, name, labels)
    return matrix


def as_column(x: Any, *, name: str) -> Array:
    """A vector of finite numbers, in which errors name the row alone."""
    check_readable(x, name)
    if is_series(x):
        (_, entries), *_ = frame_columns(x.to_frame())
    else:
        values = plain_array(x, name)
        if values.ndim != 1:
            raise InvalidInput(
                f"{name} should be a 1d array, got an array of shape {values.shape} "
                "instead"
            )
        entries = _column(values)
    if isinstance(entries, NotNumbers):
        raise _refusal([(None, entries)], name)
    column = np.ascontiguousarray(entries)
    _check_finite(column[:, None], name, [None])
    return column


def _from_frame(X: Any, name: str) -> Array:
    return _from_columns(frame_columns(X), len(X), name)


def _from_array(X: Any, name: str) -> Array:
    values = plain_array(X, name)
    _check_two_dimensional(values, X, name)
    if values.dtype.kind == "c":
        raise InvalidInput(f"{name} has dtype {values.dtype}: {COMPLEX}")
    if values.dtype.kind in "fiub":
        return _float64(values)
    return _from_columns(_array_columns(values), len(values), name)


def plain_array(X: Any, name: str) -> NDArray[Any]:
    """`X` as numpy reads it, but for masks and mixed lists."""
    if np.ma.isMaskedArray(X):
        # A plain conversion would bring back what the mask hides.
        masked = np.array(X.data, dtype=object)
        masked[np.ma.getmaskarray(X)] = None
        return masked
    try:
        values = np.asarray(X)
        if values.dtype.kind in "US" and not isinstance(X, np.ndarray):
            # A list with one string in it is all strings to numpy.
            values = np.asarray(X, dtype=object)
    except ValueError as error:
        raise InvalidInput(f"{name} cannot be read as an array: {error}") from error
    return values


def _array_columns(values: NDArray[Any]) -> Iterator[Column]:
    for j in range(values.shape[1]):
        yield j, _column(values[:, j])


def _column(values: NDArray[Any]) -> Array | NotNumbers:
    if values.dtype == object:
        return numbers_in(values)
    if values.dtype.kind == "c":
        return NotNumbers(f"has dtype {values.dtype}", COMPLEX)
    if values.dtype.kind in "fiub":
        return _float64(values)
    return NotNumbers(f"has dtype {values.dtype}")


def _float64(values: NDArray[Any]) -> Array:
    # What is too large for float64 becomes infinite here and is refused as such.
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(values, dtype=np.float64)


def _from_columns(columns: Iterator[Column], n_rows: int, name: str) -> Array:
    good: list[Array] = []
    refused: list[tuple[Hashable, NotNumbers]] = []
    for label, column in columns:
        if isinstance(column, NotNumbers):
            refused.append((label, column))
        else:
            good.append(column)
    if refused:
        raise _refusal(refused, name)
    matrix = np.empty((n_rows, len(good)))
    for j, column in enumerate(good):
        matrix[:, j] = column
    return matrix


def _refusal(refused: Sequence[tuple[Hashable, NotNumbers]], name: str) -> Exception:
    label, first = refused[0]
    whole = name if label is None else f"column {label!r} of {name}"
    more = listed([repr(other) for other, _ in refused[1:]])
    likewise = f"; likewise {more}" if more else ""
    return first.error(f"{whole} {first.reason}: {first.advice}{likewise}")


def listed(words: Sequence[str]) -> str:
    """The first few of `words`, and how many more there are."""
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return ", ".join(words[:_SHOWN]) + more


def _from_sparse(
    X: Any,
    name: str,
    min_rows: int,
    labels: Sequence[Hashable] | None,
    accept_sparse: bool,
) -> SparseMatrix:
    if not accept_sparse:
        raise InvalidType(
            f"Sparse data was passed for {name}, but dense data is required. Use "
            "'.toarray()' to convert to a dense numpy array."
        )
    _check_two_dimensional(X, X, name)
    if X.dtype.kind not in "fiub":
        words = COMPLEX if X.dtype.kind == "c" else "numbers are needed"
        raise InvalidInput(f"{name} has dtype {X.dtype}: {words}")
    matrix: SparseMatrix = csr_array(X).astype(np.float64, copy=False)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    _check_size(matrix.shape, name, min_rows)
    _check_finite(matrix, name, labels)
    check_moderate(matrix, name, labels)
    return matrix


def _check_two_dimensional(values: Any, X: Any, name: str) -> None:
    if values.ndim == 2:
        return
    came = f"shape {values.shape}" if values.ndim else type(X).__name__
    if values.ndim > 2:
        raise InvalidInput(
            f"{name} must have two dimensions, got {came}: Found array with dim "
            f"{values.ndim}, while dim <= 2 is required."
        )
    raise InvalidInput(
        f"{name} must have two dimensions, got {came}. Reshape your data either using "
        "array.reshape(-1, 1) if it has a single column or array.reshape(1, -1) if it "
        "is a single row."
    )


def _check_size(shape: tuple[int, ...], name: str, min_rows: int) -> None:
    # After the colon stand scikit-learn's words, which its estimator checks read.
    n_rows, n_columns = shape
    if n_columns < 1:
        raise InvalidInput(
            f"{name} has no columns: found array with 0 feature(s) (shape={shape}) "
            "while a minimum of 1 is required."
        )
    check_enough_rows(n_rows, min_rows, name, shape)


def check_enough_rows(
    n_rows: int, min_rows: int, name: str, shape: tuple[int, ...]
) -> None:
    """Refuse a table with fewer than `min_rows` rows."""
    if n_rows < min_rows:
        rows = "row" if n_rows == 1 else "rows"
        are = "is" if min_rows == 1 else "are"
        raise InvalidInput(
            f"{name} has {n_rows} {rows}, at least {min_rows} {are} needed: found "
            f"array with {n_rows} sample(s) (shape={shape}) while a minimum of "
            f"{min_rows} is required."
        )


def _check_finite(matrix: Matrix, name: str, labels: Sequence[Hashable] | None) -> None:
    values: Array = matrix if isinstance(matrix, np.ndarray) else matrix.data
    # The sum of finite numbers may overflow, hence the second look.
    with np.errstate(all="ignore"):
        if np.isfinite(values.sum()):
            return
    wrong = ~np.isfinite(values)
    if not wrong.any():
        return
    counts = {"NaN": int(np.isnan(values).sum()), "inf": int(np.isinf(values).sum())}
    what = " and ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    where = _first(matrix, wrong, labels)
    missing = (
        "; counterpoise.samples.TableEncoder reads two samples with missing values"
        if counts["NaN"] and not counts["inf"] and "column" in where
        else ""
    )
    raise InvalidInput(
        f"{name} contains {what}, the first in {where} (counted from 0): every entry "
        f"must be a finite number{missing}"
    )


def check_moderate(
    matrix: Matrix, name: str, labels: Sequence[Hashable] | None
) -> None:
    """Refuse numbers whose squares are not finite, by row and column."""
    values: Array = matrix if isinstance(matrix, np.ndarray) else matrix.data
    if not values.size or max(values.max(), -values.min()) <= LARGEST:
        return
    wrong = np.abs(values) > LARGEST
    raise InvalidInput(
        f"{name} contains numbers beyond {LARGEST:g}, whose squares are not finite, "
        f"the first in {_first(matrix, wrong, labels)} (counted from 0): divide the "
        "column"
    )


def _first(
    matrix: Matrix, wrong: NDArray[np.bool_], labels: Sequence[Hashable] | None
) -> str:
    """Where the first wrong entry is, in words."""
    if isinstance(matrix, np.ndarray):
        row, column = (int(place) for place in np.argwhere(wrong)[0])
    else:
        entry = int(np.flatnonzero(wrong)[0])
        ends = cast("NDArray[Any]", matrix.indptr)
        row = int(np.searchsorted(ends, entry, side="right")) - 1
        column = int(matrix.indices[entry])
    label = column if labels is None else labels[column]
    return f"row {row}" if label is None else f"row {row}, column {label!r}"
