"""Figures of a monitor."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from counterpoise.errors import InvalidInputError
from counterpoise.report.figures.canvas import (
    BLUE,
    FIGURE_HEIGHT,
    GREEN,
    MUTED,
    ORANGE,
    PURPLE,
    DataTable,
    Drawing,
    axes,
    percent_ticks,
    section_of,
    svg,
    thinned,
)
from counterpoise.report.formatting import Name, figures, sentence, share, whole
from counterpoise.report.report import Record, metric_in_words

_ALERT_COLORS = {"inputs": PURPLE, "risk": ORANGE, "estimate": GREEN}
_MOST_TICKS, _MOST_PICTURES = 6, 3


def plot_monitor(fitted: Any, *, metric: str | None = None, ax: Any = None) -> Any:
    """Return an Axes with a metric over time: estimates, labels, alerts.

    Parameters
    ----------
    fitted : ModelMonitor or Record
        A record that has the section `monitor`.
    metric : str or None
        One of its metrics; None: the first.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> row = {"chunk": 1, "time": "a", "metric": "mae", "estimated": 1.0}
    >>> section = {"metrics": ["mae"], "history": [row], "alerts": [],
    ...            "reference": {"mae": 1.1}}
    >>> plot_monitor(Record.from_dict({"monitor": section})).get_ylabel()
    'mae'
    """
    section = section_of(fitted, "monitor")
    names = list(section["metrics"])
    name = names[0] if metric is None else metric
    if name not in names:
        raise InvalidInputError(
            f"metric must be one of {', '.join(names)}, got {metric!r}"
        )
    return draw_metric(axes(ax), section, name)


def draw_metric(ax: Any, section: dict[str, Any], name: str) -> Any:
    """Draw a metric over the chunks, with bands and alerts."""
    rows = _rows(section, name)
    places = [row["chunk"] for row in rows]
    reference = section["reference"].get(name)
    if reference is not None:
        ax.axhline(reference, color=MUTED, linewidth=1.2, label="reference")
    _band(ax, places, rows, "estimated", BLUE)
    _line(ax, places, rows, "estimated", BLUE, "o", "estimated")
    _whiskers(ax, places, rows)
    _line(ax, places, rows, "realized", ORANGE, "D", "from labels")
    _alerts(ax, section, rows)
    _along_time(ax, rows)
    ax.set_ylabel(metric_in_words(name).name)
    ax.yaxis.label.set_parse_math(False)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="best")
    return ax


def draw_drift(ax: Any, section: dict[str, Any]) -> Any:
    """Draw how well a classifier tells each chunk from the reference."""
    rows = _rows(section, section["metrics"][0])
    places = [row["chunk"] for row in rows]
    ax.axhline(0.5, color=MUTED, linewidth=1.2, label="not told apart")
    _band(ax, places, rows, "auc", PURPLE)
    _line(ax, places, rows, "auc", PURPLE, "o", "told apart (AUC)")
    _alerts(ax, section, rows)
    _along_time(ax, rows)
    ax.set_ylabel("told apart (AUC)")
    return ax


def draw_coverage(ax: Any, section: dict[str, Any]) -> Any:
    """Draw which share of each chunk the reference covers."""
    rows = _rows(section, section["metrics"][0])
    _line(ax, [row["chunk"] for row in rows], rows, "covered", GREEN, "o", "covered")
    _along_time(ax, rows)
    percent_ticks(ax.yaxis)
    ax.set_ylabel("covered by the reference")
    return ax


def monitor_drawings() -> tuple[Callable[[Record], Drawing | None], ...]:
    """Return what makes the pictures of the page over time."""
    return _performance_drawing, _drift_drawing, _coverage_drawing


def _performance_drawing(record: Record) -> Drawing | None:
    section = record.at("monitor")
    if section is None or not section["history"]:
        return None
    names = section["metrics"][:_MOST_PICTURES]
    pictures = tuple(
        svg(
            partial(draw_metric, section=section, name=name),
            f"watch-metric-{k}",
            height=FIGURE_HEIGHT,
        )
        for k, name in enumerate(names)
    )
    rows = _rows(section, names[0])
    table = [
        (
            Name(str(row["time"])),
            _shown(row, "estimated"),
            _shown(row, "estimated_low"),
            _shown(row, "estimated_high"),
            _shown(row, "realized"),
            whole(float(row.get("n_labelled") or 0)),
        )
        for row in rows
    ]
    last = next(
        (row for row in reversed(rows) if row.get("estimated") is not None), None
    )
    caption = sentence("No chunk was large enough to be judged by itself.")
    if last is not None:
        caption = sentence(
            "{}, last estimated at {}: {}; on the reference it was {}.",
            metric_in_words(names[0]).name.capitalize(),
            Name(str(last["time"])),
            figures(last["estimated"]),
            figures(section["reference"][names[0]]),
        )
    return Drawing(
        "watch-performance",
        "How good is the model, chunk by chunk?",
        sentence(
            "A dot is the estimate without labels, the band its interval; a diamond is "
            "what labels said. Upright lines are alerts."
        ),
        caption,
        pictures,
        DataTable(
            ("chunk", "estimated", "low", "high", "from labels", "labelled rows"),
            thinned(table),
        ),
    )


def _drift_drawing(record: Record) -> Drawing | None:
    section = record.at("monitor")
    if section is None or not section["history"]:
        return None
    rows = _rows(section, section["metrics"][0])
    table = [
        (
            Name(str(row["time"])),
            _shown(row, "auc"),
            _shown(row, "mmd"),
            Name(row["moved"]) if row.get("moved") else None,
        )
        for row in rows
    ]
    return Drawing(
        "watch-drift",
        "Do the rows come from elsewhere than the reference's?",
        sentence(
            "One half: a classifier cannot tell a chunk from the reference. One: it "
            "always can. One chunk above one half is no alert; an upright line is."
        ),
        sentence("{} chunks were looked at.", whole(float(len(rows)))),
        (
            svg(
                lambda ax: draw_drift(ax, section),
                "watch-drift",
                height=FIGURE_HEIGHT,
            ),
        ),
        DataTable(("chunk", "AUC", "MMD", "columns that moved"), thinned(table)),
    )


def _coverage_drawing(record: Record) -> Drawing | None:
    section = record.at("monitor")
    if section is None:
        return None
    rows = [
        row
        for row in _rows(section, section["metrics"][0])
        if row.get("covered") is not None
    ]
    if not rows:
        return None
    least = min(rows, key=lambda row: row["covered"])
    return Drawing(
        "watch-coverage",
        "Does the reference speak for the rows?",
        sentence(
            "The share of each chunk that lies where the reference has rows: of the "
            "rest nothing is known without labels."
        ),
        sentence("Least at {}: {}.", Name(str(least["time"])), share(least["covered"])),
        (
            svg(
                lambda ax: draw_coverage(ax, section),
                "watch-coverage",
                height=FIGURE_HEIGHT,
            ),
        ),
        DataTable(
            ("chunk", "covered"),
            thinned([(Name(str(row["time"])), share(row["covered"])) for row in rows]),
        ),
    )


def _rows(section: dict[str, Any], metric: str) -> list[dict[str, Any]]:
    return [row for row in section["history"] if row["metric"] == metric]


def _shown(row: dict[str, Any], key: str) -> Any:
    return None if row.get(key) is None else figures(row[key])


def _line(
    ax: Any,
    places: Sequence[int],
    rows: Sequence[dict[str, Any]],
    key: str,
    color: str,
    marker: str,
    label: str,
) -> None:
    there = [
        (p, row[key])
        for p, row in zip(places, rows, strict=True)
        if row.get(key) is not None
    ]
    if there:
        x, y = zip(*there, strict=True)
        size = 5 if len(there) < 40 else 2.5
        ax.plot(
            x,
            y,
            marker=marker,
            color=color,
            markersize=size,
            linewidth=1.2,
            label=label,
        )


def _band(
    ax: Any,
    places: Sequence[int],
    rows: Sequence[dict[str, Any]],
    key: str,
    color: str,
) -> None:
    ends = [
        (p, row[f"{key}_low"], row[f"{key}_high"])
        for p, row in zip(places, rows, strict=True)
        if row.get(f"{key}_low") is not None and row.get(f"{key}_high") is not None
    ]
    if ends:
        x, low, high = zip(*ends, strict=True)
        ax.fill_between(x, low, high, color=color, alpha=0.18, linewidth=0)


def _whiskers(ax: Any, places: Sequence[int], rows: Sequence[dict[str, Any]]) -> None:
    for place, row in zip(places, rows, strict=True):
        low, high = row.get("realised_low"), row.get("realised_high")
        if low is not None and high is not None:
            ax.vlines(place, low, high, color=ORANGE, alpha=0.35, linewidth=1.2)


def _alerts(ax: Any, section: dict[str, Any], rows: Sequence[dict[str, Any]]) -> None:
    place = {row["time"]: row["chunk"] for row in rows}
    for alert in section["alerts"]:
        if alert["time"] in place:
            color = _ALERT_COLORS.get(alert["kind"], MUTED)
            label = f"alert: {alert['kind']}"
            ax.axvline(
                place[alert["time"]],
                color=color,
                linestyle="--",
                linewidth=1.4,
                label=label,
            )


def _along_time(ax: Any, rows: Sequence[dict[str, Any]]) -> None:
    step = max(-(-len(rows) // _MOST_TICKS), 1)
    shown = rows[::step]
    ax.set_xticks(
        [row["chunk"] for row in shown],
        [str(row["time"])[:10] for row in shown],
        rotation=30,
        ha="right",
    )
    for text in ax.get_xticklabels():
        text.set_parse_math(False)
    ax.grid(axis="y", color=MUTED, alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
