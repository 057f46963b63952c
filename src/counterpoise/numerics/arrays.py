"""The array types that the whole library speaks of."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]


def finite_array(name: str, value: Any, ndim: int) -> Array:
    """Return the value as a float64 array, or an error that names it.

    Examples
    --------
    >>> finite_array("b", [1, 2], 1)
    array([1., 2.])
    >>> finite_array("b", [1.0, float("nan")], 1)
    Traceback (most recent call last):
    ValueError: b must be finite, got nan at entry 1
    """
    if hasattr(value, "toarray"):
        raise TypeError(f"{name} must be dense, got {type(value).__name__}")
    out = np.asarray(value, dtype=float)
    if out.ndim != ndim or out.size == 0:
        shape = {1: "a non-empty vector", 2: "a non-empty matrix"}[ndim]
        raise ValueError(f"{name} must be {shape}, got shape {out.shape}")
    if not np.isfinite(out).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(out))[0])
        place = (
            f"entry {where[0]}" if ndim == 1 else f"row {where[0]}, column {where[1]}"
        )
        raise ValueError(f"{name} must be finite, got {out[where]} at {place}")
    return out
