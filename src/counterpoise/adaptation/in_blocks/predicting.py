"""A fitted model asked about rows in blocks."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.adaptation.in_blocks.rows import EncodedRows, RowsAsSeen
from counterpoise.adaptation.in_blocks.weighing import RatioOfBlocks
from counterpoise.engine import Blocks, announce, each_block, map_write
from counterpoise.tables.columns import Table
from counterpoise.validation import InvalidInput
from counterpoise.weights.by_blocks import lean


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
        raise InvalidInput(f"there is no column {name!r}")
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
            raise InvalidInput(f"the blocks have no column {lacking[0]!r}")
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
    if getattr(model.weighter_, "needs_labels", False):
        raise InvalidInput(
            "the model weighs by labels: blocks without them have no weights"
        )
    encoded = EncodedRows(seen_by(model, blocks), model.encoder_)
    weighter = None if model.weighter_ is None else lean(model.weighter_)
    work = RatioOfBlocks(weighter, encoded, None)
    return np.concatenate(list(each_block(blocks, work, with_places=True)))


def write_answers(
    model: Any, blocks: Blocks, path: Any, *, name: str | None, chances: bool
) -> None:
    """Write a model's predictions of all rows to a Parquet file, in their order."""
    announce("predicting every row")
    answers = AnswersOfRows(model.estimator_, "predict", seen_by(model, blocks))
    classes = model.classes_ if chances else None
    map_write(blocks, AnswersAsColumns(answers, classes, name), path)
