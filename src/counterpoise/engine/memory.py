"""How large an array may become before it is computed in pieces."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from counterpoise.numerics.refusals import InvalidInput

_BUDGET: ContextVar[int] = ContextVar("memory_budget", default=2**30)


def current_budget() -> int:
    """Return the largest size, in bytes, of an array of rows x centres.

    Examples
    --------
    >>> from counterpoise.engine import current_budget, memory_budget
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
        raise InvalidInput(f"n_bytes must be positive, got {n_bytes}")
    token = _BUDGET.set(int(n_bytes))
    try:
        yield
    finally:
        _BUDGET.reset(token)
