"""Estimators fitted to all rows of blocks: by passes, piece by piece, or on a draw.

Which way is taken is a rule of the estimator and of `budget` alone:

1. a `budget` of k rows: the estimator is fitted to k rows drawn by their weights;
2. `Ridge`, `LinearRegression` and `LogisticRegression` with a squared penalty or none,
   alone or at the end of a pipeline: by passes over all rows, the same coefficients as
   in memory; the pipeline's other steps are those that were fitted to the sample;
3. what has `partial_fit` with weights, and neither stops early nor balances classes,
   which take all rows: one block after the other, each once;
4. all others need all rows in memory, and that is planned first.
"""

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from counterpoise.adaptation.in_blocks.rows import LabelsOfRows, RowsAsSeen
from counterpoise.adaptation.in_blocks.weighing import WeightsOfBlocks
from counterpoise.adaptation.labels import check_none_missing
from counterpoise.adaptation.routing import fit_weighted
from counterpoise.engine import (
    Blocks,
    announce,
    current_budget,
    each_block,
    map_reduce,
    sample,
)
from counterpoise.engine.linear_models import (
    RowsToFit,
    logistic_by_passes,
    ridge_by_passes,
)
from counterpoise.engine.sampling import all_rows
from counterpoise.numerics.arrays import Array
from counterpoise.tables.columns import Table
from counterpoise.validation import InvalidInput
from counterpoise.validation.warning import warn_user

BY_PASSES, BY_PIECES, OF_DRAWN_ROWS, OF_ROWS_IN_MEMORY = (
    "passes",
    "pieces",
    "drawn rows",
    "rows in memory",
)
# A decrement above this, in log loss a row, is told.
NOT_CONVERGED = 1e-6
# Copies of all rows that a fit in memory makes: as read, as seen, as the estimator's.
COPIES_OF_ROWS = 3


@dataclass(frozen=True, eq=False)
class FitTask:
    """All that a fit to blocks needs to know.

    Attributes
    ----------
    source : Blocks
        As they were read, the label among the columns if it is one.
    labels : LabelsOfRows
    seen : RowsAsSeen
    weights : WeightsOfBlocks
    classes : array or None
        Of a classifier, in order.
    seed : int
    """

    source: Blocks
    labels: LabelsOfRows
    seen: RowsAsSeen
    weights: WeightsOfBlocks
    classes: NDArray[Any] | None
    seed: int


def way_of(estimator: Any, budget: int | None) -> str:
    """Return how an estimator is fitted to blocks, by the rule above."""
    if budget is not None:
        return OF_DRAWN_ROWS
    last = _last(estimator)
    if _is_linear(last):
        return BY_PASSES
    if _takes_pieces(last):
        return BY_PIECES
    return OF_ROWS_IN_MEMORY


def fit_estimator(fitted: Any, task: FitTask, budget: int | None) -> Any:
    """Return the estimator fitted to all rows, given its fit to the sample."""
    way = way_of(fitted, budget)
    if way == BY_PASSES:
        return _with_last(fitted, _by_passes(_last(fitted), _steps(fitted), task))
    if way == BY_PIECES:
        return _with_last(fitted, _by_pieces(_last(fitted), _steps(fitted), task))
    if way == OF_DRAWN_ROWS:
        return _of_drawn(fitted, task, int(budget or 0))
    return _in_memory(fitted, task)


def _by_passes(last: Any, steps: Any, task: FitTask) -> Any:
    announce("fitting the estimator to every row, by passes")
    parts = [(task.source, _PreparedRows(task, steps))]
    out = copy(last)
    intercept = bool(last.fit_intercept)
    if isinstance(last, LogisticRegression):
        assert task.classes is not None
        found = logistic_by_passes(
            parts,
            len(task.classes),
            _penalty(last),
            intercept=intercept,
            max_iter=last.max_iter,
        )
        if found.residual > NOT_CONVERGED:
            warn_user(
                f"LogisticRegression by passes ended after max_iter={last.max_iter} "
                f"steps with a decrement of {found.residual:.1e} a row: raise it",
                ConvergenceWarning,
            )
        out.coef_, out.intercept_ = found.coef, np.atleast_1d(found.intercept)
        out.classes_ = task.classes
        out.n_iter_ = np.array([found.n_passes], dtype=np.int32)
        return out
    alpha = float(last.alpha) if isinstance(last, Ridge) else 0.0
    found = ridge_by_passes(parts, alpha, intercept=intercept)
    out.coef_, out.intercept_ = found.coef, float(found.intercept)
    for name in ("n_iter_", "rank_", "singular_"):
        if name in out.__dict__:
            delattr(out, name)
    return out


def _by_pieces(last: Any, steps: Any, task: FitTask) -> Any:
    announce("fitting the estimator to every row, piece by piece")
    out = clone(last)
    more = {} if task.classes is None else {"classes": task.classes}
    work = _PreparedRows(task, steps, as_places=False)
    for part in each_block(task.source, work, with_places=True):
        out.partial_fit(part.rows, part.labels, sample_weight=part.weights, **more)
        # Only the first call takes the classes with every estimator.
        more = {}
    return out


def _of_drawn(fitted: Any, task: FitTask, budget: int) -> Any:
    announce("drawing rows by their weights")
    _plan(task, min(budget, task.source.n_rows), "budget")
    found = sample(task.source, budget, task.seed, weigh=task.weights)
    X, y = _rows_and_labels(task, found.rows, found.places)
    announce("fitting the estimator to the rows drawn")
    return fit_weighted(fitted, X, y, None)


def _in_memory(fitted: Any, task: FitTask) -> Any:
    n = task.source.n_rows
    _plan(task, n, "no budget")
    announce("reading all rows into memory")
    weights = np.concatenate(
        list(each_block(task.source, task.weights, with_places=True))
    )
    X, y = _rows_and_labels(task, all_rows(task.source), np.arange(n))
    announce("fitting the estimator")
    return fit_weighted(fitted, X, y, weights)


def _rows_and_labels(task: FitTask, rows: Any, places: Any) -> tuple[Any, Any]:
    values = task.labels.values
    y = task.labels.at(rows, 0) if values is None else values[places]
    check_none_missing(y)
    return task.seen(rows), _as_classes(y, task.classes)


def _plan(task: FitTask, n: int, asked: str) -> None:
    """Refuse to keep more rows than the memory budget has room for."""
    first = task.source.read(0)
    width = len(first.columns) if isinstance(first, Table) else first.shape[1]
    needed, most = COPIES_OF_ROWS * 8 * n * width, current_budget()
    if needed <= most:
        return
    fits = int(most // (COPIES_OF_ROWS * 8 * width))
    raise InvalidInput(
        f"{n:,} rows of {width} columns take about {needed / 1e9:.1f} GB "
        f"({COPIES_OF_ROWS} copies of 8 bytes a cell; {asked}), and "
        f"{most / 1e9:.1f} GB are allowed: budget={fits} draws as many as fit, by "
        "their weights; Ridge and LogisticRegression are fitted to all rows by passes, "
        "and so is what has partial_fit; engine.memory_budget allows more"
    )


@dataclass(frozen=True, eq=False)
class _PreparedRows:
    """Rows of a block as the last step of a pipeline gets them."""

    task: FitTask
    steps: Any
    as_places: bool = True

    def __call__(self, rows: Any, first: int) -> RowsToFit:
        task = self.task
        X = task.seen(rows)
        if self.steps is not None:
            X = self.steps.transform(X)
        X = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        if not np.isfinite(X).all():
            raise InvalidInput(
                f"X contains NaN or infinity in row {_place_of_odd(X, first)}, which "
                "is none of those drawn: the estimator takes neither"
            )
        y = task.labels.at(rows, first)
        check_none_missing(y)
        y = _as_classes(y, task.classes)
        if task.classes is None and not np.isfinite(y).all():
            raise InvalidInput(f"y contains infinity in row {_place_of_odd(y, first)}")
        if task.classes is not None and self.as_places:
            y = np.searchsorted(task.classes, y)
        return RowsToFit(X, y, task.weights(rows, first))


def _place_of_odd(values: Array, first: int) -> int:
    odd = ~np.isfinite(values.reshape(len(values), -1)).all(axis=1)
    return first + int(odd.argmax())


def classes_of(source: Blocks, labels: LabelsOfRows, known: Any) -> NDArray[Any]:
    """Return the classes of all rows, in order; refuse what the sample has not.

    Parameters
    ----------
    source : Blocks
    labels : LabelsOfRows
    known : array
        The classes of the sample, which say what labels are: numbers or texts.
    """
    found = map_reduce(source, _ClassesOfBlock(labels, np.asarray(known)), _united)
    new = np.setdiff1d(found, known)
    if new.size:
        raise InvalidInput(_has_too_few(new[0]))
    return np.asarray(known)


@dataclass(frozen=True, eq=False)
class _ClassesOfBlock:
    labels: LabelsOfRows
    known: NDArray[Any]

    def __call__(self, rows: Any, first: int) -> NDArray[Any]:
        y = self.labels.at(rows, first)
        check_none_missing(y)
        return np.unique(_as_classes(y, self.known))


def _united(earlier: NDArray[Any], later: NDArray[Any]) -> NDArray[Any]:
    return np.union1d(earlier, later)


def _as_classes(y: NDArray[Any], classes: NDArray[Any] | None) -> NDArray[Any]:
    """Return labels of the type that the classes have."""
    if classes is None:
        return np.asarray(y, dtype=np.float64)
    if y.dtype == classes.dtype:
        return y
    made = y.astype(classes.dtype)
    other = made != y
    if other.any():
        raise InvalidInput(_has_too_few(y[other][0]))
    return made


def _has_too_few(label: Any) -> str:
    return (
        f"class {label!s} has so few rows that none of those drawn is of it: "
        "leave its rows out, or join it to another"
    )


def _is_linear(last: Any) -> bool:
    kind = type(last)
    if kind is LogisticRegression:
        return _has_square_penalty(last) and last.class_weight is None
    if kind in (Ridge, LinearRegression):
        return not last.positive and np.ndim(getattr(last, "alpha", 0.0)) == 0
    return False


def _has_square_penalty(last: LogisticRegression) -> bool:
    """Return whether the penalty is a squared norm or none, by either generation's."""
    if getattr(last, "l1_ratio", None) not in (None, 0, 0.0):
        return False
    named = last.penalty in ("l2", None, "deprecated")
    # Liblinear counts the intercept in the penalty.
    return named and last.intercept_scaling == 1 and last.solver != "liblinear"


def _penalty(last: LogisticRegression) -> float:
    if last.penalty is None or np.isinf(last.C):
        return 0.0
    return 1.0 / float(last.C)


def _takes_pieces(last: Any) -> bool:
    """Return whether `partial_fit` is there, takes weights, and fits as `fit` would."""
    if not hasattr(last, "partial_fit"):
        return False
    of_all_rows = getattr(last, "early_stopping", False) is True
    of_all_rows |= getattr(last, "class_weight", None) == "balanced"
    return not of_all_rows and has_fit_parameter(_PartialFit(last), "sample_weight")


class _PartialFit:
    """An estimator whose `partial_fit` is looked at as if it were its `fit`."""

    def __init__(self, inner: Any) -> None:
        self.fit = inner.partial_fit


def _last(estimator: Any) -> Any:
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def _steps(fitted: Any) -> Any:
    """Return the fitted steps before the last; None where there are none."""
    return fitted[:-1] if isinstance(fitted, Pipeline) and len(fitted) > 1 else None


def _with_last(fitted: Any, last: Any) -> Any:
    if not isinstance(fitted, Pipeline):
        return last
    out = copy(fitted)
    out.steps = [*fitted.steps[:-1], (fitted.steps[-1][0], last)]
    return out
