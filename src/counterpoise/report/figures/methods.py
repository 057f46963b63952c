"""Figures of solvers, paths, spectra, selections and segmentations."""

import re
from typing import Any

import numpy as np
from scipy import ndimage
from sklearn.utils.validation import check_is_fitted

from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.networks.estimators import TradeOff
from counterpoise.report.figures.canvas import (
    BLUE,
    FIGURE_HEIGHT,
    GREEN,
    INK,
    MUTED,
    ORANGE,
    DataTable,
    Drawing,
    TitledTable,
    axes,
    name_ticks,
    percent_ticks,
    plain_ticks,
    record_of,
    section_of,
    svg,
    thinned,
)
from counterpoise.report.formatting import (
    Cell,
    Name,
    Sentence,
    ShownNumber,
    brief,
    count,
    figures,
    joined,
    lines,
    sentence,
    share,
    whole,
)
from counterpoise.report.report import Record, metric_in_words
from counterpoise.report.sections import classes_section, curve_section
from counterpoise.selection.segmentation import Segmentation
from counterpoise.shift.diagnosis_text import NEARLY_ALL
from counterpoise.svm.path import ValidationCurve

# -----------------------------------------------------------------------------
# What a tighter bound costs: the loss of a network against its bound.
# -----------------------------------------------------------------------------


def plot_trade_off(curve: TradeOff, *, ax: Any = None) -> Any:
    """Return an Axes with objective and loss against the bound, prices as slopes.

    The price of a bound is drawn as a short line through its point: what a little more
    or less of the bound would do to the objective. Bounds that were not met are marked
    along the axis.

    Parameters
    ----------
    curve : TradeOff
        Of `ConvexNetworkClassifier.trade_off` or `ConvexNetworkRegressor.trade_off`.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise import ConvexNetworkClassifier, plot_trade_off
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 2))
    >>> net = ConvexNetworkClassifier(hidden=(), random_state=0)
    >>> curve = net.trade_off(X, X[:, 0] > 0.5, [0.4, 0.35])
    >>> plot_trade_off(curve).get_xlabel()
    'class_error_bound'
    """
    if not isinstance(curve, TradeOff):
        raise InvalidTypeError(
            f"plot_trade_off takes a TradeOff, got {type(curve).__name__}: it comes "
            "from the method trade_off of a network"
        )
    if not curve.feasible.any():
        raise InvalidInputError(
            f"no bound of {curve.constraint} was met: there is nothing to draw"
        )
    ax = axes(ax)
    met = curve.feasible
    bounds, objective = curve.bounds[met], curve.objective[met]
    ax.plot(bounds, objective, "o", color=BLUE, label="objective")
    ax.plot(bounds, curve.loss[met], ".--", color=ORANGE, label="loss")
    half = 0.3 * _spacing(curve.bounds)
    label = "price"
    for bound, value, price in zip(bounds, objective, curve.price[met], strict=True):
        ends = np.array([-half, half])
        ax.plot(bound + ends, value - price * ends, color=BLUE, label=label)
        label = "_also"
    if not met.all():
        low = ax.get_ylim()[0]
        missed = curve.bounds[~met]
        ax.plot(missed, np.full(missed.size, low), "x", color=MUTED, label="not met")
    ax.set_xlabel(curve.constraint)
    ax.set_ylabel("objective and loss")
    ax.xaxis.label.set_parse_math(False)
    ax.legend()
    return ax


def _spacing(bounds: Any) -> float:
    """Return the least distance of two bounds; a tenth of a single one."""
    if bounds.size > 1:
        return float(np.abs(np.diff(bounds)).min())
    return 0.1 * max(abs(float(bounds[0])), 1.0)


# -----------------------------------------------------------------------------
# The outlines of segments on their image.
# -----------------------------------------------------------------------------


# Outlines are at least this share of the longer side thick, and one pixel.
_THICKNESS = 1 / 400


def plot_segments(image: Any, segments: Any, *, ax: Any = None) -> Any:
    """Return an Axes with an image and the outlines of its segments.

    Parameters
    ----------
    image : array of shape (H, W), (H, W, 3) or (H, W, 4)
        Grey or colour, as `segment` takes it.
    segments : array of shape (H, W), or Segmentation
        Any integers; of a `Segmentation` over several sparsities the last is drawn.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise import plot_segments
    >>> stripes = np.tile(np.arange(6) // 2, (4, 1))
    >>> plot_segments(np.zeros((4, 6)), stripes).get_title()
    '3 segments'
    """
    labels = segments.labels if isinstance(segments, Segmentation) else segments
    labels = np.asarray(labels)
    if isinstance(segments, Segmentation) and labels.ndim == 3:
        labels = labels[-1]
    pixels = np.asarray(image)
    if labels.ndim != 2 or labels.shape != pixels.shape[:2]:
        raise InvalidInputError(
            "segments must have the height and width of the image, "
            f"{pixels.shape[:2]}, got {labels.shape}"
        )
    ax = axes(ax)
    ax.imshow(_shown(pixels), cmap="gray", vmin=0, vmax=_largest(pixels))
    at_edge = outline(labels)
    # White with a dark rim is seen on every colour.
    overlay = np.zeros((*labels.shape, 4))
    overlay[ndimage.binary_dilation(at_edge)] = (0.0, 0.0, 0.0, 0.6)
    overlay[at_edge] = 1.0
    ax.imshow(overlay)
    ax.set_axis_off()
    count = np.unique(labels).size
    ax.set_title(f"{count} segment{'s' * (count > 1)}")
    return ax


def outline(labels: Any) -> Any:
    """Return which pixels lie at an edge between two segments."""
    thickness = max(round(max(labels.shape) * _THICKNESS), 1)
    at_edge = np.zeros(labels.shape, bool)
    for step in range(1, thickness + 1):
        at_edge[:, :-step] |= labels[:, :-step] != labels[:, step:]
        at_edge[:-step] |= labels[:-step] != labels[step:]
    return at_edge


def _largest(pixels: Any) -> float:
    """Return what white is."""
    return 1.0 if pixels.dtype.kind == "f" else float(np.iinfo(pixels.dtype).max)


def _shown(pixels: Any) -> Any:
    """Return the image as matplotlib takes it: words become floats, alpha goes."""
    if pixels.ndim == 2:
        return pixels
    colors = pixels[..., :3]
    return colors if pixels.dtype == np.uint8 else colors / _largest(pixels)


# -----------------------------------------------------------------------------
# The error along an exact path, and where it is smallest.
# -----------------------------------------------------------------------------


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
            raise InvalidInputError(
                "path was made without X_val and y_val: there is no curve to draw"
            )
        raise InvalidInputError(
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


# -----------------------------------------------------------------------------
# How much of the weights, and which weights: the scores behind the choices.
# -----------------------------------------------------------------------------


_CANDIDATES = {
    "uniform": "equal weights",
    "log-ratio linear": "means",
    "log-ratio diag": "means and spreads",
    "log-ratio full": "products of columns",
    "log-ratio full, ridge 0.1": "products, shrunk",
    "two Gaussians": "two normal laws",
    "two Gaussians of ranks": "normal laws of ranks",
    "logistic": "linear classifier",
    "logistic on squares": "classifier of squares",
    "logistic on products, C = 0.01": "classifier of products",
    "logistic on products, C = 0.1": "the same, shrunk less",
    "boosted": "boosted trees",
}


def plot_selection(fitted: Any, *, ax: Any = None) -> Any:
    """Return an Axes with the held-out scores behind a choice of weights.

    For a width, both scores: the two-sided one that was used, with the deficit it
    allows, and the textbook one-sided one, which an exact solver drives to ever
    narrower kernels. For a choice among families, a bar a candidate.

    Parameters
    ----------
    fitted : weight estimator, Adapted or Record
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> from counterpoise import ULSIF, plot_selection
    >>> from counterpoise.datasets import make_sinc_shift
    >>> shift = make_sinc_shift(n=80, m=60, random_state=0)
    >>> fitted = ULSIF(random_state=0)
    >>> fitted = fitted.fit(shift.X, X_target=shift.X_target)
    >>> plot_selection(fitted).get_xlabel()
    'width of the kernel'
    """
    record = fitted
    if not isinstance(fitted, Record):
        check_is_fitted(fitted)
        if getattr(fitted, "cv_results_", None) is None and not hasattr(
            fitted, "weight_estimator_"
        ):
            raise InvalidInputError(f"{type(fitted).__name__} has selected nothing")
        record = Record.of(fitted)
    candidates, widths = _choices(record)
    if not candidates and not widths:
        raise InvalidInputError(f"{type(fitted).__name__} has selected nothing")
    ax = axes(ax)
    return draw_candidates(ax, candidates) if candidates else draw_widths(ax, widths)


def _choices(record: Record) -> tuple[list[Any], list[Any]]:
    return record.at("weights.candidates", []), record.at("solver.widths", [])


def draw_candidates(ax: Any, candidates: list[dict[str, Any]]) -> Any:
    """Draw a bar a candidate that was tried, the chosen one marked."""
    candidates = _drawn(candidates)
    scores = [np.nan if one["score"] is None else one["score"] for one in candidates]
    colors = [BLUE if one["admissible"] else MUTED for one in candidates]
    place = np.arange(len(scores))
    ax.barh(place, scores, color=colors, height=0.62)
    for k, one in enumerate(candidates):
        if one["chosen"]:
            ax.plot(scores[k], k, "D", color=INK, markersize=7)
    ax.axvline(0.0, color=MUTED, linewidth=0.8)
    name_ticks(ax, [candidate_in_words(one["candidate"]) for one in candidates])
    ax.set_ylim(len(scores) - 0.4, -0.6)
    # One that is far off would press the others together.
    known = [score for score in scores if np.isfinite(score)]
    high = max([*known, 0.05])
    ax.set_xlim(max(min([*known, 0.0]), -2 * high), 1.12 * high)
    ax.set_xlabel("better than equal weights by\n(on held-out rows, more is better)")
    return ax


def _tried(candidates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the candidates that have a score; all where none has."""
    return [one for one in candidates if one["score"] is not None] or candidates


def _drawn(candidates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return those with a bar, and the chosen one; equal weights are where bars begin.

    All where none has.
    """
    tried = _tried(candidates)
    return [one for one in tried if _has_bar(one) or one["chosen"]] or tried


def _has_bar(one: dict[str, Any]) -> bool:
    # What rounding makes of the score of equal weights is nothing to see.
    return one["score"] is not None and abs(one["score"]) > 1e-9


def candidate_in_words(name: str) -> str:
    """Return what a candidate is called on the page.

    Examples
    --------
    >>> candidate_in_words("kernel 0.18 median"), candidate_in_words("boosted")
    ('kernels, width 0.18', 'boosted trees')
    """
    found = re.fullmatch(r"kernel (\S+) median", name)
    if found:
        return f"kernels, width {found[1]}"
    return _CANDIDATES.get(name, name)


def draw_widths(ax: Any, widths: list[dict[str, Any]]) -> Any:
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
    ax.set_xlabel("width of the kernel")
    ax.set_ylabel("score on held-out rows\n(more is better)")
    ax.legend(frameon=False)
    return ax


def draw_guard(ax: Any, guard: dict[str, Any]) -> Any:
    """Draw the model's estimated loss against the power of the weights."""
    ax.errorbar(
        guard["exponents"],
        guard["values"],
        yerr=guard["errors"],
        color=BLUE,
        marker="o",
        markersize=5,
        capsize=3,
    )
    k = guard["exponents"].index(guard["chosen"])
    ax.plot(
        guard["chosen"],
        guard["values"][k],
        "D",
        color=ORANGE,
        markersize=10,
        label="used",
    )
    if guard.get("kind") == "mixing":
        ax.set_xticks((0.0, 0.25, 0.5, 0.75, 1.0))
    else:
        ax.set_xticks(guard["exponents"])
    ax.set_xlabel("how much of the weights (0: none, 1: all)")
    better = "higher" if guard["higher_is_better"] else "lower"
    ax.set_ylabel(f"estimate for the new data\n({better} is better)")
    ax.legend()
    return ax


def validation_drawing(record: Record) -> Drawing | None:
    """Return the pictures of what was tried: how much of which weights."""
    guard = record.at("guard")
    candidates, widths = _choices(record)
    pictures, told = [], []
    rows: list[tuple[Cell, ...]] = []
    if guard is not None:
        pictures.append(
            svg(lambda ax: draw_guard(ax, guard), "validation", height=FIGURE_HEIGHT)
        )
        told.append(_guard_told(guard))
        rows += [
            (sentence_name(_amount(guard), e), figures(v), figures(error))
            for e, v, error in zip(
                guard["exponents"], guard["values"], guard["errors"], strict=True
            )
        ]
    if candidates:
        height = 1.2 + 0.24 * len(_drawn(candidates))
        pictures.append(
            svg(lambda ax: draw_candidates(ax, candidates), "selection", height=height)
        )
        chosen = next(k for k, one in enumerate(candidates) if one["chosen"])
        taken_one = Name(candidate_in_words(candidates[chosen]["candidate"]))
        told.append(
            sentence(
                "Of {} ways to weigh, {} was taken: the simplest whose held-out score "
                "is as good as the best.",
                str(len(candidates)),
                taken_one,
            )
            if len(candidates) > 1
            else sentence(
                "There were too few rows to choose weights by cross-validation: {} was "
                "taken.",
                taken_one,
            )
        )
        rows += [
            (
                Name(candidate_in_words(one["candidate"])),
                "not tried" if one["score"] is None else figures(one["score"]),
                None
                if one["standard_error"] is None
                else figures(one["standard_error"]),
            )
            for one in candidates
        ]
    elif widths:
        pictures.append(
            svg(lambda ax: draw_widths(ax, widths), "selection", height=FIGURE_HEIGHT)
        )
        taken = next(k for k, one in enumerate(widths) if one["chosen"])
        told.append(
            sentence(
                "Of {} widths of the kernel, {} was taken.",
                str(len(widths)),
                figures(widths[taken]["width"], f"solver.widths.{taken}.width"),
            )
        )
        rows += [
            (
                sentence_name("kernel of width", one["width"]),
                None if one["score"] is None else figures(one["score"]),
                None
                if one["standard_error"] is None
                else figures(one["standard_error"]),
            )
            for one in widths
        ]
    if not pictures:
        return None
    return Drawing(
        "validation",
        "What was tried, and what was chosen?",
        sentence(
            "Weights are used only as far as they help. Everything is judged on rows "
            "held out from the fit; the diamond marks what was taken, the bars what "
            "chance may do."
        ),
        tuple(part for words in told for part in (*words, " "))[:-1],
        tuple(pictures),
        DataTable(("tried", "score or loss", "standard error"), tuple(rows)),
    )


def _guard_told(guard: dict[str, Any]) -> Sentence:
    last = len(guard["values"]) - 1
    if guard["chosen"] == 0:
        return sentence(
            "The model uses no weights: it is estimated at {} without them and at {} "
            "with all of them.",
            figures(guard["values"][0], "guard.values.0"),
            figures(guard["values"][last], f"guard.values.{last}"),
        )
    words = "The model uses the weights to the power {}: "
    if guard.get("kind") == "mixing":
        words = "The model uses {} of the weights, beside equal ones: "
    return sentence(
        words + "{} better than without weights, give or take {}.",
        brief(guard["chosen"], "guard.chosen"),
        figures(guard["gain"], "guard.gain"),
        figures(guard["gain_error"], "guard.gain_error"),
    )


def _amount(guard: dict[str, Any]) -> str:
    mixing = guard.get("kind") == "mixing"
    return "share of the weights" if mixing else "weights to the power"


def sentence_name(told: str, value: float) -> str:
    """Return the name of something tried by its number."""
    return f"{told} {value:g}"


# -----------------------------------------------------------------------------
# How well source and target can be told apart, and along which directions.
# -----------------------------------------------------------------------------


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
        raise InvalidInputError("there is no section 'shift.spectrum' to draw from")
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
    largest = _largest_shifts(spectrum, "discrepancy", "before")
    if not spectrum.get("after"):
        return [sentence("The largest difference is {}.", largest)]
    left = _largest_shifts(spectrum, "least", "after")
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
    whose = "Weighting" if spectrum.get("weight_estimator") else "The best weighting"
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


def _largest_shifts(spectrum: dict[str, Any], key: str, values: str) -> ShownNumber:
    """Return a discrepancy, or in older records the eigenvalue behind it."""
    if spectrum.get(key) is not None:
        return figures(spectrum[key], f"shift.spectrum.{key}")
    return figures(spectrum[values][0], f"shift.spectrum.{values}.0")


# -----------------------------------------------------------------------------
# Objective and certified gap of the search for the weights.
# -----------------------------------------------------------------------------


def plot_convergence(*fitted: Any, by: str = "seconds", ax: Any = None) -> Any:
    """Return an Axes with the proved gap against time or steps.

    Parameters
    ----------
    *fitted : weight estimator, Adapted, Solution or Record
        One line each. Records know steps only.
    by : {"seconds", "steps"}
        What goes to the right.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> from counterpoise import KLIEP, plot_convergence
    >>> from counterpoise.datasets import make_sinc_shift
    >>> shift = make_sinc_shift(n=80, m=60, random_state=0)
    >>> fitted = KLIEP(gamma=1.0)
    >>> fitted = fitted.fit(shift.X, X_target=shift.X_target)
    >>> plot_convergence(fitted).get_xlabel()
    'seconds'
    """
    if by not in ("seconds", "steps"):
        raise InvalidInputError(f"by must be 'seconds' or 'steps', got {by!r}")
    if any(isinstance(one, Record) for one in fitted):
        by = "steps"
    ax = axes(ax)
    for one in fitted:
        x, gaps, goal, told = _line(one, by)
        ax.plot(x, gaps, marker="." if len(x) < 50 else "", label=told)
        ax.axhline(goal, color=MUTED, linewidth=1, linestyle=":")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("seconds" if by == "seconds" else "step")
    ax.set_ylabel("proved gap")
    if len(fitted) > 1:
        ax.legend(frameon=False)
    return ax


def _line(one: Any, by: str) -> tuple[list[float], list[float], float, str]:
    if isinstance(one, Record):
        section = section_of(one, "solver")
        history = section.get("history")
        if not history:
            raise InvalidInputError("the record has no history to draw")
        steps = [step + 1 for step in history["step"]]
        told = str(one.at("weights.chosen", "record"))
        return steps, _positive(history["gap"]), section["goal"], told
    fitted = (
        getattr(one, "weight_estimator_", one) if hasattr(one, "estimator_") else one
    )
    solution = getattr(fitted, "solution_", fitted)
    lines = getattr(solution, "history", ())
    if not lines:
        raise InvalidInputError(f"{type(one).__name__} has no history to draw")
    x = [line.seconds if by == "seconds" else line.n_iter + 1 for line in lines]
    solver = getattr(one, "solver", None) or one
    told = solver if isinstance(solver, str) else type(solver).__name__
    goal = solution.tol * solution.certificate.scale
    return x, _positive([line.gap for line in lines]), goal, told


def _positive(gaps: list[float | None]) -> list[float]:
    return [float("nan") if gap is None else max(gap, 1e-16) for gap in gaps]


def draw_gap(ax: Any, section: dict[str, Any]) -> Any:
    """Draw the certified gap, step by step."""
    history = section["history"]
    steps = [step + 1 for step in history["step"]]
    marker = "o" if len(steps) < 40 else ""
    gaps = _positive(history["gap"])
    ax.plot(steps, gaps, color=BLUE, marker=marker, markersize=4)
    ax.axhline(section["goal"], color=MUTED, linewidth=1.4, linestyle=(0, (4, 3)))
    ax.set_yscale("log")
    if len(steps) > 30:
        ax.set_xscale("log")
        plain_ticks(ax.xaxis)
    else:
        ax.locator_params(axis="x", integer=True)
    plain_ticks(ax.yaxis)
    ax.set_xlabel("step")
    ax.set_ylabel("at most this far from the best")
    return ax


def draw_objective(ax: Any, section: dict[str, Any]) -> Any:
    """Draw the objective, step by step."""
    history = section["history"]
    steps = [step + 1 for step in history["step"]]
    values = [float("nan") if v is None else v for v in history["objective"]]
    marker = "s" if len(steps) < 40 else ""
    ax.plot(steps, values, color=ORANGE, marker=marker, markersize=4)
    if len(steps) > 30:
        ax.set_xscale("log")
        plain_ticks(ax.xaxis)
    else:
        ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("step")
    ax.set_ylabel("objective")
    return ax


def convergence_drawing(record: Record) -> Drawing | None:
    """Return the picture of the search for the weights."""
    section = record.at("solver")
    proof = record.at("weights.certificate")
    if section is None or proof is None or not section.get("history"):
        return None
    if len(section["history"]["step"]) < 2:
        return None
    history = section["history"]
    rows = [
        (str(step + 1), *(None if v is None else figures(v, digits=4) for v in values))
        for step, *values in zip(
            history["step"], history["objective"], history["gap"], strict=True
        )
    ]
    ends = "and the proof holds" if proof["holds"] else "and the proof does NOT hold"
    gap = proof.get("gap")
    reached: Any = "not bounded" if gap is None else _gap(gap)
    return Drawing(
        "convergence",
        "Were the best weights found?",
        sentence(
            "The weights are the answer to an optimisation problem. After every step a "
            "proof says how far from the best possible answer they still can be "
            "(blue); the search ends below the dashed line."
        ),
        sentence(
            "{} steps; the weights are proved to be within {} of the optimum, where "
            "{} was asked for, {}.",
            whole(proof["steps"], "weights.certificate.steps"),
            reached,
            ShownNumber(section["goal"], f"{section['goal']:.2g}", "solver.goal"),
            ends,
        ),
        (
            svg(lambda ax: draw_gap(ax, section), "convergence", height=FIGURE_HEIGHT),
            svg(
                lambda ax: draw_objective(ax, section),
                "objective",
                height=FIGURE_HEIGHT,
            ),
        ),
        DataTable(("step", "objective", "certified gap"), thinned(rows)),
    )


def _gap(gap: float) -> ShownNumber:
    return ShownNumber(gap, f"{gap:.2g}", "weights.certificate.gap")


# -----------------------------------------------------------------------------
# Which classes the target seems to have, and how their weights came about.
# -----------------------------------------------------------------------------


CLASS_PICTURES = ("shares", "training")
# Classes in a picture, those of the largest shares first.
CLASSES_DRAWN = 40


def plot_classes(fitted: Any, *, kind: str = "shares", ax: Any = None) -> Any:
    """Return an Axes with the classes of the target.

    Parameters
    ----------
    fitted : Adapted with `weight_estimator="partial"`, PartialWeights, network or
    Record
    kind : {"shares", "training"}
        The estimated share of every class, those judged absent marked; or the weights
        of the classes over the training of a network.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> from counterpoise import PartialWeights, plot_classes
    >>> from counterpoise.datasets import make_class_subset
    >>> shift = make_class_subset(separation=8.0, random_state=0)
    >>> fitted = PartialWeights(random_state=0).fit(
    ...     shift.X, shift.y, X_target=shift.X_target
    ... )
    >>> plot_classes(fitted).get_xlabel()
    'estimated share of the new data (x: judged absent)'
    """
    if kind not in CLASS_PICTURES:
        raise InvalidInputError(
            f"kind must be one of {', '.join(CLASS_PICTURES)}, got {kind!r}"
        )
    record = isinstance(fitted, Record)
    section = fitted.at("classes") if record else classes_section(fitted)
    if section is None:
        raise InvalidInputError(
            "there are no classes to draw: fit PartialWeights, or "
            "Adapted(weight_estimator='partial'), with a target"
        )
    if kind == "training":
        if section["training"] is None:
            raise InvalidInputError(
                "there is no training to draw: weights came at once"
            )
        return draw_training(axes(ax), section)
    drawn = min(len(section["names"]), CLASSES_DRAWN)
    return draw_shares(axes(ax, height=1.2 + 0.2 * drawn), section)


def draw_shares(ax: Any, section: dict[str, Any]) -> Any:
    """Draw the shares of the classes, largest first, absent ones marked."""
    order = _largest_first(section)
    shares = [section["prior"][k] for k in order]
    colors = [MUTED if section["absent"][k] else BLUE for k in order]
    ax.barh(range(len(order)), shares, height=0.72, color=colors)
    for place, k in enumerate(order):
        if section["absent"][k]:
            ax.plot(shares[place], place, "x", color=ORANGE, markersize=6)
    name_ticks(ax, [section["names"][k] for k in order])
    ax.set_ylim(len(order) - 0.4, -0.6)
    ax.set_xlim(left=0.0)
    percent_ticks(ax.xaxis)
    ax.set_xlabel("estimated share of the new data (x: judged absent)")
    return ax


def draw_training(ax: Any, section: dict[str, Any]) -> Any:
    """Draw the weight of every class over the iterations."""
    steps = section["training"]["iteration"]
    for k, absent in enumerate(section["absent"]):
        heights = [one[k] for one in section["training"]["weight"]]
        ax.plot(steps, heights, color=MUTED if absent else BLUE, linewidth=1)
    ax.set_xlabel("iteration (grey: judged absent)")
    ax.set_ylabel("weight of a class")
    ax.set_ylim(bottom=0.0)
    return ax


def classes_drawing(record: Record) -> Drawing | None:
    """Return the picture of the classes of the new data."""
    section = record.at("classes")
    if section is None:
        return None
    order = _largest_first(section)
    rows = tuple(
        (
            Name(section["names"][k]),
            share(section["prior"][k]),
            figures(section["weight"][k]),
            "absent" if section["absent"][k] else "",
        )
        for k in order
    )
    return Drawing(
        "classes",
        "Which classes do the new data have?",
        sentence(
            "A bar is the share of the new data that a class is estimated to have. "
            "Training rows of classes judged absent are left out; a class of one or "
            "two new rows will be among them."
        ),
        sentence(
            "{} of {} classes are judged absent.",
            count(section["n_absent"], "classes.n_absent"),
            count(len(section["names"])),
        ),
        (
            svg(
                lambda ax: draw_shares(ax, section),
                "classes",
                height=1.0 + 0.2 * len(order),
            ),
        ),
        DataTable(("class", "share", "weight", "judged"), rows),
    )


def overruled_table(record: Record) -> TitledTable | None:
    """Return where rows went that the classifier had put into absent classes."""
    section = record.at("classes")
    if section is None or not section["overruled"]:
        return None
    rows = tuple(
        (
            Name(one["from"]),
            count(one["rows"]),
            Name(one["mostly_to"]),
            share(one["share"]),
        )
        for one in section["overruled"]
    )
    return TitledTable(
        "overruled",
        "Rows of classes judged absent",
        sentence(
            "New rows that the classifier alone would have put into a class judged "
            "absent, and the class that most of them got. Of fewer than five rows "
            "nothing is told."
        ),
        DataTable(("class", "rows", "mostly to", "share"), rows),
        in_text=True,
    )


def _largest_first(section: dict[str, Any]) -> list[int]:
    prior = section["prior"]
    return sorted(range(len(prior)), key=lambda k: -prior[k])[:CLASSES_DRAWN]
