"""Classifiers of target against source rows."""

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

# Up to this many columns the Hessian of logistic regression is factored.
DIRECT = 500


def logistic(
    is_sparse: bool, n_columns: int, tol: float = 1e-6, max_iter: int = 10_000
) -> Any:
    """Return logistic regression on columns of variance one."""
    return make_pipeline(
        StandardScaler(with_mean=not is_sparse), _regression(n_columns, tol, max_iter)
    )


def squared_logistic(n_columns: int) -> Any:
    """Return logistic regression on columns and their squares."""
    return make_pipeline(
        StandardScaler(),
        FunctionTransformer(with_squares),
        StandardScaler(),
        _regression(2 * n_columns, 1e-6, 10_000),
    )


def boosted() -> Any:
    """Return boosted trees, small enough for some thousand rows."""
    return HistGradientBoostingClassifier(
        max_iter=60,
        max_depth=4,
        max_bins=64,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=0,
    )


def with_squares(X: Any) -> Any:
    """Return the columns and their squares."""
    return np.hstack([X, X**2])


def _regression(n_columns: int, tol: float, max_iter: int) -> LogisticRegression:
    solver = "newton-cholesky" if n_columns <= DIRECT else "lbfgs"
    return LogisticRegression(solver=solver, tol=tol, max_iter=max_iter)
