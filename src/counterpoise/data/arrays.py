"""Validation of source and target matrices."""

import sys
from collections.abc import Hashable, Iterator, Sequence
from types import FrameType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    Protocol,
    Self,
    TypeAlias,
    cast,
    overload,
)

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

from counterpoise.data.frames import (
    COMPLEX,
    Column,
    NotNumbers,
    check_readable,
    frame_columns,
    is_series,
    labels_of_both,
    numbers_in,
    seen,
)
from counterpoise.errors import (
    InvalidInputError,
    InvalidTypeError,
    refusals_of_estimators,
    warn_user,
)
from counterpoise.linalg.arrays import Array, in_one_precision

# -----------------------------------------------------------------------------
# Protocols of scikit-learn's estimators and of data frames.
# -----------------------------------------------------------------------------


class Estimator(Protocol):
    """An object with scikit-learn's `fit` and parameters."""

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> Self:
        """Fit to rows and labels."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""


class Regressor(Estimator, Protocol):
    """An estimator that predicts."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return a prediction for every row."""


class Classifier(Regressor, Protocol):
    """A regressor's interface with the probabilities of classes."""

    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> Array:
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
# Targets that a pipeline hands on without transforming them.
# -----------------------------------------------------------------------------


_FITS = ("fit", "fit_transform", "fit_predict")
_TARGET = "X_target"
# Steps that move a column by less than this in all, in its standard deviations, do not
# tell a target that came through them from one that did not, and do no harm.
NO_TRACE = 0.1


def refuse_raw_target(X: Any, X_target: Any) -> None:
    r"""Refuse a target that looks like the rows before the steps of a pipeline.

    A scikit-learn pipeline transforms `X` and hands `X_target` on as it came, unless
    metadata routing is on and `transform_input` names it; two samples on two scales
    never overlap, or overlap by accident. With

    .. math:: D(S) = \mathrm{mean}_j \left( |\bar t_j - \bar s_j| / \sigma_j(S)
              + |\log (\sigma_j(T) / \sigma_j(S))| \right)

    the target T is refused where it is nearer to the rows R that came into the pipeline
    than to the rows X that came out, D(R) < D(X), and the steps left a trace, X being
    further from R than 0.1 in the same way. Where the steps change the number of
    columns, or the rows hold more than numbers, nothing is compared here.
    """
    module = sys.modules.get("sklearn.pipeline")
    if module is None:
        # Where it was never imported nobody has a pipeline.
        return
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name in _FITS:
            pipeline = frame.f_locals.get("self")
            given = frame.f_locals.get("params") or {}
            if isinstance(pipeline, module.Pipeline) and _hands_on(pipeline, given):
                _compare(frame.f_locals.get("X"), X, X_target)
        frame = frame.f_back


def _hands_on(pipeline: Any, given: dict[str, object]) -> bool:
    """Tell whether a target goes past steps that transform."""
    targets = [
        value for name, value in given.items() if name.split("__")[-1] == _TARGET
    ]
    if all(value is None for value in targets):
        return False
    if _TARGET in (getattr(pipeline, "transform_input", None) or ()):
        return False
    before = [step for _, step in pipeline.steps[:-1]]
    return any(step is not None and step != "passthrough" for step in before)


def _compare(raw: Any, X: Any, X_target: Any) -> None:
    rows = [_moments(one) for one in (raw, X, X_target)]
    before, after, target = rows
    if before is None or after is None or target is None:
        return
    if not before[0].size == after[0].size == target[0].size:
        return
    if _apart(after, before) < NO_TRACE:
        return
    if _apart(target, before) < _apart(target, after):
        raise InvalidInputError(
            "the pipeline transforms X, and X_target looks as X did before: put the "
            "steps inside, Adapted(make_pipeline(StandardScaler(), Ridge())).fit(X, y, "
            "X_target=X_target), or, with metadata routing on, make_pipeline(..., "
            "transform_input=['X_target']), or give X_target transformed"
        )


def _moments(rows: Any) -> tuple[Array, Array] | None:
    """Return means and standard deviations of columns of numbers; None of others."""
    try:
        matrix = np.asarray(rows, dtype=float)
    except (TypeError, ValueError):
        return None
    if matrix.ndim != 2 or not matrix.size:
        return None
    there = ~np.isnan(matrix)
    count = np.maximum(there.sum(axis=0), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.where(there, matrix, 0.0).sum(axis=0) / count
        away = np.where(there, matrix - mean, 0.0)
        return mean, np.sqrt((away**2).sum(axis=0) / count)


def _apart(one: tuple[Array, Array], other: tuple[Array, Array]) -> float:
    """Return how far columns are apart, in standard deviations of the second."""
    (mean, spread), (mean_other, spread_other) = one, other
    varies = (spread > 0) & (spread_other > 0)
    if not varies.any():
        return 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        moved = np.abs(mean - mean_other)[varies] / spread_other[varies]
        stretched = np.abs(np.log(spread[varies] / spread_other[varies]))
        return float(np.nan_to_num(np.mean(moved + stretched), nan=0.0))


# -----------------------------------------------------------------------------
# Anything that has rows: how many, and whether it is a table at all.
# -----------------------------------------------------------------------------


def readable(X: Any) -> Any:
    """Return what has rows as it came, and what only turns into an array as one."""
    first = X[0] if isinstance(X, list) and X else None
    if isinstance(first, str):
        raise InvalidTypeError(
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
    """Return the number of rows of anything that has some.

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


def check_same_length(*tables: Any) -> None:
    """Refuse tables, labels or groups with unequal numbers of rows; None is no matter.

    Examples
    --------
    >>> check_same_length([1.0, 2.0], None, ["a"])
    Traceback (most recent call last):
    counterpoise.errors.InvalidInputError: Found input variables with inconsistent \
numbers of samples: [2, 1]
    """
    from sklearn.utils import check_consistent_length

    with refusals_of_estimators():
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
    counterpoise.errors.InvalidInputError: X contains 1 NaN, the first in row 1, \
column 1 (counted from 0): \
every entry must be a finite number; counterpoise.data.TableEncoder reads two \
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
            raise InvalidInputError(
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
        raise InvalidInputError(f"{name} has dtype {values.dtype}: {COMPLEX}")
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
        raise InvalidInputError(
            f"{name} cannot be read as an array: {error}"
        ) from error
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
    _check_size(matrix.shape, name, min_rows)
    _check_finite(matrix, name, labels)
    check_moderate(matrix, name, labels)
    return matrix


def _check_two_dimensional(values: Any, X: Any, name: str) -> None:
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


def _check_size(shape: tuple[int, ...], name: str, min_rows: int) -> None:
    # After the colon stand scikit-learn's words, which its estimator checks read.
    n_rows, n_columns = shape
    if n_columns < 1:
        raise InvalidInputError(
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
        raise InvalidInputError(
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
        "; counterpoise.data.TableEncoder reads two samples with missing values"
        if counts["NaN"] and not counts["inf"] and "column" in where
        else ""
    )
    raise InvalidInputError(
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
    raise InvalidInputError(
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


# -----------------------------------------------------------------------------
# Two samples with the same columns: the source and the target.
# -----------------------------------------------------------------------------


@overload
def two_samples(
    X: Any,
    X_target: Any,
    *,
    min_rows: int = 1,
    min_target_rows: int = 1,
    accept_sparse: Literal[False] = False,
) -> tuple[Array, Array | None]: ...
@overload
def two_samples(
    X: Any,
    X_target: Any,
    *,
    min_rows: int = 1,
    min_target_rows: int = 1,
    accept_sparse: bool,
) -> tuple[Matrix, Matrix | None]: ...
def two_samples(
    X: Any,
    X_target: Any,
    *,
    min_rows: int = 1,
    min_target_rows: int = 1,
    accept_sparse: bool = False,
) -> tuple[Matrix, Matrix | None]:
    """The source and the target as matrices with the same columns.

    Parameters
    ----------
    X : array-like, frame or sparse matrix
        The source.
    X_target : array-like, frame, sparse matrix, tuple of them, or None
        The target; the parts of a tuple are stacked. None: no target.
    min_rows, min_target_rows : int
        The smallest number of rows of either; a tuple counts as a whole.
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
    target = target_matrix(
        X_target, like=X, min_rows=min_target_rows, accept_sparse=accept_sparse
    )
    if issparse(source) or issparse(target):
        return _sparse(source), _sparse(target)
    return in_one_precision(source, target)


@overload
def target_matrix(
    X_target: Any,
    *,
    like: Any,
    min_rows: int = 1,
    accept_sparse: Literal[False] = False,
) -> Array: ...
@overload
def target_matrix(
    X_target: Any, *, like: Any, min_rows: int = 1, accept_sparse: bool
) -> Matrix: ...
def target_matrix(
    X_target: Any, *, like: Any, min_rows: int = 1, accept_sparse: bool = False
) -> Matrix:
    """The target as one matrix with the columns of the source.

    Parameters
    ----------
    X_target : array-like, frame, sparse matrix, or tuple of them
        The target; the parts of a tuple are stacked.
    like : array-like, frame or sparse matrix
        The source as it came, with its column names.
    min_rows : int
        The smallest number of rows, of a tuple as a whole.
    accept_sparse : bool
        Whether sparse matrices may come.

    Returns
    -------
    ndarray or csr_array of shape (n_target_rows, n_columns)

    Examples
    --------
    >>> from counterpoise.data.arrays import target_matrix
    >>> target_matrix(([[1, 2]], [[3, 4]]), like=[[0.0, 0.0]])
    array([[1., 2.],
           [3., 4.]])
    """
    pieces = target_pieces(X_target)
    matrices: list[Matrix] = []
    for name, piece in pieces.items():
        check_same_columns(like, piece, name=name)
        matrices.append(as_matrix(piece, name=name, accept_sparse=accept_sparse))
    target = _stacked(matrices)
    if min_rows > 1:
        # That every part has a row was seen where it was read.
        check_enough_rows(target.shape[0], min_rows, "X_target", target.shape)
    return target


def target_pieces(X_target: Any) -> dict[str, Any]:
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


def check_same_columns(X: Any, X_target: Any, *, name: str = "X_target") -> None:
    """Refuse a target whose columns are not those of the source, in its order.

    Names are compared where both have them. Where the source alone has, columns are
    matched by position, with a warning; where the target alone has, the source came out
    of a transform that the target did not go through, and that is refused, as is a
    target that a pipeline hands on (`refuse_raw_target`).

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
    refuse_raw_target(X, X_target)
    # What has not two dimensions is refused where it is read.
    if len(_shape(X)) != 2 or len(_shape(X_target)) != 2:
        return
    source, target = labels_of_both(X, X_target, name)
    if source is not None and target is not None and _comparable(source, target):
        _check_same_names(source, target, name)
    _check_same_width(X, X_target, name)
    if _named(target) and not _named(source):
        raise InvalidInputError(
            f"{name} has column names and X has none: was X transformed and {name} "
            "not? Give both in one form"
        )
    if _named(source) and not _named(target):
        warn_user(
            f"X has column names and {name} has none: columns are matched by position"
        )


def _named(labels: Sequence[Hashable] | None) -> bool:
    return bool(labels) and isinstance(next(iter(labels or ())), str)


def _comparable(source: Sequence[Hashable], target: Sequence[Hashable]) -> bool:
    if _named(source) and _named(target):
        return True
    # Numbers as labels are no names, but a permutation of them is no accident.
    return not _named(source) and not _named(target) and set(source) == set(target)


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


def _check_same_width(X: Any, X_target: Any, name: str) -> None:
    source, target = _shape(X)[1], _shape(X_target)[1]
    if source != target:
        raise InvalidInputError(f"{name} has {target} columns, X has {source}")


def _shape(X: Any) -> tuple[int, ...]:
    try:
        return tuple(X.shape) if hasattr(X, "shape") else np.asarray(X).shape
    except ValueError:
        return ()


def _stacked(matrices: Sequence[Matrix]) -> Matrix:
    if len(matrices) == 1:
        return matrices[0]
    if any(issparse(matrix) for matrix in matrices):
        stacked: SparseMatrix = vstack([_sparse(m) for m in matrices], format="csr")
        return stacked
    return np.vstack(matrices)


def _sparse(matrix: Matrix) -> SparseMatrix:
    return csr_array(matrix)


# -----------------------------------------------------------------------------
# The door as scikit-learn's estimators use it: columns remembered from `fit`.
# -----------------------------------------------------------------------------


def check_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Let an estimator remember the columns of a table, or hold the table to them.

    Parameters
    ----------
    estimator : scikit-learn estimator
        `fit` (`reset=True`) gives it `n_features_in_` and, from a frame,
        `feature_names_in_`; later calls (`reset=False`) are held to them.
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

    with refusals_of_estimators():
        validate_data(estimator, X, reset=reset, skip_check_array=True)


@overload
def estimator_matrix(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    min_rows: int = 1,
    accept_sparse: Literal[False] = False,
) -> Array: ...
@overload
def estimator_matrix(
    estimator: Any, X: Any, *, reset: bool, min_rows: int = 1, accept_sparse: bool
) -> Matrix: ...
def estimator_matrix(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    min_rows: int = 1,
    accept_sparse: bool = False,
) -> Matrix:
    """`X` as a matrix whose columns are those the estimator knows.

    Parameters
    ----------
    estimator : scikit-learn estimator
        `fit` (`reset=True`) gives it `n_features_in_` and, from a frame,
        `feature_names_in_`; later calls (`reset=False`) are held to them.
    X : array-like, frame or sparse matrix
        A table of numbers, a row an observation.
    reset : bool
        Whether to remember the columns, or to compare with those remembered.
    min_rows : int
        The smallest number of rows.
    accept_sparse : bool
        Whether sparse matrices may come.

    Returns
    -------
    ndarray or csr_array of shape (n_rows, n_columns)

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from counterpoise.data.arrays import estimator_matrix
    >>> estimator_matrix(Ridge(), [[1, 2]], reset=True)
    array([[1., 2.]])
    """
    matrix = as_matrix(X, min_rows=min_rows, accept_sparse=accept_sparse)
    check_columns(estimator, X, reset=reset)
    return matrix


@overload
def estimator_samples(
    estimator: Any,
    X: Any,
    X_target: Any,
    *,
    reset: bool,
    min_rows: int = 1,
    min_target_rows: int = 1,
    accept_sparse: Literal[False] = False,
) -> tuple[Array, Array | None]: ...
@overload
def estimator_samples(
    estimator: Any,
    X: Any,
    X_target: Any,
    *,
    reset: bool,
    min_rows: int = 1,
    min_target_rows: int = 1,
    accept_sparse: bool,
) -> tuple[Matrix, Matrix | None]: ...
def estimator_samples(
    estimator: Any,
    X: Any,
    X_target: Any,
    *,
    reset: bool,
    min_rows: int = 1,
    min_target_rows: int = 1,
    accept_sparse: bool = False,
) -> tuple[Matrix, Matrix | None]:
    """Source and target as matrices whose columns are those the estimator knows.

    Parameters
    ----------
    estimator : scikit-learn estimator
        As in `estimator_matrix`. Columns are remembered only after both samples
        have passed, so that a refused `fit` leaves the estimator as it was.
    X : array-like, frame or sparse matrix
        The source.
    X_target : array-like, frame, sparse matrix, tuple of them, or None
        The target, as in `two_samples`.
    reset : bool
        Whether to remember the columns, or to compare with those remembered.
    min_rows, min_target_rows : int
        The smallest number of rows of either.
    accept_sparse : bool
        Whether sparse matrices may come.

    Returns
    -------
    X, X_target : matrices, the second None if no target was given

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from counterpoise.data.arrays import estimator_samples
    >>> estimator_samples(Ridge(), [[1, 2]], [[3, 4]], reset=True)
    (array([[1., 2.]]), array([[3., 4.]]))
    """
    source, target = two_samples(
        X,
        X_target,
        min_rows=min_rows,
        min_target_rows=min_target_rows,
        accept_sparse=accept_sparse,
    )
    check_columns(estimator, X, reset=reset)
    return source, target
