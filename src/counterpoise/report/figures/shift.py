"""How well source and target can be told apart, and along which directions."""

from typing import Any

from counterpoise.diagnosis.words import NEARLY_ALL
from counterpoise.report.figures.canvas import (
    BLUE,
    FIGURE_HEIGHT,
    MUTED,
    ORANGE,
    axes,
    percent_ticks,
    svg,
)
from counterpoise.report.figures.drawing import DataTable, Drawing, record_of, thinned
from counterpoise.report.record import Record
from counterpoise.report.wording import (
    Name,
    Sentence,
    ShownNumber,
    figures,
    joined,
    lines,
    sentence,
    share,
)
from counterpoise.validation import InvalidInput

# A share of the largest difference that is hardly worth weights.
HARDLY_ANY = 0.05
# Of a difference less than this share of it is next to nothing.
NEXT_TO_NOTHING = 1e-3


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
    rows = lines((share, roc["source"]), (share, roc["target"]))
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
        (svg(lambda ax: draw_roc(ax, overlap), "roc", height=FIGURE_HEIGHT),),
        DataTable(("training rows mistaken", "new rows recognised"), thinned(rows)),
    )


def plot_spectrum(fitted: Any, *, ax: Any = None) -> Any:
    """Return an Axes with the discrepancy's eigenvalues before and after weighting.

    Parameters
    ----------
    fitted : DiscrepancyWeights, Diagnosis, Adapted or Record
        Of a `DiscrepancyWeights` after weighting means its own weights; of others the
        best weights that the diagnosis found.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> from counterpoise import DiscrepancyWeights, plot_spectrum
    >>> from counterpoise.datasets import make_sinc_shift
    >>> shift = make_sinc_shift(n=80, m=60, random_state=0)
    >>> fitted = DiscrepancyWeights()
    >>> fitted = fitted.fit(shift.X, X_target=shift.X_target)
    >>> plot_spectrum(fitted).get_ylabel()
    'new minus training spread'
    """
    spectrum = record_of(fitted).at("shift.spectrum")
    if not spectrum or not spectrum.get("before"):
        raise InvalidInput("there is no section 'shift.spectrum' to draw from")
    return draw_spectrum(axes(ax), spectrum)


def draw_spectrum(ax: Any, spectrum: dict[str, Any]) -> Any:
    """Draw the eigenvalues of the difference of the second moments."""
    ax.axhline(0, color=MUTED, linewidth=0.8)
    for key, color, marker, told in (
        ("before", ORANGE, "o", "before weighting"),
        ("after", BLUE, "s", "after weighting"),
    ):
        values = _from_the_top(spectrum, key)
        if values:
            place = range(1, len(values) + 1)
            ax.plot(place, values, color=color, marker=marker, markersize=4, label=told)
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("direction, from the top")
    ax.set_ylabel("new minus training spread")
    ax.legend()
    return ax


def spectrum_drawing(record: Record) -> Drawing | None:
    """Return the picture of the discrepancy's eigenvalues."""
    spectrum = record.at("shift.spectrum")
    if not spectrum or not spectrum.get("before"):
        return None
    before, after = (_from_the_top(spectrum, key) for key in ("before", "after"))
    rows = [
        (
            str(k + 1),
            figures(before[k]) if k < len(before) else None,
            figures(after[k]) if k < len(after) else None,
        )
        for k in range(max(len(before), len(after)))
    ]
    return Drawing(
        "spectrum",
        "In which directions do the data spread differently?",
        sentence(
            "Each point is a combination of columns; its height says how much more the "
            "new data spread along it than the training data, below zero how much "
            "less. All points at zero: no difference that a linear model could notice."
        ),
        joined(_spectrum_told(spectrum)),
        (
            svg(
                lambda ax: draw_spectrum(ax, spectrum), "spectrum", height=FIGURE_HEIGHT
            ),
        ),
        DataTable(("direction", "before weighting", "after weighting"), thinned(rows)),
    )


def _from_the_top(spectrum: dict[str, Any], key: str) -> list[float]:
    """Return the eigenvalues from the largest to the smallest, signs and all."""
    return sorted(spectrum.get(key) or [], reverse=True)


def _spectrum_told(spectrum: dict[str, Any]) -> list[Sentence]:
    """Return what the eigenvalues say, in sentences with their numbers."""
    largest = _largest(spectrum, "discrepancy", "before")
    if not spectrum.get("after"):
        return [sentence("The largest difference is {}.", largest)]
    left = _largest(spectrum, "least", "after")
    told = [
        sentence("The largest difference is {}, and {} after weighting.", largest, left)
    ]
    if abs(left.value) < NEXT_TO_NOTHING * abs(largest.value):
        told = [
            sentence(
                "The largest difference is {}, and next to nothing after weighting.",
                largest,
            )
        ]
    removable = spectrum.get("removable")
    if removable is None:
        return told
    whose = "Weighting" if spectrum.get("weighter") else "The best weighting"
    told.append(
        sentence(
            "{} removes {} of it.",
            whose,
            share(removable, "shift.spectrum.removable"),
        )
    )
    if removable < HARDLY_ANY:
        told.append(
            sentence(
                "So these weights do next to nothing about what a linear model could "
                "notice; whether they help your model is asked of its own loss."
            )
        )
    direction = spectrum.get("direction") or []
    if direction and removable < NEARLY_ALL:
        told.append(
            sentence(
                "What is left lies mostly along {} ({} of that direction), where the "
                "{} data spread more.",
                Name(str(direction[0]["name"])),
                share(direction[0]["share"], "shift.spectrum.direction.0.share"),
                "new" if spectrum.get("target_varies_more") else "training",
            )
        )
    return told


def _largest(spectrum: dict[str, Any], key: str, values: str) -> ShownNumber:
    """Return a discrepancy, or in older records the eigenvalue behind it."""
    if spectrum.get(key) is not None:
        return figures(spectrum[key], f"shift.spectrum.{key}")
    return figures(spectrum[values][0], f"shift.spectrum.{values}.0")
