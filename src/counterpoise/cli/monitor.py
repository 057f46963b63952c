"""The command monitor."""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.cli.files import EMPTY, TableFile, kind_of
from counterpoise.cli.fit import check_metric
from counterpoise.cli.inputs import read_labels
from counterpoise.cli.options import (
    FILE_OPTIONS,
    RECORD_OPTIONS,
    Commands,
    add_command,
    holding,
)
from counterpoise.cli.outputs import (
    Write,
    check_folder,
    write_columns,
    write_folder,
    write_text,
)
from counterpoise.cli.predict import (
    frame_for_model,
    read_for_model,
    read_model,
    task_of,
)
from counterpoise.cli.record import (
    memory_limit,
    of_end,
    prepare_outputs,
    print_findings,
    reproduced_by,
)
from counterpoise.cli.terminal import (
    CONDITION_HOLDS,
    FINE,
    Block,
    DataError,
    Steps,
    UsageError,
    cells,
    followed,
    of_training_rows,
)
from counterpoise.errors import InvalidInputError
from counterpoise.linalg.arrays import Indices
from counterpoise.messages.numbers import metric_name
from counterpoise.monitor.chunks import Chunk, NoDateError, cut
from counterpoise.monitor.monitor import ModelMonitor
from counterpoise.monitor.results import ChunkResult
from counterpoise.report.page import render
from counterpoise.report.report import Report
from counterpoise.shift.diagnosis import diagnose

if TYPE_CHECKING:
    import pandas as pd

# -----------------------------------------------------------------------------
# `counterpoise monitor`: a deployed model followed chunk after chunk.
# -----------------------------------------------------------------------------


_OPTIONS = (
    "model",
    "reference",
    "label",
    "table",
    "time",
    "every",
    "id",
    "metric",
    "level",
    "false-alarm-rate",
    "tolerance",
    "out",
    "seed",
    *RECORD_OPTIONS,
    "max-memory",
    *FILE_OPTIONS,
    "quiet",
)
# Of all looks, of this run, and of the last chunk.
MONITOR_NUMBERS = (
    "alerts",
    "new_alerts",
    "inputs",
    "risk",
    "estimate",
    "looks",
    "auc",
    "covered",
    "estimated",
    "realized",
)


def add_monitor(commands: Commands) -> None:
    """Add the command to the parser."""
    add_command(
        commands,
        "monitor",
        "watch a saved model: alerts that hold over all looks",
        _OPTIONS,
        monitor_command,
        needs=("table", "time", "out"),
        numbers=MONITOR_NUMBERS,
        epilog=(
            "The first run needs --model, --reference and --label and begins the "
            "monitor in --out; every\nlater one goes on there with the rows of --table "
            "that it has not seen: rows are told\napart by --id, or by their time and "
            "all columns. --label is remembered: labels of\nrows that have been are "
            "counted when they come. --overwrite begins anew."
        ),
    )


# -----------------------------------------------------------------------------
# A monitor in a folder: begun by the first run, and gone on with by every later one.
# -----------------------------------------------------------------------------


_STATE, _PAGE, _RECORD, _HISTORY = (
    "watch.skops",
    "watch.html",
    "watch.json",
    "history.csv",
)
_CALENDAR = ("hour", "day", "week", "month", "year")
_TIME_AND_COLUMNS = "their time and all columns"
_READING, _WATCHING, _WRITING = _PLAN = (
    "reading the model and the tables",
    "looking at the chunks",
    "writing the files",
)


def monitor_command(options: Namespace) -> int:
    """Go on with the monitor in `--out`, or begin it there; return the exit code."""
    own = [options.out / name for name in (_STATE, _PAGE, _RECORD, _HISTORY)]
    conditions = prepare_outputs(options, MONITOR_NUMBERS, own)
    check_metric(options.metric)
    state = options.out / _STATE
    goes_on = state.exists() and not options.overwrite
    if not goes_on:
        names_out = [path.name for path in own]
        check_folder(options.out, names_out, overwrite=options.overwrite)
        lacking = [
            f"--{name}"
            for name in ("model", "reference", "label")
            if getattr(options, name) is None
        ]
        if lacking:
            raise UsageError(f"the first run of monitor needs {' and '.join(lacking)}")
    with followed(_PLAN, quiet=options.quiet) as steps, memory_limit(options):
        steps.begin(_READING)
        monitor = ModelMonitor.load(state) if goes_on else _new_monitor(options, steps)
        before = _label_counts(monitor)
        table = read_for_model(monitor.model, options.table, options.id)
        _remember_label(monitor, table, options.label, steps)
        table.check_has([options.time], "--time")
        steps.begin(_WATCHING)
        chunk_results, pages = _update(monitor, table, options, steps)
        record = Report.from_estimator(
            monitor,
            reproduce=reproduced_by(options),
            notices=list(steps.notices),
        )
        record = _with_reports(record, options.out, pages)
        steps.begin(_WRITING)
        files: dict[str, Write] = {
            _STATE: lambda path: monitor.save(path, overwrite=True),
            _RECORD: write_text(record.to_json()),
            _HISTORY: _history(monitor),
            **pages,
        }
        try:
            files[_PAGE] = render(record, record_file=_RECORD).save
        except ImportError as error:
            steps.notice(f"there is no {_PAGE}: {error}")
        write_folder(options.out, files, overwrite=goes_on or options.overwrite)
    held = holding(conditions, _numbers(monitor, chunk_results))
    reasons = [f"--fail-if {text}" for text in held]
    written = [options.out / name for name in (_PAGE, _RECORD, _HISTORY, _STATE)]
    print_findings(
        options,
        record,
        [*_findings(monitor, chunk_results, before), *of_end(reasons, written)],
    )
    return CONDITION_HOLDS if held else FINE


def _new_monitor(options: Namespace, steps: Steps) -> ModelMonitor:
    model = read_model(options.model)
    table = read_for_model(model, options.reference)
    table.check_has([options.label], "--label")
    X = frame_for_model(model, table)
    labels = read_labels(table, options.label, task_of(model))
    if labels.rows.size < table.n_rows:
        lost = table.n_rows - labels.rows.size
        steps.notice(f"{lost} rows of {table.path} have no label and are left out")
    for notice in of_training_rows(model, options.model, table, labels.rows.size):
        steps.notice(notice)
    return ModelMonitor(
        model,
        X=X.iloc[labels.rows].reset_index(drop=True),
        y=labels.values,
        scoring=options.metric,
        confidence_level=options.level,
        false_alarm_rate=options.false_alarm_rate,
        tolerance=options.tolerance,
        random_state=options.seed,
    )


def _update(
    monitor: ModelMonitor, table: TableFile, options: Namespace, steps: Steps
) -> tuple[list[ChunkResult], dict[str, Write]]:
    """Give the monitor every chunk with rows that it has not seen."""
    X = frame_for_model(monitor.model, table)
    y = _labels(monitor, table)
    every, by = _every(table, options)
    times = _times(table, options.time)
    ids = _ids(monitor, X, times, table, options)
    if y is not None:
        y, otherwise = monitor.labels_by_id(ids, y)
        if otherwise:
            steps.notice(
                f"{otherwise:,} rows have another label than a row before them with "
                "the same id: the first is counted"
            )
    chunk_results: list[ChunkResult] = []
    pages: dict[str, Write] = {}

    def update(rows: Indices, time: object) -> tuple[ChunkResult, "pd.DataFrame"]:
        part = X.iloc[rows].reset_index(drop=True)
        own = None if y is None else y[rows]
        chunk_result = monitor.update(part, y=own, time=time, ids=ids[rows])
        about = "" if time is None else f"chunk {time}: "
        for note in chunk_result.notes:
            steps.notice(f"{about}{note}")
        chunk_results.append(chunk_result)
        return chunk_result, part

    new, been = monitor.is_new(ids), monitor.seen(ids)
    if been.any():
        # A table that has grown, or a window that has moved on.
        update(np.flatnonzero(been), None)
    doubles = np.count_nonzero(~new & ~been)
    if doubles:
        steps.notice(
            f"{doubles:,} rows have the id of another row of the table: "
            "the first of each is counted"
        )
    fresh = np.flatnonzero(new)
    chunks, notes = _cut(table, by, _times(table, by), fresh, every)
    for one in notes:
        steps.notice(one)
    for chunk in chunks:
        rows = fresh[chunk.rows]
        seen = monitor.n_seen(X.iloc[rows].reset_index(drop=True), chunk.time)
        if 0 < seen < len(rows):
            # Rows so many that they are known by their chunk alone.
            rows = rows[seen:]
        chunk_result, part = update(rows, chunk.time)
        page = (
            None if chunk_result.number == 0 else _report(monitor, part, options.seed)
        )
        if page is not None:
            pages[_page_name(chunk_result.number)] = page
    return chunk_results, pages


def _cut(
    table: TableFile, by: str, times: NDArray[Any], rows: Indices, every: str | int
) -> tuple[list[Chunk], list[str]]:
    """Return the chunks of some rows; what is no date is told with its place."""
    try:
        return cut(times[rows], every)
    except NoDateError as error:
        where = f"{table.path}, {table.place(int(rows[error.row]))}, column {by!r}"
        raise DataError(
            f"{where}: {error.text!r} is no date: dates are read as 2024-01-31, with "
            "or without a time after them"
        ) from error


def _ids(
    monitor: ModelMonitor,
    X: "pd.DataFrame",
    times: NDArray[Any],
    table: TableFile,
    options: Namespace,
) -> NDArray[Any]:
    """Return what tells rows apart: `--id`, or their time and all their columns."""
    monitor.id_column(options.id or _TIME_AND_COLUMNS)
    if options.id is None:
        return monitor.row_ids(X, times)
    table.check_has([options.id], "--id")
    values = table.columns[options.id].to_pylist()
    lacking = [row for row, one in enumerate(values) if one is None]
    if lacking:
        where = f"{table.path}, {table.place(lacking[0])}, column {options.id!r}"
        raise DataError(
            f"{where}: a row without an id (--id) cannot be told from others"
        )
    return np.array([str(one) for one in values], dtype=object)


def _every(table: TableFile, options: Namespace) -> tuple[str | int, str]:
    """Return how rows are cut, and the column by which."""
    if options.every in _CALENDAR:
        return options.every, options.time
    if options.every.isdigit():
        return int(options.every), options.time
    if options.every not in table.names:
        known = ", ".join(_CALENDAR)
        raise UsageError(
            f"--every must be one of {known}, a number of rows or a column of "
            f"{table.path}, got {options.every!r}"
        )
    return "value", options.every


def _times(table: TableFile, name: str) -> NDArray[Any]:
    values = table.columns[name].to_pylist()
    kinds = {type(one) for one in values if one is not None}
    if kinds <= {int, float}:
        return np.array(values, dtype=float)
    texts = [
        None if value is None else getattr(value, "isoformat", value.__str__)()
        for value in values
    ]
    return np.array(texts, dtype=object)


def _remember_label(
    monitor: ModelMonitor, table: TableFile, name: str | None, steps: Steps
) -> None:
    """Keep the column of labels for every later run; refuse another, not there.

    Rows without labels may come under the name that is remembered; under another that
    is not there it is a mistyped one, and would lose the labels to come.
    """
    known = monitor.label_column
    if name is None or name == known:
        return
    if known and name not in table.names:
        raise DataError(
            f"{table.path} has no column {name!r} (--label), and this monitor reads "
            f"labels from {known!r}: leave --label out to go on with that"
        )
    monitor.label_column = name
    if known:
        steps.notice(f"labels are read from {name!r} from now on, not from {known!r}")


def _labels(monitor: ModelMonitor, table: TableFile) -> NDArray[Any] | None:
    """Return the labels that the rows have, None where they have none."""
    name = monitor.label_column
    if not name or name not in table.names or kind_of(table, name) == EMPTY:
        return None
    known = getattr(monitor.model, "classes_", None)
    found = read_labels(
        table,
        name,
        task_of(monitor.model),
        known=None if known is None else np.asarray(known),
    )
    y = np.full(table.n_rows, None, dtype=object)
    y[found.rows] = found.values
    return y


def _report(monitor: ModelMonitor, part: "pd.DataFrame", seed: int) -> Write | None:
    """Return what writes the chunk's own report; None where it is too small."""
    try:
        found = diagnose(*monitor.against(part), random_state=seed)
        return render(Report.from_estimator(found)).save
    except (ImportError, InvalidInputError):
        return None


def _page_name(number: int) -> str:
    return f"chunk-{number:04d}.html"


def _with_reports(record: Report, folder: Path, pages: dict[str, Write]) -> Report:
    """Return the record, its chunks with the names of their own reports."""
    document = record.to_dict()
    for row in document["monitor"]["history"]:
        name = _page_name(row["chunk"])
        if name in pages or (folder / name).exists():
            row["report"] = name
    return Report.from_dict(document)


def _history(monitor: ModelMonitor) -> Write:
    rows = monitor.history_
    columns = {}
    for name in rows[0] if rows else ["chunk"]:
        values = [row[name] for row in rows]
        if any(isinstance(value, str) for value in values):
            values = [None if value is None else str(value) for value in values]
        columns[name] = values
    return write_columns(columns)


def _numbers(
    monitor: ModelMonitor, chunk_results: Sequence[ChunkResult]
) -> dict[str, float | None]:
    """Return what `--fail-if` may ask about."""
    kinds = [alert.kind for alert in monitor.alerts_]
    last = monitor.history_[-1] if monitor.history_ else {}
    return {
        "alerts": float(len(kinds)),
        "new_alerts": float(
            sum(len(chunk_result.alerts) for chunk_result in chunk_results)
        ),
        **{kind: float(kind in kinds) for kind in ("inputs", "risk", "estimate")},
        "looks": float(monitor.n_chunks_),
        **{
            name: last.get(name) for name in ("auc", "covered", "estimated", "realized")
        },
    }


def _label_counts(monitor: ModelMonitor) -> dict[tuple[int, str], int]:
    """Return how many labels each chunk has, by its number and the metric."""
    return {(row["chunk"], row["metric"]): row["n_labeled"] for row in monitor.history_}


def _findings(
    monitor: ModelMonitor,
    chunk_results: Sequence[ChunkResult],
    before: dict[tuple[int, str], int],
) -> list[Block]:
    """Return what this run has found: of new chunks, and of those with new labels."""
    counted = [chunk_result for chunk_result in chunk_results if chunk_result.number]
    lines = [f"new chunks: {len(counted)}, {monitor.n_chunks_} in all"]
    now = _label_counts(monitor)
    late = {key[0] for key, n in before.items() if now[key] > n}
    lines += [f"chunks with new labels: {len(late)}"] if late else []
    alerts = [alert.text("terminal") for alert in monitor.alerts_]
    lines += alerts or ["no alert so far"]
    new = {chunk_result.number for chunk_result in counted} | late
    rows = tuple(
        cells(
            row["time"],
            row["n_rows"],
            metric_name(row["metric"]).name,
            row["estimated"],
            row["realized"],
            row["auc"],
            row["covered"],
            row["alerts"],
        )
        for row in monitor.history_
        if row["chunk"] in new
    )
    first = ("chunk", "rows", "metric", "estimated", "from labels")
    header = (*first, "AUC", "covered", "alerts")
    return [Block("Watched", tuple(lines), header if rows else (), rows[-20:])]
