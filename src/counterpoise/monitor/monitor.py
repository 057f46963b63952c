"""Monitoring of a deployed model, chunk by chunk: drift, estimates and alerts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.stats import norm
from scipy.stats import t as student
from sklearn.metrics import get_scorer_names

from counterpoise.adaptation.adapted import row_marks, warn_if_fitted_to
from counterpoise.adaptation.model_io import load_model, save
from counterpoise.adaptation.performance_estimation import (
    adapted_within,
    ends_in_adapted,
)
from counterpoise.adaptation.routing import rows_of
from counterpoise.data.arrays import n_rows as count_rows
from counterpoise.data.encoder import TableEncoder, encoded
from counterpoise.data.frames import sparse_part
from counterpoise.data.labels_and_weights import as_classes, as_responses
from counterpoise.data.parameters import as_seed, check_number
from counterpoise.data.samples import Samples
from counterpoise.data.table import Table, read_table
from counterpoise.data.two_samples import effective_sample_size
from counterpoise.errors import InvalidInputError, InvalidTypeError, suppress_warnings
from counterpoise.linalg.arrays import Array
from counterpoise.monitor.estimates import LabelFree, shares_of, spent
from counterpoise.monitor.evidence import InputsEvidence, LabeledRisk
from counterpoise.monitor.results import (
    ESTIMATE,
    INPUTS,
    RISK,
    SHARE_OF_ALARM,
    Alert,
    ChunkResult,
    advice,
)
from counterpoise.monitor.state import (
    Keys,
    MonitorState,
    ReferenceSchema,
    RowKeys,
    SeenChunk,
    Tally,
    as_time,
    digest_of,
    is_before,
    is_missing,
    is_new,
    is_seen,
    keys_of_ids,
    keys_of_rows,
    labeled_part,
    place_labels,
    places_of,
    rows_to_keep,
    tally,
    with_first_labels,
)
from counterpoise.performance.metrics import (
    ERROR_RATE,
    Metric,
    Predictions,
    as_metric,
    is_classifier,
)
from counterpoise.shift.support import NO_OVERLAP_ABOVE, overlap_between
from counterpoise.shift.two_sample_tests import mmd

# With fewer labeled rows nothing can be told for years.
FEWEST_REFERENCE_ROWS = 50
# Chunks of fewer rows are said to be too small; their rows count in the evidence.
FEWEST_ROWS_TO_JUDGE = 30
# Rows of a chunk that drift is measured on, drawn by chance of more, and of either
# sample for the MMD: the time of an update does not grow with the chunk.
_ROWS_OF_DRIFT, _ROWS_OF_MMD = 2_000, 500
# A column has moved where chance explains it less often than this, over all columns.
_LEVEL_OF_COLUMNS = 0.01
# Scores are kept in single precision: a smaller difference of means is rounding.
_ROUNDING_OF_SCORES = 1e-6
_TOO_LATE = (
    "labels came too late to be counted: what the model said of their rows is no "
    "longer kept"
)


class ModelMonitor:
    r"""Monitor a deployed model, chunk after chunk.

    Three alerts, of which each may be raised falsely, over *all* looks together, with a
    probability of at most its share of `false_alarm_rate`:

    ========  =====  =================================================================
    inputs    2/5    rows come from elsewhere than the reference's (`InputsEvidence`)
    risk      2/5    labeled rows have a mean loss above the reference's by more than
                     `tolerance` (`RiskEvidence`)
    estimate  1/5    without labels the estimate has risen by more than `tolerance`
                     (`label_free`); exact as far as Student's intervals are
    ========  =====  =================================================================

    The reference is counted as random in all three. A change may begin at any chunk.

    Parameters
    ----------
    model : fitted predictor
        An `Adapted` or anything that predicts.
    X, y : table of shape (n, d), array of shape (n,)
        Labeled reference rows that the model has not seen.
    scoring : str, callable, sequence of them, or None
        See `estimate_performance`. The first that is a mean over rows is the risk.
    confidence_level : float
        Of the intervals of estimates.
    false_alarm_rate : float
        The largest probability of any false alarm over all looks.
    tolerance : float
        By how much the first metric may become worse, in its own units.
    random_state : int, RandomState or None

    Attributes
    ----------
    history_ : list of dict
        A row a chunk and metric, plain numbers and words.
    alerts_ : list of Alert
        The first of each kind.
    n_chunks_ : int
        How many chunks have been counted.

    Notes
    -----
    Rows are taken for independent draws, and labeled ones for drawn by chance from
    their chunk; seasons that the reference has not seen are a change of the inputs.
    After an alert the monitor goes on, and each kind is raised once: adapt, and watch
    the new model anew.

    No row of the stream is kept; of the reference at most 5,000 are. The model's
    answers are kept for the last two megabytes of rows, so that labels may come by
    place.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((900, 2))
    >>> y = X[:, 0] + 0.1 * rng.standard_normal(900)
    >>> model = LinearRegression().fit(X[:300], y[:300])
    >>> monitor = ModelMonitor(model, X=X[300:], y=y[300:], random_state=0)
    >>> result = monitor.update(rng.standard_normal((200, 2)) + 1.0, time="2024-01-01")
    >>> [alert.kind for alert in result.alerts]
    ['inputs']
    """

    def __init__(
        self,
        model: object,
        *,
        X: object,
        y: ArrayLike,
        scoring: object = None,
        confidence_level: float = 0.95,
        false_alarm_rate: float = 0.05,
        tolerance: float = 0.0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        check_number(
            "confidence_level", confidence_level, low=0.0, high=1.0, closed="neither"
        )
        check_number(
            "false_alarm_rate", false_alarm_rate, low=0.0, high=1.0, closed="neither"
        )
        check_number("tolerance", tolerance, low=0.0)
        self._state, self._metrics = reference_state(
            model,
            X,
            y,
            scoring,
            confidence_level,
            false_alarm_rate,
            tolerance,
            as_seed(random_state),
        )

    @property
    def history_(self) -> list[dict[str, Any]]:
        """A row a chunk and metric."""
        return [dict(row) for row in self._state.history]

    @property
    def alerts_(self) -> list[Alert]:
        """The first alert of each kind, in the order in which they were raised."""
        return list(self._state.alerts)

    @property
    def n_chunks_(self) -> int:
        """How many chunks have been counted."""
        return len(self._state.chunks)

    @property
    def model(self) -> Any:
        """The model that is watched."""
        return self._state.model

    def to_dict(self) -> dict[str, Any]:
        """Return what a record keeps: settings, history and alerts, plain."""
        state = self._state
        return {
            "level": state.level,
            "false_alarm_rate": state.false_alarm_rate,
            "tolerance": state.tolerance,
            "metrics": list(state.metric_names),
            "risk_metric": state.risk.name,
            "reference": dict(state.reference),
            "n_looks": len(state.chunks),
            "history": self.history_,
            "alerts": [one.to_dict() for one in state.alerts],
        }

    def update(
        self,
        X: object,
        *,
        y: ArrayLike | None = None,
        time: object = None,
        ids: ArrayLike | None = None,
    ) -> ChunkResult:
        """Take the next chunk and return what is known about it.

        Parameters
        ----------
        X : table of shape (m, d)
            Rows in the order in which they came; none at all is said and not counted.
        y : array of shape (m,) or None
            Labels; missing values where there is none yet.
        time : str, number, date or None
            What the chunk is called; None: its number. The same rows again are not
            counted; other rows of a time that has been, or of one before it, are, and
            it is said.
        ids : array of shape (m,) or None
            What tells rows apart, texts or numbers: a row whose id has been in a chunk
            (of the last 125,000 rows) is not counted again, its new label is; of
            several rows with one id the first is, with the first label among them.
            Without ids a chunk is known by all its rows together.

        Returns
        -------
        ChunkResult
        """
        state = self._state
        time, n = as_time(time, len(state.chunks) + 1), count_rows(X)
        if n == 0:
            return ChunkResult(0, time, 0, notes=("empty: no rows, not counted",))
        keys, notes, alerts = None, list[str](), tuple[Alert, ...]()
        if ids is not None:
            keys = keys_of_ids(ids, n)
            new = is_new(state.chunks, keys)
            if not new.all():
                if y is not None:
                    y = np.asarray(y, dtype=object).reshape(-1)
                    labeled_part(y, n, state)
                    y, _ = with_first_labels(keys, y)
                been = is_seen(state.chunks, keys)
                notes, alerts = self._came_again(
                    keys[been], None if y is None else y[been]
                )
                doubles = int(np.count_nonzero(~new & ~been))
                if doubles:
                    notes.append(
                        f"{doubles} rows have the id of another row: the first of each "
                        "is counted"
                    )
                if not new.any():
                    return self._uncounted(time, n, notes, alerts)
                X, keys = rows_of(X, np.flatnonzero(new)), keys[new]
                y = None if y is None else y[new]
        result = self._add_chunk(X, y, time, keys, notes)
        return replace(result, alerts=(*alerts, *result.alerts))

    def _add_chunk(
        self,
        X: object,
        y: ArrayLike | None,
        time: Any,
        keys: Keys | None,
        notes: list[str],
    ) -> ChunkResult:
        """Return what is known of rows that have not been, unless all have together."""
        state = self._state
        table = read_table(X)
        state.schema.check_has(table)
        odd = state.schema.oddities(table)
        notes = [*notes, *(text for _, text in odd)]
        numbers = state.encoded(table)
        digest = digest_of(numbers)
        for chunk in state.chunks:
            # Rows with ids of their own may be equal and are others all the same.
            has_ids = keys is not None and chunk.keys is not None
            is_same = chunk.digest == digest and chunk.n_rows == len(numbers)
            if is_same and not has_ids:
                return self._duplicate(chunk, y)
        if state.chunk_at(time) is not None:
            notes.append("late: more rows of a time that has been")
        elif state.chunks and is_before(time, state.chunks[-1].time):
            notes.append("out of order: before the chunk that came last")
        answers = Predictions.of(state.model, [X], state.is_classifier)
        # What is wrong with labels is said before anything is counted.
        rows, labels = labeled_part(y, len(numbers), state)
        chunk = SeenChunk(len(state.chunks) + 1, time, len(numbers), digest)
        state.chunks.append(chunk)
        state.inputs.add(numbers)
        evidence = evaluate_chunk(state, self._metrics, chunk, numbers, answers)
        evidence.odd = tuple(name for name, _ in odd)
        state.keep_answers(chunk, answers)
        state.keep_keys(chunk, keys)
        self._count_labels(chunk, answers.take(rows), labels)
        if chunk.labeled is not None:
            chunk.labeled[rows] = True
        result = ChunkResult(
            number=chunk.number,
            time=time,
            n_rows=chunk.n_rows,
            drift=evidence.drift,
            covered=evidence.covered,
            effective_rows=evidence.effective_rows,
            performance=evidence.performance,
            realized=realized_of(state, self._metrics, chunk),
            log_e=log_evidence(state),
            alerts=new_alerts(state, chunk, evidence),
            notes=(*notes, *evidence.notes),
        )
        state.history += [row_of_history(result, one, state) for one in self._metrics]
        return result

    def _uncounted(
        self,
        time: Any,
        n: int,
        notes: Sequence[str],
        alerts: tuple[Alert, ...],
        realized: Mapping[str, Mapping[str, float]] | None = None,
    ) -> ChunkResult:
        """Return the result of rows that have all been."""
        evidence = log_evidence(self._state)
        return ChunkResult(
            0,
            time,
            n,
            realized=realized or {},
            log_e=evidence,
            alerts=alerts,
            notes=tuple(notes),
        )

    def _came_again(
        self, keys: Keys, y: NDArray[Any] | None
    ) -> tuple[list[str], tuple[Alert, ...]]:
        """Count labels of rows that have been; return what is to be said, alerts."""
        if keys.size == 0:
            return [], ()
        notes = [f"{keys.size} rows have been before and are not counted again"]
        if y is None:
            return notes, ()
        chunks = self._state.chunks
        there = np.array([not is_missing(one) for one in y], dtype=bool)
        number, place = places_of(chunks, keys)
        counted, too_late, alerts = 0, 0, list[Alert]()
        for k in np.unique(number[there & (number >= 0)]):
            rows = np.flatnonzero(there & (number == k))
            rows = rows[np.sort(np.unique(place[rows], return_index=True)[1])]
            known = chunks[k].labeled
            if known is None:
                too_late += max(rows.size - chunks[k].n_labeled, 0)
                continue
            rows = rows[~known[place[rows]]]
            if rows.size:
                alerts += self._labels_of(chunks[k], place[rows], y[rows])
                counted += rows.size
        if counted:
            notes.append(f"{counted} labels of them are new and were counted")
        if too_late:
            notes.append(f"{too_late} {_TOO_LATE}")
        return notes, tuple(alerts)

    def _duplicate(self, chunk: SeenChunk, y: ArrayLike | None) -> ChunkResult:
        """Return what a chunk that came before tells: its new labels, if any."""
        notes = [
            f"duplicate: the rows of chunk {chunk.number} ({chunk.time}) again, not "
            "counted"
        ]
        alerts: tuple[Alert, ...] = ()
        rows, _ = labeled_part(y, chunk.n_rows, self._state)
        if chunk.labeled is None and rows.size > chunk.n_labeled:
            notes.append(f"{rows.size - chunk.n_labeled} {_TOO_LATE}")
        elif chunk.labeled is not None:
            new = rows[~chunk.labeled[rows]]
            if new.size:
                values = np.asarray(y, dtype=object).reshape(-1)[new]
                alerts = self._labels_of(chunk, new, values)
                notes.append(f"{new.size} labels of them are new and were counted")
        realized = realized_of(self._state, self._metrics, chunk)
        return self._uncounted(chunk.time, chunk.n_rows, notes, alerts, realized)

    def add_labels(self, time: object, rows: object, y: ArrayLike) -> tuple[Alert, ...]:
        """Take labels of rows that have been in a chunk, and return new alerts.

        Parameters
        ----------
        time : str, number or date
            Of the chunk.
        rows : integer array of shape (k,), or table of shape (k, d)
            Places of the rows in the chunk, counted from 0; or the rows themselves,
            of which nobody checks whether they were in it.
        y : array of shape (k,)
        """
        chunk = self._state.chunk_at(as_time(time, None))
        if chunk is None:
            raise InvalidInputError(f"there was no chunk of the time {time!r}")
        return self._labels_of(chunk, rows, y)

    def _labels_of(
        self, chunk: SeenChunk, rows: object, y: ArrayLike
    ) -> tuple[Alert, ...]:
        """Take labels of rows of a chunk, and return new alerts."""
        state = self._state
        answers, labels = place_labels(state, chunk, rows, y)
        self._count_labels(chunk, answers, labels)
        realized = realized_of(state, self._metrics, chunk)
        for row in state.history:
            if row["chunk"] == chunk.number and row["metric"] in realized:
                row |= _labeled_part_of_history(realized[row["metric"]])
        return new_alerts(state, chunk, ChunkEvidence(covered=chunk.covered))

    def _count_labels(
        self, chunk: SeenChunk, answers: Predictions, labels: NDArray[Any]
    ) -> None:
        """Let labeled rows speak for the risk, and count them in."""
        if len(labels) == 0:
            return
        state = self._state
        for metric in self._metrics:
            known = chunk.tallies.setdefault(metric.name, Tally())
            tally(metric, known, answers, labels)
        risk = as_metric(state.risk.name, state.model, labels)
        state.risk.add(risk.rows(answers, answers.rows, labels))
        state.batch_times.append(chunk.time)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the monitor, with its model, to a file that `load` reads."""
        known = {*get_scorer_names(), ERROR_RATE}
        own = [m.name for m in self._metrics if m.name not in known]
        if own:
            raise InvalidInputError(
                f"a monitor with a metric of your own cannot be saved: {', '.join(own)}"
            )
        save(self._state.packed(), path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | Path, *, trusted: tuple[str, ...] = ()) -> "ModelMonitor":
        """Return a monitor from a file that `save` wrote; see `counterpoise.load`."""
        state = load_model(path, trusted=trusted)
        if not isinstance(state, MonitorState):
            raise InvalidTypeError(f"{path} holds a {type(state).__name__}, no watch")
        made = cls.__new__(cls)
        made._state = state = state.unpacked()
        labels = np.asarray(state.classes if state.is_classifier else [0.5, 1.5])
        made._metrics = [as_metric(n, state.model, labels) for n in state.metric_names]
        return made

    def row_ids(self, X: object, when: ArrayLike) -> RowKeys:
        """Return ids for `update`: of each row its own time and what it holds.

        Rows that are equal in both are told apart by which of them it is, so that the
        rows of a table that grows, or of a window that moves on, keep their ids.

        Parameters
        ----------
        X : table of shape (m, d)
        when : array of shape (m,)
        """
        numbers = self._state.encoder.transform(read_table(X))
        return keys_of_rows(numbers, when)

    def id_column(self, what: str) -> None:
        """Keep what ids are made from; refuse another, which would know no row."""
        state = self._state
        if state.rows_told_by and state.rows_told_by != what:
            raise InvalidInputError(
                f"this monitor tells rows apart by {state.rows_told_by!r}, not by "
                f"{what!r}: rows would be counted again"
            )
        state.rows_told_by = what

    def labels_by_id(
        self, ids: ArrayLike, y: ArrayLike
    ) -> tuple[NDArray[np.generic], int]:
        """Return labels by id, and how many differ from the first (`update`)."""
        labels = np.asarray(y, dtype=object).reshape(-1)
        return with_first_labels(keys_of_ids(ids, len(labels)), labels)

    @property
    def label_column(self) -> str:
        """What a table calls the labels, where somebody said so; else empty."""
        return self._state.label_column

    @label_column.setter
    def label_column(self, name: str) -> None:
        self._state.label_column = name

    def is_new(self, ids: ArrayLike) -> NDArray[np.bool_]:
        """Return which ids `update` would count: those of no row that has been."""
        return is_new(self._state.chunks, keys_of_ids(ids, np.size(ids)))

    def seen(self, ids: ArrayLike) -> NDArray[np.bool_]:
        """Return which ids are those of rows that have been in a chunk."""
        return is_seen(self._state.chunks, keys_of_ids(ids, np.size(ids)))

    def n_seen(self, X: object, time: object) -> int:
        """Return how many of the first rows were in the chunks of a time already.

        For tables that grow: what is left are new rows. The rows must stand in the
        order in which they were given.
        """
        n, numbers = 0, self._state.encoder.transform(read_table(X))
        for chunk in self._state.chunks:
            part = numbers[n : n + chunk.n_rows]
            if chunk.time == as_time(time, None) and digest_of(part) == chunk.digest:
                n += chunk.n_rows
        return n

    def against(self, X: object) -> tuple[Table, Table]:
        """Return the reference rows that were kept and rows of a chunk, as tables.

        Numbers of the reference are as precise as files of a monitor keep them, and
        categories that were pooled have the name of their pool in both.
        """
        state = self._state
        numbers = state.encoder.transform(read_table(X))
        return state.decoded(state.numbers.astype(float)), state.decoded(numbers)


# -----------------------------------------------------------------------------
# The reference: the model, and labeled rows that it has not seen.
# -----------------------------------------------------------------------------


def reference_state(
    model: Any,
    X: object,
    y: ArrayLike,
    metrics: Any,
    level: float,
    false_alarm_rate: float,
    tolerance: float,
    seed: int,
) -> tuple[MonitorState, list[Metric]]:
    """Return what a monitor knows before the stream, and its metrics."""
    if sparse.issparse(sparse_part(X)):
        raise InvalidTypeError(
            "X is sparse: a monitor looks at columns, give a dense table"
        )
    n = count_rows(X)
    if n < FEWEST_REFERENCE_ROWS:
        raise InvalidInputError(
            f"the reference has {n} rows, at least {FEWEST_REFERENCE_ROWS} are needed"
        )
    classifier = is_classifier(model, y)
    labels = as_classes(y, n, name="y") if classifier else as_responses(y, n, name="y")
    if ends_in_adapted(model):
        inner, rows = adapted_within(model, X)
        fitted = getattr(inner, "_row_marks_", None)
        if fitted is not None:
            warn_if_fitted_to(row_marks(encoded(inner.encoder_, rows)), fitted)
    if metrics is None or isinstance(metrics, str) or callable(metrics):
        metrics = [metrics]
    wanted = [as_metric(one, model, labels) for one in metrics]
    if not wanted:
        raise InvalidInputError("scoring is empty: name one, or None for the usual one")
    names = tuple(metric.name for metric in wanted)
    if len(set(names)) < len(names):
        raise InvalidInputError("metrics names one twice")
    table = read_table(X)
    encoder = TableEncoder().fit(table, table)
    answers = Predictions.of(model, [X], classifier)
    risk = next((m for m in wanted if m.by_row is not None), None)
    risk = as_metric(None, model, labels) if risk is None else risk
    values = risk.rows(answers, answers.rows, labels)
    numbers = encoder.transform(table)
    rng = np.random.default_rng(seed)
    kept = rows_to_keep(n, numbers.shape[1])
    some = np.sort(rng.choice(n, kept, replace=False)) if kept < n else np.arange(n)
    inputs = InputsEvidence(numbers[some], seed)
    features = features_of(numbers[some], answers.take(some))
    state = MonitorState(
        model=model,
        metric_names=names,
        level=level,
        false_alarm_rate=false_alarm_rate,
        tolerance=tolerance,
        seed=seed,
        is_classifier=classifier,
        classes=answers.classes,
        encoder=encoder,
        schema=ReferenceSchema.of(table),
        numbers=numbers[some],
        scores=inputs.described(numbers[some])[:, : numbers.shape[1]].astype(
            np.float32
        ),
        reference={m.name: m.value(answers, answers.rows, labels) for m in wanted},
        inputs=inputs,
        risk=LabeledRisk(risk, values, tolerance, seed),
        estimates=[
            LabelFree.of(metric, answers.take(some), labels[some], features, seed)
            for metric in wanted
        ],
    )
    return state, wanted


def features_of(numbers: Array, answers: Predictions) -> Array:
    """Return what the model of the loss sees: the row, and what the model says."""
    return np.hstack([numbers, answers.columns])


# -----------------------------------------------------------------------------
# One chunk by itself: drift, coverage, the estimate without labels.
# -----------------------------------------------------------------------------


@dataclass
class ChunkEvidence:
    """What one chunk by itself tells."""

    drift: dict[str, Any] | None = None
    covered: float | None = None
    effective_rows: float | None = None
    performance: dict[str, dict[str, float]] = field(default_factory=dict)
    rose: bool = False
    low_rise: float = -np.inf
    columns: tuple[str, ...] = ()
    odd: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)


def evaluate_chunk(
    state: MonitorState,
    metrics: Sequence[Metric],
    chunk: SeenChunk,
    numbers: Array,
    answers: Predictions,
) -> ChunkEvidence:
    """Return drift, coverage and estimates of a chunk."""
    m = len(numbers)
    if m < FEWEST_ROWS_TO_JUDGE:
        return ChunkEvidence(
            notes=[
                f"too small: {m} rows, at least {FEWEST_ROWS_TO_JUDGE} are needed to "
                "judge a chunk by itself; they count in the alerts"
            ]
        )
    rng = np.random.default_rng([state.seed, chunk.number])
    some = np.arange(m)
    if m > _ROWS_OF_DRIFT:
        some = np.sort(rng.choice(m, _ROWS_OF_DRIFT, replace=False))
    few = rng.permutation(len(state.numbers))[:_ROWS_OF_MMD]
    # Columns that hardly vary were told of when the model was fitted.
    with suppress_warnings():
        pair = Samples.of_matrices(state.numbers, numbers[some])
        overlap = overlap_between(pair, state.seed)
        distance = mmd(
            state.numbers[few], numbers[some[:_ROWS_OF_MMD]], standardize=True
        )
    scores = state.inputs.described(numbers)[:, : numbers.shape[1]]
    moved = moved_columns(state, scores)
    shares = shares_of(state.scores.astype(float), scores[some])
    result = ChunkEvidence(
        drift={
            "auc": overlap.auc,
            "auc_low": overlap.auc_low,
            "auc_high": overlap.auc_high,
            "mmd": distance.value,
            "columns": moved,
        },
        covered=1.0 - overlap.uncovered_fraction,
        effective_rows=float(effective_sample_size(shares)),
        columns=tuple(one["column"] for one in moved),
    )
    state.n_judged += 1
    chunk.covered = result.covered
    if overlap.uncovered_fraction > NO_OVERLAP_ABOVE:
        result.notes.append(
            f"{overlap.uncovered_fraction:.0%} of the rows lie where the reference has "
            "none: the estimate and its interval are no more than a guess about them"
        )
    _estimate(state, metrics, chunk, numbers, answers, shares, result)
    state.rose = state.rose or result.rose
    return result


def _estimate(
    state: MonitorState,
    metrics: Sequence[Metric],
    chunk: SeenChunk,
    numbers: Array,
    answers: Predictions,
    shares: Array,
    evidence: ChunkEvidence,
) -> None:
    features = features_of(numbers, answers)
    alpha = spent(state.false_alarm_rate * SHARE_OF_ALARM[ESTIMATE], state.n_judged)
    together = spent(1.0 - state.level, state.n_judged)
    for metric, one in zip(metrics, state.estimates, strict=True):
        if metric.by_row is None:
            rise = one.weighted_estimate(metric, shares, len(numbers))
        else:
            rise = one.estimate(one.at(metric, features, answers), shares)
        missed = state.excess_error(one)
        if missed.variance:
            evidence.notes.append(
                f"{metric.name}: estimates have missed what labels showed by more than "
                f"chance in {missed.times} looks back, so p(y | x) is not what it was; "
                "the interval counts that"
            )
        chunk.estimated[metric.name] = rise.value, rise.error**2
        ends = *rise.ends(1.0 - state.level, missed), *rise.ends(together, missed)
        held = [_within(metric, end) for end in ends]
        value = _within(metric, rise.value)
        evidence.performance[metric.name] = {
            "value": value,
            "low": held[0],
            "high": held[1],
            "low_all": held[2],
            "high_all": held[3],
            "reference": state.reference[metric.name],
        }
        if metric is metrics[0]:
            evidence.low_rise = rise.low_rise(alpha)
            allowed = state.tolerance
            if metric.root:
                # By how much the mean may rise where its root may by the tolerance.
                root = state.reference[metric.name]
                allowed = (root + state.tolerance) ** 2 - root**2
            evidence.rose = evidence.low_rise > allowed


def _within(metric: Metric, mean: float) -> float:
    """Return the metric of a mean, or the metric, within its range."""
    value = metric.of_mean(mean) if metric.by_row is not None else mean
    return float(np.clip(value, metric.lowest, metric.highest))


def moved_columns(state: MonitorState, scores: Array) -> list[dict[str, Any]]:
    """Return columns whose mean normal score differs from the reference's.

    The difference is in standard deviations of the reference; a column is named where
    a normal test at 1 % over all columns finds it, the largest first.
    """
    before, scores = state.scores.astype(float), scores.astype(float)
    effect = scores.mean(axis=0) - before.mean(axis=0)
    noise = scores.var(axis=0) / len(scores) + before.var(axis=0) / len(before)
    quantile = norm.isf(_LEVEL_OF_COLUMNS / (2 * effect.size))
    telling = np.abs(effect) > quantile * np.sqrt(noise) + _ROUNDING_OF_SCORES
    largest: dict[str, float] = {}
    for place in np.flatnonzero(telling):
        label = state.encoder.columns_[place]
        name = label if isinstance(label, str) else f"x{label}"
        if abs(effect[place]) > abs(largest.get(name, 0.0)):
            largest[name] = float(effect[place])
    ordered = sorted(largest.items(), key=lambda one: -abs(one[1]))
    return [{"column": name, "effect": value} for name, value in ordered]


def columns_with_evidence(state: MonitorState, most: int = 5) -> list[str]:
    """Return the columns whose own bets have won, the most telling first.

    A column is named where its own wealth would be an alert if all columns were bet on
    alike. None may be: a change of how columns go together is of no one column.
    """
    by_column = state.inputs.by_column
    needed = np.log(by_column.size / (state.false_alarm_rate * SHARE_OF_ALARM[INPUTS]))
    names: list[str] = []
    for place in np.argsort(-by_column, kind="stable"):
        if by_column[place] < needed:
            break
        label = state.encoder.columns_[place]
        name = label if isinstance(label, str) else f"x{label}"
        if name not in names:
            names.append(name)
    return names[:most]


def realized_of(
    state: MonitorState, metrics: Sequence[Metric], chunk: SeenChunk
) -> dict[str, dict[str, Any]]:
    """Return every metric of the labeled rows of a chunk, with its interval."""
    result: dict[str, dict[str, Any]] = {}
    for metric in metrics:
        known = chunk.tallies.get(metric.name)
        if known is None or known.n == 0:
            continue
        if metric.by_row is None:
            if known.value is None or known.error is None:
                continue
            degrees = 19
        else:
            degrees = max(known.n - 1, 1)
        value, error = known.value_and_error()
        reach = float(student.isf((1.0 - state.level) / 2, degrees)) * error
        result[metric.name] = {
            "value": _within(metric, value),
            "low": _within(metric, value - reach),
            "high": _within(metric, value + reach),
            "n": known.n,
        }
    return result


def row_of_history(
    chunk_result: ChunkResult, metric: Metric, state: MonitorState
) -> dict[str, Any]:
    """Return the row of one chunk and metric, numbers and words alone."""
    estimated = chunk_result.performance.get(metric.name, {})
    realized = chunk_result.realized.get(metric.name, {})
    drift = chunk_result.drift or {}
    return {
        "chunk": chunk_result.number,
        "time": chunk_result.time,
        "n_rows": chunk_result.n_rows,
        "metric": metric.name,
        "reference": state.reference[metric.name],
        "estimated": estimated.get("value"),
        "estimated_low": estimated.get("low"),
        "estimated_high": estimated.get("high"),
        "estimated_low_all": estimated.get("low_all"),
        "estimated_high_all": estimated.get("high_all"),
        **_labeled_part_of_history(realized),
        "auc": drift.get("auc"),
        "auc_low": drift.get("auc_low"),
        "auc_high": drift.get("auc_high"),
        "mmd": drift.get("mmd"),
        "moved": ", ".join(one["column"] for one in drift.get("columns", [])),
        "covered": chunk_result.covered,
        "effective_rows": chunk_result.effective_rows,
        "log_e_inputs": chunk_result.log_e["inputs"],
        "log_e_risk": chunk_result.log_e["risk"],
        "alerts": ", ".join(alert.kind for alert in chunk_result.alerts),
        "notes": "; ".join(chunk_result.notes),
    }


def _labeled_part_of_history(realized: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "realized": realized.get("value"),
        "realised_low": realized.get("low"),
        "realised_high": realized.get("high"),
        "n_labeled": realized.get("n", 0),
    }


# -----------------------------------------------------------------------------
# Alerts: evidence against the level of each kind.
# -----------------------------------------------------------------------------


def log_evidence(state: MonitorState) -> dict[str, float]:
    """Return the logarithm of the evidence so far, by kind of alert."""
    return {INPUTS: state.inputs.log_e, RISK: state.risk.evidence.log_e}


def new_alerts(
    state: MonitorState, chunk: SeenChunk, chunk_evidence: ChunkEvidence
) -> tuple[Alert, ...]:
    """Return the alerts that this look raises, and keep them.

    An alert of the inputs names the columns whose own bets have won, the others those
    that moved in the chunk; where there are none, either names the other's, and then
    those of which something odd was said. None may be left.
    """
    log_e, raised = log_evidence(state), []
    since = {
        INPUTS: _nth([one.time for one in state.chunks], state.inputs.since),
        RISK: _nth(state.batch_times, state.risk.evidence.since),
        ESTIMATE: chunk.time,
    }
    moved, won = chunk_evidence.columns, tuple(columns_with_evidence(state))
    for kind in (INPUTS, RISK, ESTIMATE):
        if state.has_alert(kind):
            continue
        level = state.false_alarm_rate * SHARE_OF_ALARM[kind]
        if kind == ESTIMATE:
            if not chunk_evidence.rose:
                continue
            evidence = {"low": chunk_evidence.low_rise, "tolerance": state.tolerance}
        else:
            if log_e[kind] < np.log(1.0 / level):
                continue
            evidence = {
                "e_value": float(np.exp(min(log_e[kind], 700.0))),
                "needed": 1.0 / level,
            }
        finding = advice(
            kind,
            inputs_changed=state.has_alert(INPUTS),
            estimate_rose=chunk_evidence.rose or state.rose,
            covered=chunk_evidence.covered,
        )
        first, second = (won, moved) if kind == INPUTS else (moved, won)
        names = first or second or chunk_evidence.odd
        alert = Alert(kind, chunk.time, since[kind], evidence, names, finding, level)
        state.alerts.append(alert)
        raised.append(alert)
    return tuple(raised)


def _nth(times: Sequence[Any], number: int) -> Any:
    return times[number - 1] if 0 < number <= len(times) else None
