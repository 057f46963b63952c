"""Where an image changes."""

import numpy as np
from scipy import ndimage

from counterpoise.numerics.arrays import Array

# Standard deviation, in pixels, of the blur before differences are taken.
_BLUR = 1.0
# The percentile of the strength that counts as one.
_STRONG = 99.0


def boundary_strength(lab: Array) -> Array:
    """Return the length of the colour gradient, in units of its 99th percentile.

    Zero everywhere where the colours are constant.

    Parameters
    ----------
    lab : array of shape (H, W, 3)
        CIELAB.
    """
    blurred = [ndimage.gaussian_filter(lab[..., k], _BLUR) for k in range(3)]
    slopes = [ndimage.sobel(one, axis) for one in blurred for axis in (0, 1)]
    strength = np.sqrt(np.sum(np.square(slopes), axis=0))
    strong = np.percentile(strength, _STRONG)
    return strength / strong if strong > 0 else strength
