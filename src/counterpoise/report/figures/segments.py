"""The outlines of segments on their image."""

from typing import Any

import numpy as np
from scipy import ndimage

from counterpoise.report.figures.canvas import axes
from counterpoise.selection import Segmentation
from counterpoise.validation import InvalidInput

# Outlines are at least this share of the longer side thick, and one pixel.
_THICKNESS = 1 / 400


def plot_segments(image: Any, segments: Any, *, ax: Any = None) -> Any:
    """Return an Axes with an image and the outlines of its segments.

    Parameters
    ----------
    image : array of shape (H, W), (H, W, 3) or (H, W, 4)
        Grey or colour, as `segment` takes it.
    segments : array of shape (H, W), or Segmentation
        Any integers; of a `Segmentation` over several sparsities the last is drawn.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise import plot_segments
    >>> stripes = np.tile(np.arange(6) // 2, (4, 1))
    >>> plot_segments(np.zeros((4, 6)), stripes).get_title()
    '3 segments'
    """
    labels = segments.labels if isinstance(segments, Segmentation) else segments
    labels = np.asarray(labels)
    if isinstance(segments, Segmentation) and labels.ndim == 3:
        labels = labels[-1]
    pixels = np.asarray(image)
    if labels.ndim != 2 or labels.shape != pixels.shape[:2]:
        raise InvalidInput(
            "segments must have the height and width of the image, "
            f"{pixels.shape[:2]}, got {labels.shape}"
        )
    ax = axes(ax)
    ax.imshow(_shown(pixels), cmap="gray", vmin=0, vmax=_largest(pixels))
    at_edge = outline(labels)
    # White with a dark rim is seen on every colour.
    overlay = np.zeros((*labels.shape, 4))
    overlay[ndimage.binary_dilation(at_edge)] = (0.0, 0.0, 0.0, 0.6)
    overlay[at_edge] = 1.0
    ax.imshow(overlay)
    ax.set_axis_off()
    count = np.unique(labels).size
    ax.set_title(f"{count} segment{'s' * (count > 1)}")
    return ax


def outline(labels: Any) -> Any:
    """Return which pixels lie at an edge between two segments."""
    thickness = max(round(max(labels.shape) * _THICKNESS), 1)
    at_edge = np.zeros(labels.shape, bool)
    for step in range(1, thickness + 1):
        at_edge[:, :-step] |= labels[:, :-step] != labels[:, step:]
        at_edge[:-step] |= labels[:-step] != labels[step:]
    return at_edge


def _largest(pixels: Any) -> float:
    """Return what white is."""
    return 1.0 if pixels.dtype.kind == "f" else float(np.iinfo(pixels.dtype).max)


def _shown(pixels: Any) -> Any:
    """Return the image as matplotlib takes it: words become floats, alpha goes."""
    if pixels.ndim == 2:
        return pixels
    colors = pixels[..., :3]
    return colors if pixels.dtype == np.uint8 else colors / _largest(pixels)
