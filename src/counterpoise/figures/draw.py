"""Drawings of shift, weights and performance."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoise.errors import InvalidInputError
from counterpoise.figures.canvas import (
    BLUE,
    DASHED,
    GREEN,
    INK,
    MUTED,
    ORANGE,
    PURPLE,
    draw_diagonal,
    draw_grid,
    percent_ticks,
    plain_ticks,
    set_labels,
    set_rows,
    set_title,
    short_names,
)
from counterpoise.linalg.arrays import Array
from counterpoise.messages.numbers import LONGEST_LABEL, metric_name, readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    Section = Mapping[str, Any]
    Row = tuple[str, float, float | None, float | None, str, str]

# -----------------------------------------------------------------------------
# The shift: domain scores, balance, columns, spectra, classes.
# -----------------------------------------------------------------------------


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
    set_labels(ax, "training rows mistaken for new ones", "new rows recognized")


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


# -----------------------------------------------------------------------------
# The weights, their selection and the search for them.
# -----------------------------------------------------------------------------


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


# -----------------------------------------------------------------------------
# Performance: estimates, calibration, slices.
# -----------------------------------------------------------------------------


ESTIMATE_NAMES = {
    "source": "training data",
    "weighted": "weighted",
    "direct": "modeled",
    "doubly_robust": "both together",
    "confidence": "own confidence",
    "labeled": "labeled new rows",
}
_ALERT_COLORS = {"inputs": PURPLE, "risk": ORANGE, "estimate": GREEN}
_MOST_TICKS = 6


def known_estimates(estimates: "Section") -> list[tuple[str, Mapping[str, Any]]]:
    """Return the estimates of a metric that are defined, each with its kind."""
    return [
        (kind, estimates[kind])
        for kind in ESTIMATE_NAMES
        if estimates.get(kind) and estimates[kind].get("value") is not None
    ]


def draw_estimates(ax: "Axes", estimates: "Section", leading: str | None) -> None:
    """Draw every estimate with its interval, the source score first."""
    rows = []
    for kind, one in known_estimates(estimates):
        marker = "o" if kind == "source" else "D" if kind == leading else "s"
        color = {"source": ORANGE, leading: BLUE}.get(kind, MUTED)
        ends = one.get("low"), one.get("high")
        rows.append((ESTIMATE_NAMES[kind], one["value"], *ends, color, marker))
    better = "higher" if estimates.get("higher_is_better") else "lower"
    name = metric_name(str(estimates.get("metric", "score"))).name
    _draw_intervals(ax, rows, f"{name} ({better} is better)")


def draw_adapted(ax: "Axes", guard: "Section") -> None:
    """Draw the model without and with weights, by the guard's cross-validation."""
    chosen = guard["exponents"].index(guard["chosen"])
    before, after = guard["values"][0], guard["values"][chosen]
    # The uncertainty is that of the difference.
    error = 2 * guard["gain_error"] if chosen else 0.0
    ends = (before - error, before + error) if error else (None, None)
    rows: list[Row] = [("without weights", before, *ends, ORANGE, "o")]
    if chosen:
        rows.append(("adapted", after, None, None, BLUE, "D"))
    better = "higher" if guard["higher_is_better"] else "lower"
    name = metric_name(str(guard["metric"])).name
    _draw_intervals(ax, rows, f"{name} on the new data ({better} is better)")


def _draw_intervals(ax: "Axes", rows: Sequence["Row"], label: str) -> None:
    """Draw a marker and an interval in every row."""
    for place, (_, value, low, high, color, marker) in enumerate(rows):
        leads = marker == "D"
        if low is not None and high is not None:
            ax.hlines(place, low, high, color=color, linewidth=3 if leads else 2)
        ax.plot(value, place, marker, color=color, markersize=9 if leads else 7)
    set_rows(ax, [row[0] for row in rows])
    draw_grid(ax, "x")
    set_labels(ax, label)


def draw_calibration(ax: "Axes", calibration: "Section") -> None:
    """Draw what came true against what was promised."""
    draw_diagonal(ax)
    bins = calibration["bins"]
    x, y = ([one[key] for one in bins] for key in ("predicted", "observed"))
    for one in bins:
        if one.get("low") is not None:
            ax.vlines(one["predicted"], one["low"], one["high"], color=BLUE, alpha=0.5)
    ax.plot(x, y, color=BLUE, marker="o", markersize=6)
    # A point at an end is seen whole.
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    percent_ticks(ax.xaxis, ax.yaxis)
    ax.text(0.03, 0.92, "dashed: as promised", color=MUTED)
    set_labels(ax, "probability that the model gave", "how often it was so")


def draw_slices(
    ax: "Axes",
    name: str,
    parts: Sequence["Section"],
    names: Sequence[str],
    whole: float | None,
    metric: str,
) -> None:
    """Draw a column's parts with the metric on each, and that on the whole target."""
    if whole is not None:
        ax.axvline(whole, color=MUTED, linewidth=1.2, linestyle=DASHED)
    for place, part in enumerate(parts):
        one = part.get("estimate")
        if one is None:
            continue
        misses = whole is not None and not one["low"] <= whole <= one["high"]
        color = ORANGE if misses else BLUE
        ax.hlines(place, one["low"], one["high"], color=color, linewidth=2)
        ax.plot(one["value"], place, "D", color=color, markersize=7)
    set_rows(ax, names)
    ax.locator_params(axis="x", nbins=4)
    draw_grid(ax, "x")
    set_title(ax, name)
    set_labels(ax, readable(metric_name(metric).name, LONGEST_LABEL))


# -----------------------------------------------------------------------------
# A monitored model, chunk after chunk.
# -----------------------------------------------------------------------------


def chunk_rows(section: "Section", metric: str | None = None) -> list[dict[str, Any]]:
    """Return the history of a metric, the first by default."""
    name = section["metrics"][0] if metric is None else metric
    return [row for row in section["history"] if row["metric"] == name]


def draw_metric(ax: "Axes", section: "Section", metric: str) -> None:
    """Draw a metric over the chunks, with bands and alerts."""
    rows = chunk_rows(section, metric)
    reference = section["reference"].get(metric)
    if reference is not None:
        ax.axhline(reference, color=MUTED, linewidth=1.2, label="reference")
    _draw_band(ax, rows, "estimated", BLUE)
    _draw_line(ax, rows, "estimated", BLUE, "o", "estimated")
    for row in rows:
        low, high = row.get("realised_low"), row.get("realised_high")
        if low is not None and high is not None:
            ax.vlines(row["chunk"], low, high, color=ORANGE, alpha=0.35, linewidth=1.2)
    _draw_line(ax, rows, "realized", ORANGE, "D", "from labels")
    _draw_alerts(ax, section, rows)
    _set_times(ax, rows, metric_name(metric).name)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="best")


def draw_drift(ax: "Axes", section: "Section") -> None:
    """Draw how well a classifier tells each chunk from the reference."""
    rows = chunk_rows(section)
    ax.axhline(0.5, color=MUTED, linewidth=1.2, label="not told apart")
    _draw_band(ax, rows, "auc", PURPLE)
    _draw_line(ax, rows, "auc", PURPLE, "o", "told apart (AUC)")
    _draw_alerts(ax, section, rows)
    _set_times(ax, rows, "told apart (AUC)")


def draw_coverage(ax: "Axes", section: "Section") -> None:
    """Draw which share of each chunk the reference covers."""
    rows = chunk_rows(section)
    _draw_line(ax, rows, "covered", GREEN, "o", "covered")
    _set_times(ax, rows, "covered by the reference")
    percent_ticks(ax.yaxis)


def _draw_line(
    ax: "Axes", rows: Sequence["Section"], key: str, color: str, marker: str, label: str
) -> None:
    known = [(row["chunk"], row[key]) for row in rows if row.get(key) is not None]
    if known:
        x, y = zip(*known, strict=True)
        size = 5 if len(known) < 40 else 2.5
        style = {"color": color, "marker": marker, "markersize": size}
        ax.plot(x, y, linewidth=1.2, label=label, **style)  # type: ignore[arg-type]


def _draw_band(ax: "Axes", rows: Sequence["Section"], key: str, color: str) -> None:
    ends = [
        (row["chunk"], row.get(f"{key}_low"), row.get(f"{key}_high")) for row in rows
    ]
    known = [end for end in ends if None not in end]
    if known:
        x, low, high = zip(*known, strict=True)
        ax.fill_between(x, low, high, color=color, alpha=0.18, linewidth=0)


def _draw_alerts(ax: "Axes", section: "Section", rows: Sequence["Section"]) -> None:
    chunks = {row["time"]: row["chunk"] for row in rows}
    for alert in section["alerts"]:
        if alert["time"] in chunks:
            color = _ALERT_COLORS.get(alert["kind"], MUTED)
            label = f"alert: {alert['kind']}"
            x = chunks[alert["time"]]
            ax.axvline(x, color=color, linestyle="--", linewidth=1.4, label=label)


def _set_times(ax: "Axes", rows: Sequence["Section"], label: str) -> None:
    some = rows[:: max(-(-len(rows) // _MOST_TICKS), 1)]
    times = [str(row["time"])[:10] for row in some]
    ax.set_xticks([row["chunk"] for row in some], times, rotation=30, ha="right")
    for text in ax.get_xticklabels():
        text.set_parse_math(False)
    draw_grid(ax, "y")
    set_labels(ax, y=label)
