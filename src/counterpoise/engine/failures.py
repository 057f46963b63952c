"""What ends work on blocks: a piece that cannot be read, or a cluster that is gone."""


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
