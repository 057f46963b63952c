"""Drawings of performance: estimates, calibration, slices, and over time."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from counterpoise.figures.canvas import (
    BLUE,
    DASHED,
    GREEN,
    MUTED,
    ORANGE,
    PURPLE,
    draw_diagonal,
    draw_grid,
    percent_ticks,
    set_labels,
    set_rows,
    set_title,
)
from counterpoise.messages.numbers import LONGEST_LABEL, metric_name, readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    Section = Mapping[str, Any]
    Row = tuple[str, float, float | None, float | None, str, str]

ESTIMATE_NAMES = {
    "source": "training data",
    "weighted": "weighted",
    "direct": "modelled",
    "doubly_robust": "both together",
    "confidence": "own confidence",
    "labelled": "labelled new rows",
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
