"""Commands on folders of Parquet files, in blocks."""

import hashlib
import json
from argparse import Namespace
from collections.abc import Hashable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from glob import has_magic
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise import __version__
from counterpoise.adaptation.out_of_core import (
    COPIES_OF_ROWS,
    OF_ROWS_IN_MEMORY,
    EncodedRows,
    LabelsOfRows,
    RatioOfBlocks,
    RowsAsSeen,
    TablesInBlocks,
    WeightsOfBlocks,
    fit_all_rows,
    way_of,
)
from counterpoise.cli.files import TableFile
from counterpoise.cli.inputs import CLASSIFICATION, read_labels, table_of
from counterpoise.cli.outputs import Write
from counterpoise.cli.record import data_of, reproduced_by
from counterpoise.cli.terminal import BadData, WrongUse
from counterpoise.data.blocks import ROWS_DECIDED_ON, Blocks, sample
from counterpoise.data.parallel import (
    current_budget,
    distribute,
    fingerprint,
    kept_passes,
    map_write,
    memory_budget,
)
from counterpoise.data.readers import ParquetReader, StoredReader, parquet_reader
from counterpoise.data.table import (
    Table,
    TableColumn,
    column_of_codes,
    column_of_numbers,
    texts_of_arrow,
)
from counterpoise.data.two_samples import effective_sample_size
from counterpoise.errors import InvalidInputError
from counterpoise.linalg.arrays import Indices
from counterpoise.shift.columns import column_sums
from counterpoise.weights.base import fit_sums, lean

# -----------------------------------------------------------------------------
# Row groups as tables of the columns that count, read as the command line reads.
# -----------------------------------------------------------------------------


# What the column of the rows' numbers is called, beside all that files can have.
ROW = "counterpoise: row"


@dataclass(frozen=True, eq=False)
class TypedReader:
    """Row groups as tables: columns by their kinds, label, name and number of rows.

    Attributes
    ----------
    stored : ParquetReader
        Reads the columns that are needed.
    kinds : dict
        What each column holds.
    name_column, label : str or None
    known : array or None
        Different labels of the rows drawn.
    task : str or None
    sizes : tuple of int
        Rows of every block that are not left out.
    """

    stored: ParquetReader
    kinds: Mapping[str, str]
    name_column: str | None
    label: str | None
    known: NDArray[Any] | None
    task: str | None
    sizes: tuple[int, ...]

    @property
    def n_blocks(self) -> int:
        """How many row groups there are."""
        return self.stored.n_blocks

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """Names of the columns of a block."""
        return (*self.kinds, *self._extra, ROW)

    @property
    def _extra(self) -> list[str]:
        return [one for one in (self.label, self.name_column) if one is not None]

    def place(self, index: int) -> str:
        """Return the file and the number of the row group."""
        return self.stored.place(index)

    def counted(self) -> "TypedReader":
        """Return the same with the rows that have a label counted."""
        if self.label is None:
            return self
        sizes = [self._labelled(k) for k in range(self.n_blocks)]
        if 0 in sizes:
            where = self.place(sizes.index(0))
            raise BadData(f"{where}: no row has a {self.label!r}; leave that file out")
        return replace(self, sizes=tuple(sizes))

    def _labelled(self, index: int) -> int:
        """Return how many rows of a block have a label, by the footer if it tells."""
        from pyarrow import parquet, types

        path, group = self.stored.groups[index]
        footer = parquet.read_metadata(path)
        schema = footer.schema.to_arrow_schema()
        place = schema.names.index(self.label)
        # Of a label that is NaN a footer knows nothing, nor of nested columns' places.
        if footer.num_columns == len(schema) and not types.is_floating(
            schema.field(place).type
        ):
            told = footer.row_group(group).column(place).statistics
            if told is not None and told.has_null_count:
                return int(footer.row_group(group).num_rows - told.null_count)
        only = replace(self.stored, labels=(self.label,))
        return int(present(only.stored(index)[self.label]).size)

    def read(self, index: int) -> Table:
        """Return one row group as a table, rows without a label left out."""
        columns = self.stored.stored(index)
        file = TableFile(Path(self.place(index)), columns, "", "stored")
        rows: Indices | None = None
        more: list[TableColumn] = []
        if self.label is not None:
            rows = present(columns[self.label])
            more.append(self._labels(file))
        if self.name_column is not None:
            texts, codes = texts_of_arrow(columns[self.name_column])
            codes = codes if rows is None else codes[rows]
            more.append(column_of_codes(self.name_column, texts, codes))
        numbers = np.arange(file.n_rows) if rows is None else rows
        place = self._firsts[index] + numbers + 1.0
        table = table_of(file, self.kinds, rows)
        return Table((*table.columns, *more, column_of_numbers(ROW, place)), named=True)

    @cached_property
    def _firsts(self) -> Indices:
        return np.concatenate([[0], np.cumsum(self.stored.sizes)[:-1]])

    def _labels(self, file: TableFile) -> TableColumn:
        assert self.label is not None
        found = read_labels(file, self.label, str(self.task), known=self.known).values
        if self.task == CLASSIFICATION and found.dtype.kind == "U":
            texts, codes = np.unique(found, return_inverse=True)
            return column_of_codes(self.label, texts.tolist(), codes.astype(np.intp))
        return column_of_numbers(self.label, found.astype(np.float64))


def present(column: Any) -> Indices:
    """Return the places of rows that have a value, NaN being none."""
    from pyarrow import compute

    missing = compute.is_null(column, nan_is_null=True).to_numpy()
    return np.flatnonzero(~np.asarray(missing, dtype=bool))


# -----------------------------------------------------------------------------
# A folder or a pattern of Parquet files, and rows drawn of it.
# -----------------------------------------------------------------------------


# Copies of a table that the main job makes of a file that is read whole.
COPIES_OF_A_FILE = 8


def is_large(path: Any, max_memory: int | None = None) -> bool:
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

    places: Any = None

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
    reader : ParquetReader
    """

    path: Path
    reader: ParquetReader

    @classmethod
    def at(cls, path: Path) -> "LargeTable":
        """Return the table of a file, a folder or a pattern."""
        try:
            return cls(path, parquet_reader(path, None))
        except InvalidInputError as error:
            raise BadData(str(error)) from error

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(self.reader.sizes)

    @cached_property
    def fingerprints(self) -> list[dict[str, Any]]:
        """Name, size and footer of every file."""
        return [fingerprint(path) for path in self.reader.files]

    def whole_type(self, name: str | None) -> Any:
        """Return the type of a column of whole numbers; None for any other."""
        if name is None:
            return None
        import pyarrow
        import pyarrow.parquet

        kind = pyarrow.parquet.read_schema(self.reader.files[0]).field(name).type
        return kind if pyarrow.types.is_integer(kind) else None

    def drawn(self, k: int, seed: int) -> DrawnFile:
        """Return k rows drawn by chance, in their order."""
        kept = self.reader
        stored = Blocks(StoredReader(kept.groups, kept.sizes, kept.labels))
        found = sample(stored, k, seed)
        told = json.dumps(self.fingerprints, sort_keys=True)
        return DrawnFile(
            self.path,
            found.rows,
            hashlib.sha256(told.encode()).hexdigest(),
            "stored",
            places=found.places,
        )

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
        extra = [one for one in (label, name_column) if one is not None]
        wanted = tuple(dict.fromkeys([*kinds, *extra]))
        lacking = [name for name in wanted if name not in (self.reader.labels or ())]
        if lacking:
            raise BadData(f"{self.path} has no column {lacking[0]!r}")
        reader = TypedReader(
            replace(self.reader, labels=wanted),
            dict(kinds),
            name_column,
            label,
            None if known is None else np.unique(known),
            task,
            self.reader.sizes,
        )
        return Blocks(reader.counted())


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
            raise WrongUse("--target-labels FILE names rows of one file, not of many")
        source, target = map(LargeTable.at, paths)
        refuse_inside([source, target], options.out if "out" in options else None)
        return cls(source, target, options.seed)

    def drawn(self) -> tuple[DrawnFile, DrawnFile]:
        """Return rows drawn of both, as files."""
        return (
            self.source.drawn(ROWS_DECIDED_ON, self.seed),
            self.target.drawn(ROWS_DECIDED_ON, self.seed),
        )

    def blocks(self, pair: Any, options: Namespace) -> tuple[Blocks, Blocks]:
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

    def told(self, pair: Any) -> list[str]:
        """Return how many rows decisions rest on, in words."""
        drawn, drawn_target = len(pair.table), len(pair.table_target)
        return [
            f"diagnosis, choice of weights, guard and estimates rest on {drawn:,} of "
            f"{self.source.n_rows:,} source rows and {drawn_target:,} of "
            f"{self.target.n_rows:,} target rows, drawn by chance"
        ]

    def data(self, found: dict[str, Any], pair: Any) -> dict[str, Any]:
        """Return a data card with the rows and columns of all files, counted."""
        of_source, of_target = (
            {one.name: one for one in column_sums(table.typed(pair.kinds))}
            for table in (self.source, self.target)
        )
        out = dict(found)
        out["columns"] = [
            {
                **column,
                "missing_source": of_source[name].to_dict()["missing"],
                "missing_target": of_target[name].to_dict()["missing"],
                "every_source_row": of_source[name].to_dict(),
                "every_target_row": of_target[name].to_dict(),
            }
            for column in found["columns"]
            for name in [column["name"]]
        ]
        for key, table in (("source", self.source), ("target", self.target)):
            out[key] = {
                **found[key],
                "rows": table.n_rows,
                "drawn": found[key]["rows"],
                "files": len(table.reader.files),
            }
        return out


def data_card(pair: Any, large: LargePair | None) -> dict[str, Any]:
    """Return what was read: of files, or of all rows of folders."""
    found = data_of(pair)
    return found if large is None else large.data(found, pair)


def refuse_options(options: Namespace, names: tuple[str, ...]) -> None:
    """Refuse options that folders cannot have."""
    for name in names:
        if getattr(options, name, None):
            told = name.replace("_", "-")
            raise WrongUse(f"--{told} is not taken with folders and patterns of files")


def refuse_inside(tables: list[LargeTable], out: Path | None) -> None:
    """Refuse to write where a table is read from."""
    if out is None:
        return
    for table in tables:
        read = {path.resolve() for path in table.reader.files}
        folders = {path.parent for path in read} if table.path.is_dir() else set()
        if out.resolve() in {*read, *folders} or out.resolve().parent in folders:
            raise WrongUse(
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
        raise WrongUse("--workers starts processes, --scheduler has its own: give one")
    if large is None:
        if given.get("resume"):
            raise WrongUse("--resume is for folders and patterns of files")
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


def _digest_of_file(name: Any) -> str | None:
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
            [path.stat().st_mtime_ns for path in table.reader.files] for table in tables
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
        f"{rests.weight_estimator_fit}; the model is fitted to {fitted}"
    )
    work = WeightColumns(weights, options.id, large.source.whole_type(options.id))
    return EveryRow(
        {"all_rows": asdict(rests)},
        {WEIGHTS_FILE: lambda path: map_write(source, work, path)},
    )


def weigh_every_row(
    weight_estimator: Any,
    samples: Any,
    large: LargePair | None,
    pair: Any,
    options: Namespace,
    steps: Any,
) -> EveryRow:
    """Fit to every row a weight estimator that was fitted to the rows drawn, and say "
    "so."""
    if large is None:
        return EveryRow()
    if options.out.suffix.lower() != ".parquet":
        raise WrongUse(f"--out {options.out} of folders must end in .parquet")
    if weight_estimator.needs_labels:
        raise WrongUse(
            f"--weight-estimator {options.weight_estimator} is not taken with folders"
        )
    source, target = large.blocks(pair, options)
    encoded = EncodedRows(RowsAsSeen(dict(pair.kinds)), samples.encoder)
    both = samples.in_blocks(source.mapped(encoded), target.mapped(encoded))
    before = weight_estimator.solution_
    sums = fit_sums(weight_estimator, both)
    weight_estimator.weights_ = weight_estimator._weigh_rows(samples.source)
    weight_estimator.effective_sample_size_ = effective_sample_size(
        weight_estimator.weights_
    )
    fitted = "the sample" if weight_estimator.solution_ is before else "every row"
    for told in large.told(pair):
        steps.notice(told)
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
    ratio = RatioOfBlocks(lean(weight_estimator), encoded, None)
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
