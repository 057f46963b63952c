"""Over-segmentation: small regions that the segments are put together from."""

import math
from typing import Any

from counterpoise.numerics.arrays import Indices
from counterpoise.selection.segmentation.boundaries import boundary_strength
from counterpoise.selection.segmentation.image import Picture, image_extra
from counterpoise.selection.segmentation.labels import as_label_image
from counterpoise.validation import InvalidInput, check_choice

WAYS = ("felzenszwalb", "slic", "watershed")
# Regions that a picture of any size is cut into by "slic" and "watershed".
_N_REGIONS = 200
# What "felzenszwalb" calls a region grows with the picture: its scale with the side,
# from 60 on, because steps between neighbouring pixels shrink as sides grow; its least
# size with the pixels, from 20 on.
_LEAST_SCALE, _SCALE, _PIXELS = 60.0, 61.7604, 481 * 321
_LEAST_PIXELS, _LEAST_SHARE = 20, 1e-3


def regions_of(picture: Picture, oversegmentation: Any) -> Indices:
    """Return the region of every pixel, 0..n-1.

    Parameters
    ----------
    picture : Picture
    oversegmentation : {"felzenszwalb", "slic", "watershed"} or array of shape (H, W)
        How regions are found, or the regions themselves as any integers.
    """
    shape = picture.luminance.shape
    if not isinstance(oversegmentation, str) and oversegmentation is not None:
        regions = as_label_image("oversegmentation", oversegmentation)
        if regions.shape != shape:
            raise InvalidInput(
                f"oversegmentation must have the shape of the image, {shape}, "
                f"got {regions.shape}"
            )
        return regions
    check_choice("oversegmentation", oversegmentation, WAYS)
    with image_extra():
        from skimage.segmentation import felzenszwalb, slic, watershed

    if oversegmentation == "felzenszwalb":
        n_pixels = picture.luminance.size
        found = felzenszwalb(
            picture.rgb,
            scale=max(_SCALE * math.sqrt(n_pixels / _PIXELS), _LEAST_SCALE),
            sigma=0.8,
            min_size=max(round(_LEAST_SHARE * n_pixels), _LEAST_PIXELS),
        )
    elif oversegmentation == "slic":
        found = slic(picture.rgb, _N_REGIONS, compactness=10.0, start_label=0)
    else:
        found = watershed(boundary_strength(picture.lab), _N_REGIONS)
    return as_label_image("regions", found)
