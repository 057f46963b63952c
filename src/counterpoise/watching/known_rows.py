"""What a watch knows of rows: what tells them apart, and which have been."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.tables.columns import Table, read_table
from counterpoise.validation import InvalidInput
from counterpoise.watching.seen_rows import (
    RowKeys,
    are_new,
    have_been,
    keys_of_ids,
    keys_of_rows,
    with_first_labels,
)
from counterpoise.watching.state import WatchState, digest_of
from counterpoise.watching.times import as_time


class KnownRows:
    """The part of a `Watch` that those ask who cut a table into chunks."""

    _state: WatchState

    def row_ids(self, X: Any, when: Any) -> RowKeys:
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

    def tell_rows_apart_by(self, what: str) -> None:
        """Keep what ids are made from; refuse another, which would know no row."""
        state = self._state
        if state.rows_told_by and state.rows_told_by != what:
            raise InvalidInput(
                f"this watch tells rows apart by {state.rows_told_by!r}, not by "
                f"{what!r}: rows would be counted again"
            )
        state.rows_told_by = what

    def labels_by_id(self, ids: Any, y: Any) -> tuple[NDArray[Any], int]:
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

    def are_new(self, ids: Any) -> NDArray[np.bool_]:
        """Return which ids `update` would count: those of no row that has been."""
        return are_new(self._state.chunks, keys_of_ids(ids, len(ids)))

    def have_been(self, ids: Any) -> NDArray[np.bool_]:
        """Return which ids are those of rows that have been in a chunk."""
        return have_been(self._state.chunks, keys_of_ids(ids, len(ids)))

    def n_seen(self, X: Any, time: Any) -> int:
        """Return how many of the first rows were in the chunks of a time already.

        For tables that grow: what is left are new rows. The rows must stand in the
        order in which they were given.
        """
        seen, numbers = 0, self._state.encoder.transform(read_table(X))
        for chunk in self._state.chunks:
            part = numbers[seen : seen + chunk.n_rows]
            if chunk.time == as_time(time, None) and digest_of(part) == chunk.digest:
                seen += chunk.n_rows
        return seen

    def against(self, X: Any) -> tuple[Table, Table]:
        """Return the reference rows that were kept and rows of a chunk, as tables.

        Numbers of the reference are as precise as files of a watch keep them, and
        categories that were pooled have the name of their pool in both.
        """
        state = self._state
        return tuple(  # type: ignore[return-value]
            state.decoded(numbers.astype(float))
            for numbers in (state.numbers, state.encoder.transform(read_table(X)))
        )
