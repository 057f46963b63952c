"""`counterpoise predict` on a folder or a pattern of files: row group by row group."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from counterpoise.cli.commands.predict import (
    answers_of,
    kinds_for_model,
    read_model,
)
from counterpoise.cli.exits import BadData, WrongUse
from counterpoise.cli.in_blocks.fitting import names_of_rows
from counterpoise.cli.in_blocks.large_pair import refuse_inside, working_on_blocks
from counterpoise.cli.in_blocks.large_table import LargeTable
from counterpoise.cli.writing import write_file
from counterpoise.cli.writing.known_rows import coverage_columns, interval_columns
from counterpoise.engine import map_reduce, map_write
from counterpoise.tables.columns import Table
from counterpoise.tables.frames import frame_of


def predict_in_blocks(options: Namespace, plan: Sequence[str]) -> int:
    """Predict the rows of many files and write the predictions in their order."""
    from counterpoise.cli.ending import memory_limit
    from counterpoise.cli.findings import of_end
    from counterpoise.cli.progress import followed
    from counterpoise.cli.terminal import show

    if options.out.suffix.lower() != ".parquet":
        raise WrongUse(f"--out {options.out} of folders must end in .parquet")
    large = LargeTable.at(options.table)
    refuse_inside([large], options.out)
    with (
        followed(plan, quiet=options.quiet) as steps,
        memory_limit(options),
        working_on_blocks(options, large),
    ):
        steps.begin(plan[0])
        model = read_model(options.model)
        if options.probabilities and not hasattr(model, "predict_proba"):
            raise BadData(f"{options.model} holds a model without probabilities")
        kinds = kinds_for_model(model, large.drawn(1, 0))
        blocks = large.typed(kinds, name_column=options.id)
        work = PredictedColumns(
            model,
            kinds,
            options.model,
            options.id,
            large.whole_type(options.id),
            options.probabilities,
            options.intervals,
            options.coverage,
        )
        lost = map_reduce(blocks, _Uncovered(work))
        if lost:
            n = blocks.n_rows
            steps.notice(
                f"{lost:,} of {n:,} rows ({100 * lost / n:.2g} %) are not covered by "
                "the source: do not rely on their predictions"
                + ("" if options.coverage else " (--coverage says which)")
            )
        steps.begin(plan[2])
        write_file(
            options.out,
            lambda path: map_write(blocks, work, path),
            force=options.force,
        )
    if not options.quiet:
        show(of_end([], [options.out]))
    return 0


@dataclass(frozen=True, eq=False)
class PredictedColumns:
    """What `predict` writes of a block's rows."""

    model: Any
    kinds: Mapping[str, str]
    path: Path
    name_column: str | None
    id_type: Any
    probabilities: bool
    level: float | None
    coverage: bool

    def frame(self, rows: Any) -> Any:
        """Return the model's columns, in its order."""
        found = {column.label: column for column in rows.columns}
        return frame_of(Table(tuple(found[k] for k in self.kinds), True), self.kinds)

    def __call__(self, rows: Any, first: int) -> dict[str, Any]:
        """Return the columns of a block's rows."""
        X, model = self.frame(rows), self.model
        with answers_of(self.path):
            columns = {
                **names_of_rows(rows, self.name_column, self.id_type),
                "prediction": np.asarray(model.predict(X)),
            }
            if self.probabilities:
                chances = model.predict_proba(X)
                for k, name in enumerate(model.classes_):
                    columns[f"probability of {name}"] = chances[:, k]
        if self.level is not None:
            columns |= interval_columns(model, X, self.level, self.path)
        return columns | coverage_columns(
            model, X, self.path, asked=self.coverage, notice=_unsaid
        )


@dataclass(frozen=True, eq=False)
class _Uncovered:
    """How many rows of a block the model's source does not cover."""

    columns: PredictedColumns

    def __call__(self, rows: Any, first: int) -> int:
        lost: list[int] = []
        coverage = getattr(self.columns.model, "uncovered_rows", None)
        if coverage is not None:
            lost.append(int(np.count_nonzero(coverage(self.columns.frame(rows)))))
        return sum(lost)


def _unsaid(told: str) -> None:
    """Say nothing: it is said once, of all rows."""
