"""Blocks that somebody's function gives."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.engine.readers.arrays import check_matrix
from counterpoise.tables.columns import read_table


@dataclass(frozen=True, eq=False)
class BatchReader:
    """Block i is what ``function(i)`` gives, an array or a frame."""

    function: Callable[[int], Any]
    n_blocks: int
    labels: tuple[Hashable, ...] | None = None
    sizes: None = None

    def read(self, index: int) -> Any:
        """Return what the function gives."""
        found = self.function(index)
        if hasattr(found, "columns"):
            return read_table(found, self.place(index))
        rows = np.asarray(found)
        check_matrix(rows, self.place(index))
        return np.array(rows, dtype=np.float64)

    def place(self, index: int) -> str:
        """Return the call that gave a block."""
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"{name}({index})"
