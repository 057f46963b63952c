"""Figures of weights, balance, columns and overlap."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from counterpoise.errors import InvalidInputError
from counterpoise.report.figures.canvas import (
    BLUE,
    FIGURE_HEIGHT,
    GREEN,
    INK,
    MUTED,
    ORANGE,
    DataTable,
    Drawing,
    axes,
    label,
    name_ticks,
    percent_ticks,
    plain_ticks,
    section_of,
    svg,
    thinned,
)
from counterpoise.report.formatting import (
    Cell,
    Name,
    brief,
    count,
    figures,
    joined,
    lines,
    part_cell,
    part_in_words,
    readable,
    sentence,
    share,
    whole,
)
from counterpoise.report.report import Record

# -----------------------------------------------------------------------------
# The love plot: how far apart each column is, before and after weighting.
# -----------------------------------------------------------------------------


# Columns in the picture and in the table, those that differed most.
BALANCE_DRAWN, BALANCE_LISTED = 20, 50


def plot_balance(fitted: Any, *, most: int = BALANCE_DRAWN, ax: Any = None) -> Any:
    """Return an Axes with each column's difference before and after weighting.

    A love plot: absolute standardised mean differences, with a guide at 0.1.

    Parameters
    ----------
    fitted : weight estimator, Adapted or Record
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


# -----------------------------------------------------------------------------
# The columns that differ most, part by part, before and after weighting.
# -----------------------------------------------------------------------------


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
    parts = [(one, part) for one in worst for part in one["parts"]]
    shares = lines(
        *(
            (share, [p[key] for _, p in parts])
            for key in ("source", "weighted", "target")
        )
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (Name(one["name"]), part_cell(part, one["kind"]), *of_part)
        for (one, part), of_part in zip(parts, shares, strict=True)
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


# -----------------------------------------------------------------------------
# Score densities of source, weighted source and target.
# -----------------------------------------------------------------------------


_OVERLAP_LINES = (
    ("source", "training", ORANGE, "-"),
    ("weighted", "training weighted", BLUE, (0, (5, 2))),
    ("target", "new", GREEN, "-"),
)


def plot_overlap(fitted: Any, *, ax: Any = None) -> Any:
    """Return an Axes with the densities of the domain score in both samples.

    Parameters
    ----------
    fitted : weight estimator, Adapted or Record
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
            share(section["uncovered_fraction"], "overlap.uncovered_fraction"),
            figures(section["threshold"], "overlap.threshold"),
        ),
        (svg(lambda ax: draw_overlap(ax, section), "overlap", height=FIGURE_HEIGHT),),
        DataTable(
            ("score from", "to", "training", "training, weighted", "new"),
            thinned(rows),
        ),
    )


# -----------------------------------------------------------------------------
# What the weights are like, and what they are worth.
# -----------------------------------------------------------------------------


WEIGHT_PICTURES = ("sorted", "histogram", "lorenz", "clipping")


def plot_weights(fitted: Any, *, kind: str = "sorted", ax: Any = None) -> Any:
    """Return an Axes with the weights, and what they are worth.

    Parameters
    ----------
    fitted : weight estimator, Adapted or Record
    kind : {"sorted", "histogram", "lorenz", "clipping"}
        The weights in descending order; how many rows have which weight; the share of
        all weight that the lightest rows have; the effective size if no weight
        exceeded a bound.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> from counterpoise import ULSIF, plot_weights
    >>> from counterpoise.datasets import make_sinc_shift
    >>> shift = make_sinc_shift(n=80, m=60, random_state=0)
    >>> fitted = ULSIF(gamma=1.0, regularization=0.1)
    >>> fitted = fitted.fit(shift.X, X_target=shift.X_target)
    >>> plot_weights(fitted).get_ylabel()
    'weight'
    """
    if kind not in WEIGHT_PICTURES:
        raise InvalidInputError(
            f"kind must be one of {', '.join(WEIGHT_PICTURES)}, got {kind!r}"
        )
    if not isinstance(fitted, Record):
        check_is_fitted(fitted, "weights_")
    section = section_of(fitted, "weights")
    ax = axes(ax)
    if kind == "sorted":
        # A fitted object has every weight, a record some.
        weights = getattr(fitted, "weights_", None)
        return _draw_sorted(ax, section, weights)
    return {
        "histogram": draw_histogram,
        "lorenz": draw_lorenz,
        "clipping": draw_clipping,
    }[kind](ax, section)


def _draw_sorted(ax: Any, section: dict[str, Any], weights: Any) -> Any:
    share_of_rows, heights = section["curve"]["share"], section["curve"]["weight"]
    effective, n = section["effective_size"], section["rows"]
    if weights is not None:
        heights = np.sort(np.asarray(weights))[::-1]
        n = heights.size
        share_of_rows = (np.arange(n) + 0.5) / n
        effective = float(heights.sum() ** 2 / (heights @ heights))
    ax.fill_between(share_of_rows, heights, step="mid", color=BLUE, alpha=0.25)
    ax.plot(share_of_rows, heights, color=BLUE)
    ax.axhline(1.0, color=MUTED, linewidth=1)
    ax.set_title(
        f"{effective:.0f} effective rows of {n}; largest weight {heights[0]:.3g}",
        fontsize=10,
    )
    ax.set_xlabel("share of the source rows")
    ax.set_ylabel("weight")
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(bottom=0.0)
    return ax


def draw_histogram(ax: Any, section: dict[str, Any]) -> Any:
    """Draw how many rows have which weight."""
    found = section["histogram"]
    edges = np.array(found["edges"])
    ax.bar(
        edges[:-1],
        found["rows"],
        width=np.diff(edges),
        align="edge",
        color=BLUE,
        alpha=0.8,
        edgecolor=BLUE,
        linewidth=0.4,
    )
    if found["log"]:
        ax.set_xscale("log")
        plain_ticks(ax.xaxis)
    ax.axvline(1.0, color=INK, linewidth=1.2, linestyle=(0, (4, 3)))
    ax.set_xlabel("weight of a training row (dashed: 1, as without weights)")
    ax.set_ylabel("training rows")
    return ax


def draw_lorenz(ax: Any, section: dict[str, Any]) -> Any:
    """Draw the share of all weight that the lightest rows have."""
    found = section["lorenz"]
    ax.plot([0, 1], [0, 1], color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)))
    ax.fill_between(found["rows"], found["mass"], color=BLUE, alpha=0.13, linewidth=0)
    ax.plot(found["rows"], found["mass"], color=BLUE)
    ax.text(0.40, 0.55, "all alike", color=MUTED, ha="right")
    ax.set(xlim=(0, 1), ylim=(0, 1))
    percent_ticks(ax.xaxis)
    percent_ticks(ax.yaxis)
    ax.set_xlabel("training rows, lightest first")
    ax.set_ylabel("share of all weight")
    return ax


def draw_clipping(ax: Any, section: dict[str, Any]) -> Any:
    """Draw the effective size against a bound of the weights."""
    found = section["clipping"]
    if not found:
        raise InvalidInputError("all weights are equal: there is nothing to clip")
    bounds = [one["bound"] for one in found]
    ax.plot(
        bounds,
        [one["effective_share"] for one in found],
        color=BLUE,
        marker="o",
        markersize=4.5,
        label="effective size",
    )
    ax.plot(
        bounds,
        [one["moved"] for one in found],
        color=ORANGE,
        marker="s",
        markersize=4.5,
        linestyle=(0, (4, 2)),
        label="weight taken away",
    )
    ax.set_xscale("log")
    plain_ticks(ax.xaxis)
    ax.set_ylim(-0.02, 1.04)
    percent_ticks(ax.yaxis)
    ax.set_xlabel("largest weight allowed")
    ax.set_ylabel("share")
    ax.legend()
    return ax


def weights_drawing(record: Record) -> Drawing | None:
    """Return the pictures of the weights themselves."""
    section = record.at("weights")
    if section is None or not section.get("histogram") or not section.get("lorenz"):
        return None
    if section.get("weight_estimator") is None:
        return None
    found = section["histogram"]
    rows = lines(
        (figures, found["edges"][:-1]),
        (figures, found["edges"][1:]),
        (count, found["rows"]),
    )
    return Drawing(
        "weights",
        "How much does each training row count?",
        sentence(
            "A weight above 1 lets a row count more because rows like it are more "
            "common in the new data, one below 1 less. First: how many rows have which "
            "weight. Then: how evenly the weight is spread; the deeper the curve "
            "hangs, the fewer rows carry it."
        ),
        sentence(
            "Weights from {} to {}. The heaviest 1 % of the rows carry {} of all "
            "weight; together the rows are worth {} of {} equal ones.",
            figures(section["smallest"], "weights.smallest"),
            figures(section["largest"], "weights.largest"),
            share(section["share_of_top_percent"], "weights.share_of_top_percent"),
            count(section["effective_size"], "weights.effective_size"),
            count(section["rows"], "weights.rows"),
        ),
        (
            svg(
                lambda ax: draw_histogram(ax, section), "weights", height=FIGURE_HEIGHT
            ),
            svg(lambda ax: draw_lorenz(ax, section), "lorenz", height=FIGURE_HEIGHT),
        ),
        DataTable(("weight from", "to", "training rows"), thinned(rows)),
    )


def clipping_drawing(record: Record) -> Drawing | None:
    """Return the picture of what smaller weights would be worth."""
    section = record.at("weights")
    if section is None or not section.get("clipping"):
        return None
    rows = lines(
        (figures, [one["bound"] for one in section["clipping"]]),
        (share, [one["effective_share"] for one in section["clipping"]]),
        (share, [one["moved"] for one in section["clipping"]]),
    )
    last = len(rows) - 1
    return Drawing(
        "clipping",
        "What if no weight could be large?",
        sentence(
            "Cutting the largest weights keeps more rows in play (blue, steadier) but "
            "moves the picture away from the new data (orange, less faithful)."
        ),
        sentence(
            "Uncut, up to a weight of {}, the rows are worth {} of their number; cut "
            "at {} they would be worth {}, but {} of the weight would sit elsewhere.",
            figures(
                section["clipping"][last]["bound"], f"weights.clipping.{last}.bound"
            ),
            share(
                section["clipping"][last]["effective_share"],
                f"weights.clipping.{last}.effective_share",
            ),
            *_middle(section["clipping"]),
        ),
        (svg(lambda ax: draw_clipping(ax, section), "clipping", height=FIGURE_HEIGHT),),
        DataTable(
            ("largest weight allowed", "effective size", "weight taken away"),
            tuple(rows),
        ),
    )


def _middle(found: list[dict[str, float]]) -> tuple[Any, Any, Any]:
    k = len(found) // 2
    one, path = found[k], f"weights.clipping.{k}"
    return (
        figures(one["bound"], f"{path}.bound"),
        share(one["effective_share"], f"{path}.effective_share"),
        share(one["moved"], f"{path}.moved"),
    )
