"""Adaptation on tables in blocks."""

from collections.abc import Mapping
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

from counterpoise.adaptation.routing import check_none_missing, fit_weighted
from counterpoise.data.blocks import ROWS_DECIDED_ON, Blocks, all_rows, sample
from counterpoise.data.encoder import TableEncoder
from counterpoise.data.linear_out_of_core import (
    RowsToFit,
    logistic_by_passes,
    ridge_by_passes,
)
from counterpoise.data.parallel import current_budget, each_block, map_reduce, map_write
from counterpoise.data.parameters import as_seed
from counterpoise.data.progress import announce
from counterpoise.data.samples import SamplesAsRead
from counterpoise.data.table import (
    CATEGORIES,
    DATES,
    ZONED_DATES,
    Table,
    frame_of,
    two_tables,
)
from counterpoise.data.two_samples import effective_sample_size
from counterpoise.errors import InvalidInputError, InvalidTypeError, warn_user
from counterpoise.linalg.arrays import Array
from counterpoise.performance.metrics import is_classifier
from counterpoise.weights.out_of_core import TwoBlocks, WeightSums, fit_sums, lean

# -----------------------------------------------------------------------------
# What an estimator and a weight estimator see of a block of rows.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LabelsOfRows:
    """Where the labels of a block's rows come from.

    Attributes
    ----------
    column : str or None
        The column of the blocks that has them.
    values : array of shape (n,) or None
        All of them, where they are no column.
    """

    column: str | None = None
    values: NDArray[Any] | None = None

    @classmethod
    def of(cls, y: Any, blocks: Blocks) -> "LabelsOfRows":
        """Return what `y` means beside blocks: a column's name, or all labels."""
        if y is None:
            raise InvalidInputError(
                "Adapted requires y to be passed, but the target y is None"
            )
        if not isinstance(y, str):
            values = np.asarray(y)
            if values.ndim != 1 or values.size != blocks.n_rows:
                raise InvalidInputError(
                    f"y has the shape {values.shape}, X has {blocks.n_rows} rows"
                )
            return cls(values=values)
        if blocks.labels is None or y not in blocks.labels:
            raise InvalidInputError(
                f"X has no column {y!r}: y is the name of the column of labels, or an "
                f"array of {blocks.n_rows}"
            )
        return cls(column=y)

    def at(self, rows: Any, first: int) -> NDArray[Any]:
        """Return the labels of a block's rows; None is missing."""
        if self.values is not None:
            return self.values[first : first + len(rows)]
        if not isinstance(rows, Table):
            raise InvalidTypeError(
                f"the labels {self.column!r} need a table with columns"
            )
        found = next(c for c in rows.columns if c.label == self.column)
        if found.kind != CATEGORIES:
            return found.values
        texts = np.array([*found.categories, None], dtype=object)
        return texts[found.values]


@dataclass(frozen=True, eq=False)
class RowsAsSeen:
    """Rows of a block as an estimator sees them: a frame, or a matrix of numbers.

    Attributes
    ----------
    kinds : mapping or None
        What each column holds, by its name, those alone; None for matrices.
    """

    kinds: Mapping[str, str] | None

    def __call__(self, rows: Any) -> Any:
        """Return the rows as the estimator sees them."""
        if self.kinds is None:
            return rows
        return frame_of(self.columns(rows), self.kinds)

    def columns(self, rows: Any) -> Any:
        """Return the columns that count, in their order."""
        if self.kinds is None:
            return rows
        found = {column.name: column for column in rows.columns}
        lacking = [name for name in self.kinds if name not in found]
        if lacking:
            raise InvalidInputError(f"column {lacking[0]!r} is not there")
        return Table(tuple(found[name] for name in self.kinds), named=True)

    @classmethod
    def of(cls, rows: Any, label: str | None) -> "RowsAsSeen":
        """Return what is seen of rows like these, all columns but the label."""
        if not isinstance(rows, Table):
            return cls(None)
        kinds = {
            c.name: DATES if c.kind == ZONED_DATES else c.kind
            for c in rows.columns
            if c.label != label
        }
        return cls(kinds)


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Rows of a block as a weight estimator sees them: finite numbers."""

    seen: RowsAsSeen
    encoder: TableEncoder | None

    def __call__(self, rows: Any) -> Array:
        """Return the rows as numbers; refuse what is not finite without an encoder."""
        columns = self.seen.columns(rows)
        if self.encoder is not None:
            if not isinstance(columns, Table):
                columns = Table.of(columns)
            return self.encoder._encoded(columns)
        from counterpoise.data.blocks import as_numbers_only

        return as_numbers_only(columns)


# -----------------------------------------------------------------------------
# The weights that an estimator gets for rows of a block.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RatioOfBlocks:
    """The density ratio of a block's rows, of mean one over all source rows.

    Attributes
    ----------
    weight estimator : fitted weight estimator or None
        None: ones.
    encoded : EncodedRows
    labels : LabelsOfRows or None
        For a weight estimator that goes by labels.
    """

    weight_estimator: Any
    encoded: EncodedRows
    labels: LabelsOfRows | None

    def __call__(self, rows: Any, first: int) -> Array:
        """Return the ratio of a block's rows."""
        if self.weight_estimator is None:
            return np.ones(len(rows))
        if getattr(self.weight_estimator, "needs_labels", False):
            assert self.labels is not None
            found: Array = self.weight_estimator.predict_weights(
                self.labels.at(rows, first)
            )
            return found
        if hasattr(self.weight_estimator, "weights_of"):
            assert self.labels is not None
            by_class: Array = self.weight_estimator.weights_of(
                self.labels.at(rows, first)
            )
            return by_class
        if hasattr(self.weight_estimator, "_weigh_rows"):
            return self.weight_estimator._weigh_rows(self.encoded(rows))
        return np.asarray(
            self.weight_estimator.predict_weights(self.encoded(rows)), dtype=float
        )


@dataclass(frozen=True, eq=False)
class WeightsOfBlocks:
    r"""What the estimator gets: :math:`r^e / \mathrm{mean}\,r^e`, or a mixture.

    Attributes
    ----------
    ratio : RatioOfBlocks
        r.
    exponent, mixing : float
        As the guard chose them.
    mean : float
        Of :math:`r^e` over all source rows.
    """

    ratio: RatioOfBlocks
    exponent: float
    mixing: float
    mean: float = 1.0

    def __call__(self, rows: Any, first: int) -> Array:
        """Return the weights of a block's rows."""
        return self.of_ratio(self.ratio(rows, first))

    def of_ratio(self, ratio: Array) -> Array:
        """Return the weights of rows whose ratio is known."""
        if self.mixing < 1.0:
            return 1.0 + self.mixing * (ratio / self.mean - 1.0)
        return ratio**self.exponent / self.mean


@dataclass(frozen=True, eq=False)
class _SumsOfWeights:
    weights: WeightsOfBlocks

    def __call__(self, rows: Any, first: int) -> WeightSums:
        found = self.weights(rows, first)
        return WeightSums(
            len(found), float(found.sum()), float(found @ found), float(found.max())
        )


def sums_of_weights(source: Blocks, weights: WeightsOfBlocks) -> WeightSums:
    """Return what the weights of all rows add up to."""
    return map_reduce(source, _SumsOfWeights(weights))


# -----------------------------------------------------------------------------
# Estimators fitted to all rows of blocks: by passes, piece by piece, or on a draw.
#
# Which way is taken is a rule of the estimator and of `max_samples` alone:
#
# 1. a `max_samples` of k rows: the estimator is fitted to k rows drawn by their
# weights; 2. `Ridge`, `LinearRegression` and `LogisticRegression` with a squared
# penalty or none,
#       alone or at the end of a pipeline: by passes over all rows, the same
#    coefficients as
#       in memory; the pipeline's other steps are those that were fitted to the
#    sample;
# 3. what has `partial_fit` with weights, and neither stops early nor balances
# classes,
#       which take all rows: one block after the other, each once;
# 4. all others need all rows in memory, and that is planned first.
# -----------------------------------------------------------------------------


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


def way_of(estimator: Any, max_samples: int | None) -> str:
    """Return how an estimator is fitted to blocks, by the rule above."""
    if max_samples is not None:
        return OF_DRAWN_ROWS
    last = _last(estimator)
    if _is_linear(last):
        return BY_PASSES
    if _takes_pieces(last):
        return BY_PIECES
    return OF_ROWS_IN_MEMORY


def fit_estimator(fitted: Any, task: FitTask, max_samples: int | None) -> Any:
    """Return the estimator fitted to all rows, given its fit to the sample."""
    way = way_of(fitted, max_samples)
    if way == BY_PASSES:
        return _with_last(fitted, _by_passes(_last(fitted), _steps(fitted), task))
    if way == BY_PIECES:
        return _with_last(fitted, _by_pieces(_last(fitted), _steps(fitted), task))
    if way == OF_DRAWN_ROWS:
        return _of_drawn(fitted, task, int(max_samples or 0))
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


def _of_drawn(fitted: Any, task: FitTask, max_samples: int) -> Any:
    announce("drawing rows by their weights")
    _plan(task, min(max_samples, task.source.n_rows), "budget")
    found = sample(task.source, max_samples, task.seed, predict_weights=task.weights)
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
    raise InvalidInputError(
        f"{n:,} rows of {width} columns take about {needed / 1e9:.1f} GB "
        f"({COPIES_OF_ROWS} copies of 8 bytes a cell; {asked}), and "
        f"{most / 1e9:.1f} GB are allowed: max_samples={fits} draws as many as fit, by "
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
            raise InvalidInputError(
                f"X contains NaN or infinity in row {_place_of_odd(X, first)}, which "
                "is none of those drawn: the estimator takes neither"
            )
        y = task.labels.at(rows, first)
        check_none_missing(y)
        y = _as_classes(y, task.classes)
        if task.classes is None and not np.isfinite(y).all():
            raise InvalidInputError(
                f"y contains infinity in row {_place_of_odd(y, first)}"
            )
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
        raise InvalidInputError(_has_too_few(new[0]))
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
        raise InvalidInputError(_has_too_few(y[other][0]))
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


# -----------------------------------------------------------------------------
# A fitted model asked about rows in blocks.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AnswersOfRows:
    """What an estimator answers about the rows of a block."""

    estimator: Any
    method: str
    seen: RowsAsSeen

    def __call__(self, rows: Any, first: Any) -> Any:
        """Return the answers, a row a row."""
        return np.asarray(getattr(self.estimator, self.method)(self.seen(rows)))


@dataclass(frozen=True, eq=False)
class AnswersAsColumns:
    """The same as columns to be written: predictions, and chances if they are asked.

    Attributes
    ----------
    answers : AnswersOfRows
    classes : array or None
        Of which a column each is written.
    name : str or None
        A column of the blocks that names the rows; None: their numbers, from 1.
    """

    answers: AnswersOfRows
    classes: Any = None
    name: str | None = None

    def __call__(self, rows: Any, first: int) -> dict[str, Any]:
        """Return the columns of a block's rows."""
        out: dict[str, Any] = key_of_rows(rows, first, self.name)
        out["prediction"] = self.answers(rows, first)
        if self.classes is not None:
            chances = AnswersOfRows(
                self.answers.estimator, "predict_proba", self.answers.seen
            )(rows, first)
            for k, name in enumerate(self.classes):
                out[f"probability of {name}"] = chances[:, k]
        return out


def key_of_rows(rows: Any, first: int, name: str | None) -> dict[str, Any]:
    """Return what tells rows apart: a column of theirs, or their numbers."""
    if name is None:
        return {"row": np.arange(first + 1, first + len(rows) + 1)}
    found = next((c for c in rows.columns if c.label == name), None)
    if found is None:
        raise InvalidInputError(f"there is no column {name!r}")
    if not found.categories:
        return {name: found.values if found.local is None else found.local}
    texts = np.array([*found.categories, None], dtype=object)
    return {name: texts[found.values]}


def seen_by(model: Any, blocks: Blocks) -> RowsAsSeen:
    """Return what a fitted model sees of blocks like these."""
    seen = getattr(model, "_seen_rows_", None)
    if seen is not None:
        return seen
    first = blocks.read(0)
    found = RowsAsSeen.of(first, None)
    names = getattr(model, "feature_names_in_", None)
    if names is not None and found.kinds is not None:
        lacking = [name for name in names if name not in found.kinds]
        if lacking:
            raise InvalidInputError(f"the blocks have no column {lacking[0]!r}")
        return RowsAsSeen({name: found.kinds[name] for name in names})
    if isinstance(first, Table) and first.is_plain:
        # The model was fitted to a matrix.
        return RowsAsSeen(None)
    return found


def answered(model: Any, blocks: Blocks, method: str) -> Any:
    """Return a model's answers about all rows of blocks, in their order."""
    announce("predicting every row")
    work = AnswersOfRows(model.estimator_, method, seen_by(model, blocks))
    return np.concatenate(list(each_block(blocks, work)))


def weighed_blocks(model: Any, blocks: Blocks) -> Any:
    """Return the density ratio of all rows of blocks, in their order."""
    if getattr(model.weight_estimator_, "needs_labels", False):
        raise InvalidInputError(
            "the model weighs by labels: blocks without them have no weights"
        )
    encoded = EncodedRows(seen_by(model, blocks), model.encoder_)
    weight_estimator = (
        None if model.weight_estimator_ is None else lean(model.weight_estimator_)
    )
    work = RatioOfBlocks(weight_estimator, encoded, None)
    return np.concatenate(list(each_block(blocks, work, with_places=True)))


def write_answers(
    model: Any, blocks: Blocks, path: Any, *, name: str | None, chances: bool
) -> None:
    """Write a model's predictions of all rows to a Parquet file, in their order."""
    announce("predicting every row")
    answers = AnswersOfRows(model.estimator_, "predict", seen_by(model, blocks))
    classes = model.classes_ if chances else None
    map_write(blocks, AnswersAsColumns(answers, classes, name), path)


# -----------------------------------------------------------------------------
# `Adapted` of tables in blocks: every decision on a sample, every row in the fit.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class AllRows:
    """How many rows each part of a fit to blocks rests on.

    Attributes
    ----------
    n_source, n_target : int
        All rows, which weights and estimator were fitted to.
    n_drawn, n_target_drawn : int
        Rows of the sample, on which everything was decided.
    weight_estimator_fit : str
        "every row", or "the sample" for a weight estimator that is not fitted by
        passes.
    estimator_fit : {"passes", "pieces", "drawn rows", "rows in memory"}
        How the estimator was fitted.
    max_samples : int or None
        Rows drawn for it.
    effective_size : float
        Of the weights of all source rows.
    largest_weight : float
    """

    n_source: int
    n_target: int
    n_drawn: int
    n_target_drawn: int
    weight_estimator_fit: str
    estimator_fit: str
    max_samples: int | None
    effective_size: float
    largest_weight: float


@dataclass(frozen=True, eq=False)
class TablesInBlocks:
    """Source and target in blocks, with what was drawn of them.

    Attributes
    ----------
    source, target : Blocks
        As they were read.
    labels : LabelsOfRows
    seen : RowsAsSeen
        What the estimator sees of a block.
    X, y : the rows drawn of the source, as the estimator sees them, and their labels
    samples : SamplesAsRead
        The rows drawn of both.
    """

    source: Blocks
    target: Blocks
    labels: LabelsOfRows
    seen: RowsAsSeen
    X: Any
    y: Any
    samples: SamplesAsRead

    @classmethod
    def drawn(cls, X: Any, y: Any, X_target: Any, seed: int) -> "TablesInBlocks":
        """Return two tables with 10,000 rows drawn of each."""
        source, target = Blocks.of(X), Blocks.of(X_target)
        labels = LabelsOfRows.of(y, source)
        announce("drawing rows to decide on")
        rows = sample(source, ROWS_DECIDED_ON, seed)
        aims = sample(target, ROWS_DECIDED_ON, seed)
        values = labels.values
        given = labels.at(rows.rows, 0) if values is None else values[rows.places]
        if given.dtype.kind == "f" and np.array_equal(given, np.rint(given)):
            # Tables have one kind of numbers; classes 0 and 1 are no fractions.
            given = given.astype(np.int64)
        seen = RowsAsSeen.of(rows.rows, labels.column)
        samples = _samples(seen, rows.rows, aims.rows)
        return cls(source, target, labels, seen, seen(rows.rows), given, samples)


def _samples(seen: RowsAsSeen, rows: Any, aims: Any) -> SamplesAsRead:
    if not isinstance(rows, Table):
        return SamplesAsRead.read(rows, (np.asarray(aims),))
    if not isinstance(aims, Table):
        raise InvalidInputError("X has named columns, X_target has none")
    source, target = two_tables(seen.columns(rows), seen.columns(aims))
    return SamplesAsRead.of_tables(source, target, (seen(rows), (seen(aims),)))


def rows_to_judge_by(
    model: Any, X: Any, y: Any, X_target: Any, seed: int
) -> tuple[Any, Any, SamplesAsRead]:
    """Return rows drawn of tables in blocks, their labels, and both samples.

    By the seed of a model that was fitted to blocks: its weights are of these rows.
    """
    drawn_by = getattr(model, "_drawn_by_", None)
    seed = seed if drawn_by is None else drawn_by
    tables = TablesInBlocks.drawn(X, y, X_target, seed)
    return tables.X, tables.y, tables.samples


def fit_model(model: Any, X: Any, y: Any, X_target: Any) -> None:
    """Fit an `Adapted` to tables, one of which at least comes in blocks."""
    _check(model, X_target)
    seed = as_seed(model.random_state)
    tables = TablesInBlocks.drawn(X, y, X_target, seed)
    # The sample's own fit decides; it needs no draw.
    model._fit(tables.X, tables.y, tables.samples, None, None, max_samples=None)
    fit_all_rows(model, tables, model.max_samples)
    model._drawn_by_ = seed


def fit_all_rows(
    model: Any, tables: TablesInBlocks, max_samples: int | None
) -> WeightsOfBlocks:
    """Fit to all rows a model that has been fitted to the rows drawn.

    Weights of the rows drawn stay with the model (`weights_`); what all rows add up to
    is in `all_rows_`. Returns what weighs the rows of a block.
    """
    seed = as_seed(model.random_state)
    weight_estimator = model.weight_estimator_
    encoded = EncodedRows(tables.seen, model.encoder_)
    fitted = "the sample"
    by_rows = (
        hasattr(weight_estimator, "_fit_blocks") and not weight_estimator.needs_labels
    )
    if by_rows:
        both = TwoBlocks(
            tables.source.mapped(encoded),
            tables.target.mapped(encoded),
            tables.samples,
            tables.samples.matrix_names,
        )
        before = weight_estimator.solution_
        fit_sums(weight_estimator, both)
        if weight_estimator.solution_ is not before:
            fitted = "every row"
        weight_estimator.weights_ = weight_estimator._weigh_rows(tables.samples.source)
    sent = weight_estimator
    if hasattr(weight_estimator, "without_rows"):
        sent = lean(weight_estimator) if by_rows else weight_estimator.without_rows()
    ratio = RatioOfBlocks(sent, encoded, tables.labels)
    weights = WeightsOfBlocks(ratio, model.exponent_, model.mixing_)
    announce("adding up the weights of every row")
    sums = sums_of_weights(tables.source, weights)
    mean = sums.total / sums.n
    if 0.0 < model.mixing_ < 1.0:
        # Of a mixture with ones what is asked for is the mean of the ratio itself.
        mean = 1.0 + (mean - 1.0) / model.mixing_
    weights = WeightsOfBlocks(ratio, model.exponent_, model.mixing_, mean)
    drawn = (
        np.ones(len(tables.y))
        if weight_estimator is None
        else weight_estimator.weights_
    )
    if hasattr(weight_estimator, "weights_of"):
        drawn = weight_estimator.weights_of(tables.y)
    model.weights_ = weights.of_ratio(drawn)
    model.effective_sample_size_ = effective_sample_size(model.weights_)
    classes = None
    if is_classifier(model.estimator_, tables.y):
        known = np.asarray(model.estimator_.classes_)
        classes = classes_of(tables.source, tables.labels, known)
    task = FitTask(tables.source, tables.labels, tables.seen, weights, classes, seed)
    model.estimator_ = fit_estimator(model.estimator_, task, max_samples)
    model._seen_rows_ = tables.seen
    # The rows of the fit are not those drawn: none is known again by its marks.
    model._row_marks_ = None
    model.all_rows_ = AllRows(
        tables.source.n_rows,
        tables.target.n_rows,
        len(tables.y),
        len(tables.samples.target_weight),
        fitted,
        way_of(model.estimator_, max_samples),
        max_samples,
        sums.effective_size,
        sums.largest / mean,
    )
    return weights


def refuse_beside_blocks(**given: Any) -> None:
    """Refuse what is an array of all rows, by its name."""
    for name, value in given.items():
        if value is not None:
            raise InvalidInputError(
                f"{name} is not taken beside blocks: every row counts once"
            )


def _check(model: Any, X_target: Any) -> None:
    """Refuse what tables in blocks cannot have."""
    if X_target is None:
        raise InvalidInputError(
            "X comes in blocks and X_target is None: both are needed"
        )
    if model._is_partial():
        raise InvalidInputError(
            'weight_estimator="partial" labels every target row: it takes no blocks'
        )
    if model.calibration_fraction:
        raise InvalidInputError(
            "calibration holds rows out of the fit, which takes every row of blocks: "
            "choose calibration_fraction=0"
        )
    if model.resample:
        raise InvalidInputError(
            "resample draws all rows anew: beside blocks give a budget"
        )
