"""The main job's last part where tables are large: weights and model of every row."""

from argparse import Namespace
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from counterpoise.adaptation.in_blocks.estimators import (
    COPIES_OF_ROWS,
    OF_ROWS_IN_MEMORY,
    way_of,
)
from counterpoise.adaptation.in_blocks.fitting import TablesInBlocks, fit_all_rows
from counterpoise.adaptation.in_blocks.rows import (
    EncodedRows,
    LabelsOfRows,
    RowsAsSeen,
)
from counterpoise.adaptation.in_blocks.weighing import RatioOfBlocks, WeightsOfBlocks
from counterpoise.cli.exits import WrongUse
from counterpoise.cli.in_blocks.large_pair import LargePair
from counterpoise.cli.in_blocks.typed_reader import ROW
from counterpoise.cli.writing import Write
from counterpoise.engine import current_budget, map_write
from counterpoise.samples.effective_size import effective_sample_size
from counterpoise.weights.by_blocks import TwoBlocks, fit_sums, lean

# As the main job calls it.
WEIGHTS_FILE = "weights.parquet"
# A model that is fitted in memory gets no more rows than this.
MOST_ROWS_OF_A_MODEL = 200_000


@dataclass(frozen=True, eq=False)
class EveryRow:
    """What was found of every row, beside what was decided on those drawn.

    Attributes
    ----------
    sections : dict
        Of the record: how many rows each part rests on.
    files : dict
        What writes the weights of every source row, by the name of the file.
    """

    sections: dict[str, Any] = field(default_factory=dict)
    files: dict[str, Write] = field(default_factory=dict)


def fit_every_row(
    model: Any, large: LargePair | None, pair: Any, options: Namespace, steps: Any
) -> EveryRow:
    """Fit to every row a model that was fitted to the rows drawn, and say so.

    Nothing is done where tables are files, or where a diagnosis stands for the model.
    """
    if large is None:
        return EveryRow()
    for told in large.told(pair):
        steps.notice(told)
    if not hasattr(model, "estimator_"):
        return EveryRow()
    source, target = large.blocks(pair, options)
    tables = TablesInBlocks(
        source,
        target,
        LabelsOfRows(column=options.label),
        RowsAsSeen(dict(pair.kinds)),
        pair.X,
        pair.y,
        pair.samples,
    )
    budget = _budget(model.estimator_, source.n_rows, len(pair.kinds))
    weights = fit_all_rows(model, tables, budget)
    rests = model.all_rows_
    fitted = (
        "every row" if budget is None else f"{budget:,} rows drawn by their weights"
    )
    steps.notice(
        f"the weights of all {rests.n_source:,} source rows are by a fit to "
        f"{rests.weighter_fit}; the model is fitted to {fitted}"
    )
    work = WeightColumns(weights, options.id, large.source.whole_type(options.id))
    return EveryRow(
        {"all_rows": asdict(rests)},
        {WEIGHTS_FILE: lambda path: map_write(source, work, path)},
    )


def weigh_every_row(
    weighter: Any,
    samples: Any,
    large: LargePair | None,
    pair: Any,
    options: Namespace,
    steps: Any,
) -> EveryRow:
    """Fit to every row a weighter that was fitted to the rows drawn, and say so."""
    if large is None:
        return EveryRow()
    if options.out.suffix.lower() != ".parquet":
        raise WrongUse(f"--out {options.out} of folders must end in .parquet")
    if weighter.needs_labels:
        raise WrongUse(f"--weighter {options.weighter} is not taken with folders")
    source, target = large.blocks(pair, options)
    encoded = EncodedRows(RowsAsSeen(dict(pair.kinds)), samples.encoder)
    both = TwoBlocks(
        source.mapped(encoded), target.mapped(encoded), samples, samples.matrix_names
    )
    before = weighter.solution_
    sums = fit_sums(weighter, both)
    weighter.weights_ = weighter._weigh_rows(samples.source)
    weighter.effective_sample_size_ = effective_sample_size(weighter.weights_)
    fitted = "the sample" if weighter.solution_ is before else "every row"
    for told in large.told(pair):
        steps.notice(told)
    steps.notice(f"the weights of all {sums.n:,} source rows are by a fit to {fitted}")
    rests = {
        "n_source": sums.n,
        "n_target": target.n_rows,
        "n_drawn": len(pair.table),
        "n_target_drawn": len(pair.table_target),
        "weighter_fit": fitted,
        "effective_size": sums.effective_size,
        "largest_weight": sums.largest / (sums.total / sums.n),
    }
    ratio = RatioOfBlocks(lean(weighter), encoded, None)
    work = RatioColumns(ratio, options.id, large.source.whole_type(options.id))
    return EveryRow(
        {"all_rows": rests},
        {WEIGHTS_FILE: lambda path: map_write(source, work, path)},
    )


def _budget(estimator: Any, n: int, width: int) -> int | None:
    """Return how many rows are drawn for a model; None: it is fitted to every row.

    A model that is fitted in memory gets at most 200,000 rows drawn by their weights,
    and no more than the memory budget has room for.
    """
    if way_of(estimator, None) != OF_ROWS_IN_MEMORY:
        return None
    fits = current_budget() // (COPIES_OF_ROWS * 8 * (width + 3))
    return int(min(n, fits, MOST_ROWS_OF_A_MODEL))


@dataclass(frozen=True, eq=False)
class WeightColumns:
    """The weights of a block's rows, with what tells the rows apart."""

    weights: WeightsOfBlocks
    name_column: str | None
    id_type: Any

    def __call__(self, rows: Any, first: int) -> dict[str, Any]:
        """Return the columns of a block's rows."""
        ratio = self.weights.ratio(rows, first)
        return {
            **names_of_rows(rows, self.name_column, self.id_type),
            "weight": self.weights.of_ratio(ratio),
            "ratio": ratio,
        }


@dataclass(frozen=True, eq=False)
class RatioColumns:
    """The density ratios of a block's rows, with what tells the rows apart."""

    ratio: Any
    name_column: str | None
    id_type: Any

    def __call__(self, rows: Any, first: int) -> dict[str, Any]:
        """Return the columns of a block's rows."""
        names = names_of_rows(rows, self.name_column, self.id_type)
        return {**names, "weight": self.ratio(rows, first)}


def names_of_rows(rows: Any, name_column: str | None, kind: Any) -> dict[str, Any]:
    """Return the rows' own names, or their numbers in all files, from 1."""
    found = {column.label: column for column in rows.columns}
    if name_column is None:
        return {"row": found[ROW].values.astype(np.int64)}
    import pyarrow

    column = found[name_column]
    texts = np.array([*column.categories, None], dtype=object)
    places = column.values if column.categories else np.full(len(column.values), -1)
    names = pyarrow.array(texts[places].tolist(), pyarrow.string())
    return {name_column: names if kind is None else names.cast(kind)}
