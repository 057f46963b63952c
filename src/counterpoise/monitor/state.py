"""The state of a monitor: labels, rows seen and rows with identifiers."""

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from counterpoise.data.columns import FEWEST_ROWS_REPORTED
from counterpoise.data.encoder import TableEncoder
from counterpoise.data.labels_and_weights import as_classes, as_responses
from counterpoise.data.table import CATEGORIES, NOTHING, NUMBERS, Table, TableColumn
from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.linalg.arrays import Array, Indices, is_single, positive_zero
from counterpoise.monitor.estimates import (
    FEWEST_LABELS,
    ExcessError,
    LabelFree,
    excess_error,
    value_and_error,
)
from counterpoise.monitor.evidence import InputsEvidence, LabeledRisk
from counterpoise.monitor.results import Alert
from counterpoise.performance.metrics import (
    ClassifierPredictions,
    Metric,
    Predictions,
    RegressorPredictions,
)

# -----------------------------------------------------------------------------
# What a chunk is called, as plain words or numbers that can be ordered.
# -----------------------------------------------------------------------------


def as_time(time: Any, number: int | None) -> Any:
    """Return a time as text or a number; None as the number of the chunk.

    Examples
    --------
    >>> as_time(np.datetime64("2024-01-01"), 3), as_time(None, 3)
    ('2024-01-01', 3)
    """
    if time is None:
        return number
    if isinstance(time, str | int | float):
        return time
    if isinstance(time, np.datetime64):
        return str(time)
    if isinstance(time, np.generic):
        return time.item()
    if hasattr(time, "isoformat"):
        return time.isoformat()
    raise InvalidTypeError(
        f"time must be text, a number, a date or None, got {type(time).__name__}"
    )


def is_before(time: Any, other: Any) -> bool:
    """Return whether a time comes before another; False where they do not compare."""
    if isinstance(time, str) != isinstance(other, str):
        return False
    return bool(time < other)


# -----------------------------------------------------------------------------
# What is odd about a chunk, named: categories, columns without values, units.
# -----------------------------------------------------------------------------


# A unit is held to have changed where this share of a column lies outside the
# reference's range, and its typical size is so many times as large or small.
_SHARE_OUTSIDE, _TIMES = 0.5, 5.0
_LISTED = 5


@dataclass(frozen=True)
class ReferenceSchema:
    """What the columns of the reference held.

    Attributes
    ----------
    kinds : dict
        Of each column, by its label.
    categories : dict
        Of each column of categories those that it had.
    ranges : dict
        Of each column of numbers the least, the largest, and the median absolute value.
    single : tuple
        Columns of numbers of single precision.
    """

    kinds: dict[Hashable, str]
    categories: dict[Hashable, tuple[str, ...]]
    ranges: dict[Hashable, tuple[float, float, float]]
    single: tuple[Hashable, ...]

    @classmethod
    def of(cls, table: Table) -> "ReferenceSchema":
        """Return what the reference held."""
        kinds: dict[Hashable, str] = {}
        categories: dict[Hashable, tuple[str, ...]] = {}
        ranges: dict[Hashable, tuple[float, float, float]] = {}
        for column in table.columns:
            kinds[column.label] = column.kind
            if column.kind == CATEGORIES:
                categories[column.label] = column.categories
            elif column.kind == NUMBERS:
                there = column.values[~column.missing]
                ranges[column.label] = (
                    float(there.min()),
                    float(there.max()),
                    float(np.median(np.abs(there))),
                )
        return cls(kinds, categories, ranges, tuple(single_columns(table)))

    def check_has(self, table: Table) -> None:
        """Refuse a chunk that lacks columns of the reference, by their names."""
        if table.labels is None:
            return
        lacking = [repr(k) for k in self.kinds if k not in set(table.labels)]
        if lacking:
            raise InvalidInputError(
                f"columns that the reference had are gone: {', '.join(lacking)}"
            )

    def oddities(self, table: Table) -> list[tuple[str, str]]:
        """Return what is odd about a chunk: the column, and a sentence about it."""
        result = []
        for column in table.columns:
            label, text = column.label, None
            if self.kinds.get(label, NOTHING) == NOTHING:
                continue
            if column.missing.all():
                text = f"column {column.name!r} has no value at all"
            elif label in self.categories and column.kind == CATEGORIES:
                text = _new_categories(column, self.categories[label])
            elif label in self.ranges and column.kind == NUMBERS:
                text = _changed_unit(column, *self.ranges[label])
            if text:
                result.append((column.name, text))
        return result


def single_columns(table: Table) -> list[Hashable]:
    """Return the labels of columns of numbers of single precision."""
    numbers = [column for column in table.columns if column.kind == NUMBERS]
    return [column.label for column in numbers if is_single(column.values)]


def _new_categories(column: TableColumn, had: tuple[str, ...]) -> str | None:
    has, values = column.categories, column.values
    counts = np.bincount(values[values >= 0], minlength=len(has))
    new = [k for k, category in enumerate(has) if category not in set(had)]
    if not new:
        return None
    # A category that few rows have may name a person.
    names = [repr(has[k]) for k in new if counts[k] >= FEWEST_ROWS_REPORTED]
    named = f": {', '.join(names[:_LISTED])}" if names else ""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return (
        f"column {column.name!r} has categories that are new, in "
        f"{int(counts[new].sum())} rows{named}{more}"
    )


def _changed_unit(
    column: TableColumn, low: float, high: float, size: float
) -> str | None:
    values = column.values[~column.missing]
    outside = float(((values < low) | (values > high)).mean())
    now = float(np.median(np.abs(values)))
    if outside < _SHARE_OUTSIDE or size == 0.0 or now == 0.0:
        return None
    times = now / size
    if 1 / _TIMES < times < _TIMES:
        return None
    return (
        f"column {column.name!r}: {outside:.0%} of the values lie outside the "
        f"reference's range, about {times:.3g} times its size: its unit may have "
        "changed"
    )


# -----------------------------------------------------------------------------
# All that a monitor knows, small and without the stream's rows.
# -----------------------------------------------------------------------------


# Reference rows kept for drift and estimates, and bytes that they and what is made of
# them may take.
ROWS_KEPT, _BYTES_KEPT, _FEWEST_KEPT = 5_000, 3_000_000, 400
# Bytes of the model's answers kept for labels to come, and of what tells rows apart.
_BYTES_WAITING = 2_000_000
_BYTES_OF_KEYS = 1_000_000


@dataclass
class Tally:
    """Labeled rows of a chunk: how many, their sum and their sum of squares."""

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
    labeled: NDArray[np.bool_] | None = None
    # What tells the rows from others (`seen_rows`); None when given up or not told.
    keys: NDArray[np.uint64] | None = None
    covered: float | None = None
    # Of each metric the estimate's mean loss (or value) and its variance.
    estimated: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def n_labeled(self) -> int:
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
class MonitorState:
    """What a monitor was made from, and what it has seen."""

    model: Any
    metric_names: tuple[str, ...]
    level: float
    false_alarm_rate: float
    tolerance: float
    seed: int
    is_classifier: bool
    classes: Any
    encoder: TableEncoder
    schema: ReferenceSchema
    numbers: Array
    scores: Array
    reference: dict[str, float]
    inputs: InputsEvidence
    risk: LabeledRisk
    estimates: list[LabelFree]
    chunks: list[SeenChunk] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)
    alerts: list[Alert] = field(default_factory=list)
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

    def packed(self) -> "MonitorState":
        """Return the state as files hold it."""
        return replace(self, history=[], history_text=json.dumps(self.history))

    def unpacked(self) -> "MonitorState":
        """Return the state as it was before `packed`."""
        return replace(self, history=json.loads(self.history_text), history_text="")

    def chunk_at(self, time: Any) -> SeenChunk | None:
        """Return the last chunk of a time."""
        of_time = [chunk for chunk in self.chunks if chunk.time == time]
        return of_time[-1] if of_time else None

    def excess_error(self, one: LabelFree) -> ExcessError:
        """Return what chance does not explain of how far estimates have missed."""
        result = [chunk.miss(one.name) for chunk in self.chunks]
        labeled = excess_error(miss for miss in result if miss)
        return max(excess_error(one.block_misses), labeled)

    def encoded(self, table: Table) -> Array:
        """Return a chunk as numbers that can be compared with the reference's.

        A column that the reference has in double precision and the chunk in single, or
        the other way round, takes the reference's value where the two are equal in
        single precision.
        """
        numbers = self.encoder.transform(table)
        labels = list(self.encoder.columns_)
        rounded = set(single_columns(table)) ^ set(self.schema.single)
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

    def has_alert(self, kind: str) -> bool:
        """Return whether an alert of a kind has been raised."""
        return any(alert.kind == kind for alert in self.alerts)

    def keep_keys(self, chunk: SeenChunk, keys: NDArray[np.uint64] | None) -> None:
        """Keep what tells a chunk's rows apart; give up the oldest beyond the limit."""
        chunk.keys, kept = keys, 0
        for one in reversed(self.chunks):
            kept += 0 if one.keys is None else one.keys.nbytes
            if kept > _BYTES_OF_KEYS:
                one.keys = None

    def keep_answers(self, chunk: SeenChunk, answers: Predictions) -> None:
        """Keep what the model said of a chunk; give up the oldest beyond the limit."""
        # In full precision: rounded, large predictions would lose small residuals, and
        # probabilities next to one their logarithms.
        chunk.said = dict(answers.said)
        chunk.labeled = np.zeros(chunk.n_rows, dtype=bool)
        kept = 0
        for one in reversed(self.chunks):
            if one.said is None:
                continue
            kept += sum(said.nbytes for said in one.said.values())
            if kept > _BYTES_WAITING:
                one.said = one.labeled = None


def rows_to_keep(n: int, n_columns: int) -> int:
    """Return how many reference rows are kept: 5,000, fewer of wide tables."""
    by_size = int(_BYTES_KEPT / (8 * (n_columns + 48)))
    return min(n, ROWS_KEPT, max(by_size, _FEWEST_KEPT))


def digest_of(numbers: Array) -> str:
    """Return what tells the rows of a chunk from others, in their order."""
    exact = np.ascontiguousarray(numbers)
    return blake2b(exact.tobytes(), digest_size=12).hexdigest()


def tally(
    metric: Metric, known: Tally, answers: Predictions, labels: NDArray[Any]
) -> None:
    """Count labeled rows in."""
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


# -----------------------------------------------------------------------------
# Labels of a stream: some, later, by place or with their rows.
# -----------------------------------------------------------------------------


def labeled_part(
    y: ArrayLike | None, n: int, state: MonitorState
) -> tuple[Indices, NDArray[Any]]:
    """Return which rows have a label, and these labels.

    Missing are None, NaN and pandas' own NA.
    """
    if y is None:
        y = np.full(n, None)
    values = np.asarray(y, dtype=object).reshape(-1)
    if values.size != n:
        raise InvalidInputError(f"y has {values.size} entries, and X has {n} rows")
    there = np.array([not is_missing(one) for one in values], dtype=bool)
    rows = np.flatnonzero(there)
    return rows, as_labels(values[rows], state)


def as_labels(values: NDArray[Any], state: MonitorState) -> NDArray[Any]:
    """Return labels or responses of the kind that the reference had."""
    if values.size == 0:
        return np.zeros(0)
    if not state.is_classifier:
        return as_responses(values.astype(float), values.size, name="y")
    classes = np.asarray(state.classes)
    if classes.dtype.kind in "OUS":
        return as_classes(values.astype(classes.dtype), values.size, name="y")
    try:
        numbers = values.astype(float)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"y has labels that are no numbers, in the reference they were: {error}"
        ) from error
    return as_classes(numbers.astype(classes.dtype), values.size, name="y")


def place_labels(
    state: MonitorState, chunk: SeenChunk, rows: Any, y: Any
) -> tuple[Predictions, NDArray[Any]]:
    """Return the model's answers at rows of a chunk, and their labels."""
    values = np.asarray(y, dtype=object).reshape(-1)
    is_table = hasattr(rows, "columns") or hasattr(rows, "schema") or np.ndim(rows) != 1
    if is_table or (np.size(rows) and np.asarray(rows).dtype.kind not in "iu"):
        answers = Predictions.of(state.model, [rows], state.is_classifier)
        there, labels = labeled_part(y, len(answers.rows), state)
        return answers.take(there), labels
    places = np.asarray(rows, dtype=np.intp)
    if values.size != places.size:
        raise InvalidInputError(
            f"y has {values.size} entries, and rows has {places.size}"
        )
    if chunk.said is None or chunk.labeled is None:
        raise InvalidInputError(
            f"the model's answers of chunk {chunk.time!r} are no longer kept: give the "
            "rows themselves instead of their places"
        )
    if places.size and (places.min() < 0 or places.max() >= chunk.n_rows):
        raise InvalidInputError(
            f"rows must be from 0 to {chunk.n_rows - 1}, the chunk has {chunk.n_rows}"
        )
    twice = np.unique(places).size < places.size or chunk.labeled[places].any()
    if twice:
        raise InvalidInputError(
            f"some rows of chunk {chunk.time!r} have a label already: a label counts "
            "once"
        )
    there, labels = labeled_part(y, places.size, state)
    chunk.labeled[places[there]] = True
    kind = ClassifierPredictions if state.is_classifier else RegressorPredictions
    classes = None if state.classes is None else np.asarray(state.classes)
    return kind(chunk.said, classes).take(places[there]), labels


def is_missing(value: Any) -> bool:
    """Return whether a label is None, NaN or pandas' own NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        # pandas' NA is neither equal nor unequal to itself.
        return True


# -----------------------------------------------------------------------------
# Which rows have been in a chunk: one that comes again is not counted again.
#
# A row counted twice is no second draw, and bets on it would win or lose twice: what
# holds over all looks holds for rows that are counted once.
# -----------------------------------------------------------------------------


Keys = NDArray[np.uint64]


class RowKeys(np.ndarray):
    """Keys of rows that are made already: numbers of this type are no ids."""


def keys_of_ids(ids: Any, n: int) -> Keys:
    """Return a key an id, the same for equal ids; keys stay what they are.

    Parameters
    ----------
    ids : array of shape (n,)
        Texts or numbers, told apart by how they are written, whole numbers as such
        whatever holds them. None may be missing.
    n : int
        How many there must be.
    """
    values = np.asarray(ids)
    if values.shape != (n,):
        raise InvalidInputError(f"ids has the shape {values.shape}, and X has {n} rows")
    if isinstance(ids, RowKeys):
        return values
    written = [_written(one, row) for row, one in enumerate(values.tolist())]
    digests = (
        blake2b(one.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        for one in written
    )
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def _written(one: Any, row: int) -> str:
    """Return an id as it is written; refuse one that is missing."""
    if isinstance(one, float) and one.is_integer():
        one = int(one)
    text = str(one)
    if one is None or text in ("nan", "NaN", "NaT", "<NA>"):
        raise InvalidInputError(
            f"ids: row {row} has none, and cannot be told from others"
        )
    return text


def keys_of_rows(numbers: Array, when: Any) -> RowKeys:
    """Return a key a row, by its own time and by what it holds.

    Rows that are equal in both are told apart by which of them it is, in their order:
    three equal rows have three keys, the first of which one alone would have.

    Parameters
    ----------
    numbers : array of shape (n, d)
    when : array of shape (n,)
        The time of each row, as it is written.
    """
    keys = keys_of_ids(np.asarray([str(one) for one in when], dtype=object), len(when))
    bits = np.ascontiguousarray(positive_zero(numbers), dtype=np.float64).view(
        np.uint64
    )
    for column in bits.T:
        keys = _mixed(keys ^ column)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: keys.size])
    sizes = np.diff(np.append(starts, keys.size))
    again = np.empty(keys.size, dtype=np.uint64)
    again[order] = np.arange(keys.size) - np.repeat(starts, sizes)
    return _mixed(keys + again).view(RowKeys)


def places_of(chunks: Sequence[SeenChunk], keys: Keys) -> tuple[Indices, Indices]:
    """Return in which chunk each row was, and at which place in it; -1: in none."""
    chunk = np.full(keys.size, -1, dtype=np.intp)
    place = np.full(keys.size, -1, dtype=np.intp)
    for k, one in enumerate(chunks):
        if one.keys is None or not one.keys.size:
            continue
        order = np.argsort(one.keys, kind="stable")
        at = np.searchsorted(one.keys, keys, sorter=order)
        at = order[np.minimum(at, order.size - 1)]
        there = (one.keys[at] == keys) & (chunk < 0)
        chunk[there], place[there] = k, at[there]
    return chunk, place


def is_seen(chunks: Sequence[SeenChunk], keys: Keys) -> NDArray[np.bool_]:
    """Return which rows have been in a chunk."""
    return np.asarray(places_of(chunks, keys)[0] >= 0)


def is_new(chunks: Sequence[SeenChunk], keys: Keys) -> NDArray[np.bool_]:
    """Return which rows have been in no chunk, of several with one key the first."""
    _, first = np.unique(keys, return_index=True)
    new = np.zeros(keys.size, dtype=bool)
    new[first] = True
    return new & ~is_seen(chunks, keys)


def with_first_labels(keys: Keys, y: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Return labels, every row with the first that a row of its key has.

    A row may come twice in one table, without its label and with it. Where rows of one
    key have labels that differ, the first counts; the second answer is how many of them
    say otherwise.
    """
    _, place = np.unique(keys, return_inverse=True)
    there = np.flatnonzero([not is_missing(one) for one in y])
    first = np.full(int(place.max(initial=-1)) + 1, -1, dtype=np.intp)
    # Of several the first is written last.
    first[place[there[::-1]]] = there[::-1]
    result = first[place]
    labels = np.array(y, dtype=object)
    labels[result >= 0] = labels[result[result >= 0]]
    return labels, int(sum(bool(y[row] != labels[row]) for row in there))


def _mixed(keys: Keys) -> Keys:
    """Return keys with their bits stirred (splitmix64)."""
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
