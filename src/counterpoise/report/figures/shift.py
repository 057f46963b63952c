"""How well source and target can be told apart, and along which directions."""

from typing import Any

from counterpoise.report.figures.canvas import (
    BLUE,
    HEIGHT,
    MUTED,
    ORANGE,
    percent_ticks,
    svg,
)
from counterpoise.report.figures.drawing import DataTable, Drawing, thinned
from counterpoise.report.record import Record
from counterpoise.report.wording import figures, sentence, share


def draw_roc(ax: Any, overlap: dict[str, Any]) -> Any:
    """Draw the share of target rows found against that of source rows mistaken."""
    roc = overlap["roc"]
    ax.plot([0, 1], [0, 1], color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)))
    ax.fill_between(roc["source"], roc["target"], color=BLUE, alpha=0.13, linewidth=0)
    ax.plot(roc["source"], roc["target"], color=BLUE)
    ax.text(0.62, 0.55, "guessing", color=MUTED, rotation=0, ha="left", va="top")
    ax.set(xlim=(0, 1), ylim=(0, 1.005))
    percent_ticks(ax.xaxis)
    percent_ticks(ax.yaxis)
    ax.set_xlabel("training rows mistaken for new ones")
    ax.set_ylabel("new rows recognised")
    return ax


def roc_drawing(record: Record) -> Drawing | None:
    """Return the picture of the domain classifier."""
    overlap = record.at("overlap")
    if overlap is None or not overlap.get("roc"):
        return None
    roc = overlap["roc"]
    rows = [
        (share(a), share(b)) for a, b in zip(roc["source"], roc["target"], strict=True)
    ]
    return Drawing(
        "roc",
        "Can a model tell new rows from training rows?",
        sentence(
            "A classifier was asked to sort rows it had not seen into “training” and "
            "“new”. The further its curve rises above the dashed line, the more the "
            "two differ."
        ),
        sentence(
            "Area under the curve (AUC) {}, between {} and {} with 95 % confidence; "
            "0.5 is guessing, 1 is perfect.",
            figures(overlap["auc"], "overlap.auc"),
            figures(overlap["auc_low"], "overlap.auc_low"),
            figures(overlap["auc_high"], "overlap.auc_high"),
        ),
        (svg(lambda ax: draw_roc(ax, overlap), "roc", height=HEIGHT),),
        DataTable(("training rows mistaken", "new rows recognised"), thinned(rows)),
    )


def draw_spectrum(ax: Any, spectrum: dict[str, Any]) -> Any:
    """Draw the eigenvalues of the difference of the second moments."""
    for key, color, marker, told in (
        ("before", ORANGE, "o", "before weighting"),
        ("after", BLUE, "s", "after weighting"),
    ):
        values = spectrum.get(key)
        if values:
            place = range(1, len(values) + 1)
            ax.plot(place, values, color=color, marker=marker, markersize=4, label=told)
    ax.axhline(0, color=MUTED, linewidth=0.8)
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("direction, by size")
    ax.set_ylabel("difference of spread")
    ax.legend()
    return ax


def spectrum_drawing(record: Record) -> Drawing | None:
    """Return the picture of the discrepancy's eigenvalues."""
    spectrum = record.at("shift.spectrum")
    if not spectrum or not spectrum.get("before"):
        return None
    before, after = spectrum["before"], spectrum.get("after") or []
    rows = [
        (
            str(k + 1),
            figures(value),
            figures(after[k]) if k < len(after) else None,
        )
        for k, value in enumerate(before)
    ]
    largest = figures(before[0], "shift.spectrum.before.0")
    told = sentence("The largest difference is {}", largest)
    if after:
        told = sentence(
            "{}, and {} after weighting.",
            told,
            figures(after[0], "shift.spectrum.after.0"),
        )
    return Drawing(
        "spectrum",
        "In which directions do the data spread differently?",
        sentence(
            "Each point is a combination of columns; its height says how much more the "
            "one sample spreads along it than the other. All points at zero: no "
            "difference that a linear model could notice."
        ),
        told,
        (svg(lambda ax: draw_spectrum(ax, spectrum), "spectrum", height=HEIGHT),),
        DataTable(("direction", "before weighting", "after weighting"), thinned(rows)),
    )
