"""Validated samples, tables, blocks and their readers."""

from counterpoise.data.blocks import Blocks, sample
from counterpoise.data.encoder import TableEncoder
from counterpoise.data.parallel import (
    BlockFailedError,
    ClusterUnavailableError,
    distribute,
    each_block,
    map_reduce,
    memory_budget,
)

__all__ = [
    "BlockFailedError",
    "Blocks",
    "ClusterUnavailableError",
    "TableEncoder",
    "distribute",
    "each_block",
    "map_reduce",
    "memory_budget",
    "sample",
]
