"""Drawings of the shift: domain scores, balance, columns, spectra, classes."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoise.figures.canvas import (
    BLUE,
    DASHED,
    GREEN,
    INK,
    MUTED,
    ORANGE,
    draw_diagonal,
    draw_grid,
    percent_ticks,
    set_labels,
    set_rows,
    set_title,
    short_names,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    Section = Mapping[str, Any]

# Columns of the love plot, those that differed most, and classes in a picture.
BALANCE_DRAWN, CLASSES_DRAWN = 20, 40
_SCORES = (
    ("source", "training", ORANGE, "-"),
    ("weighted", "training weighted", BLUE, (0, (5, 2))),
    ("target", "new", GREEN, "-"),
)


def draw_roc(ax: "Axes", overlap: "Section") -> None:
    """Draw the share of target rows found against that of source rows mistaken."""
    roc = overlap["roc"]
    draw_diagonal(ax)
    ax.fill_between(roc["source"], roc["target"], color=BLUE, alpha=0.13, linewidth=0)
    ax.plot(roc["source"], roc["target"], color=BLUE)
    ax.text(0.62, 0.55, "guessing", color=MUTED, ha="left", va="top")
    ax.set(xlim=(0, 1), ylim=(0, 1.005))
    percent_ticks(ax.xaxis, ax.yaxis)
    set_labels(ax, "training rows mistaken for new ones", "new rows recognised")


def draw_overlap(ax: "Axes", section: "Section") -> None:
    """Draw which share of each sample has which score."""
    densities = section["densities"]
    edges = np.array(densities["edges"])
    for key, label, color, line in _SCORES:
        values = densities.get(key)
        if values is None:
            continue
        if key == "target":
            ax.stairs(values, edges, color=color, alpha=0.2, fill=True)
        ax.stairs(values, edges, color=color, linestyle=line, linewidth=2, label=label)
    ax.axvline(section["threshold"], color=INK, linewidth=1.2, linestyle=(0, (1, 2)))
    ax.set(xlim=(0, 1), ylim=(0, None))
    percent_ticks(ax.yaxis)
    label = "how much a row looks like the new data (0 to 1)"
    set_labels(ax, label, "share of the rows")
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, columnspacing=1.8)


def draw_balance(ax: "Axes", section: "Section", most: int = BALANCE_DRAWN) -> None:
    """Draw the love plot: the columns that differed most, the first on top."""
    features = section["features"][:most]
    before, after = ([one[key] for one in features] for key in ("before", "after"))
    ax.hlines(range(len(features)), after, before, color=MUTED, linewidth=1, alpha=0.6)
    _draw_pairs(ax, before, after)
    ax.axvline(section["guide"], color=MUTED, linewidth=1.2, linestyle=DASHED)
    set_rows(ax, short_names([one["name"] for one in features]))
    ax.set_xlim(left=0.0)
    draw_grid(ax, "y")
    set_labels(ax, "difference, in standard deviations")
    ax.legend(loc="lower right")


def draw_column(ax: "Axes", column: "Section", names: Sequence[str]) -> None:
    """Draw the shares of a column's parts, the target as bars."""
    source, weighted, target = (
        [one[key] for one in column["parts"]]
        for key in ("source", "weighted", "target")
    )
    place = range(len(names))
    ax.barh(place, target, height=0.72, color=MUTED, alpha=0.35, label="new data")
    _draw_pairs(ax, source, weighted)
    set_rows(ax, names)
    ax.set_xlim(left=0.0)
    ax.locator_params(axis="x", nbins=5)
    percent_ticks(ax.xaxis)
    set_title(ax, column["name"])
    set_labels(ax, "share of the rows")


def _draw_pairs(ax: "Axes", before: Sequence[float], after: Sequence[float]) -> None:
    """Draw a circle and a square in every row."""
    place = range(len(before))
    circle = {"s": 34, "facecolor": "none", "edgecolor": ORANGE, "linewidth": 1.8}
    ax.scatter(before, place, label="as they are", zorder=3, **circle)  # type: ignore[arg-type]
    ax.scatter(after, place, 30, BLUE, marker="s", label="weighted", zorder=3)


def draw_spectrum(ax: "Axes", before: list[float], after: list[float]) -> None:
    """Draw the eigenvalues of the difference of the second moments, from the top."""
    from matplotlib.ticker import MaxNLocator

    ax.axhline(0, color=MUTED, linewidth=0.8)
    for values, color, marker, label in (
        (before, ORANGE, "o", "before weighting"),
        (after, BLUE, "s", "after weighting"),
    ):
        if values:
            place = range(1, len(values) + 1)
            style = {"color": color, "marker": marker, "markersize": 4}
            ax.plot(place, values, label=label, **style)  # type: ignore[arg-type]
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    set_labels(ax, "direction, from the top", "new minus training spread")
    ax.legend()


def largest_classes(section: "Section") -> list[int]:
    """Return the places of the classes that are drawn, the largest share first."""
    prior = section["prior"]
    return sorted(range(len(prior)), key=lambda k: -prior[k])[:CLASSES_DRAWN]


def draw_class_shares(ax: "Axes", section: "Section") -> None:
    """Draw the shares of the classes, largest first, absent ones marked."""
    order = largest_classes(section)
    shares = [section["prior"][k] for k in order]
    colors = [MUTED if section["absent"][k] else BLUE for k in order]
    ax.barh(range(len(order)), shares, height=0.72, color=colors)
    for place, k in enumerate(order):
        if section["absent"][k]:
            ax.plot(shares[place], place, "x", color=ORANGE, markersize=6)
    set_rows(ax, short_names([section["names"][k] for k in order]))
    ax.set_xlim(left=0.0)
    percent_ticks(ax.xaxis)
    set_labels(ax, "estimated share of the new data (x: judged absent)")


def draw_class_training(ax: "Axes", section: "Section") -> None:
    """Draw the weight of every class over the iterations."""
    training = section["training"]
    for k, absent in enumerate(section["absent"]):
        heights = [one[k] for one in training["weight"]]
        color = MUTED if absent else BLUE
        ax.plot(training["iteration"], heights, color=color, linewidth=1)
    ax.set_ylim(bottom=0.0)
    set_labels(ax, "iteration (grey: judged absent)", "weight of a class")
