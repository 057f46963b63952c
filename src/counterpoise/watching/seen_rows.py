"""Which rows have been in a chunk: one that comes again is not counted again.

A row counted twice is no second draw, and bets on it would win or lose twice: what
holds over all looks holds for rows that are counted once.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.row_keys import one_zero
from counterpoise.validation import InvalidInput
from counterpoise.watching.labels import is_missing
from counterpoise.watching.state import SeenChunk

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
        raise InvalidInput(f"ids has the shape {values.shape}, and X has {n} rows")
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
    told = str(one)
    if one is None or told in ("nan", "NaN", "NaT", "<NA>"):
        raise InvalidInput(f"ids: row {row} has none, and cannot be told from others")
    return told


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
    bits = np.ascontiguousarray(one_zero(numbers), dtype=np.float64).view(np.uint64)
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
    known = [k for k, one in enumerate(chunks) if one.keys is not None]
    chunk = np.full(keys.size, -1, dtype=np.intp)
    place = np.full(keys.size, -1, dtype=np.intp)
    for k in known:
        have = chunks[k].keys
        assert have is not None
        order = np.argsort(have, kind="stable")
        at = np.searchsorted(have, keys, sorter=order)
        at = order[np.minimum(at, max(have.size - 1, 0))] if have.size else at
        there = (have[at] == keys) & (chunk < 0) if have.size else at < 0
        chunk[there], place[there] = k, at[there]
    return chunk, place


def have_been(chunks: Sequence[SeenChunk], keys: Keys) -> NDArray[np.bool_]:
    """Return which rows have been in a chunk."""
    found: NDArray[np.bool_] = places_of(chunks, keys)[0] >= 0
    return found


def are_new(chunks: Sequence[SeenChunk], keys: Keys) -> NDArray[np.bool_]:
    """Return which rows have been in no chunk, of several with one key the first."""
    _, first = np.unique(keys, return_index=True)
    new = np.zeros(keys.size, dtype=bool)
    new[first] = True
    return new & ~have_been(chunks, keys)


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
    found = first[place]
    labels = np.array(y, dtype=object)
    labels[found >= 0] = labels[found[found >= 0]]
    return labels, int(sum(bool(y[row] != labels[row]) for row in there))


def _mixed(keys: Keys) -> Keys:
    """Return keys with their bits stirred (splitmix64)."""
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
