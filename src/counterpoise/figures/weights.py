"""Drawings of weights, of their selection and of the search for them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoise.errors import InvalidInputError
from counterpoise.figures.canvas import (
    BLUE,
    DASHED,
    INK,
    MUTED,
    ORANGE,
    draw_diagonal,
    percent_ticks,
    plain_ticks,
    set_labels,
    set_rows,
)
from counterpoise.linalg.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    Section = Mapping[str, Any]


def draw_sorted(ax: "Axes", section: "Section", weights: Array | None) -> None:
    """Draw the weights in descending order; those of a fitted object if given."""
    rows, heights = section["curve"]["share"], section["curve"]["weight"]
    effective, n = section["effective_size"], section["rows"]
    if weights is not None:
        heights = np.sort(np.asarray(weights))[::-1]
        n = heights.size
        rows = (np.arange(n) + 0.5) / n
        effective = float(heights.sum() ** 2 / (heights @ heights))
    ax.fill_between(rows, heights, step="mid", color=BLUE, alpha=0.25)
    ax.plot(rows, heights, color=BLUE)
    ax.axhline(1.0, color=MUTED, linewidth=1)
    title = f"{effective:.0f} effective rows of {n}; largest weight {heights[0]:.3g}"
    ax.set_title(title, fontsize=10)
    set_labels(ax, "share of the source rows", "weight")
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, None))


def draw_histogram(ax: "Axes", section: "Section") -> None:
    """Draw how many rows have which weight."""
    histogram = section["histogram"]
    edges = np.array(histogram["edges"])
    style: dict[str, Any] = {"color": BLUE, "alpha": 0.8, "linewidth": 0.4}
    width = np.diff(edges)
    ax.bar(edges[:-1], histogram["rows"], width=width, align="edge", ec=BLUE, **style)
    if histogram["log"]:
        ax.set_xscale("log")
        plain_ticks(ax.xaxis)
    ax.axvline(1.0, color=INK, linewidth=1.2, linestyle=DASHED)
    label = "weight of a training row (dashed: 1, as without weights)"
    set_labels(ax, label, "training rows")


def draw_lorenz(ax: "Axes", section: "Section") -> None:
    """Draw the share of all weight that the lightest rows have."""
    curve = section["lorenz"]
    draw_diagonal(ax)
    ax.fill_between(curve["rows"], curve["mass"], color=BLUE, alpha=0.13, linewidth=0)
    ax.plot(curve["rows"], curve["mass"], color=BLUE)
    ax.text(0.40, 0.55, "all alike", color=MUTED, ha="right")
    ax.set(xlim=(0, 1), ylim=(0, 1))
    percent_ticks(ax.xaxis, ax.yaxis)
    set_labels(ax, "training rows, lightest first", "share of all weight")


def draw_clipping(ax: "Axes", section: "Section") -> None:
    """Draw the effective size against a bound of the weights."""
    clipping = section["clipping"]
    if not clipping:
        raise InvalidInputError("all weights are equal: there is nothing to clip")
    bounds = [one["bound"] for one in clipping]
    for key, style, color, label in (
        ("effective_share", "o-", BLUE, "effective size"),
        ("moved", "s--", ORANGE, "weight taken away"),
    ):
        values = [one[key] for one in clipping]
        ax.plot(bounds, values, style, color=color, markersize=4.5, label=label)
    ax.set_xscale("log")
    plain_ticks(ax.xaxis)
    ax.set_ylim(-0.02, 1.04)
    percent_ticks(ax.yaxis)
    set_labels(ax, "largest weight allowed", "share")
    ax.legend()


def draw_candidates(
    ax: "Axes", candidates: Sequence["Section"], names: Sequence[str]
) -> None:
    """Draw a bar a candidate that was tried, the chosen one marked."""
    scores = [np.nan if one["score"] is None else one["score"] for one in candidates]
    colors = [BLUE if one["admissible"] else MUTED for one in candidates]
    ax.barh(range(len(scores)), scores, color=colors, height=0.62)
    for k, one in enumerate(candidates):
        if one["chosen"]:
            ax.plot(scores[k], k, "D", color=INK, markersize=7)
    ax.axvline(0.0, color=MUTED, linewidth=0.8)
    set_rows(ax, names)
    # One that is far off would press the others together.
    known = [score for score in scores if np.isfinite(score)]
    high = max([*known, 0.05])
    ax.set_xlim(max(min([*known, 0.0]), -2 * high), 1.12 * high)
    set_labels(ax, "better than equal weights by\n(on held-out rows, more is better)")


def draw_widths(ax: "Axes", widths: Sequence["Section"]) -> None:
    """Draw both scores of every width."""
    width = [one["width"] for one in widths]
    score, error, one_sided = (
        [np.nan if one.get(key) is None else one[key] for one in widths]
        for key in ("score", "standard_error", "one_sided_score")
    )
    ax.errorbar(width, score, yerr=error, color=BLUE, marker="o", label="two-sided")
    if np.isfinite(one_sided).any():
        ax.plot(width, one_sided, color=MUTED, marker=".", label="one-sided")
    for one in widths:
        if one["chosen"]:
            ax.axvline(one["width"], color=INK, linewidth=1, linestyle=":")
    ax.set_xscale("log")
    # Few powers of ten lie between the widths: these are the marks themselves.
    marks = sorted(width)[:: max(len(width) // 4, 1)]
    ax.set_xticks(marks, [f"{one:.2g}" for one in marks])
    ax.set_xticks([], minor=True)
    set_labels(ax, "width of the kernel", "score on held-out rows\n(more is better)")
    ax.legend(frameon=False)


def draw_guard(ax: "Axes", guard: "Section") -> None:
    """Draw the model's estimated loss against the power of the weights."""
    x, y = guard["exponents"], guard["values"]
    ax.errorbar(x, y, guard["errors"], color=BLUE, marker="o", markersize=5, capsize=3)
    chosen = y[x.index(guard["chosen"])]
    ax.plot(guard["chosen"], chosen, "D", color=ORANGE, markersize=10, label="used")
    mixing = guard.get("kind") == "mixing"
    ax.set_xticks((0.0, 0.25, 0.5, 0.75, 1.0) if mixing else x)
    better = "higher" if guard["higher_is_better"] else "lower"
    label = f"estimate for the new data\n({better} is better)"
    set_labels(ax, "how much of the weights (0: none, 1: all)", label)
    ax.legend()


def positive_gaps(gaps: Sequence[float | None]) -> list[float]:
    """Return certified gaps as a logarithmic axis can show them."""
    return [float("nan") if gap is None else max(gap, 1e-16) for gap in gaps]


def draw_gap(ax: "Axes", section: "Section") -> None:
    """Draw the certified gap, step by step."""
    _draw_history(ax, section, positive_gaps(section["history"]["gap"]), BLUE, "o")
    ax.axhline(section["goal"], color=MUTED, linewidth=1.4, linestyle=DASHED)
    ax.set_yscale("log")
    plain_ticks(ax.yaxis)
    set_labels(ax, y="at most this far from the best")


def draw_objective(ax: "Axes", section: "Section") -> None:
    """Draw the objective, step by step."""
    values = section["history"]["objective"]
    known = [float("nan") if value is None else value for value in values]
    _draw_history(ax, section, known, ORANGE, "s")
    set_labels(ax, y="objective")


def _draw_history(
    ax: "Axes", section: "Section", values: list[float], color: str, marker: str
) -> None:
    steps = [step + 1 for step in section["history"]["step"]]
    marker = marker if len(steps) < 40 else ""
    ax.plot(steps, values, color=color, marker=marker, markersize=4)
    if len(steps) > 30:
        ax.set_xscale("log")
        plain_ticks(ax.xaxis)
    else:
        ax.locator_params(axis="x", integer=True)
    set_labels(ax, "step")
