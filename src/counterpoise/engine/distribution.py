"""Who computes: this process, Dask's own schedulers, processes beside it, a cluster."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from counterpoise.engine.failures import ClusterUnavailableError
from counterpoise.engine.progress import announce
from counterpoise.engine.schedule import Scheduler, computing_on
from counterpoise.engine.waiting import LIMIT
from counterpoise.validation import InvalidInput

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
    >>> from counterpoise.engine import Blocks, map_reduce
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
        raise InvalidInput(f"wait must be above 0 seconds, got {wait}")
    if isinstance(who, str) and who in LOCAL_SCHEDULERS:
        with computing_on(Scheduler(who)):
            yield None
        return
    from distributed import Client

    if isinstance(who, bool) or not isinstance(who, Client | str | int):
        raise InvalidInput(
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
        raise InvalidInput(f"distribute needs at least one process, got {who}")
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
