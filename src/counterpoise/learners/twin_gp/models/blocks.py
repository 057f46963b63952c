"""Test rows a block at a time, within the memory budget."""

from collections.abc import Callable

import numpy as np

from counterpoise.engine import current_budget
from counterpoise.numerics.arrays import Array

# More test rows at a time bring nothing.
ROWS_AT_A_TIME = 2000


def block_size(row_bytes: int) -> int:
    """Return how many test rows fit in the memory budget at a time."""
    return int(np.clip(current_budget() // (2 * max(row_bytes, 1)), 1, ROWS_AT_A_TIME))


def blocks(X: Array, row_bytes: int) -> list[Array]:
    """Return the rows in blocks that fit in the memory budget."""
    size = block_size(row_bytes)
    return [X[first : first + size] for first in range(0, len(X), size)]


def in_blocks(function: Callable[[Array], Array], X: Array, row_bytes: int) -> Array:
    """Return what a function says about all rows, a block at a time."""
    return np.concatenate([function(part) for part in blocks(X, row_bytes)])


def check_factors_fit(
    n: int, count: int, instead: str = "set n_neighbors (local models)"
) -> None:
    """Refuse so many N x N factors as the memory budget does not hold."""
    need = 8 * count * n * n
    if need > current_budget():
        raise MemoryError(
            f"{count} factors of {n} rows take {need / 2**30:.1f} GiB, more than the "
            f"memory budget of {current_budget() / 2**30:.1f} GiB: {instead} or raise "
            "counterpoise.engine.memory_budget"
        )
