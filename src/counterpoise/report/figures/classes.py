"""Which classes the target seems to have, and how their weights came about."""

from typing import Any

from counterpoise.report.figures.canvas import (
    BLUE,
    MUTED,
    ORANGE,
    axes,
    name_ticks,
    percent_ticks,
    svg,
)
from counterpoise.report.figures.drawing import DataTable, Drawing
from counterpoise.report.record import Record
from counterpoise.report.sections.classes import classes_section
from counterpoise.report.titled_table import TitledTable
from counterpoise.report.wording import Name, count, figures, sentence, share
from counterpoise.validation import InvalidInput

CLASS_PICTURES = ("shares", "training")
# Classes in a picture, those of the largest shares first.
CLASSES_DRAWN = 40


def plot_classes(fitted: Any, *, kind: str = "shares", ax: Any = None) -> Any:
    """Return an Axes with the classes of the target.

    Parameters
    ----------
    fitted : Adapted with `weighter="partial"`, PartialWeights, network or Record
    kind : {"shares", "training"}
        The estimated share of every class, those judged absent marked; or the weights
        of the classes over the training of a network.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> from counterpoise import PartialWeights, plot_classes
    >>> from counterpoise.datasets import make_class_subset
    >>> shift = make_class_subset(separation=8.0, random_state=0)
    >>> fitted = PartialWeights(random_state=0).fit(
    ...     shift.X, shift.y, X_target=shift.X_target
    ... )
    >>> plot_classes(fitted).get_xlabel()
    'estimated share of the new data (x: judged absent)'
    """
    if kind not in CLASS_PICTURES:
        raise InvalidInput(
            f"kind must be one of {', '.join(CLASS_PICTURES)}, got {kind!r}"
        )
    record = isinstance(fitted, Record)
    section = fitted.at("classes") if record else classes_section(fitted)
    if section is None:
        raise InvalidInput(
            "there are no classes to draw: fit PartialWeights, or "
            "Adapted(weighter='partial'), with a target"
        )
    if kind == "training":
        if section["training"] is None:
            raise InvalidInput("there is no training to draw: weights came at once")
        return draw_training(axes(ax), section)
    drawn = min(len(section["names"]), CLASSES_DRAWN)
    return draw_shares(axes(ax, height=1.2 + 0.2 * drawn), section)


def draw_shares(ax: Any, section: dict[str, Any]) -> Any:
    """Draw the shares of the classes, largest first, absent ones marked."""
    order = _largest_first(section)
    shares = [section["prior"][k] for k in order]
    colors = [MUTED if section["absent"][k] else BLUE for k in order]
    ax.barh(range(len(order)), shares, height=0.72, color=colors)
    for place, k in enumerate(order):
        if section["absent"][k]:
            ax.plot(shares[place], place, "x", color=ORANGE, markersize=6)
    name_ticks(ax, [section["names"][k] for k in order])
    ax.set_ylim(len(order) - 0.4, -0.6)
    ax.set_xlim(left=0.0)
    percent_ticks(ax.xaxis)
    ax.set_xlabel("estimated share of the new data (x: judged absent)")
    return ax


def draw_training(ax: Any, section: dict[str, Any]) -> Any:
    """Draw the weight of every class over the iterations."""
    steps = section["training"]["iteration"]
    for k, absent in enumerate(section["absent"]):
        heights = [one[k] for one in section["training"]["weight"]]
        ax.plot(steps, heights, color=MUTED if absent else BLUE, linewidth=1)
    ax.set_xlabel("iteration (grey: judged absent)")
    ax.set_ylabel("weight of a class")
    ax.set_ylim(bottom=0.0)
    return ax


def classes_drawing(record: Record) -> Drawing | None:
    """Return the picture of the classes of the new data."""
    section = record.at("classes")
    if section is None:
        return None
    order = _largest_first(section)
    rows = tuple(
        (
            Name(section["names"][k]),
            share(section["prior"][k]),
            figures(section["weight"][k]),
            "absent" if section["absent"][k] else "",
        )
        for k in order
    )
    return Drawing(
        "classes",
        "Which classes do the new data have?",
        sentence(
            "A bar is the share of the new data that a class is estimated to have. "
            "Training rows of classes judged absent are left out; a class of one or "
            "two new rows will be among them."
        ),
        sentence(
            "{} of {} classes are judged absent.",
            count(section["n_absent"], "classes.n_absent"),
            count(len(section["names"])),
        ),
        (
            svg(
                lambda ax: draw_shares(ax, section),
                "classes",
                height=1.0 + 0.2 * len(order),
            ),
        ),
        DataTable(("class", "share", "weight", "judged"), rows),
    )


def overruled_table(record: Record) -> TitledTable | None:
    """Return where rows went that the classifier had put into absent classes."""
    section = record.at("classes")
    if section is None or not section["overruled"]:
        return None
    rows = tuple(
        (
            Name(one["from"]),
            count(one["rows"]),
            Name(one["mostly_to"]),
            share(one["share"]),
        )
        for one in section["overruled"]
    )
    return TitledTable(
        "overruled",
        "Rows of classes judged absent",
        sentence(
            "New rows that the classifier alone would have put into a class judged "
            "absent, and the class that most of them got. Of fewer than five rows "
            "nothing is told."
        ),
        DataTable(("class", "rows", "mostly to", "share"), rows),
        in_text=True,
    )


def _largest_first(section: dict[str, Any]) -> list[int]:
    prior = section["prior"]
    return sorted(range(len(prior)), key=lambda k: -prior[k])[:CLASSES_DRAWN]
