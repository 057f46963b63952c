"""Targets that a pipeline hands on without transforming them."""

import sys
from types import FrameType
from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Array
from counterpoise.validation.exceptions import InvalidInput

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
        raise InvalidInput(
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
