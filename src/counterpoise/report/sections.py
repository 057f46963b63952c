"""Sections of the report data, one function per question."""

import math
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_is_fitted

from counterpoise.adaptation.adapted import Adapted
from counterpoise.adaptation.partial import PartialWeights
from counterpoise.data.columns import FEWEST_ROWS_REPORTED, cut_column
from counterpoise.data.encoder import TableEncoder
from counterpoise.data.table import NUMBERS, TableColumn
from counterpoise.data.two_samples import (
    TwoSamples,
    clip_weights,
    effective_sample_size,
)
from counterpoise.errors import InvalidTypeError, suppress_warnings
from counterpoise.linalg.arrays import Array
from counterpoise.monitor.monitor import ModelMonitor
from counterpoise.performance.result import Performance, leading_of
from counterpoise.shift.diagnosis import COLUMNS_TOLD, EIGENVALUES_KEPT, Diagnosis
from counterpoise.shift.support import Overlap, overlap
from counterpoise.svm.path import SVMPath, ValidationCurve

# An object of a JSON document.
Section = dict[str, Any]

# -----------------------------------------------------------------------------
# What is proved, on which assumption, and what would break it.
# -----------------------------------------------------------------------------


SAME_LABELS = (
    "the label depends on the columns in the new data as it does in training data"
)
# What the interval of an estimate assumes, by the estimate that leads.
_ASSUMPTIONS = {
    "labeled": "the labeled rows of the new data were drawn by chance",
    "doubly_robust": f"{SAME_LABELS}, and the weights or the model of the loss are "
    "right",
    "direct": f"{SAME_LABELS}, and the model of the loss is right",
    "weighted": f"{SAME_LABELS}, and the weights are right",
}


def guarantees_section(sections: Section) -> list[Section]:
    """Return the promises of the other sections: what, if what, unless what."""
    promises: list[Section] = []

    def promise(what: str, assumes: str, breaks: str) -> None:
        promises.append({"what": what, "assumes": assumes, "breaks": breaks})

    if sections.get("shift") is not None:
        promise(
            "The classifier that tells the samples apart is judged on rows that it was "
            "not fitted to; its interval has level 0.95.",
            "rows are drawn independently",
            "rows that repeat one another, as in a time series or several rows a "
            "person, make the interval too short",
        )
    proof = (sections.get("weights") or {}).get("certificate")
    if proof is not None and proof.get("kind") not in (None, "none"):
        are = "optimal for their objective" if proof["holds"] else "NOT proved optimal"
        promise(
            f"The weights are {are}: {proof['words']}.",
            "nothing; the proof is computed from the weights alone",
            "it says how well the problem was solved, not that the problem was the "
            "right one",
        )
    if sections.get("guard") is not None:
        promise(
            "The model is weighted only as far as its own loss, estimated for the new "
            "data, gains by it.",
            f"{SAME_LABELS}, and the weights are right on the average",
            "a change of how the label depends on the columns",
        )
    path, headline = sections.get("path"), sections.get("headline")
    if path is not None:
        promise(
            "Every model on the path is exact up to rounding: the optimality "
            f"conditions hold to {path['residual']:.1e} where they were proved from "
            f"scratch, and to {path['running_residual']:.1e} by the running sums.",
            "nothing; the proof is computed from the models alone",
            "the error on held-out rows is exact for these rows, and those of other "
            "rows may be least elsewhere",
        )
    if headline is not None:
        promise(
            "The interval of the score on the new data holds the true score as often "
            "as its level says.",
            _ASSUMPTIONS.get(headline["estimate"], _ASSUMPTIONS["weighted"]),
            "new data where there are no training data, and labels that have come to "
            "mean something else; a few labeled rows of the new data can tell",
        )
    return promises


# -----------------------------------------------------------------------------
# What it takes to make the same again.
# -----------------------------------------------------------------------------


_PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "clarabel",
    "pandas",
    "pyarrow",
    "matplotlib",
    "jinja2",
)


def reproduce_section(fitted: object) -> Section:
    """Return versions, the platform, and the parameters of what was fitted."""
    from counterpoise import __version__

    versions: dict[str, str | None] = {
        "counterpoise": __version__,
        "python": ".".join(map(str, sys.version_info[:3])),
    }
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    found: Section = {
        "versions": versions,
        "platform": " ".join(filter(None, (platform.system(), platform.machine()))),
    }
    if hasattr(fitted, "get_params"):
        # Others than plain values by their names: a repr may hold data, or an address.
        parameters = {
            key: value
            if _is_plain(value)
            else str(getattr(value, "__name__", type(value).__name__))
            for key, value in sorted(fitted.get_params(deep=False).items())
        }
        found["parameters"] = {"class": type(fitted).__name__, **parameters}
    return found


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


# -----------------------------------------------------------------------------
# The way to the weights: objective and certified gap, and what was chosen by.
# -----------------------------------------------------------------------------


# Steps that are listed of a long search, at equal intervals.
_STEPS_RECORDED = 150


def solver_section(weight_estimator: Any) -> Section | None:
    """Return the history of the search and of the choice of a width."""
    solution = getattr(weight_estimator, "solution_", None)
    if solution is None:
        return None
    history = getattr(solution, "history", ())
    found: Section = {
        "goal": solution.tol * solution.certificate.scale,
        "steps": solution.n_iter,
    }
    if history:
        places = np.unique(
            np.linspace(0, len(history) - 1, _STEPS_RECORDED).round().astype(int)
        )
        lines = [history[k] for k in places.tolist()]
        found["history"] = {
            "step": [line.n_iter for line in lines],
            "objective": [_finite(line.objective) for line in lines],
            "gap": [_finite(line.gap) for line in lines],
        }
    found["widths"] = _cv_results(weight_estimator, "width", _WIDTH_KEYS)
    return found


_WIDTH_KEYS = ("width", "score", "standard_error", "one_sided_score", "chosen")
_CANDIDATE_KEYS = ("candidate", "score", "standard_error", "admissible", "chosen")


def _cv_results(
    weight_estimator: object, tried: str, keys: Sequence[str]
) -> list[Section]:
    """Return a row for each width or family that was tried, with held-out scores."""
    results = getattr(weight_estimator, "cv_results_", None)
    if not isinstance(results, dict) or tried not in results:
        return []
    # Least-squares weight estimators have no one-sided likelihood.
    known = [key for key in keys if key in results]
    columns = [np.asarray(results[key]).tolist() for key in known]
    return [dict(zip(known, row, strict=True)) for row in zip(*columns, strict=True)]


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


# -----------------------------------------------------------------------------
# Which classes the target seems to have: shares, weights, and what was overruled.
# -----------------------------------------------------------------------------


def classes_section(fitted: Any) -> Section | None:
    """Return shares and weights of the classes, where a fitted object has some.

    Parameters
    ----------
    fitted : Adapted, PartialWeights or a network with `class_prior_`
    """
    found = getattr(fitted, "weight_estimator_", fitted)
    if not hasattr(found, "class_prior_"):
        return None
    classes = [str(one) for one in found.classes_.tolist()]
    absent = set(found.absent_classes_.tolist())
    guard = getattr(found, "guard_", None)
    return {
        "names": classes,
        "prior": found.class_prior_.tolist(),
        "weight": found.class_weight_.tolist(),
        "absent": [one in absent for one in found.classes_.tolist()],
        "n_absent": len(absent),
        "overruled": _overruled(found),
        "training": _training(found),
        "guard": None if guard is None else guard.to_dict(),
    }


def _overruled(found: Any) -> list[Section]:
    """Return where rows went that the classifier had put into absent classes.

    Of fewer than five rows nothing is told.
    """
    confusion = getattr(found, "confusion_", None)
    if confusion is None:
        return []
    classes, absent = found.classes_.tolist(), set(found.absent_classes_.tolist())
    told = []
    for k, one in enumerate(classes):
        rows = int(confusion[k].sum())
        if one in absent and rows >= FEWEST_ROWS_REPORTED:
            best = int(np.argmax(confusion[k]))
            told.append(
                {
                    "from": str(one),
                    "rows": rows,
                    "mostly_to": str(classes[best]),
                    "share": float(confusion[k, best] / rows),
                }
            )
    return told


def _training(found: Any) -> Section | None:
    """Return the class weights over the training of a network."""
    history = getattr(found, "history_", None)
    if not history:
        return None
    return {
        "iteration": [one.iteration for one in history],
        "weight": [np.asarray(one.class_weight).tolist() for one in history],
    }


# -----------------------------------------------------------------------------
# How the rows were weighed: what the weights are like and what they are worth.
# -----------------------------------------------------------------------------


# From this ratio of the largest to the median weight on, the axis is logarithmic.
LOG_FROM = 50.0
_WEIGHT_BINS, _WEIGHT_POINTS, _CLIPPING_BOUNDS = 30, 100, 12


def weights_section(weight_estimator: Any, ratio: Array) -> Section:
    """Return the density ratio at the source rows in aggregates.

    Parameters
    ----------
    weight estimator : fitted weight estimator or None
    ratio : array of shape (n,)
        Of mean one.
    """
    inner = getattr(weight_estimator, "weight_estimator_", weight_estimator)
    given = {} if inner is None else inner.get_params(deep=False)
    names = (
        None if one is None else type(one).__name__ for one in (weight_estimator, inner)
    )
    size = float(effective_sample_size(ratio))
    count = max(1, round(0.01 * ratio.size))
    return {
        **dict(zip(("weight_estimator", "chosen"), names, strict=True)),
        "parameters": {k: v for k, v in sorted(given.items()) if _is_plain(v)},
        "candidates": _cv_results(weight_estimator, "candidate", _CANDIDATE_KEYS),
        "rows": int(ratio.size),
        "effective_size": size,
        "effective_share": size / ratio.size,
        "largest": float(ratio.max()),
        "smallest": float(ratio.min()),
        # The share of all weight that the largest 1 % of the rows have.
        "share_of_top_percent": float(
            np.partition(ratio, -count)[-count:].sum() / ratio.sum()
        ),
        "unsupported_fraction": getattr(
            weight_estimator, "unsupported_fraction_", None
        ),
        "certificate": certificate_of(getattr(weight_estimator, "solution_", None)),
        "curve": _curve(ratio),
        "histogram": _histogram(ratio),
        "lorenz": _lorenz(ratio),
        "clipping": _clipping(ratio),
    }


def certificate_of(solution: Any) -> Section | None:
    """Return what is proved about the weights."""
    if solution is None:
        return None
    keys = ("kind", "objective", "bound", "gap", "scale", "residual", "infeasibility")
    return {
        **{key: getattr(solution.certificate, key) for key in keys},
        "tol": solution.tol,
        "holds": bool(solution.converged),
        "steps": solution.n_iter,
        "words": str(solution.certificate),
    }


def _curve(ratio: Array) -> dict[str, list[float]]:
    """Return the weights in descending order at equal intervals."""
    n = ratio.size
    ranks = np.unique(np.linspace(0, n - 1, min(n, 2 * _WEIGHT_POINTS + 1)).round())
    ordered = np.sort(ratio)[::-1][ranks.astype(int)]
    return {"share": ((ranks + 0.5) / n).tolist(), "weight": ordered.tolist()}


def _histogram(ratio: Array) -> Section:
    largest, median = float(ratio.max()), float(np.median(ratio))
    is_log = largest > LOG_FROM * median
    if is_log:
        low = max(float(ratio.min()), largest * 1e-6)
        edges = np.geomspace(low, largest, _WEIGHT_BINS + 1)
        counts, _ = np.histogram(np.maximum(ratio, low), edges)
    else:
        # Uniform weights have no width of their own.
        high = largest if largest > float(ratio.min()) else 2 * largest
        counts, edges = np.histogram(ratio, _WEIGHT_BINS, (0.0, high))
    return {"log": is_log, "edges": edges.tolist(), "rows": counts.tolist()}


def _lorenz(ratio: Array) -> Section:
    """Return how much of the weight the rows with the smallest weights have."""
    mass = np.concatenate([[0.0], np.cumsum(np.sort(ratio))])
    mass /= mass[-1]
    rows = np.linspace(0.0, 1.0, mass.size)
    at = np.linspace(0.0, 1.0, _WEIGHT_POINTS + 1)
    gini = 1.0 - float(np.sum(mass[1:] + mass[:-1])) / ratio.size
    return {
        "rows": at.tolist(),
        "mass": np.interp(at, rows, mass).tolist(),
        "gini": max(gini, 0.0),
    }


def _clipping(ratio: Array) -> list[dict[str, float]]:
    """Return what the weights would be worth if none exceeded a bound."""
    largest = float(ratio.max())
    if largest <= 1.0 + 1e-9:
        return []
    bounds = np.geomspace(1.0, largest, _CLIPPING_BOUNDS)
    found = []
    for bound in bounds.tolist():
        cut = clip_weights(ratio, max(bound, 1.0))
        moved = float(np.abs(cut - ratio).sum() / (2 * ratio.sum()))
        worth = effective_sample_size(cut) / ratio.size
        found.append({"bound": bound, "effective_share": worth, "moved": moved})
    return found


# -----------------------------------------------------------------------------
# A path of models: what moved, how exact it is, and the curve of its error.
# -----------------------------------------------------------------------------


# Pieces of a curve that a picture can show.
PIECES_OF_A_PATH = 400


def path_section(path: SVMPath) -> Section:
    """Return the path without its models: its ends, its proof and its curve.

    Both ends are proved from scratch, and the best theta where there is a curve; the
    running residual is the largest of all breakpoints.
    """
    document = path.to_dict()
    curve = path.validation_error if path.curves is not None else None
    thetas = [document["start"], document["stop"]]
    if curve is not None:
        thetas.append(curve.best_theta)
    proofs = [path.certify(theta) for theta in thetas]
    return {
        "parameter": path.parameter,
        "model": type(path.estimator).__name__,
        "start": document["start"],
        "stop": document["stop"],
        "events": document["n_events"],
        "breakpoints": int(path.thetas.size),
        "jumps": int(path.jumps.size),
        "machines": len(document["machines"]),
        "largest_margin": max(
            max(one["margin"], default=0) for one in document["machines"]
        ),
        "running_residual": max(one["residual"] for one in document["machines"]),
        "proved_at": thetas,
        "residual": max(proof.residual or 0.0 for proof in proofs),
        "curve": None if curve is None else curve_section(curve, path.parameter),
    }


def curve_section(curve: ValidationCurve, parameter: str) -> Section:
    """Return a curve in few pieces, with all intervals on which it is least."""
    drawn = curve.thinned(PIECES_OF_A_PATH)
    return {
        "parameter": parameter,
        "loss": curve.loss,
        "thetas": drawn.thetas.tolist(),
        "values": drawn.values.tolist(),
        "slopes": drawn.slopes.tolist(),
        "stop": float(drawn.stop),
        "best": curve.minimum,
        "optimal_intervals": [list(one) for one in curve.optimal_intervals],
    }


# -----------------------------------------------------------------------------
# The estimate that leads.
# -----------------------------------------------------------------------------


def headline_section(performance: Section) -> Section | None:
    """Return the first metric's estimate for the target, beside the source score."""
    metrics = performance.get("metrics") or {}
    if not metrics:
        return None
    name, estimates = next(iter(metrics.items()))
    source = estimates.get("source") or {}
    kind = leading_of(estimates)
    found = estimates.get(kind) or {}
    if found.get("value") is None:
        return None
    return {
        "metric": name,
        "higher_is_better": estimates.get("higher_is_better"),
        "estimate": kind,
        "value": found["value"],
        "low": found.get("low"),
        "high": found.get("high"),
        "level": performance.get("level"),
        "source": source.get("value"),
        "label_change_p": (estimates.get("check") or {}).get("p_value"),
        "baseline": estimates.get("baseline"),
    }


# -----------------------------------------------------------------------------
# What fitted weights leave of the discrepancy, eigenvalue by eigenvalue.
# -----------------------------------------------------------------------------


def spectrum_section(weight_estimator: Any) -> Section | None:
    """Return the spectra before and after the weights of a `DiscrepancyWeights`.

    None for other weight estimators, and where the rows of the fit were not kept. Rows
    of a kernel's worst function are no aggregate, so that they are not listed.
    """
    if not hasattr(type(weight_estimator), "spectrum_uniform_") or (
        getattr(weight_estimator, "_samples_", None) is None
    ):
        return None
    before, after = weight_estimator.spectrum_uniform_, weight_estimator.spectrum_
    named = after.ranking[:COLUMNS_TOLD] if after.kernel == "linear" else ()
    first, last = weight_estimator.discrepancy_uniform_, weight_estimator.discrepancy_
    return {
        "before": _by_size(before.eigenvalues),
        "after": _by_size(after.eigenvalues),
        "discrepancy": first,
        "least": last,
        "bound": weight_estimator.lower_bound_,
        "removable": None if first == 0.0 else max(1.0 - last / first, 0.0),
        "direction": [{"name": str(name), "share": share} for name, share in named],
        "target_varies_more": after.signed[0] >= -after.signed[1],
        "weight_estimator": type(weight_estimator).__name__,
        "kernel": after.kernel,
    }


def _by_size(values: Any) -> list[float]:
    ends = (
        values
        if values.size <= 2 * EIGENVALUES_KEPT
        else np.r_[values[:EIGENVALUES_KEPT], values[-EIGENVALUES_KEPT:]]
    )
    return ends[np.argsort(-np.abs(ends), kind="stable")].tolist()


# -----------------------------------------------------------------------------
# Where source and target lie by how much a row looks like the target.
# -----------------------------------------------------------------------------


_SCORE_BINS, _SCORE_POINTS = 30, 100


def overlap_section(seen: Overlap, weights: Array | None) -> Section:
    """Return the curve of the domain classifier, and the densities of its scores.

    Parameters
    ----------
    seen : Overlap
        With the scores of both samples.
    weights : array of shape (n,) or None
        The weights of the source rows that `seen.rows` are places of.
    """
    return {
        "auc": seen.auc,
        "auc_low": seen.auc_low,
        "auc_high": seen.auc_high,
        "uncovered_fraction": seen.uncovered_fraction,
        "threshold": seen.threshold,
        "scored_source": int(seen.scores.size),
        "scored_target": int(seen.scores_target.size),
        "roc": _roc(seen.scores, seen.scores_target),
        "densities": _densities(seen, weights),
    }


def _roc(scores: Array, scores_target: Array) -> dict[str, list[float]]:
    """Return the shares of source and of target rows above every threshold."""
    at = np.unique(np.concatenate([scores, scores_target]))[::-1]
    false, true = (
        np.concatenate([[0.0], 1 - np.searchsorted(np.sort(s), at) / s.size])
        for s in (scores, scores_target)
    )
    grid = np.linspace(0.0, 1.0, _SCORE_POINTS + 1)
    return {"source": grid.tolist(), "target": _upper(false, true, grid).tolist()}


def _upper(x: Array, y: Array, at: Array) -> Array:
    """Return a rising curve at places; where it jumps, its upper end."""
    last = np.searchsorted(x, at, side="right") - 1
    following = np.minimum(last + 1, x.size - 1)
    width = x[following] - x[last]
    part = np.divide(at - x[last], width, out=np.zeros(at.size), where=width > 0)
    return y[last] + part * (y[following] - y[last])


def _densities(seen: Overlap, weights: Array | None) -> Section:
    edges = np.linspace(0.0, 1.0, _SCORE_BINS + 1)
    found: Section = {
        "edges": edges.tolist(),
        "source": _shares(seen.scores, None, edges),
        "target": _shares(seen.scores_target, None, edges),
        "weighted": None,
    }
    if weights is not None:
        found["weighted"] = _shares(seen.scores, weights[seen.rows], edges)
    return found


def _shares(scores: Array, weights: Array | None, edges: Array) -> list[float]:
    shares, _ = np.histogram(scores, edges, weights=weights)
    total = float(shares.sum())
    return (shares / total).tolist() if total > 0 else shares.tolist()


# -----------------------------------------------------------------------------
# The rows behind fitted weights: looked at for aggregates, never kept.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SeenRows:
    """Both samples as the weight estimator sees them, with the source weights.

    Attributes
    ----------
    samples : TwoSamples
    weights : array of shape (n,)
        The density ratio at the source rows.
    columns : tuple of str
        For each column of the samples, the name of the table's column behind it.
    encoder : TableEncoder or None
        How the samples were made of tables; None where they are as they came.
    """

    samples: TwoSamples = field(repr=False)
    weights: Array = field(repr=False)
    columns: tuple[str, ...]
    encoder: TableEncoder | None = None

    @classmethod
    def of(cls, weight_estimator: Any, encoder: Any) -> "SeenRows | None":
        """Return the rows of a fitted weight estimator; None where it has kept none."""
        samples = getattr(weight_estimator, "rows_of_fit", None)
        if samples is None:
            return None
        # The rows are kept as numbers, whatever names their columns had.
        with suppress_warnings(message="X does not have valid feature"):
            weights = weight_estimator.predict_weights(samples.source)
        return cls(samples, weights, _columns(weight_estimator, encoder), encoder)

    @property
    def n_target(self) -> int:
        """Target rows that count."""
        return int(self.samples.target.shape[0])

    @property
    def weighted_share(self) -> Array:
        """What a source row counts in a mean that stands for the target."""
        weight = self.samples.source_share * self.weights
        return weight / weight.sum()

    def column(self, name: str) -> tuple[TableColumn, TableColumn]:
        """Return a column of the table in both samples."""
        place = self.columns.index(name)
        both = (self.samples.source, self.samples.target)
        if self.encoder is None:
            first, second = (
                TableColumn(name, NUMBERS, _dense(rows[:, [place]])) for rows in both
            )
        else:
            label = self.encoder.columns_[place]
            first, second = (self.encoder.column_of(label, rows) for rows in both)
        return first, second

    def overlap(self, random_state: object) -> Overlap:
        """Return how the samples overlap, by scores of the rows."""
        seed = random_state if isinstance(random_state, int) else 0
        return overlap(
            self.samples.source,
            self.samples.target,
            sample_weight=self.samples.source_share * self.samples.source_mass,
            target_weight=self.samples.target_share * self.samples.target_mass,
            random_state=seed,
        )


def _dense(column: Any) -> Array:
    found = column.toarray() if sparse.issparse(column) else column
    return np.asarray(found, dtype=float).ravel()


def _columns(weight_estimator: Any, encoder: Any) -> tuple[str, ...]:
    if encoder is not None:
        return tuple(_row_name(label) for label in encoder.columns_)
    names = getattr(weight_estimator, "feature_names_in_", None)
    if names is None:
        names = range(weight_estimator.n_features_in_)
    return tuple(_row_name(label) for label in names)


def _row_name(label: object) -> str:
    return label if isinstance(label, str) else f"x{label}"


# -----------------------------------------------------------------------------
# Whether weighted source rows look like the target, column by column.
# -----------------------------------------------------------------------------


# Differences above this are worth a look, by custom.
GUIDE = 0.1
# Columns that are listed, those that differed most.
_COLUMNS_RECORDED = 1_000
# Columns whose distributions are told, and into how many parts each is cut.
_WORST_COLUMNS, _PARTS_OF_A_COLUMN = 3, 8


def balance_section(rows: SeenRows) -> Section:
    r"""Return standardized mean differences before and after weighting.

    For a column with source mean :math:`\mu`, weighted source mean :math:`\mu_w` and
    target mean :math:`\nu`, :math:`|\nu - \mu| / s` and :math:`|\nu - \mu_w| / s` with
    :math:`s^2` the mean of the two variances without weights. Of a column of
    categories, of dates or with missing values, the largest among the columns that
    encode it. `worst` has the distributions of the three columns with the largest
    difference, before or after.
    """
    samples = rows.samples
    weight = rows.weighted_share
    mean, variance = _moments(samples.source, samples.source_share)
    after, _ = _moments(samples.source, weight)
    target, variance_target = _moments(samples.target, samples.target_share)
    spread = np.sqrt((variance + variance_target) / 2)
    # What rounding makes of the spread of a constant column is no unit.
    size = np.maximum(np.abs(mean), np.abs(target))
    known = spread > 1e-12 * np.maximum(size, 1e-300)
    differences = [
        np.divide(np.abs(target - m), spread, out=np.zeros(m.size), where=known)
        for m in (mean, after)
    ]
    found: dict[str, list[float]] = {}
    for j, name in enumerate(rows.columns):
        pair = [float(one[j]) for one in differences]
        worst = found.setdefault(name, pair)
        found[name] = [max(a, b) for a, b in zip(worst, pair, strict=True)]
    order = sorted(found, key=lambda name: -found[name][0])
    features = [
        {"name": name, "before": found[name][0], "after": found[name][1]}
        for name in order[:_COLUMNS_RECORDED]
    ]
    values = np.array(list(found.values()))
    return {
        "guide": GUIDE,
        "columns": len(found),
        "above_before": int(np.count_nonzero(values[:, 0] > GUIDE)),
        "above_after": int(np.count_nonzero(values[:, 1] > GUIDE)),
        "largest_before": float(values[:, 0].max()),
        "largest_after": float(values[:, 1].max()),
        "features": features,
        "worst": [
            {"name": name, "before": pair[0], "after": pair[1], **_parts(rows, name)}
            for name, pair in sorted(found.items(), key=lambda one: -max(one[1]))[
                :_WORST_COLUMNS
            ]
        ],
    }


def _parts(rows: SeenRows, name: str) -> Section:
    """Return the distribution of a column in parts: source, weighted source, target."""
    samples = rows.samples
    source, target = rows.column(name)
    parts = cut_column(
        source,
        target,
        samples.source_share,
        samples.target_share,
        most=_PARTS_OF_A_COLUMN,
    )
    shares = zip(
        parts.parts,
        parts.shares(samples.source_share).tolist(),
        parts.shares(rows.weighted_share).tolist(),
        parts.shares(samples.target_share, of_target=True).tolist(),
        strict=True,
    )
    return {
        "kind": source.kind,
        "parts": [
            {**part.to_dict(), "source": p, "weighted": w, "target": q}
            for part, p, w, q in shares
        ],
    }


def _moments(X: Any, share: Array) -> tuple[Array, Array]:
    if sparse.issparse(X):
        mean, variance = mean_variance_axis(X, axis=0, weights=share)
        return mean, variance
    mean = share @ X
    # A column at a time: no copy of the table.
    columns = range(X.shape[1])
    return mean, np.array([share @ (X[:, j] - mean[j]) ** 2 for j in columns])


# -----------------------------------------------------------------------------
# The data card: how much of what there is.
# -----------------------------------------------------------------------------


def data_section(diagnosis: Diagnosis) -> Section:
    """Return rows and columns as a diagnosis has seen them."""
    return {
        "source": {
            "rows": diagnosis.n_source,
            "duplicates": diagnosis.source_duplicates,
        },
        "target": {
            "rows": diagnosis.n_target,
            "duplicates": diagnosis.target_duplicates,
        },
        "columns": [
            {
                "name": feature.name,
                "kind": feature.kind,
                "missing_source": feature.source_missing,
                "missing_target": feature.target_missing,
            }
            for feature in diagnosis.features
        ],
        "dropped": dict(diagnosis.dropped),
    }


def with_what_is_told(found: Section, told: Section) -> Section:
    """Return a data card with what a caller knows put over it, each sample by itself.

    Examples
    --------
    >>> with_what_is_told({"source": {"rows": 9}}, {"source": {"file": "a.csv"}})
    {'source': {'rows': 9, 'file': 'a.csv'}}
    """
    told = without_rare_classes(told)
    samples = {
        key: {**(found.get(key) or {}), **told[key]}
        for key in ("source", "target")
        if told.get(key)
    }
    return {**found, **told, **samples}


def without_rare_classes(data: Section) -> Section:
    """Return a data card on which classes of fewer than 5 rows have no names.

    Examples
    --------
    >>> classes = [{"class": "a", "rows": 9}, {"class": "b", "rows": 2}]
    >>> without_rare_classes({"classes": classes})["classes"]
    [{'class': 'a', 'rows': 9}]
    """
    if "classes" not in data:
        return dict(data)
    common = [one for one in data["classes"] if one["rows"] >= FEWEST_ROWS_REPORTED]
    rare = len(data["classes"]) - len(common)
    more = {"rare_classes": rare} if rare else {}
    return {**data, "classes": common, **more}


# -----------------------------------------------------------------------------
# Which sections a fitted object can fill.
# -----------------------------------------------------------------------------


def sections_of(
    fitted: object,
    performance: Performance | None = None,
    *,
    data: Section | None = None,
    reproduce: Section | None = None,
    diagnosis: Diagnosis | None = None,
    more: Section | None = None,
) -> Section:
    """Return the sections of a record, in the order of the report.

    `diagnosis`: that of a weight estimator's two tables, which it does not know itself.
    """
    if isinstance(fitted, ModelMonitor):
        made = {**reproduce_section(fitted), **(reproduce or {})}
        return {"monitor": fitted.to_dict(), "reproduce": made, **(more or {})}
    if isinstance(fitted, Diagnosis):
        found = {
            "data": data_section(fitted),
            "shift": _shift(fitted),
            **_scores(fitted),
        }
    elif isinstance(fitted, Adapted):
        check_is_fitted(fitted)
        found = _of_model(fitted)
    elif isinstance(fitted, SVMPath):
        found = {
            "data": {"source": {"rows": len(fitted.estimator.X_fit_)}},
            "path": path_section(fitted),
        }
    elif hasattr(fitted, "predict_weights"):
        check_is_fitted(fitted, "weights_")
        found = _weight_estimator_sections(fitted, diagnosis)
    else:
        raise InvalidTypeError(
            "a record is of an Adapted, a weight estimator, a Diagnosis, an SVMPath or "
            f"a ModelMonitor, got {type(fitted).__name__}"
        )
    if performance is not None:
        shift = found.get("shift") or {}
        # What is known of the two tables already: one quantity, one number.
        known = ("uncovered_fraction", "verdict")
        found["performance"] = {
            **performance.to_dict(),
            **{key: shift[key] for key in known if key in shift},
        }
        found["headline"] = headline_section(found["performance"])
    if data is not None:
        found["data"] = with_what_is_told(found.get("data", {}), data)
    found["guarantees"] = guarantees_section(found)
    made_by = fitted.estimator if isinstance(fitted, SVMPath) else fitted
    found["reproduce"] = {**reproduce_section(made_by), **(reproduce or {})}
    return {**found, **(more or {})}


def _scores(diagnosis: Diagnosis) -> Section:
    """Return the scores of the rows, where the diagnosis has kept them."""
    seen = getattr(diagnosis, "overlap", None)
    return {} if seen is None else {"overlap": overlap_section(seen, None)}


def _weight_estimator_sections(
    weight_estimator: Any, diagnosis: Diagnosis | None
) -> Section:
    rows = SeenRows.of(weight_estimator, None)
    found: Section = {
        "data": {
            "source": {"rows": int(weight_estimator.weights_.size)},
            **({} if rows is None else {"target": {"rows": rows.n_target}}),
        },
        "weights": weights_section(weight_estimator, weight_estimator.weights_),
    }
    if isinstance(weight_estimator, PartialWeights):
        found["classes"] = classes_section(weight_estimator)
    spectrum = spectrum_section(weight_estimator)
    if diagnosis is not None:
        found["shift"] = _shift(diagnosis)
    if spectrum is not None:
        found["shift"] = {**found.get("shift", {}), "spectrum": spectrum}
    random_state = weight_estimator.random_state
    return found | _row_sections(weight_estimator, rows, diagnosis, random_state)


def _of_model(model: Adapted) -> Section:
    diagnosis, weight_estimator = model.diagnosis_, model.weight_estimator_
    found: Section = {}
    if diagnosis is not None:
        found["data"] = data_section(diagnosis)
        found["shift"] = _shift(diagnosis)
    else:
        found["data"] = {"source": {"rows": int(model.weights_.size)}}
    ratio = np.ones(model.weights_.size)
    if weight_estimator is not None:
        ratio = weight_estimator.weights_
    found["weights"] = weights_section(weight_estimator, ratio)
    if weight_estimator is not None:
        rows = SeenRows.of(weight_estimator, model.encoder_)
        found |= _row_sections(weight_estimator, rows, diagnosis, model.random_state)
    elif diagnosis is not None:
        found |= _scores(diagnosis)
    found["guard"] = None if model.guard_ is None else model.guard_.to_dict()
    if isinstance(weight_estimator, PartialWeights):
        # Its guard tries nothing by cross-validation, and stands with the classes.
        found["classes"], found["guard"] = classes_section(weight_estimator), None
    explained = getattr(model, "label_shift_", None)
    if explained is not None:
        found["label_shift"] = explained.to_dict()
    estimator = model.estimator_
    estimator = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    found["model"] = {
        "type": type(estimator).__name__,
        "adapted": bool(model.adapted_),
        "exponent": float(model.exponent_),
        "mixing": float(model.mixing_),
        "effective_size": float(model.effective_sample_size_),
        "rows": int(model.weights_.size),
    }
    return found


def _row_sections(
    weight_estimator: Any,
    rows: SeenRows | None,
    diagnosis: Diagnosis | None,
    random_state: object,
) -> Section:
    """Return what is known from the rows of a fit, and the search for its weights."""
    found: Section = {}
    if rows is not None:
        found["balance"] = balance_section(rows)
        seen = None if diagnosis is None else diagnosis.overlap
        n = None if diagnosis is None else diagnosis.n_source
        weights = rows.weights
        # The diagnosis leaves out rows of weight zero, and counts places without them.
        if seen is not None and n == weight_estimator.weights_.size:
            weights = weight_estimator.weights_
        else:
            seen = rows.overlap(random_state)
        found["overlap"] = overlap_section(seen, weights)
    return {**found, "solver": solver_section(weight_estimator)}


def _shift(diagnosis: Diagnosis) -> Section:
    return {**diagnosis.to_dict(), "covered": 1.0 - float(diagnosis.uncovered_fraction)}
