"""The door as scikit-learn's estimators use it: columns remembered from `fit`."""

from typing import Any, Literal, overload

from counterpoise.numerics.arrays import Array
from counterpoise.validation.exceptions import refusals_of_estimators
from counterpoise.validation.source_and_target import two_samples
from counterpoise.validation.tables import Matrix, as_matrix


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
    >>> from counterpoise.validation import check_columns
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
    >>> from counterpoise.validation import estimator_matrix
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
    >>> from counterpoise.validation import estimator_samples
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
