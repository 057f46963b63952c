"""Scale is the engine's business: rows in blocks, who works on them, how much memory.

`Blocks` are pieces of rows that can be read again; `map_reduce` and `map_write` work on
them along one fixed tree, in this process or, inside `distribute`, on Dask.
"""

from counterpoise.engine.blocks import Blocks
from counterpoise.engine.distribution import distribute
from counterpoise.engine.failures import BlockFailedError, ClusterUnavailableError
from counterpoise.engine.memory import current_budget, memory_budget
from counterpoise.engine.progress import advance, announce, heard_by
from counterpoise.engine.sampling import (
    ROWS_DECIDED_ON,
    Sample,
    rows_decided_on,
    sample,
)
from counterpoise.engine.schedule import (
    each_block,
    map_reduce,
    map_write,
    whole_vector,
)

__all__ = [
    "ROWS_DECIDED_ON",
    "BlockFailedError",
    "Blocks",
    "ClusterUnavailableError",
    "Sample",
    "advance",
    "announce",
    "current_budget",
    "distribute",
    "each_block",
    "heard_by",
    "map_reduce",
    "map_write",
    "memory_budget",
    "rows_decided_on",
    "sample",
    "whole_vector",
]
