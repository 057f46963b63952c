"""Validation of source and target matrices, and protocols of estimators."""

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, overload

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

from counterpoise.data.frames import (
    COMPLEX,
    Column,
    NotNumbers,
    TableLike,
    array_numbers,
    as_float64,
    check_labels,
    check_readable,
    column_labels,
    frame_columns,
    is_series,
    series_numbers,
    sparse_part,
)
from counterpoise.errors import (
    InvalidInputError,
    InvalidTypeError,
    estimator_errors,
    warn_user,
)
from counterpoise.linalg.arrays import Array, match_precision

# -----------------------------------------------------------------------------
# Protocols of scikit-learn's estimators and of data frames.
# -----------------------------------------------------------------------------


class Estimator(Protocol):
    """An object with scikit-learn's `fit` and parameters."""

    def fit(self, X: TableLike, y: Any = None, **fit_params: Any) -> Self:
        """Fit to rows and labels."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""


class Regressor(Estimator, Protocol):
    """An estimator that predicts."""

    def predict(self, X: TableLike) -> NDArray[Any]:
        """Return a prediction for every row."""


class Classifier(Regressor, Protocol):
    """An estimator that predicts classes and their probabilities."""

    classes_: NDArray[Any]

    def predict_proba(self, X: TableLike) -> Array:
        """Return the probability of every class for every row."""


class Frame(Protocol):
    """A table with named columns: pandas, polars or pyarrow."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""

    def __len__(self) -> int: ...


# -----------------------------------------------------------------------------
# Anything that has rows: how many, and whether it is a table at all.
# -----------------------------------------------------------------------------


def readable(X: TableLike) -> TableLike:
    """Return a table as it is, and what only converts to an array as an array."""
    first = X[0] if isinstance(X, list) and X else None
    if isinstance(first, str):
        raise InvalidTypeError(
            "X and X_target must be tables, got a list of texts: turn them into "
            "columns first, as in vectorizer.fit_transform(texts), and give Adapted "
            "what it returns"
        )
    X = check_readable(X, "X")
    packages = nw.dependencies
    if packages.is_pyarrow_table(X) or packages.is_pyarrow_chunked_array(X):
        # scikit-learn takes rows of pandas and polars frames alone.
        X = X.to_pandas()
    has_rows = X is None or hasattr(X, "__len__") or hasattr(X, "shape")
    return X if has_rows else np.asarray(X)


def n_rows(X: TableLike) -> int:
    """Return the number of rows of a table.

    Examples
    --------
    >>> from counterpoise.data.arrays import n_rows
    >>> n_rows([[1.0], [2.0]])
    2
    """
    if hasattr(X, "shape") and len(X.shape):
        return int(X.shape[0])
    try:
        return len(X)
    except TypeError as error:
        raise InvalidTypeError(*error.args) from error


def check_same_length(*tables: TableLike) -> None:
    """Refuse tables, labels or groups with unequal numbers of rows; ignore None.

    Examples
    --------
    >>> check_same_length([1.0, 2.0], None, ["a"])
    Traceback (most recent call last):
    counterpoise.errors.InvalidInputError: Found input variables with inconsistent \
numbers of samples: [2, 1]
    """
    from sklearn.utils import check_consistent_length

    with estimator_errors():
        check_consistent_length(*tables)


# -----------------------------------------------------------------------------
# Any table of numbers, dense or sparse, as one kind of matrix.
# -----------------------------------------------------------------------------


# The csr_array of older scipy releases takes no subscript when it runs.
if TYPE_CHECKING:
    SparseMatrix: TypeAlias = csr_array[np.float64, tuple[int, int]]
else:
    SparseMatrix = csr_array
Matrix: TypeAlias = Array | SparseMatrix
MatrixLabels: TypeAlias = Sequence[Hashable] | None

# An error names this many columns and counts the others.
_SHOWN = 5
# Sums of squares of larger entries are not finite.
LARGEST = 1e140


@overload
def as_matrix(X: TableLike, *, name: str = ..., min_rows: int = ...) -> Array: ...
@overload
def as_matrix(
    X: TableLike, *, name: str = ..., min_rows: int = ..., accept_sparse: bool
) -> Matrix: ...
def as_matrix(
    X: TableLike, *, name: str = "X", min_rows: int = 1, accept_sparse: bool = False
) -> Matrix:
    """`X` as a C-contiguous float64 matrix of finite numbers.

    No entry may be beyond 1e140, so that sums of squares are finite as well. Booleans
    are numbers; strings, categories and dates are not, even where they look like one.
    Data that have the right form already are not copied, so the result must not be
    written to.

    Parameters
    ----------
    X : array-like, frame of pandas, polars or pyarrow, or sparse matrix
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
    counterpoise.errors.InvalidInputError: X contains 1 NaN, the first in row 1, \
column 1 (counted from 0): \
every entry must be a finite number; counterpoise.data.TableEncoder reads two \
samples with missing values
    """
    X = check_readable(X, name)
    labels = check_labels(X, name)
    table = sparse_part(X)
    matrix: Matrix
    if issparse(table):
        matrix = _sparse_matrix(table, name, accept_sparse)
    elif labels is not None:
        matrix = _from_columns(frame_columns(table), len(table), name)
    else:
        matrix = _dense_matrix(table, name)
    n_found, n_columns = matrix.shape
    if n_columns < 1:
        # After the colon stand scikit-learn's words, which its estimator checks read.
        raise InvalidInputError(
            f"{name} has no columns: found array with 0 feature(s) (shape="
            f"{matrix.shape}) while a minimum of 1 is required."
        )
    check_enough_rows(n_found, min_rows, name, matrix.shape)
    _check_finite(matrix, name, labels)
    check_moderate(matrix, name, labels)
    return matrix


def as_column(x: TableLike, *, name: str) -> Array:
    """A vector of finite numbers, in which errors name the row alone."""
    x = check_readable(x, name)
    if is_series(x):
        entries = series_numbers(nw.from_native(x, series_only=True))
    else:
        values = plain_array(x, name)
        if values.ndim != 1:
            raise InvalidInputError(
                f"{name} should be a 1d array, got an array of shape {values.shape} "
                "instead"
            )
        entries = array_numbers(values)
    if isinstance(entries, NotNumbers):
        raise _refusal([(None, entries)], name)
    _check_finite(entries[:, None], name, [None])
    return entries


def plain_array(X: TableLike, name: str) -> NDArray[Any]:
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
        raise InvalidInputError(
            f"{name} cannot be read as an array: {error}"
        ) from error
    return values


def _dense_matrix(X: TableLike, name: str) -> Array:
    values = plain_array(X, name)
    _check_two_dimensional(values, X, name)
    if values.dtype.kind == "c":
        raise InvalidInputError(f"{name} has dtype {values.dtype}: {COMPLEX}")
    if values.dtype.kind in "fiub":
        return as_float64(values)
    columns = ((j, array_numbers(column)) for j, column in enumerate(values.T))
    return _from_columns(columns, len(values), name)


def _from_columns(columns: Iterable[Column], n_rows: int, name: str) -> Array:
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
    """Return the first few of `words`, and how many more there are."""
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return ", ".join(words[:_SHOWN]) + more


def _sparse_matrix(X: TableLike, name: str, accept_sparse: bool) -> SparseMatrix:
    if not accept_sparse:
        raise InvalidTypeError(
            f"Sparse data was passed for {name}, but dense data is required. Use "
            "'.toarray()' to convert to a dense numpy array."
        )
    _check_two_dimensional(X, X, name)
    if X.dtype.kind not in "fiub":
        words = COMPLEX if X.dtype.kind == "c" else "numbers are needed"
        raise InvalidInputError(f"{name} has dtype {X.dtype}: {words}")
    matrix: SparseMatrix = csr_array(X).astype(np.float64, copy=False)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _check_two_dimensional(values: TableLike, X: TableLike, name: str) -> None:
    if values.ndim == 2:
        return
    came = f"shape {values.shape}" if values.ndim else type(X).__name__
    if values.ndim > 2:
        raise InvalidInputError(
            f"{name} must have two dimensions, got {came}: Found array with dim "
            f"{values.ndim}, while dim <= 2 is required."
        )
    raise InvalidInputError(
        f"{name} must have two dimensions, got {came}. Reshape your data either using "
        "array.reshape(-1, 1) if it has a single column or array.reshape(1, -1) if it "
        "is a single row."
    )


def check_enough_rows(
    n_rows: int, min_rows: int, name: str, shape: tuple[int, ...]
) -> None:
    """Refuse a table with fewer than `min_rows` rows."""
    if n_rows < min_rows:
        rows = "row" if n_rows == 1 else "rows"
        are = "is" if min_rows == 1 else "are"
        raise InvalidInputError(
            f"{name} has {n_rows} {rows}, at least {min_rows} {are} needed: found "
            f"array with {n_rows} sample(s) (shape={shape}) while a minimum of "
            f"{min_rows} is required."
        )


def _check_finite(matrix: Matrix, name: str, labels: MatrixLabels) -> None:
    values: Array = matrix if isinstance(matrix, np.ndarray) else matrix.data
    wrong = ~np.isfinite(values)
    if not wrong.any():
        return
    counts = {"NaN": int(np.isnan(values).sum()), "inf": int(np.isinf(values).sum())}
    what = " and ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    where = _first_place(matrix, wrong, labels)
    missing = (
        "; counterpoise.data.TableEncoder reads two samples with missing values"
        if counts["NaN"] and not counts["inf"] and "column" in where
        else ""
    )
    raise InvalidInputError(
        f"{name} contains {what}, the first in {where} (counted from 0): every entry "
        f"must be a finite number{missing}"
    )


def check_moderate(matrix: Matrix, name: str, labels: MatrixLabels) -> None:
    """Refuse numbers whose squares are not finite, by row and column."""
    values: Array = matrix if isinstance(matrix, np.ndarray) else matrix.data
    if not values.size or max(values.max(), -values.min()) <= LARGEST:
        return
    where = _first_place(matrix, np.abs(values) > LARGEST, labels)
    raise InvalidInputError(
        f"{name} contains numbers beyond {LARGEST:g}, whose squares are not finite, "
        f"the first in {where} (counted from 0): divide the column"
    )


def _first_place(matrix: Matrix, wrong: NDArray[np.bool_], labels: MatrixLabels) -> str:
    """Return row and column of the first wrong entry, in words."""
    if isinstance(matrix, np.ndarray):
        row, column = (int(place) for place in np.argwhere(wrong)[0])
    else:
        entry = int(np.flatnonzero(wrong)[0])
        ends = np.asarray(matrix.indptr)
        row = int(np.searchsorted(ends, entry, side="right")) - 1
        column = int(matrix.indices[entry])
    label = column if labels is None else labels[column]
    return f"row {row}" if label is None else f"row {row}, column {label!r}"


# -----------------------------------------------------------------------------
# Two samples with the same columns: the source and the target.
# -----------------------------------------------------------------------------


@overload
def two_samples(
    X: TableLike, X_target: TableLike, *, min_rows: int = ...
) -> tuple[Array, Array | None]: ...
@overload
def two_samples(
    X: TableLike, X_target: TableLike, *, min_rows: int = ..., accept_sparse: bool
) -> tuple[Matrix, Matrix | None]: ...
def two_samples(
    X: TableLike, X_target: TableLike, *, min_rows: int = 1, accept_sparse: bool = False
) -> tuple[Matrix, Matrix | None]:
    """The source and the target as matrices with the same columns.

    Parameters
    ----------
    X : array-like, frame or sparse matrix
        The source.
    X_target : array-like, frame, sparse matrix, tuple of them, or None
        The target; the parts of a tuple are stacked. None: no target.
    min_rows : int
        The smallest number of rows of the source.
    accept_sparse : bool
        Whether sparse matrices may come. If one of the two is sparse, both
        leave sparse.

    Returns
    -------
    X, X_target : matrices, the second None if no target was given

    Examples
    --------
    >>> X, X_target = two_samples([[1, 2], [3, 4]], ([[5, 6]], [[7, 8]]))
    >>> X_target
    array([[5., 6.],
           [7., 8.]])
    """
    source = as_matrix(X, min_rows=min_rows, accept_sparse=accept_sparse)
    if X_target is None:
        return source, None
    pieces: list[Matrix] = []
    for name, piece in target_pieces(X_target).items():
        check_same_columns(X, piece, name=name)
        pieces.append(as_matrix(piece, name=name, accept_sparse=accept_sparse))
    if any(map(issparse, (source, *pieces))):
        stacked: SparseMatrix = vstack([csr_array(m) for m in pieces], format="csr")
        return csr_array(source), stacked
    dense = [np.asarray(piece) for piece in pieces]
    target = dense[0] if len(dense) == 1 else np.vstack(dense)
    return match_precision(np.asarray(source), target)


def target_pieces(X_target: TableLike) -> dict[str, TableLike]:
    """The parts of a target, each under the name that errors call it by.

    A tuple is what cross-validation passes whole, where it cuts an array that has
    as many rows as `X`.

    Examples
    --------
    >>> target_pieces([[1.0]])
    {'X_target': [[1.0]]}
    >>> target_pieces(([[1.0]], [[2.0]]))
    {'X_target[0]': [[1.0]], 'X_target[1]': [[2.0]]}
    """
    if not isinstance(X_target, tuple):
        return {"X_target": X_target}
    if not X_target:
        raise InvalidInputError(
            "X_target is an empty tuple: at least one target is needed"
        )
    return {f"X_target[{i}]": piece for i, piece in enumerate(X_target)}


def check_same_columns(
    X: TableLike, X_target: TableLike, *, name: str = "X_target"
) -> None:
    """Refuse a target whose columns are not those of the source, in its order.

    Names are compared where both have them. Where the source alone has, columns are
    matched by position, with a warning; where the target alone has, the source came out
    of a transform that the target did not go through, and that is refused.

    Parameters
    ----------
    X, X_target : array-like, frame or sparse matrix
        The source and one target; their entries are not looked at.
    name : str
        What errors call the target.

    Examples
    --------
    >>> from counterpoise import InvalidInputError
    >>> from counterpoise.data.arrays import check_same_columns
    >>> try:
    ...     check_same_columns([[1.0, 2.0]], [[1.0]])
    ... except InvalidInputError as error:
    ...     print(error)
    X_target has 1 columns, X has 2
    """
    X, X_target = check_readable(X, "X"), check_readable(X_target, name)
    shapes = _shape(X), _shape(X_target)
    if len(shapes[0]) != 2 or len(shapes[1]) != 2:
        # What has not two dimensions is refused where it is read.
        return
    source, target = column_labels(X), check_labels(X_target, name)
    named, target_named = _has_names(source), _has_names(target)
    # Numbers as labels are not names, but a permutation of them is not an accident.
    comparable = named or set(source or ()) == set(target or ())
    if source and target and named == target_named and comparable:
        _check_same_names(source, target, name)
    if shapes[0][1] != shapes[1][1]:
        raise InvalidInputError(
            f"{name} has {shapes[1][1]} columns, X has {shapes[0][1]}"
        )
    if target_named and not named:
        raise InvalidInputError(
            f"{name} has column names and X has none: was X transformed and {name} "
            "not? Give both in one form"
        )
    if named and not target_named:
        warn_user(
            f"X has column names and {name} has none: columns are matched by position"
        )


def _has_names(labels: MatrixLabels) -> bool:
    return bool(labels) and isinstance(next(iter(labels or ())), str)


def _check_same_names(
    source: Sequence[Hashable], target: Sequence[Hashable], name: str
) -> None:
    missing = [repr(label) for label in source if label not in set(target)]
    extra = [repr(label) for label in target if label not in set(source)]
    if missing or extra:
        lacks = f"lacks {listed(missing)}" if missing else ""
        adds = f"has {listed(extra)} that X has not" if extra else ""
        both = " and ".join(filter(None, (lacks, adds)))
        raise InvalidInputError(f"{name} must have the columns of X: it {both}")
    for j, (expected, came) in enumerate(zip(source, target, strict=True)):
        if expected != came:
            raise InvalidInputError(
                f"{name} has the columns of X in another order: column {j} is "
                f"{came!r}, in X it is {expected!r} (counted from 0); put them in "
                f"order, {name}[list(X.columns)]"
            )


def _shape(X: TableLike) -> tuple[int, ...]:
    try:
        return tuple(X.shape) if hasattr(X, "shape") else np.asarray(X).shape
    except ValueError:
        return ()


# -----------------------------------------------------------------------------
# Validation in scikit-learn's estimators: columns remembered from `fit`.
# -----------------------------------------------------------------------------


def check_columns(estimator: object, X: TableLike, *, reset: bool) -> None:
    """Let an estimator remember the columns of a table, or compare them.

    Parameters
    ----------
    estimator : scikit-learn estimator
        `fit` (`reset=True`) sets `n_features_in_` and, from a frame,
        `feature_names_in_`; later calls (`reset=False`) are compared with them.
    X : table of any kind
        Its entries are not looked at.
    reset : bool
        Whether to remember the columns, or to compare with those remembered.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from counterpoise.data.arrays import check_columns
    >>> model = Ridge()
    >>> check_columns(model, [[1.0, 2.0]], reset=True)
    >>> model.n_features_in_
    2
    """
    from sklearn.utils.validation import validate_data

    with estimator_errors():
        validate_data(estimator, X, reset=reset, skip_check_array=True)


@overload
def estimator_matrix(
    estimator: object, X: TableLike, *, reset: bool, min_rows: int = ...
) -> Array: ...
@overload
def estimator_matrix(
    estimator: object,
    X: TableLike,
    *,
    reset: bool,
    min_rows: int = ...,
    accept_sparse: bool,
) -> Matrix: ...
def estimator_matrix(
    estimator: object,
    X: TableLike,
    *,
    reset: bool,
    min_rows: int = 1,
    accept_sparse: bool = False,
) -> Matrix:
    """`X` as a matrix whose columns are those the estimator knows.

    Parameters as those of `as_matrix` and `check_columns`.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from counterpoise.data.arrays import estimator_matrix
    >>> estimator_matrix(Ridge(), [[1, 2]], reset=True)
    array([[1., 2.]])
    """
    X = check_readable(X, "X")
    matrix = as_matrix(X, min_rows=min_rows, accept_sparse=accept_sparse)
    check_columns(estimator, X, reset=reset)
    return matrix


@overload
def estimator_samples(
    estimator: object,
    X: TableLike,
    X_target: TableLike,
    *,
    reset: bool,
    min_rows: int = ...,
) -> tuple[Array, Array | None]: ...
@overload
def estimator_samples(
    estimator: object,
    X: TableLike,
    X_target: TableLike,
    *,
    reset: bool,
    min_rows: int = ...,
    accept_sparse: bool,
) -> tuple[Matrix, Matrix | None]: ...
def estimator_samples(
    estimator: object,
    X: TableLike,
    X_target: TableLike,
    *,
    reset: bool,
    min_rows: int = 1,
    accept_sparse: bool = False,
) -> tuple[Matrix, Matrix | None]:
    """Source and target as matrices whose columns are those the estimator knows.

    Parameters as those of `two_samples` and `check_columns`. Columns are remembered
    only after both samples have passed, so that a refused `fit` leaves the estimator as
    it was.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from counterpoise.data.arrays import estimator_samples
    >>> estimator_samples(Ridge(), [[1, 2]], [[3, 4]], reset=True)
    (array([[1., 2.]]), array([[3., 4.]]))
    """
    X = check_readable(X, "X")
    samples = two_samples(X, X_target, min_rows=min_rows, accept_sparse=accept_sparse)
    check_columns(estimator, X, reset=reset)
    return samples
