"""Work on blocks: one tree of sums, whoever computes it.

A block's part is `work(rows, first)`, with the place of its first row in the whole.
Parts are combined two and two along a tree that depends on the number of blocks alone
(the first power of two of them, then the rest), so that a plain loop, threads and a
cluster give the same bits. Every process works with one thread of linear algebra, for
the same reason.
"""

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from counterpoise.engine.checkpoints import once
from counterpoise.engine.failures import BlockFailedError
from counterpoise.engine.memory import current_budget, memory_budget
from counterpoise.engine.one_thread import one_thread
from counterpoise.engine.progress import advance
from counterpoise.engine.waiting import LIMIT, ClusterWait
from counterpoise.validation import InvalidInput

if TYPE_CHECKING:
    from counterpoise.engine.blocks import Blocks

Part = TypeVar("Part")

# Blocks whose results may wait for their turn, a process.
AHEAD = 4

_ON: ContextVar["Scheduler | None"] = ContextVar("scheduler", default=None)


@dataclass(frozen=True, eq=False)
class Scheduler:
    """Who computes: Dask's "synchronous" or "threads", or a client's cluster.

    `wait` and `restart` are those of `ClusterWait`.
    """

    name: str
    client: Any = None
    wait: float = LIMIT
    restart: Callable[[], Any] | None = None


@contextmanager
def computing_on(scheduler: Scheduler) -> Iterator[None]:
    """Let a scheduler compute what runs inside."""
    token = _ON.set(scheduler)
    try:
        yield
    finally:
        _ON.reset(token)


def map_reduce(
    blocks: "Blocks",
    work: Callable[[Any, int], Part],
    combine: Callable[[Part, Part], Part] = operator.add,
) -> Part:
    """Return the parts of all blocks, combined along the fixed tree.

    Parameters
    ----------
    blocks : Blocks
    work : callable
        ``work(rows, first)`` gives a block's part; pickled where others compute.
    combine : callable
        Takes two parts, of earlier and of later rows, and returns one; a sum unless
        told.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.engine import Blocks
    >>> blocks = Blocks.from_arrays(np.ones((5, 2)), rows=2)
    >>> map_reduce(blocks, lambda rows, first: float(rows.sum()))
    10.0
    """
    return once(type(work).__name__, lambda: _reduced(blocks, work, combine))


def _reduced(
    blocks: "Blocks",
    work: Callable[[Any, int], Part],
    combine: Callable[[Part, Part], Part],
) -> Part:
    starts = blocks.starts
    task = _Task(blocks, work, current_budget())
    on = _ON.get()
    if on is None:

        def part(i: int) -> Part:
            found = task(i, starts[i])
            advance(i + 1, blocks.n_blocks)
            return found

        with one_thread():
            return _combined(0, blocks.n_blocks, part, combine)
    if on.client is not None:
        parts = _from_cluster(on, task, [int(k) for k in starts], blocks)
        return _combined(0, blocks.n_blocks, lambda i: next(parts), combine)
    from dask import delayed

    shared = delayed(task, traverse=False, pure=False)
    join = delayed(combine, traverse=False, pure=False)
    whole = _combined(
        0,
        blocks.n_blocks,
        lambda i: delayed(_run)(shared, i, int(starts[i])),
        join,
    )
    return _computed(on, whole)


def whole_vector(blocks: "Blocks", work: Callable[[Any, Any], Any]) -> Any:
    """Return a number a row: the parts of all blocks, one after the other.

    Examples
    --------
    >>> from counterpoise.engine import Blocks
    >>> blocks = Blocks.from_arrays(np.arange(6.0).reshape(-1, 2), rows=2)
    >>> whole_vector(blocks, lambda rows, places: rows.sum(axis=1))
    array([1., 5., 9.])
    """
    return once(
        type(work).__name__,
        lambda: np.concatenate(list(each_block(blocks, work, with_places=True))),
    )


def each_block(
    blocks: "Blocks", work: Callable[[Any, int], Part], *, with_places: bool = False
) -> Iterator[Part]:
    """Give the parts of all blocks in their order; few wait for their turn.

    Parameters
    ----------
    blocks : Blocks
    work : callable
        As of `map_reduce`.
    with_places : bool
        Whether ``first`` is the place of the block's first row; else it is None, and no
        rows have to be counted before.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.engine import Blocks, each_block
    >>> blocks = Blocks.from_arrays(np.arange(6.0)[:, None], rows=4)
    >>> [float(part) for part in each_block(blocks, lambda rows, first: rows.sum())]
    [6.0, 9.0]
    """
    task = _Task(blocks, work, current_budget())
    firsts = (
        [int(k) for k in blocks.starts] if with_places else [None] * blocks.n_blocks
    )
    on = _ON.get()
    if on is None:
        for i, first in enumerate(firsts):
            with one_thread():
                part = task(i, first)
            advance(i + 1, blocks.n_blocks)
            yield part
        return
    if on.client is None:
        from dask import delayed

        for i in range(0, blocks.n_blocks, AHEAD):
            few = [
                delayed(_run)(task, k, firsts[k])
                for k in range(i, min(i + AHEAD, blocks.n_blocks))
            ]
            yield from _computed(on, delayed(list)(few))
        return
    yield from _from_cluster(on, task, firsts, blocks)


def map_write(
    blocks: "Blocks",
    work: Callable[[Any, int], dict[str, Any]],
    path: Any,
) -> None:
    """Write columns worked out of every block to one Parquet file, in order of rows.

    A block's columns are a row group. The file appears when it is complete: until then
    it stands beside, under a name of its own, and goes if anything fails.

    Parameters
    ----------
    blocks : Blocks
    work : callable
        ``work(rows, first)`` gives columns by their names, each as long as the block.
    path : str or Path
        The Parquet file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from counterpoise.engine import Blocks, map_write
    >>> blocks = Blocks.from_arrays(np.arange(6.0)[:, None], rows=4)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "doubled.parquet"
    ...     map_write(blocks, lambda rows, first: {"twice": 2 * rows[:, 0]}, path)
    ...     [int(size) for size in Blocks.from_parquet(path).sizes]
    [4, 2]
    """
    from counterpoise.engine.writing import ParquetInTheMaking

    with ParquetInTheMaking(path) as out:
        for columns in each_block(blocks, work, with_places=True):
            out.add(columns)


@dataclass(frozen=True, eq=False)
class _Task:
    """What a block's part is, with all that a worker needs to know."""

    blocks: "Blocks"
    work: Callable[[Any, Any], Any]
    budget: int

    def __call__(self, index: int, first: Any) -> Any:
        try:
            with memory_budget(self.budget):
                rows = self.blocks.read(index)
                return self.work(rows, None if first is None else int(first))
        except InvalidInput as error:
            place = self.blocks.place(index)
            error.add_note(f"in block {index}: {place}")
            raise
        except (BlockFailedError, MemoryError, KeyboardInterrupt):
            raise
        except OSError as error:
            raise self._failed(index, error) from error
        except Exception as error:
            if _is_arrow(error):
                raise self._failed(index, error) from error
            raise

    def _failed(self, index: int, error: Exception) -> BlockFailedError:
        return BlockFailedError(
            index, self.blocks.place(index), str(error) or repr(error)
        )


def _same(task: _Task) -> _Task:
    return task


def _run(task: _Task, index: int, first: Any) -> Any:
    """Work on a block in a process of somebody's scheduler."""
    with one_thread():
        return task(index, first)


def _combined(
    first: int,
    last: int,
    part: Callable[[int], Any],
    combine: Callable[[Any, Any], Any],
) -> Any:
    """Return the parts first..last - 1 combined; at most log2 of them wait."""
    n = last - first
    if n == 1:
        return part(first)
    middle = first + (1 << (n - 1).bit_length() - 1)
    earlier = _combined(first, middle, part, combine)
    return combine(earlier, _combined(middle, last, part, combine))


def _computed(on: Scheduler, whole: Any) -> Any:
    import dask

    with one_thread():
        return dask.compute(whole, scheduler=on.name)[0]


def _from_cluster(
    on: Scheduler, task: _Task, firsts: list[Any], blocks: "Blocks"
) -> Iterator[Any]:
    """Give the parts in order, a few blocks a worker under way at a time.

    Dask blames every task that a dying worker had been given. So a block that it gives
    up is tried once more when nothing else is under way: one that kills its workers
    then, too, is the one.
    """
    from distributed import KilledWorker

    client = on.client
    cluster = ClusterWait(client, on.wait, on.restart)

    # A task of the scheduler's, which is done again where its worker dies.
    shared = client.submit(_same, task, pure=False)
    waiting: list[Any] = []
    sent = 0

    def submitted(index: int, trial: str) -> Any:
        key = f"counterpoise-block-{index}-{trial}-{shared.key}"
        return client.submit(_run, shared, index, firsts[index], key=key)

    for index in range(blocks.n_blocks):
        block = f"block {index + 1} of {blocks.n_blocks} ({blocks.place(index)})"
        ahead = AHEAD * max(cluster.n_workers, 1)
        while sent < blocks.n_blocks and len(waiting) < ahead:
            waiting.append(submitted(sent, "first"))
            sent += 1
        try:
            part = cluster.result(waiting.pop(0), block)
        except KilledWorker:
            for future in waiting:
                cluster.settle(future, block)
            try:
                part = cluster.result(submitted(index, "again"), block)
            except KilledWorker as error:
                raise BlockFailedError(
                    index,
                    blocks.place(index),
                    "every worker that began it died, for want of memory or by a fault "
                    "in it",
                ) from error
        advance(index + 1, blocks.n_blocks)
        yield part


def _is_arrow(error: Exception) -> bool:
    return type(error).__module__.partition(".")[0] == "pyarrow"
