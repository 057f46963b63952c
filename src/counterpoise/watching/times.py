"""What a chunk is called, as plain words or numbers that can be ordered."""

from typing import Any

import numpy as np

from counterpoise.validation import InvalidType


def as_time(time: Any, number: int | None) -> Any:
    """Return a time as text or a number; None as the number of the chunk.

    Examples
    --------
    >>> as_time(np.datetime64("2024-01-01"), 3), as_time(None, 3)
    ('2024-01-01', 3)
    """
    if time is None:
        return number
    if isinstance(time, str | int | float):
        return time
    if isinstance(time, np.datetime64):
        return str(time)
    if isinstance(time, np.generic):
        return time.item()
    if hasattr(time, "isoformat"):
        return time.isoformat()
    raise InvalidType(
        f"time must be text, a number, a date or None, got {type(time).__name__}"
    )


def is_before(time: Any, other: Any) -> bool:
    """Return whether a time comes before another; False where they do not compare."""
    if isinstance(time, str) != isinstance(other, str):
        return False
    return bool(time < other)
