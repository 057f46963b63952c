"""Label images: a whole number a pixel."""

from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Indices
from counterpoise.validation import InvalidInput, InvalidType


def as_label_image(name: str, value: Any) -> Indices:
    """Return labels, any integers, as 0..k-1 in their order.

    Examples
    --------
    >>> as_label_image("labels", [[7, -1], [7, 3]])
    array([[2, 0],
           [2, 1]])
    """
    try:
        labels = np.asarray(value)
    except ValueError as error:
        raise InvalidInput(f"{name} must have rows of one length") from error
    if labels.dtype.kind not in "iub":
        raise InvalidType(f"{name} must be whole numbers, got {labels.dtype}")
    if labels.ndim != 2 or labels.size == 0:
        raise InvalidInput(
            f"{name} must have the shape (height, width), got {labels.shape}"
        )
    return _numbered(labels)


def _numbered(labels: Any) -> Indices:
    """Return the place of every label among those that occur, ascending."""
    low, high = int(labels.min()), int(labels.max())
    if high - low < labels.size and np.can_cast(labels.dtype, np.int64):
        # Few enough to be looked up, which is faster than to sort them.
        shifted = labels.astype(np.int64) - low
        occurs = np.zeros(high - low + 1, dtype=np.intp)
        occurs[shifted] = 1
        return (np.cumsum(occurs) - 1)[shifted]
    places = np.unique(labels, return_inverse=True)[1]
    return places.reshape(labels.shape).astype(np.intp)
