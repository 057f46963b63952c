"""Logistic regression that tells two samples apart, fitted to all rows by passes."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from counterpoise.engine import announce, map_reduce
from counterpoise.engine.linear_models import RowsToFit, logistic_by_passes
from counterpoise.numerics.arrays import Array
from counterpoise.samples.classifiers import CutColumns
from counterpoise.weights.by_blocks import CutMoments, TwoBlocks


def logistic_of_blocks(fitted: Any, both: TwoBlocks) -> Any:
    """Return the classifier `logistic` fitted to all rows; None for any other.

    Columns are cut where the sample's classifier cuts them, and have variance one over
    all rows of both tables.
    """
    if not _is_logistic(fitted):
        return None
    out = deepcopy(fitted)
    cut, scaler, regression = (step for _, step in out.steps)
    # The moments below are in the rows' own units.
    cut.exponents_ = None
    announce("reading every row: telling the tables apart")
    work = CutMoments(*cut.limits_)
    moments = map_reduce(both.source, work) + map_reduce(both.target, work)
    scaler.mean_, scaler.var_ = moments.mean, moments.variance
    flat = moments.variance <= 10 * np.finfo(float).eps * moments.variance.max()
    scaler.scale_ = np.where(flat, 1.0, np.sqrt(moments.variance))
    scaler.n_samples_seen_ = moments.n
    found = logistic_by_passes(
        [
            (both.source, _Labelled(cut, scaler.mean_, scaler.scale_, 0)),
            (both.target, _Labelled(cut, scaler.mean_, scaler.scale_, 1)),
        ],
        2,
        1.0 / regression.C,
        intercept=True,
        max_iter=regression.max_iter,
    )
    regression.coef_, regression.intercept_ = found.coef, found.intercept
    regression.n_iter_ = np.array([found.n_passes], dtype=np.int32)
    return out


def _is_logistic(fitted: Any) -> bool:
    if not isinstance(fitted, Pipeline):
        return False
    kinds = [type(step) for _, step in fitted.steps]
    return kinds == [CutColumns, StandardScaler, LogisticRegression]


@dataclass(frozen=True, eq=False)
class _Labelled:
    """Rows of one table as the regression sees them."""

    cut: CutColumns
    mean: Array
    scale: Array
    label: int

    def __call__(self, rows: Array, first: int) -> RowsToFit:
        Z = (self.cut.transform(rows) - self.mean) / self.scale
        n = len(rows)
        return RowsToFit(Z, np.full(n, self.label), np.ones(n))
