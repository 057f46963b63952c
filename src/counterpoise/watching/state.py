"""All that a watch knows, small and without the stream's rows."""

import json
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.evaluation.answers import Answers
from counterpoise.evaluation.metrics import Metric
from counterpoise.numerics.arrays import Array
from counterpoise.tables.columns import Table
from counterpoise.tables.encoding import TableEncoder
from counterpoise.tables.kinds import NUMBERS
from counterpoise.watching.inputs_evidence import InputsEvidence
from counterpoise.watching.label_free import LabelFree, value_and_error
from counterpoise.watching.labelled_risk import LabelledRisk
from counterpoise.watching.looks import Alarm
from counterpoise.watching.misses import FEWEST_LABELS, Missed, missed
from counterpoise.watching.oddities import KnownColumns, single_columns

# Reference rows kept for drift and estimates, and bytes that they and what is made of
# them may take.
ROWS_KEPT, _BYTES_KEPT, _FEWEST_KEPT = 5_000, 3_000_000, 400
# Bytes of the model's answers kept for labels to come, and of what tells rows apart.
_BYTES_WAITING = 2_000_000
_BYTES_OF_KEYS = 1_000_000


@dataclass
class Tally:
    """Labelled rows of a chunk: how many, their sum and their sum of squares."""

    n: int = 0
    total: float = 0.0
    squares: float = 0.0
    # Of metrics that are no means: value and error of the largest batch.
    value: float | None = None
    error: float | None = None

    def value_and_error(self) -> tuple[float, float]:
        """Return the mean of the rows, or the metric of the batch, and its error."""
        if self.value is not None and self.error is not None:
            return self.value, self.error
        mean = self.total / self.n
        spread = max(self.squares / self.n - mean**2, 0.0)
        return mean, float(np.sqrt(spread / max(self.n - 1, 1)))


@dataclass
class SeenChunk:
    """What is kept of a chunk."""

    number: int
    time: Any
    n_rows: int
    digest: str
    tallies: dict[str, Tally] = field(default_factory=dict)
    # What the model said of the rows, for labels to come; None when given up.
    said: dict[str, NDArray[Any]] | None = None
    # Which of them have their labels.
    labelled: NDArray[np.bool_] | None = None
    # What tells the rows from others (`seen_rows`); None when given up or not told.
    keys: NDArray[np.uint64] | None = None
    covered: float | None = None
    # Of each metric the estimate's mean loss (or value) and its variance.
    estimated: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def n_labelled(self) -> int:
        """How many of the rows have had their labels counted."""
        return max((known.n for known in self.tallies.values()), default=0)

    def miss(self, name: str) -> tuple[float, float] | None:
        """Return how far the estimate of a metric missed, and the miss's variance."""
        known, estimated = self.tallies.get(name), self.estimated.get(name)
        if known is None or estimated is None or known.n < FEWEST_LABELS:
            return None
        value, error = known.value_and_error()
        return value - estimated[0], estimated[1] + error**2


@dataclass
class WatchState:
    """What a watch was made from, and what it has seen."""

    model: Any
    metric_names: tuple[str, ...]
    level: float
    alarm: float
    tolerance: float
    seed: int
    is_classifier: bool
    classes: Any
    encoder: TableEncoder
    known: KnownColumns
    numbers: Array
    scores: Array
    reference: dict[str, float]
    inputs: InputsEvidence
    risk: LabelledRisk
    estimates: list[LabelFree]
    chunks: list[SeenChunk] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)
    alarms: list[Alarm] = field(default_factory=list)
    n_judged: int = 0
    # Times of the batches of labels, in the order in which they came.
    batch_times: list[Any] = field(default_factory=list)
    rose: bool = False
    # What ids were made from, where somebody said so.
    rows_told_by: str = ""
    # What tables call the labels, where somebody said so.
    label_column: str = ""
    # The history as one text, in files alone: thousands of small parts are slow there.
    history_text: str = ""

    def packed(self) -> "WatchState":
        """Return the state as files hold it."""
        return replace(self, history=[], history_text=json.dumps(self.history))

    def unpacked(self) -> "WatchState":
        """Return the state as it was before `packed`."""
        return replace(self, history=json.loads(self.history_text), history_text="")

    def chunk_at(self, time: Any) -> SeenChunk | None:
        """Return the last chunk of a time."""
        for chunk in reversed(self.chunks):
            if chunk.time == time:
                return chunk
        return None

    def missed(self, one: LabelFree) -> Missed:
        """Return what chance does not explain of how far estimates have missed."""
        found = [chunk.miss(one.name) for chunk in self.chunks]
        labelled = missed(miss for miss in found if miss)
        return max(missed(one.block_misses), labelled)

    def encoded(self, table: Table) -> Array:
        """Return a chunk as numbers that can be compared with the reference's.

        A column that the reference has in double precision and the chunk in single, or
        the other way round, takes the reference's value where the two are equal in
        single precision.
        """
        numbers = self.encoder.transform(table)
        labels = list(self.encoder.columns_)
        rounded = set(single_columns(table)) ^ set(self.known.single)
        for column in table.columns:
            if column.label in rounded & set(labels) and column.kind == NUMBERS:
                k = labels.index(column.label)
                known = self.encoder.column_of(column.label, self.numbers).values
                single, first = np.unique(known.astype(np.float32), return_index=True)
                own = column.values.astype(np.float32)
                place = np.minimum(np.searchsorted(single, own), single.size - 1)
                same = single[place] == own
                numbers[same, k] = self.numbers[first[place[same]], k]
        return numbers

    def decoded(self, numbers: Array) -> Table:
        """Return encoded rows as the table that they came from."""
        labels = dict.fromkeys(self.encoder.columns_)
        columns = tuple(self.encoder.column_of(label, numbers) for label in labels)
        return Table(columns, all(isinstance(label, str) for label in labels))

    def has_alarm(self, kind: str) -> bool:
        """Return whether an alarm of a kind has been raised."""
        return any(alarm.kind == kind for alarm in self.alarms)

    def keep_keys(self, chunk: SeenChunk, keys: NDArray[np.uint64] | None) -> None:
        """Keep what tells a chunk's rows apart; give up the oldest beyond the limit."""
        chunk.keys, kept = keys, 0
        for one in reversed(self.chunks):
            kept += 0 if one.keys is None else one.keys.nbytes
            if kept > _BYTES_OF_KEYS:
                one.keys = None

    def keep_answers(self, chunk: SeenChunk, answers: Answers) -> None:
        """Keep what the model said of a chunk; give up the oldest beyond the limit."""
        # In full precision: rounded, large predictions would lose small residuals, and
        # probabilities next to one their logarithms.
        chunk.said = dict(answers.said)
        chunk.labelled = np.zeros(chunk.n_rows, dtype=bool)
        kept = 0
        for one in reversed(self.chunks):
            if one.said is None:
                continue
            kept += sum(said.nbytes for said in one.said.values())
            if kept > _BYTES_WAITING:
                one.said = one.labelled = None


def rows_to_keep(n: int, n_columns: int) -> int:
    """Return how many reference rows are kept: 5,000, fewer of wide tables."""
    by_size = int(_BYTES_KEPT / (8 * (n_columns + 48)))
    return min(n, ROWS_KEPT, max(by_size, _FEWEST_KEPT))


def digest_of(numbers: Array) -> str:
    """Return what tells the rows of a chunk from others, in their order."""
    exact = np.ascontiguousarray(numbers)
    return blake2b(exact.tobytes(), digest_size=12).hexdigest()


def tally(metric: Metric, known: Tally, answers: Answers, labels: NDArray[Any]) -> None:
    """Count labelled rows in."""
    rows = answers.rows
    if metric.by_row is not None:
        values = metric.rows(answers, rows, labels)
        known.n += values.size
        known.total += float(values.sum())
        known.squares += float((values**2).sum())
    elif rows.size > known.n and np.unique(labels).size > 1:
        known.n = rows.size
        known.value, known.error = value_and_error(
            metric, answers, labels, np.ones(rows.size)
        )
