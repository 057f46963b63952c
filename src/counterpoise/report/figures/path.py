"""The error along an exact path, and where it is smallest."""

from typing import Any

import numpy as np

from counterpoise.learners.svm import ValidationCurve
from counterpoise.report.figures.canvas import (
    BLUE,
    FIGURE_HEIGHT,
    GREEN,
    axes,
    plain_ticks,
    svg,
)
from counterpoise.report.figures.drawing import DataTable, Drawing, record_of, thinned
from counterpoise.report.metric_names import metric_in_words
from counterpoise.report.record import Record
from counterpoise.report.sections.path import curve_section
from counterpoise.report.wording import figures, sentence
from counterpoise.validation import InvalidInput

# What stands below the picture for what moves along a path.
_MOVED = {
    "sample_weight": "how much of the weights (0: as fitted, 1: as given)",
    "mixing": "how much of the weights (0: none, 1: all)",
    "C": "C",
}
_LOSSES = {
    "error": "share of wrong labels",
    "hinge": "hinge loss",
    "absolute": "mean absolute error",
    "epsilon": "mean error outside the tube",
    "pinball": "pinball loss",
    "1 - NDCG": "1 - NDCG",
}


def plot_path(fitted: Any, *, ax: Any = None) -> Any:
    """Return an Axes with the exact validation curve of a path, the best shaded.

    Where the error jumps, it jumps; of more than 400 pieces so many are drawn. All
    intervals of theta on which it is smallest are shaded, not the longest alone.

    Parameters
    ----------
    fitted : SVMPath, ValidationCurve, Record, or Adapted
        A path made with validation rows, a curve of its own, a record of either, or an
        adapted support vector machine, of which the guard's curve is drawn.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise import WeightedSVC, plot_path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 2))
    >>> y = X[:, 0] + rng.standard_normal(60) > 0
    >>> path = WeightedSVC().fit(X[:40], y[:40]).path(
    ...     rng.random(40), X_val=X[40:], y_val=y[40:]
    ... )
    >>> plot_path(path).get_ylabel()
    'share of wrong labels'
    """
    if isinstance(fitted, ValidationCurve):
        return draw_curve(axes(ax), curve_section(fitted, "theta"))
    record = record_of(fitted)
    curve = record.at("path.curve") or record.at("guard.curve")
    if curve is None:
        if "path" in record:
            raise InvalidInput(
                "path was made without X_val and y_val: there is no curve to draw"
            )
        raise InvalidInput(
            "there is no section 'path' to draw from: plot_path takes a path made with "
            "X_val and y_val, or an Adapted whose guard followed one"
        )
    return draw_curve(axes(ax), curve)


def draw_curve(ax: Any, curve: dict[str, Any]) -> Any:
    """Draw a curve piece by piece, and shade where it is best."""
    starts, values = np.array(curve["thetas"]), np.array(curve["values"])
    stops = np.append(starts[1:], curve["stop"])
    ends = values + (stops - starts) * np.array(curve["slopes"])
    x = np.column_stack([starts, stops]).ravel()
    y = np.column_stack([values, ends]).ravel()
    label = "smallest"
    if curve["best"] > values.min() + 1e-12:
        label = "best"
    for low, high in curve["optimal_intervals"]:
        if high > low:
            ax.axvspan(low, high, color=GREEN, alpha=0.3, linewidth=0, label=label)
        else:
            ax.axvline(low, color=GREEN, linewidth=2.0, label=label)
        label = "_also"
    ax.plot(x, y, color=BLUE, linewidth=1.6)
    low, high = sorted((float(starts[0]), float(curve["stop"])))
    if low < high:
        ax.set_xlim(low, high)
    parameter = curve["parameter"]
    if parameter == "C" and high > 20.0 * low > 0.0:
        ax.set_xscale("log")
        plain_ticks(ax.xaxis)
    ax.set_xlabel(_MOVED.get(parameter, parameter))
    ax.set_ylabel(loss_in_words(curve["loss"]))
    for one in (ax.xaxis, ax.yaxis):
        one.label.set_parse_math(False)
    ax.legend()
    return ax


def loss_in_words(loss: str) -> str:
    """Return what a curve shows, in words."""
    return _LOSSES.get(loss) or metric_in_words(loss).name


def path_drawing(record: Record) -> Drawing | None:
    """Return the picture of a path's curve, where the record has one."""
    curve = record.at("path.curve")
    if curve is None:
        return None
    longest = max(curve["optimal_intervals"], key=lambda one: one[1] - one[0])
    k = curve["optimal_intervals"].index(longest)
    at = f"path.curve.optimal_intervals.{k}"
    rows = [
        (figures(theta), figures(value))
        for theta, value in zip(curve["thetas"], curve["values"], strict=True)
    ]
    return Drawing(
        "path",
        "How does the error change along the path?",
        sentence(
            "Every model between two ends is known exactly. The line is its error on "
            "rows held out, and the shade is where that is smallest."
        ),
        sentence(
            "Its least value is {}, on the longest stretch from {} to {}.",
            figures(curve["best"], "path.curve.best"),
            figures(longest[0], f"{at}.0"),
            figures(longest[1], f"{at}.1"),
        ),
        (svg(lambda ax: draw_curve(ax, curve), "path", height=FIGURE_HEIGHT),),
        DataTable(
            ("from", loss_in_words(curve["loss"])), thinned(rows), "Some of the pieces."
        ),
    )
