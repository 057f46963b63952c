"""Monitoring of a deployed model, chunk by chunk."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import get_scorer_names

from counterpoise.adaptation.model_io import load_model, save
from counterpoise.adaptation.routing import rows_of
from counterpoise.data.arrays import n_rows as count_rows
from counterpoise.data.parameters import as_seed, check_number
from counterpoise.data.table import read_table
from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.monitor.alerts import (
    Judged,
    begin,
    judge,
    log_evidence,
    new_alerts,
    realized_of,
    row_of_history,
)
from counterpoise.monitor.chunks import as_time, is_before
from counterpoise.monitor.results import Alert, ChunkResult
from counterpoise.monitor.state import (
    Keys,
    KnownRows,
    MonitorState,
    SeenChunk,
    Tally,
    digest_of,
    is_missing,
    is_new,
    keys_of_ids,
    labelled_part,
    place_labels,
    places_of,
    seen,
    tally,
    with_first_labels,
)
from counterpoise.performance.metrics import ERROR_RATE, Answers, as_metric


class ModelMonitor(KnownRows):
    r"""ModelMonitor a deployed model, chunk after chunk.

    Three alerts, of which each may be raised falsely, over *all* looks together, with a
    probability of at most its share of `false_alarm_rate`:

    ========  =====  =================================================================
    inputs    2/5    rows come from elsewhere than the reference's (`InputsEvidence`)
    risk      2/5    labelled rows have a mean loss above the reference's by more than
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
        Labelled reference rows that the model has not seen.
    metrics : str, callable, sequence of them, or None
        See `estimate_performance`. The first that is a mean over rows is the risk.
    level : float
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
    Rows are taken for independent draws, and labelled ones for drawn by chance from
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
        model: Any,
        *,
        X: Any,
        y: Any,
        metrics: Any = None,
        level: float = 0.95,
        false_alarm_rate: float = 0.05,
        tolerance: float = 0.0,
        random_state: Any = None,
    ) -> None:
        check_number("level", level, low=0.0, high=1.0, closed="neither")
        check_number(
            "false_alarm_rate", false_alarm_rate, low=0.0, high=1.0, closed="neither"
        )
        check_number("tolerance", tolerance, low=0.0)
        self._state, self._metrics = begin(
            model,
            X,
            y,
            metrics,
            level,
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
        self, X: Any, *, y: Any = None, time: Any = None, ids: Any = None
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
        time = as_time(time, len(self._state.chunks) + 1)
        n = count_rows(X)
        if n == 0:
            return ChunkResult(0, time, 0, notes=("empty: no rows, not counted",))
        if ids is None:
            return self._counted(X, y, time)
        keys = keys_of_ids(ids, n)
        new = is_new(self._state.chunks, keys)
        if new.all():
            return self._counted(X, y, time, keys)
        y = None if y is None else np.asarray(y, dtype=object).reshape(-1)
        if y is not None:
            labelled_part(y, n, self._state)
            y, _ = with_first_labels(keys, y)
        been = seen(self._state.chunks, keys)
        notes, alerts = self._came_again(keys[been], None if y is None else y[been])
        doubles = int(np.count_nonzero(~new & ~been))
        if doubles:
            notes.append(
                f"{doubles} rows have the id of another row: the first of each is "
                "counted"
            )
        if not new.any():
            evidence = log_evidence(self._state)
            return ChunkResult(
                0, time, n, log_e=evidence, alerts=alerts, notes=tuple(notes)
            )
        rows, rest = np.flatnonzero(new), None if y is None else y[new]
        chunk_result = self._counted(rows_of(X, rows), rest, time, keys[new], notes)
        return replace(chunk_result, alerts=(*alerts, *chunk_result.alerts))

    def _came_again(self, keys: Keys, y: Any) -> tuple[list[str], tuple[Alert, ...]]:
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
            _, first = np.unique(place[rows], return_index=True)
            rows = rows[np.sort(first)]
            known = chunks[k].labelled
            if known is None:
                too_late += max(rows.size - chunks[k].n_labelled, 0)
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

    def _counted(
        self,
        X: Any,
        y: Any,
        time: Any,
        keys: Keys | None = None,
        notes: Sequence[str] = (),
    ) -> ChunkResult:
        """Return what is known of rows that have not been, unless all have together."""
        state = self._state
        table = read_table(X)
        state.known.check_has(table)
        odd = state.known.oddities(table)
        notes = [*notes, *(said for _, said in odd)]
        numbers = state.encoded(table)
        digest = digest_of(numbers)
        for chunk in state.chunks:
            # Rows with ids of their own may be equal and are others all the same.
            told_apart = keys is not None and chunk.keys is not None
            same = chunk.digest == digest and chunk.n_rows == len(numbers)
            if same and not told_apart:
                return self._again(chunk, y)
        if state.chunk_at(time) is not None:
            notes.append("late: more rows of a time that has been")
        elif state.chunks and is_before(time, state.chunks[-1].time):
            notes.append("out of order: before the chunk that came last")
        answers = Answers.of(state.model, [X], state.is_classifier)
        # What is wrong with labels is said before anything is counted.
        rows, labels = labelled_part(
            np.full(len(numbers), None) if y is None else y, len(numbers), state
        )
        chunk = SeenChunk(len(state.chunks) + 1, time, len(numbers), digest)
        state.chunks.append(chunk)
        state.inputs.add(numbers)
        found = judge(state, self._metrics, chunk, numbers, answers)
        found.odd = tuple(name for name, _ in odd)
        notes += found.notes
        state.keep_answers(chunk, answers)
        state.keep_keys(chunk, keys)
        self._count_labels(chunk, answers.take(rows), labels)
        if chunk.labelled is not None:
            chunk.labelled[rows] = True
        alerts = new_alerts(state, chunk, found)
        chunk_result = ChunkResult(
            number=chunk.number,
            time=time,
            n_rows=chunk.n_rows,
            drift=found.drift,
            covered=found.covered,
            effective_rows=found.effective_rows,
            performance=found.performance,
            realized=realized_of(state, self._metrics, chunk),
            log_e=log_evidence(self._state),
            alerts=alerts,
            notes=tuple(notes),
        )
        for metric in self._metrics:
            state.history.append(row_of_history(chunk_result, metric, state))
        return chunk_result

    def _again(self, chunk: SeenChunk, y: Any) -> ChunkResult:
        """Return what a chunk that came before tells: its new labels, if any."""
        notes = [
            f"duplicate: the rows of chunk {chunk.number} ({chunk.time}) again, not "
            "counted"
        ]
        alerts: tuple[Alert, ...] = ()
        rows, _ = labelled_part(
            np.full(chunk.n_rows, None) if y is None else y, chunk.n_rows, self._state
        )
        if chunk.labelled is None and rows.size > chunk.n_labelled:
            notes.append(f"{rows.size - chunk.n_labelled} {_TOO_LATE}")
        elif chunk.labelled is not None:
            new = rows[~chunk.labelled[rows]]
            if new.size:
                values = np.asarray(y, dtype=object).reshape(-1)[new]
                alerts = self._labels_of(chunk, new, values)
                notes.append(f"{new.size} labels of them are new and were counted")
        return ChunkResult(
            0,
            chunk.time,
            chunk.n_rows,
            realized=realized_of(self._state, self._metrics, chunk),
            log_e=log_evidence(self._state),
            alerts=alerts,
            notes=tuple(notes),
        )

    def add_labels(self, time: Any, rows: Any, y: Any) -> tuple[Alert, ...]:
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

    def _labels_of(self, chunk: SeenChunk, rows: Any, y: Any) -> tuple[Alert, ...]:
        """Take labels of rows of a chunk, and return new alerts."""
        state = self._state
        answers, labels = place_labels(state, chunk, rows, y)
        self._count_labels(chunk, answers, labels)
        realized = realized_of(state, self._metrics, chunk)
        for row in state.history:
            if row["chunk"] == chunk.number and row["metric"] in realized:
                one = realized[row["metric"]]
                row |= {
                    "realized": one["value"],
                    "realised_low": one["low"],
                    "realised_high": one["high"],
                    "n_labelled": one["n"],
                }
        return new_alerts(state, chunk, Judged(covered=chunk.covered))

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the monitor, its model included, to a file that `ModelMonitor.load` "
        "reads."""
        own = [m.name for m in self._metrics if m.name not in _known_metrics()]
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

    def _count_labels(
        self, chunk: SeenChunk, answers: Answers, labels: NDArray[Any]
    ) -> None:
        """Let labelled rows speak for the risk, and count them in."""
        if len(labels) == 0:
            return
        state = self._state
        for metric in self._metrics:
            known = chunk.tallies.setdefault(metric.name, Tally())
            tally(metric, known, answers, labels)
        risk = as_metric(state.risk.name, state.model, labels)
        state.risk.add(risk.rows(answers, answers.rows, labels))
        state.batch_times.append(chunk.time)


_TOO_LATE = (
    "labels came too late to be counted: what the model said of their rows is no "
    "longer kept"
)


def _known_metrics() -> set[str]:
    return {*get_scorer_names(), ERROR_RATE}
