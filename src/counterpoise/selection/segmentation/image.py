"""Images as they come: grey or colour, bytes, words or floats."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.numerics.arrays import Array
from counterpoise.validation import InvalidInput, InvalidType

# The largest value of every kind of pixel.
_LARGEST = {"uint8": 255.0, "uint16": 65535.0}


@dataclass(frozen=True, eq=False)
class Picture:
    """An image as the steps of a segmentation see it.

    Attributes
    ----------
    rgb : array of shape (H, W, 3)
        From 0 to 1; the three are equal where the image is grey.
    lab : array of shape (H, W, 3)
        CIELAB.
    luminance : array of shape (H, W)
        From 0 to 1.
    """

    rgb: Array
    lab: Array
    luminance: Array


@contextmanager
def image_extra() -> Iterator[None]:
    """Say how to get scikit-image where an import of it fails."""
    try:
        yield
    except ImportError as error:
        raise ImportError(
            "segment needs scikit-image: pip install 'counterpoise[image]'"
        ) from error


def as_picture(image: Any) -> Picture:
    """Return the image in colours of several kinds, or say what is wrong with it.

    Parameters
    ----------
    image : array of shape (H, W), (H, W, 3) or (H, W, 4)
        uint8, uint16, or floats from 0 to 1. A fourth channel (alpha) is dropped.
    """
    with image_extra():
        from skimage.color import rgb2gray, rgb2lab

    rgb = _as_rgb(image)
    return Picture(rgb, rgb2lab(rgb), rgb2gray(rgb))


def _as_rgb(image: Any) -> Array:
    try:
        pixels = np.asarray(image)
    except ValueError as error:
        raise InvalidInput("image must have rows of one length") from error
    channels = pixels.shape[2:]
    if pixels.ndim not in (2, 3) or channels not in ((), (3,), (4,)) or not pixels.size:
        raise InvalidInput(
            "image must have the shape (height, width) or (height, width, 3 or 4), "
            f"got {pixels.shape}"
        )
    if pixels.dtype.kind != "f" and pixels.dtype.name not in _LARGEST:
        raise InvalidType(
            f"image must be uint8, uint16 or floats from 0 to 1, got {pixels.dtype}"
        )
    colors = pixels[..., :3] if channels else np.stack([pixels] * 3, axis=-1)
    if pixels.dtype.kind != "f":
        return colors / _LARGEST[pixels.dtype.name]
    colors = colors.astype(float)
    # Comparisons with NaN are false, which refuses it.
    wrong = ~((colors >= 0) & (colors <= 1))
    if wrong.any():
        row, column, channel = (int(k) for k in np.argwhere(wrong)[0])
        raise InvalidInput(
            f"image must be from 0 to 1 where it holds floats, got "
            f"{colors[row, column, channel]} at row {row}, column {column}"
        )
    return colors
