"""Two samples with the same columns: the source and the target."""

from collections.abc import Hashable, Sequence
from typing import Any, Literal, overload

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from counterpoise.numerics.arrays import Array, in_one_precision
from counterpoise.validation.exceptions import InvalidInput
from counterpoise.validation.frames import labels_of_both
from counterpoise.validation.pipelines import refuse_raw_target
from counterpoise.validation.tables import (
    Matrix,
    SparseMatrix,
    as_matrix,
    check_enough_rows,
    listed,
)
from counterpoise.validation.warning import warn_user


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
    >>> from counterpoise.validation import target_matrix
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
        raise InvalidInput("X_target is an empty tuple: at least one target is needed")
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
    >>> from counterpoise.validation import InvalidInput, check_same_columns
    >>> try:
    ...     check_same_columns([[1.0, 2.0]], [[1.0]])
    ... except InvalidInput as error:
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
        raise InvalidInput(
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
        raise InvalidInput(f"{name} must have the columns of X: it {both}")
    for j, (expected, came) in enumerate(zip(source, target, strict=True)):
        if expected != came:
            raise InvalidInput(
                f"{name} has the columns of X in another order: column {j} is "
                f"{came!r}, in X it is {expected!r} (counted from 0); put them in "
                f"order, {name}[list(X.columns)]"
            )


def _check_same_width(X: Any, X_target: Any, name: str) -> None:
    source, target = _shape(X)[1], _shape(X_target)[1]
    if source != target:
        raise InvalidInput(f"{name} has {target} columns, X has {source}")


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
