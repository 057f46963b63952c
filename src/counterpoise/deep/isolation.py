"""Global settings of torch, left as they were found."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def own_settings(n_threads: int) -> Iterator[None]:
    """Let what runs inside have its own threads and its own random numbers.

    Both are put back afterwards, whatever happens.
    """
    threads, kind = torch.get_num_threads(), torch.get_default_dtype()
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        try:
            torch.set_num_threads(n_threads)
            torch.set_default_dtype(torch.float32)
            yield
        finally:
            torch.set_default_dtype(kind)
            torch.set_num_threads(threads)


def seed_torch(seed: int, step: int) -> None:
    """Give torch the random numbers of one step, whatever was drawn before.

    An interrupted training then goes on as if nothing had happened.
    """
    state = np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)
    torch.manual_seed(int(state[0] >> np.uint64(1)))
