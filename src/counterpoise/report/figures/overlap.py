"""Score densities of source, weighted source and target."""

from typing import Any

import numpy as np

from counterpoise.report.figures.canvas import (
    BLUE,
    FIGURE_HEIGHT,
    GREEN,
    INK,
    ORANGE,
    axes,
    percent_ticks,
    svg,
)
from counterpoise.report.figures.drawing import DataTable, Drawing, section_of, thinned
from counterpoise.report.record import Record
from counterpoise.report.wording import figures, lines, sentence, share

_OVERLAP_LINES = (
    ("source", "training", ORANGE, "-"),
    ("weighted", "training weighted", BLUE, (0, (5, 2))),
    ("target", "new", GREEN, "-"),
)


def plot_overlap(fitted: Any, *, ax: Any = None) -> Any:
    """Return an Axes with the densities of the domain score in both samples.

    Parameters
    ----------
    fitted : weighter, Adapted or Record
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> from counterpoise import ULSIF, plot_overlap
    >>> from counterpoise.datasets import make_sinc_shift
    >>> shift = make_sinc_shift(n=80, m=60, random_state=0)
    >>> fitted = ULSIF(gamma=1.0, regularization=0.1)
    >>> fitted = fitted.fit(shift.X, X_target=shift.X_target)
    >>> plot_overlap(fitted).get_ylabel()
    'share of the rows'
    """
    section = section_of(fitted, "overlap")
    return draw_overlap(axes(ax), section)


def draw_overlap(ax: Any, section: dict[str, Any]) -> Any:
    """Draw which share of each sample has which score."""
    found = section["densities"]
    edges = np.array(found["edges"])
    for key, told, color, line in _OVERLAP_LINES:
        values = found.get(key)
        if values is None:
            continue
        if key == "target":
            ax.stairs(values, edges, color=color, alpha=0.2, fill=True)
        ax.stairs(values, edges, color=color, linestyle=line, linewidth=2, label=told)
    ax.axvline(section["threshold"], color=INK, linewidth=1.2, linestyle=(0, (1, 2)))
    ax.set_xlim(0, 1)
    ax.set_ylim(bottom=0)
    percent_ticks(ax.yaxis)
    ax.set_xlabel("how much a row looks like the new data (0 to 1)")
    ax.set_ylabel("share of the rows")
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, columnspacing=1.8)
    return ax


def overlap_drawing(record: Record) -> Drawing | None:
    """Return the picture of the densities."""
    section = record.at("overlap")
    if section is None or not section.get("densities"):
        return None
    found = section["densities"]
    weighted = found.get("weighted") or [None] * len(found["source"])
    rows = lines(
        (figures, found["edges"][:-1]),
        (figures, found["edges"][1:]),
        (share, found["source"]),
        (share, weighted),
        (share, found["target"]),
    )
    return Drawing(
        "overlap",
        "Do the new data lie where you have training data?",
        sentence(
            "Where the curves of training and new rows lie over each other, the "
            "training data can speak for the new. Right of the dotted line live only "
            "the outermost 0.5 % of the training rows."
        ),
        sentence(
            "{} of the new rows lie right of the dotted line, at a score of {}: thinly "
            "covered.",
            share(section["thin"], "overlap.thin"),
            figures(section["threshold"], "overlap.threshold"),
        ),
        (svg(lambda ax: draw_overlap(ax, section), "overlap", height=FIGURE_HEIGHT),),
        DataTable(
            ("score from", "to", "training", "training, weighted", "new"),
            thinned(rows),
        ),
    )
