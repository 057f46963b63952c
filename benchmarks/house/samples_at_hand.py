"""Small samples with fixed seeds, drawn without the library."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder


class Pair(NamedTuple):
    """Labeled source rows and target rows."""

    X: Any
    y: Any
    X_target: Any
    y_target: Any


def _inputs(seed: int, n: int, m: int, d: int, shift: float) -> tuple:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X_target = 0.8 * rng.standard_normal((m, d))
    X_target[:, 0] += shift
    return rng, X, X_target


def _curve(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    bent = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] ** 2
    return bent + 0.2 * rng.standard_normal(len(X))


@cache
def numbers(
    n: int = 120, m: int = 90, d: int = 3, shift: float = 0.7, seed: int = 0
) -> Pair:
    """Return plain arrays with a response that is a curve of the inputs."""
    rng, X, X_target = _inputs(seed, n, m, d, shift)
    return Pair(X, _curve(X, rng), X_target, _curve(X_target, rng))


@cache
def classes(n: int = 120, m: int = 90, d: int = 3, shift: float = 0.7, k: int = 2):
    """Return plain arrays with k classes cut from the curve."""
    pair = numbers(n, m, d, shift)
    cuts = np.quantile(pair.y, np.arange(1, k) / k)
    return pair._replace(
        y=np.digitize(pair.y, cuts), y_target=np.digitize(pair.y_target, cuts)
    )


@cache
def sparse() -> Pair:
    """Return two classes over sparse inputs, a third of the cells filled."""
    rng, X, X_target = _inputs(3, 140, 100, 6, 0.6)
    for rows in (X, X_target):
        rows[rng.random(rows.shape) < 0.6] = 0.0
    y, y_target = (
        (rows.sum(axis=1) + 0.5 * rng.standard_normal(len(rows)) > 0).astype(int)
        for rows in (X, X_target)
    )
    return Pair(sp.csr_array(X), y, sp.csr_array(X_target), y_target)


def _columns(rng: np.random.Generator, n: int, mean: float) -> tuple:
    age = rng.normal(mean, 1.0, n)
    income = rng.normal(0.5 * age, 1.0)
    region = rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2])
    odds = 1.5 * age - income + 1.0 * (region == "south") + rng.logistic(size=n)
    income[rng.random(n) < 0.1] = np.nan
    day = np.datetime64("2022-01-01") + rng.integers(0, 700, n)
    frame = pd.DataFrame(
        {
            "age": age.round(6),
            "income": income.round(6),
            "region": region,
            "day": pd.to_datetime(day),
            "member": rng.random(n) < 0.4,
        }
    )
    frame.loc[rng.random(n) < 0.05, "region"] = None
    return frame, np.where(odds > 0, "yes", "no"), odds


@cache
def mixed(n: int = 160, m: int = 120, mean: float = 0.7, dates: bool = True) -> Pair:
    """Return frames of numbers with gaps, categories, truth values and dates."""
    rng = np.random.default_rng(7)
    X, y, _ = _columns(rng, n, 0.0)
    X_target, y_target, _ = _columns(rng, m, mean)
    if not dates:
        X, X_target = X.drop(columns="day"), X_target.drop(columns="day")
    return Pair(X, y, X_target, y_target)


@cache
def mixed_response() -> Pair:
    """Return the same kinds of columns with a number to predict."""
    rng = np.random.default_rng(8)
    X, _, y = _columns(rng, 160, 0.0)
    X_target, _, y_target = _columns(rng, 120, 0.6)
    return Pair(X, y, X_target, y_target)


@cache
def row_weights(n: int = 120, whole: bool = True) -> np.ndarray:
    """Return weights of rows: counts with some zeros, or fractions."""
    rng = np.random.default_rng(11)
    return rng.integers(0, 4, n).astype(float) if whole else rng.uniform(0.2, 2.0, n)


def of_mixed(estimator: Any) -> Any:
    """Return a pipeline that turns a mixed frame into numbers for the estimator."""
    columns = make_column_transformer(
        (SimpleImputer(), make_column_selector(dtype_include=["number", "bool"])),
        (
            OneHotEncoder(handle_unknown="ignore"),
            make_column_selector(dtype_include=["object", "string"]),
        ),
    )
    return make_pipeline(columns, estimator)
