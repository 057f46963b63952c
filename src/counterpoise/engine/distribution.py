"""Who computes: this process, Dask's own schedulers, processes beside it, a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from counterpoise.engine.schedule import Scheduler, computing_on
from counterpoise.validation import InvalidInput

LOCAL_SCHEDULERS = ("synchronous", "threads")


@contextmanager
def distribute(who: Any) -> Iterator[Any]:
    """Let Dask compute all work on blocks inside.

    Results are the same to the bit, whoever computes.

    Parameters
    ----------
    who : distributed.Client, str or int
        A client; the address of a scheduler such as `"tcp://10.0.0.5:8786"` (TLS by
        Dask's own configuration); a number of processes that are started here, bound
        to this machine alone and without a dashboard, and stopped at the end; or
        "synchronous" or "threads", Dask's schedulers in this process.

    Yields
    ------
    The client; None where there is none.

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
    if isinstance(who, str) and who in LOCAL_SCHEDULERS:
        with computing_on(Scheduler(who)):
            yield None
        return
    from distributed import Client, LocalCluster

    if isinstance(who, bool) or not isinstance(who, Client | str | int):
        raise InvalidInput(
            "distribute takes a Client, an address, a number of processes, "
            f"'synchronous' or 'threads', got {who!r}"
        )
    if isinstance(who, Client):
        with computing_on(Scheduler("distributed", who)):
            yield who
        return
    if isinstance(who, str):
        with Client(who) as client, computing_on(Scheduler("distributed", client)):
            yield client
        return
    if who < 1:
        raise InvalidInput(f"distribute needs at least one process, got {who}")
    with (
        LocalCluster(
            n_workers=who,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            # Its own health pages take any port: two clusters may run side by side.
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            worker_dashboard_address=None,
            silence_logs=50,
        ) as cluster,
        Client(cluster) as client,
        computing_on(Scheduler("distributed", client)),
    ):
        yield client
