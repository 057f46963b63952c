"""`Adapted` of tables in blocks: every decision on a sample, every row in the fit."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.adaptation.in_blocks.estimators import (
    FitTask,
    classes_of,
    fit_estimator,
    way_of,
)
from counterpoise.adaptation.in_blocks.rows import (
    EncodedRows,
    LabelsOfRows,
    RowsAsSeen,
)
from counterpoise.adaptation.in_blocks.weighing import (
    RatioOfBlocks,
    WeightsOfBlocks,
    sums_of_weights,
)
from counterpoise.engine import ROWS_DECIDED_ON, Blocks, announce, sample
from counterpoise.evaluation.metrics import is_classifier
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.effective_size import effective_sample_size
from counterpoise.tables.columns import Table, two_tables
from counterpoise.validation import InvalidInput, as_seed
from counterpoise.weights.by_blocks import (
    TwoBlocks,
    fit_sums,
    lean,
)


@dataclass(frozen=True)
class AllRows:
    """How many rows each part of a fit to blocks rests on.

    Attributes
    ----------
    n_source, n_target : int
        All rows, which weights and estimator were fitted to.
    n_drawn, n_target_drawn : int
        Rows of the sample, on which everything was decided.
    weighter_fit : str
        "every row", or "the sample" for a weighter that is not fitted by passes.
    estimator_fit : {"passes", "pieces", "drawn rows", "rows in memory"}
        How the estimator was fitted.
    budget : int or None
        Rows drawn for it.
    effective_size : float
        Of the weights of all source rows.
    largest_weight : float
    """

    n_source: int
    n_target: int
    n_drawn: int
    n_target_drawn: int
    weighter_fit: str
    estimator_fit: str
    budget: int | None
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
        raise InvalidInput("X has named columns, X_target has none")
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
    budget = model.budget
    # The sample's own fit decides; it needs no draw.
    model.budget = None
    try:
        model._fit_told(tables.X, tables.y, tables.samples, None, None)
    finally:
        model.budget = budget
    fit_all_rows(model, tables, budget)
    model._drawn_by_ = seed


def fit_all_rows(
    model: Any, tables: TablesInBlocks, budget: int | None
) -> WeightsOfBlocks:
    """Fit to all rows a model that has been fitted to the rows drawn.

    Weights of the rows drawn stay with the model (`weights_`); what all rows add up to
    is in `all_rows_`. Returns what weighs the rows of a block.
    """
    seed = as_seed(model.random_state)
    weighter = model.weighter_
    encoded = EncodedRows(tables.seen, model.encoder_)
    fitted = "the sample"
    by_rows = hasattr(weighter, "_fit_blocks") and not weighter.needs_labels
    if by_rows:
        both = TwoBlocks(
            tables.source.mapped(encoded),
            tables.target.mapped(encoded),
            tables.samples,
            tables.samples.matrix_names,
        )
        before = weighter.solution_
        fit_sums(weighter, both)
        if weighter.solution_ is not before:
            fitted = "every row"
        weighter.weights_ = weighter._weigh_rows(tables.samples.source)
    sent = weighter
    if hasattr(weighter, "without_rows"):
        sent = lean(weighter) if by_rows else weighter.without_rows()
    ratio = RatioOfBlocks(sent, encoded, tables.labels)
    weights = WeightsOfBlocks(ratio, model.exponent_, model.mixing_)
    announce("adding up the weights of every row")
    sums = sums_of_weights(tables.source, weights)
    mean = sums.total / sums.n
    if 0.0 < model.mixing_ < 1.0:
        # Of a mixture with ones what is asked for is the mean of the ratio itself.
        mean = 1.0 + (mean - 1.0) / model.mixing_
    weights = WeightsOfBlocks(ratio, model.exponent_, model.mixing_, mean)
    drawn = np.ones(len(tables.y)) if weighter is None else weighter.weights_
    if hasattr(weighter, "weights_of"):
        drawn = weighter.weights_of(tables.y)
    model.weights_ = weights.of_ratio(drawn)
    model.effective_sample_size_ = effective_sample_size(model.weights_)
    classes = None
    if is_classifier(model.estimator_, tables.y):
        known = np.asarray(model.estimator_.classes_)
        classes = classes_of(tables.source, tables.labels, known)
    task = FitTask(tables.source, tables.labels, tables.seen, weights, classes, seed)
    model.estimator_ = fit_estimator(model.estimator_, task, budget)
    model._seen_rows_ = tables.seen
    # The rows of the fit are not those drawn: none is known again by its marks.
    model._row_marks_ = None
    model.all_rows_ = AllRows(
        tables.source.n_rows,
        tables.target.n_rows,
        len(tables.y),
        len(tables.samples.target_weight),
        fitted,
        way_of(model.estimator_, budget),
        budget,
        sums.effective_size,
        sums.largest / mean,
    )
    return weights


def refuse_beside_blocks(**given: Any) -> None:
    """Refuse what is an array of all rows, by its name."""
    for name, value in given.items():
        if value is not None:
            raise InvalidInput(
                f"{name} is not taken beside blocks: every row counts once"
            )


def _check(model: Any, X_target: Any) -> None:
    """Refuse what tables in blocks cannot have."""
    if X_target is None:
        raise InvalidInput("X comes in blocks and X_target is None: both are needed")
    if model._is_partial():
        raise InvalidInput(
            'weighter="partial" labels every target row: it takes no blocks'
        )
    if model.calibration:
        raise InvalidInput(
            "calibration holds rows out of the fit, which takes every row of blocks: "
            "choose calibration=0"
        )
    if model.resample:
        raise InvalidInput("resample draws all rows anew: beside blocks give a budget")
