"""Figures of estimated performance and its slices."""

from functools import partial
from typing import Any

from counterpoise.errors import InvalidInputError
from counterpoise.performance.result import leading_of
from counterpoise.report.figures.canvas import (
    BLUE,
    FIGURE_HEIGHT,
    MUTED,
    ORANGE,
    DataTable,
    Drawing,
    axes,
    label,
    percent_ticks,
    section_of,
    svg,
)
from counterpoise.report.figures.weights import SMALL_WIDTH, part_ticks, title_of
from counterpoise.report.formatting import (
    Cell,
    Name,
    Sentence,
    brief,
    count,
    figures,
    for_a_person,
    lines,
    part_cell,
    part_in_words,
    sentence,
    share,
)
from counterpoise.report.key_questions import (
    beside_the_score,
    is_contradicted,
    is_withdrawn,
)
from counterpoise.report.report import Record, metric_in_words, source_rows

# -----------------------------------------------------------------------------
# How good the model will be: estimates with intervals, and calibration.
# -----------------------------------------------------------------------------


ESTIMATE_NAMES = {
    "source": "training data",
    "weighted": "weighted",
    "direct": "modelled",
    "doubly_robust": "both together",
    "confidence": "own confidence",
    "labelled": "labelled new rows",
}


def plot_performance(fitted: Any, *, metric: str | None = None, ax: Any = None) -> Any:
    """Return an Axes with the estimates of the target score, with intervals.

    Parameters
    ----------
    fitted : Record or Performance
        A record that has the section `performance`.
    metric : str or None
        One of its metrics; None: the first.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> from counterpoise import Record, plot_performance
    >>> told = {"value": 1.0, "low": 0.5, "high": 2.0}
    >>> section = {"metrics": {"mse": {"metric": "mse", "source": told}}}
    >>> plot_performance(Record.from_dict({"performance": section})).get_xlabel()
    'mse (lower is better)'
    """
    if (
        hasattr(fitted, "metrics")
        and hasattr(fitted, "to_dict")
        and not isinstance(fitted, Record)
    ):
        section = fitted.to_dict()
    else:
        section = section_of(fitted, "performance")
    names = list(section["metrics"])
    name = names[0] if metric is None else metric
    if name not in names:
        raise InvalidInputError(
            f"metric must be one of {', '.join(names)}, got {metric!r}"
        )
    return draw_estimates(axes(ax), section["metrics"][name])


def _defined(estimates: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (kind, estimates[kind])
        for kind in ESTIMATE_NAMES
        if estimates.get(kind) and estimates[kind].get("value") is not None
    ]


def draw_estimates(ax: Any, estimates: dict[str, Any]) -> Any:
    """Draw every estimate with its interval, the source score first."""
    found = _defined(estimates)
    lead = leading_of(estimates | dict(found))
    for place, (kind, one) in enumerate(found):
        color = {"source": ORANGE, lead: BLUE}.get(kind, MUTED)
        low, high = one.get("low"), one.get("high")
        if low is not None and high is not None:
            ax.hlines(place, low, high, color=color, linewidth=3 if kind == lead else 2)
        marker = "o" if kind == "source" else "D" if kind == lead else "s"
        size = 9 if kind == lead else 7
        ax.plot(one["value"], place, marker, color=color, markersize=size)
    ax.set_yticks(range(len(found)), [ESTIMATE_NAMES[kind] for kind, _ in found])
    ax.set_ylim(len(found) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=MUTED, alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    better = "higher" if estimates.get("higher_is_better") else "lower"
    words = metric_in_words(str(estimates.get("metric", "score")))
    ax.set_xlabel(f"{words.name} ({better} is better)")
    ax.xaxis.label.set_parse_math(False)
    return ax


def draw_adapted(ax: Any, guard: dict[str, Any]) -> Any:
    """Draw the model without and with weights, by the guard's cross-validation."""
    chosen = guard["exponents"].index(guard["chosen"])
    before, after = guard["values"][0], guard["values"][chosen]
    sides = [("without weights", before, ORANGE, "o")]
    if chosen:
        sides.append(("adapted", after, BLUE, "D"))
    for place, (_, value, color, marker) in enumerate(sides):
        # The uncertainty is that of the difference.
        error = 2 * guard["gain_error"] if place == 0 and chosen else 0.0
        if error:
            ax.hlines(place, value - error, value + error, color=color, linewidth=2)
        ax.plot(value, place, marker, color=color, markersize=9)
    ax.set_yticks(range(len(sides)), [one[0] for one in sides])
    ax.set_ylim(len(sides) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=MUTED, alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    better = "higher" if guard["higher_is_better"] else "lower"
    words = metric_in_words(str(guard["metric"]))
    ax.set_xlabel(f"{words.name} on the new data ({better} is better)")
    ax.xaxis.label.set_parse_math(False)
    return ax


def performance_drawing(record: Record) -> Drawing | None:
    """Return the pictures of the estimates, and of the model with and without."""
    section, guard = record.at("performance"), record.at("guard")
    pictures, told, rows = [], [], []
    withdrawn = "withdrawn, for labelled new rows contradict it: right "
    if section is not None and section.get("metrics"):
        name, estimates = next(iter(section["metrics"].items()))
        found = _defined(estimates)
        height = 1.0 + 0.42 * max(len(found), 2)
        pictures.append(
            svg(lambda ax: draw_estimates(ax, estimates), "estimates", height=height)
        )
        told.append(_estimates_told(record, name))
        for metric, several in section["metrics"].items():
            words = metric_in_words(metric)
            rows += [
                (
                    f"{words.name}, {ESTIMATE_NAMES[kind]}",
                    figures(one["value"], digits=4),
                    None if one.get("low") is None else figures(one["low"], digits=4),
                    None if one.get("high") is None else figures(one["high"], digits=4),
                    f"{withdrawn if is_withdrawn(record, kind) else ''}"
                    f"if {for_a_person(str(one.get('assumption', '')))}",
                )
                for kind, one in _defined(several)
            ]
    if guard is not None and guard["chosen"] > 0 and not is_contradicted(record):
        pictures.append(svg(lambda ax: draw_adapted(ax, guard), "adapted", height=1.9))
        k = guard["exponents"].index(guard["chosen"])
        told.append(
            sentence(
                "In cross-validation, on rows weighted like the new data, the model "
                "has {} without weights and {} adapted; the line beside the first is "
                "what chance may do to their difference.",
                figures(guard["values"][0], "guard.values.0"),
                figures(guard["values"][k], f"guard.values.{k}"),
            )
        )
    if not pictures:
        return None
    header = ("estimate", "value", "low", "high", "what must be true")
    return Drawing(
        "performance",
        "How good will the model be on the new data?",
        sentence(
            f"The score on {source_rows(record)} (circle) is what is usually "
            "reported. The "
            "others estimate the score on the new data without needing its labels, "
            "each in its own way and on its own assumption; the diamond is the one to "
            "go by. Lines are intervals."
        ),
        tuple(part for words in told for part in (*words, " "))[:-1],
        tuple(pictures),
        DataTable(header, tuple(rows)),
    )


def _estimates_told(record: Record, metric: str) -> Any:
    headline = record.at("headline")
    words = metric_in_words(metric)
    if headline is None or headline.get("value") is None:
        return sentence(f"The {words.name} on the new data cannot be estimated.")
    between: Any = ""
    if headline.get("low") is not None:
        between = sentence(
            ", between {} and {}",
            figures(headline["low"], "headline.low"),
            figures(headline["high"], "headline.high"),
        )
    return sentence(
        f"{{}}: {{}} on {source_rows(record)}, {{}} expected on the new data{{}}{{}}.",
        words.name[:1].upper() + words.name[1:],
        figures(headline["source"], "headline.source"),
        figures(headline["value"], "headline.value"),
        between,
        beside_the_score(record),
    )


def draw_calibration(ax: Any, calibration: dict[str, Any]) -> Any:
    """Draw what came true against what was promised."""
    ax.plot([0, 1], [0, 1], color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)))
    bins = calibration["bins"]
    x, y = ([one[key] for one in bins] for key in ("predicted", "observed"))
    for one in bins:
        if one.get("low") is not None:
            ax.vlines(one["predicted"], one["low"], one["high"], color=BLUE, alpha=0.5)
    ax.plot(x, y, color=BLUE, marker="o", markersize=6)
    # A point at an end is seen whole.
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    percent_ticks(ax.xaxis)
    percent_ticks(ax.yaxis)
    ax.text(0.03, 0.92, "dashed: as promised", color=MUTED)
    ax.set_xlabel("probability that the model gave")
    ax.set_ylabel("how often it was so")
    return ax


def calibration_drawing(record: Record) -> Drawing | None:
    """Return the picture of promised against observed probabilities."""
    section = record.at("performance.calibration")
    if section is None or not section.get("bins") or is_contradicted(record):
        return None
    rows = tuple(
        lines(
            *(
                (share, [one.get(key) for one in section["bins"]])
                for key in ("predicted", "observed", "low", "high")
            )
        )
    )
    return Drawing(
        "calibration",
        "Do the model's probabilities mean what they say?",
        sentence(
            "Of rows that the model gave 70 %, seven in ten should come true: points "
            "on the dashed line. The rows are weighted, so that this speaks for the "
            "new data."
        ),
        sentence(
            "On the average the probabilities are off by {}.",
            share(section["error"], "performance.calibration.error"),
        ),
        (
            svg(
                lambda ax: draw_calibration(ax, section),
                "calibration",
                height=FIGURE_HEIGHT,
            ),
        ),
        DataTable(("promised", "observed", "low", "high"), rows),
    )


# -----------------------------------------------------------------------------
# The loss on parts of the target, by the columns that moved most.
# -----------------------------------------------------------------------------


_SLICE_HEADER = (
    "column",
    "value",
    "of the new data",
    "effective rows",
    "expected",
    "low",
    "high",
)


def draw_slices(
    ax: Any, column: dict[str, Any], whole: float | None, metric: str
) -> Any:
    """Draw a column's parts with the metric on each, and that on the whole target."""
    column = _known_parts(column)
    parts = column["parts"]
    if whole is not None:
        ax.axvline(whole, color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)))
    for place, part in enumerate(parts):
        one = part.get("estimate")
        if one is None:
            continue
        color = BLUE
        if whole is not None and not one["low"] <= whole <= one["high"]:
            color = ORANGE
        ax.hlines(place, one["low"], one["high"], color=color, linewidth=2)
        ax.plot(one["value"], place, "D", color=color, markersize=7)
    part_ticks(ax, column)
    ax.locator_params(axis="x", nbins=4)
    ax.set_ylim(len(parts) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=MUTED, alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    title_of(ax, column["name"])
    ax.set_xlabel(label(metric_in_words(metric).name))
    ax.xaxis.label.set_parse_math(False)
    return ax


def slices_drawing(record: Record) -> Drawing | None:
    """Return the pictures of the loss by slices of the target."""
    section = record.at("performance.slices")
    if section is None or not section.get("columns") or is_contradicted(record):
        return None
    metric, columns = str(section["metric"]), section["columns"]
    whole = record.at("performance.metrics", {}).get(metric, {}).get("doubly_robust")
    middle = None if whole is None else whole.get("value")
    pictures = tuple(
        svg(
            partial(draw_slices, column=one, whole=middle, metric=metric),
            f"slice-{k}",
            width=SMALL_WIDTH,
            height=1.3 + 0.36 * max(len(_known_parts(one)["parts"]), 2),
        )
        for k, one in enumerate(columns)
        if _has_known(one) or not any(map(_has_known, columns))
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            Name(one["name"]),
            part_cell(part, one["kind"]),
            share(part["share"]),
            count(part["effective_rows"]),
            *_estimate(part),
        )
        for one in columns
        for part in one["parts"]
    )
    return Drawing(
        "slices",
        "Where will the model do worse, where better?",
        sentence(
            "The new rows in parts, by the columns that moved most. Diamonds: the "
            "{} to expect on each part, with its interval; the dashed line: "
            "on all new rows. Orange: the interval does not reach the line. Parts "
            "where training rows are worth fewer than {} rows are left out.",
            _called(metric),
            brief(section["fewest"], "performance.slices.fewest"),
        ),
        _told(section, metric),
        pictures,
        DataTable(
            _SLICE_HEADER,
            rows,
            "Effective rows: as how many equally weighted training rows there are for "
            "this part. Intervals hold one by one: of many some miss.",
        ),
    )


def _known_parts(column: dict[str, Any]) -> dict[str, Any]:
    """Return a column with the parts of which something is known; all if none is."""
    known = [part for part in column["parts"] if part.get("estimate") is not None]
    return {**column, "parts": known or column["parts"]}


def _has_known(column: dict[str, Any]) -> bool:
    return any(part.get("estimate") is not None for part in column["parts"])


def _estimate(part: dict[str, Any]) -> tuple[Cell, ...]:
    one = part.get("estimate")
    if one is None:
        return "too few rows", None, None
    return tuple(figures(one[key], digits=4) for key in ("value", "low", "high"))


def _told(section: dict[str, Any], metric: str) -> Sentence:
    """Return the extreme parts in words."""
    known = [
        (part["estimate"]["value"], k, j)
        for k, column in enumerate(section["columns"])
        for j, part in enumerate(column["parts"])
        if part.get("estimate") is not None
    ]
    if not known:
        return sentence("Everywhere there are too few training rows to tell.")
    ends = (max(known), min(known))
    told = [
        (
            Name(section["columns"][k]["name"]),
            _quoted(section["columns"][k]["parts"][j], section["columns"][k]["kind"]),
            figures(value, f"performance.slices.columns.{k}.parts.{j}.estimate.value"),
        )
        for value, k, j in ends
    ]
    if len(known) == 1:
        return sentence(
            "The {} is known on one part alone, where {} is {}: {}.",
            _called(metric),
            *told[0],
        )
    return sentence(
        "The highest {} is expected where {} is {}: {}; the lowest where {} is {}: {}.",
        _called(metric),
        *told[0],
        *told[1],
    )


def _called(metric: str) -> Name:
    return Name(metric_in_words(metric).name)


def _quoted(part: dict[str, Any], kind: str) -> Cell:
    said = part_in_words(part, kind)
    return said if said not in ("no value", "all others") else f"({said})"
