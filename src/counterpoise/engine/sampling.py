"""A uniform sample of rows in one pass, the same for every way of cutting them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.engine.blocks import Blocks
from counterpoise.engine.schedule import each_block, map_reduce
from counterpoise.numerics.arrays import Array
from counterpoise.tables.columns import Table, two_tables
from counterpoise.tables.table_column import joined
from counterpoise.validation import InvalidInput

# Rows of each table that decisions are made on.
ROWS_DECIDED_ON = 10_000

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

    rows: Any
    places: NDArray[np.int64]


def sample(
    blocks: Blocks,
    k: int,
    seed: int = 0,
    weigh: Callable[[Any, int], Array] | None = None,
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
    weigh : callable or None
        ``weigh(rows, first)`` gives the weights of a block's rows; None: all alike.

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
        raise InvalidInput(f"k must be at least 1, got {k}")
    drawn = map_reduce(blocks, _Draw(int(k), int(seed), weigh), _Fewest(int(k)))
    order = np.argsort(drawn.places)
    return Sample(_take(drawn.rows, order), drawn.places[order])


def rows_decided_on(X: Any, seed: int) -> Any:
    """Return 10,000 rows drawn of a table in blocks, or of any other.

    Examples
    --------
    >>> import numpy as np
    >>> rows_decided_on(np.arange(25_000.0).reshape(-1, 1), seed=0).shape
    (10000, 1)
    """
    return sample(Blocks.of(X), ROWS_DECIDED_ON, seed).rows


def all_rows(blocks: Blocks) -> Any:
    """Return every row in memory, a matrix or a `Table`."""
    return _stacked(list(each_block(blocks, _as_they_are)))


def _as_they_are(rows: Any, first: Any) -> Any:
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
    keys: NDArray[Any]
    places: NDArray[np.int64]
    rows: Any


@dataclass(frozen=True)
class _Draw:
    """The rows of a block that may be among the k of the whole."""

    k: int
    seed: int
    weigh: Callable[[Any, int], Array] | None = None

    def __call__(self, rows: Any, first: int) -> _Drawn:
        places = np.arange(first, first + len(rows), dtype=np.int64)
        keys: NDArray[Any] = keys_of_places(places, self.seed)
        if self.weigh is not None:
            weights = self.weigh(rows, first)
            some = np.flatnonzero(weights > 0.0)
            keys, places, rows = keys[some], places[some], _take(rows, some)
            keys = -np.log((keys + 0.5) * 2.0**-64) / weights[some]
        return _fewest(_Drawn(keys, places, rows), self.k)


@dataclass(frozen=True)
class _Fewest:
    """Of two draws the k rows of the smallest keys."""

    k: int

    def __call__(self, earlier: _Drawn, later: _Drawn) -> _Drawn:
        both = _Drawn(
            np.concatenate([earlier.keys, later.keys]),
            np.concatenate([earlier.places, later.places]),
            _stacked([earlier.rows, later.rows]),
        )
        return _fewest(both, self.k)


def _fewest(drawn: _Drawn, k: int) -> _Drawn:
    if drawn.keys.size <= k:
        return drawn
    chosen = np.sort(np.lexsort((drawn.places, drawn.keys))[:k])
    return _Drawn(drawn.keys[chosen], drawn.places[chosen], _take(drawn.rows, chosen))


def _take(rows: Any, which: Any) -> Any:
    # Tables, ours and Arrow's, have columns and no rows of their own.
    return rows[which] if isinstance(rows, np.ndarray) else rows.take(which)


def _stacked(pieces: list[Any]) -> Any:
    if isinstance(pieces[0], np.ndarray):
        return np.vstack(pieces)
    if not isinstance(pieces[0], Table):
        import pyarrow

        return pyarrow.concat_tables(pieces, promote_options="permissive")
    for later in pieces[1:]:
        two_tables(pieces[0], later)
    columns = zip(*(piece.columns for piece in pieces), strict=True)
    return Table(tuple(joined(parts) for parts in columns), pieces[0].named)
