"""Blocks of Dask's arrays and frames: their partitions."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.engine.readers.arrays import check_matrix
from counterpoise.tables.columns import read_table
from counterpoise.validation import InvalidType


@dataclass(frozen=True, eq=False)
class DaskReader:
    """Partitions, each computed by whoever reads it."""

    partitions: tuple[Any, ...]
    sizes: tuple[int, ...] | None
    labels: tuple[Hashable, ...] | None

    @property
    def n_blocks(self) -> int:
        """How many partitions there are."""
        return len(self.partitions)

    def read(self, index: int) -> Any:
        """Return the rows of a partition."""
        found = self.partitions[index].compute(scheduler="synchronous")
        if self.labels is not None:
            return read_table(found, self.place(index))
        check_matrix(found, self.place(index))
        return np.array(found, dtype=np.float64)

    def place(self, index: int) -> str:
        """Return the number of a partition."""
        return f"Dask partition {index}"


def dask_reader(collection: Any) -> DaskReader:
    """Return the reader of a Dask array or frame."""
    parts = type(collection).__module__.split(".")
    if not parts[0].startswith("dask"):
        raise InvalidType(
            f"from_dask takes a Dask array or frame, got {type(collection)}"
        )
    if hasattr(collection, "columns"):
        return DaskReader(
            tuple(collection.to_delayed()), None, tuple(collection.columns)
        )
    if collection.ndim != 2:
        raise InvalidType(f"a Dask array must have two axes, got {collection.ndim}")
    if collection.numblocks[1] != 1:
        collection = collection.rechunk({1: -1})
    known = not np.isnan(collection.chunks[0]).any()
    return DaskReader(
        tuple(collection.to_delayed().ravel()),
        tuple(int(k) for k in collection.chunks[0]) if known else None,
        None,
    )
