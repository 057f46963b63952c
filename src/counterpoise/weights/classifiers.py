"""Classifiers of target against source rows."""

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler


def logistic(is_sparse: bool = False) -> Any:
    """Return logistic regression on columns of variance one."""
    return make_pipeline(
        StandardScaler(with_mean=not is_sparse), LogisticRegression(max_iter=1000)
    )


def squared_logistic() -> Any:
    """Return logistic regression on columns and their squares."""
    return make_pipeline(
        StandardScaler(),
        FunctionTransformer(with_squares),
        StandardScaler(),
        LogisticRegression(max_iter=1000),
    )


def boosted(seed: int) -> Any:
    """Return boosted trees, small enough for some thousand rows."""
    return HistGradientBoostingClassifier(
        max_iter=60,
        max_depth=4,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=seed % 2**32,
    )


def with_squares(X: Any) -> Any:
    """Return the columns and their squares."""
    return np.hstack([X, X**2])
