"""The columns that differ most, part by part, before and after weighting."""

from functools import partial
from typing import Any

from counterpoise.report.figures.canvas import (
    BLUE,
    MUTED,
    ORANGE,
    label,
    percent_ticks,
    svg,
)
from counterpoise.report.figures.drawing import DataTable, Drawing
from counterpoise.report.parts import part_cell, part_in_words
from counterpoise.report.record import Record
from counterpoise.report.wording import (
    Cell,
    Name,
    figures,
    joined,
    readable,
    sentence,
    share,
)

# Of a column's name as the heading of its picture.
LONGEST_TITLE = 36
# Inches of each of three pictures side by side.
SMALL_WIDTH = 3.8


def draw_column(ax: Any, column: dict[str, Any]) -> Any:
    """Draw the shares of a column's parts, the target as bars."""
    parts = column["parts"]
    place = list(range(len(parts)))
    source, weighted, target = (
        [one[key] for one in parts] for key in ("source", "weighted", "target")
    )
    ax.barh(place, target, height=0.72, color=MUTED, alpha=0.35, label="new data")
    ax.scatter(
        source,
        place,
        s=34,
        facecolor="none",
        edgecolor=ORANGE,
        linewidth=1.8,
        label="as they are",
        zorder=3,
    )
    ax.scatter(
        weighted, place, s=30, marker="s", color=BLUE, label="weighted", zorder=3
    )
    part_ticks(ax, column)
    ax.set_ylim(len(parts) - 0.4, -0.6)
    ax.set_xlim(left=0.0)
    ax.locator_params(axis="x", nbins=5)
    percent_ticks(ax.xaxis)
    ax.tick_params(axis="y", length=0)
    title_of(ax, column["name"])
    ax.set_xlabel("share of the rows")
    return ax


def part_ticks(ax: Any, column: dict[str, Any]) -> None:
    """Write a column's parts along the left; names from data are cut, ranges not."""
    words = [part_in_words(one, column["kind"]) for one in column["parts"]]
    told = [label(one.text) if isinstance(one, Name) else str(one) for one in words]
    ax.set_yticks(range(len(told)), told)
    for text in ax.get_yticklabels():
        text.set_parse_math(False)


def title_of(ax: Any, name: str) -> None:
    """Write a column's name above its picture, as it is."""
    told = readable(name, LONGEST_TITLE)
    # Above the whole picture: there is more room than above the axes.
    text = ax.figure.suptitle(told, x=0.01, ha="left", fontsize=11)
    text.set_parse_math(False)


def worst_columns_drawing(record: Record) -> Drawing | None:
    """Return the distributions of the columns that differ most."""
    worst = record.at("balance.worst")
    if not worst:
        return None
    pictures = tuple(
        svg(
            partial(draw_column, column=one),
            f"worst-{k}",
            width=SMALL_WIDTH,
            height=1.3 + 0.25 * max(len(one["parts"]), 3),
        )
        for k, one in enumerate(worst)
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            Name(one["name"]),
            part_cell(part, one["kind"]),
            share(part["source"]),
            share(part["weighted"]),
            share(part["target"]),
        )
        for one in worst
        for part in one["parts"]
    )
    told = joined(
        [
            sentence(
                "{}: the means are {} standard deviations apart as they are, {} "
                "weighted.",
                Name(one["name"]),
                figures(one["before"], f"balance.worst.{k}.before"),
                figures(one["after"], f"balance.worst.{k}.after"),
            )
            for k, one in enumerate(worst)
        ]
    )
    return Drawing(
        "worst",
        "The columns that differ most, before and after weighting",
        sentence(
            "Bars: how many of the new rows have such a value. Circles: how many of "
            "the training rows, as they are; squares: the same, weighted. Where "
            "weighting works the squares lie at the ends of the bars. What fewer than "
            "5 rows have is not named."
        ),
        told,
        pictures,
        DataTable(("column", "value", "as they are", "weighted", "new data"), rows),
    )
