"""Drawings of paths, trade-offs and segmentations."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from counterpoise.figures.canvas import (
    BLUE,
    GREEN,
    MUTED,
    ORANGE,
    plain_ticks,
    set_labels,
)
from counterpoise.messages.numbers import metric_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What stands below the picture for what moves along a path.
_PARAMETERS = {
    "sample_weight": "how much of the weights (0: as fitted, 1: as given)",
    "mixing": "how much of the weights (0: none, 1: all)",
}
_LOSSES = {
    "error": "share of wrong labels",
    "hinge": "hinge loss",
    "absolute": "mean absolute error",
    "epsilon": "mean error outside the tube",
    "pinball": "pinball loss",
    "1 - NDCG": "1 - NDCG",
}
# Outlines are at least this share of the longer side thick, and one pixel.
_THICKNESS = 1 / 400


def loss_name(loss: str) -> str:
    """Return what a curve shows, in words."""
    return _LOSSES.get(loss) or metric_name(loss).name


def draw_curve(ax: "Axes", curve: Mapping[str, Any]) -> None:
    """Draw an exact validation curve piece by piece, and shade where it is best."""
    starts, values = np.array(curve["thetas"]), np.array(curve["values"])
    stops = np.append(starts[1:], curve["stop"])
    ends = values + (stops - starts) * np.array(curve["slopes"])
    x = np.column_stack([starts, stops]).ravel()
    y = np.column_stack([values, ends]).ravel()
    label = "best" if curve["best"] > values.min() + 1e-12 else "smallest"
    for low, high in curve["optimal_intervals"]:
        if high > low:
            ax.axvspan(low, high, color=GREEN, alpha=0.3, linewidth=0, label=label)
        else:
            ax.axvline(low, color=GREEN, linewidth=2.0, label=label)
        label = "_also"
    ax.plot(x, y, color=BLUE, linewidth=1.6)
    low, high = sorted((float(starts[0]), float(curve["stop"])))
    if low < high:
        ax.set_xlim(low, high)
    parameter = curve["parameter"]
    if parameter == "C" and high > 20.0 * low > 0.0:
        ax.set_xscale("log")
        plain_ticks(ax.xaxis)
    set_labels(ax, _PARAMETERS.get(parameter, parameter), loss_name(curve["loss"]))
    ax.legend()


def draw_trade_off(
    ax: "Axes",
    constraint: str,
    values: Mapping[str, NDArray[np.float64]],
    met: NDArray[np.bool_],
) -> None:
    """Draw objective and loss against a bound, its prices as slopes.

    `values`: "bounds", "objective", "loss" and "price", one of each fit; `met`: which
    bounds were met.
    """
    every = values["bounds"]
    bounds, objective, loss, price = (
        values[key][met] for key in ("bounds", "objective", "loss", "price")
    )
    ax.plot(bounds, objective, "o", color=BLUE, label="objective")
    ax.plot(bounds, loss, ".--", color=ORANGE, label="loss")
    spacing = 0.1 * max(abs(float(every[0])), 1.0)
    if every.size > 1:
        spacing = float(np.abs(np.diff(every)).min())
    ends = np.array([-0.3, 0.3]) * spacing
    label = "price"
    for bound, value, slope in zip(bounds, objective, price, strict=True):
        ax.plot(bound + ends, value - slope * ends, color=BLUE, label=label)
        label = "_also"
    if not met.all():
        missed, low = every[~met], ax.get_ylim()[0]
        ax.plot(missed, np.full(missed.size, low), "x", color=MUTED, label="not met")
    set_labels(ax, constraint, "objective and loss")
    ax.legend()


def draw_segments(
    ax: "Axes", pixels: NDArray[Any], labels: NDArray[np.integer[Any]]
) -> None:
    """Draw an image with the outlines of its segments."""
    is_float = pixels.dtype.kind == "f"
    white = 1.0 if is_float else float(np.iinfo(pixels.dtype).max)
    shown = pixels if pixels.ndim == 2 else pixels[..., :3]
    if shown.ndim == 3 and shown.dtype != np.uint8:
        shown = shown / white
    ax.imshow(shown, cmap="gray", vmin=0, vmax=white)
    at_edge = outline(labels)
    # White with a dark rim is seen on every color.
    overlay = np.zeros((*labels.shape, 4))
    overlay[ndimage.binary_dilation(at_edge)] = (0.0, 0.0, 0.0, 0.6)
    overlay[at_edge] = 1.0
    ax.imshow(overlay)
    ax.set_axis_off()
    count = np.unique(labels).size
    ax.set_title(f"{count} segment{'s' * (count > 1)}")


def outline(labels: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Return which pixels lie at an edge between two segments."""
    thickness = max(round(max(labels.shape) * _THICKNESS), 1)
    at_edge = np.zeros(labels.shape, bool)
    for step in range(1, thickness + 1):
        at_edge[:, :-step] |= labels[:, :-step] != labels[:, step:]
        at_edge[:-step] |= labels[:-step] != labels[step:]
    return at_edge
