"""Work on blocks: schedule, checkpoints, memory budget, Dask clusters."""

import hashlib
import io
import json
import operator
import os
import pickle
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, is_dataclass
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from counterpoise.data.progress import advance, announce
from counterpoise.errors import InvalidInputError

if TYPE_CHECKING:
    from counterpoise.data.blocks import Blocks


# -----------------------------------------------------------------------------
# What ends work on blocks: a piece that cannot be read, or a cluster that is gone.
# -----------------------------------------------------------------------------


class BlockFailedError(RuntimeError):
    """One block of rows could not be worked on, and with it nothing was finished.

    Parameters
    ----------
    index : int
        Which block, counted from 0.
    place : str
        Where its rows come from, such as "live-3.parquet, row group 7".
    reason : str
        What happened.

    Examples
    --------
    >>> print(BlockFailedError(7, "live.parquet, row group 7", "a page is corrupt"))
    block 7 (live.parquet, row group 7) failed: a page is corrupt
    """

    def __init__(self, index: int, place: str, reason: str) -> None:
        # The arguments themselves go up, so that the error survives pickling
        # on its way back from a worker process.
        super().__init__(index, place, reason)
        self.index = index
        self.place = place
        self.reason = reason

    def __str__(self) -> str:
        return f"block {self.index} ({self.place}) failed: {self.reason}"


class ClusterUnavailableError(TimeoutError):
    """A Dask cluster had no worker, or did not answer, for as long as one may wait.

    The message names the scheduler, for how long nothing was available, and the block
    that was waited for. `engine.distribute(..., wait=)` sets the limit.

    Examples
    --------
    >>> issubclass(ClusterUnavailableError, TimeoutError)
    True
    """


# -----------------------------------------------------------------------------
# One thread for linear algebra while something is fitted: the same bits everywhere.
# -----------------------------------------------------------------------------


_LOCK = Lock()
# How many are inside, and what the libraries had before the first of them.
_INSIDE: dict[str, Any] = {"count": 0, "limits": None}


@contextmanager
def one_thread() -> Iterator[None]:
    """Let linear algebra take one thread inside, in all threads of the process.

    Sums of two threads differ in their last digits from those of one. The first to come
    sets the limit and the last to go takes it away, in whatever order they do.
    """
    with _LOCK:
        if _INSIDE["count"] == 0:
            _INSIDE["limits"] = _libraries().limit(limits=1, user_api="blas")
            _INSIDE["limits"].__enter__()
        _INSIDE["count"] += 1
    try:
        yield
    finally:
        with _LOCK:
            _INSIDE["count"] -= 1
            if _INSIDE["count"] == 0:
                _INSIDE["limits"].__exit__(None, None, None)
                _INSIDE["limits"] = None


@cache
def _libraries() -> ThreadpoolController:
    """Return the loaded libraries that have threads; to look for them takes time."""
    return ThreadpoolController()


# -----------------------------------------------------------------------------
# How large an array may become before it is computed in pieces.
# -----------------------------------------------------------------------------


_BUDGET: ContextVar[int] = ContextVar("memory_budget", default=2**30)


def current_budget() -> int:
    """Return the largest size, in bytes, of an array of rows x centres.

    Examples
    --------
    >>> from counterpoise.data import memory_budget
    >>> from counterpoise.data.parallel import current_budget
    >>> with memory_budget(10**6):
    ...     current_budget()
    1000000
    """
    return _BUDGET.get()


@contextmanager
def memory_budget(n_bytes: int) -> Iterator[None]:
    """Set the memory budget for what runs inside, one GiB otherwise.

    Examples
    --------
    >>> with memory_budget(10_000_000):
    ...     current_budget()
    10000000
    """
    if not n_bytes > 0:
        raise InvalidInputError(f"n_bytes must be positive, got {n_bytes}")
    token = _BUDGET.set(int(n_bytes))
    try:
        yield
    finally:
        _BUDGET.reset(token)


# -----------------------------------------------------------------------------
# What passes over blocks have found, kept on disk, so that none is made twice.
#
# Work on blocks is the same at every run: the same passes, one after the other.
# Inside
# `kept_passes` the result of each is written to a folder when it is complete; a later
# run
# over the same inputs reads it there in place of making the pass. A file appears by a
# renaming, whole or not at all. Nothing in a file is run: it may hold arrays,
# numbers,
# texts and the records of this library, and anything else is refused.
# -----------------------------------------------------------------------------


Found = TypeVar("Found")

_INPUTS = "inputs.json"
# What arrays and Arrow's tables are made of when they are read back.
_HARMLESS = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy._core.numeric", "_frombuffer"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "scalar"),
    ("numpy.core.numeric", "_frombuffer"),
    ("_codecs", "encode"),
    ("builtins", "bytearray"),
}

_HARMLESS_OF_ARROW = frozenset(
    [
        "_reconstruct_table",
        "_restore_array",
        "chunked_array",
        "py_buffer",
        "schema",
        "field",
        "type_for_alias",
        "timestamp",
        "date32",
        "date64",
        "time32",
        "time64",
        "duration",
        "decimal128",
        "decimal256",
        "dictionary",
    ]
)

_KEPT: ContextVar["_Passes | None"] = ContextVar("kept_passes", default=None)


@dataclass(eq=False)
class _Passes:
    """The passes of one run, counted as they come."""

    folder: Path
    made: int = 0
    found_again: list[int] = field(default_factory=list)

    def once(self, name: str, compute: Callable[[], Found]) -> Found:
        """Return what a pass finds, read back if it was made before."""
        number = self.made
        self.made += 1
        path = self.folder / f"pass-{number:04d}-{name}.bin"
        if path.is_file():
            self.found_again.append(number)
            return _read(path)
        found = compute()
        _write(path, found)
        return found


@contextmanager
def kept_passes(folder: Any, inputs: Any, *, resume: bool) -> Iterator[_Passes]:
    """Keep what passes inside find, in a folder that goes when all is done.

    Parameters
    ----------
    folder : str or Path
        It is made if it is not there, for its owner alone.
    inputs : JSON
        What the passes depend on: fingerprints of files, options. Passes over other
        inputs are an error.
    resume : bool
        Whether passes of an earlier run are read; else they are removed first.

    Yields
    ------
    An object with `made`, the number of passes so far, and `found_again`, those read.
    """
    folder = Path(folder)
    told = json.dumps(inputs, indent=1, sort_keys=True)
    if not resume:
        shutil.rmtree(folder, ignore_errors=True)
    if (folder / _INPUTS).is_file():
        before = (folder / _INPUTS).read_text(encoding="utf-8")
        if before != told:
            raise InvalidInputError(
                f"{folder} has passes of another run: {_difference(before, told)}; "
                "without resuming they are made anew"
            )
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _replaced(folder / _INPUTS, told.encode())
    passes = _Passes(folder)
    token = _KEPT.set(passes)
    try:
        yield passes
    finally:
        _KEPT.reset(token)
    shutil.rmtree(folder, ignore_errors=True)


def once(name: str, compute: Callable[[], Found]) -> Found:
    """Return what a pass finds; inside `kept_passes` it is made once for all runs."""
    passes = _KEPT.get()
    return compute() if passes is None else passes.once(name, compute)


def passes_are_kept() -> bool:
    """Return whether this runs inside `kept_passes`."""
    return _KEPT.get() is not None


def fingerprint(path: Any) -> dict[str, Any]:
    """Return name, size and a digest of the footer of a Parquet file."""
    path = Path(path)
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(size - 8, 0))
        length = int.from_bytes(file.read(4), "little")
        file.seek(max(size - 8 - length, 0))
        digest = hashlib.sha256(file.read()).hexdigest()
    return {"file": path.name, "size": size, "footer": digest}


def _write(path: Path, found: Any) -> None:
    _replaced(path, pickle.dumps(found, protocol=5))


def _replaced(path: Path, content: bytes) -> None:
    """Write a file that appears when it is complete."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _read(path: Path) -> Any:
    announce(f"read back: {path.stem}")
    try:
        return _Harmless(io.BytesIO(path.read_bytes())).load()
    except InvalidInputError:
        raise
    except Exception as error:
        raise InvalidInputError(f"{path} cannot be read back: {error}") from error


class _Harmless(pickle.Unpickler):
    """Makes arrays, and the records of this library, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _HARMLESS or (
            module == "pyarrow.lib" and name in _HARMLESS_OF_ARROW
        ):
            return super().find_class(module, name)
        if module.partition(".")[0] == "counterpoise" and "." not in name:
            found = super().find_class(module, name)
            # What can be called would be, with whatever a file says.
            is_record = isinstance(found, type) and is_dataclass(found)
            if is_record and not any("__call__" in vars(k) for k in found.__mro__):
                return found
        raise InvalidInputError(
            f"a kept pass holds {module}.{name}, which no pass of this library finds"
        )


def _difference(before: str, now: str) -> str:
    """Return the first part in which two descriptions differ."""
    pairs = zip(before.splitlines(), now.splitlines(), strict=False)
    for one, other in pairs:
        if one != other:
            return f"{one.strip()} then, {other.strip()} now"
    return "they have other parts"


# -----------------------------------------------------------------------------
# Waiting for a cluster, with a limit: a cluster without workers never answers.
# -----------------------------------------------------------------------------


# Seconds without a worker after which the work ends, unless the caller sets another.
LIMIT = 120.0
# Seconds between two looks at the cluster while an answer is awaited.
BETWEEN_LOOKS = 1.0
# Seconds without a worker after which the progress channel says so. A worker that dies
# is usually replaced sooner.
BEFORE_TELLING = 2.0
# Seconds that the scheduler has to say which workers it has.
FOR_THE_SCHEDULER = 5.0


@dataclass(eq=False)
class ClusterWait:
    """Waits for answers of a cluster as long as the cluster can give them.

    There is no limit to how long a worker may take. If no worker is there, or the
    scheduler does not answer, for `limit` seconds, `ClusterUnavailableError` ends the
    wait.

    Parameters
    ----------
    client : distributed.Client
    limit : float
        Seconds.
    restart : callable or None
        Starts the missing workers of a cluster that belongs to this process.
    """

    client: Any
    limit: float
    restart: Callable[[], Any] | None = None
    n_workers: int = field(init=False, default=0)
    _answers: bool = field(init=False, default=True)
    _since: float | None = field(init=False, default=None)
    _told: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self._address = self.client.scheduler.address
        self._look()

    def result(self, future: Any, block: str) -> Any:
        """Return a future's result, or raise the error that it ended with.

        Parameters
        ----------
        future : distributed.Future
        block : str
            Which block of how many the future belongs to, for the error.
        """
        return self._answer(future, future.result, block)

    def settle(self, future: Any, block: str) -> None:
        """Wait until a future has a result or an error, and fetch neither."""
        self._answer(future, future.exception, block)

    def _answer(self, future: Any, ask: Callable[[], Any], block: str) -> Any:
        # Dask's own timeouts would interrupt the transfer of a large result. So
        # another thread waits, and this one looks at the cluster in the meantime.
        answers: SimpleQueue[tuple[Any, Exception | None]] = SimpleQueue()

        def wait() -> None:
            try:
                answers.put((ask(), None))
            except Exception as error:
                answers.put((None, error))

        Thread(target=wait, name="counterpoise cluster", daemon=True).start()
        try:
            value, error = self._first(answers, block)
        except BaseException:
            # This also ends the thread.
            future.release()
            raise
        if error is None:
            self._found()
            return value
        if isinstance(error, CancelledError):
            raise self._failed(
                f"the connection to the Dask scheduler {self._address} was lost",
                block,
                "start the cluster again",
            ) from error
        raise error

    def _first(
        self, answers: "SimpleQueue[tuple[Any, Exception | None]]", block: str
    ) -> tuple[Any, Exception | None]:
        while True:
            try:
                return answers.get(timeout=self._at_most(BETWEEN_LOOKS))
            except Empty:
                self._look()
                self._judge(block)

    def _look(self) -> None:
        """Note how many workers there are, and since when there are none."""
        try:
            patience = self._at_most(FOR_THE_SCHEDULER)
            self.n_workers = len(self.client.nthreads(callback_timeout=patience))
            self._answers = True
        except (OSError, TimeoutError):
            self.n_workers, self._answers = 0, False
        if self.n_workers:
            self._found()
        elif self._since is None:
            self._since = time.monotonic()

    def _at_most(self, seconds: float) -> float:
        """Return so many seconds, or fewer if the limit is nearer; never zero."""
        if self._since is None:
            return seconds
        return min(seconds, max(self._since + self.limit - time.monotonic(), 0.1))

    def _found(self) -> None:
        if self._told:
            announce("going on: a Dask worker is available")
        self._since, self._told = None, False

    def _judge(self, block: str) -> None:
        if self._since is None:
            return
        seconds = time.monotonic() - self._since
        if seconds >= self.limit:
            lasted = f"for {self.limit:.3g} s"
            raise self._failed(
                f"no Dask worker has been available {lasted} "
                f"(scheduler {self._address})"
                if self._answers
                else f"the Dask scheduler {self._address} has not answered {lasted}",
                block,
                "start workers, or raise `wait=`"
                if self.restart is None
                else "run it again, or raise `wait=`",
            )
        if seconds < BEFORE_TELLING and seconds < self.limit / 2:
            return
        if self.restart is not None:
            self.restart()
        if not self._told:
            self._told = True
            missing = "worker" if self._answers else "scheduler"
            announce(f"waiting for a Dask {missing}, {self.limit:.3g} s at most")

    @staticmethod
    def _failed(state: str, block: str, advice: str) -> ClusterUnavailableError:
        return ClusterUnavailableError(
            f"{state}; {block} is not done: {advice}; "
            + (
                "`--resume` continues with this pass over the blocks, and the passes "
                "before it are kept"
                if passes_are_kept()
                else "nothing is kept of this pass over the blocks"
            )
        )


# -----------------------------------------------------------------------------
# Work on blocks: one tree of sums, whoever computes it.
#
# A block's part is `work(rows, first)`, with the place of its first row in the whole.
# Parts are combined two and two along a tree that depends on the number of blocks
# alone
# (the first power of two of them, then the rest), so that a plain loop, threads and a
# cluster give the same bits. Every process works with one thread of linear algebra,
# for
# the same reason.
# -----------------------------------------------------------------------------


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
    >>> from counterpoise.data import Blocks
    >>> blocks = Blocks.from_arrays(np.ones((5, 2)), rows=2)
    >>> map_reduce(blocks, lambda rows, first: float(rows.sum()))
    10.0
    """
    return once(_name_of(work), lambda: _reduced(blocks, work, combine))


def _name_of(work: Callable[..., object]) -> str:
    """Return the name of a function, also of a partial one, or else of its class."""
    function = getattr(work, "func", work)
    return getattr(function, "__name__", type(work).__name__)


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
    >>> from counterpoise.data import Blocks
    >>> blocks = Blocks.from_arrays(np.arange(6.0).reshape(-1, 2), rows=2)
    >>> whole_vector(blocks, lambda rows, places: rows.sum(axis=1))
    array([1., 5., 9.])
    """
    return once(
        _name_of(work),
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
    >>> from counterpoise.data import Blocks, each_block
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
    >>> from counterpoise.data import Blocks
    >>> from counterpoise.data.parallel import map_write
    >>> blocks = Blocks.from_arrays(np.arange(6.0)[:, None], rows=4)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "doubled.parquet"
    ...     map_write(blocks, lambda rows, first: {"twice": 2 * rows[:, 0]}, path)
    ...     [int(size) for size in Blocks.from_parquet(path).sizes]
    [4, 2]
    """
    from counterpoise.data.readers import ParquetInTheMaking

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
        except InvalidInputError as error:
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


# -----------------------------------------------------------------------------
# Who computes: this process, Dask's own schedulers, processes beside it, a cluster.
# -----------------------------------------------------------------------------


LOCAL_SCHEDULERS = ("synchronous", "threads")


@contextmanager
def distribute(who: Any, *, wait: float = LIMIT) -> Iterator[Any]:
    """Let Dask compute all work on blocks inside.

    Results are the same to the bit, whoever computes.

    Parameters
    ----------
    who : distributed.Client, str or int
        A client; the address of a scheduler such as `"tcp://10.0.0.5:8786"` (TLS by
        Dask's own configuration); a number of processes that are started here, bound
        to this machine alone and without a dashboard, and stopped at the end; or
        "synchronous" or "threads", Dask's schedulers in this process.
    wait : float
        Seconds that the work waits while the cluster has no worker, two minutes unless
        told. The progress channel says after a few seconds that it waits; workers that
        come within the limit let the work go on. Processes that are started here have
        as long to start.

    Yields
    ------
    The client; None where there is none.

    Raises
    ------
    ClusterUnavailableError
        No worker was available for `wait` seconds. The message names the scheduler and
        the block that was waited for.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.data import Blocks, map_reduce
    >>> blocks = Blocks.from_arrays(np.ones((6, 1)), rows=2)
    >>> with distribute("threads"):
    ...     map_reduce(blocks, lambda rows, first: float(rows.sum()))
    6.0
    """
    try:
        import dask
    except ImportError as error:
        raise ImportError(
            "distribute needs Dask: pip install 'counterpoise[dask]'"
        ) from error
    del dask
    if not wait > 0:
        raise InvalidInputError(f"wait must be above 0 seconds, got {wait}")
    if isinstance(who, str) and who in LOCAL_SCHEDULERS:
        with computing_on(Scheduler(who)):
            yield None
        return
    from distributed import Client

    if isinstance(who, bool) or not isinstance(who, Client | str | int):
        raise InvalidInputError(
            "distribute takes a Client, an address, a number of processes, "
            f"'synchronous' or 'threads', got {who!r}"
        )
    if isinstance(who, Client):
        with computing_on(Scheduler("distributed", who, wait)):
            yield who
        return
    if isinstance(who, str):
        with (
            Client(who) as client,
            computing_on(Scheduler("distributed", client, wait)),
        ):
            yield client
        return
    if who < 1:
        raise InvalidInputError(f"distribute needs at least one process, got {who}")
    with (
        _started(who, wait) as cluster,
        Client(cluster) as client,
        # Dask gives up a process that is not back after 15 seconds; `scale` starts
        # another in its place.
        computing_on(
            Scheduler("distributed", client, wait, lambda: cluster.scale(who))
        ),
    ):
        yield client


def _started(n_workers: int, wait: float) -> Any:
    """Return a cluster of processes on this machine, all of them started."""
    from distributed import LocalCluster

    announce(f"starting {n_workers} worker processes")
    began = time.monotonic()
    try:
        return LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            # Its own health pages take any port: two clusters may run side by side.
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            worker_dashboard_address=None,
            silence_logs=50,
            death_timeout=wait,
        )
    except Exception as error:
        # Dask raises errors of several types when time is up.
        if time.monotonic() - began < wait:
            raise
        raise ClusterUnavailableError(
            f"{n_workers} worker processes did not start on this machine within "
            f"{wait:.3g} s: start fewer, or raise `wait=`"
        ) from error
