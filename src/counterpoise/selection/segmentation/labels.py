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
    _, places = np.unique(labels, return_inverse=True)
    return places.reshape(labels.shape).astype(np.intp)
