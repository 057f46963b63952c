"""Tables in blocks, and random samples of their rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from counterpoise.data.frames import Labels, TableLike
from counterpoise.data.parallel import each_block, map_reduce
from counterpoise.data.readers import (
    FilePath,
    Reader,
    Rows,
    array_reader,
    csv_reader,
    dask_reader,
    function_reader,
    parquet_reader,
)
from counterpoise.data.table import Table, joined, two_tables
from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.linalg.arrays import Array

# -----------------------------------------------------------------------------
# Rows in pieces that can be read again, wherever they are kept.
# -----------------------------------------------------------------------------


# Rows of a block that is cut from an array.
ROWS_A_BLOCK = 65_536


@dataclass(frozen=True, eq=False)
class Blocks:
    """A table too large to hold: pieces of rows, each of which can be read again.

    A block is a matrix of numbers or a `Table` of mixed columns. Nothing is read before
    it is needed, nothing is kept afterwards; who reads, one process or a cluster's, is
    the business of `distribute`.

    Attributes
    ----------
    reader : Reader
        What reads a block by its number; pickled to whoever works on it.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = Blocks.from_arrays(np.arange(10.0).reshape(5, 2), rows=2)
    >>> blocks.n_blocks, blocks.n_rows, blocks.read(2)
    (3, 5, array([[8., 9.]]))
    """

    reader: Reader

    @classmethod
    def from_arrays(cls, X: TableLike, *, rows: int = ROWS_A_BLOCK) -> "Blocks":
        """Return the rows of an array, a memory-mapped one or a frame, in pieces.

        Parameters
        ----------
        X : array-like of shape (n, d), path of an .npy file, or frame
            A path is mapped into memory by whoever reads it, never loaded.
        rows : int
            Rows of a block.
        """
        if rows < 1:
            raise InvalidInputError(f"rows must be at least 1, got {rows}")
        return cls(array_reader(X, rows))

    @classmethod
    def from_parquet(
        cls,
        path: FilePath | Sequence[FilePath],
        *,
        columns: Sequence[str] | None = None,
    ) -> "Blocks":
        """Return the row groups of a Parquet file, a folder or a pattern of them.

        Parameters
        ----------
        path : str, Path or list of such
            A file; a folder, whose ``*.parquet`` are taken in the order of their names;
            or a pattern such as ``live-*.parquet``.
        columns : list of str or None
            None: all.
        """
        return cls(parquet_reader(path, columns))

    @classmethod
    def from_csv(
        cls,
        path: FilePath,
        *,
        columns: Sequence[str] | None = None,
        n_bytes: int = 2**24,
        delimiter: str = ",",
    ) -> "Blocks":
        """Return a CSV file in pieces of about so many bytes, cut between rows.

        The file is looked through once for its rows (quoted line breaks are seen). What
        a column holds is decided by the first piece; a later cell that does not fit is
        an error that names file and piece.
        """
        return cls(csv_reader(Path(path), columns, n_bytes, delimiter))

    @classmethod
    def from_dask(cls, collection: TableLike) -> "Blocks":
        """Return the partitions of a Dask array (cut by rows) or frame."""
        return cls(dask_reader(collection))

    @classmethod
    def from_batches(
        cls,
        read: Callable[[int], TableLike],
        n_blocks: int,
        *,
        columns: Sequence[str] | None = None,
    ) -> "Blocks":
        """Return the blocks that a function gives by their number.

        Parameters
        ----------
        read : callable
            ``read(i)`` gives block i, an array or a frame, the same at every call;
            pickled, so that a cluster can ask again.
        n_blocks : int
        columns : list of str or None
            Names of the columns where ``read`` gives arrays.
        """
        if n_blocks < 1:
            raise InvalidInputError(f"n_blocks must be at least 1, got {n_blocks}")
        labels = None if columns is None else tuple(columns)
        return cls(function_reader(read, n_blocks, labels))

    @classmethod
    def of(cls, X: "Blocks | TableLike") -> "Blocks":
        """Return blocks as they are, and anything else in pieces."""
        return X if isinstance(X, Blocks) else cls.from_arrays(X)

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return self.reader.n_blocks

    @property
    def labels(self) -> Labels:
        """Names of the columns; None where they are only counted."""
        return self.reader.labels

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Rows of every block; read once where the files do not tell."""
        sizes = self.reader.sizes
        if sizes is None:
            sizes = tuple(each_block(self, _count_rows))
        return np.array(sizes, dtype=np.int64)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The place of every block's first row in the whole."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]])

    @property
    def n_rows(self) -> int:
        """How many rows there are in all."""
        return int(self.sizes.sum())

    def read(self, index: int) -> Rows:
        """Return the rows of one block."""
        return self.reader.load(index)

    def place(self, index: int) -> str:
        """Return where a block's rows come from, in words."""
        return self.reader.place(index)

    def mapped(self, change: Callable[[Rows], Rows], labels: Labels = None) -> "Blocks":
        """Return the same rows changed, block by block, when they are read.

        Parameters
        ----------
        change : callable
            Takes a block's rows, returns as many; pickled.
        labels : tuple of str or None
            Names of the columns that it returns.
        """
        load = partial(_load_changed, self.reader.load, change)
        return Blocks(replace(self.reader, load=load, labels=labels))

    def numbers(self) -> "Blocks":
        """Return the same rows as matrices of finite numbers.

        A block that holds anything else is an error that names its place.
        """
        labels = self.labels
        names = None if labels is None else tuple(map(str, labels))
        return self.mapped(as_numbers_only, names)


def _load_changed(
    load: Callable[[int], Rows], change: Callable[[Rows], Rows], index: int
) -> Rows:
    return change(load(index))


def as_numbers_only(rows: Rows) -> Array:
    """Return a block as a matrix of finite numbers, or refuse it by its column."""
    if isinstance(rows, Table):
        for column in rows.columns:
            if column.kind != "numbers" or np.isnan(column.values).any():
                held = "missing values" if column.kind == "numbers" else column.kind
                raise InvalidTypeError(
                    f"column {column.label!r} holds {held}: numbers are needed; "
                    "encode both samples first (counterpoise.data.TableEncoder)"
                )
        return rows.matrix()
    found = np.isfinite(rows)
    if not found.all():
        row, place = (int(k) for k in np.argwhere(~found)[0])
        raise InvalidInputError(
            f"row {row} of the block, column {place}, is {rows[row, place]}: numbers "
            "must be finite"
        )
    return np.asarray(rows, dtype=np.float64)


def _count_rows(rows: Rows, first: int | None) -> int:
    return len(rows)


# -----------------------------------------------------------------------------
# A uniform sample of rows in one pass, the same for every way of cutting them.
# -----------------------------------------------------------------------------


# Rows of each table that decisions are made on.
DECISION_SAMPLE_SIZE = 10_000

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(frozen=True, eq=False)
class Sample:
    """Some rows, and where they stood in the whole.

    Attributes
    ----------
    rows : matrix of shape (k, d) or Table
    places : array of shape (k,)
        Ascending.
    """

    rows: Rows
    places: NDArray[np.int64]


def sample(
    blocks: Blocks,
    k: int,
    seed: int = 0,
    predict_weights: Callable[[Rows, int], Array] | None = None,
) -> Sample:
    r"""Return k rows drawn without replacement, all rows where there are no more.

    Every row has a key made of the seed and of its place in the whole; the k rows of
    the smallest keys are taken, in the order of the rows. So the same rows are drawn
    however they are cut into blocks, whoever reads them. With weights the key is
    :math:`-\log(u) / w` with the key u of the place in (0, 1): draws in proportion to
    the weights, one after the other (Efraimidis and Spirakis, 2006); rows of weight
    zero are never drawn.

    Parameters
    ----------
    blocks : Blocks
    k : int
        Rows to draw.
    seed : int
        Another seed, other rows.
    predict_weights : callable or None
        ``predict_weights(rows, first)`` gives the weights of a block's rows; None:
        all alike.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.arange(1000.0)[:, None]
    >>> one = sample(Blocks.from_arrays(rows, rows=7), 5, seed=1)
    >>> other = sample(Blocks.from_arrays(rows, rows=300), 5, seed=1)
    >>> bool((one.places == other.places).all()), one.rows.shape
    (True, (5, 1))
    """
    if k < 1:
        raise InvalidInputError(f"k must be at least 1, got {k}")
    work = partial(_draw_from_block, int(k), int(seed), predict_weights)
    drawn = map_reduce(blocks, work, partial(_draw_of_both, int(k)))
    order = np.argsort(drawn.places)
    return Sample(_take(drawn.rows, order), drawn.places[order])


def sample_to_decide_on(X: Blocks | TableLike, seed: int) -> Rows:
    """Return 10,000 rows drawn of a table in blocks, or of any other.

    Examples
    --------
    >>> import numpy as np
    >>> sample_to_decide_on(np.arange(25_000.0).reshape(-1, 1), seed=0).shape
    (10000, 1)
    """
    return sample(Blocks.of(X), DECISION_SAMPLE_SIZE, seed).rows


def all_rows(blocks: Blocks) -> Rows:
    """Return every row in memory, a matrix or a `Table`."""
    return _stacked(list(each_block(blocks, _same_rows)))


def _same_rows(rows: Rows, first: int | None) -> Rows:
    return rows


def keys_of_places(places: NDArray[np.int64], seed: int) -> NDArray[np.uint64]:
    """Return a key for every place, as good as drawn at random.

    Steele, Lea and Flood's SplitMix64, whose state is the seed's own key plus the
    place times the golden ratio.

    Examples
    --------
    >>> keys_of_places(np.array([0, 1]), 7).dtype
    dtype('uint64')
    """
    with np.errstate(over="ignore"):
        start = _mixed(np.array([seed % 2**64], dtype=np.uint64) + _GOLDEN)
        return _mixed(start + (places.astype(np.uint64) + np.uint64(1)) * _GOLDEN)


def _mixed(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = (z ^ (z >> np.uint64(30))) * _MIX[0]
    z = (z ^ (z >> np.uint64(27))) * _MIX[1]
    return z ^ (z >> np.uint64(31))


@dataclass(frozen=True, eq=False)
class _Drawn:
    keys: NDArray[np.generic]
    places: NDArray[np.int64]
    rows: Rows


def _draw_from_block(
    k: int,
    seed: int,
    predict_weights: Callable[[Rows, int], Array] | None,
    rows: Rows,
    first: int,
) -> _Drawn:
    """Return the rows of a block that may be among the k of the whole."""
    places = np.arange(first, first + len(rows), dtype=np.int64)
    keys = keys_of_places(places, seed)
    if predict_weights is None:
        return _fewest(_Drawn(keys, places, rows), k)
    weights = predict_weights(rows, first)
    some = np.flatnonzero(weights > 0.0)
    exponential = -np.log((keys[some] + 0.5) * 2.0**-64) / weights[some]
    return _fewest(_Drawn(exponential, places[some], _take(rows, some)), k)


def _draw_of_both(k: int, earlier: _Drawn, later: _Drawn) -> _Drawn:
    both = _Drawn(
        np.concatenate([earlier.keys, later.keys]),
        np.concatenate([earlier.places, later.places]),
        _stacked([earlier.rows, later.rows]),
    )
    return _fewest(both, k)


def _fewest(drawn: _Drawn, k: int) -> _Drawn:
    """Return the k rows of the smallest keys."""
    if drawn.keys.size <= k:
        return drawn
    chosen = np.sort(np.lexsort((drawn.places, drawn.keys))[:k])
    return _Drawn(drawn.keys[chosen], drawn.places[chosen], _take(drawn.rows, chosen))


def _take(rows: Rows, which: NDArray[np.intp]) -> Rows:
    # Tables, ours and Arrow's, have columns and no rows of their own.
    return rows[which] if isinstance(rows, np.ndarray) else rows.take(which)


def _stacked(pieces: list[Rows]) -> Rows:
    if isinstance(pieces[0], np.ndarray):
        return np.vstack(pieces)
    if not isinstance(pieces[0], Table):
        import pyarrow

        return pyarrow.concat_tables(pieces, promote_options="permissive")
    for later in pieces[1:]:
        two_tables(pieces[0], later)
    columns = zip(*(piece.columns for piece in pieces), strict=True)
    return Table(tuple(joined(parts) for parts in columns), pieces[0].named)
