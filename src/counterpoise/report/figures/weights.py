"""What the weights are like, and what they are worth."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from counterpoise.report.figures.canvas import (
    BLUE,
    FIGURE_HEIGHT,
    INK,
    MUTED,
    ORANGE,
    axes,
    percent_ticks,
    plain_ticks,
    svg,
)
from counterpoise.report.figures.drawing import DataTable, Drawing, section_of, thinned
from counterpoise.report.record import Record
from counterpoise.report.wording import count, figures, lines, sentence, share
from counterpoise.validation import InvalidInput

WEIGHT_PICTURES = ("sorted", "histogram", "lorenz", "clipping")


def plot_weights(fitted: Any, *, kind: str = "sorted", ax: Any = None) -> Any:
    """Return an Axes with the weights, and what they are worth.

    Parameters
    ----------
    fitted : weighter, Adapted or Record
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
        raise InvalidInput(
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
        raise InvalidInput("all weights are equal: there is nothing to clip")
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
    if section.get("weighter") is None:
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
