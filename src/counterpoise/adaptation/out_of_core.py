"""Adaptation on tables in blocks: weights, models and predictions of every row."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import Pipeline

from counterpoise.adaptation.routing import check_none_missing, fit_weighted
from counterpoise.data.blocks import (
    DECISION_SAMPLE_SIZE,
    Blocks,
    all_rows,
    as_numbers_only,
    sample,
)
from counterpoise.data.encoder import TableEncoder, encoded_rows
from counterpoise.data.frames import TableLike
from counterpoise.data.linear_out_of_core import (
    RowsToFit,
    logistic_by_passes,
    ridge_by_passes,
)
from counterpoise.data.parallel import (
    current_budget,
    each_block,
    map_reduce,
    map_write,
    whole_vector,
)
from counterpoise.data.parameters import as_seed
from counterpoise.data.progress import announce
from counterpoise.data.readers import FilePath, Rows
from counterpoise.data.samples import Samples
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
from counterpoise.weights.base import WeightSums, fit_sums, lean

if TYPE_CHECKING:
    from counterpoise.adaptation.adapted import Adapted

# The name of the column of labels, or the labels of all rows.
Labels: TypeAlias = str | NDArray[Any]
# What the columns that count hold, by name; empty for matrices of numbers.
Kinds: TypeAlias = Mapping[str, str]
# A scikit-learn estimator, whose attributes depend on its class.
FittedEstimator: TypeAlias = Any

# -----------------------------------------------------------------------------
# The rows of a block as an estimator and a weight estimator see them.
# -----------------------------------------------------------------------------


def check_block_labels(y: TableLike, blocks: Blocks) -> Labels:
    """Return the name of the column of labels, or the labels of all rows."""
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
        return values
    if blocks.labels is None or y not in blocks.labels:
        raise InvalidInputError(
            f"X has no column {y!r}: y is the name of the column of labels, or an "
            f"array of {blocks.n_rows}"
        )
    return y


def labels_of_rows(labels: Labels, rows: Rows, first: int) -> NDArray[Any]:
    """Return the labels of the rows of a block; None is missing."""
    if not isinstance(labels, str):
        return labels[first : first + len(rows)]
    if not isinstance(rows, Table):
        raise InvalidTypeError(f"the labels {labels!r} need a table with columns")
    column = next(c for c in rows.columns if c.label == labels)
    if column.kind != CATEGORIES:
        return column.values
    return np.array([*column.categories, None], dtype=object)[column.values]


def kinds_of_rows(rows: Rows, label: Labels | None = None) -> Kinds:
    """Return what the columns of rows hold, all but the label; {} for a matrix."""
    if not isinstance(rows, Table):
        return {}
    label = label if isinstance(label, str) else None
    return {
        c.name: DATES if c.kind == ZONED_DATES else c.kind
        for c in rows.columns
        if c.label != label
    }


def select_columns(kinds: Kinds, rows: Rows) -> Rows:
    """Return the columns that count, in their order."""
    if not kinds:
        return rows
    found = {column.name: column for column in rows.columns}
    lacking = [name for name in kinds if name not in found]
    if lacking:
        raise InvalidInputError(f"column {lacking[0]!r} is not there")
    return Table(tuple(found[name] for name in kinds), named=True)


def estimator_rows(kinds: Kinds, rows: Rows) -> TableLike:
    """Return the rows as an estimator sees them: a frame, or a matrix of numbers."""
    return frame_of(select_columns(kinds, rows), kinds) if kinds else rows


def numeric_rows(kinds: Kinds, encoder: TableEncoder | None, rows: Rows) -> Array:
    """Return the rows as a weight estimator sees them: finite numbers."""
    columns = select_columns(kinds, rows)
    if encoder is None:
        return as_numbers_only(columns)
    return encoded_rows(encoder, Table.of(columns))


# -----------------------------------------------------------------------------
# The weights that an estimator gets for rows of a block.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BlockWeights:
    r"""Weights of the rows of a block: :math:`r^e / \mathrm{mean}\,r^e`, or a mixture.

    Attributes
    ----------
    weight_estimator : fitted weight estimator or None
        Of the density ratio r, of mean one over all source rows. None: ones.
    kinds : mapping
    encoder : TableEncoder or None
    labels : str, array or None
        For a weight estimator that goes by labels.
    exponent, mixing : float
        As weight selection chose them.
    mean : float
        Of :math:`r^e` over all source rows.
    """

    weight_estimator: Any
    kinds: Kinds
    encoder: TableEncoder | None
    labels: Labels | None = None
    exponent: float = 1.0
    mixing: float = 1.0
    mean: float = 1.0

    def ratio(self, rows: Rows, first: int) -> Array:
        """Return the density ratio of the rows of a block."""
        fitted = self.weight_estimator
        if fitted is None:
            return np.ones(len(rows))
        needs_labels = getattr(fitted, "needs_labels", False)
        if needs_labels or hasattr(fitted, "weights_of"):
            assert self.labels is not None
            weigh = fitted.predict_weights if needs_labels else fitted.weights_of
            return np.asarray(weigh(labels_of_rows(self.labels, rows, first)))
        weigh = getattr(fitted, "_weigh_rows", fitted.predict_weights)
        numbers = numeric_rows(self.kinds, self.encoder, rows)
        return np.asarray(weigh(numbers), dtype=float)

    def of_ratio(self, ratio: Array) -> Array:
        """Return the weights of rows whose ratio is known."""
        if self.mixing < 1.0:
            return 1.0 + self.mixing * (ratio / self.mean - 1.0)
        return ratio**self.exponent / self.mean

    def weights(self, rows: Rows, first: int) -> Array:
        """Return the weights of the rows of a block."""
        return self.of_ratio(self.ratio(rows, first))

    def sums(self, rows: Rows, first: int) -> WeightSums:
        """Return what the weights of the rows of a block add up to."""
        weights = self.weights(rows, first)
        return WeightSums(
            len(weights),
            float(weights.sum()),
            float(weights @ weights),
            float(weights.max()),
        )


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
# A decrement above this, in log loss a row, is reported.
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
    labels : str or array
    kinds : mapping
    weights : BlockWeights
    classes : array or None
        Of a classifier, in order.
    seed : int
    """

    source: Blocks
    labels: Labels
    kinds: Kinds
    weights: BlockWeights
    classes: NDArray[Any] | None
    seed: int


def way_of(estimator: FittedEstimator, max_samples: int | None) -> str:
    """Return how an estimator is fitted to blocks, by the rule above."""
    if max_samples is not None:
        return OF_DRAWN_ROWS
    last = _last_step(estimator)
    if _is_linear(last):
        return BY_PASSES
    return BY_PIECES if _takes_pieces(last) else OF_ROWS_IN_MEMORY


def fit_estimator(
    fitted: FittedEstimator, task: FitTask, max_samples: int | None
) -> FittedEstimator:
    """Return the estimator fitted to all rows, given its fit to the sample."""
    way = way_of(fitted, max_samples)
    if way == OF_DRAWN_ROWS:
        return _fit_drawn_rows(fitted, task, int(max_samples or 0))
    if way == OF_ROWS_IN_MEMORY:
        return _fit_in_memory(fitted, task)
    is_pipeline = isinstance(fitted, Pipeline)
    steps = fitted[:-1] if is_pipeline and len(fitted) > 1 else None
    fit_last = _fit_by_passes if way == BY_PASSES else _fit_by_pieces
    last = fit_last(_last_step(fitted), steps, task)
    if not is_pipeline:
        return last
    out = copy(fitted)
    out.steps = [*fitted.steps[:-1], (fitted.steps[-1][0], last)]
    return out


def _fit_by_passes(
    last: FittedEstimator, steps: Pipeline | None, task: FitTask
) -> FittedEstimator:
    announce("fitting the estimator to every row, by passes")
    parts = [(task.source, partial(_prepared_rows, task, steps, True))]
    out = copy(last)
    intercept = bool(last.fit_intercept)
    if isinstance(last, LogisticRegression):
        assert task.classes is not None
        no_penalty = last.penalty is None or np.isinf(last.C)
        found = logistic_by_passes(
            parts,
            len(task.classes),
            0.0 if no_penalty else 1.0 / float(last.C),
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
        out.__dict__.pop(name, None)
    return out


def _fit_by_pieces(
    last: FittedEstimator, steps: Pipeline | None, task: FitTask
) -> FittedEstimator:
    announce("fitting the estimator to every row, piece by piece")
    out = clone(last)
    more = {} if task.classes is None else {"classes": task.classes}
    work = partial(_prepared_rows, task, steps, False)
    for part in each_block(task.source, work, with_places=True):
        out.partial_fit(part.rows, part.labels, sample_weight=part.weights, **more)
        # Only the first call takes the classes with every estimator.
        more = {}
    return out


def _fit_drawn_rows(
    fitted: FittedEstimator, task: FitTask, max_samples: int
) -> FittedEstimator:
    announce("drawing rows by their weights")
    _plan(task, min(max_samples, task.source.n_rows), "budget")
    drawn = sample(
        task.source, max_samples, task.seed, predict_weights=task.weights.weights
    )
    X, y = _rows_and_labels(task, drawn.rows, drawn.places)
    announce("fitting the estimator to the rows drawn")
    return fit_weighted(fitted, X, y, None)


def _fit_in_memory(fitted: FittedEstimator, task: FitTask) -> FittedEstimator:
    n = task.source.n_rows
    _plan(task, n, "no budget")
    announce("reading all rows into memory")
    weights = whole_vector(task.source, task.weights.weights)
    X, y = _rows_and_labels(task, all_rows(task.source), np.arange(n))
    announce("fitting the estimator")
    return fit_weighted(fitted, X, y, weights)


def _rows_and_labels(
    task: FitTask, rows: Rows, places: NDArray[np.integer[Any]]
) -> tuple[TableLike, NDArray[Any]]:
    if isinstance(task.labels, str):
        y = labels_of_rows(task.labels, rows, 0)
    else:
        y = task.labels[places]
    check_none_missing(y)
    return estimator_rows(task.kinds, rows), _as_classes(y, task.classes)


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


def _prepared_rows(
    task: FitTask, steps: Pipeline | None, as_places: bool, rows: Rows, first: int
) -> RowsToFit:
    """Return the rows of a block as the last step of a pipeline gets them."""
    X = estimator_rows(task.kinds, rows)
    if steps is not None:
        X = steps.transform(X)
    X = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    finite = np.isfinite(X).all(axis=1)
    if not finite.all():
        raise InvalidInputError(
            f"X contains NaN or infinity in row {first + int(finite.argmin())}, which "
            "is none of those drawn: the estimator takes neither"
        )
    y = labels_of_rows(task.labels, rows, first)
    check_none_missing(y)
    y = _as_classes(y, task.classes)
    if task.classes is None:
        finite = np.isfinite(y)
        if not finite.all():
            place = first + int(finite.argmin())
            raise InvalidInputError(f"y contains infinity in row {place}")
    elif as_places:
        y = np.searchsorted(task.classes, y)
    return RowsToFit(X, y, task.weights.weights(rows, first))


def check_classes(source: Blocks, labels: Labels, known: NDArray[Any]) -> None:
    """Refuse classes among all rows that the sample does not have."""
    found = map_reduce(source, partial(_classes_of_block, labels, known), np.union1d)
    new = np.setdiff1d(found, known)
    if new.size:
        raise InvalidInputError(_has_too_few(new[0]))


def _classes_of_block(
    labels: Labels, known: NDArray[Any], rows: Rows, first: int
) -> NDArray[Any]:
    y = labels_of_rows(labels, rows, first)
    check_none_missing(y)
    return np.unique(_as_classes(y, known))


def _as_classes(y: NDArray[Any], classes: NDArray[Any] | None) -> NDArray[Any]:
    """Return labels of the type that the classes have."""
    if classes is None:
        return np.asarray(y, dtype=np.float64)
    if y.dtype == classes.dtype:
        return y
    converted = y.astype(classes.dtype)
    other = converted != y
    if other.any():
        raise InvalidInputError(_has_too_few(y[other][0]))
    return converted


def _has_too_few(label: object) -> str:
    return (
        f"class {label!s} has so few rows that none of those drawn is of it: "
        "leave its rows out, or join it to another"
    )


def _is_linear(last: FittedEstimator) -> bool:
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


def _takes_pieces(last: FittedEstimator) -> bool:
    """Return whether `partial_fit` is there, takes weights, and fits as `fit` would."""
    if not hasattr(last, "partial_fit"):
        return False
    needs_all_rows = getattr(last, "early_stopping", False) is True
    needs_all_rows |= getattr(last, "class_weight", None) == "balanced"
    takes_weights = "sample_weight" in signature(last.partial_fit).parameters
    return takes_weights and not needs_all_rows


def _last_step(estimator: FittedEstimator) -> FittedEstimator:
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


# -----------------------------------------------------------------------------
# Predictions and weights of rows in blocks by a fitted model.
# -----------------------------------------------------------------------------


def _predictions(
    estimator: FittedEstimator, method: str, kinds: Kinds, rows: Rows, first: object
) -> NDArray[Any]:
    """Return the predictions of the rows of a block."""
    return np.asarray(getattr(estimator, method)(estimator_rows(kinds, rows)))


def _prediction_columns(
    estimator: FittedEstimator,
    kinds: Kinds,
    classes: NDArray[Any] | None,
    name: str | None,
    rows: Rows,
    first: int,
) -> dict[str, Any]:
    """Return the columns that `write_predictions` writes for the rows of a block."""
    columns: dict[str, Any] = key_of_rows(rows, first, name)
    columns["prediction"] = _predictions(estimator, "predict", kinds, rows, first)
    if classes is not None:
        chances = _predictions(estimator, "predict_proba", kinds, rows, first)
        for k, one in enumerate(classes):
            columns[f"probability of {one}"] = chances[:, k]
    return columns


def key_of_rows(rows: Rows, first: int, name: str | None) -> dict[str, Any]:
    """Return a column that identifies the rows: one of theirs, or their numbers."""
    if name is None:
        return {"row": np.arange(first + 1, first + len(rows) + 1)}
    found = next((c for c in rows.columns if c.label == name), None)
    if found is None:
        raise InvalidInputError(f"there is no column {name!r}")
    if not found.categories:
        return {name: found.values if found.local is None else found.local}
    texts = np.array([*found.categories, None], dtype=object)
    return {name: texts[found.values]}


def _kinds_of_model(model: "Adapted", blocks: Blocks) -> Kinds:
    """Return what the columns of blocks hold that a fitted model sees."""
    kinds = getattr(model, "_seen_rows_", None)
    if kinds is not None:
        return dict(kinds)
    first = blocks.read(0)
    kinds = kinds_of_rows(first)
    names = getattr(model, "feature_names_in_", None)
    if names is not None and kinds:
        lacking = [name for name in names if name not in kinds]
        if lacking:
            raise InvalidInputError(f"the blocks have no column {lacking[0]!r}")
        return {name: kinds[name] for name in names}
    # A model that was fitted to a matrix sees one.
    return {} if isinstance(first, Table) and first.is_plain else kinds


def answered(model: "Adapted", blocks: Blocks, method: str) -> NDArray[Any]:
    """Return a model's predictions of all rows of blocks, in their order."""
    announce("predicting every row")
    kinds = _kinds_of_model(model, blocks)
    work = partial(_predictions, model.estimator_, method, kinds)
    return np.concatenate(list(each_block(blocks, work)))


def predict_block_weights(model: "Adapted", blocks: Blocks) -> Array:
    """Return the density ratio of all rows of blocks, in their order."""
    fitted = model.weight_estimator_
    if getattr(fitted, "needs_labels", False):
        raise InvalidInputError(
            "the model weighs by labels: blocks without them have no weights"
        )
    weights = BlockWeights(
        None if fitted is None else lean(fitted),
        _kinds_of_model(model, blocks),
        model.encoder_,
    )
    return np.concatenate(list(each_block(blocks, weights.ratio, with_places=True)))


def write_block_predictions(
    model: "Adapted",
    blocks: Blocks,
    path: FilePath,
    *,
    name: str | None,
    chances: bool,
) -> None:
    """Write a model's predictions of all rows to a Parquet file, in their order."""
    announce("predicting every row")
    kinds = _kinds_of_model(model, blocks)
    classes = model.classes_ if chances else None
    work = partial(_prediction_columns, model.estimator_, kinds, classes, name)
    map_write(blocks, work, path)


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
    labels : str or array
    kinds : mapping
    X, y : the rows drawn of the source, as the estimator sees them, and their labels
    samples : SamplesAsRead
        The rows drawn of both.
    """

    source: Blocks
    target: Blocks
    labels: Labels
    kinds: Kinds
    X: TableLike
    y: NDArray[Any]
    samples: Samples

    @classmethod
    def drawn(
        cls, X: TableLike, y: TableLike, X_target: TableLike, seed: int
    ) -> "TablesInBlocks":
        """Return two tables with 10,000 rows drawn of each."""
        source, target = Blocks.of(X), Blocks.of(X_target)
        labels = check_block_labels(y, source)
        announce("drawing rows to decide on")
        rows = sample(source, DECISION_SAMPLE_SIZE, seed)
        target_rows = sample(target, DECISION_SAMPLE_SIZE, seed).rows
        if isinstance(labels, str):
            values = labels_of_rows(labels, rows.rows, 0)
        else:
            values = labels[rows.places]
        if values.dtype.kind == "f" and np.array_equal(values, np.rint(values)):
            # Tables have one kind of numbers; classes 0 and 1 are no fractions.
            values = values.astype(np.int64)
        kinds = kinds_of_rows(rows.rows, labels)
        samples = _samples(kinds, rows.rows, target_rows)
        seen = estimator_rows(kinds, rows.rows)
        return cls(source, target, labels, kinds, seen, values, samples)


def _samples(kinds: Kinds, rows: Rows, target_rows: Rows) -> Samples:
    if not isinstance(rows, Table):
        return Samples.read(rows, (np.asarray(target_rows),))
    if not isinstance(target_rows, Table):
        raise InvalidInputError("X has named columns, X_target has none")
    source, target = two_tables(
        select_columns(kinds, rows), select_columns(kinds, target_rows)
    )
    seen = estimator_rows(kinds, rows), (estimator_rows(kinds, target_rows),)
    return Samples.of_tables(source, target, seen)


def rows_drawn_for_evaluation(
    model: "Adapted", X: TableLike, y: TableLike, X_target: TableLike, seed: int
) -> tuple[TableLike, NDArray[Any], Samples]:
    """Return rows drawn of tables in blocks, their labels, and both samples.

    By the seed of a model that was fitted to blocks: its weights are of these rows.
    """
    drawn_by = getattr(model, "_drawn_by_", None)
    seed = seed if drawn_by is None else drawn_by
    tables = TablesInBlocks.drawn(X, y, X_target, seed)
    return tables.X, tables.y, tables.samples


def fit_model(
    model: "Adapted", X: TableLike, y: TableLike, X_target: TableLike
) -> None:
    """Fit an `Adapted` to tables, one of which at least comes in blocks."""
    _check(model, X_target)
    seed = as_seed(model.random_state)
    tables = TablesInBlocks.drawn(X, y, X_target, seed)
    # The sample's own fit decides; it needs no draw.
    model._fit(tables.X, tables.y, tables.samples, None, None, max_samples=None)
    fit_all_rows(model, tables, model.max_samples)
    model._drawn_by_ = seed


def fit_all_rows(
    model: "Adapted", tables: TablesInBlocks, max_samples: int | None
) -> BlockWeights:
    """Fit to all rows a model that has been fitted to the rows drawn.

    Weights of the rows drawn stay with the model (`weights_`); what all rows add up to
    is in `all_rows_`. Returns what weighs the rows of a block.
    """
    seed = as_seed(model.random_state)
    fitted = model.weight_estimator_
    fit_of, sent = _fit_weights(fitted, model.encoder_, tables)
    weights = BlockWeights(
        sent,
        tables.kinds,
        model.encoder_,
        tables.labels,
        model.exponent_,
        model.mixing_,
    )
    announce("adding up the weights of every row")
    sums = map_reduce(tables.source, weights.sums)
    mean = sums.total / sums.n
    if 0.0 < model.mixing_ < 1.0:
        # Of a mixture with ones what is asked for is the mean of the ratio itself.
        mean = 1.0 + (mean - 1.0) / model.mixing_
    weights = replace(weights, mean=mean)
    drawn = np.ones(len(tables.y)) if fitted is None else fitted.weights_
    if hasattr(fitted, "weights_of"):
        drawn = fitted.weights_of(tables.y)
    model.weights_ = weights.of_ratio(drawn)
    model.effective_sample_size_ = effective_sample_size(model.weights_)
    classes = None
    if is_classifier(model.estimator_, tables.y):
        classes = np.asarray(model.estimator_.classes_)
        check_classes(tables.source, tables.labels, classes)
    task = FitTask(tables.source, tables.labels, tables.kinds, weights, classes, seed)
    model.estimator_ = fit_estimator(model.estimator_, task, max_samples)
    model._seen_rows_ = dict(tables.kinds)
    # The rows of the fit are not those drawn: none is known again by its marks.
    model._row_marks_ = None
    model.all_rows_ = AllRows(
        tables.source.n_rows,
        tables.target.n_rows,
        len(tables.y),
        len(tables.samples.target_weight),
        fit_of,
        way_of(model.estimator_, max_samples),
        max_samples,
        sums.effective_size,
        sums.largest / mean,
    )
    return weights


def _fit_weights(
    fitted: Any, encoder: TableEncoder | None, tables: TablesInBlocks
) -> tuple[str, Any]:
    """Fit a weight estimator to all rows if it can; return what it is fitted to.

    The second value is a copy of it without rows, for workers.
    """
    if not hasattr(fitted, "_fit_blocks") or fitted.needs_labels:
        has_rows = hasattr(fitted, "without_rows")
        return "the sample", fitted.without_rows() if has_rows else fitted
    by_all_rows, _ = fit_weights_to_blocks(
        fitted, tables.source, tables.target, tables.kinds, encoder, tables.samples
    )
    return "every row" if by_all_rows else "the sample", lean(fitted)


def fit_weights_to_blocks(
    fitted: Any,
    source: Blocks,
    target: Blocks,
    kinds: Kinds,
    encoder: TableEncoder | None,
    samples: Samples,
) -> tuple[bool, WeightSums]:
    """Fit to all rows a weight estimator that was fitted to the rows drawn.

    Returns whether every row was fitted to, and what the weights add up to. Its
    `weights_` are those of the rows drawn.
    """
    as_numbers = partial(numeric_rows, kinds, encoder)
    both = samples.in_blocks(source.mapped(as_numbers), target.mapped(as_numbers))
    before = fitted.solution_
    sums = fit_sums(fitted, both)
    fitted.weights_ = fitted._weigh_rows(samples.source)
    return fitted.solution_ is not before, sums


def refuse_beside_blocks(**given: object) -> None:
    """Refuse what is an array of all rows, by its name."""
    for name, value in given.items():
        if value is not None:
            raise InvalidInputError(
                f"{name} is not taken beside blocks: every row counts once"
            )


def _check(model: "Adapted", X_target: TableLike) -> None:
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
