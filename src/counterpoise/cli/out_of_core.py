"""Commands on folders of Parquet files, in blocks."""

import hashlib
import json
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from counterpoise import __version__
from counterpoise.adaptation.out_of_core import (
    COPIES_OF_ROWS,
    OF_ROWS_IN_MEMORY,
    BlockWeights,
    FittedEstimator,
    TablesInBlocks,
    fit_all_rows,
    fit_weights_to_blocks,
    way_of,
)
from counterpoise.cli.files import TableFile
from counterpoise.cli.inputs import CLASSIFICATION, Pair, read_labels, table_of
from counterpoise.cli.outputs import Write
from counterpoise.cli.record import data_of, reproduced_by
from counterpoise.cli.terminal import DataError, UsageError
from counterpoise.data.blocks import DECISION_SAMPLE_SIZE, Blocks, sample
from counterpoise.data.files import STORED
from counterpoise.data.parallel import (
    current_budget,
    distribute,
    each_block,
    fingerprint,
    kept_passes,
    map_write,
    memory_budget,
)
from counterpoise.data.readers import Reader, Rows, parquet_files, parquet_reader
from counterpoise.data.samples import Samples
from counterpoise.data.table import Table, column_of_numbers, column_of_texts
from counterpoise.data.two_samples import effective_sample_size
from counterpoise.errors import InvalidInputError
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.shift.columns import column_sums
from counterpoise.shift.diagnosis import Diagnosis
from counterpoise.weights.base import lean

if TYPE_CHECKING:
    import pyarrow

    from counterpoise.adaptation.adapted import Adapted
    from counterpoise.cli.terminal import Steps

# What the column of the rows' numbers is called, beside all that files can have.
ROW = "counterpoise: row"

# -----------------------------------------------------------------------------
# Row groups as tables of the columns that count, read as the command line reads.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _WantedColumns:
    """What is read of a row group: columns by their kinds, label and names of rows.

    Attributes
    ----------
    kinds : dict
        What each column holds.
    name_column, label : str or None
    known : array or None
        Different labels of the rows drawn.
    task : str or None
    """

    kinds: Mapping[str, str]
    name_column: str | None = None
    label: str | None = None
    known: NDArray[Any] | None = None
    task: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        extra = [one for one in (self.label, self.name_column) if one is not None]
        return tuple(dict.fromkeys([*self.kinds, *extra]))


def _load_typed(stored: Blocks, wanted: _WantedColumns, index: int) -> Table:
    """Return a row group as a table, rows without a label left out."""
    columns = stored.read(index)
    file = TableFile(Path(stored.place(index)), columns, "", STORED)
    rows: Indices = np.arange(file.n_rows)
    more = []
    if wanted.label is not None:
        rows = _present(columns[wanted.label])
        labels = read_labels(file, wanted.label, str(wanted.task), known=wanted.known)
        if wanted.task == CLASSIFICATION and labels.values.dtype.kind == "U":
            more.append(column_of_texts(wanted.label, labels.values.tolist()))
        else:
            more.append(column_of_numbers(wanted.label, labels.values))
    if wanted.name_column is not None:
        names = columns[wanted.name_column].take(rows).to_pylist()
        more.append(column_of_texts(wanted.name_column, names))
    more.append(column_of_numbers(ROW, stored.starts[index] + rows + 1.0))
    table = table_of(file, wanted.kinds, rows)
    return Table((*table.columns, *more), named=True)


def _present(column: "pyarrow.ChunkedArray") -> Indices:
    """Return the places of rows that have a value; NaN is not one."""
    from pyarrow import compute

    missing = compute.is_null(column, nan_is_null=True).to_numpy()
    return np.flatnonzero(~np.asarray(missing, dtype=bool))


def _count_present(columns: "pyarrow.Table", first: object) -> int:
    return int(_present(columns.column(0)).size)


# -----------------------------------------------------------------------------
# A folder or a pattern of Parquet files, and rows drawn of it.
# -----------------------------------------------------------------------------


# Copies of a table that the main job makes of a file that is read whole.
COPIES_OF_A_FILE = 8


def is_large(path: object, max_memory: int | None = None) -> bool:
    """Return whether a table is read in blocks.

    A folder or a pattern is, and a Parquet file that takes more than `max_memory` when
    it is read whole: eight copies of eight bytes a cell.
    """
    if not isinstance(path, Path):
        return False
    if path.is_dir() or has_magic(str(path)):
        return True
    if max_memory is None or not _is_parquet(path):
        return False
    import pyarrow.parquet

    try:
        footer = pyarrow.parquet.read_metadata(path)
    except pyarrow.ArrowException:
        return False
    cells = footer.num_rows * footer.num_columns
    return bool(COPIES_OF_A_FILE * 8 * cells > max_memory)


def _is_parquet(path: Path) -> bool:
    """Return whether a file begins as Parquet does; reading it says what is wrong."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


@dataclass(frozen=True, eq=False)
class DrawnFile(TableFile):
    """Rows drawn of many files, as if they were one.

    Attributes
    ----------
    places : array of int
        Where each row stands among all.
    """

    places: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def place(self, row: int) -> str:
        """Return where a row is among those of all files."""
        return f"row {int(self.places[row]) + 1}"


@dataclass(frozen=True, eq=False)
class LargeTable:
    """Parquet files that are one table.

    Attributes
    ----------
    path : Path
        As it was given.
    blocks : Blocks
        The row groups as they are stored.
    """

    path: Path
    blocks: Blocks

    @classmethod
    def at(cls, path: Path) -> "LargeTable":
        """Return the table of a file, a folder or a pattern."""
        try:
            return cls(path, Blocks(parquet_reader(path, None, as_stored=True)))
        except InvalidInputError as error:
            raise DataError(str(error)) from error

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.blocks.n_rows

    @property
    def files(self) -> list[Path]:
        """The files, in order."""
        return parquet_files(self.path)

    @cached_property
    def fingerprints(self) -> list[dict[str, Any]]:
        """Name, size and footer of every file."""
        return [fingerprint(path) for path in self.files]

    def whole_type(self, name: str | None) -> "pyarrow.DataType | None":
        """Return the type of a column of whole numbers; None for any other."""
        if name is None:
            return None
        from pyarrow import parquet, types

        kind = parquet.read_schema(self.files[0]).field(name).type
        return kind if types.is_integer(kind) else None

    def drawn(self, k: int, seed: int) -> DrawnFile:
        """Return k rows drawn at random, in their order."""
        rows = sample(self.blocks, k, seed)
        described = json.dumps(self.fingerprints, sort_keys=True)
        digest = hashlib.sha256(described.encode()).hexdigest()
        return DrawnFile(self.path, rows.rows, digest, STORED, places=rows.places)

    def typed(
        self,
        kinds: Mapping[str, str],
        *,
        name_column: str | None = None,
        label: str | None = None,
        known: NDArray[Any] | None = None,
        task: str | None = None,
    ) -> Blocks:
        """Return the columns that count as blocks, with labels and names of rows.

        Parameters
        ----------
        kinds : mapping
            What each column holds.
        name_column : str or None
            Column that names the rows.
        label : str or None
            Column of the labels; rows without one are left out.
        known : array or None
            Labels of rows drawn, which say what labels are.
        task : str or None
            What they are for.
        """
        known = None if known is None else np.unique(known)
        wanted = _WantedColumns(dict(kinds), name_column, label, known, task)
        for name in wanted.names:
            if name not in (self.blocks.labels or ()):
                raise DataError(f"{self.path} has no column {name!r}")
        stored = Blocks(parquet_reader(self.path, wanted.names, as_stored=True))
        sizes = stored.reader.sizes
        if label is not None:
            labels = Blocks(parquet_reader(self.path, [label], as_stored=True))
            sizes = tuple(each_block(labels, _count_present))
            if 0 in sizes:
                where = stored.place(sizes.index(0))
                raise DataError(f"{where}: no row has a {label!r}; leave that file out")
        load = partial(_load_typed, stored, wanted)
        columns = (*wanted.names, ROW)
        return Blocks(Reader(load, stored.place, stored.n_blocks, sizes, columns))


# -----------------------------------------------------------------------------
# Two large tables as commands see them: a sample to decide on, blocks to fit to.
# -----------------------------------------------------------------------------


# Arrays that may be there at the same time, each of the largest size.
ARRAYS_AT_ONCE = 4
# What is decided by all rows, or by rows that a sample does not have.
_NOT_OF_SAMPLES = ("weights", "calibration_fraction")


@dataclass(frozen=True, eq=False)
class LargePair:
    """Source and target, one of which at least is a folder or a pattern."""

    source: LargeTable
    target: LargeTable
    seed: int

    @classmethod
    def of(cls, options: Namespace) -> "LargePair | None":
        """Return both tables; None where both are files, which are read whole."""
        paths = options.source, options.target
        asked = options.workers is not None or options.scheduler is not None
        limit = options.max_memory
        if not (asked or any(is_large(path, limit) for path in paths)):
            return None
        refuse_options(options, _NOT_OF_SAMPLES)
        if isinstance(getattr(options, "target_labels", None), Path):
            raise UsageError("--target-labels FILE names rows of one file, not of many")
        source, target = map(LargeTable.at, paths)
        refuse_inside([source, target], options.out if "out" in options else None)
        return cls(source, target, options.seed)

    def drawn(self) -> tuple[DrawnFile, DrawnFile]:
        """Return rows drawn of both, as files."""
        return (
            self.source.drawn(DECISION_SAMPLE_SIZE, self.seed),
            self.target.drawn(DECISION_SAMPLE_SIZE, self.seed),
        )

    def blocks(self, pair: Pair, options: Namespace) -> tuple[Blocks, Blocks]:
        """Return both tables in blocks, the columns read as those of the sample."""
        label = getattr(options, "label", None)
        if pair.y is None:
            label = None
        source = self.source.typed(
            pair.kinds,
            name_column=options.id,
            label=label,
            known=pair.y,
            task=pair.task,
        )
        return source, self.target.typed(pair.kinds)

    def told(self, pair: Pair) -> list[str]:
        """Return how many rows decisions rest on, in words."""
        drawn, drawn_target = len(pair.table), len(pair.table_target)
        return [
            f"diagnosis, choice of weights, guard and estimates rest on {drawn:,} of "
            f"{self.source.n_rows:,} source rows and {drawn_target:,} of "
            f"{self.target.n_rows:,} target rows, drawn by chance"
        ]

    def data(self, found: dict[str, Any], pair: Pair) -> dict[str, Any]:
        """Return a data card with the rows and columns of all files, counted."""
        out = dict(found)
        out["columns"] = [dict(column) for column in found["columns"]]
        for key, table in (("source", self.source), ("target", self.target)):
            sums = {one.name: one for one in column_sums(table.typed(pair.kinds))}
            for column in out["columns"]:
                every_row = sums[column["name"]].to_dict()
                column[f"missing_{key}"] = every_row["missing"]
                column[f"every_{key}_row"] = every_row
        for key, table in (("source", self.source), ("target", self.target)):
            out[key] = {
                **found[key],
                "rows": table.n_rows,
                "drawn": found[key]["rows"],
                "files": len(table.files),
            }
        return out


def data_card(pair: Pair, large: LargePair | None) -> dict[str, Any]:
    """Return what was read: of files, or of all rows of folders."""
    found = data_of(pair)
    return found if large is None else large.data(found, pair)


def refuse_options(options: Namespace, names: tuple[str, ...]) -> None:
    """Refuse options that folders cannot have."""
    for name in names:
        if getattr(options, name, None):
            told = name.replace("_", "-")
            raise UsageError(
                f"--{told} is not taken with folders and patterns of files"
            )


def refuse_inside(tables: list[LargeTable], out: Path | None) -> None:
    """Refuse to write where a table is read from."""
    if out is None:
        return
    for table in tables:
        read = {path.resolve() for path in table.files}
        folders = {path.parent for path in read} if table.path.is_dir() else set()
        if out.resolve() in {*read, *folders} or out.resolve().parent in folders:
            raise UsageError(
                f"--out {out} is, or lies in, a folder that is read: choose another"
            )


@contextmanager
def working_on_blocks(
    options: Namespace, large: "LargePair | LargeTable | None"
) -> Iterator[None]:
    """Let blocks be worked on as the options say: who, how much memory, what is kept.

    Parameters
    ----------
    options : workers, scheduler, wait, resume, out and max_memory, those that there are
    large : LargePair, LargeTable or None
        None: nothing is in blocks.
    """
    given = vars(options)
    workers, scheduler = given.get("workers"), given.get("scheduler")
    if workers is not None and scheduler is not None:
        raise UsageError(
            "--workers starts processes, --scheduler has its own: give one"
        )
    if large is None:
        if given.get("resume"):
            raise UsageError("--resume is for folders and patterns of files")
        yield
        return
    with ExitStack() as stack:
        if given.get("max_memory") is not None:
            stack.enter_context(memory_budget(given["max_memory"] // ARRAYS_AT_ONCE))
        if workers is not None or scheduler is not None:
            stack.enter_context(distribute(workers or scheduler, wait=options.wait))
        if "resume" in given:
            stack.enter_context(
                kept_passes(
                    passes_folder(options.out),
                    _inputs(options, large),
                    resume=options.resume,
                )
            )
        yield


def passes_folder(out: Path) -> Path:
    """Return where the passes of a command are kept until it is done."""
    return out.with_name(f".{out.name}.passes")


def _digest_of_file(name: object) -> str | None:
    """Return the digest of an estimator that is given as a file, else None."""
    path = Path(str(name))
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def _inputs(options: Namespace, large: LargePair | LargeTable) -> dict[str, Any]:
    """Return all that passes depend on."""
    tables = [large.source, large.target] if isinstance(large, LargePair) else [large]
    return {
        "version": __version__,
        "files": [table.fingerprints for table in tables],
        # A footer does not tell every change of the rows.
        "written": [
            [path.stat().st_mtime_ns for path in table.files] for table in tables
        ],
        "estimator": _digest_of_file(getattr(options, "estimator", None)),
        "options": reproduced_by(options)["options"],
        "command": options.command,
    }


# -----------------------------------------------------------------------------
# The main job's last part where tables are large: weights and model of every row.
# -----------------------------------------------------------------------------


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
    model: "Adapted | Diagnosis",
    large: LargePair | None,
    pair: Pair,
    options: Namespace,
    steps: "Steps",
) -> EveryRow:
    """Fit to every row a model that was fitted to the rows drawn, and say so.

    Nothing is done where tables are files, or where a diagnosis stands for the model.
    """
    if large is None:
        return EveryRow()
    for notice in large.told(pair):
        steps.notice(notice)
    if isinstance(model, Diagnosis):
        return EveryRow()
    source, target = large.blocks(pair, options)
    assert pair.y is not None
    tables = TablesInBlocks(
        source, target, options.label, dict(pair.kinds), pair.X, pair.y, pair.samples
    )
    budget = _budget(model.estimator_, source.n_rows, len(pair.kinds))
    weights = fit_all_rows(model, tables, budget)
    rests = model.all_rows_
    assert rests is not None
    fitted = (
        "every row" if budget is None else f"{budget:,} rows drawn by their weights"
    )
    steps.notice(
        f"the weights of all {rests.n_source:,} source rows are by a fit to "
        f"{rests.weight_estimator_fit}; the model is fitted to {fitted}"
    )
    return _every_row(asdict(rests), source, weights, True, large, options.id)


def fit_weights_to_every_row(
    weight_estimator: Any,
    samples: Samples,
    large: LargePair | None,
    pair: Pair,
    options: Namespace,
    steps: "Steps",
) -> EveryRow:
    """Fit to every row a weight estimator that was fitted to the rows drawn."""
    if large is None:
        return EveryRow()
    if options.out.suffix.lower() != ".parquet":
        raise UsageError(f"--out {options.out} of folders must end in .parquet")
    if weight_estimator.needs_labels:
        raise UsageError(
            f"--weight-estimator {options.weight_estimator} is not taken with folders"
        )
    source, target = large.blocks(pair, options)
    kinds = dict(pair.kinds)
    by_all_rows, sums = fit_weights_to_blocks(
        weight_estimator, source, target, kinds, samples.encoder, samples
    )
    weight_estimator.effective_sample_size_ = effective_sample_size(
        weight_estimator.weights_
    )
    fitted = "every row" if by_all_rows else "the sample"
    for notice in large.told(pair):
        steps.notice(notice)
    steps.notice(f"the weights of all {sums.n:,} source rows are by a fit to {fitted}")
    rests = {
        "n_source": sums.n,
        "n_target": target.n_rows,
        "n_drawn": len(pair.table),
        "n_target_drawn": len(pair.table_target),
        "weight_estimator_fit": fitted,
        "effective_size": sums.effective_size,
        "largest_weight": sums.largest / (sums.total / sums.n),
    }
    weights = BlockWeights(lean(weight_estimator), kinds, samples.encoder)
    return _every_row(rests, source, weights, False, large, options.id)


def _every_row(
    rests: dict[str, Any],
    source: Blocks,
    weights: BlockWeights,
    with_ratio: bool,
    large: LargePair,
    name_column: str | None,
) -> EveryRow:
    id_type = large.source.whole_type(name_column)
    work = partial(_weight_columns, weights, with_ratio, name_column, id_type)
    write = partial(map_write, source, work)
    return EveryRow({"all_rows": rests}, {WEIGHTS_FILE: write})


def _budget(estimator: FittedEstimator, n: int, width: int) -> int | None:
    """Return how many rows are drawn for a model; None: it is fitted to every row.

    A model that is fitted in memory gets at most 200,000 rows drawn by their weights,
    and no more than the memory budget has room for.
    """
    if way_of(estimator, None) != OF_ROWS_IN_MEMORY:
        return None
    fits = current_budget() // (COPIES_OF_ROWS * 8 * (width + 3))
    return int(min(n, fits, MOST_ROWS_OF_A_MODEL))


def _weight_columns(
    weights: BlockWeights,
    with_ratio: bool,
    name_column: str | None,
    id_type: "pyarrow.DataType | None",
    rows: Rows,
    first: int,
) -> dict[str, Any]:
    """Return the weights of the rows of a block, with what tells the rows apart."""
    columns = names_of_rows(rows, name_column, id_type)
    ratio: Array = weights.ratio(rows, first)
    if not with_ratio:
        return {**columns, "weight": ratio}
    return {**columns, "weight": weights.of_ratio(ratio), "ratio": ratio}


def names_of_rows(
    rows: Table, name_column: str | None, kind: "pyarrow.DataType | None"
) -> dict[str, Any]:
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
