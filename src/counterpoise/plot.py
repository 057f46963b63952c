"""Plots of reports and fitted objects on matplotlib Axes."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.figures.canvas import MUTED, axes, set_labels
from counterpoise.figures.draw import (
    BALANCE_DRAWN,
    CLASSES_DRAWN,
    draw_balance,
    draw_class_shares,
    draw_class_training,
    draw_clipping,
    draw_estimates,
    draw_histogram,
    draw_lorenz,
    draw_metric,
    draw_overlap,
    draw_sorted,
    draw_spectrum,
    draw_widths,
    positive_gaps,
)
from counterpoise.figures.methods import draw_curve, draw_segments, draw_trade_off
from counterpoise.networks.estimators import TradeOff
from counterpoise.performance.result import Performance, leading_of
from counterpoise.report.drawings import draw_choice, from_the_top
from counterpoise.report.report import Report
from counterpoise.report.sections import classes_section, curve_section
from counterpoise.selection.segmentation import Segmentation
from counterpoise.svm.path import ValidationCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "plot_balance",
    "plot_classes",
    "plot_convergence",
    "plot_monitor",
    "plot_overlap",
    "plot_path",
    "plot_performance",
    "plot_segments",
    "plot_selection",
    "plot_spectrum",
    "plot_trade_off",
    "plot_weights",
]

WEIGHT_PLOTS = ("sorted", "histogram", "lorenz", "clipping")
CLASS_PLOTS = ("shares", "training")


def _report(fitted: object) -> Report:
    return fitted if isinstance(fitted, Report) else Report.from_estimator(fitted)


def _section(fitted: object, name: str) -> dict[str, Any]:
    """Return a section that a plot is drawn from; raise where there is none."""
    section = _report(fitted).at(name)
    if not section:
        raise InvalidInputError(f"there is no section {name!r} to draw from")
    found: dict[str, Any] = section
    return found


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidInputError(
            f"{name} must be one of {', '.join(known)}, got {value!r}"
        )


def plot_balance(
    fitted: object, *, most: int = BALANCE_DRAWN, ax: "Axes | None" = None
) -> "Axes":
    """Return an Axes with each column's difference before and after weighting.

    A love plot: absolute standardized mean differences, with a guide at 0.1.

    Parameters
    ----------
    fitted : weight estimator, Adapted or Report
    most : int
        Columns to draw, those that differed most.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> from counterpoise import ULSIF
    >>> from counterpoise.plot import plot_balance
    >>> from counterpoise.datasets import make_sinc_shift
    >>> shift = make_sinc_shift(n=80, m=60, random_state=0)
    >>> fitted = ULSIF(gamma=1.0, regularization=0.1)
    >>> fitted = fitted.fit(shift.X, X_target=shift.X_target)
    >>> plot_balance(fitted).get_xlabel()
    'difference, in standard deviations'
    """
    section = _section(fitted, "balance")
    n = min(most, len(section["features"]))
    ax = axes(ax, 1.1 + 0.24 * max(n, 4))
    draw_balance(ax, section, most)
    return ax


def plot_overlap(fitted: object, *, ax: "Axes | None" = None) -> "Axes":
    """Return an Axes with the densities of the domain score in both samples.

    Parameters
    ----------
    fitted : weight estimator, Adapted or Report
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> from counterpoise import ULSIF
    >>> from counterpoise.plot import plot_overlap
    >>> from counterpoise.datasets import make_sinc_shift
    >>> shift = make_sinc_shift(n=80, m=60, random_state=0)
    >>> fitted = ULSIF(gamma=1.0, regularization=0.1)
    >>> fitted = fitted.fit(shift.X, X_target=shift.X_target)
    >>> plot_overlap(fitted).get_ylabel()
    'share of the rows'
    """
    section = _section(fitted, "overlap")
    ax = axes(ax)
    draw_overlap(ax, section)
    return ax


def plot_weights(
    fitted: object, *, kind: str = "sorted", ax: "Axes | None" = None
) -> "Axes":
    """Return an Axes with the weights, and what they are worth.

    Parameters
    ----------
    fitted : weight estimator, Adapted or Report
    kind : {"sorted", "histogram", "lorenz", "clipping"}
        The weights in descending order; how many rows have which weight; the share of
        all weight that the lightest rows have; the effective size if no weight
        exceeded a bound.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> from counterpoise import ULSIF
    >>> from counterpoise.plot import plot_weights
    >>> from counterpoise.datasets import make_sinc_shift
    >>> shift = make_sinc_shift(n=80, m=60, random_state=0)
    >>> fitted = ULSIF(gamma=1.0, regularization=0.1)
    >>> fitted = fitted.fit(shift.X, X_target=shift.X_target)
    >>> plot_weights(fitted).get_ylabel()
    'weight'
    """
    _one_of("kind", kind, WEIGHT_PLOTS)
    if not isinstance(fitted, Report):
        check_is_fitted(fitted, "weights_")
    section = _section(fitted, "weights")
    ax = axes(ax)
    if kind == "sorted":
        # A fitted object has every weight, a report some.
        draw_sorted(ax, section, getattr(fitted, "weights_", None))
    elif kind == "histogram":
        draw_histogram(ax, section)
    elif kind == "lorenz":
        draw_lorenz(ax, section)
    else:
        draw_clipping(ax, section)
    return ax


def plot_selection(fitted: object, *, ax: "Axes | None" = None) -> "Axes":
    """Return an Axes with the held-out scores behind a choice of weights.

    For a width, both scores: the two-sided one that was used, with the deficit it
    allows, and the textbook one-sided one, which an exact solver drives to ever
    narrower kernels. For a choice among families, a bar a candidate.

    Parameters
    ----------
    fitted : weight estimator, Adapted or Report
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> from counterpoise import ULSIF
    >>> from counterpoise.plot import plot_selection
    >>> from counterpoise.datasets import make_sinc_shift
    >>> shift = make_sinc_shift(n=80, m=60, random_state=0)
    >>> fitted = ULSIF(random_state=0)
    >>> fitted = fitted.fit(shift.X, X_target=shift.X_target)
    >>> plot_selection(fitted).get_xlabel()
    'width of the kernel'
    """
    nothing = InvalidInputError(f"{type(fitted).__name__} has selected nothing")
    if not isinstance(fitted, Report):
        check_is_fitted(fitted)
        results = getattr(fitted, "cv_results_", None)
        if results is None and not hasattr(fitted, "weight_estimator_"):
            raise nothing
    record = _report(fitted)
    candidates = record.at("weights.candidates", [])
    widths = record.at("solver.widths", [])
    if not candidates and not widths:
        raise nothing
    ax = axes(ax)
    if candidates:
        draw_choice(ax, candidates)
    else:
        draw_widths(ax, widths)
    return ax


def plot_convergence(
    *fitted: object, by: str = "seconds", ax: "Axes | None" = None
) -> "Axes":
    """Return an Axes with the proved gap against time or steps.

    Parameters
    ----------
    *fitted : weight estimator, Adapted, Solution or Report
        One line each. Records know steps only.
    by : {"seconds", "steps"}
        What goes to the right.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> from counterpoise import KLIEP
    >>> from counterpoise.plot import plot_convergence
    >>> from counterpoise.datasets import make_sinc_shift
    >>> shift = make_sinc_shift(n=80, m=60, random_state=0)
    >>> fitted = KLIEP(gamma=1.0)
    >>> fitted = fitted.fit(shift.X, X_target=shift.X_target)
    >>> plot_convergence(fitted).get_xlabel()
    'seconds'
    """
    if by not in ("seconds", "steps"):
        raise InvalidInputError(f"by must be 'seconds' or 'steps', got {by!r}")
    if any(isinstance(one, Report) for one in fitted):
        by = "steps"
    ax = axes(ax)
    for one in fitted:
        x, gaps, goal, label = _gap_line(one, by)
        ax.plot(x, positive_gaps(gaps), marker="." if len(x) < 50 else "", label=label)
        ax.axhline(goal, color=MUTED, linewidth=1, linestyle=":")
    ax.set_xscale("log")
    ax.set_yscale("log")
    set_labels(ax, "seconds" if by == "seconds" else "step", "proved gap")
    if len(fitted) > 1:
        ax.legend(frameon=False)
    return ax


def _gap_line(
    one: object, by: str
) -> tuple[list[float], list[float | None], float, str]:
    """Return the certified gaps of a search, its goal and its name."""
    if isinstance(one, Report):
        section = _section(one, "solver")
        history = section.get("history")
        if not history:
            raise InvalidInputError("the record has no history to draw")
        steps = [step + 1 for step in history["step"]]
        label = str(one.at("weights.chosen", "record"))
        return steps, history["gap"], section["goal"], label
    fitted = one
    if hasattr(one, "estimator_"):
        fitted = getattr(one, "weight_estimator_", one)
    solution: Any = getattr(fitted, "solution_", fitted)
    lines = getattr(solution, "history", ())
    if not lines:
        raise InvalidInputError(f"{type(one).__name__} has no history to draw")
    x = [line.seconds if by == "seconds" else line.n_iter + 1 for line in lines]
    solver = getattr(one, "solver", None) or one
    label = solver if isinstance(solver, str) else type(solver).__name__
    goal = solution.tol * solution.certificate.scale
    return x, [line.gap for line in lines], goal, label


def plot_spectrum(fitted: object, *, ax: "Axes | None" = None) -> "Axes":
    """Return an Axes with the discrepancy's eigenvalues before and after weighting.

    Parameters
    ----------
    fitted : DiscrepancyWeights, Diagnosis, Adapted or Report
        Of a `DiscrepancyWeights` after weighting means its own weights; of others the
        best weights that the diagnosis found.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> from counterpoise import DiscrepancyWeights
    >>> from counterpoise.plot import plot_spectrum
    >>> from counterpoise.datasets import make_sinc_shift
    >>> shift = make_sinc_shift(n=80, m=60, random_state=0)
    >>> fitted = DiscrepancyWeights()
    >>> fitted = fitted.fit(shift.X, X_target=shift.X_target)
    >>> plot_spectrum(fitted).get_ylabel()
    'new minus training spread'
    """
    spectrum = _section(fitted, "shift.spectrum")
    before, after = (from_the_top(spectrum, key) for key in ("before", "after"))
    ax = axes(ax)
    draw_spectrum(ax, before, after)
    return ax


def plot_classes(
    fitted: object, *, kind: str = "shares", ax: "Axes | None" = None
) -> "Axes":
    """Return an Axes with the classes of the target.

    Parameters
    ----------
    fitted : Adapted with `weight_estimator="partial"`, PartialWeights, network or
    Report
    kind : {"shares", "training"}
        The estimated share of every class, those judged absent marked; or the weights
        of the classes over the training of a network.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> from counterpoise import PartialWeights
    >>> from counterpoise.plot import plot_classes
    >>> from counterpoise.datasets import make_class_subset
    >>> shift = make_class_subset(separation=8.0, random_state=0)
    >>> fitted = PartialWeights(random_state=0).fit(
    ...     shift.X, shift.y, X_target=shift.X_target
    ... )
    >>> plot_classes(fitted).get_xlabel()
    'estimated share of the new data (x: judged absent)'
    """
    _one_of("kind", kind, CLASS_PLOTS)
    if isinstance(fitted, Report):
        section = fitted.at("classes")
    else:
        section = classes_section(fitted)
    if section is None:
        raise InvalidInputError(
            "there are no classes to draw: fit PartialWeights, or "
            "Adapted(weight_estimator='partial'), with a target"
        )
    if kind == "shares":
        drawn = min(len(section["names"]), CLASSES_DRAWN)
        ax = axes(ax, height=1.2 + 0.2 * drawn)
        draw_class_shares(ax, section)
        return ax
    if section["training"] is None:
        raise InvalidInputError("there is no training to draw: weights came at once")
    ax = axes(ax)
    draw_class_training(ax, section)
    return ax


def plot_performance(
    fitted: object, *, metric: str | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Return an Axes with the estimates of the target score, with intervals.

    Parameters
    ----------
    fitted : Report or Performance
        A record that has the section `performance`.
    metric : str or None
        One of its metrics; None: the first.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> from counterpoise import Report
    >>> from counterpoise.plot import plot_performance
    >>> told = {"value": 1.0, "low": 0.5, "high": 2.0}
    >>> section = {"metrics": {"mse": {"metric": "mse", "source": told}}}
    >>> plot_performance(Report.from_dict({"performance": section})).get_xlabel()
    'mse (lower is better)'
    """
    if isinstance(fitted, Performance):
        section = fitted.to_dict()
    else:
        section = _section(fitted, "performance")
    name = _metric_of(section, metric)
    ax = axes(ax)
    estimates = section["metrics"][name]
    draw_estimates(ax, estimates, leading_of(estimates))
    return ax


def _metric_of(section: dict[str, Any], metric: str | None) -> str:
    names = list(section["metrics"])
    name = names[0] if metric is None else metric
    _one_of("metric", name, tuple(names))
    return name


def plot_monitor(
    fitted: object, *, metric: str | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Return an Axes with a metric over time: estimates, labels, alerts.

    Parameters
    ----------
    fitted : ModelMonitor or Report
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
    >>> plot_monitor(Report.from_dict({"monitor": section})).get_ylabel()
    'mae'
    """
    section = _section(fitted, "monitor")
    name = _metric_of(section, metric)
    ax = axes(ax)
    draw_metric(ax, section, name)
    return ax


def plot_path(fitted: object, *, ax: "Axes | None" = None) -> "Axes":
    """Return an Axes with the exact validation curve of a path, the best shaded.

    Where the error jumps, it jumps; of more than 400 pieces so many are drawn. All
    intervals of theta on which it is smallest are shaded, not the longest alone.

    Parameters
    ----------
    fitted : SVMPath, ValidationCurve, Report, or Adapted
        A path made with validation rows, a curve of its own, a record of either, or an
        adapted support vector machine, of which the guard's curve is drawn.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.plot import plot_path
    >>> from counterpoise.svm import WeightedSVC
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
        curve = curve_section(fitted, "theta")
    else:
        record = _report(fitted)
        curve = record.at("path.curve") or record.at("guard.curve")
        if curve is None and "path" in record:
            raise InvalidInputError(
                "path was made without X_val and y_val: there is no curve to draw"
            )
    if curve is None:
        raise InvalidInputError(
            "there is no section 'path' to draw from: plot_path takes a path made with "
            "X_val and y_val, or an Adapted whose guard followed one"
        )
    ax = axes(ax)
    draw_curve(ax, curve)
    return ax


def plot_trade_off(curve: TradeOff, *, ax: "Axes | None" = None) -> "Axes":
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
    >>> from counterpoise.networks import ConvexNetworkClassifier
    >>> from counterpoise.plot import plot_trade_off
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 2))
    >>> net = ConvexNetworkClassifier(hidden_layer_sizes=(), random_state=0)
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
    draw_trade_off(ax, curve.constraint, vars(curve), curve.feasible)
    return ax


def plot_segments(
    image: ArrayLike,
    segments: ArrayLike | Segmentation,
    *,
    ax: "Axes | None" = None,
) -> "Axes":
    """Return an Axes with an image and the outlines of its segments.

    Parameters
    ----------
    image : array of shape (H, W), (H, W, 3) or (H, W, 4)
        Grey or color, as `segment` takes it.
    segments : array of shape (H, W), or Segmentation
        Any integers; of a `Segmentation` over several sparsities the last is drawn.
    ax : matplotlib Axes, optional
        Where to draw; a new one by default.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.plot import plot_segments
    >>> stripes = np.tile(np.arange(6) // 2, (4, 1))
    >>> plot_segments(np.zeros((4, 6)), stripes).get_title()
    '3 segments'
    """
    if isinstance(segments, Segmentation):
        labels = np.asarray(segments.labels)
        labels = labels[-1] if labels.ndim == 3 else labels
    else:
        labels = np.asarray(segments)
    pixels = np.asarray(image)
    if labels.ndim != 2 or labels.shape != pixels.shape[:2]:
        raise InvalidInputError(
            "segments must have the height and width of the image, "
            f"{pixels.shape[:2]}, got {labels.shape}"
        )
    ax = axes(ax)
    draw_segments(ax, pixels, labels)
    return ax
