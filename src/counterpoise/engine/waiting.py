"""Waiting for a cluster, with a limit: a cluster without workers never answers."""

import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from counterpoise.engine.checkpoints import passes_are_kept
from counterpoise.engine.failures import ClusterUnavailableError
from counterpoise.engine.progress import announce

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
