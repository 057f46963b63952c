"""The love plot: how far apart each column is, before and after weighting."""

from typing import Any

from counterpoise.report.figures.canvas import (
    BLUE,
    MUTED,
    ORANGE,
    axes,
    name_ticks,
    svg,
)
from counterpoise.report.figures.drawing import DataTable, Drawing, section_of
from counterpoise.report.record import Record
from counterpoise.report.wording import Name, brief, figures, sentence, whole

# Columns in the picture and in the table, those that differed most.
BALANCE_DRAWN, BALANCE_LISTED = 20, 50


def plot_balance(fitted: Any, *, most: int = BALANCE_DRAWN, ax: Any = None) -> Any:
    """Return an Axes with each column's difference before and after weighting.

    A love plot: absolute standardised mean differences, with a guide at 0.1.

    Parameters
    ----------
    fitted : weighter, Adapted or Record
    most : int
        Columns to draw, those that differed most.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> from counterpoise import ULSIF, plot_balance
    >>> from counterpoise.datasets import make_sinc_shift
    >>> shift = make_sinc_shift(n=80, m=60, random_state=0)
    >>> fitted = ULSIF(gamma=1.0, regularization=0.1)
    >>> fitted = fitted.fit(shift.X, X_target=shift.X_target)
    >>> plot_balance(fitted).get_xlabel()
    'difference, in standard deviations'
    """
    section = section_of(fitted, "balance")
    n = min(most, len(section["features"]))
    return draw_balance(axes(ax, _height(n)), section, most)


def draw_balance(ax: Any, section: dict[str, Any], most: int = BALANCE_DRAWN) -> Any:
    """Draw the columns that differed most, the first on top."""
    shown = section["features"][:most]
    place = range(len(shown))
    before, after = ([one[key] for one in shown] for key in ("before", "after"))
    ax.hlines(place, after, before, color=MUTED, linewidth=1, alpha=0.6)
    ax.scatter(
        before,
        place,
        s=34,
        facecolor="none",
        edgecolor=ORANGE,
        linewidth=1.8,
        label="as they are",
    )
    ax.scatter(after, place, s=30, marker="s", color=BLUE, label="weighted")
    ax.axvline(section["guide"], color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)))
    name_ticks(ax, [one["name"] for one in shown])
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(left=0.0)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", color=MUTED, alpha=0.2, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.set_xlabel("difference, in standard deviations")
    ax.legend(loc="lower right")
    return ax


def balance_drawing(record: Record) -> Drawing | None:
    """Return the love plot."""
    section = record.at("balance")
    if section is None or not section.get("features"):
        return None
    listed = section["features"][:BALANCE_LISTED]
    total = section["columns"]
    note = (
        ""
        if total <= BALANCE_LISTED
        else f"The {BALANCE_LISTED} of {total:,} that differed most."
    )
    rows = tuple(
        (Name(one["name"]), figures(one["before"]), figures(one["after"]))
        for one in listed
    )
    height = _height(min(BALANCE_DRAWN, len(listed)))
    some = ""
    if total > BALANCE_DRAWN:
        some = f" The picture has the {BALANCE_DRAWN} columns that differed most."
    return Drawing(
        "balance",
        "Do weighted training rows look like the new data?",
        sentence(
            "For every column: how far the training mean is from the mean of the new "
            "data, as the rows are (circle) and weighted (square). Squares left of the "
            "dashed line at 0.1 are close enough." + some
        ),
        sentence(
            "Of {} columns, {} were further apart than {} as they are, and {} are "
            "after weighting; the largest difference goes from {} to {}.",
            whole(total, "balance.columns"),
            whole(section["above_before"], "balance.above_before"),
            brief(section["guide"], "balance.guide"),
            whole(section["above_after"], "balance.above_after"),
            figures(section["largest_before"], "balance.largest_before"),
            figures(section["largest_after"], "balance.largest_after"),
        ),
        (svg(lambda ax: draw_balance(ax, section), "balance", height=height),),
        DataTable(("column", "as they are", "weighted"), rows, note),
    )


def _height(n: int) -> float:
    return 1.1 + 0.24 * max(n, 4)
