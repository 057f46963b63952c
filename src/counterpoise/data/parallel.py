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
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, is_dataclass
from functools import cache, partial, reduce
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from counterpoise.data.progress import advance, announce
from counterpoise.errors import InvalidInputError

if TYPE_CHECKING:
    from distributed import Client, Future

    from counterpoise.data.blocks import Blocks

# The rows of a block: a matrix of numbers, a `Table`, or a pyarrow table as stored.
Rows: TypeAlias = Any
Part = TypeVar("Part")


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
    """Return the largest size, in bytes, of an array of rows x centers.

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
# Results of passes over blocks, kept on disk, so that none is made twice.
#
# Work on blocks is the same at every run: the same passes, one after the other.
# Inside `kept_passes` the result of each is written to a folder when it is complete; a
# later run over the same inputs reads it there in place of making the pass. Nothing in
# a file is run: it may hold arrays, numbers, texts and the records of this library, and
# anything else is refused.
# -----------------------------------------------------------------------------


_INPUTS = "inputs.json"
# What arrays and Arrow's tables are made of when they are read back, by package.
_HARMLESS = {
    "numpy": {"ndarray", "dtype", "_reconstruct", "scalar", "_frombuffer"},
    "_codecs": {"encode"},
    "builtins": {"bytearray"},
    "pyarrow": {
        "_reconstruct_table", "_restore_array", "chunked_array", "py_buffer", "schema",
        "field", "type_for_alias", "timestamp", "date32", "date64", "time32", "time64",
        "duration", "decimal128", "decimal256", "dictionary",
    },
}  # fmt: skip

_KEPT: ContextVar["_Passes | None"] = ContextVar("kept_passes", default=None)


@dataclass(eq=False)
class _Passes:
    """The passes of one run, counted as they come."""

    folder: Path
    made: int = 0
    found_again: list[int] = field(default_factory=list)


@contextmanager
def kept_passes(
    folder: str | Path, inputs: dict[str, Any], *, resume: bool
) -> Iterator[_Passes]:
    """Keep the results of passes inside, in a folder that is removed at the end.

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
    described = json.dumps(inputs, indent=1, sort_keys=True)
    if not resume:
        shutil.rmtree(folder, ignore_errors=True)
    if (folder / _INPUTS).is_file():
        before = (folder / _INPUTS).read_text(encoding="utf-8")
        if before != described:
            lines = zip(before.splitlines(), described.splitlines(), strict=False)
            changed = (pair for pair in lines if pair[0] != pair[1])
            then, now = next(changed, ("other parts", "none"))
            raise InvalidInputError(
                f"{folder} has passes of another run: {then.strip()} then, "
                f"{now.strip()} now; without resuming they are made anew"
            )
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _write_whole(folder / _INPUTS, described.encode())
    passes = _Passes(folder)
    token = _KEPT.set(passes)
    try:
        yield passes
    finally:
        _KEPT.reset(token)
    shutil.rmtree(folder, ignore_errors=True)


def once(name: str, compute: Callable[[], Part]) -> Part:
    """Return the result of a pass, made once for all runs inside `kept_passes`."""
    passes = _KEPT.get()
    if passes is None:
        return compute()
    number = passes.made
    passes.made += 1
    path = passes.folder / f"pass-{number:04d}-{name}.bin"
    if path.is_file():
        passes.found_again.append(number)
        found: Part = _read(path)
        return found
    found = compute()
    _write_whole(path, pickle.dumps(found, protocol=5))
    return found


def fingerprint(path: str | Path) -> dict[str, Any]:
    """Return name, size and a digest of the footer of a Parquet file."""
    path = Path(path)
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(size - 8, 0))
        length = int.from_bytes(file.read(4), "little")
        file.seek(max(size - 8 - length, 0))
        digest = hashlib.sha256(file.read()).hexdigest()
    return {"file": path.name, "size": size, "footer": digest}


def _write_whole(path: Path, content: bytes) -> None:
    """Write a file that appears when it is complete."""
    partial_file = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with partial_file.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial_file, path)
    finally:
        partial_file.unlink(missing_ok=True)


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
        package = module.partition(".")[0]
        if name in _HARMLESS.get(package, ()):
            return super().find_class(module, name)
        if package == "counterpoise" and "." not in name:
            found = super().find_class(module, name)
            # What can be called would be, with whatever a file says.
            is_record = isinstance(found, type) and is_dataclass(found)
            if is_record and not any("__call__" in vars(k) for k in found.__mro__):
                return found
        raise InvalidInputError(
            f"a kept pass holds {module}.{name}, which no pass of this library finds"
        )


# -----------------------------------------------------------------------------
# Work on blocks: a loop, or Dask.
#
# The part of a block is `work(rows, first)`, with the place of its first row in the
# whole. Parts are combined in the order of the blocks, whoever computes them.
# -----------------------------------------------------------------------------


# Seconds without a worker after which the work ends, unless the caller sets another.
LIMIT = 120.0
# Blocks whose results may wait for their turn, a process.
AHEAD = 4
# Seconds between two looks at the cluster while an answer is awaited, and seconds
# without a worker after which the progress channel says so.
BETWEEN_LOOKS, BEFORE_TELLING = 1.0, 2.0
# Seconds that the scheduler has to say which workers it has.
FOR_THE_SCHEDULER = 5.0


@dataclass(frozen=True, eq=False)
class Scheduler:
    """Who computes: Dask's "synchronous" or "threads", or the cluster of a client.

    `wait` is the number of seconds without a worker that end the work, and `restart`
    starts the missing workers of a cluster that belongs to this process.
    """

    name: str
    client: "Client | None" = None
    wait: float = LIMIT
    restart: Callable[[], Any] | None = None


_SCHEDULER: ContextVar[Scheduler | None] = ContextVar("scheduler", default=None)


def map_reduce(
    blocks: "Blocks",
    work: Callable[[Rows, int], Part],
    combine: Callable[[Part, Part], Part] = operator.add,
) -> Part:
    """Return the parts of all blocks, combined one after the other.

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
    parts = each_block(blocks, work, with_places=True)
    return once(_name_of(work), lambda: reduce(combine, parts))


def whole_vector(blocks: "Blocks", work: Callable[[Rows, int], Any]) -> NDArray[Any]:
    """Return a number a row: the parts of all blocks, one after the other.

    Examples
    --------
    >>> from counterpoise.data import Blocks
    >>> blocks = Blocks.from_arrays(np.arange(6.0).reshape(-1, 2), rows=2)
    >>> whole_vector(blocks, lambda rows, places: rows.sum(axis=1))
    array([1., 5., 9.])
    """
    parts = each_block(blocks, work, with_places=True)
    return once(_name_of(work), lambda: np.concatenate(list(parts)))


def _name_of(work: Callable[..., Any]) -> str:
    function = work.func if isinstance(work, partial) else work
    return getattr(function, "__name__", type(function).__name__).strip("<>")


def each_block(
    blocks: "Blocks", work: Callable[[Rows, Any], Part], *, with_places: bool = False
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
    n = blocks.n_blocks
    firsts = [int(k) for k in blocks.starts] if with_places else [None] * n
    task = partial(_work_on_block, blocks, work, current_budget())
    scheduler = _SCHEDULER.get()
    parts: Iterator[Part]
    if scheduler is None:
        parts = map(task, range(n), firsts)
    elif scheduler.client is None:
        parts = _parts_by_dask(scheduler.name, task, firsts)
    else:
        parts = _parts_by_cluster(scheduler, task, firsts, blocks)
    for done, part in enumerate(parts, start=1):
        advance(done, n)
        yield part


def map_write(
    blocks: "Blocks",
    work: Callable[[Rows, int], dict[str, Any]],
    path: str | Path,
) -> None:
    """Write columns worked out of every block to one Parquet file, in order of rows.

    A block's columns are a row group. The file appears when it is complete.

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
    from counterpoise.data.readers import ParquetWriter

    with ParquetWriter(path) as out:
        for columns in each_block(blocks, work, with_places=True):
            out.add(columns)


def _work_on_block(
    blocks: "Blocks",
    work: Callable[[Rows, Any], Part],
    budget: int,
    index: int,
    first: int | None,
) -> Part:
    """Return the part of a block; errors name the block."""
    try:
        with memory_budget(budget):
            return work(blocks.read(index), first)
    except InvalidInputError as error:
        error.add_note(f"in block {index}: {blocks.place(index)}")
        raise
    except (BlockFailedError, MemoryError):
        raise
    except Exception as error:
        is_reading = type(error).__module__.partition(".")[0] == "pyarrow"
        if not (is_reading or isinstance(error, OSError)):
            raise
        reason = str(error) or repr(error)
        raise BlockFailedError(index, blocks.place(index), reason) from error


def _parts_by_dask(
    name: str, task: Callable[..., Part], firsts: list[Any]
) -> Iterator[Part]:
    """Give the parts by one of Dask's schedulers in this process, a few at a time."""
    import dask

    for start in range(0, len(firsts), AHEAD):
        few = range(start, min(start + AHEAD, len(firsts)))
        yield from dask.compute(
            *(dask.delayed(task)(k, firsts[k]) for k in few), scheduler=name
        )


def _parts_by_cluster(
    scheduler: Scheduler,
    task: Callable[..., Part],
    firsts: list[Any],
    blocks: "Blocks",
) -> Iterator[Part]:
    """Give the parts in order, a few blocks a worker under way at a time.

    Dask blames every task that a dying worker had been given. So a block that it gives
    up is tried once more when nothing else is under way: one that kills its workers
    then, too, is named.
    """
    from distributed import KilledWorker

    client = scheduler.client
    assert client is not None
    # A task of the scheduler's, which is done again where its worker dies.
    shared = client.submit(_identity, task, pure=False)
    under_way: list[Future] = []
    sent = 0

    def submit(index: int, trial: str) -> "Future":
        key = f"counterpoise-block-{index}-{trial}-{shared.key}"
        return client.submit(_call, shared, index, firsts[index], key=key)

    for index in range(blocks.n_blocks):
        block = f"block {index + 1} of {blocks.n_blocks} ({blocks.place(index)})"
        ahead = AHEAD * max(_count_workers(client, FOR_THE_SCHEDULER) or 0, 1)
        while sent < blocks.n_blocks and len(under_way) < ahead:
            under_way.append(submit(sent, "first"))
            sent += 1
        try:
            part = _await(scheduler, under_way.pop(0), block)
        except KilledWorker:
            for future in under_way:
                _await(scheduler, future, block, settle=True)
            try:
                part = _await(scheduler, submit(index, "again"), block)
            except KilledWorker as error:
                raise BlockFailedError(
                    index,
                    blocks.place(index),
                    "every worker that began it died, for want of memory or by a fault "
                    "in it",
                ) from error
        yield part


def _identity(task: Callable[..., Part]) -> Callable[..., Part]:
    return task


def _call(task: Callable[..., Part], index: int, first: int | None) -> Part:
    return task(index, first)


def _count_workers(client: "Client", patience: float) -> int | None:
    """Return the number of workers; None if the scheduler does not answer."""
    try:
        return len(client.nthreads(callback_timeout=patience))
    except (OSError, TimeoutError):
        return None


def _await(
    scheduler: Scheduler, future: "Future", block: str, *, settle: bool = False
) -> Any:
    """Return the result of a future as long as the cluster can give it.

    There is no limit to how long a worker may take. If no worker is there, or the
    scheduler does not answer, for `scheduler.wait` seconds, `ClusterUnavailableError`
    ends the wait. With `settle` its error is returned instead of raised.
    """
    client, limit = scheduler.client, scheduler.wait
    assert client is not None
    address = client.scheduler.address
    ask = future.exception if settle else future.result
    since: float | None = None
    seconds, announced = 0.0, False
    for_the_transfer = BETWEEN_LOOKS
    while True:
        patience = min(BETWEEN_LOOKS, max(limit - seconds, 0.1))
        if future.done():
            # A large result takes its time to come, and longer at every trial.
            patience = for_the_transfer = 2 * for_the_transfer
        try:
            answer = ask(timeout=patience)
        except CancelledError as error:
            state = f"the connection to the Dask scheduler {address} was lost"
            raise _unavailable(state, block, "start the cluster again") from error
        except TimeoutError:
            n_workers = _count_workers(client, min(FOR_THE_SCHEDULER, limit))
        else:
            if announced:
                announce("going on: a Dask worker is available")
            return answer
        if n_workers:
            if announced:
                announce("going on: a Dask worker is available")
            since, seconds, announced = None, 0.0, False
            continue
        since = since or time.monotonic()
        seconds = time.monotonic() - since
        if seconds >= limit:
            state = (
                f"the Dask scheduler {address} has not answered for {limit:.3g} s"
                if n_workers is None
                else f"no Dask worker has been available for {limit:.3g} s "
                f"(scheduler {address})"
            )
            advice = "run it again" if scheduler.restart else "start workers"
            raise _unavailable(state, block, f"{advice}, or raise `wait=`")
        if seconds >= min(BEFORE_TELLING, limit / 2):
            if scheduler.restart is not None:
                scheduler.restart()
            if not announced:
                announced = True
                missing = "worker" if n_workers == 0 else "scheduler"
                announce(f"waiting for a Dask {missing}, {limit:.3g} s at most")


def _unavailable(state: str, block: str, advice: str) -> ClusterUnavailableError:
    kept = (
        "`--resume` continues with this pass over the blocks, and the passes before it "
        "are kept"
        if _KEPT.get() is not None
        else "nothing is kept of this pass over the blocks"
    )
    return ClusterUnavailableError(f"{state}; {block} is not done: {advice}; {kept}")


# -----------------------------------------------------------------------------
# Who computes: this process, Dask's own schedulers, processes beside it, a cluster.
# -----------------------------------------------------------------------------


@contextmanager
def distribute(
    who: "Client | str | int", *, wait: float = LIMIT
) -> "Iterator[Client | None]":
    """Let Dask compute all work on blocks inside.

    Results are the same, whoever computes; those of processes whose linear algebra has
    another number of threads may differ by rounding.

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
        from distributed import Client
    except ImportError as error:
        raise ImportError(
            "distribute needs Dask: pip install 'counterpoise[dask]'"
        ) from error
    if not wait > 0:
        raise InvalidInputError(f"wait must be above 0 seconds, got {wait}")
    if isinstance(who, bool) or not isinstance(who, Client | str | int):
        raise InvalidInputError(
            "distribute takes a Client, an address, a number of processes, "
            f"'synchronous' or 'threads', got {who!r}"
        )
    if isinstance(who, int) and who < 1:
        raise InvalidInputError(f"distribute needs at least one process, got {who}")
    with ExitStack() as stack:
        client: Client | None = None
        restart = None
        if isinstance(who, Client):
            client = who
        elif isinstance(who, int):
            cluster = stack.enter_context(_started(who, wait))
            client = stack.enter_context(Client(cluster))
            # Dask gives up a process that is not back after 15 seconds; `scale` starts
            # another in its place.
            restart = partial(cluster.scale, who)
        elif who not in ("synchronous", "threads"):
            client = stack.enter_context(Client(who))
        name = who if client is None else "distributed"
        token = _SCHEDULER.set(Scheduler(str(name), client, wait, restart))
        try:
            yield client
        finally:
            _SCHEDULER.reset(token)


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
