"""The one door for arrays, frames and parameters.

Everything a user hands in passes here once and leaves as plain float64 arrays
and Python numbers, or as an error that names the parameter, the column and the
row. Rows and unnamed columns are counted from 0. scikit-learn is imported where an
estimator or its labels pass: rooms that only refuse need none of it.
"""

from counterpoise.validation.estimators import (
    check_columns,
    estimator_matrix,
    estimator_samples,
)
from counterpoise.validation.exceptions import (
    InvalidInput,
    InvalidType,
    NoOverlapError,
    NoTargetWarning,
    PartialOverlapWarning,
    WeakClassifierWarning,
    refusals_of_estimators,
)
from counterpoise.validation.frames import column_names
from counterpoise.validation.parameters import (
    check_choice,
    check_integer,
    check_number,
    did_you_mean,
)
from counterpoise.validation.rows import check_same_length, n_rows
from counterpoise.validation.seeds import as_random, as_seed
from counterpoise.validation.source_and_target import (
    check_same_columns,
    target_matrix,
    target_pieces,
    two_samples,
)
from counterpoise.validation.tables import Matrix, SparseMatrix, as_matrix
from counterpoise.validation.vectors import (
    as_classes,
    as_responses,
    as_weights,
    row_counts,
    weights_of_both,
)
from counterpoise.validation.warning import warn_user

__all__ = [
    "InvalidInput",
    "InvalidType",
    "Matrix",
    "NoOverlapError",
    "NoTargetWarning",
    "PartialOverlapWarning",
    "SparseMatrix",
    "WeakClassifierWarning",
    "as_classes",
    "as_matrix",
    "as_random",
    "as_responses",
    "as_seed",
    "as_weights",
    "check_choice",
    "check_columns",
    "check_integer",
    "check_number",
    "check_same_columns",
    "check_same_length",
    "column_names",
    "did_you_mean",
    "estimator_matrix",
    "estimator_samples",
    "n_rows",
    "refusals_of_estimators",
    "row_counts",
    "target_matrix",
    "target_pieces",
    "two_samples",
    "warn_user",
    "weights_of_both",
]
