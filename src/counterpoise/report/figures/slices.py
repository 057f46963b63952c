"""The loss on parts of the target, by the columns that moved most."""

from functools import partial
from typing import Any

from counterpoise.report.answers import is_contradicted
from counterpoise.report.figures.canvas import BLUE, MUTED, ORANGE, label, svg
from counterpoise.report.figures.columns import SMALL_WIDTH, part_ticks, title_of
from counterpoise.report.figures.drawing import DataTable, Drawing
from counterpoise.report.metric_names import metric_in_words
from counterpoise.report.parts import part_cell, part_in_words
from counterpoise.report.record import Record
from counterpoise.report.wording import (
    Cell,
    Name,
    Sentence,
    brief,
    count,
    figures,
    sentence,
    share,
)

_SLICE_HEADER = (
    "column",
    "value",
    "of the new data",
    "effective rows",
    "expected",
    "low",
    "high",
)


def draw_slices(
    ax: Any, column: dict[str, Any], whole: float | None, metric: str
) -> Any:
    """Draw a column's parts with the metric on each, and that on the whole target."""
    column = _known_parts(column)
    parts = column["parts"]
    if whole is not None:
        ax.axvline(whole, color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)))
    for place, part in enumerate(parts):
        one = part.get("estimate")
        if one is None:
            continue
        color = BLUE
        if whole is not None and not one["low"] <= whole <= one["high"]:
            color = ORANGE
        ax.hlines(place, one["low"], one["high"], color=color, linewidth=2)
        ax.plot(one["value"], place, "D", color=color, markersize=7)
    part_ticks(ax, column)
    ax.locator_params(axis="x", nbins=4)
    ax.set_ylim(len(parts) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=MUTED, alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    title_of(ax, column["name"])
    ax.set_xlabel(label(metric_in_words(metric).name))
    ax.xaxis.label.set_parse_math(False)
    return ax


def slices_drawing(record: Record) -> Drawing | None:
    """Return the pictures of the loss by slices of the target."""
    section = record.at("performance.slices")
    if section is None or not section.get("columns") or is_contradicted(record):
        return None
    metric, columns = str(section["metric"]), section["columns"]
    whole = record.at("performance.metrics", {}).get(metric, {}).get("doubly_robust")
    middle = None if whole is None else whole.get("value")
    pictures = tuple(
        svg(
            partial(draw_slices, column=one, whole=middle, metric=metric),
            f"slice-{k}",
            width=SMALL_WIDTH,
            height=1.3 + 0.36 * max(len(_known_parts(one)["parts"]), 2),
        )
        for k, one in enumerate(columns)
        if _has_known(one) or not any(map(_has_known, columns))
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            Name(one["name"]),
            part_cell(part, one["kind"]),
            share(part["share"]),
            count(part["effective_rows"]),
            *_estimate(part),
        )
        for one in columns
        for part in one["parts"]
    )
    return Drawing(
        "slices",
        "Where will the model do worse, where better?",
        sentence(
            "The new rows in parts, by the columns that moved most. Diamonds: the "
            "{} to expect on each part, with its interval; the dashed line: "
            "on all new rows. Orange: the interval does not reach the line. Parts "
            "where training rows are worth fewer than {} rows are left out.",
            _called(metric),
            brief(section["fewest"], "performance.slices.fewest"),
        ),
        _told(section, metric),
        pictures,
        DataTable(
            _SLICE_HEADER,
            rows,
            "Effective rows: as how many equally weighted training rows there are for "
            "this part. Intervals hold one by one: of many some miss.",
        ),
    )


def _known_parts(column: dict[str, Any]) -> dict[str, Any]:
    """Return a column with the parts of which something is known; all if none is."""
    known = [part for part in column["parts"] if part.get("estimate") is not None]
    return {**column, "parts": known or column["parts"]}


def _has_known(column: dict[str, Any]) -> bool:
    return any(part.get("estimate") is not None for part in column["parts"])


def _estimate(part: dict[str, Any]) -> tuple[Cell, ...]:
    one = part.get("estimate")
    if one is None:
        return "too few rows", None, None
    return tuple(figures(one[key], digits=4) for key in ("value", "low", "high"))


def _told(section: dict[str, Any], metric: str) -> Sentence:
    """Return the extreme parts in words."""
    known = [
        (part["estimate"]["value"], k, j)
        for k, column in enumerate(section["columns"])
        for j, part in enumerate(column["parts"])
        if part.get("estimate") is not None
    ]
    if not known:
        return sentence("Everywhere there are too few training rows to tell.")
    ends = (max(known), min(known))
    told = [
        (
            Name(section["columns"][k]["name"]),
            _quoted(section["columns"][k]["parts"][j], section["columns"][k]["kind"]),
            figures(value, f"performance.slices.columns.{k}.parts.{j}.estimate.value"),
        )
        for value, k, j in ends
    ]
    if len(known) == 1:
        return sentence(
            "The {} is known on one part alone, where {} is {}: {}.",
            _called(metric),
            *told[0],
        )
    return sentence(
        "The highest {} is expected where {} is {}: {}; the lowest where {} is {}: {}.",
        _called(metric),
        *told[0],
        *told[1],
    )


def _called(metric: str) -> Name:
    return Name(metric_in_words(metric).name)


def _quoted(part: dict[str, Any], kind: str) -> Cell:
    said = part_in_words(part, kind)
    return said if said not in ("no value", "all others") else f"({said})"
