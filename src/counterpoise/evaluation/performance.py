"""The record of how good a model is on the target."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from counterpoise.evaluation.estimates import Estimate
from counterpoise.evaluation.labels.label_change import Direction

if TYPE_CHECKING:
    from counterpoise.evaluation.advice.baseline import Baseline
    from counterpoise.evaluation.advice.labels_wanted import LabelsWanted

ESTIMATES = (
    "source",
    "weighted",
    "direct",
    "doubly_robust",
    "confidence",
    "labelled",
)


# Which estimate is gone by where their errors are not known: the first that is defined.
LEADING = ("labelled", "doubly_robust", "weighted")
# A change of p(y | x) is said from this p-value on.
SURPRISING_P_VALUE = 0.05


def is_surprise(p_value: float) -> bool:
    """Return whether labelled target rows contradict an unchanged p(y | x)."""
    return p_value < SURPRISING_P_VALUE


def leading_of(estimates: Mapping[str, Any]) -> str | None:
    """Return the name of the estimate to go by, None where none is defined.

    That of labelled target rows if there is one, which has the doubly robust in it
    unless they contradict it, else the one of the least error (`leading`), else the
    doubly robust, else the weighted.

    Parameters
    ----------
    estimates : mapping
        As `MetricPerformance.to_dict` has them.
    """
    order = (LEADING[0], estimates.get("leading"), *LEADING[1:])
    return next((name for name in order if name and estimates.get(name)), None)


@dataclass(frozen=True)
class LabelCheck:
    """Whether labelled target rows are as the source rows say.

    Attributes
    ----------
    difference : float or None
        What a change costs: by how much the loss of the labelled target rows, beyond
        what the model of the loss says there, exceeds the same of weighted source rows.
        None for a metric that is no mean over rows.
    error : float or None
        Its standard error.
    statistic : float or None
        Their ratio.
    p_value : float
        How often chance does more than what is seen, of the loss and along all
        `directions` together (`combined_p_value`).
    n_labelled : int
    words : str
    directions : tuple of Direction
        What was looked at, the loss and what predictions leave of the labels: see
        `evaluation.labels.label_change`.
    """

    difference: float | None
    error: float | None
    statistic: float | None
    p_value: float
    n_labelled: int
    words: str
    directions: tuple[Direction, ...] = ()

    @property
    def contradicts(self) -> bool:
        """Whether they say that p(y | x) has changed."""
        return is_surprise(self.p_value)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        told = [one.to_dict() for one in self.directions]
        return {**vars(self), "directions": told, "contradicts": self.contradicts}


@dataclass(frozen=True)
class MetricPerformance:
    """One metric, estimated in several ways.

    Attributes
    ----------
    metric : str
    higher_is_better : bool
    source, weighted, direct, doubly_robust, confidence, labelled : Estimate or None
        None where it is not defined, see `reasons`.
    check : LabelCheck or None
        Whether p(y | x) has changed, as labelled target rows tell.
    reasons : dict
        Why an estimate is None.
    leading : str or None
        Which of weighted, direct and doubly robust to go by: the last, unless the
        estimated errors speak for another (`leading_estimate`); None where no errors
        are known.
    baseline : Baseline or None
        The best constant prediction beside the model, see `evaluation.advice.baseline`.
    """

    metric: str
    higher_is_better: bool
    source: Estimate
    weighted: Estimate | None = None
    direct: Estimate | None = None
    doubly_robust: Estimate | None = None
    confidence: Estimate | None = None
    labelled: Estimate | None = None
    check: LabelCheck | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    leading: str | None = None
    baseline: "Baseline | None" = None

    @property
    def best(self) -> Estimate | None:
        """The estimate to go by, or None where nothing but the source's is known.

        See `leading_of`.
        """
        name = leading_of(vars(self))
        return None if name is None else getattr(self, name)

    def __str__(self) -> str:
        better = "higher" if self.higher_is_better else "lower"
        # "neg" in a scorer's name says that less is better; the value is not negated.
        name = self.metric.removeprefix("neg_").replace("_", " ")
        lines = [f"{name} ({better} is better)"]
        for kind in ESTIMATES:
            found: Estimate | None = getattr(self, kind)
            label = kind.replace("_", " ")
            if found is not None:
                lines.append(f"  {label:<14} {found}   if {found.assumption}")
            elif kind in self.reasons:
                lines.append(f"  {label:<14} not defined: {self.reasons[kind]}")
        if self.baseline is not None:
            lines.append(f"  {'guessing':<14} {self.baseline}")
        if self.check is not None:
            lines.append(f"  {self.check.words}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words; None for what is not defined."""
        out: dict[str, Any] = {
            "metric": self.metric,
            "higher_is_better": self.higher_is_better,
        }
        for name in ESTIMATES:
            found = getattr(self, name)
            out[name] = None if found is None else found.to_dict()
        out["leading"] = self.leading
        out["check"] = None if self.check is None else self.check.to_dict()
        out["reasons"] = dict(self.reasons)
        out["baseline"] = None if self.baseline is None else self.baseline.to_dict()
        return out


class _SeveralMetrics:
    """Metrics by name; the estimates of the first are at hand."""

    metrics: Mapping[str, MetricPerformance]

    def __getitem__(self, metric: str) -> MetricPerformance:
        if metric not in self.metrics and f"neg_{metric}" in self.metrics:
            metric = f"neg_{metric}"
        return self.metrics[metric]

    @property
    def _first(self) -> MetricPerformance:
        return next(iter(self.metrics.values()))

    @property
    def source(self) -> Estimate:
        """The first metric's estimate of the source itself."""
        return self._first.source

    @property
    def weighted(self) -> Estimate | None:
        """The first metric's estimate by weights."""
        return self._first.weighted

    @property
    def direct(self) -> Estimate | None:
        """The first metric's estimate by the model of the loss."""
        return self._first.direct

    @property
    def doubly_robust(self) -> Estimate | None:
        """The first metric's estimate by both."""
        return self._first.doubly_robust

    @property
    def confidence(self) -> Estimate | None:
        """The first metric's estimate by the model's own probabilities."""
        return self._first.confidence

    @property
    def labelled(self) -> Estimate | None:
        """The first metric's estimate with labelled target rows."""
        return self._first.labelled

    @property
    def check(self) -> LabelCheck | None:
        """Whether p(y | x) has changed, as labelled target rows tell."""
        return self._first.check

    @property
    def baseline(self) -> "Baseline | None":
        """The best constant prediction beside the model, by the first metric."""
        return self._first.baseline

    @property
    def best(self) -> Estimate | None:
        """The first metric's estimate to go by."""
        return self._first.best


@dataclass(frozen=True)
class CoveredPart(_SeveralMetrics):
    """The same for the part of the target that the source covers.

    Attributes
    ----------
    share : float
        How much of the target that is.
    effective_rows : float
        What the weighted source rows are worth there. Of more than 5,000 rows the
        covered ones are known among as many drawn by chance: what those are worth,
        times all rows over 5,000. The intervals are those of the rows drawn: they
        allow for the chance in the labels of these very rows.
    metrics : dict of MetricPerformance
    """

    share: float
    effective_rows: float
    metrics: Mapping[str, MetricPerformance]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        return {
            "share": self.share,
            "effective_rows": self.effective_rows,
            "metrics": {name: one.to_dict() for name, one in self.metrics.items()},
        }


@dataclass(frozen=True)
class Performance(_SeveralMetrics):
    """How good a model is on the target, by every estimate, with intervals.

    `performance["accuracy"]` is a metric's `MetricPerformance`; `source`, `weighted`,
    `direct`, `doubly_robust`, `confidence`, `labelled`, `check` and `best` are those of
    the first metric.

    Attributes
    ----------
    metrics : dict of MetricPerformance
    covered : CoveredPart or None
        The same for the target rows that the source covers.
    level : float
        Of the intervals.
    thin : float
        Share of the target where only the outermost 0.5 % of the source rows are.
    verdict : str
        The word for the overlap of the samples.
    n_source, n_target : int
    effective_rows : float or None
        How many equally weighted rows the weighted source rows are worth; None without
        overlap.
    statement : str
        What the numbers speak for.
    calibration : dict or None
        Of classifiers with probabilities: see `evaluation.reliability`.
    slices : dict or None
        The first metric on parts of the target, by the columns that moved most: see
        `evaluation.slices`. None for metrics that are no means, and without overlap.
    sets : dict or None
        How large the intervals or sets of an `Adapted` with a calibration are on the
        target: see `interval_sizes` and `set_sizes` of `evaluation.conformal`.
    labels : LabelsWanted or None
        How many labelled target rows would make the first metric's interval as narrow
        as was asked for; None without overlap.
    """

    metrics: Mapping[str, MetricPerformance]
    covered: CoveredPart | None
    level: float
    thin: float
    verdict: str
    n_source: int
    n_target: int
    effective_rows: float | None
    statement: str
    calibration: Mapping[str, Any] | None = None
    slices: Mapping[str, Any] | None = None
    sets: Mapping[str, Any] | None = None
    labels: "LabelsWanted | None" = None

    def __str__(self) -> str:
        parts = [self.statement, *map(str, self.metrics.values())]
        if self.labels is not None:
            parts.append(self.labels.words)
        if self.covered is not None and self.covered.share < 1.0:
            parts.append(f"The covered {self.covered.share:.1%} of the target:")
            parts += map(str, self.covered.metrics.values())
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        parts = [
            f"<p>{escape(self.statement)}</p>",
            *map(_table, self.metrics.values()),
        ]
        if self.covered is not None and self.covered.share < 1.0:
            told = f"The covered {self.covered.share:.1%} of the target:"
            parts += [f"<p>{told}</p>", *map(_table, self.covered.metrics.values())]
        return f'<div class="counterpoise-performance">{"".join(parts)}</div>'

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words; None for what is not defined."""
        return {
            "metrics": {name: one.to_dict() for name, one in self.metrics.items()},
            "covered": None if self.covered is None else self.covered.to_dict(),
            "level": self.level,
            "thin": self.thin,
            "verdict": self.verdict,
            "n_source": self.n_source,
            "n_target": self.n_target,
            "effective_rows": self.effective_rows,
            "statement": self.statement,
            "calibration": None if self.calibration is None else dict(self.calibration),
            "slices": None if self.slices is None else dict(self.slices),
            "sets": None if self.sets is None else dict(self.sets),
            "labels": None if self.labels is None else self.labels.to_dict(),
        }


def _table(found: MetricPerformance) -> str:
    """Return the estimates of a metric as a table of HTML, every text escaped."""
    better = "higher" if found.higher_is_better else "lower"
    name = found.metric.removeprefix("neg_").replace("_", " ")
    rows = []
    for kind in ESTIMATES:
        one: Estimate | None = getattr(found, kind)
        if one is not None:
            cells = [f"{one.value:.4g}", f"{one.low:.4g} to {one.high:.4g}"]
            cells.append(one.assumption)
        elif kind in found.reasons:
            cells = ["not defined", "", found.reasons[kind]]
        else:
            continue
        rows.append([kind.replace("_", " "), *cells])
    head = (f"{name} ({better} is better)", "value", "interval", "right if")
    lines = [f"<tr>{''.join(f'<th>{escape(one)}</th>' for one in head)}</tr>"]
    lines += [
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
        for row in rows
    ]
    check = "" if found.check is None else f"<p>{escape(found.check.words)}</p>"
    return f"<table>{''.join(lines)}</table>{check}"
